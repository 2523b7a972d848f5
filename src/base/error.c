/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <penstock/error.h>

#include "base.h"

int pst_error_vset(struct pst_error *err, int code, const char *fmt, va_list ap)
{
	if (err) {
		err->code = code;
		(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	}
	return code;
}

int pst_error_set(struct pst_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)pst_error_vset(err, code, fmt, ap);
	va_end(ap);
	return code;
}

int pst_error_prefix(struct pst_error *err, const char *fmt, ...)
{
	char text[PST_ERROR_MAX];
	size_t used;
	va_list ap;
	int n;

	if (!err)
		return -EINVAL;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	used = n < 0 ? 0 : pst_min_u64((uint64_t)n, sizeof(text) - 1);
	(void)snprintf(text + used, sizeof(text) - used, "%s", err->text);
	memcpy(err->text, text, sizeof(text));
	return err->code;
}

const char *pst_errname(int code)
{
	const char *text = strerrordesc_np(code < 0 ? -code : code);

	return text ? text : "unknown error";
}

uint64_t pst_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

int pst_read_line(const char *path, char *buf, size_t size)
{
	PST_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	n = (ssize_t)strlen(buf);
	while (n > 0 && buf[n - 1] == ' ')
		buf[--n] = '\0';
	return (int)n;
}

int pst_read_u64(const char *path, uint64_t *value)
{
	char text[64];
	char *end;
	int n = pst_read_line(path, text, sizeof(text));

	if (n < 0)
		return n;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return n == 0 || *end || errno ? -EINVAL : 0;
}

int pst_write_file(const char *path, const char *text)
{
	PST_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t length = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, length);
	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}
