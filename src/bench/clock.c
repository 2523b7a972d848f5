/* SPDX-License-Identifier: MIT */
/*
 * The clock of a measurement, and the CPU time spent meanwhile by its thread and by the kernel
 * threads that work for its ring: the one of SQPOLL ("iou-sqp-TID") and io-wq's ("iou-wrk-TID").
 * The latter are threads of this process that RUSAGE_THREAD does not count; all theirs is system
 * time.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "job.h"

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000000U + (uint64_t)tv->tv_usec * 1000U;
}

/* schedstat: time on the CPU in ns, time waiting, slices. */
static uint64_t helper_ns(const char *tid, pid_t owner)
{
	char path[64 + 256];
	char text[64];
	unsigned long long ns;
	int of;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", tid);
	if (pst_read_line(path, text, sizeof(text)) < 0 || strncmp(text, "iou-", 4) != 0 ||
	    sscanf(text, "iou-%*3s-%d", &of) != 1 || of != owner)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", tid);
	if (pst_read_line(path, text, sizeof(text)) < 0 || sscanf(text, "%llu", &ns) != 1)
		return 0;
	return ns;
}

static uint64_t all_helpers_ns(void)
{
	const struct dirent *entry;
	pid_t self = gettid();
	uint64_t ns = 0;
	DIR *dir = opendir("/proc/self/task");

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			ns += helper_ns(entry->d_name, self);
	}
	(void)closedir(dir);
	return ns;
}

static void own_time(uint64_t *user_ns, uint64_t *system_ns)
{
	struct rusage usage;

	*user_ns = 0;
	*system_ns = 0;
	if (getrusage(RUSAGE_THREAD, &usage) == 0) {
		*user_ns = timeval_ns(&usage.ru_utime);
		*system_ns = timeval_ns(&usage.ru_stime);
	}
}

/* Searching for helpers costs time itself, so it is done outside of what is measured. */
void pst_job_clock_start(struct pst_job *job)
{
	const struct pst_bench_options *options = job->common->options;
	uint64_t helpers = all_helpers_ns();

	own_time(&job->out.user_ns, &job->out.system_ns);
	job->out.system_ns += helpers;
	job->counting = true;
	job->origin = pst_now_ns();
	job->deadline = options->time_ns ? job->origin + options->time_ns : UINT64_MAX;
	pst_pace_init(&job->pace, options->rate, job->thread, options->threads, job->origin);
}

void pst_job_clock_stop(struct pst_job *job, uint64_t now)
{
	uint64_t user_ns, system_ns;

	job->counting = false;
	job->out.elapsed = now - job->origin;
	own_time(&user_ns, &system_ns);
	system_ns += all_helpers_ns();
	job->out.user_ns = user_ns - job->out.user_ns;
	job->out.system_ns = system_ns > job->out.system_ns ? system_ns - job->out.system_ns : 0;
}

bool pst_job_start_reading_back(struct pst_job *job)
{
	uint32_t i;

	if (!job->common->options->verify || !pst_bench_writes(job->common->options) ||
	    pst_job_stopped(job))
		return false;
	job->reading_back = true;
	job->quota = UINT64_MAX;
	job->deadline = UINT64_MAX;
	for (i = 0; i < job->nr_devices; i++)
		job->devices[i].exhausted = false;
	return true;
}

void pst_job_sleep(uint64_t now, uint64_t until)
{
	uint64_t when = pst_min_u64(until, now + 100000000);
	struct timespec ts = {.tv_sec = (time_t)(when / 1000000000U),
			      .tv_nsec = (long)(when % 1000000000U)};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}
