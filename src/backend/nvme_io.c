/* SPDX-License-Identifier: MIT */
/*
 * Requests to commands. Data of one segment is one command, fixed when the segment lies in a
 * registered region. Data of several segments is copied together in a slot of the queue's own,
 * which is fixed too: on the bounce region consecutive pages are not contiguous. A vectored unfixed
 * command measures the same (docs/decisions.md), but pins pages each time and cannot carry pieces
 * that are no multiple of a block.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include "backend.h"
#include "base.h"
#include "nvme_backend.h"

static struct pst_req *req_of(struct pst_nvme_op *op)
{
	struct pst_nvme_io *io = pst_container_of(op, struct pst_nvme_io, op);

	return (struct pst_req *)(void *)((char *)io - offsetof(struct pst_req, scratch));
}

/* Without poll queues passthrough would complete by interrupt while we spin, and nobody would know.
 */
static int check_poll_queues(const struct pst_nvme_ns *ns, struct pst_error *err)
{
	char path[96];
	uint64_t on = 0;

	(void)snprintf(path, sizeof(path), "/sys/class/block/%s/queue/io_poll", ns->block);
	if (ns->block[0] && pst_read_u64(path, &on) == 0 && on == 0)
		return pst_error_set(
			err, -EOPNOTSUPP,
			"/dev/%s cannot be polled: its controller has no poll queues; load "
			"the driver with some (nvme.poll_queues=1) and reset the controller",
			ns->node);
	return 0;
}

int pst_nvme_io_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
		     struct pst_error *err)
{
	struct pst_nvme_dev *dev = queue->blk->priv;
	struct pst_nvme_io_queue *q = calloc(1, sizeof(*q));
	int ret;

	if (!q)
		return pst_error_set(err, -ENOMEM, "out of memory for a queue on /dev/%s",
				     dev->ns->node);
	q->dev = dev;
	q->blkq = queue;
	q->cmd_ring = params->poll_ring ? params->poll_ring : params->ring;
	pst_nvme_retry_init(q);
	ret = params->poll_ring ? check_poll_queues(dev->ns, err) : 0;
	if (ret == 0)
		ret = pst_nvme_queue_create(q->cmd_ring, dev->ns, &q->nvme, err);
	if (ret) {
		free(q);
		return ret;
	}
	ret = pst_gather_init(&q->gather, q->cmd_ring, dev->ns->max_transfer, PST_GATHER_MEMORY,
			      params->fixed, dev->ns->numa_node, err);
	if (ret) {
		pst_nvme_queue_destroy(q->nvme);
		free(q);
		return ret;
	}
	queue->priv = q;
	return 0;
}

void pst_nvme_io_close(struct pst_blk_queue *queue)
{
	struct pst_nvme_io_queue *q = queue->priv;

	pst_gather_finish(&q->gather);
	pst_nvme_queue_destroy(q->nvme);
	free(q);
}

static void log_failure(struct pst_nvme_io_queue *q, const struct pst_req *req,
			const struct pst_nvme_result *result)
{
	if (!pst_backend_log_due(&q->logged_ns))
		return;
	if (result->error)
		pst_log(PST_LOG_ERROR, q->dev->ns->node, "%s of %llu bytes at %llu failed: %s",
			pst_backend_op_name(req->op), (unsigned long long)req->length,
			(unsigned long long)req->offset, pst_errname(result->error));
	else
		pst_log(PST_LOG_ERROR, q->dev->ns->node,
			"%s of %llu bytes at %llu failed: the device says %s (0x%03x)%s",
			pst_backend_op_name(req->op), (unsigned long long)req->length,
			(unsigned long long)req->offset, pst_nvme_status_text(result->status),
			result->status, result->dnr ? ", do not retry" : "");
}

static void retry(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	struct pst_req *req = pst_container_of(op, struct pst_req, op_link);

	(void)res;
	(void)flags;
	(void)extra;
	pst_nvme_io_start(req->queue->priv, req);
}

/* The ring is full: it goes on after the next reap. */
static void try_again(struct pst_nvme_io_queue *q, struct pst_req *req)
{
	req->op_link.done = retry;
	pst_ring_defer(q->blkq->ring, &req->op_link, 0);
}

static void release_slot(struct pst_nvme_io_queue *q, struct pst_nvme_io *io)
{
	struct pst_req *next;

	pst_gather_put(&q->gather, io->slot);
	io->slot = NULL;
	while ((next = pst_gather_next(&q->gather)))
		pst_nvme_io_start(q, next);
}

void pst_nvme_io_end(struct pst_nvme_io_queue *q, struct pst_req *req, int status)
{
	struct pst_nvme_io *io = pst_nvme_io_of(req);

	if (io->slot) {
		if (status == 0 && req->op == PST_REQ_READ)
			pst_gather_out(io->slot, req);
		release_slot(q, io);
	}
	pst_req_complete(req, status);
}

static void command_done(struct pst_nvme_op *op, const struct pst_nvme_result *result)
{
	struct pst_req *req = req_of(op);
	struct pst_nvme_io_queue *q = req->queue->priv;

	if (pst_likely(pst_nvme_ok(result))) {
		pst_nvme_io_end(q, req, 0);
		return;
	}
	if (pst_nvme_retry(q, req, result))
		return;
	log_failure(q, req, result);
	pst_nvme_io_end(q, req, pst_nvme_result_errno(result));
}

static int start_data(struct pst_nvme_io_queue *q, struct pst_req *req)
{
	const struct pst_nvme_ns *ns = q->dev->ns;
	struct pst_nvme_io *io = pst_nvme_io_of(req);
	struct nvme_uring_cmd cmd;
	int index;
	int ret;

	pst_nvme_cmd_rw(&cmd, req->op == PST_REQ_READ ? PST_NVME_READ : PST_NVME_WRITE, ns->nsid,
			q->dev->first_lba + (req->offset >> ns->lba_shift),
			(uint32_t)(req->length >> ns->lba_shift));
	cmd.data_len = (uint32_t)req->length;
	if (pst_likely(req->nsegs == 1)) {
		cmd.addr = (uintptr_t)req->segs[0].iov_base;
		index = pst_gather_index(&q->gather, req->region);
	} else {
		if (!io->slot) {
			io->slot = pst_gather_get(&q->gather, req);
			if (!io->slot)
				return 0;
			if (req->op == PST_REQ_WRITE)
				pst_gather_in(io->slot, req);
		}
		cmd.addr = (uintptr_t)io->slot;
		index = q->gather.slots.index;
	}

	ret = pst_nvme_submit(q->nvme, &io->op, &cmd, index);
	if (pst_likely(ret == 0)) {
		pst_backend_count(index >= 0 ? &q->blkq->stats.fixed : &q->blkq->stats.unfixed);
		if (io->slot)
			pst_backend_count(&q->blkq->stats.gathered);
	}
	return ret;
}

static int start_no_data(struct pst_nvme_io_queue *q, struct pst_req *req)
{
	const struct pst_nvme_ns *ns = q->dev->ns;
	uint64_t slba = q->dev->first_lba + (req->offset >> ns->lba_shift);
	uint32_t blocks = (uint32_t)(req->length >> ns->lba_shift);
	struct pst_nvme_io *io = pst_nvme_io_of(req);
	struct nvme_uring_cmd cmd;

	switch (req->op) {
	case PST_REQ_FLUSH:
		pst_nvme_cmd_flush(&cmd, ns->nsid);
		break;
	case PST_REQ_DISCARD:
		io->range.attributes = 0;
		io->range.blocks = htole32(blocks);
		io->range.slba = htole64(slba);
		pst_nvme_cmd_dsm(&cmd, ns->nsid, &io->range, 1, 1U << 2);
		break;
	default:
		pst_nvme_cmd_rw(&cmd, PST_NVME_WRITE_ZEROES, ns->nsid, slba, blocks);
		if (req->flags & PST_REQ_UNMAP)
			cmd.cdw12 |= 1U << 25; /* DEAC: the blocks may be deallocated */
		break;
	}
	return pst_nvme_submit(q->nvme, &io->op, &cmd, -1);
}

/* For an outcome that is known within submit. */
static void end_later(struct pst_nvme_io_queue *q, struct pst_req *req, int status)
{
	if (pst_nvme_io_of(req)->slot)
		release_slot(q, pst_nvme_io_of(req));
	pst_req_defer(req, status);
}

void pst_nvme_io_start(struct pst_nvme_io_queue *q, struct pst_req *req)
{
	int ret;

	if (pst_unlikely(q->dev->changed)) {
		end_later(q, req, -EIO);
		return;
	}

	if (req->op <= PST_REQ_WRITE)
		ret = start_data(q, req);
	else
		ret = start_no_data(q, req);
	if (pst_likely(ret == 0))
		return;
	if (ret == -EAGAIN) {
		try_again(q, req);
		return;
	}
	end_later(q, req, ret);
}

void pst_nvme_io_submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	struct pst_nvme_io *io = pst_nvme_io_of(req);

	io->op.done = command_done;
	io->slot = NULL;
	io->deadline_ns = 0;
	pst_nvme_io_start(queue->priv, req);
}
