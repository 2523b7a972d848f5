/* SPDX-License-Identifier: MIT */
/*
 * One run of `penstock bench`: devices, checks, memory, then rounds over every depth and mode. The
 * modes are innermost and their order turns from round to round, so that whatever drifts on the
 * machine meets all of them alike.
 */
#ifndef PST_BENCH_SESSION_H
#define PST_BENCH_SESSION_H

#include <stdatomic.h>

#include <penstock/mem.h>

#include "report.h"

struct pst_bench_session {
	const struct pst_bench_options *options;
	const atomic_bool *interrupted;
	struct pst_bench_report report;
	struct pst_bench_target *targets;
	uint32_t nr_targets;
	const struct pst_bench_mode **modes; /* that run */
	uint32_t nr_modes;
	struct pst_pool **pools; /* one a thread */
	bool normal_pages;
	bool any_fixed; /* of the modes that run */
	int *cpus;	/* allowed, those of the devices' node first */
	uint32_t nr_cpus;
	uint32_t points;	      /* measurements begun */
	struct pst_error first_error; /* of an I/O */
};

/* Told before each measurement. */
typedef void (*pst_bench_progress)(void *ctx, const struct pst_bench_result *result,
				   uint32_t number, uint32_t of);

/* Opens and checks everything; the session is zeroed. 0 or a negative errno with a sentence. */
int pst_bench_session_open(struct pst_bench_session *session,
			   const struct pst_bench_options *options, const atomic_bool *interrupted,
			   struct pst_error *err);
void pst_bench_session_close(struct pst_bench_session *session);

/* Runs all rounds. What was measured before a failure stays in the report. */
int pst_bench_session_run(struct pst_bench_session *session, pst_bench_progress progress, void *ctx,
			  struct pst_error *err);

/* One measurement of one result: threads, clock, sums. */
int pst_bench_point_run(struct pst_bench_session *session, struct pst_bench_result *result,
			struct pst_error *err);

/* check.c: why a mode cannot run on a device (0 or a negative errno with a sentence) … */
int pst_bench_check_mode(const struct pst_bench_target *target, const struct pst_bench_mode *mode,
			 const struct pst_bench_options *options, struct pst_error *err);
/* … and what must be known to believe a figure. */
void pst_bench_note_conditions(const struct pst_bench_session *session,
			       struct pst_bench_result *result);

/* CPUs this process may use, those of a NUMA node first; returns how many, *cpus is to be freed. */
uint32_t pst_bench_cpus(int numa_node, int **cpus);

/*
 * RLIMIT_MEMLOCK: raised to `bytes` where that is allowed. Returns 0, or -EPERM with a sentence
 * that has the number.
 */
int pst_bench_allow_memlock(uint64_t bytes, struct pst_error *err);

#endif
