/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "base.h"
#include "commands.h"
#include "control.h"
#include "control_socket.h"

#define CLIENTS_MAX 16
#define REQUEST_MAX ((size_t)64 << 10)
#define PATIENCE_MS 10000 /* for a whole request to arrive, and for an answer to be taken */

enum client_state {
	CLIENT_FREE,
	CLIENT_RUNNING,
	CLIENT_FINISHED, /* its thread is to be joined */
};

struct client {
	struct pst_control *control;
	pthread_t thread;
	int fd;
	enum client_state state;
};

struct pst_control {
	struct pst_control_socket socket;
	struct pst_exports *exports;
	pthread_mutex_t lock; /* state and fd of the clients, stopping */
	bool stopping;
	struct client clients[CLIENTS_MAX];
};

/* Sends an answer and takes it; returns whether the client got it. */
static bool send_answer(int fd, char *answer)
{
	size_t length = answer ? strlen(answer) : 0;
	size_t sent = 0;

	if (!answer)
		return false;
	answer[length] = '\n'; /* in place of the NUL */
	while (sent < length + 1) {
		ssize_t n = send(fd, answer + sent, length + 1 - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	free(answer);
	return sent == length + 1;
}

/*
 * Reads until there is a line in buf, which already holds *used bytes. Returns its length without
 * the line feed; -EMSGSIZE when it is too long; another negative errno when the client is gone or
 * too slow.
 */
static ssize_t read_line(int fd, char *buf, size_t *used)
{
	uint64_t deadline = pst_now_ns() + (uint64_t)PATIENCE_MS * 1000000;
	size_t seen = 0;

	for (;;) {
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		char *end = memchr(buf + seen, '\n', *used - seen);
		uint64_t now = pst_now_ns();
		ssize_t n;

		if (end)
			return end - buf;
		if (*used == REQUEST_MAX)
			return -EMSGSIZE;
		seen = *used;
		if (now >= deadline)
			return -ETIMEDOUT;
		n = poll(&poll_fd, 1, (int)((deadline - now) / 1000000) + 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		n = recv(fd, buf + *used, REQUEST_MAX - *used, MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ECONNRESET;
		*used += (size_t)n;
	}
}

static bool stopping(struct pst_control *control)
{
	bool stop;

	pthread_mutex_lock(&control->lock);
	stop = control->stopping;
	pthread_mutex_unlock(&control->lock);
	return stop;
}

static void serve_client(struct client *client, char *buf)
{
	struct pst_control *control = client->control;
	size_t used = 0;

	while (!stopping(control)) {
		ssize_t length = read_line(client->fd, buf, &used);

		if (length == -EMSGSIZE) {
			(void)send_answer(
				client->fd,
				pst_command_refuse("the request is longer than 64 KiB: send "
						   "one line of JSON"));
			return;
		}
		if (length < 0)
			return;
		if (!send_answer(client->fd,
				 pst_command_run(control->exports, buf, (size_t)length)))
			return;
		used -= (size_t)length + 1;
		memmove(buf, buf + length + 1, used);
	}
}

static void *client_main(void *arg)
{
	struct client *client = arg;
	char *buf = malloc(REQUEST_MAX);

	if (buf)
		serve_client(client, buf);
	free(buf);
	pthread_mutex_lock(&client->control->lock);
	close(client->fd);
	client->state = CLIENT_FINISHED;
	pthread_mutex_unlock(&client->control->lock);
	return NULL;
}

static enum client_state state_of(struct client *client)
{
	enum client_state state;

	pthread_mutex_lock(&client->control->lock);
	state = client->state;
	pthread_mutex_unlock(&client->control->lock);
	return state;
}

static struct client *free_client(struct pst_control *control)
{
	struct client *found = NULL;
	size_t i;

	for (i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];
		enum client_state state = state_of(client);

		if (state == CLIENT_FINISHED) {
			pthread_join(client->thread, NULL);
			client->state = CLIENT_FREE;
		}
		if (state != CLIENT_RUNNING && !found)
			found = client;
	}
	return found;
}

static bool start_client(struct client *client, int fd)
{
	client->fd = fd;
	client->state = CLIENT_RUNNING;
	if (pthread_create(&client->thread, NULL, client_main, client) == 0)
		return true;
	client->state = CLIENT_FREE;
	return false;
}

void pst_control_accept(struct pst_control *control)
{
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd = accept4(control->socket.fd, NULL, NULL, SOCK_CLOEXEC);
	struct client *client;

	if (fd < 0)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	client = free_client(control);
	if (client && start_client(client, fd))
		return;
	(void)send_answer(fd,
			  pst_command_refuse("the daemon has too many clients: try again when one "
					     "of them is done"));
	close(fd);
}

int pst_control_fd(const struct pst_control *control)
{
	return control->socket.fd;
}

int pst_control_open(const char *path, struct pst_exports *exports, struct pst_control **control,
		     struct pst_error *err)
{
	struct pst_control *c = calloc(1, sizeof(*c));
	size_t i;
	int ret;

	*control = NULL;
	if (!c)
		return pst_error_set(err, -ENOMEM, "the control socket has no memory: free some");
	if (path)
		ret = pst_control_socket_open(path, &c->socket, err);
	else
		ret = pst_control_socket_open_default(&c->socket, err);
	if (ret) {
		free(c);
		if (path || ret == -EADDRINUSE)
			return ret;
		pst_log(PST_LOG_WARNING, NULL, "%s; going on without a control socket", err->text);
		return 0;
	}
	json_object_seed(0); /* before there are threads that would race to do it */
	c->exports = exports;
	pthread_mutex_init(&c->lock, NULL);
	for (i = 0; i < CLIENTS_MAX; i++)
		c->clients[i].control = c;
	*control = c;
	return 0;
}

void pst_control_stop(struct pst_control *control)
{
	size_t i;

	pthread_mutex_lock(&control->lock);
	control->stopping = true;
	for (i = 0; i < CLIENTS_MAX; i++) {
		if (control->clients[i].state == CLIENT_RUNNING)
			(void)shutdown(control->clients[i].fd, SHUT_RD);
	}
	pthread_mutex_unlock(&control->lock);
}

void pst_control_close(struct pst_control *control)
{
	size_t i;

	if (!control)
		return;
	pst_control_stop(control);
	for (i = 0; i < CLIENTS_MAX; i++) {
		if (state_of(&control->clients[i]) != CLIENT_FREE)
			pthread_join(control->clients[i].thread, NULL);
	}
	pst_control_socket_close(&control->socket);
	pthread_mutex_destroy(&control->lock);
	free(control);
}
