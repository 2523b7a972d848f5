/* SPDX-License-Identifier: MIT */
/*
 * Which block comes next. A range of logical blocks is divided into blocks of the size of one I/O,
 * numbered from 0; the last one may be shorter. A sequential pass returns every number of its part
 * exactly once. Random numbers are drawn from the full blocks with replacement, so no map is kept.
 */
#ifndef PST_BENCH_GEN_H
#define PST_BENCH_GEN_H

#include <stdbool.h>
#include <stdint.h>

struct pst_gen {
	uint64_t state; /* of the random numbers */
	uint64_t base;	/* random: first number */
	uint64_t span;	/* random: how many */
	uint64_t first, next, end;
	bool random;
	bool once; /* sequential: one pass, then no more */
};

struct pst_gen_params {
	uint64_t lbas;	      /* logical blocks in the range */
	uint32_t per_block;   /* logical blocks of one I/O */
	uint32_t part, parts; /* this thread's share of the range, counted from 0 */
	bool random;
	bool own_part; /* random stays within the part as well */
	bool once;
	uint64_t seed;
};

/* Blocks in a range: all of them, and those of full length. */
static inline uint64_t pst_gen_blocks(uint64_t lbas, uint32_t per_block)
{
	return lbas / per_block + (lbas % per_block != 0);
}

/* Returns false when the part has no block. */
bool pst_gen_init(struct pst_gen *gen, const struct pst_gen_params *params);

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014): makes good seeds of any numbers. */
static inline uint64_t pst_gen_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

/*
 * The generator: a counter, and one multiplication to 128 bits folded into 64 (the construction of
 * wyrand, Wang Yi 2019). Four instructions where splitmix64 takes eleven.
 */
static inline uint64_t pst_gen_draw(uint64_t *state)
{
	unsigned __int128 product;

	*state += 0xa0761d6478bd642fU;
	product = (unsigned __int128)*state * (*state ^ 0xe7037ed1a0b428dbU);
	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* A number below n by multiplication: the high half of draw * n. The bias is below n / 2^64. */
static inline uint64_t pst_gen_below(uint64_t *state, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)pst_gen_draw(state) * n) >> 64);
}

static inline uint64_t pst_gen_random(struct pst_gen *gen)
{
	return gen->base + pst_gen_below(&gen->state, gen->span);
}

/* The next block's number; false at the end of a single pass. */
static inline bool pst_gen_next(struct pst_gen *gen, uint64_t *block)
{
	if (gen->random) {
		*block = pst_gen_random(gen);
		return true;
	}
	if (gen->next == gen->end) {
		if (gen->once)
			return false;
		gen->next = gen->first;
	}
	*block = gen->next++;
	return true;
}

#endif
