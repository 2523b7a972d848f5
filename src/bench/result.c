/* SPDX-License-Identifier: MIT */
/* Arithmetic over the rounds of one result. */
#include <stdarg.h>
#include <string.h>

#include "base.h"
#include "report.h"

void pst_bench_note(struct pst_bench_result *result, const char *fmt, ...)
{
	char text[PST_BENCH_NOTE_SIZE];
	uint32_t i;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (i = 0; i < result->nr_notes; i++) {
		if (strcmp(result->notes[i], text) == 0)
			return;
	}
	if (result->nr_notes < PST_BENCH_NOTES_MAX)
		memcpy(result->notes[result->nr_notes++], text, sizeof(text));
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double pst_bench_iops(const struct pst_bench_result *result)
{
	uint32_t n = result->rounds;
	PST_AUTO_FREE double *sorted = n ? malloc(n * sizeof(*sorted)) : NULL;

	if (!sorted)
		return 0;
	memcpy(sorted, result->iops, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double pst_bench_spread(const struct pst_bench_result *result)
{
	double median = pst_bench_iops(result);
	double low, high;
	uint32_t i;

	if (median <= 0)
		return 0;
	low = high = result->iops[0];
	for (i = 1; i < result->rounds; i++) {
		low = result->iops[i] < low ? result->iops[i] : low;
		high = result->iops[i] > high ? result->iops[i] : high;
	}
	return (high - low) / median;
}

static double us_per_io(const struct pst_bench_result *result, uint64_t ns)
{
	return result->done ? (double)ns / 1000 / (double)result->done : 0;
}

double pst_bench_user_us(const struct pst_bench_result *result)
{
	return us_per_io(result, result->user_ns);
}

double pst_bench_system_us(const struct pst_bench_result *result)
{
	return us_per_io(result, result->system_ns);
}
