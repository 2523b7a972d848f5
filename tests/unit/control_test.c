/* SPDX-License-Identifier: MIT */
/* The control socket: what it answers, and what it survives. */
#include "daemon_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

static int dial(const struct test_daemon *d)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = 10};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", d->control);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

/* One line of an answer, parsed; NULL at the end of the connection. */
static json_t *hear(int fd)
{
	char line[65536];
	size_t used = 0;

	while (used < sizeof(line) && recv(fd, line + used, 1, 0) == 1) {
		if (line[used++] == '\n')
			return json_loadb(line, used, 0, NULL);
	}
	return NULL;
}

/* The answer to a request on a connection of its own; always of version 1. */
static json_t *ask(const struct test_daemon *d, const char *request)
{
	int fd = dial(d);
	json_t *answer;

	assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
	assert_int_equal(send(fd, "\n", 1, 0), 1);
	answer = hear(fd);
	close(fd);
	assert_int_equal(json_integer_value(json_object_get(answer, "version")), 1);
	return answer;
}

static void refused(const struct test_daemon *d, const char *request, const char *sentence)
{
	json_t *answer = ask(d, request);
	const char *error = json_string_value(json_object_get(answer, "error"));

	assert_true(json_is_false(json_object_get(answer, "ok")));
	if (!error || !strstr(error, sentence))
		fail_msg("%s: \"%s\" lacks \"%s\"", request, error, sentence);
	json_decref(answer);
}

static void accepted(const struct test_daemon *d, const char *request)
{
	json_t *answer = ask(d, request);

	assert_true(json_is_true(json_object_get(answer, "ok")));
	json_decref(answer);
}

static void end(struct test_daemon *d)
{
	kill(d->pid, SIGTERM);
	assert_int_equal(daemon_finish(d), 0);
}

static void only_the_owner_may_open_it(void **state)
{
	struct test_daemon *d = *state;
	struct stat st;

	DAEMON_START(d, "disk0");
	daemon_wait_out(d, "ready");
	assert_int_equal(stat(d->control, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	end(d);
	assert_int_equal(stat(d->control, &st), -1);
}

static void list_describes_what_is_served(void **state)
{
	struct test_daemon *d = *state;
	json_t *answer, *first;

	DAEMON_START(d, "disk0,umem=on,fixed=off,bounce=1M", "quiet", "late");
	daemon_wait_out(d, "ready name=disk0");
	daemon_wait_err(d, "late fails");
	answer = ask(d, "{\"cmd\":\"list\"}");
	assert_int_equal(json_array_size(json_object_get(answer, "exports")), 3);
	first = json_array_get(json_object_get(answer, "exports"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "name")), "disk0");
	assert_string_equal(json_string_value(json_object_get(first, "state")), "ready");
	assert_string_equal(json_string_value(json_object_get(first, "source")), "null:1G");
	assert_string_equal(json_string_value(json_object_get(first, "device")), "/dev/vda");
	assert_int_equal(json_integer_value(json_object_get(first, "size")), 1 << 30);
	assert_int_equal(json_integer_value(json_object_get(first, "umem")), 1 << 20);
	assert_true(json_is_true(json_object_get(first, "fixed")));
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(answer, "exports"), 1), "state")),
		"starting");
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(answer, "exports"), 2), "state")),
		"failed");
	json_decref(answer);
	end(d);
}

static void stats_count(void **state)
{
	static const char *const keys[] = {"reads",  "writes",	   "flushes",	   "discards",
					   "fixed",  "unfixed",	   "gathered",	   "refused",
					   "errors", "bytes_read", "bytes_written"};
	struct test_daemon *d = *state;
	json_t *answer, *first;
	size_t i;

	DAEMON_START(d, "disk0");
	daemon_wait_out(d, "ready");
	answer = ask(d, "{\"cmd\":\"stats\"}");
	first = json_array_get(json_object_get(answer, "exports"), 0);
	for (i = 0; i < 11; i++)
		assert_int_equal(json_integer_value(json_object_get(first, keys[i])), i + 1);
	json_decref(answer);
	end(d);
}

static void del_ends_one_and_serving_goes_on(void **state)
{
	struct test_daemon *d = *state;
	json_t *answer;

	DAEMON_START(d, "disk0", "disk1");
	daemon_wait_out(d, "ready name=disk1");
	accepted(d, "{\"cmd\":\"del\",\"name\":\"disk0\"}");
	daemon_wait_out(d, "done name=disk0");
	refused(d, "{\"cmd\":\"del\",\"name\":\"disk0\"}", "export disk0: there is none");
	accepted(d, "{\"cmd\":\"del\",\"name\":\"disk1\",\"force\":true}");
	answer = ask(d, "{\"cmd\":\"list\"}");
	assert_int_equal(json_array_size(json_object_get(answer, "exports")), 0);
	json_decref(answer);
	end(d);
	assert_int_equal(count_of(d->out, "done"), 2);
}

static void del_of_a_device_in_use_needs_force(void **state)
{
	struct test_daemon *d = *state;
	json_t *answer;

	DAEMON_START(d, "used");
	daemon_wait_out(d, "ready");
	refused(d, "{\"cmd\":\"del\",\"name\":\"used\"}",
		"/dev/used is in use (mounted on /mnt): end that, or add --force");
	answer = ask(d, "{\"cmd\":\"list\"}");
	assert_int_equal(json_array_size(json_object_get(answer, "exports")), 1);
	json_decref(answer);
	accepted(d, "{\"cmd\":\"del\",\"name\":\"used\",\"force\":true}");
	end(d);
	assert_string_equal(d->err, "");
}

static void umem_is_cycled(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "disk0,umem=on,fixed=off,bounce=1M", "disk1");
	daemon_wait_out(d, "ready name=disk1");
	accepted(d, "{\"cmd\":\"umem-cycle\",\"name\":\"disk0\"}");
	refused(d, "{\"cmd\":\"umem-cycle\",\"name\":\"disk1\"}", "no user memory");
	end(d);
}

static void garbage_is_answered(void **state)
{
	struct test_daemon *d = *state;

	DAEMON_START(d, "disk0");
	daemon_wait_out(d, "ready");
	refused(d, "", "not a JSON object");
	refused(d, "hello", "not a JSON object");
	refused(d, "[]", "not a JSON object");
	refused(d, "{\"cmd\":1}", "not a JSON object");
	refused(d, "{\"cmd\":\"list\",\"cmd\":\"list\"}", "not a JSON object");
	refused(d, "{\"cmd\":\"\xff\xfe\"}", "not a JSON object");
	refused(d, "{\"cmd\":\"format-c\"}", "format-c is unknown");
	refused(d,
		"{\"cmd\":\"format-c:\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
		"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\"}",
		"unknown");
	refused(d, "{\"cmd\":\"del\"}", "names no export");
	refused(d, "{\"cmd\":\"del\",\"name\":[]}", "names no export");
	refused(d, "{\"cmd\":\"del\",\"name\":\"other\"}", "export other: there is none");
	end(d);
}

static void requests_are_bounded(void **state)
{
	struct test_daemon *d = *state;
	char *text = malloc(70000);
	const char *error;
	json_t *answer;
	int fd;

	DAEMON_START(d, "disk0");
	daemon_wait_out(d, "ready");
	memset(text, '[', 70000);
	fd = dial(d);
	(void)send(fd, text, 70000, MSG_NOSIGNAL);
	answer = hear(fd);
	error = json_string_value(json_object_get(answer, "error"));
	assert_non_null(error);
	assert_non_null(strstr(error, "longer than 64 KiB"));
	json_decref(answer);
	assert_null(hear(fd));
	close(fd);
	/* As deep as it can be nested. */
	text[60000] = '\0';
	refused(d, text, "not a JSON object");
	free(text);
	accepted(d, "{\"cmd\":\"list\"}");
	end(d);
}

static void requests_may_come_in_pieces_and_in_crowds(void **state)
{
	static const char two[] = "{\"cmd\":\"list\"}\n{\"cmd\":\"stats\"}\n{\"cmd\"";
	struct test_daemon *d = *state;
	json_t *answer;
	size_t i;
	int fd;

	DAEMON_START(d, "disk0");
	daemon_wait_out(d, "ready");
	fd = dial(d);
	for (i = 0; i < 5; i++)
		assert_int_equal(send(fd, two + i, 1, 0), 1);
	assert_int_equal(send(fd, two + 5, sizeof(two) - 6, 0), sizeof(two) - 6);
	for (i = 0; i < 2; i++) {
		answer = hear(fd);
		assert_true(json_is_true(json_object_get(answer, "ok")));
		json_decref(answer);
	}
	assert_int_equal(send(fd, ":\"list\"}\n", 9, 0), 9);
	answer = hear(fd);
	assert_true(json_is_true(json_object_get(answer, "ok")));
	json_decref(answer);
	close(fd);
	end(d);
}

static void too_many_clients_are_told(void **state)
{
	struct test_daemon *d = *state;
	const char *error;
	json_t *answer;
	int fds[17];
	size_t i;

	DAEMON_START(d, "disk0");
	daemon_wait_out(d, "ready");
	for (i = 0; i < 17; i++)
		fds[i] = dial(d);
	answer = hear(fds[16]);
	error = json_string_value(json_object_get(answer, "error"));
	assert_non_null(error);
	assert_non_null(strstr(error, "too many clients"));
	json_decref(answer);
	/* Idle clients do not hold up the end. */
	end(d);
	for (i = 0; i < 17; i++) {
		assert_null(hear(fds[i]));
		close(fds[i]);
	}
}

static void the_end_waits_for_a_removal_under_way(void **state)
{
	static const char del[] = "{\"cmd\":\"del\",\"name\":\"slow\"}\n";
	struct test_daemon *d = *state;
	json_t *answer;
	int fd;

	DAEMON_START(d, "slow", "disk1");
	daemon_wait_out(d, "ready name=disk1");
	daemon_wait_out(d, "ready name=slow");
	fd = dial(d);
	assert_int_equal(send(fd, del, sizeof(del) - 1, 0), sizeof(del) - 1);
	usleep(100000);
	/* Others are answered meanwhile, and see it no more. */
	answer = ask(d, "{\"cmd\":\"list\"}");
	assert_int_equal(json_array_size(json_object_get(answer, "exports")), 1);
	json_decref(answer);
	refused(d, "{\"cmd\":\"del\",\"name\":\"slow\"}", "there is none");
	end(d);
	answer = hear(fd);
	assert_true(json_is_true(json_object_get(answer, "ok")));
	json_decref(answer);
	close(fd);
	assert_int_equal(count_of(d->out, "done name=slow"), 1);
	assert_int_equal(count_of(d->out, "done name=disk1"), 1);
}

static void a_second_daemon_is_refused_and_a_dead_one_replaced(void **state)
{
	struct test_daemon *first = *state;
	struct test_daemon second = *first;

	DAEMON_START(first, "disk0");
	daemon_wait_out(first, "ready");
	DAEMON_START(&second, "disk1");
	assert_int_equal(daemon_finish(&second), 1);
	assert_non_null(strstr(second.err, "another penstock serves at "));
	assert_non_null(strstr(second.err, "--control PATH"));
	assert_string_equal(second.out, "");

	accepted(first, "{\"cmd\":\"list\"}");
	kill(first->pid, SIGKILL);
	assert_int_equal(waitpid(first->pid, NULL, 0), first->pid);
	first->pid = 0;
	close(first->out_fd);
	close(first->err_fd);
	assert_int_equal(access(first->control, F_OK), 0);

	DAEMON_START(&second, "disk1");
	daemon_wait_out(&second, "ready");
	accepted(&second, "{\"cmd\":\"list\"}");
	end(&second);
}

static void other_files_are_not_touched(void **state)
{
	struct test_daemon *d = *state;
	int fd = open(d->control, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	DAEMON_START(d, "disk0");
	assert_int_equal(daemon_finish(d), 1);
	assert_non_null(strstr(d->err, "there is a file that is no socket; name another path"));
	assert_int_equal(unlink(d->control), 0);
}

static void a_path_that_cannot_be_is_said(void **state)
{
	struct test_daemon nowhere = *(struct test_daemon *)*state;

	(void)snprintf(nowhere.control, sizeof(nowhere.control), "%s/none/control.sock",
		       nowhere.directory);
	DAEMON_START(&nowhere, "disk0");
	assert_int_equal(daemon_finish(&nowhere), 1);
	assert_non_null(strstr(nowhere.err, "No such file or directory; name another path"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		daemon_test(only_the_owner_may_open_it),
		daemon_test(list_describes_what_is_served),
		daemon_test(stats_count),
		daemon_test(del_ends_one_and_serving_goes_on),
		daemon_test(del_of_a_device_in_use_needs_force),
		daemon_test(umem_is_cycled),
		daemon_test(garbage_is_answered),
		daemon_test(requests_are_bounded),
		daemon_test(requests_may_come_in_pieces_and_in_crowds),
		daemon_test(too_many_clients_are_told),
		daemon_test(the_end_waits_for_a_removal_under_way),
		daemon_test(a_second_daemon_is_refused_and_a_dead_one_replaced),
		daemon_test(other_files_are_not_touched),
		daemon_test(a_path_that_cannot_be_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
