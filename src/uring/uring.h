/* SPDX-License-Identifier: MIT */
/* The ring's inside, for the layers that are on the I/O path and want it inlined. */
#ifndef PST_URING_H
#define PST_URING_H

#include <string.h>

#include <liburing.h>

#include <penstock/ring.h>

#include "base.h"

struct pst_ring {
	struct io_uring ring;
	uint32_t caps;
	uint32_t dropped;
	uint32_t queued;   /* entries filled and not yet submitted */
	uint32_t inflight; /* taken by the kernel (or queued) and not completed for good */
	uint32_t cq_size;
	bool must_enter; /* completions only appear by entering the kernel (DEFER_TASKRUN, IOPOLL)
			  */
	bool has_flag;	 /* the kernel raises IORING_SQ_TASKRUN when there is something to post */

	struct pst_op *deferred_head; /* complete without the kernel, in order */
	struct pst_op **deferred_tail;

	const struct pst_region **regions; /* by buffer index; NULL: free */
	uint32_t nr_regions;
	int *files; /* by slot; -1: free */
	uint32_t nr_files;
};

/* Submits and waits for `wait` completions; lets the kernel post what it has. */
int pst_ring_enter(struct pst_ring *ring, unsigned int wait, int64_t timeout_us);

/*
 * A zeroed entry. Keeping fewer than cq_size operations in flight is what prevents an overflow of
 * the completion queue, which would cost an allocation in the kernel for each.
 */
static inline struct io_uring_sqe *pst_ring_get(struct pst_ring *ring)
{
	struct io_uring_sqe *sqe;

	if (pst_unlikely(ring->inflight >= ring->cq_size))
		return NULL;
	sqe = io_uring_get_sqe(&ring->ring);
	if (pst_unlikely(!sqe)) {
		if (pst_ring_enter(ring, 0, 0) < 0)
			return NULL;
		sqe = io_uring_get_sqe(&ring->ring);
		if (!sqe)
			return NULL;
	}
	memset(sqe, 0, 128);
	ring->queued++;
	ring->inflight++;
	return sqe;
}

static inline void pst_ring_bind(struct io_uring_sqe *sqe, struct pst_op *op)
{
	sqe->user_data = (uintptr_t)op;
}

/* Has something to reap, as far as can be seen without entering the kernel? */
static inline bool pst_ring_ready(const struct pst_ring *ring)
{
	return ring->deferred_head || io_uring_cq_ready(&ring->ring) != 0 ||
	       (ring->has_flag && (__atomic_load_n(ring->ring.sq.kflags, __ATOMIC_RELAXED) &
				   (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)));
}

#endif
