/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static void say(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static void say(const char *fmt, va_list ap)
{
	char text[2048];

	/* One write, so that it does not mix with what a daemon's threads say. */
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	(void)fprintf(stderr, "penstock: %s\n", text);
}

int pst_cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return PST_EXIT_FAILURE;
}

int pst_cli_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return PST_EXIT_USAGE;
}

int pst_cli_bad_option(const char *verb, int refused, char **argv)
{
	const char *last = argv[optind - 1];

	if (refused == ':')
		return pst_cli_usage("%s: option %s has no value: see penstock %s --help", verb,
				     last, verb);
	if (!optopt)
		return pst_cli_usage("%s: option %s is unknown: see penstock %s --help", verb, last,
				     verb);
	/* An option that is a word has a letter here too when it was given a value it does not
	 * take. */
	if (strncmp(last, "--", 2) == 0 && strchr(last, '='))
		return pst_cli_usage("%s: option %s takes no value: see penstock %s --help", verb,
				     last, verb);
	return pst_cli_usage("%s: option -%c is unknown: see penstock %s --help", verb, optopt,
			     verb);
}

int pst_cli_surplus(const char *verb, const char *argument)
{
	return pst_cli_usage("%s: argument \"%.64s\" is one too many: see penstock %s --help", verb,
			     argument, verb);
}
