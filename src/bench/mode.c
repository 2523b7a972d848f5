/* SPDX-License-Identifier: MIT */
/* Names of modes: a base and features joined by '+'. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "options.h"

static const char *const bases[] = {
	[PST_BENCH_SYNC] = "sync",
	[PST_BENCH_BLOCK] = "block",
	[PST_BENCH_ASYNC] = "async",
	[PST_BENCH_NOP] = "nop",
};

static bool take_feature(struct pst_bench_mode *mode, const char *word)
{
	bool *flag;

	if (strcmp(word, "fixed") == 0)
		flag = &mode->fixed;
	else if (strcmp(word, "poll") == 0)
		flag = &mode->poll;
	else if (strcmp(word, "sqpoll") == 0)
		flag = &mode->sqpoll;
	else if (strcmp(word, "vec") == 0)
		flag = &mode->vec;
	else
		return false;
	if (*flag)
		return false;
	*flag = true;
	return true;
}

static bool take_base(struct pst_bench_mode *mode, const char *word)
{
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(bases); i++) {
		if (strcmp(word, bases[i]) == 0) {
			mode->base = (enum pst_bench_base)i;
			return true;
		}
	}
	return false;
}

/* Combinations that no kernel has. */
static int check_features(const struct pst_bench_mode *mode, const char *text,
			  struct pst_error *err)
{
	if (mode->base == PST_BENCH_SYNC &&
	    (mode->fixed || mode->poll || mode->sqpoll || mode->vec))
		return pst_error_set(err, -EINVAL,
				     "mode %s: sync is an ioctl and takes no features", text);
	if (mode->base == PST_BENCH_NOP && (mode->fixed || mode->poll || mode->vec))
		return pst_error_set(
			err, -EINVAL,
			"mode %s: nop moves no data, the only feature it takes is sqpoll", text);
	return 0;
}

int pst_bench_mode_parse(const char *text, struct pst_bench_mode *mode, struct pst_error *err)
{
	char copy[sizeof(mode->name)];
	char *rest = copy;
	char *word;

	memset(mode, 0, sizeof(*mode));
	if (strlen(text) >= sizeof(copy))
		return pst_error_set(err, -EINVAL, "mode %s is not known", text);
	(void)snprintf(copy, sizeof(copy), "%s", text);

	word = strsep(&rest, "+");
	if (!take_base(mode, word))
		return pst_error_set(
			err, -EINVAL,
			"mode %s is not known: it starts with sync, block, async or nop", text);
	while ((word = strsep(&rest, "+"))) {
		if (!take_feature(mode, word))
			return pst_error_set(
				err, -EINVAL,
				"mode %s is not known: features are fixed, poll, sqpoll "
				"and vec, each once",
				text);
	}
	(void)snprintf(mode->name, sizeof(mode->name), "%s%s%s%s%s", bases[mode->base],
		       mode->fixed ? "+fixed" : "", mode->poll ? "+poll" : "",
		       mode->sqpoll ? "+sqpoll" : "", mode->vec ? "+vec" : "");
	return check_features(mode, text, err);
}
