/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <penstock/error.h>

/* Set once, before the first thread: the only mutable state of the library. */
static pst_log_fn log_fn;
static void *log_ctx;

void pst_log_set(pst_log_fn fn, void *ctx)
{
	log_fn = fn;
	log_ctx = ctx;
}

void pst_log(enum pst_log_level level, const char *object, const char *fmt, ...)
{
	char text[PST_ERROR_MAX];
	va_list ap;

	if (!log_fn)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_fn(log_ctx, level, object, text);
}
