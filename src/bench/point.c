/* SPDX-License-Identifier: MIT */
/* One measurement: a thread a job, started together, their outcomes added up. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "session.h"

struct worker {
	struct pst_job job;
	pthread_t thread;
	int cpu; /* -1: not pinned */
	struct gate *gate;
};

/* Threads set up, meet, learn whether all could, and start. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t ready; /* threads that have set up or failed */
	bool failed;
	bool open;
};

static void gate_report(struct gate *gate, bool failed)
{
	(void)pthread_mutex_lock(&gate->lock);
	gate->ready++;
	gate->failed |= failed;
	(void)pthread_cond_broadcast(&gate->changed);
	(void)pthread_mutex_unlock(&gate->lock);
}

/* Returns whether to go. */
static bool gate_pass(struct gate *gate)
{
	bool go;

	(void)pthread_mutex_lock(&gate->lock);
	while (!gate->open)
		(void)pthread_cond_wait(&gate->changed, &gate->lock);
	go = !gate->failed;
	(void)pthread_mutex_unlock(&gate->lock);
	return go;
}

/* `started` threads are waited for; fewer than wanted is a failure of all. */
static void gate_open(struct gate *gate, uint32_t started, uint32_t wanted)
{
	(void)pthread_mutex_lock(&gate->lock);
	while (gate->ready < started)
		(void)pthread_cond_wait(&gate->changed, &gate->lock);
	gate->failed |= started < wanted;
	gate->open = true;
	(void)pthread_cond_broadcast(&gate->changed);
	(void)pthread_mutex_unlock(&gate->lock);
}

static void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	int ret;

	pin(w->cpu);
	ret = pst_job_open(&w->job);
	gate_report(w->gate, ret != 0);
	if (gate_pass(w->gate)) {
		if (pst_bench_mode_rings(w->job.common->mode))
			pst_job_run_ring(&w->job);
		else
			pst_job_run_sync(&w->job);
	}
	pst_job_leave(&w->job);
	return NULL;
}

static void init_worker(struct pst_bench_session *s, struct worker *w, uint32_t thread,
			struct pst_job_common *common, struct gate *gate)
{
	uint32_t helper = s->options->threads + thread;

	w->job.common = common;
	w->job.targets = s->targets;
	w->job.nr_targets = s->nr_targets;
	w->job.thread = thread;
	w->job.pool = s->pools[thread];
	w->job.sqpoll_cpu = helper < s->nr_cpus ? s->cpus[helper] : -1;
	w->cpu = s->nr_cpus ? s->cpus[thread % s->nr_cpus] : -1;
	w->gate = gate;
}

/* Signals go to the main thread, whose handler all look at. */
static int start_threads(struct worker *workers, uint32_t n, uint32_t *started)
{
	sigset_t all, before;
	int ret = 0;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	for (*started = 0; ret == 0 && *started < n; *started += ret == 0)
		ret = pthread_create(&workers[*started].thread, NULL, work, &workers[*started]);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -ret;
}

/* With several devices: did each get its share? */
static void note_shares(const struct worker *workers, uint32_t threads, uint32_t nr_targets,
			struct pst_bench_result *r)
{
	uint64_t least = UINT64_MAX, most = 0;
	uint32_t i, t, d;

	for (i = 0; i < nr_targets; i++) {
		uint64_t done = 0;

		for (t = 0; t < threads; t++) {
			const struct pst_job *job = &workers[t].job;

			for (d = 0; d < job->nr_devices; d++) {
				if (job->devices[d].target == &job->targets[i])
					done += job->devices[d].done;
			}
		}
		least = done < least ? done : least;
		most = done > most ? done : most;
	}
	if (nr_targets > 1 && r->done)
		pst_bench_note(r, "I/Os of round %u on each of %u devices: %llu to %llu", r->rounds,
			       nr_targets, (unsigned long long)least, (unsigned long long)most);
}

static void add_up(struct pst_bench_session *s, const struct worker *workers,
		   struct pst_bench_result *r)
{
	uint64_t done = 0, elapsed = 0;
	uint32_t i;

	for (i = 0; i < s->options->threads; i++) {
		const struct pst_job_outcome *out = &workers[i].job.out;

		done += out->done;
		elapsed = out->elapsed > elapsed ? out->elapsed : elapsed;
		r->errors += out->errors;
		r->user_ns += out->user_ns;
		r->system_ns += out->system_ns;
		r->ring_caps |= out->ring_caps;
		r->ring_dropped |= out->ring_dropped;
		pst_hist_merge(r->hist, &out->hist);
		if (out->errors && !s->first_error.code)
			s->first_error = out->first_error;
		if (out->gone)
			pst_bench_note(r, "a device went away in round %u", r->rounds + 1);
		else if (out->gave_up)
			pst_bench_note(r, "round %u was given up: nothing but failures",
				       r->rounds + 1);
		s->report.stopped |= out->gone || out->gave_up;
	}
	r->done += done;
	r->iops[r->rounds++] = elapsed ? (double)done * 1e9 / (double)elapsed : 0;
}

static int first_failure(const struct worker *workers, uint32_t n, struct pst_error *err)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (workers[i].job.out.set_up.code) {
			*err = workers[i].job.out.set_up;
			return err->code;
		}
	}
	return 0;
}

int pst_bench_point_run(struct pst_bench_session *s, struct pst_bench_result *r,
			struct pst_error *err)
{
	uint32_t threads = s->options->threads;
	PST_AUTO_FREE struct worker *workers = calloc(threads, sizeof(*workers));
	struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false, false};
	struct pst_job_common common = {.options = s->options,
					.mode = r->mode,
					.qd = r->qd,
					.interrupted = s->interrupted,
					.point = ++s->points};
	uint32_t i, started;
	int ret;

	if (!workers)
		return pst_error_set(err, -ENOMEM, "out of memory for %u threads", threads);
	for (i = 0; i < threads; i++)
		init_worker(s, &workers[i], i, &common, &gate);

	ret = start_threads(workers, threads, &started);
	if (ret)
		(void)pst_error_set(err, ret, "thread %u of %u cannot be started: %s", started + 1,
				    threads, pst_errname(ret));
	gate_open(&gate, started, threads);
	for (i = 0; i < started; i++)
		(void)pthread_join(workers[i].thread, NULL);

	if (ret == 0)
		ret = first_failure(workers, threads, err);
	if (ret == 0) {
		add_up(s, workers, r);
		note_shares(workers, threads, s->nr_targets, r);
	}
	for (i = 0; i < threads; i++)
		pst_job_close(&workers[i].job);
	return ret;
}
