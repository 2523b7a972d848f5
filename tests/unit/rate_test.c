/* SPDX-License-Identifier: MIT */
/* The open loop's schedule, and latency that counts from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pace.h"

#define SECOND 1000000000ULL

/* Takes all that is due at `now`; returns how many. */
static uint64_t take_all(struct pst_pace *pace, uint64_t now)
{
	uint64_t start;
	uint64_t n = 0;

	while (pst_pace_take(pace, now, &start))
		n++;
	return n;
}

static void nothing_starts_before_its_time(void **state)
{
	struct pst_pace pace;
	uint64_t start;

	(void)state;
	pst_pace_init(&pace, 1000, 0, 1, 5000);
	assert_false(pst_pace_take(&pace, 4999, &start));
	assert_true(pst_pace_take(&pace, 5000, &start));
	assert_int_equal(start, 5000);
	assert_false(pst_pace_take(&pace, 5000 + SECOND / 1000 - 1, &start));
	assert_true(pst_pace_take(&pace, 5000 + SECOND / 1000, &start));
	assert_int_equal(start, 5000 + SECOND / 1000);
}

static void the_rate_is_exact_over_a_long_time(void **state)
{
	static const uint64_t rates[] = {1, 3, 7, 999, 1000000, 333333333};
	struct pst_pace pace;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		pst_pace_init(&pace, rates[i], 0, 1, 42);
		/* Far in: no sum of rounded steps, so no error. */
		pace.number = rates[i] * 86400;
		pst_pace_settle(&pace);
		assert_int_equal(pace.next, 42 + 86400 * SECOND);
	}
	pst_pace_init(&pace, 1000000, 0, 1, 0);
	assert_int_equal(take_all(&pace, SECOND - 1), 1000000);
}

static void a_stall_is_charged_to_what_it_delays(void **state)
{
	struct pst_pace pace;
	uint64_t start;
	uint64_t i;

	(void)state;
	pst_pace_init(&pace, 1000, 0, 1, 0);
	/* The device stalls for a second; the I/Os are late, but their starts are those intended.
	 */
	for (i = 0; i <= 1000; i++) {
		assert_true(pst_pace_take(&pace, SECOND, &start));
		assert_int_equal(start, i * SECOND / 1000);
	}
	assert_false(pst_pace_take(&pace, SECOND, &start));
}

static void threads_share_one_schedule(void **state)
{
	struct pst_pace pace[3];
	uint64_t start;
	uint64_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		pst_pace_init(&pace[i], 3000, (uint32_t)i, 3, 0);
	for (i = 0; i < 3000; i++) {
		assert_true(pst_pace_take(&pace[i % 3], SECOND, &start));
		assert_int_equal(start, i * SECOND / 3000);
	}
	assert_int_equal(take_all(&pace[0], SECOND - 1) + take_all(&pace[1], SECOND - 1) +
				 take_all(&pace[2], SECOND - 1),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_starts_before_its_time),
		cmocka_unit_test(the_rate_is_exact_over_a_long_time),
		cmocka_unit_test(a_stall_is_charged_to_what_it_delays),
		cmocka_unit_test(threads_share_one_schedule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
