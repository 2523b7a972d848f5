/* SPDX-License-Identifier: MIT */
/**
 * DOC: penstock/error.h - errors as numbers and as sentences
 *
 * Every function that can fail returns a negative errno. Functions that set
 * something up also take a &struct pst_error and leave in it one sentence: what
 * failed, on which object, why, and what to do. The library itself never prints.
 */
#ifndef PENSTOCK_ERROR_H
#define PENSTOCK_ERROR_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PST_ERROR_MAX 1024

/**
 * struct pst_error - the sentence that belongs to a failure
 * @code: negative errno, or 0 while nothing has failed
 * @text: the sentence, NUL-terminated; empty while nothing has failed
 *
 * Lives in the caller's memory; initialise with PST_ERROR_INIT. A function that
 * takes a pointer to it accepts NULL and then keeps the sentence to itself.
 */
struct pst_error {
	int code;
	char text[PST_ERROR_MAX];
};

#define PST_ERROR_INIT                                                                             \
	{                                                                                          \
		0,                                                                                 \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/**
 * pst_error_set() - record a failure
 * @err: where to, or NULL
 * @code: negative errno
 * @fmt: printf format of the sentence, without a full stop or line feed
 *
 * Return: @code, so that a caller can write ``return pst_error_set(...)``.
 */
int pst_error_set(struct pst_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * pst_error_vset() - pst_error_set() with a va_list
 */
int pst_error_vset(struct pst_error *err, int code, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/**
 * pst_error_prefix() - put words in front of a recorded sentence
 * @err: the error, or NULL
 * @fmt: printf format of the prefix; the caller brings its own punctuation
 *
 * Return: @err->code, or -EINVAL when @err is NULL.
 */
int pst_error_prefix(struct pst_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** enum pst_log_level - importance of a log line, most important first */
enum pst_log_level {
	PST_LOG_ERROR,
	PST_LOG_WARNING,
	PST_LOG_INFO,
	PST_LOG_DEBUG,
};

/**
 * typedef pst_log_fn - receives what the library wants to have noted
 * @ctx: as given to pst_log_set()
 * @level: importance
 * @object: what it is about, for example an export's name; may be NULL
 * @text: one line without a line feed
 *
 * Called from any thread, never on the I/O path more than once per second and object.
 */
typedef void (*pst_log_fn)(void *ctx, enum pst_log_level level, const char *object,
			   const char *text);

/**
 * pst_log_set() - install the receiver of log lines
 * @fn: the receiver; NULL (the default) discards them
 * @ctx: handed to @fn
 *
 * Call before the first thread is started.
 */
void pst_log_set(pst_log_fn fn, void *ctx);

/**
 * pst_log() - hand a line to the receiver
 */
void pst_log(enum pst_log_level level, const char *object, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif
