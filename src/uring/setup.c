/* SPDX-License-Identifier: MIT */
/* Creating a ring with the best flags this kernel takes. */
#include <errno.h>

#include <penstock/error.h>

#include "base.h"
#include "uring.h"

static const struct {
	uint32_t cap;
	uint32_t flag;
	const char *name;
	bool optional;
} caps[] = {
	/* Oldest first: set-up drops optional ones from the end. */
	{PST_RING_CAP_IOPOLL, IORING_SETUP_IOPOLL, "IORING_SETUP_IOPOLL", false},
	{PST_RING_CAP_SQPOLL, IORING_SETUP_SQPOLL, "IORING_SETUP_SQPOLL", false},
	{PST_RING_CAP_SQE128, IORING_SETUP_SQE128, "IORING_SETUP_SQE128", false},
	{PST_RING_CAP_CQE32, IORING_SETUP_CQE32, "IORING_SETUP_CQE32", false},
	{PST_RING_CAP_COOP_TASKRUN, IORING_SETUP_COOP_TASKRUN, "IORING_SETUP_COOP_TASKRUN", true},
	{PST_RING_CAP_TASKRUN_FLAG, IORING_SETUP_TASKRUN_FLAG, "IORING_SETUP_TASKRUN_FLAG", true},
	{PST_RING_CAP_SINGLE_ISSUER, IORING_SETUP_SINGLE_ISSUER, "IORING_SETUP_SINGLE_ISSUER",
	 true},
	{PST_RING_CAP_DEFER_TASKRUN, IORING_SETUP_DEFER_TASKRUN, "IORING_SETUP_DEFER_TASKRUN",
	 true},
	{PST_RING_CAP_REGISTERED_FD, 0, "IORING_REGISTER_RING_FDS", true},
};

const char *pst_ring_cap_name(uint32_t cap)
{
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(caps); i++) {
		if (caps[i].cap == cap)
			return caps[i].name;
	}
	return "unknown";
}

uint32_t pst_ring_caps(const struct pst_ring *ring)
{
	return ring->caps;
}

uint32_t pst_ring_dropped(const struct pst_ring *ring)
{
	return ring->dropped;
}

static uint32_t wanted_caps(const struct pst_ring_params *params)
{
	uint32_t want = PST_RING_CAP_SQE128 | PST_RING_CAP_CQE32 | PST_RING_CAP_SINGLE_ISSUER;

	want |= params->iopoll ? PST_RING_CAP_IOPOLL : 0;
	if (params->sqpoll) {
		/* The kernel's thread runs the task work: the flags about ours exclude each other.
		 */
		want |= PST_RING_CAP_SQPOLL;
	} else {
		want |= PST_RING_CAP_COOP_TASKRUN | PST_RING_CAP_TASKRUN_FLAG |
			PST_RING_CAP_DEFER_TASKRUN;
	}
	want &= ~params->without;
	/* TASKRUN_FLAG needs one of the two, DEFER_TASKRUN needs SINGLE_ISSUER (io_uring_setup(2)).
	 */
	if (!(want & PST_RING_CAP_SINGLE_ISSUER))
		want &= ~(uint32_t)PST_RING_CAP_DEFER_TASKRUN;
	if (!(want & (PST_RING_CAP_COOP_TASKRUN | PST_RING_CAP_DEFER_TASKRUN)))
		want &= ~(uint32_t)PST_RING_CAP_TASKRUN_FLAG;
	return want;
}

static uint32_t setup_flags(uint32_t use)
{
	uint32_t flags = 0;
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(caps); i++)
		flags |= use & caps[i].cap ? caps[i].flag : 0;
	/* One bad entry must not hold back the rest of a batch. */
	return flags | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP;
}

static int setup_failed(int code, const struct pst_ring_params *params, struct pst_error *err)
{
	switch (code) {
	case -EPERM:
		return pst_error_set(
			err, code,
			"io_uring is switched off for this process: allow it with: sysctl "
			"kernel.io_uring_disabled=0");
	case -ENOSYS:
		return pst_error_set(err, code,
				     "this kernel has no io_uring: Linux 5.19 or newer is needed");
	case -EINVAL:
		return pst_error_set(
			err, -ENOSYS,
			"this kernel's io_uring has no 128-byte entries%s: Linux 5.19 or "
			"newer is needed",
			params->sqpoll ? " or no SQPOLL with them" : "");
	case -ENOMEM:
		return pst_error_set(
			err, code,
			"an io_uring of %u entries cannot be created: out of memory, or "
			"RLIMIT_MEMLOCK is too low (ulimit -l)",
			params->entries);
	default:
		return pst_error_set(err, code, "an io_uring of %u entries cannot be created: %s",
				     params->entries, pst_errname(code));
	}
}

/* Tries with fewer and fewer optional flags, the newest dropped first. */
static int init_with_fallback(struct pst_ring *ring, const struct pst_ring_params *params)
{
	uint32_t use = wanted_caps(params);
	size_t i = PST_ARRAY_SIZE(caps);
	int ret;

	for (;;) {
		struct io_uring_params p = {.flags = setup_flags(use)};

		if (params->cq_entries) {
			p.flags |= IORING_SETUP_CQSIZE;
			p.cq_entries = params->cq_entries;
		}
		if (params->sqpoll) {
			p.sq_thread_idle = params->sqpoll_idle_ms;
			if (params->sqpoll_cpu >= 0) {
				p.flags |= IORING_SETUP_SQ_AFF;
				p.sq_thread_cpu = (uint32_t)params->sqpoll_cpu;
			}
		}
		ret = io_uring_queue_init_params(params->entries, &ring->ring, &p);
		if (ret == 0) {
			ring->caps = use;
			ring->cq_size = p.cq_entries;
			return 0;
		}
		if (ret != -EINVAL)
			return ret;

		while (i > 0 &&
		       !(caps[i - 1].optional && caps[i - 1].flag && (use & caps[i - 1].cap)))
			i--;
		if (i == 0)
			return ret;
		use &= ~caps[--i].cap;
		ring->dropped |= caps[i].cap;
		if (!(use & (PST_RING_CAP_COOP_TASKRUN | PST_RING_CAP_DEFER_TASKRUN)))
			use &= ~(uint32_t)PST_RING_CAP_TASKRUN_FLAG;
	}
}

static int make_tables(struct pst_ring *ring, const struct pst_ring_params *params,
		       struct pst_error *err)
{
	uint32_t i;
	int ret;

	if (params->files) {
		ring->files = malloc(params->files * sizeof(*ring->files));
		if (!ring->files)
			return pst_error_set(err, -ENOMEM, "out of memory for a ring");
		for (i = 0; i < params->files; i++)
			ring->files[i] = -1;
		ret = io_uring_register_files_sparse(&ring->ring, params->files);
		if (ret)
			return pst_error_set(err, ret,
					     "%u slots for registered files cannot be "
					     "made: %s",
					     params->files, pst_errname(ret));
		ring->nr_files = params->files;
	}
	if (params->regions) {
		ring->regions = calloc(params->regions, sizeof(*ring->regions));
		if (!ring->regions)
			return pst_error_set(err, -ENOMEM, "out of memory for a ring");
		ret = io_uring_register_buffers_sparse(&ring->ring, params->regions);
		if (ret)
			return pst_error_set(err, ret,
					     "%u slots for fixed buffers cannot be made: "
					     "%s",
					     params->regions, pst_errname(ret));
		ring->nr_regions = params->regions;
	}
	return 0;
}

int pst_ring_create(const struct pst_ring_params *params, struct pst_ring **out,
		    struct pst_error *err)
{
	struct pst_ring *ring = calloc(1, sizeof(*ring));
	int ret;

	if (!ring)
		return pst_error_set(err, -ENOMEM, "out of memory for a ring");
	ring->deferred_tail = &ring->deferred_head;

	ret = init_with_fallback(ring, params);
	if (ret) {
		free(ring);
		return setup_failed(ret, params, err);
	}
	if (!(params->without & PST_RING_CAP_REGISTERED_FD)) {
		if (io_uring_register_ring_fd(&ring->ring) == 1)
			ring->caps |= PST_RING_CAP_REGISTERED_FD;
		else
			ring->dropped |= PST_RING_CAP_REGISTERED_FD;
	}
	ring->must_enter = ring->caps & (PST_RING_CAP_DEFER_TASKRUN | PST_RING_CAP_COOP_TASKRUN |
					 PST_RING_CAP_IOPOLL);
	ring->has_flag =
		(ring->caps & PST_RING_CAP_TASKRUN_FLAG) && !(ring->caps & PST_RING_CAP_IOPOLL);

	ret = make_tables(ring, params, err);
	if (ret) {
		pst_ring_destroy(ring);
		return ret;
	}
	*out = ring;
	return 0;
}

void pst_ring_destroy(struct pst_ring *ring)
{
	if (!ring)
		return;
	io_uring_queue_exit(&ring->ring);
	free(ring->regions);
	free(ring->files);
	free(ring);
}
