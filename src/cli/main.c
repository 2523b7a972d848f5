/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <penstock/version.h>

#include "base.h"
#include "cli.h"

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct verb verbs[] = {
	{"bench", pst_verb_bench, "measure the ways to a device side by side"},
	{"serve", pst_verb_serve, "offer namespaces to this host as block devices"},
	{"export", pst_verb_export, "list and end what a running daemon serves"},
	{"stats", pst_verb_stats, "counters of what a running daemon serves"},
};

static void help(void)
{
	size_t i;

	printf("usage: penstock VERB [OPTION...]\n"
	       "\n"
	       "Carries block I/O through user space to NVMe with the memory pinned once.\n"
	       "\n"
	       "verbs:\n");
	for (i = 0; i < PST_ARRAY_SIZE(verbs); i++)
		printf("  %-8s %s\n", verbs[i].name, verbs[i].summary);
	printf("\n"
	       "  --help     this text; penstock VERB --help explains a verb\n"
	       "  --version  version of penstock\n"
	       "\n"
	       "exit status: 0; 1 a failure; 2 wrong arguments\n");
}

static int run(int argc, char **argv)
{
	size_t i;

	if (argc < 2)
		return pst_cli_usage("no verb is given: see penstock --help");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help();
		return PST_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("penstock %s\n", pst_version());
		return PST_EXIT_OK;
	}
	for (i = 0; i < PST_ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	}
	return pst_cli_usage("%s \"%.32s\" is unknown: see penstock --help",
			     argv[1][0] == '-' ? "option" : "verb", argv[1]);
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	if ((fflush(stdout) != 0 || ferror(stdout)) && status == PST_EXIT_OK)
		return pst_cli_fail("the output cannot be written: look at where stdout goes");
	return status;
}
