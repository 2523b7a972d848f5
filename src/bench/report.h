/* SPDX-License-Identifier: MIT */
/* What a session found, and the forms it is shown in. */
#ifndef PST_BENCH_REPORT_H
#define PST_BENCH_REPORT_H

#include <stdio.h>

#include <penstock/error.h>

#include "hist.h"
#include "options.h"
#include "target.h"

#define PST_BENCH_NOTES_MAX 12
#define PST_BENCH_NOTE_SIZE 256

/* One mode at one depth, over all rounds. */
struct pst_bench_result {
	const struct pst_bench_mode *mode;
	uint32_t qd;
	uint32_t rounds;       /* measured; 0: nothing is known */
	double *iops;	       /* of each round */
	struct pst_hist *hist; /* of all */
	uint64_t done, errors;
	uint64_t user_ns, system_ns;
	uint32_t ring_caps, ring_dropped;
	uint32_t nr_notes;
	char notes[PST_BENCH_NOTES_MAX][PST_BENCH_NOTE_SIZE];
};

struct pst_bench_refusal {
	const struct pst_bench_mode *mode;
	struct pst_error why;
};

struct pst_bench_report {
	const struct pst_bench_options *options;
	const struct pst_bench_target *targets;
	uint32_t nr_targets;
	struct pst_bench_result *results; /* depth by depth, mode by mode */
	uint32_t nr_results;
	struct pst_bench_refusal *refusals; /* modes that were asked for and not run */
	uint32_t nr_refusals;
	bool interrupted;
	bool stopped; /* ended early for another reason: a device is gone, nothing but failures */
};

/* Adds a note once; a result that has its fill of them drops more. */
void pst_bench_note(struct pst_bench_result *result, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Median of the rounds, 0 of none; and (largest - smallest) / median. */
double pst_bench_iops(const struct pst_bench_result *result);
double pst_bench_spread(const struct pst_bench_result *result);

/* CPU time of one I/O in microseconds. */
double pst_bench_user_us(const struct pst_bench_result *result);
double pst_bench_system_us(const struct pst_bench_result *result);

/* The table for people. */
void pst_bench_print_table(const struct pst_bench_report *report, FILE *out);

/* Files, written whole or not at all; 0 or a negative errno with a sentence. */
int pst_bench_write_json(const struct pst_bench_report *report, const char *path,
			 struct pst_error *err);
int pst_bench_write_csv(const struct pst_bench_report *report, const char *path,
			struct pst_error *err);

/* Fails early when a file could not be written later. */
int pst_bench_check_output(const char *path, struct pst_error *err);

/* Puts text into a file: through a new one beside it, so that a full disk leaves the old one. */
int pst_bench_write_file(const char *path, const char *text, size_t length, struct pst_error *err);

struct json_t;
/* The document itself; NULL when memory is short. The caller drops the reference. */
struct json_t *pst_bench_json(const struct pst_bench_report *report);

/* Prints two JSON files side by side; 0, -EINVAL or an errno with a sentence. */
int pst_bench_compare(const char *before, const char *after, FILE *out, struct pst_error *err);

#endif
