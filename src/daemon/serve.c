/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base.h"
#include "control.h"
#include "exports.h"
#include "log.h"
#include "memlock.h"
#include "serve.h"

struct daemon {
	const struct pst_serve_config *config;
	uint32_t workers;
	int signal_fd;
	int epoll_fd;
	struct pst_exports exports;
	struct pst_control *control; /* NULL: none */
	struct pst_server *server;
};

static void say(const struct pst_error *err)
{
	pst_log(PST_LOG_ERROR, NULL, "%s", err->text);
}

static uint32_t count_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (uint32_t)CPU_COUNT(&set);
	return (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/*
 * The signals that end us wait in a descriptor from now on, in every thread to come; further ones
 * stay there, so that they do not disturb the end.
 */
static int open_signals(struct daemon *d, struct pst_error *err)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (d->signal_fd < 0)
		return pst_error_set(err, -errno,
				     "serve has no descriptor for signals: %s; raise ulimit -n",
				     pst_errname(errno));
	return 0;
}

static int watch(struct daemon *d, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int open_epoll(struct daemon *d, struct pst_error *err)
{
	int ret;

	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	ret = d->epoll_fd < 0 ? -errno : 0;
	if (!ret)
		ret = watch(d, d->signal_fd);
	if (!ret)
		ret = watch(d, d->exports.event_fd);
	if (!ret && d->control)
		ret = watch(d, pst_control_fd(d->control));
	if (ret)
		return pst_error_set(err, ret, "serve cannot wait for events: %s; raise ulimit -n",
				     pst_errname(ret));
	return 0;
}

static int start_server(struct daemon *d, struct pst_error *err)
{
	struct pst_server_params params = {
		.workers = d->workers,
		.on_ready = pst_exports_on_ready,
		.on_failed = pst_exports_on_failed,
		.ctx = &d->exports,
	};

	return pst_server_create(&params, &d->server, err);
}

/* Whether serving goes on after what the server reported. */
static bool handle_failures(struct daemon *d)
{
	struct pst_error why = PST_ERROR_INIT;
	bool go_on = true;
	bool started;

	while (pst_exports_take_failure(&d->exports, &why, &started)) {
		say(&why);
		if (!started)
			go_on = false;
	}
	return go_on;
}

/* Until a signal: 0. An export that never became ready ends serving as a whole: 1. */
static int loop(struct daemon *d)
{
	for (;;) {
		struct epoll_event event;
		int n = epoll_wait(d->epoll_fd, &event, 1, -1);

		if (n < 0 && errno != EINTR) {
			pst_log(PST_LOG_ERROR, NULL, "serve cannot wait for events: %s",
				pst_errname(errno));
			return 1;
		}
		if (n <= 0)
			continue;
		if (event.data.fd == d->signal_fd)
			return 0;
		if (event.data.fd == d->exports.event_fd) {
			if (!handle_failures(d))
				return 1;
			continue;
		}
		pst_control_accept(d->control);
	}
}

/* Returns 1 when an export could not be ended as it should. One left attached is no failure. */
static int end_exports(struct daemon *d)
{
	int status = 0;
	size_t i;

	for (i = 0; i < d->exports.count; i++) {
		struct pst_served *item = &d->exports.items[i];
		struct pst_error err = PST_ERROR_INIT;
		int ret;

		if (!pst_exports_acquire(&d->exports, item)) {
			pst_exports_wait(&d->exports, item);
			continue;
		}
		ret = pst_exports_remove(&d->exports, item, PST_EXPORT_END_IF_UNUSED, &err);
		if (ret)
			say(&err);
		if (ret && ret != -EBUSY)
			status = 1;
	}
	return status;
}

/* Everything that is opened once the process is known to be allowed to serve. */
static int run(struct daemon *d, struct pst_error *err)
{
	int ret, status;

	ret = open_epoll(d, err);
	if (!ret)
		ret = start_server(d, err);
	if (!ret)
		ret = pst_exports_create(&d->exports, d->server, err);
	if (ret)
		say(err);
	else
		pst_log(PST_LOG_INFO, NULL, "%zu exports on %u workers", d->exports.count,
			d->workers);
	status = ret ? 1 : loop(d);

	if (d->control)
		pst_control_stop(d->control);
	if (end_exports(d))
		status = 1;
	pst_server_destroy(d->server);
	if (d->epoll_fd >= 0)
		close(d->epoll_fd);
	return status;
}

/* What may be refused, the most telling first: sources, memory, the control socket. */
static int prepare(struct daemon *d, struct pst_error *err)
{
	uint64_t needed = pst_memlock_needed(d->config, d->workers);
	int ret;

	ret = pst_exports_open(&d->exports, err);
	if (!ret)
		ret = pst_memlock_raise(needed, err);
	if (!ret)
		ret = pst_control_open(d->config->control, &d->exports, &d->control, err);
	return ret;
}

int pst_serve(const struct pst_serve_config *config)
{
	struct daemon d = {.config = config, .signal_fd = -1, .epoll_fd = -1};
	struct pst_error err = PST_ERROR_INIT;
	int status = 1;
	int ret;

	d.workers = pst_config_workers(config, count_cpus());
	ret = open_signals(&d, &err);
	if (!ret)
		ret = pst_exports_init(&d.exports, config, &err);
	if (ret) {
		say(&err);
		goto out;
	}
	if (prepare(&d, &err))
		say(&err);
	else
		status = run(&d, &err);
	pst_control_close(d.control);
	pst_exports_finish(&d.exports);
out:
	if (d.signal_fd >= 0)
		close(d.signal_fd);
	return status;
}
