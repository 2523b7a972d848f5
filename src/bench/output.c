/* SPDX-License-Identifier: MIT */
/* Result files: whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base.h"
#include "report.h"

static int failed(const char *path, int code, struct pst_error *err)
{
	return pst_error_set(err, code, "%s cannot be written: %s%s", path, pst_errname(code),
			     code == -ENOSPC ? "; free some room, or name a file elsewhere" : "");
}

/* A pipe, a terminal or /dev/full is written as it is; a file is replaced. */
static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		length -= (size_t)n;
	}
	return 0;
}

static int write_special(const char *path, const char *text, size_t length)
{
	PST_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : write_all(fd, text, length);
}

/* A name of our own in the same directory; the process writes its files one after the other. */
static void temporary(const char *path, char *name, size_t size)
{
	(void)snprintf(name, size, "%s.%d.tmp", path, (int)getpid());
}

static int replace(const char *path, const char *text, size_t length)
{
	char name[PATH_MAX];
	int ret;
	int fd;

	temporary(path, name, sizeof(name));
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	ret = write_all(fd, text, length);
	/* Some file systems only find out now that they are full. */
	if (ret == 0 && fsync(fd) != 0 && errno != EINVAL)
		ret = -errno;
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(name, path) != 0)
		ret = -errno;
	if (ret)
		(void)unlink(name);
	return ret;
}

int pst_bench_write_file(const char *path, const char *text, size_t length, struct pst_error *err)
{
	int ret =
		is_special(path) ? write_special(path, text, length) : replace(path, text, length);

	return ret ? failed(path, ret, err) : 0;
}

int pst_bench_check_output(const char *path, struct pst_error *err)
{
	char name[PATH_MAX];
	int fd;

	if (!path || is_special(path))
		return 0;
	temporary(path, name, sizeof(name));
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return failed(path, -errno, err);
	close(fd);
	(void)unlink(name);
	return 0;
}
