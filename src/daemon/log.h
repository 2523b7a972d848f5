/* SPDX-License-Identifier: MIT */
/* Where the daemon writes: sentences to stderr, ready and done lines to stdout. Any thread. */
#ifndef PST_DAEMON_LOG_H
#define PST_DAEMON_LOG_H

#include <stdbool.h>

#include <penstock/error.h>

/* Becomes the library's receiver. Lines less important than `level` are dropped. */
void pst_daemon_log_start(enum pst_log_level level, bool json);

/* "error", "warning", "info", "debug"; returns 0 or -EINVAL. */
int pst_daemon_log_level(const char *text, enum pst_log_level *level);

/* A whole line to stdout with one write, so that lines of several threads do not mix. */
void pst_daemon_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
