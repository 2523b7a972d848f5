/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "control.h"
#include "control_socket.h"

#define BACKLOG 16
#define LOCK_TRIES 20 /* of 100 ms: what another daemon's start may take */

/*
 * Of two daemons that start at once, one looks and binds at a time: a lock on the directory, which
 * leaves nothing behind. Returns its descriptor or a negative errno.
 */
static int lock_directory(const char *path)
{
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct timespec pause = {.tv_nsec = 100000000};
	char *slash;
	int fd, tries;

	(void)snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (!slash)
		(void)snprintf(directory, sizeof(directory), ".");
	else
		slash[slash == directory] = '\0';
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		if (errno != EWOULDBLOCK)
			break;
		(void)nanosleep(&pause, NULL);
	}
	tries = -errno;
	close(fd);
	return tries;
}

/* Does anybody listen there? 1, 0 (the node is stale) or a negative errno. */
static int listened_at(const struct sockaddr_un *addr)
{
	PST_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
		return 1;
	switch (errno) {
	case ECONNREFUSED:
		return 0;
	case EAGAIN: /* its backlog is full */
		return 1;
	default:
		return -errno;
	}
}

/* Removes what a dead daemon left; refuses to touch anything else. */
static int clear_path(const struct sockaddr_un *addr, struct pst_error *err)
{
	const char *path = addr->sun_path;
	struct stat st;
	int ret;

	if (lstat(path, &st) != 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return pst_error_set(
			err, -EEXIST,
			"control socket %s: there is a file that is no socket; name another "
			"path with --control",
			path);
	ret = listened_at(addr);
	if (ret > 0)
		return pst_error_set(
			err, -EADDRINUSE,
			"another penstock serves at %s: name another path for this one with "
			"--control PATH",
			path);
	if (ret == 0 && unlink(path) != 0)
		ret = -errno;
	if (ret < 0)
		return pst_error_set(
			err, ret,
			"control socket %s: what is there cannot be replaced: %s; name another "
			"path with --control",
			path, pst_errname(ret));
	return 0;
}

static int bind_and_listen(struct pst_control_socket *sock, struct pst_error *err)
{
	const char *path = sock->addr.sun_path;
	struct stat st;
	int ret;

	/* The node takes its mode from the descriptor: it is never open to others. */
	if (fchmod(sock->fd, 0600) == 0 &&
	    bind(sock->fd, (const struct sockaddr *)&sock->addr, sizeof(sock->addr)) == 0 &&
	    listen(sock->fd, BACKLOG) == 0 && lstat(path, &st) == 0) {
		sock->dev = st.st_dev;
		sock->ino = st.st_ino;
		return 0;
	}
	ret = -errno;
	return pst_error_set(
		err, ret,
		"control socket %s cannot be made: %s; name a path in a directory you may "
		"write to with --control",
		path, pst_errname(ret));
}

int pst_control_socket_open(const char *path, struct pst_control_socket *sock,
			    struct pst_error *err)
{
	PST_AUTO_CLOSE int lock = -1;
	int ret;

	memset(sock, 0, sizeof(*sock));
	sock->addr.sun_family = AF_UNIX;
	(void)snprintf(sock->addr.sun_path, sizeof(sock->addr.sun_path), "%s", path);

	lock = lock_directory(path);
	if (lock < 0)
		return pst_error_set(
			err, lock,
			"control socket %s cannot be made: its directory cannot be used: %s; "
			"name another path with --control",
			path, pst_errname(lock));
	ret = clear_path(&sock->addr, err);
	if (ret)
		return ret;
	sock->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock->fd < 0)
		return pst_error_set(err, -errno,
				     "control socket %s cannot be made: %s; raise ulimit -n", path,
				     pst_errname(errno));
	ret = bind_and_listen(sock, err);
	if (ret)
		close(sock->fd);
	return ret;
}

int pst_control_socket_open_default(struct pst_control_socket *sock, struct pst_error *err)
{
	struct stat st;

	if (mkdir(PST_CONTROL_DIR, 0700) != 0 && errno != EEXIST)
		return pst_error_set(
			err, -errno,
			"control socket %s: directory %s cannot be made: %s; name a path in a "
			"directory you may write to with --control",
			PST_CONTROL_PATH, PST_CONTROL_DIR, pst_errname(errno));
	if (lstat(PST_CONTROL_DIR, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return pst_error_set(
			err, -EACCES,
			"control socket %s: %s is not a directory of this user; name another "
			"path with --control",
			PST_CONTROL_PATH, PST_CONTROL_DIR);
	return pst_control_socket_open(PST_CONTROL_PATH, sock, err);
}

void pst_control_socket_close(struct pst_control_socket *sock)
{
	struct stat st;

	/* Between lstat and unlink nobody binds here: who finds it listening does not replace it.
	 */
	if (lstat(sock->addr.sun_path, &st) == 0 && st.st_dev == sock->dev &&
	    st.st_ino == sock->ino)
		(void)unlink(sock->addr.sun_path);
	close(sock->fd);
}
