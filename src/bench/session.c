/* SPDX-License-Identifier: MIT */
/* Opening a session and running its rounds. */
#include <errno.h>
#include <string.h>

#include "base.h"
#include "job.h"
#include "session.h"

/* Mode nop needs no device; its loop gets one to compute positions on. */
static void make_dummy(struct pst_bench_target *t)
{
	memset(t, 0, sizeof(*t));
	t->path = "(no device)";
	t->block_fd = -1;
	t->hold_fd = -1;
	t->numa_node = -1;
	t->lba_size = 512;
	t->lba_shift = 9;
	t->stride = 512;
	t->bytes = 1ULL << 40;
}

static struct pst_bench_needs needs_of(const struct pst_bench_options *options)
{
	struct pst_bench_needs needs = {.writable = pst_bench_writes(options)};
	uint32_t i;

	for (i = 0; i < options->nr_modes; i++) {
		needs.passthrough |= pst_bench_mode_passthrough(&options->modes[i]);
		needs.block |= options->modes[i].base == PST_BENCH_BLOCK;
	}
	needs.writable &= needs.passthrough || needs.block;
	return needs;
}

static int open_targets(struct pst_bench_session *s, struct pst_error *err)
{
	const struct pst_bench_options *options = s->options;
	struct pst_bench_needs needs = needs_of(options);
	uint32_t wanted = options->nr_devices ? options->nr_devices : 1;
	int ret;

	s->targets = calloc(wanted, sizeof(*s->targets));
	if (!s->targets)
		return pst_error_set(err, -ENOMEM, "out of memory for %u devices", wanted);
	if (options->nr_devices == 0) {
		make_dummy(&s->targets[s->nr_targets++]);
		return pst_bench_target_range(&s->targets[0], options, err);
	}
	while (s->nr_targets < wanted) {
		struct pst_bench_target *target = &s->targets[s->nr_targets];

		ret = pst_bench_target_open(options->devices[s->nr_targets], &needs, target, err);
		if (ret)
			return ret;
		s->nr_targets++;
		ret = pst_bench_target_range(target, options, err);
		if (ret == 0 && needs.writable)
			ret = pst_bench_guard(target, options->force, err);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_mode(struct pst_bench_session *s, const struct pst_bench_mode *mode,
		      struct pst_error *err)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; ret == 0 && i < s->nr_targets; i++)
		ret = pst_bench_check_mode(&s->targets[i], mode, s->options, err);
	return ret;
}

/* Sorts the modes into those that run and those that cannot. */
static int choose_modes(struct pst_bench_session *s, struct pst_error *err)
{
	const struct pst_bench_options *options = s->options;
	struct pst_bench_report *report = &s->report;
	uint32_t i;

	s->modes = calloc(options->nr_modes, sizeof(*s->modes));
	report->refusals = calloc(options->nr_modes, sizeof(*report->refusals));
	if (!s->modes || !report->refusals)
		return pst_error_set(err, -ENOMEM, "out of memory for %u modes", options->nr_modes);
	for (i = 0; i < options->nr_modes; i++) {
		struct pst_bench_refusal *refusal = &report->refusals[report->nr_refusals];

		if (check_mode(s, &options->modes[i], &refusal->why) == 0) {
			s->modes[s->nr_modes++] = &options->modes[i];
			s->any_fixed |= options->modes[i].fixed;
		} else {
			refusal->mode = &options->modes[i];
			report->nr_refusals++;
		}
	}
	if (s->nr_modes)
		return 0;
	*err = report->refusals[0].why;
	return err->code;
}

/* Memory for the largest depth, each thread's from its devices' node. */
static int make_pools(struct pst_bench_session *s, struct pst_error *err)
{
	const struct pst_bench_options *options = s->options;
	uint32_t deepest = 0;
	uint64_t pinned = 0;
	size_t size;
	uint32_t i;
	int ret;

	for (i = 0; i < options->nr_qds; i++)
		deepest = options->qds[i] > deepest ? options->qds[i] : deepest;
	size = pst_job_pool_size(s->targets, s->nr_targets, options, deepest);
	s->pools = calloc(options->threads, sizeof(struct pst_pool *));
	if (!s->pools)
		return pst_error_set(err, -ENOMEM, "out of memory for %u threads",
				     options->threads);
	for (i = 0; i < options->threads; i++) {
		const struct pst_bench_target *target = &s->targets[i % s->nr_targets];

		ret = pst_pool_create(size, PST_POOL_PAGES_AUTO, target->numa_node, &s->pools[i],
				      err);
		if (ret)
			return ret;
		s->normal_pages |= pst_pool_page_size(s->pools[i]) == 4096;
		/* The kernel counts hugepages whole. */
		pinned += pst_pool_size(s->pools[i]);
	}
	return s->any_fixed ? pst_bench_allow_memlock(pinned, err) : 0;
}

static int make_results(struct pst_bench_session *s, struct pst_error *err)
{
	struct pst_bench_report *report = &s->report;
	uint32_t i;

	report->nr_results = s->options->nr_qds * s->nr_modes;
	report->results = calloc(report->nr_results, sizeof(*report->results));
	for (i = 0; report->results && i < report->nr_results; i++) {
		struct pst_bench_result *r = &report->results[i];

		r->mode = s->modes[i % s->nr_modes];
		r->qd = s->options->qds[i / s->nr_modes];
		r->iops = calloc(s->options->rounds, sizeof(*r->iops));
		r->hist = calloc(1, sizeof(*r->hist));
		if (!r->iops || !r->hist)
			return pst_error_set(err, -ENOMEM, "out of memory for results");
	}
	return report->results ? 0 : pst_error_set(err, -ENOMEM, "out of memory for results");
}

int pst_bench_session_open(struct pst_bench_session *s, const struct pst_bench_options *options,
			   const atomic_bool *interrupted, struct pst_error *err)
{
	int ret;

	s->options = options;
	s->interrupted = interrupted;
	ret = open_targets(s, err);
	s->report.options = options;
	s->report.targets = s->targets;
	s->report.nr_targets = options->nr_devices ? s->nr_targets : 0;
	if (ret == 0)
		ret = choose_modes(s, err);
	if (ret == 0)
		ret = make_pools(s, err);
	if (ret == 0)
		ret = make_results(s, err);
	if (ret == 0)
		s->nr_cpus = pst_bench_cpus(s->targets[0].numa_node, &s->cpus);
	return ret;
}

void pst_bench_session_close(struct pst_bench_session *s)
{
	uint32_t i;

	for (i = 0; s->report.results && i < s->report.nr_results; i++) {
		free(s->report.results[i].iops);
		free(s->report.results[i].hist);
	}
	free(s->report.results);
	free(s->report.refusals);
	for (i = 0; s->pools && i < s->options->threads; i++)
		pst_pool_destroy(s->pools[i]);
	free(s->pools);
	for (i = 0; i < s->nr_targets; i++)
		pst_bench_target_close(&s->targets[i]);
	free(s->targets);
	free(s->modes);
	free(s->cpus);
	memset(s, 0, sizeof(*s));
}

int pst_bench_session_run(struct pst_bench_session *s, pst_bench_progress progress, void *ctx,
			  struct pst_error *err)
{
	struct pst_bench_report *report = &s->report;
	uint32_t total = report->nr_results * s->options->rounds;
	uint32_t round, depth, i, number = 0;
	int ret;

	for (round = 0; round < s->options->rounds; round++) {
		for (depth = 0; depth < s->options->nr_qds; depth++) {
			for (i = 0; i < s->nr_modes; i++) {
				uint32_t mode = (i + round) % s->nr_modes;
				struct pst_bench_result *r =
					&report->results[depth * s->nr_modes + mode];

				progress(ctx, r, ++number, total);
				ret = pst_bench_point_run(s, r, err);
				pst_bench_note_conditions(s, r);
				report->interrupted = atomic_load(s->interrupted);
				if (ret || report->interrupted || report->stopped)
					return ret;
			}
		}
	}
	return 0;
}
