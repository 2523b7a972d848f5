/* SPDX-License-Identifier: MIT */
/* What the verbs share: how they speak and how they leave. */
#ifndef PST_CLI_H
#define PST_CLI_H

#define PST_EXIT_OK 0
#define PST_EXIT_FAILURE 1
#define PST_EXIT_USAGE 2

/* "penstock: sentence" on stderr; return PST_EXIT_FAILURE and PST_EXIT_USAGE. */
int pst_cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int pst_cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The sentence for what getopt_long() refused with '?' or ':' (opterr is 0, optstring starts with
 * ':'). `verb` is for the advice, for example "serve". Returns PST_EXIT_USAGE.
 */
int pst_cli_bad_option(const char *verb, int refused, char **argv);

/* The same for an argument where none is taken. */
int pst_cli_surplus(const char *verb, const char *argument);

/* The verbs; argv[0] is the verb. Return the exit status. */
int pst_verb_bench(int argc, char **argv);
int pst_verb_serve(int argc, char **argv);
int pst_verb_export(int argc, char **argv);
int pst_verb_stats(int argc, char **argv);

#endif
