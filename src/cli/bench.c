/* SPDX-License-Identifier: MIT */
/* penstock bench */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "cli.h"
#include "session.h"

/* Set by the signal handler, looked at by every thread of a measurement. */
static atomic_bool interrupted;

static void on_signal(int sig)
{
	(void)sig;
	atomic_store(&interrupted, true);
}

static void catch_signals(void)
{
	/* The second one ends the process, should the first not be heard. */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

static void show_progress(void *ctx, const struct pst_bench_result *result, uint32_t number,
			  uint32_t of)
{
	const struct pst_bench_options *options = ctx;

	(void)fprintf(stderr, "\r\033[K%u of %u: %s, depth %u", number, of, result->mode->name,
		      result->qd);
	if (options->time_ns)
		(void)fprintf(stderr, ", %.0f s to go",
			      (double)(of - number + 1) * (double)options->time_ns / 1e9);
	(void)fflush(stderr);
}

static void show_nothing(void *ctx, const struct pst_bench_result *result, uint32_t number,
			 uint32_t of)
{
	(void)ctx;
	(void)result;
	(void)number;
	(void)of;
}

static int write_files(const struct pst_bench_report *report,
		       const struct pst_bench_options *options)
{
	struct pst_error err = PST_ERROR_INIT;
	int status = PST_EXIT_OK;

	if (options->json && pst_bench_write_json(report, options->json, &err) != 0)
		status = pst_cli_fail("%s", err.text);
	if (options->csv && pst_bench_write_csv(report, options->csv, &err) != 0)
		status = pst_cli_fail("%s", err.text);
	return status;
}

static uint64_t all_errors(const struct pst_bench_report *report)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < report->nr_results; i++)
		n += report->results[i].errors;
	return n;
}

/* Everything after the last measurement; whatever went wrong makes the exit status 1. */
static int conclude(const struct pst_bench_session *session, int ret, const struct pst_error *err)
{
	const struct pst_bench_report *report = &session->report;
	uint64_t errors = all_errors(report);
	int status;

	pst_bench_print_table(report, stdout);
	(void)fflush(stdout);
	status = write_files(report, session->options);
	if (ret)
		status = pst_cli_fail("%s", err->text);
	if (errors)
		status = pst_cli_fail("%llu I/Os failed, the first one: %s",
				      (unsigned long long)errors, session->first_error.text);
	if (report->interrupted)
		status = pst_cli_fail("interrupted: the figures are those of the time until then");
	if (session->options->modes_given && report->nr_refusals)
		status = PST_EXIT_FAILURE;
	return status;
}

static void say_refusals(const struct pst_bench_session *session)
{
	uint32_t i;

	for (i = 0; session->options->modes_given && i < session->report.nr_refusals; i++)
		(void)pst_cli_fail("%s", session->report.refusals[i].why.text);
}

static int run_session(const struct pst_bench_options *options)
{
	struct pst_bench_session session = {0};
	struct pst_error err = PST_ERROR_INIT;
	bool terminal = isatty(STDERR_FILENO);
	int status;
	int ret;

	if (pst_bench_check_output(options->json, &err) != 0 ||
	    pst_bench_check_output(options->csv, &err) != 0)
		return pst_cli_fail("%s", err.text);
	catch_signals();
	ret = pst_bench_session_open(&session, options, &interrupted, &err);
	if (ret) {
		status = pst_cli_fail("%s", err.text);
	} else {
		say_refusals(&session);
		ret = pst_bench_session_run(&session, terminal ? show_progress : show_nothing,
					    (void *)options, &err);
		if (terminal)
			(void)fputs("\r\033[K", stderr);
		status = conclude(&session, ret, &err);
	}
	pst_bench_session_close(&session);
	return status;
}

int pst_verb_bench(int argc, char **argv)
{
	struct pst_bench_options options;
	struct pst_error err = PST_ERROR_INIT;

	if (pst_bench_args_parse(argc, argv, &options, &err) != 0)
		return pst_cli_usage("bench: %s", err.text);
	if (options.help) {
		(void)fputs(pst_bench_usage, stdout);
		return PST_EXIT_OK;
	}
	if (options.compare[0])
		return pst_bench_compare(options.compare[0], options.compare[1], stdout, &err) == 0
			       ? PST_EXIT_OK
			       : pst_cli_fail("%s", err.text);
	return run_session(&options);
}
