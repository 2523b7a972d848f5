/* SPDX-License-Identifier: MIT */
/*
 * A log-linear histogram of times in nanoseconds. Every power of two is divided into 64 buckets of
 * the same width, so a value is known to 1/64 of itself; a percentile is reported as the middle of
 * its bucket and thus errs by less than 0.8 % (1/128). Below 128 ns it is exact. Minimum, maximum,
 * mean and count are exact.
 */
#ifndef PST_BENCH_HIST_H
#define PST_BENCH_HIST_H

#include <stdint.h>

#define PST_HIST_SUB_BITS 6
#define PST_HIST_SUB (1U << PST_HIST_SUB_BITS)
#define PST_HIST_BUCKETS ((64 - PST_HIST_SUB_BITS + 1) * PST_HIST_SUB)

struct pst_hist {
	uint64_t sum;
	uint64_t max;
	uint64_t count[PST_HIST_BUCKETS];
};

/*
 * The bucket of a value: the position of its highest bit selects a power of two, the six bits
 * below it the bucket within. Or-ing 64 in makes small values share the first power without a
 * branch.
 */
static inline uint32_t pst_hist_index(uint64_t value)
{
	uint32_t shift = 63U - (uint32_t)__builtin_clzll(value | PST_HIST_SUB) - PST_HIST_SUB_BITS;

	return shift * PST_HIST_SUB + (uint32_t)(value >> shift);
}

/* Adds a value n times: I/Os of one submission that complete together have the same latency. */
static inline void pst_hist_add(struct pst_hist *hist, uint64_t value, uint64_t n)
{
	hist->count[pst_hist_index(value)] += n;
	hist->sum += value * n;
	if (value > hist->max)
		hist->max = value;
}

void pst_hist_merge(struct pst_hist *into, const struct pst_hist *from);

uint64_t pst_hist_count(const struct pst_hist *hist);

/* Mean, or 0 of nothing. */
double pst_hist_mean(const struct pst_hist *hist);

/*
 * The smallest recorded value that at least `fraction` (0 to 1) of all values do not exceed
 * (nearest rank), as the middle of its bucket and never above the maximum; 0 of nothing.
 */
uint64_t pst_hist_quantile(const struct pst_hist *hist, double fraction);

#endif
