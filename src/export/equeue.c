/* SPDX-License-Identifier: MIT */
/* A virtqueue on its worker: the data path between the ring of the driver and the block queue. */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <string.h>

#include "server.h"
#include "uring.h"

/* Chains taken in one turn: enough to fill a batch, few enough to be fair to other queues. */
#define BUDGET 128

static struct pst_equeue *equeue_of(struct pst_source *src)
{
	return pst_container_of(src, struct pst_equeue, source);
}

static void kicked(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	struct pst_equeue *q = pst_container_of(op, struct pst_equeue, kick_op);

	/* The ring is looked at every turn: the event only ends the worker's sleep. */
	(void)res;
	(void)extra;
	if (!(flags & IORING_CQE_F_MORE))
		q->has_kick = false;
}

static void cancelled(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	struct pst_equeue *q = pst_container_of(op, struct pst_equeue, cancel_op);

	(void)res;
	(void)flags;
	(void)extra;
	q->cancelling = false;
}

static void arm_kick(struct pst_equeue *q)
{
	struct io_uring_sqe *sqe = pst_ring_get(q->worker->ring);

	if (!sqe)
		return;
	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->fd = q->kick_fd;
	sqe->poll32_events = POLLIN;
	sqe->len = IORING_POLL_ADD_MULTI;
	pst_ring_bind(sqe, &q->kick_op);
	q->has_kick = true;
}

static void cancel_kick(struct pst_equeue *q)
{
	struct io_uring_sqe *sqe = pst_ring_get(q->worker->ring);

	if (!sqe)
		return;
	sqe->opcode = IORING_OP_POLL_REMOVE;
	sqe->fd = -1;
	sqe->addr = (uintptr_t)&q->kick_op;
	pst_ring_bind(sqe, &q->cancel_op);
	q->cancelling = true;
}

static void interrupt(struct pst_equeue *q)
{
	int ret = pst_vduse_vq_interrupt(&q->exp->dev, q->index);

	/* The kernel stores DRIVER_OK after our answer: until then it is too early. */
	q->irq_pending = ret == -EINVAL;
	if (q->irq_pending)
		q->worker->wake_soon = true;
}

static void publish(struct pst_equeue *q)
{
	if (pst_virtq_publish(&q->vblk.virtq) || pst_unlikely(q->irq_pending))
		interrupt(q);
}

/* Called while draining: is it over? */
static void check_drained(struct pst_equeue *q)
{
	struct pst_drain *drain = q->drain;

	if (q->vblk.virtq.inflight)
		return;
	publish(q);
	if (drain->then == PST_QUEUE_IDLE) {
		if (q->has_kick) {
			if (!q->cancelling)
				cancel_kick(q);
			return;
		}
		if (q->cancelling)
			return;
		pst_list_remove(&q->source.link);
		pst_virtq_detach(&q->vblk.virtq);
		q->refused += q->vblk.unsupported;
		q->failed += q->vblk.failed;
		pst_vblk_queue_finish(&q->vblk);
		q->vblk.unsupported = q->vblk.failed = 0;
	}
	q->state = drain->then;
	q->drain = NULL;
	drain->done(drain);
}

/* The memory of this session, once the first request shows that there is one. */
static bool settle(struct pst_equeue *q)
{
	struct pst_export *exp = q->exp;

	if (!pst_virtq_has_avail(&q->vblk.virtq))
		return false;
	if (pst_umem_settle(exp) != 0) {
		q->worker->wake_soon = true;
		return false;
	}
	q->space.window_iova = 0;
	q->space.window_length = exp->bounce;
	q->space.window = exp->window;
	q->vblk.region =
		exp->umem == PST_UMEM_REGISTERED && q->region_registered ? &exp->region : NULL;
	q->settled = true;
	return true;
}

static void say_broken(struct pst_equeue *q)
{
	if (q->broken_said)
		return;
	q->broken_said = true;
	pst_log(PST_LOG_ERROR, q->exp->params.name,
		"virtqueue %u is stopped: its driver broke the rules: %s; reset the driver to go "
		"on",
		q->index, q->vblk.virtq.reason ? q->vblk.virtq.reason : "unknown");
}

static unsigned int equeue_poll(struct pst_source *src)
{
	struct pst_equeue *q = equeue_of(src);
	int n;

	if (pst_unlikely(q->state != PST_QUEUE_RUNNING)) {
		if (q->state == PST_QUEUE_DRAINING)
			check_drained(q);
		return 0;
	}
	if (pst_unlikely(!q->has_kick))
		arm_kick(q);
	if (pst_unlikely(!q->settled) && !settle(q))
		return 0;
	n = pst_vblk_queue_run(&q->vblk, BUDGET);
	if (pst_unlikely(n < 0)) {
		say_broken(q);
		return 0;
	}
	if (n)
		pst_virtq_notify_off(&q->vblk.virtq);
	return (unsigned int)n;
}

static void equeue_flush(struct pst_source *src)
{
	struct pst_equeue *q = equeue_of(src);

	if (q->vblk.virtq.attached)
		publish(q);
}

static bool equeue_sleep(struct pst_source *src)
{
	struct pst_equeue *q = equeue_of(src);

	if (q->state == PST_QUEUE_DRAINING)
		return q->vblk.virtq.inflight == 0 && !q->has_kick && !q->cancelling;
	if (q->state != PST_QUEUE_RUNNING || q->vblk.virtq.broken)
		return false;
	if (!q->settled) {
		/* Not yet possible though something is there: wake_soon brings us back. */
		(void)pst_virtq_notify_on(&q->vblk.virtq);
		if (pst_virtq_has_avail(&q->vblk.virtq))
			q->worker->wake_soon = true;
		return false;
	}
	return pst_virtq_notify_on(&q->vblk.virtq);
}

void pst_equeue_init(struct pst_equeue *q, struct pst_export *exp, uint32_t index,
		     struct pst_worker *worker)
{
	memset(q, 0, sizeof(*q));
	pst_list_init(&q->source.link);
	q->source.poll = equeue_poll;
	q->source.flush = equeue_flush;
	q->source.sleep = equeue_sleep;
	q->source.busy_poll_us = exp->params.busy_poll_us;
	q->exp = exp;
	q->index = index;
	q->worker = worker;
	q->kick_fd = -1;
	q->kick_op.done = kicked;
	q->cancel_op.done = cancelled;
	pst_virtq_init(&q->vblk.virtq);
}

/* Two queues on one worker share the registration of the first. */
static int register_region(struct pst_ring *ring, const struct pst_region *region,
			   struct pst_error *err)
{
	int ret = pst_ring_region_index(ring, region);

	return ret >= 0 ? ret : pst_ring_register_region(ring, region, err);
}

static void unregister_region(struct pst_ring *ring, const struct pst_region *region)
{
	if (ring && pst_ring_region_index(ring, region) >= 0)
		(void)pst_ring_unregister_region(ring, region);
}

static int open_rings(struct pst_equeue *q, struct pst_blk_queue_params *params,
		      struct pst_error *err)
{
	struct pst_export *exp = q->exp;
	int ret;

	params->ring = q->worker->ring;
	if (exp->params.nvme_poll) {
		ret = pst_worker_make_poll_ring(q->worker, err);
		if (ret)
			return ret;
		params->poll_ring = q->worker->poll_ring;
	}
	if (!exp->fixed)
		return 0;
	ret = register_region(params->ring, &exp->region, err);
	if (ret >= 0 && params->poll_ring)
		ret = register_region(params->poll_ring, &exp->region, err);
	q->region_registered = ret >= 0;
	q->region_refused = ret < 0;
	return ret < 0 ? ret : 0;
}

int pst_equeue_open(struct pst_equeue *q, struct pst_error *err)
{
	struct pst_export *exp = q->exp;
	struct pst_blk_queue_params params = {
		.depth = exp->params.queue_size,
		.fixed = exp->params.fixed != PST_OFF,
	};
	int ret = open_rings(q, &params, err);

	if (ret == 0)
		ret = pst_blk_queue_open(exp->blk, &params, &q->blkq, err);
	if (ret)
		pst_equeue_close(q);
	return ret;
}

void pst_equeue_close(struct pst_equeue *q)
{
	pst_blk_queue_close(q->blkq);
	q->blkq = NULL;
	unregister_region(q->worker->ring, &q->exp->region);
	unregister_region(q->worker->poll_ring, &q->exp->region);
	q->region_registered = false;
}

void pst_equeue_start(struct pst_equeue *q)
{
	int ret = pst_vblk_queue_init(&q->vblk, &q->exp->vblk, q->config.num, q->blkq);

	if (ret == 0)
		ret = pst_virtq_attach(&q->vblk.virtq, &q->config);
	if (ret) {
		pst_log(PST_LOG_ERROR, q->exp->params.name, "virtqueue %u cannot be used: %s",
			q->index, pst_errname(ret));
		pst_vblk_queue_finish(&q->vblk);
		return;
	}
	q->settled = false;
	q->broken_said = false;
	q->irq_pending = false;
	q->state = PST_QUEUE_RUNNING;
	pst_list_append(&q->worker->sources, &q->source.link);
}

void pst_equeue_drain(struct pst_equeue *q, struct pst_drain *drain)
{
	bool nothing = q->state == PST_QUEUE_IDLE ||
		       (q->state == PST_QUEUE_PAUSED && drain->then == PST_QUEUE_PAUSED);

	if (nothing) {
		drain->done(drain);
		return;
	}
	q->drain = drain;
	q->state = PST_QUEUE_DRAINING;
}

void pst_equeue_resume(struct pst_equeue *q)
{
	if (q->state != PST_QUEUE_PAUSED)
		return;
	q->state = PST_QUEUE_RUNNING;
	/* Whatever came meanwhile is looked at with the next turn. */
	q->settled = false;
}
