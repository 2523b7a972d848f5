/* SPDX-License-Identifier: MIT */
#include "base.h"
#include "hist.h"

void pst_hist_merge(struct pst_hist *into, const struct pst_hist *from)
{
	uint32_t i;

	into->sum += from->sum;
	if (from->max > into->max)
		into->max = from->max;
	for (i = 0; i < PST_HIST_BUCKETS; i++)
		into->count[i] += from->count[i];
}

uint64_t pst_hist_count(const struct pst_hist *hist)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < PST_HIST_BUCKETS; i++)
		n += hist->count[i];
	return n;
}

double pst_hist_mean(const struct pst_hist *hist)
{
	uint64_t n = pst_hist_count(hist);

	return n ? (double)hist->sum / (double)n : 0;
}

/* The middle of a bucket: the reverse of pst_hist_index(). */
static uint64_t middle(uint32_t index)
{
	uint32_t shift;
	uint64_t low;

	if (index < 2 * PST_HIST_SUB)
		return index;
	shift = index / PST_HIST_SUB - 1;
	low = (uint64_t)(index % PST_HIST_SUB + PST_HIST_SUB) << shift;
	return low + (1ULL << shift) / 2;
}

uint64_t pst_hist_quantile(const struct pst_hist *hist, double fraction)
{
	uint64_t total = pst_hist_count(hist);
	uint64_t rank;
	uint64_t seen = 0;
	uint32_t i;

	if (total == 0)
		return 0;
	rank = (uint64_t)(fraction * (double)total);
	/* Round up to the next whole rank, at least the first. */
	if ((double)rank < fraction * (double)total || rank == 0)
		rank++;
	rank = pst_min_u64(rank, total);
	for (i = 0; i < PST_HIST_BUCKETS; i++) {
		seen += hist->count[i];
		if (seen >= rank)
			return pst_min_u64(middle(i), hist->max);
	}
	return hist->max;
}
