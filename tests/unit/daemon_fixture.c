/* SPDX-License-Identifier: MIT */
#include "daemon_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "log.h"
#include "serve.h"

#define PATIENCE_MS 10000

int daemon_setup(void **state)
{
	struct test_daemon *d = calloc(1, sizeof(*d));

	if (!d)
		return -1;
	(void)snprintf(d->directory, sizeof(d->directory), "/tmp/penstock-test-XXXXXX");
	if (!mkdtemp(d->directory))
		return -1;
	(void)snprintf(d->control, sizeof(d->control), "%s/control.sock", d->directory);
	*state = d;
	return 0;
}

int daemon_teardown(void **state)
{
	struct test_daemon *d = *state;
	int ret;

	if (d->pid > 0) {
		(void)kill(d->pid, SIGKILL);
		(void)waitpid(d->pid, NULL, 0);
		(void)unlink(d->control);
	}
	/* A daemon that ended by itself left nothing. */
	ret = rmdir(d->directory);
	free(d);
	return ret;
}

static _Noreturn void serve(const struct test_daemon *d, bool json, const char *const *names,
			    size_t count)
{
	struct pst_export_config exports[8];
	struct pst_serve_config config = {
		.exports = exports,
		.nr_exports = count,
		.control = d->control,
		.log_level = PST_LOG_WARNING,
		.log_json = json,
	};
	struct pst_error err = PST_ERROR_INIT;
	char text[256];
	size_t i;

	for (i = 0; i < count; i++) {
		const char *more = strchr(names[i], ',') ? "" : ",umem=off";

		(void)snprintf(text, sizeof(text), "source=null:1G,name=%s%s", names[i], more);
		if (strstr(names[i], "source="))
			(void)snprintf(text, sizeof(text), "umem=off,name=%s", names[i]);
		if (pst_config_export(text, &exports[i], &err) != 0)
			_exit(99);
	}
	pst_daemon_log_start(config.log_level, json);
	exit(pst_serve(&config));
}

void daemon_start(struct test_daemon *d, bool json, const char *const *names, size_t count)
{
	int out[2], err[2];

	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(err), 0);
	d->out[0] = d->err[0] = '\0';
	d->pid = fork();
	assert_true(d->pid >= 0);
	if (d->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)dup2(err[1], STDERR_FILENO);
		close(out[0]);
		close(out[1]);
		close(err[0]);
		close(err[1]);
		serve(d, json, names, count);
	}
	close(out[1]);
	close(err[1]);
	d->out_fd = out[0];
	d->err_fd = err[0];
}

/* Reads what is there within `ms`; returns 0 at the end of file. */
static ssize_t read_more(int fd, char *text, size_t size, int ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	size_t used = strlen(text);
	ssize_t n;

	if (poll(&poll_fd, 1, ms) <= 0)
		return -ETIMEDOUT;
	n = read(fd, text + used, size - used - 1);
	if (n > 0)
		text[used + (size_t)n] = '\0';
	return n;
}

static void wait_for(struct test_daemon *d, int fd, char *text, size_t size, const char *wanted)
{
	while (!strstr(text, wanted)) {
		if (read_more(fd, text, size, PATIENCE_MS) <= 0)
			fail_msg("no \"%s\" from the daemon; stdout \"%s\", stderr \"%s\"", wanted,
				 d->out, d->err);
	}
}

void daemon_wait_out(struct test_daemon *d, const char *text)
{
	wait_for(d, d->out_fd, d->out, sizeof(d->out), text);
}

void daemon_wait_err(struct test_daemon *d, const char *text)
{
	wait_for(d, d->err_fd, d->err, sizeof(d->err), text);
}

int daemon_finish(struct test_daemon *d)
{
	int status;

	while (read_more(d->out_fd, d->out, sizeof(d->out), PATIENCE_MS) > 0)
		;
	while (read_more(d->err_fd, d->err, sizeof(d->err), PATIENCE_MS) > 0)
		;
	close(d->out_fd);
	close(d->err_fd);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	d->pid = 0;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

unsigned int count_of(const char *in, const char *text)
{
	unsigned int count = 0;

	while ((in = strstr(in, text))) {
		in += strlen(text);
		count++;
	}
	return count;
}
