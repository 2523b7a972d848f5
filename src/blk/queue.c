/* SPDX-License-Identifier: MIT */
/* The way of a request: checked here, so that no backend needs to, and counted when it is done. */
#include <errno.h>

#include "base.h"
#include "blk_int.h"

/* 0, or what the request is answered with. */
static int check(const struct pst_blk_info *info, const struct pst_req *req)
{
	if (req->op == PST_REQ_FLUSH)
		return req->length == 0 && req->nsegs == 0 ? 0 : -EINVAL;
	if (req->op > PST_REQ_WRITE_ZEROES)
		return -EOPNOTSUPP;
	if (req->op != PST_REQ_READ && info->read_only)
		return -EROFS;
	if (pst_blk_limit(info, req->op) == 0)
		return -EOPNOTSUPP;
	if (req->length == 0 || !pst_is_aligned(req->offset | req->length, info->block_size))
		return -EINVAL;
	if (req->offset > info->size || req->length > info->size - req->offset)
		return -ENOSPC;
	if (req->op == PST_REQ_READ || req->op == PST_REQ_WRITE)
		return req->nsegs > 0 && req->nsegs <= PST_REQ_SEGS_MAX ? 0 : -EINVAL;
	return 0;
}

void pst_blk_submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	const struct pst_blk_info *info = &queue->blk->info;
	int ret = check(info, req);

	req->queue = queue;
	if (pst_unlikely(ret))
		pst_req_defer(req, ret);
	else if (pst_likely(req->length <= pst_blk_limit(info, req->op)))
		queue->blk->ops->submit(queue, req);
	else
		pst_blk_split_submit(queue, req);
}

/* Counters have one writer, but a report may read them from another thread. */
static inline void count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static void count_done(struct pst_blk_stats *stats, const struct pst_req *req, int status)
{
	bool ok = status == 0;

	switch (req->op) {
	case PST_REQ_READ:
		count(&stats->reads, 1);
		count(&stats->bytes_read, ok ? req->length : 0);
		break;
	case PST_REQ_WRITE:
		count(&stats->writes, 1);
		count(&stats->bytes_written, ok ? req->length : 0);
		break;
	case PST_REQ_FLUSH:
		count(&stats->flushes, 1);
		break;
	default:
		count(&stats->discards, 1);
		break;
	}
	if (pst_unlikely(!ok))
		count(status == -EOPNOTSUPP || status == -EROFS ? &stats->refused : &stats->errors,
		      1);
}

void pst_req_complete(struct pst_req *req, int status)
{
	if (pst_likely(!(req->flags & PST_REQ_PIECE)))
		count_done(&req->queue->stats, req, status);
	req->done(req, status);
}

static void complete_deferred(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	(void)flags;
	(void)extra;
	pst_req_complete(pst_container_of(op, struct pst_req, op_link), res);
}

void pst_req_defer(struct pst_req *req, int status)
{
	req->op_link.done = complete_deferred;
	pst_ring_defer(req->queue->ring, &req->op_link, status);
}
