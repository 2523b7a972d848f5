/* SPDX-License-Identifier: MIT */
/* Submitting, waiting and reaping: what happens on the I/O path. */
#include <errno.h>

#include "uring.h"

struct io_uring_sqe *pst_ring_sqe(struct pst_ring *ring)
{
	return pst_ring_get(ring);
}

void pst_ring_sqe_set_op(struct io_uring_sqe *sqe, struct pst_op *op)
{
	pst_ring_bind(sqe, op);
}

void pst_ring_defer(struct pst_ring *ring, struct pst_op *op, int32_t res)
{
	op->res = res;
	op->next = NULL;
	*ring->deferred_tail = op;
	ring->deferred_tail = &op->next;
}

uint32_t pst_ring_inflight(const struct pst_ring *ring)
{
	return ring->inflight;
}

int pst_ring_enter(struct pst_ring *ring, unsigned int wait, int64_t timeout_us)
{
	struct io_uring_cqe *cqe;
	struct __kernel_timespec ts;
	int ret;

	if (wait == 0) {
		ret = io_uring_submit_and_get_events(&ring->ring);
	} else if (timeout_us < 0) {
		ret = io_uring_submit_and_wait(&ring->ring, wait);
	} else {
		ts.tv_sec = timeout_us / 1000000;
		ts.tv_nsec = (timeout_us % 1000000) * 1000;
		ret = io_uring_submit_and_wait_timeout(&ring->ring, &cqe, wait, &ts, NULL);
	}

	/* Whatever the kernel said, what it has not consumed is still in the queue. */
	ring->queued = io_uring_sq_ready(&ring->ring);
	return ret;
}

int pst_ring_submit(struct pst_ring *ring)
{
	int ret;

	if (ring->queued == 0)
		return 0;
	ret = pst_ring_enter(ring, 0, 0);
	/* Nothing is lost: what was not taken is submitted with the next call. */
	return ret == -EAGAIN || ret == -EBUSY || ret == -EINTR ? 0 : ret;
}

static unsigned int run_deferred(struct pst_ring *ring)
{
	struct pst_op *op = ring->deferred_head;
	struct pst_op *next;
	unsigned int n = 0;

	/* What the callbacks defer anew waits for the next reap: no endless turn. */
	ring->deferred_head = NULL;
	ring->deferred_tail = &ring->deferred_head;
	for (; op; op = next, n++) {
		next = op->next;
		op->done(op, op->res, 0, 0);
	}
	return n;
}

unsigned int pst_ring_reap(struct pst_ring *ring, unsigned int max)
{
	struct io_uring_cq *cq = &ring->ring.cq;
	unsigned int n = ring->deferred_head ? run_deferred(ring) : 0;
	unsigned int head = *cq->khead;
	unsigned int tail;

	if (ring->must_enter && (!ring->has_flag || pst_ring_ready(ring)) &&
	    ring->inflight > ring->queued && io_uring_cq_ready(&ring->ring) == 0)
		(void)pst_ring_enter(ring, 0, 0);

	tail = io_uring_smp_load_acquire(cq->ktail);
	if (max && tail - head > max)
		tail = head + max;
	while (head != tail) {
		const struct io_uring_cqe *cqe = &cq->cqes[(head & cq->ring_mask) << 1];
		struct pst_op *op = (struct pst_op *)(uintptr_t)cqe->user_data;
		uint64_t extra = cqe->big_cqe[0];
		uint32_t flags = cqe->flags;
		int32_t res = cqe->res;

		/* Freed at once, since a callback that submits may make the kernel post more. */
		io_uring_smp_store_release(cq->khead, ++head);
		if (!(flags & IORING_CQE_F_MORE))
			ring->inflight--;
		if (op)
			op->done(op, res, flags, extra);
		n++;
	}
	return n;
}

int pst_ring_wait(struct pst_ring *ring, int64_t timeout_us)
{
	int ret = 0;

	if (!ring->deferred_head && io_uring_cq_ready(&ring->ring) == 0) {
		ret = pst_ring_enter(ring, 1, timeout_us);
	} else if (ring->queued) {
		ret = pst_ring_enter(ring, 0, 0);
	}
	if (ret < 0 && ret != -ETIME && ret != -EINTR && ret != -EAGAIN && ret != -EBUSY)
		return ret;
	return (int)pst_ring_reap(ring, 0);
}
