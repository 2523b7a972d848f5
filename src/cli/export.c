/* SPDX-License-Identifier: MIT */
/* penstock export list | del NAME | umem-cycle NAME */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "cli.h"
#include "client.h"
#include "control.h"

struct options {
	const char *control;
	bool json;
	bool force;
	const char *name; /* NULL: none given */
};

struct action {
	const char *name;
	bool takes_name;
	bool takes_force;
	int (*run)(const struct options *options);
};

static void help(void)
{
	/* umem-cycle is a hook for tests and stays unnamed. */
	printf("usage: penstock export list [--json] [--control PATH]\n"
	       "       penstock export del NAME [--force] [--json] [--control PATH]\n"
	       "\n"
	       "list shows what a running daemon serves. del completes what is in flight, detaches "
	       "the\n"
	       "export from the host and destroys it; a device in use is refused and goes on "
	       "being\n"
	       "served.\n"
	       "\n"
	       "  --force         del: also a device in use; what is issued later fails in the "
	       "host\n"
	       "  --json          print JSON\n"
	       "  --control PATH  control socket of the daemon (%s)\n"
	       "  --help          this text\n",
	       PST_CONTROL_PATH);
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

static int64_t number_of(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void print_list(json_t *answer)
{
	json_t *exp;
	size_t i;

	printf("%-16s %-9s %-12s %-9s %14s %6s %12s %5s %6s  %s\n", "NAME", "STATE", "DEVICE",
	       "TRANSPORT", "SIZE", "QUEUES", "UMEM", "FIXED", "PACKED", "SOURCE");
	json_array_foreach(json_object_get(answer, "exports"), i, exp)
	{
		printf("%-16s %-9s %-12s %-9s %14" PRId64 " %6" PRId64 " %12" PRId64
		       " %5s %6s  %s\n",
		       text_of(exp, "name"), text_of(exp, "state"), text_of(exp, "device"),
		       text_of(exp, "transport"), number_of(exp, "size"), number_of(exp, "queues"),
		       number_of(exp, "umem"),
		       json_is_true(json_object_get(exp, "fixed")) ? "yes" : "no",
		       json_is_true(json_object_get(exp, "packed")) ? "yes" : "no",
		       text_of(exp, "source"));
	}
}

/* Calls, and shows the answer as JSON or with `print`; NULL: a good answer needs no words. */
static int call(const struct options *options, json_t *request, void (*print)(json_t *))
{
	struct pst_error err = PST_ERROR_INIT;
	json_t *answer;

	if (!request)
		return pst_cli_fail("export: the name cannot be sent: use one in UTF-8");
	answer = pst_client_call(options->control, request, &err);
	if (!answer)
		return pst_cli_fail("%s", err.text);
	if (options->json)
		pst_client_print_json(answer);
	else if (print)
		print(answer);
	json_decref(answer);
	return PST_EXIT_OK;
}

static int run_list(const struct options *options)
{
	return call(options, json_pack("{s:s}", "cmd", "list"), print_list);
}

static int run_del(const struct options *options)
{
	return call(options,
		    json_pack("{s:s, s:s, s:b}", "cmd", "del", "name", options->name, "force",
			      (int)options->force),
		    NULL);
}

static int run_umem_cycle(const struct options *options)
{
	return call(options, json_pack("{s:s, s:s}", "cmd", "umem-cycle", "name", options->name),
		    NULL);
}

static const struct action actions[] = {
	{"list", false, false, run_list},
	{"del", true, true, run_del},
	{"umem-cycle", true, false, run_umem_cycle},
};

static const struct action *find_action(const char *name)
{
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	}
	return NULL;
}

static int run(const struct action *action, const struct options *options)
{
	if (action->takes_name && !options->name)
		return pst_cli_usage("export %s: no export is named: write penstock export %s NAME",
				     action->name, action->name);
	if (!action->takes_name && options->name)
		return pst_cli_surplus("export", options->name);
	if (!action->takes_force && options->force)
		return pst_cli_usage("export %s: --force is for del: leave it out", action->name);
	return action->run(options);
}

int pst_verb_export(int argc, char **argv)
{
	static const struct option longs[] = {
		{"control", required_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'},
		{"force", no_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct options options = {0};
	const struct action *action;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			options.control = optarg;
			break;
		case 'j':
			options.json = true;
			break;
		case 'f':
			options.force = true;
			break;
		case 'h':
			help();
			return PST_EXIT_OK;
		default:
			return pst_cli_bad_option("export", c, argv);
		}
	}
	if (optind == argc)
		return pst_cli_usage(
			"export: nothing to do: write penstock export list, or del NAME");
	action = find_action(argv[optind]);
	if (!action)
		return pst_cli_usage(
			"export: \"%.32s\" is unknown: write penstock export list, or del NAME",
			argv[optind]);
	if (++optind < argc)
		options.name = argv[optind++];
	if (optind < argc)
		return pst_cli_surplus("export", argv[optind]);
	return run(action, &options);
}
