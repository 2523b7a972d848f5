/* SPDX-License-Identifier: MIT */
/* Stamps: any wrong byte, a wrong place, an old version, another seed are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stamp.h"

#define LBAS 4

static const struct pst_stamp_shape plain = {.lba_size = 512, .stride = 512, .seed = 3};
static const struct pst_stamp_shape interleaved = {.lba_size = 512, .stride = 520, .seed = 3};
static unsigned char data[LBAS * 520 + 1];

static enum pst_stamp_verdict check(const struct pst_stamp_shape *shape, uint64_t offset,
				    uint64_t sequence, uint64_t *at)
{
	return pst_stamp_check(shape, data, offset, LBAS, sequence, at);
}

static void what_was_written_is_good(void **state)
{
	uint64_t at;

	(void)state;
	pst_stamp_write(&plain, data, 4096, LBAS, 9);
	assert_int_equal(check(&plain, 4096, 9, &at), PST_STAMP_GOOD);
	assert_int_equal(check(&plain, 4096, 0, &at), PST_STAMP_GOOD);
	pst_stamp_write(&interleaved, data, 4096, LBAS, 9);
	memset(data + 512, 0xee, 8);
	assert_int_equal(check(&interleaved, 4096, 9, &at), PST_STAMP_GOOD);
}

static void every_flipped_bit_is_found(void **state)
{
	uint32_t bit;
	uint64_t at;

	(void)state;
	pst_stamp_write(&plain, data, 0, LBAS, 9);
	for (bit = 0; bit < LBAS * 512 * 8; bit++) {
		data[bit / 8] ^= (unsigned char)(1U << bit % 8);
		assert_int_not_equal(check(&plain, 0, 0, &at), PST_STAMP_GOOD);
		assert_int_equal(at / 512, bit / 8 / 512);
		data[bit / 8] ^= (unsigned char)(1U << bit % 8);
	}
	assert_int_equal(check(&plain, 0, 0, &at), PST_STAMP_GOOD);
}

static void the_finding_says_what_and_where(void **state)
{
	struct pst_stamp_shape other = plain;
	uint64_t at;

	(void)state;
	pst_stamp_write(&plain, data, 8192, LBAS, 9);
	assert_int_equal(check(&plain, 4096, 0, &at), PST_STAMP_PLACE);
	assert_int_equal(check(&plain, 8192, 10, &at), PST_STAMP_OLD);
	other.seed = 4;
	assert_int_equal(check(&other, 8192, 0, &at), PST_STAMP_SEED);
	data[512 * 2 + 100] ^= 1;
	assert_int_equal(check(&plain, 8192, 0, &at), PST_STAMP_DATA);
	assert_int_equal(at, 8192 + 512 * 2 + 96);
	memset(data, 0, sizeof(data));
	assert_int_equal(check(&plain, 8192, 0, &at), PST_STAMP_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_good),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(the_finding_says_what_and_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
