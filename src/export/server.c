/* SPDX-License-Identifier: MIT */
/* The control thread, and the set of workers and exports it belongs to. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "server.h"

/* Between looks for a block device that is about to appear. */
#define READY_POLL_MS 10

void pst_server_post(struct pst_server *server, struct pst_msg *msg)
{
	pst_mailbox_post(&server->mailbox, msg);
}

struct server_call {
	struct pst_msg msg;
	void (*fn)(void *arg);
	void *arg;
	sem_t done;
};

static void run_call(struct pst_msg *msg)
{
	struct server_call *call = pst_container_of(msg, struct server_call, msg);

	call->fn(call->arg);
	(void)sem_post(&call->done);
}

void pst_server_call(struct pst_server *server, void (*fn)(void *arg), void *arg)
{
	struct server_call call = {.msg.run = run_call, .fn = fn, .arg = arg};

	(void)sem_init(&call.done, 0, 0);
	pst_server_post(server, &call.msg);
	while (sem_wait(&call.done) != 0)
		;
	(void)sem_destroy(&call.done);
}

/* Looks at the exports that are on their way; returns whether to look again soon. */
static bool check_ready(struct pst_server *server)
{
	struct pst_list *pos;
	bool again = false;

	(void)pthread_mutex_lock(&server->lock);
	pst_list_for_each (pos, &server->exports) {
		struct pst_export *exp = pst_container_of(pos, struct pst_export, link);

		if (exp->watched)
			again |= pst_ready_check(exp);
	}
	(void)pthread_mutex_unlock(&server->lock);
	return again;
}

static void *control_main(void *arg)
{
	struct pst_server *server = arg;
	struct epoll_event events[16];
	bool again = false;
	int n, i;

	while (!server->stop) {
		n = epoll_wait(server->epoll_fd, events, PST_ARRAY_SIZE(events),
			       again ? READY_POLL_MS : -1);
		for (i = 0; i < n; i++) {
			if (events[i].data.ptr)
				pst_session_message(events[i].data.ptr);
		}
		/* After the devices: a message may take one of them out of the set. */
		pst_mailbox_run(&server->mailbox);
		again = check_ready(server);
	}
	return NULL;
}

static int start_control(struct pst_server *server, struct pst_error *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	int ret = pst_mailbox_init(&server->mailbox);

	if (ret)
		return pst_error_set(err, ret, "the control thread cannot be started: %s",
				     pst_errname(ret));
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0 ||
	    epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->mailbox.event_fd, &event) != 0)
		ret = -errno;
	if (ret == 0)
		ret = -pthread_create(&server->control, NULL, control_main, server);
	if (ret) {
		if (server->epoll_fd >= 0)
			close(server->epoll_fd);
		pst_mailbox_finish(&server->mailbox);
		return pst_error_set(err, ret, "the control thread cannot be started: %s",
				     pst_errname(ret));
	}
	(void)pthread_setname_np(server->control, "control");
	return 0;
}

static void free_server(struct pst_server *server)
{
	uint32_t i;

	for (i = 0; i < server->nr_workers; i++)
		pst_worker_stop(&server->workers[i]);
	(void)pthread_mutex_destroy(&server->lock);
	free(server->workers);
	free(server);
}

int pst_server_create(const struct pst_server_params *params, struct pst_server **out,
		      struct pst_error *err)
{
	struct pst_server *server;
	uint32_t i;
	int ret;

	if (params->workers == 0 || params->workers > 64)
		return pst_error_set(err, -EINVAL, "%u workers cannot be had: 1 to 64 can",
				     params->workers);
	server = calloc(1, sizeof(*server));
	if (server)
		server->workers = calloc(params->workers, sizeof(*server->workers));
	if (!server || !server->workers) {
		free(server);
		return pst_error_set(err, -ENOMEM, "out of memory for a server");
	}
	server->params = *params;
	server->params.cpus = NULL;
	(void)pthread_mutex_init(&server->lock, NULL);
	pst_list_init(&server->exports);

	for (i = 0; i < params->workers; i++) {
		ret = pst_worker_start(&server->workers[i], i, params->cpus ? params->cpus[i] : -1,
				       err);
		if (ret) {
			free_server(server);
			return ret;
		}
		server->nr_workers++;
	}
	ret = start_control(server, err);
	if (ret) {
		free_server(server);
		return ret;
	}
	*out = server;
	return 0;
}

static void stop_control(void *arg)
{
	struct pst_server *server = arg;

	server->stop = true;
}

void pst_server_destroy(struct pst_server *server)
{
	if (!server)
		return;
	pst_server_call(server, stop_control, server);
	(void)pthread_join(server->control, NULL);
	close(server->epoll_fd);
	pst_mailbox_finish(&server->mailbox);
	free_server(server);
}
