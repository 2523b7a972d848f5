/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "claims.h"

static int holds;
static int last_fd;

static int hold(void *ctx, int *fd, struct pst_error *err)
{
	int ret = *(int *)ctx;

	holds++;
	if (ret)
		return pst_error_set(err, ret, "held by another");
	*fd = last_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

static int answer;

static struct pst_claim_params slice(uint64_t offset, uint64_t length)
{
	return (struct pst_claim_params){
		.source = "nvme:/dev/ng0n1",
		.dev = 7,
		.offset = offset,
		.length = length,
		.hold = hold,
		.ctx = &answer,
	};
}

static int reset(void **state)
{
	(void)state;
	holds = 0;
	answer = 0;
	return 0;
}

static void slices_side_by_side_share_one_hold(void **state)
{
	struct pst_claim_params first = slice(0, 4096);
	struct pst_claim_params second = slice(4096, 4096);
	struct pst_claim *a, *b;

	(void)state;
	assert_int_equal(pst_claim_take(&first, &a, NULL), 0);
	assert_int_equal(pst_claim_take(&second, &b, NULL), 0);
	assert_int_equal(holds, 1);
	pst_claim_release(a);
	assert_int_not_equal(fcntl(last_fd, F_GETFD), -1);
	pst_claim_release(b);
	assert_int_equal(fcntl(last_fd, F_GETFD), -1);
}

static void overlap_is_refused_and_named(void **state)
{
	struct pst_claim_params first = slice(0, 8192);
	struct pst_claim_params second = slice(4096, 8192);
	struct pst_error err = PST_ERROR_INIT;
	struct pst_claim *a, *b = NULL;

	(void)state;
	assert_int_equal(pst_claim_take(&first, &a, NULL), 0);
	assert_int_equal(pst_claim_take(&second, &b, &err), -EBUSY);
	assert_null(b);
	assert_string_equal(err.text,
			    "nvme:/dev/ng0n1: bytes 4096 to 12287 are served already, by an export "
			    "of bytes 0 to 8191; choose another offset and size, or make both "
			    "read-only");
	pst_claim_release(a);
	assert_int_equal(pst_claim_take(&second, &b, NULL), 0);
	pst_claim_release(b);
}

static void readers_may_overlap_but_not_with_a_writer(void **state)
{
	struct pst_claim_params reader = slice(0, 8192);
	struct pst_claim_params writer = slice(0, 8192);
	struct pst_claim *a, *b, *c;

	(void)state;
	reader.read_only = true;
	assert_int_equal(pst_claim_take(&reader, &a, NULL), 0);
	assert_int_equal(pst_claim_take(&reader, &b, NULL), 0);
	assert_int_equal(pst_claim_take(&writer, &c, NULL), -EBUSY);
	pst_claim_release(a);
	pst_claim_release(b);
}

static void what_hold_says_is_passed_on_and_nothing_stays_claimed(void **state)
{
	struct pst_claim_params params = slice(0, 4096);
	struct pst_error err = PST_ERROR_INIT;
	struct pst_claim *claim;

	(void)state;
	/* -EPERM is -1, which is also what a missing descriptor looks like. */
	answer = -EPERM;
	assert_int_equal(pst_claim_take(&params, &claim, &err), -EPERM);
	assert_string_equal(err.text, "held by another");
	answer = 0;
	assert_int_equal(pst_claim_take(&params, &claim, NULL), 0);
	pst_claim_release(claim);
}

static void force_holds_nothing(void **state)
{
	struct pst_claim_params params = slice(0, 4096);
	struct pst_claim *claim;

	(void)state;
	params.force = true;
	answer = -EBUSY;
	assert_int_equal(pst_claim_take(&params, &claim, NULL), 0);
	assert_int_equal(holds, 0);
	pst_claim_release(claim);
}

static void files_of_one_file_system_are_different_devices(void **state)
{
	struct pst_claim_params first = slice(0, 4096);
	struct pst_claim_params second = slice(0, 4096);
	struct pst_claim *a, *b;

	(void)state;
	first.ino = 1;
	second.ino = 2;
	assert_int_equal(pst_claim_take(&first, &a, NULL), 0);
	assert_int_equal(pst_claim_take(&second, &b, NULL), 0);
	pst_claim_release(a);
	pst_claim_release(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(slices_side_by_side_share_one_hold, reset),
		cmocka_unit_test_setup(overlap_is_refused_and_named, reset),
		cmocka_unit_test_setup(readers_may_overlap_but_not_with_a_writer, reset),
		cmocka_unit_test_setup(what_hold_says_is_passed_on_and_nothing_stays_claimed,
				       reset),
		cmocka_unit_test_setup(force_holds_nothing, reset),
		cmocka_unit_test_setup(files_of_one_file_system_are_different_devices, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
