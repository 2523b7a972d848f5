/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base.h"
#include "client.h"
#include "control.h"

#define ANSWER_MAX ((size_t)4 << 20)

static int connect_to(const char *path, struct pst_error *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	PST_AUTO_CLOSE int fd = -1;

	if (strlen(path) >= sizeof(addr.sun_path))
		return pst_error_set(
			err, -ENAMETOOLONG,
			"control socket %.32s...: its path has more than %zu characters: name "
			"a shorter one",
			path, sizeof(addr.sun_path) - 1);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return pst_steal_fd(&fd);

	switch (errno) {
	case ENOENT:
	case ECONNREFUSED:
		return pst_error_set(
			err, -errno,
			"no penstock serves at %s: start one with penstock serve, or name the "
			"socket of another with --control",
			path);
	case EACCES:
	case EPERM:
		return pst_error_set(
			err, -errno,
			"control socket %s: permission denied: run this as the user who "
			"serves, for example root",
			path);
	default:
		return pst_error_set(
			err, -errno,
			"control socket %s cannot be used: %s; name another with --control", path,
			pst_errname(errno));
	}
}

static int send_line(int fd, const char *text)
{
	size_t length = strlen(text), sent = 0;

	while (sent < length) {
		ssize_t n = send(fd, text + sent, length - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			sent += (size_t)n;
	}
	return send(fd, "\n", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* One line, NUL-terminated instead of its line feed; the caller frees it. */
static int receive_line(int fd, char **line)
{
	PST_AUTO_FREE char *buf = malloc(ANSWER_MAX);
	size_t used = 0;

	if (!buf)
		return -ENOMEM;
	while (used < ANSWER_MAX) {
		ssize_t n = recv(fd, buf + used, ANSWER_MAX - used, 0);
		char *end;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ECONNRESET;
		end = memchr(buf + used, '\n', (size_t)n);
		used += (size_t)n;
		if (!end)
			continue;
		*end = '\0';
		*line = buf;
		buf = NULL;
		return 0;
	}
	return -EMSGSIZE;
}

static int exchange(const char *path, json_t *request, char **line, struct pst_error *err)
{
	PST_AUTO_FREE char *text = json_dumps(request, JSON_COMPACT);
	PST_AUTO_CLOSE int fd = -1;
	int ret;

	if (!text)
		return pst_error_set(err, -EINVAL,
				     "the request to %s cannot be written: use names in UTF-8",
				     path);
	fd = connect_to(path, err);
	if (fd < 0)
		return fd;
	ret = send_line(fd, text);
	if (!ret)
		ret = receive_line(fd, line);
	if (ret)
		return pst_error_set(err, ret, "the daemon at %s gave no answer: %s; see its log",
				     path, pst_errname(ret));
	return 0;
}

json_t *pst_client_call(const char *path, json_t *request, struct pst_error *err)
{
	PST_AUTO_FREE char *line = NULL;
	const char *where = path ? path : PST_CONTROL_PATH;
	int ret = exchange(where, request, &line, err);
	const char *why;
	json_t *answer;

	json_decref(request);
	if (ret)
		return NULL;
	answer = json_loads(line, 0, NULL);
	if (json_integer_value(json_object_get(answer, "version")) != 1) {
		pst_error_set(
			err, -EPROTO,
			"the daemon at %s speaks another language: use the penstock it is from",
			where);
	} else if (json_is_true(json_object_get(answer, "ok"))) {
		json_object_del(answer, "ok");
		return answer;
	} else {
		why = json_string_value(json_object_get(answer, "error"));
		pst_error_set(err, -EIO, "%s",
			      why ? why : "the daemon refused and gave no reason: see its log");
	}
	json_decref(answer);
	return NULL;
}

void pst_client_print_json(json_t *answer)
{
	char *text = json_dumps(answer, JSON_INDENT(2));

	if (text)
		puts(text);
	free(text);
}
