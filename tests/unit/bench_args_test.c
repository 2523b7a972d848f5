/* SPDX-License-Identifier: MIT */
/* The command line of `penstock bench`: what it means, and one sentence for what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"

#define MAX_ARGS 64

static struct pst_bench_options options;
static struct pst_error error;

/* Splits at blanks, parses; the options point into static storage. */
static int parse(const char *line)
{
	static char copy[1024];
	char *argv[MAX_ARGS + 1];
	static char *kept[MAX_ARGS + 1];
	char *rest = copy;
	char *word;
	int argc = 0;

	assert_true(strlen(line) < sizeof(copy));
	strcpy(copy, line);
	while ((word = strsep(&rest, " ")) && argc < MAX_ARGS)
		argv[argc++] = word;
	argv[argc] = NULL;
	memcpy(kept, argv, sizeof(argv));
	memset(&error, 0, sizeof(error));
	return pst_bench_args_parse(argc, kept, &options, &error);
}

static void assert_refused(const char *line, const char *word)
{
	assert_int_equal(parse(line), -22);
	if (!strstr(error.text, word))
		fail_msg("\"%s\": \"%s\" does not speak of \"%s\"", line, error.text, word);
	assert_null(strchr(error.text, '\n'));
}

static void defaults_are_those_of_the_manual(void **state)
{
	static const char *const modes[] = {"sync", "block", "async", "async+fixed",
					    "async+fixed+poll"};
	uint32_t i;

	(void)state;
	assert_int_equal(parse("bench /dev/ng0n1"), 0);
	assert_int_equal(options.nr_devices, 1);
	assert_string_equal(options.devices[0], "/dev/ng0n1");
	assert_int_equal(options.nr_modes, 5);
	for (i = 0; i < 5; i++)
		assert_string_equal(options.modes[i].name, modes[i]);
	assert_false(options.modes_given);
	assert_int_equal(options.nr_qds, 4);
	assert_int_equal(options.bs, 4096);
	assert_string_equal(options.rw, "randread");
	assert_true(options.random && !pst_bench_writes(&options));
	assert_int_equal(options.threads, 1);
	assert_int_equal(options.time_ns, 3000000000);
	assert_int_equal(options.batch, 32);
	assert_int_equal(options.rounds, 3);
	assert_int_equal(options.seed, 1);
	assert_true(options.registered_files);
	assert_false(options.verify || options.allow_write || options.force);
}

static void every_option_is_taken(void **state)
{
	(void)state;
	assert_int_equal(
		parse("bench /dev/ng0n1 --modes sync,async+poll+fixed --qd 2,64 --bs 512 "
		      "--rw mix:70 --threads 3 --time 0.25 --batch 8 --rounds 5 --offset 1M "
		      "--size 2M --seed 9 --rate 1000 --count 77 --verify --allow-write "
		      "--force --json j --csv c --no-registered-files /dev/ng1n1"),
		0);
	assert_int_equal(options.nr_devices, 2);
	assert_string_equal(options.devices[1], "/dev/ng1n1");
	assert_int_equal(options.nr_modes, 2);
	assert_string_equal(options.modes[1].name, "async+fixed+poll");
	assert_true(options.modes_given);
	assert_int_equal(options.qds[1], 64);
	assert_int_equal(options.bs, 512);
	assert_int_equal(options.read_percent, 70);
	assert_true(options.random && pst_bench_writes(&options));
	assert_int_equal(options.threads, 3);
	assert_int_equal(options.time_ns, 250000000);
	assert_int_equal(options.batch, 8);
	assert_int_equal(options.rounds, 5);
	assert_int_equal(options.offset, 1 << 20);
	assert_int_equal(options.size, 2 << 20);
	assert_int_equal(options.seed, 9);
	assert_int_equal(options.rate, 1000);
	assert_int_equal(options.count, 77);
	assert_true(options.verify && options.allow_write && options.force);
	assert_string_equal(options.json, "j");
	assert_string_equal(options.csv, "c");
	assert_false(options.registered_files);
}

static void modes_are_bases_with_features(void **state)
{
	struct pst_bench_mode mode;

	(void)state;
	assert_int_equal(pst_bench_mode_parse("async+vec+sqpoll+fixed", &mode, &error), 0);
	assert_string_equal(mode.name, "async+fixed+sqpoll+vec");
	assert_true(mode.fixed && mode.sqpoll && mode.vec && !mode.poll);
	assert_int_equal(mode.base, PST_BENCH_ASYNC);
	assert_int_equal(pst_bench_mode_parse("nop+sqpoll", &mode, &error), 0);
	assert_int_equal(pst_bench_mode_parse("block+poll", &mode, &error), 0);

	assert_int_equal(pst_bench_mode_parse("", &mode, &error), -22);
	assert_int_equal(pst_bench_mode_parse("fixed", &mode, &error), -22);
	assert_int_equal(pst_bench_mode_parse("async+", &mode, &error), -22);
	assert_int_equal(pst_bench_mode_parse("async+fixed+fixed", &mode, &error), -22);
	assert_int_equal(pst_bench_mode_parse("sync+fixed", &mode, &error), -22);
	assert_int_equal(pst_bench_mode_parse("nop+poll", &mode, &error), -22);
	assert_int_equal(pst_bench_mode_parse("async+fixed+poll+sqpoll+vec+fixed+poll+sqpoll+vec",
					      &mode, &error),
			 -22);
}

static void wrong_arguments_are_named(void **state)
{
	(void)state;
	assert_refused("bench", "no device");
	assert_refused("bench /dev/ng0n1 --modes fast", "fast");
	assert_refused("bench /dev/ng0n1 --modes sync,sync", "twice");
	assert_refused("bench /dev/ng0n1 --modes async,", "mode");
	assert_refused("bench /dev/ng0n1 --qd 0", "--qd 0");
	assert_refused("bench /dev/ng0n1 --qd 1,x", "--qd x");
	assert_refused("bench /dev/ng0n1 --qd 99999", "--qd 99999");
	assert_refused("bench /dev/ng0n1 --bs 100", "--bs");
	assert_refused("bench /dev/ng0n1 --bs 4q", "--bs 4q");
	assert_refused("bench /dev/ng0n1 --bs 64M --qd 128", "1 GiB");
	assert_refused("bench /dev/ng0n1 --rw fast", "--rw fast");
	assert_refused("bench /dev/ng0n1 --rw mix:101 --allow-write", "--rw mix:101");
	assert_refused("bench /dev/ng0n1 --threads 0", "--threads");
	assert_refused("bench /dev/ng0n1 --time -1", "--time");
	assert_refused("bench /dev/ng0n1 --time nan", "--time");
	assert_refused("bench /dev/ng0n1 --time 1e3", "--time");
	assert_refused("bench /dev/ng0n1 --count 0", "--count");
	assert_refused("bench /dev/ng0n1 --rate 0", "--rate");
	assert_refused("bench /dev/ng0n1 --offset 100", "--offset");
	assert_refused("bench /dev/ng0n1 --zeal", "--zeal");
	assert_refused("bench /dev/ng0n1 --qd", "--qd");
	assert_refused("bench /dev/ng0n1 /dev/ng0n1", "twice");
	assert_refused("bench --compare a.json", "--compare");
	assert_refused("bench --modes nop --verify", "--verify");
}

static void writing_must_be_allowed(void **state)
{
	(void)state;
	assert_refused("bench /dev/ng0n1 --rw randwrite", "--allow-write");
	assert_refused("bench /dev/ng0n1 --rw write", "--allow-write");
	assert_refused("bench /dev/ng0n1 --rw mix:99", "--allow-write");
	assert_int_equal(parse("bench /dev/ng0n1 --rw mix:100"), 0);
	assert_int_equal(parse("bench /dev/ng0n1 --rw write --allow-write"), 0);
}

static void a_measurement_must_end(void **state)
{
	(void)state;
	assert_refused("bench /dev/ng0n1 --time 0", "never ends");
	assert_int_equal(parse("bench /dev/ng0n1 --time 0 --rw read"), 0);
	assert_int_equal(parse("bench /dev/ng0n1 --time 0 --count 5"), 0);
	/* A count alone is not cut short by the default time; with a time, whichever comes first.
	 */
	assert_int_equal(parse("bench /dev/ng0n1 --count 5"), 0);
	assert_int_equal(options.time_ns, 0);
	assert_int_equal(parse("bench /dev/ng0n1 --count 5 --time 2"), 0);
	assert_int_equal(options.time_ns, 2000000000);
}

static void only_nop_runs_without_a_device(void **state)
{
	(void)state;
	assert_int_equal(parse("bench --modes nop,nop+sqpoll"), 0);
	assert_refused("bench --modes nop,async", "no device");
}

static void help_and_compare_need_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(parse("bench --help"), 0);
	assert_true(options.help);
	assert_int_equal(parse("bench --compare a.json b.json"), 0);
	assert_string_equal(options.compare[0], "a.json");
	assert_string_equal(options.compare[1], "b.json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(every_option_is_taken),
		cmocka_unit_test(modes_are_bases_with_features),
		cmocka_unit_test(wrong_arguments_are_named),
		cmocka_unit_test(writing_must_be_allowed),
		cmocka_unit_test(a_measurement_must_end),
		cmocka_unit_test(only_nop_runs_without_a_device),
		cmocka_unit_test(help_and_compare_need_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
