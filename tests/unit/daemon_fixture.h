/* SPDX-License-Identifier: MIT */
/* A daemon over the stubbed server (export_stub.c) in a process of its own. */
#ifndef DAEMON_FIXTURE_H
#define DAEMON_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <sys/types.h>

struct test_daemon {
	char directory[64];
	char control[96]; /* path of the control socket */
	pid_t pid;
	int out_fd, err_fd;
	char out[16384], err[16384]; /* what it wrote so far */
};

/* A test whose *state is a struct test_daemon; ends what it left running, and looks for litter. */
#define daemon_test(f) cmocka_unit_test_setup_teardown(f, daemon_setup, daemon_teardown)
int daemon_setup(void **state);
int daemon_teardown(void **state);

/* Serves exports with these names; without memory of their own unless a key says otherwise. */
void daemon_start(struct test_daemon *d, bool json, const char *const *names, size_t count);
#define DAEMON_START(d, ...)                                                                       \
	daemon_start((d), false, (const char *const[]){__VA_ARGS__},                               \
		     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Waits until it has written `text` to stdout or stderr. */
void daemon_wait_out(struct test_daemon *d, const char *text);
void daemon_wait_err(struct test_daemon *d, const char *text);

/* Waits for its end and reads the rest of what it writes; returns the exit status. */
int daemon_finish(struct test_daemon *d);

/* How often `text` occurs. */
unsigned int count_of(const char *in, const char *text);

#endif
