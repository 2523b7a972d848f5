/* SPDX-License-Identifier: MIT */
/* penstock stats */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base.h"
#include "cli.h"
#include "client.h"
#include "control.h"

static void help(void)
{
	printf("usage: penstock stats [--json] [--control PATH]\n"
	       "\n"
	       "Shows the counters of what a running daemon serves: requests completed, the NVMe "
	       "data\n"
	       "commands sent for them from fixed buffers (fixed), with pages pinned for each "
	       "(unfixed)\n"
	       "and with data copied together in a slot (gathered), requests refused as not "
	       "supported or\n"
	       "read-only, and those that ended in an I/O error.\n"
	       "\n"
	       "  --json          print JSON\n"
	       "  --control PATH  control socket of the daemon (%s)\n"
	       "  --help          this text\n",
	       PST_CONTROL_PATH);
}

static void print_stats(json_t *answer)
{
	static const char *const keys[] = {"reads",  "writes",	   "flushes",	   "discards",
					   "fixed",  "unfixed",	   "gathered",	   "refused",
					   "errors", "bytes_read", "bytes_written"};
	json_t *exp;
	size_t i, k;

	json_array_foreach(json_object_get(answer, "exports"), i, exp)
	{
		printf("%s", json_string_value(json_object_get(exp, "name")));
		for (k = 0; k < PST_ARRAY_SIZE(keys); k++)
			printf(" %s=%" PRId64, keys[k],
			       (int64_t)json_integer_value(json_object_get(exp, keys[k])));
		putchar('\n');
	}
}

static int show(const char *control, bool json)
{
	struct pst_error err = PST_ERROR_INIT;
	json_t *answer = pst_client_call(control, json_pack("{s:s}", "cmd", "stats"), &err);

	if (!answer)
		return pst_cli_fail("%s", err.text);
	if (json)
		pst_client_print_json(answer);
	else
		print_stats(answer);
	json_decref(answer);
	return PST_EXIT_OK;
}

int pst_verb_stats(int argc, char **argv)
{
	static const struct option longs[] = {
		{"control", required_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *control = NULL;
	bool json = false;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			control = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			help();
			return PST_EXIT_OK;
		default:
			return pst_cli_bad_option("stats", c, argv);
		}
	}
	if (optind < argc)
		return pst_cli_surplus("stats", argv[optind]);
	return show(control, json);
}
