/* SPDX-License-Identifier: MIT */
/* penstock serve */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "config.h"
#include "control.h"
#include "log.h"
#include "parse.h"
#include "serve.h"

static void help(void)
{
	const char *line;
	size_t i;

	printf("usage: penstock serve --export name=NAME,source=SOURCE[,KEY=VALUE...] [OPTION...]\n"
	       "\n"
	       "Offers namespaces, or slices of them, to this host as virtio block devices "
	       "through\n"
	       "VDUSE, until SIGTERM or SIGINT. Prints a line \"ready ...\" when an export can be "
	       "used\n"
	       "and a line \"done ...\" with its counters at its end.\n"
	       "\n"
	       "  --export KEYS      what to serve; may be given several times\n"
	       "  --workers N        threads with a ring each, 1 to %d (one for each queue of the\n"
	       "                     largest export, no more than CPUs)\n"
	       "  --control PATH     control socket (%s)\n"
	       "  --log-level LEVEL  error, warning, info or debug (warning)\n"
	       "  --log-format FORM  text or json (text)\n"
	       "  --help             this text\n"
	       "\n"
	       "keys of an export, and their defaults; a comma in a value is written as two:\n",
	       PST_WORKERS_MAX, PST_CONTROL_PATH);
	for (i = 0; (line = pst_config_key_help(i)); i++)
		printf("  %s\n", line);
	printf("\n"
	       "auto falls back with one warning; on fails instead.\n");
}

static int add_export(struct pst_serve_config *config, const char *text)
{
	struct pst_error err = PST_ERROR_INIT;
	struct pst_export_config *grown;

	grown = realloc(config->exports, (config->nr_exports + 1) * sizeof(*grown));
	if (!grown)
		return pst_cli_fail("serve: out of memory for %zu exports: free some",
				    config->nr_exports + 1);
	config->exports = grown;
	if (pst_config_export(text, &grown[config->nr_exports], &err) != 0)
		return pst_cli_usage("%s", err.text);
	config->nr_exports++;
	return PST_EXIT_OK;
}

static int set_workers(struct pst_serve_config *config, const char *text)
{
	uint64_t n;

	if (pst_parse_u64(text, 1, PST_WORKERS_MAX, &n) != 0)
		return pst_cli_usage(
			"serve: --workers %.32s is not a number of workers: take 1 to %d", text,
			PST_WORKERS_MAX);
	config->workers = (uint32_t)n;
	return PST_EXIT_OK;
}

static int set_log_level(struct pst_serve_config *config, const char *text)
{
	if (pst_daemon_log_level(text, &config->log_level) != 0)
		return pst_cli_usage(
			"serve: --log-level %.32s is none: take error, warning, info or "
			"debug",
			text);
	return PST_EXIT_OK;
}

static int set_log_format(struct pst_serve_config *config, const char *text)
{
	config->log_json = strcmp(text, "json") == 0;
	if (!config->log_json && strcmp(text, "text") != 0)
		return pst_cli_usage("serve: --log-format %.32s is none: take text or json", text);
	return PST_EXIT_OK;
}

/* Returns an exit status; *stop says that there is nothing to serve, as after --help. */
static int parse(int argc, char **argv, struct pst_serve_config *config, bool *stop)
{
	static const struct option options[] = {
		{"export", required_argument, NULL, 'e'},
		{"workers", required_argument, NULL, 'w'},
		{"control", required_argument, NULL, 'c'},
		{"log-level", required_argument, NULL, 'l'},
		{"log-format", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct pst_error err = PST_ERROR_INIT;
	int status = PST_EXIT_OK;
	int c;

	opterr = 0;
	while (status == PST_EXIT_OK && (c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			status = add_export(config, optarg);
			break;
		case 'w':
			status = set_workers(config, optarg);
			break;
		case 'c':
			config->control = optarg;
			break;
		case 'l':
			status = set_log_level(config, optarg);
			break;
		case 'f':
			status = set_log_format(config, optarg);
			break;
		case 'h':
			help();
			*stop = true;
			return PST_EXIT_OK;
		default:
			return pst_cli_bad_option("serve", c, argv);
		}
	}
	if (status != PST_EXIT_OK)
		return status;
	if (optind < argc)
		return pst_cli_surplus("serve", argv[optind]);
	if (pst_config_check(config, &err) != 0)
		return pst_cli_usage("%s", err.text);
	return PST_EXIT_OK;
}

int pst_verb_serve(int argc, char **argv)
{
	struct pst_serve_config config = {.log_level = PST_LOG_WARNING};
	bool stop = false;
	int status = parse(argc, argv, &config, &stop);

	if (status == PST_EXIT_OK && !stop) {
		pst_daemon_log_start(config.log_level, config.log_json);
		status = pst_serve(&config);
	}
	free(config.exports);
	return status;
}
