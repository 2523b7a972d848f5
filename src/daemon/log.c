/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base.h"
#include "log.h"

#define LINE_MAX_BYTES 4096

static const char *const level_names[] = {
	[PST_LOG_ERROR] = "error",
	[PST_LOG_WARNING] = "warning",
	[PST_LOG_INFO] = "info",
	[PST_LOG_DEBUG] = "debug",
};

struct receiver {
	enum pst_log_level level;
	bool json;
};

/* A reader that went away is no reason to stop serving: what cannot be written is lost. */
static void write_line(int fd, const char *line, size_t length)
{
	while (length) {
		ssize_t n = write(fd, line, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line += n;
		length -= (size_t)n;
	}
}

static void write_text(const char *object, const char *text)
{
	char line[LINE_MAX_BYTES];
	int n = snprintf(line, sizeof(line), "penstock: %s%s%s", object ? object : "",
			 object ? ": " : "", text);
	size_t length;

	if (n < 0)
		return;
	length = (size_t)pst_min_u64((uint64_t)n, sizeof(line) - 2);
	line[length] = '\n';
	write_line(STDERR_FILENO, line, length + 1);
}

static void write_json(enum pst_log_level level, const char *object, const char *text)
{
	struct timespec now;
	char stamp[64], seconds[32];
	struct tm tm;
	json_t *line;
	size_t length;
	char *dump;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(stamp, sizeof(stamp), "%s.%03ldZ", seconds, now.tv_nsec / 1000000);

	line = json_pack("{s:i, s:s, s:s, s:s*, s:s}", "version", 1, "time", stamp, "level",
			 level_names[level], "object", object, "text", text);
	dump = line ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	if (!dump) {
		/* Not UTF-8, or no memory: better a line of another form than none. */
		write_text(object, text);
		return;
	}
	length = strlen(dump);
	dump[length] = '\n'; /* in place of the NUL: one write */
	write_line(STDERR_FILENO, dump, length + 1);
	free(dump);
}

static void receive(void *ctx, enum pst_log_level level, const char *object, const char *text)
{
	const struct receiver *receiver = ctx;

	if (level > receiver->level)
		return;
	if (receiver->json)
		write_json(level, object, text);
	else
		write_text(object, text);
}

void pst_daemon_log_start(enum pst_log_level level, bool json)
{
	static struct receiver receiver;

	receiver.level = level;
	receiver.json = json;
	pst_log_set(receive, &receiver);
}

int pst_daemon_log_level(const char *text, enum pst_log_level *level)
{
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(level_names); i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*level = (enum pst_log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void pst_daemon_print(const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	size_t length;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	length = (size_t)pst_min_u64((uint64_t)n, sizeof(line) - 2);
	line[length] = '\n';
	write_line(STDOUT_FILENO, line, length + 1);
}
