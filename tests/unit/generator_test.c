/* SPDX-License-Identifier: MIT */
/* A pass covers every logical block exactly once, and nothing ever lies past the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen.h"

static const uint32_t block_sizes[] = {512, 4096, 12288, 1 << 20};

/* Counts how often each logical block is covered by one pass of all parts. */
static void cover(uint64_t lbas, uint32_t per_block, uint32_t parts, uint8_t *seen)
{
	uint32_t part;

	memset(seen, 0, lbas);
	for (part = 0; part < parts; part++) {
		struct pst_gen_params params = {.lbas = lbas,
						.per_block = per_block,
						.part = part,
						.parts = parts,
						.once = true};
		struct pst_gen gen;
		uint64_t block = 0;

		if (!pst_gen_init(&gen, &params))
			continue;
		while (pst_gen_next(&gen, &block)) {
			uint64_t first = block * per_block;
			uint64_t i;

			assert_true(first < lbas);
			for (i = first; i < first + per_block && i < lbas; i++)
				seen[i]++;
		}
	}
}

static void a_pass_covers_every_block_exactly_once(void **state)
{
	/* Multiples of no block size but the first, and of all. */
	static const uint64_t sizes[] = {64 << 20, (64 << 20) + 512, (64 << 20) - 512 * 7, 1 << 20};
	static const uint32_t parts[] = {1, 2, 3, 7};
	uint8_t *seen = malloc((65 << 20) / 512);
	size_t b, s, p;
	uint64_t i;

	(void)state;
	assert_non_null(seen);
	for (b = 0; b < 4; b++) {
		for (s = 0; s < 4; s++) {
			for (p = 0; p < 4; p++) {
				cover(sizes[s] / 512, block_sizes[b] / 512, parts[p], seen);
				for (i = 0; i < sizes[s] / 512; i++)
					assert_int_equal(seen[i], 1);
			}
		}
	}
	free(seen);
}

static void passes_follow_each_other(void **state)
{
	struct pst_gen_params params = {.lbas = 10, .per_block = 3, .parts = 1};
	struct pst_gen gen;
	uint64_t block = 0;
	uint64_t i;

	(void)state;
	assert_true(pst_gen_init(&gen, &params));
	for (i = 0; i < 12; i++) {
		assert_true(pst_gen_next(&gen, &block));
		assert_int_equal(block, i % 4);
	}
}

static void random_blocks_are_full_and_within_the_range(void **state)
{
	size_t b;

	(void)state;
	for (b = 0; b < 4; b++) {
		uint32_t per_block = block_sizes[b] / 512;
		uint64_t lbas = per_block * 5 + per_block / 2 + 1;
		struct pst_gen_params params = {.lbas = lbas,
						.per_block = per_block,
						.parts = 1,
						.random = true,
						.seed = b};
		struct pst_gen gen;
		uint64_t block = 0;
		uint32_t seen = 0;
		uint32_t i;

		assert_true(pst_gen_init(&gen, &params));
		for (i = 0; i < 10000; i++) {
			assert_true(pst_gen_next(&gen, &block));
			assert_true((block + 1) * per_block <= lbas);
			seen |= 1U << block;
		}
		assert_int_equal(seen, (1U << (lbas / per_block)) - 1);
	}
}

static void random_is_uniform(void **state)
{
	enum { BLOCKS = 1000, DRAWS = 1000000 };
	struct pst_gen_params params = {.lbas = BLOCKS, .per_block = 1, .parts = 1, .random = true};
	static uint32_t hits[BLOCKS];
	double chi = 0;
	struct pst_gen gen;
	uint64_t block = 0;
	uint32_t i;

	(void)state;
	assert_true(pst_gen_init(&gen, &params));
	for (i = 0; i < DRAWS; i++) {
		(void)pst_gen_next(&gen, &block);
		hits[block]++;
	}
	for (i = 0; i < BLOCKS; i++) {
		double off = (double)hits[i] - (double)DRAWS / BLOCKS;

		chi += off * off / ((double)DRAWS / BLOCKS);
	}
	/* 999 degrees of freedom: mean 999, standard deviation 45; five of them either way. */
	assert_true(chi > 775 && chi < 1223);
}

static void own_parts_do_not_meet(void **state)
{
	struct pst_gen_params params = {
		.lbas = 103, .per_block = 4, .parts = 4, .random = true, .own_part = true};
	uint32_t owner[25];
	struct pst_gen gen;
	uint64_t block = 0;
	uint32_t i;

	(void)state;
	memset(owner, 0xff, sizeof(owner));
	for (params.part = 0; params.part < params.parts; params.part++) {
		assert_true(pst_gen_init(&gen, &params));
		for (i = 0; i < 1000; i++) {
			assert_true(pst_gen_next(&gen, &block));
			assert_true(block >= gen.first && block < gen.end && block < 25);
			assert_true(owner[block] == UINT32_MAX || owner[block] == params.part);
			owner[block] = params.part;
		}
	}
	for (i = 0; i < 25; i++)
		assert_true(owner[i] < 4);
}

static void the_seed_decides_the_sequence(void **state)
{
	struct pst_gen_params params = {
		.lbas = 1 << 20, .per_block = 1, .parts = 1, .random = true, .seed = 5};
	struct pst_gen a, b, c;
	uint64_t x = 0, y = 0, z = 0;
	uint32_t same = 0;
	uint32_t i;

	(void)state;
	assert_true(pst_gen_init(&a, &params) && pst_gen_init(&b, &params));
	params.seed = 6;
	assert_true(pst_gen_init(&c, &params));
	for (i = 0; i < 1000; i++) {
		(void)pst_gen_next(&a, &x);
		(void)pst_gen_next(&b, &y);
		(void)pst_gen_next(&c, &z);
		assert_int_equal(x, y);
		same += x == z;
	}
	assert_true(same < 5);
}

static void too_many_parts_are_noticed(void **state)
{
	struct pst_gen_params params = {
		.lbas = 4, .per_block = 2, .part = 0, .parts = 5, .random = true, .own_part = true};
	struct pst_gen gen;

	(void)state;
	assert_false(pst_gen_init(&gen, &params));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pass_covers_every_block_exactly_once),
		cmocka_unit_test(passes_follow_each_other),
		cmocka_unit_test(random_blocks_are_full_and_within_the_range),
		cmocka_unit_test(random_is_uniform),
		cmocka_unit_test(own_parts_do_not_meet),
		cmocka_unit_test(the_seed_decides_the_sequence),
		cmocka_unit_test(too_many_parts_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
