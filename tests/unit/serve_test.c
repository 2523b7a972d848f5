/* SPDX-License-Identifier: MIT */
/* The life of a daemon: its lines, its sentences and its exit status. */
#include "daemon_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static void ready_and_done_are_as_in_the_contract(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "disk0,umem=on,fixed=off,bounce=1M,queues=2", "disk1");
	daemon_wait_out(d, "ready name=disk0");
	daemon_wait_out(d, "ready name=disk1");
	kill(d->pid, SIGTERM);
	assert_int_equal(daemon_finish(d), 0);
	assert_int_equal(count_of(d->out, "ready name=disk0 device=/dev/vda transport=vduse "
					  "size=1073741824 queues=2 umem=1048576 fixed=yes "
					  "packed=no\n"),
			 1);
	assert_int_equal(count_of(d->out, "ready name=disk1 device=/dev/vda transport=vduse "
					  "size=1073741824 queues=1 umem=0 fixed=no packed=no\n"),
			 1);
	assert_int_equal(count_of(d->out, "done name=disk0 reads=1 writes=2 flushes=3 discards=4 "
					  "fixed=5 unfixed=6 gathered=7 refused=8 errors=9\n"),
			 1);
	assert_int_equal(count_of(d->out, "done name=disk1 "), 1);
	assert_int_equal(count_of(d->out, "\n"), 4);
	assert_string_equal(d->err, "");
}

static void interrupts_and_hangups_end_it_too(void **state)
{
	static const int signals[] = {SIGINT, SIGHUP};
	struct test_daemon *d = *state;
	size_t i;

	for (i = 0; i < 2; i++) {
		DAEMON_START(d, "disk0");
		daemon_wait_out(d, "ready");
		kill(d->pid, signals[i]);
		assert_int_equal(daemon_finish(d), 0);
		assert_int_equal(count_of(d->out, "done"), 1);
	}
}

static void further_signals_do_not_disturb_the_end(void **state)
{
	struct test_daemon *d = *state;
	int i;

	DAEMON_START(d, "slow1", "slow2");
	daemon_wait_out(d, "ready name=slow2");
	kill(d->pid, SIGTERM);
	for (i = 0; i < 3; i++) {
		kill(d->pid, SIGTERM);
		kill(d->pid, SIGINT);
	}
	daemon_wait_out(d, "done name=slow1");
	kill(d->pid, SIGTERM);
	assert_int_equal(daemon_finish(d), 0);
	assert_int_equal(count_of(d->out, "done name=slow2"), 1);
}

static void one_in_use_is_left_with_a_sentence(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "used", "disk1");
	daemon_wait_out(d, "ready name=disk1");
	kill(d->pid, SIGTERM);
	assert_int_equal(daemon_finish(d), 0);
	assert_string_equal(d->err, "penstock: used stays attached: unmount it\n");
	assert_int_equal(count_of(d->out, "done"), 2);
}

static void one_that_cannot_be_removed_is_a_failure(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "stuck", "disk1");
	daemon_wait_out(d, "ready name=disk1");
	kill(d->pid, SIGTERM);
	assert_int_equal(daemon_finish(d), 1);
	assert_string_equal(d->err, "penstock: stuck cannot be removed: reboot\n");
	assert_int_equal(count_of(d->out, "done"), 2);
}

static void a_missing_source_is_one_sentence(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "disk0", "disk1,source=nvme:/dev/none");
	assert_int_equal(daemon_finish(d), 1);
	assert_string_equal(d->err, "penstock: /dev/none does not exist: see nvme list\n");
	assert_string_equal(d->out, "");
}

static void one_that_cannot_be_created_ends_all(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "disk0", "refused", "disk2");
	assert_int_equal(daemon_finish(d), 1);
	assert_string_equal(d->err, "penstock: refused is not permitted: be root\n");
	assert_int_equal(count_of(d->out, "done name=disk0"), 1);
	assert_null(strstr(d->out, "disk2"));
}

static void one_that_never_gets_ready_ends_all(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "disk0", "failing");
	assert_int_equal(daemon_finish(d), 1);
	assert_string_equal(d->err, "penstock: failing fails: do without\n");
	assert_int_equal(count_of(d->out, "done name=disk0"), 1);
}

static void one_that_fails_later_leaves_the_others(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "late", "disk1");
	daemon_wait_err(d, "penstock: late fails: do without\n");
	daemon_wait_out(d, "ready name=disk1");
	kill(d->pid, SIGTERM);
	assert_int_equal(daemon_finish(d), 0);
	assert_int_equal(count_of(d->out, "done"), 2);
}

static void sentences_can_be_json(void **state)
{
	const char *const names[] = {"failing"};
	struct test_daemon *d = *state;
	json_t *line;

	daemon_start(d, true, names, 1);
	assert_int_equal(daemon_finish(d), 1);
	assert_int_equal(count_of(d->err, "\n"), 1);
	line = json_loads(d->err, 0, NULL);
	assert_non_null(line);
	assert_int_equal(json_integer_value(json_object_get(line, "version")), 1);
	assert_string_equal(json_string_value(json_object_get(line, "level")), "error");
	assert_string_equal(json_string_value(json_object_get(line, "text")),
			    "failing fails: do without");
	assert_int_equal(strlen(json_string_value(json_object_get(line, "time"))), 24);
	json_decref(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		daemon_test(ready_and_done_are_as_in_the_contract),
		daemon_test(interrupts_and_hangups_end_it_too),
		daemon_test(further_signals_do_not_disturb_the_end),
		daemon_test(one_in_use_is_left_with_a_sentence),
		daemon_test(one_that_cannot_be_removed_is_a_failure),
		daemon_test(a_missing_source_is_one_sentence),
		daemon_test(one_that_cannot_be_created_ends_all),
		daemon_test(one_that_never_gets_ready_ends_all),
		daemon_test(one_that_fails_later_leaves_the_others),
		daemon_test(sentences_can_be_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
