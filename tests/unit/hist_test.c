/* SPDX-License-Identifier: MIT */
/* Histograms against sorted data: every quantile within the bound that hist.h states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen.h"
#include "hist.h"

#define N 100000

static struct pst_hist hist;
static uint64_t values[N];

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Fills hist and values with n values of a distribution, values sorted. */
static void fill(uint32_t n, uint64_t (*draw)(uint64_t *state))
{
	uint64_t state = 7;
	uint32_t i;

	memset(&hist, 0, sizeof(hist));
	for (i = 0; i < n; i++) {
		values[i] = draw(&state);
		pst_hist_add(&hist, values[i], 1);
	}
	qsort(values, n, sizeof(values[0]), compare);
}

static void assert_within_bound(uint64_t exact, uint64_t reported)
{
	uint64_t error = exact > reported ? exact - reported : reported - exact;

	/* 1/128, rounded up to a whole nanosecond. */
	assert_true(error * 128 <= exact + 127);
}

static void assert_quantiles(uint32_t n)
{
	static const double fractions[] = {0,	 0.001, 0.01, 0.1,   0.25, 0.5,
					   0.75, 0.9,	0.99, 0.999, 1};
	size_t i;

	for (i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
		uint64_t rank = (uint64_t)(fractions[i] * n);

		if ((double)rank < fractions[i] * n || rank == 0)
			rank++;
		assert_within_bound(values[rank - 1], pst_hist_quantile(&hist, fractions[i]));
	}
}

static uint64_t uniform(uint64_t *state)
{
	return pst_gen_below(state, 1000000);
}

static uint64_t small(uint64_t *state)
{
	return pst_gen_below(state, 128);
}

/* Spread over all powers of two, as a long tail is. */
static uint64_t logarithmic(uint64_t *state)
{
	return pst_gen_draw(state) >> pst_gen_below(state, 64);
}

static void quantiles_agree_with_sorted_data(void **state)
{
	(void)state;
	fill(N, uniform);
	assert_quantiles(N);
	fill(N, logarithmic);
	assert_quantiles(N);
	fill(999, uniform);
	assert_quantiles(999);
	fill(1, uniform);
	assert_quantiles(1);
}

static void small_values_are_exact(void **state)
{
	uint32_t i;

	(void)state;
	fill(N, small);
	for (i = 1; i <= 100; i++)
		assert_int_equal(pst_hist_quantile(&hist, i / 100.0), values[N / 100 * i - 1]);
}

static void mean_count_and_maximum_are_exact(void **state)
{
	uint64_t sum = 0;
	uint32_t i;

	(void)state;
	fill(N, uniform);
	for (i = 0; i < N; i++)
		sum += values[i];
	assert_int_equal(pst_hist_count(&hist), N);
	assert_int_equal(hist.sum, sum);
	assert_int_equal(hist.max, values[N - 1]);
	assert_true(pst_hist_mean(&hist) == (double)sum / N);
}

static void a_quantile_never_exceeds_the_maximum(void **state)
{
	(void)state;
	memset(&hist, 0, sizeof(hist));
	pst_hist_add(&hist, 1000000, 3);
	assert_int_equal(pst_hist_quantile(&hist, 0.5), 1000000);
}

static void every_value_has_a_bucket_and_they_ascend(void **state)
{
	uint32_t before = 0;
	uint32_t shift;

	(void)state;
	for (shift = 0; shift < 64; shift++) {
		uint32_t low = pst_hist_index(1ULL << shift);
		uint32_t high = pst_hist_index((2ULL << shift) - 1);

		assert_true(low > before || shift == 0);
		assert_true(high >= low && high < PST_HIST_BUCKETS);
		before = high;
	}
	assert_int_equal(pst_hist_index(UINT64_MAX), PST_HIST_BUCKETS - 1);
}

static void merging_is_as_adding_to_one(void **state)
{
	static struct pst_hist halves[2], whole;
	uint64_t seed = 3;
	uint32_t i;

	(void)state;
	memset(&whole, 0, sizeof(whole));
	memset(halves, 0, sizeof(halves));
	for (i = 0; i < 1000; i++) {
		uint64_t value = logarithmic(&seed) >> 8;

		pst_hist_add(&whole, value, 2);
		pst_hist_add(&halves[0], value, 1);
		pst_hist_add(&halves[1], value, 1);
	}
	pst_hist_merge(&halves[0], &halves[1]);
	assert_memory_equal(&halves[0], &whole, sizeof(whole));
}

static void nothing_has_no_latency(void **state)
{
	(void)state;
	memset(&hist, 0, sizeof(hist));
	assert_int_equal(pst_hist_quantile(&hist, 0.5), 0);
	assert_true(pst_hist_mean(&hist) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_agree_with_sorted_data),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(mean_count_and_maximum_are_exact),
		cmocka_unit_test(a_quantile_never_exceeds_the_maximum),
		cmocka_unit_test(every_value_has_a_bucket_and_they_ascend),
		cmocka_unit_test(merging_is_as_adding_to_one),
		cmocka_unit_test(nothing_has_no_latency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
