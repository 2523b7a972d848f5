/* SPDX-License-Identifier: MIT */
/* The JSON of `penstock bench` against its schema, its files, and --compare. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base.h"
#include "report.h"
#include "schema_check.h"

static struct pst_bench_options options;
static struct pst_nvme_ns ns = {.node = "ng0n1",
				.nsid = 1,
				.model = "model \"x\"",
				.serial = "s",
				.firmware = "1.0",
				.transport = "pcie",
				.max_transfer = 131072};
static struct pst_bench_target targets[2];
static struct pst_bench_refusal refusal;
static struct pst_hist hist;
static double iops[] = {30000, 10000, 20000};
static struct pst_bench_result results[2];
static struct pst_bench_report report;
static char directory[] = "/tmp/bench_json_test.XXXXXX";

static int set_up(void **state)
{
	struct pst_error error = PST_ERROR_INIT;
	/* Parsing takes it apart. */
	static char modes[] = "async+fixed,sync";
	static char *argv[] = {"bench", "/dev/ng0n1", "/dev/loop0", "--modes", modes, NULL};
	uint32_t i;

	(void)state;
	if (pst_bench_args_parse(5, argv, &options, &error) != 0 || !mkdtemp(directory))
		return -1;
	for (i = 1; i <= 1000; i++)
		pst_hist_add(&hist, i * 1000, 1);
	targets[0] = (struct pst_bench_target){.path = "/dev/ng0n1",
					       .ns = &ns,
					       .bytes = 1 << 30,
					       .block_path = "/dev/nvme0n1",
					       .lba_size = 512,
					       .numa_node = -1,
					       .scheduler = "[none]"};
	targets[1] =
		(struct pst_bench_target){.path = "/dev/loop0", .bytes = 4096, .lba_size = 4096};
	results[0] = (struct pst_bench_result){.mode = &options.modes[0],
					       .qd = 32,
					       .rounds = 3,
					       .iops = iops,
					       .hist = &hist,
					       .done = 1000,
					       .user_ns = 500000,
					       .system_ns = 1500000,
					       .errors = 4,
					       .ring_caps = 1};
	/* Not measured: it does not appear. */
	results[1] = (struct pst_bench_result){
		.mode = &options.modes[1], .qd = 32, .iops = iops, .hist = &hist};
	pst_bench_note(&results[0], "a \"note\", with a comma");
	pst_bench_note(&results[0], "a \"note\", with a comma");
	refusal.mode = &options.modes[1];
	(void)pst_error_set(&refusal.why, -95, "why not");
	report = (struct pst_bench_report){.options = &options,
					   .targets = targets,
					   .nr_targets = 2,
					   .results = results,
					   .nr_results = 2,
					   .refusals = &refusal,
					   .nr_refusals = 1};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(directory);
}

static json_t *load_schema(void)
{
	json_error_t why;
	json_t *schema = json_load_file(SCHEMA_DIR "/bench.json", 0, &why);

	assert_non_null(schema);
	return schema;
}

static void the_document_is_as_the_schema_says(void **state)
{
	json_t *schema = load_schema();
	json_t *document = pst_bench_json(&report);
	char why[512] = "";

	(void)state;
	assert_non_null(document);
	if (!schema_check(schema, document, why, sizeof(why)))
		fail_msg("%s", why);
	json_decref(document);
	json_decref(schema);
}

static void the_schema_notices_what_is_wrong(void **state)
{
	json_t *schema = load_schema();
	json_t *document = pst_bench_json(&report);
	json_t *result = json_array_get(json_object_get(document, "results"), 0);
	char why[512];

	(void)state;
	(void)json_object_set_new(result, "qd", json_string("32"));
	assert_false(schema_check(schema, document, why, sizeof(why)));
	assert_non_null(strstr(why, "/results/0/qd"));
	(void)json_object_set_new(result, "qd", json_integer(0));
	assert_false(schema_check(schema, document, why, sizeof(why)));
	(void)json_object_set_new(result, "qd", json_integer(1));
	assert_true(schema_check(schema, document, why, sizeof(why)));
	(void)json_object_del(result, "iops");
	assert_false(schema_check(schema, document, why, sizeof(why)));
	json_decref(document);
	json_decref(schema);
}

static void figures_are_those_measured(void **state)
{
	json_t *document = pst_bench_json(&report);
	json_t *all = json_object_get(document, "results");
	json_t *result = json_array_get(all, 0);
	json_t *latency = json_object_get(result, "lat_us");
	json_t *cpu = json_object_get(result, "cpu_us_per_io");

	(void)state;
	assert_int_equal(json_array_size(all), 1);
	assert_string_equal(json_string_value(json_object_get(result, "mode")), "async+fixed");
	assert_true(json_number_value(json_object_get(result, "iops")) == 20000);
	assert_int_equal(json_array_size(json_object_get(result, "iops_rounds")), 3);
	assert_true(json_number_value(json_object_get(latency, "mean")) == 500.5);
	assert_true(json_number_value(json_object_get(latency, "max")) == 1000);
	assert_true(json_number_value(json_object_get(latency, "p50")) > 496);
	assert_true(json_number_value(json_object_get(latency, "p50")) < 504);
	assert_true(json_number_value(json_object_get(cpu, "user")) == 0.5);
	assert_true(json_number_value(json_object_get(cpu, "system")) == 1.5);
	assert_int_equal(json_integer_value(json_object_get(result, "errors")), 4);
	assert_int_equal(json_array_size(json_object_get(result, "notes")), 1);
	assert_string_equal(json_string_value(json_array_get(json_object_get(result, "flags"), 0)),
			    "IORING_SETUP_SQE128");
	json_decref(document);
}

/* Reads a whole small file. */
static char *slurp(const char *path)
{
	static char text[65536];
	FILE *file = fopen(path, "r");
	size_t n;

	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[n] = '\0';
	return text;
}

static void csv_quotes_its_notes(void **state)
{
	struct pst_error error = PST_ERROR_INIT;
	char path[128];
	const char *text;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/out.csv", directory);
	assert_int_equal(pst_bench_write_csv(&report, path, &error), 0);
	text = slurp(path);
	assert_true(strncmp(text, "mode,rw,bs,qd,", 14) == 0);
	assert_non_null(
		strstr(text, "\r\nasync+fixed,randread,4096,32,1,20000.0,10000.0,30000.0,3,"));
	assert_non_null(strstr(text, ",4,\"a \"\"note\"\", with a comma\"\r\n"));
	assert_int_equal(unlink(path), 0);
}

static void a_full_disk_is_a_sentence(void **state)
{
	struct pst_error error = PST_ERROR_INIT;

	(void)state;
	assert_int_equal(pst_bench_write_json(&report, "/dev/full", &error), -28);
	assert_non_null(strstr(error.text, "/dev/full cannot be written: No space left on device"));
	assert_int_equal(pst_bench_check_output("/nowhere/x.json", &error), -2);
	assert_non_null(strstr(error.text, "/nowhere/x.json"));
}

static void comparing_gives_ratios(void **state)
{
	struct pst_error error = PST_ERROR_INIT;
	char before[128], after[128];
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	uint32_t i;

	(void)state;
	(void)snprintf(before, sizeof(before), "%s/before.json", directory);
	(void)snprintf(after, sizeof(after), "%s/after.json", directory);
	assert_int_equal(pst_bench_write_json(&report, before, &error), 0);
	for (i = 0; i < 3; i++)
		iops[i] *= 4;
	assert_int_equal(pst_bench_write_json(&report, after, &error), 0);
	for (i = 0; i < 3; i++)
		iops[i] /= 4;
	assert_int_equal(pst_bench_compare(before, after, out, &error), 0);
	assert_int_equal(pst_bench_compare(before, before, out, &error), 0);
	assert_int_equal(pst_bench_compare(before, "/dev/null", out, &error), -22);
	(void)fclose(out);
	assert_non_null(strstr(text, "20.0       80.0   4.000    1.000  faster"));
	assert_non_null(strstr(text, "20.0       20.0   1.000    1.000  within the spread"));
	free(text);
	assert_int_equal(unlink(before) | unlink(after), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_document_is_as_the_schema_says),
		cmocka_unit_test(the_schema_notices_what_is_wrong),
		cmocka_unit_test(figures_are_those_measured),
		cmocka_unit_test(csv_quotes_its_notes),
		cmocka_unit_test(a_full_disk_is_a_sentence),
		cmocka_unit_test(comparing_gives_ratios),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
