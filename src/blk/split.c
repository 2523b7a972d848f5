/* SPDX-License-Identifier: MIT */
/*
 * Requests longer than a backend takes go to it in pieces. The pieces come from a fixed stock; a
 * request that finds it empty waits in line and goes on as pieces come back.
 */
#include <errno.h>

#include "base.h"
#include "blk_int.h"

#define PIECES 32

struct piece {
	struct pst_req req; /* first: completion casts back */
	struct pst_req *parent;
	struct piece *next_free;
	struct iovec segs[PST_REQ_SEGS_MAX];
};

/* Where a request being split stands; lies in its scratch, since no backend has it. */
struct progress {
	uint64_t cut;	      /* bytes already in pieces */
	uint32_t outstanding; /* pieces in flight */
	int32_t status;	      /* the first error */
	uint32_t seg;	      /* next segment */
	size_t seg_offset;    /* and where in it */
};
_Static_assert(sizeof(struct progress) <= PST_REQ_SCRATCH, "progress must fit the scratch");

struct pst_blk_split {
	struct piece *pieces;
	struct piece *free;
	struct pst_req *waiting; /* not all in pieces yet, oldest first */
	struct pst_req **waiting_tail;
};

static struct progress *progress_of(struct pst_req *req)
{
	return (struct progress *)(void *)req->scratch;
}

int pst_blk_split_create(struct pst_blk_queue *queue)
{
	struct pst_blk_split *split = calloc(1, sizeof(*split));
	size_t i;

	if (!split)
		return -ENOMEM;
	split->pieces = calloc(PIECES, sizeof(*split->pieces));
	if (!split->pieces) {
		free(split);
		return -ENOMEM;
	}
	for (i = 0; i < PIECES; i++) {
		split->pieces[i].next_free = split->free;
		split->free = &split->pieces[i];
	}
	split->waiting_tail = &split->waiting;
	queue->split = split;
	return 0;
}

void pst_blk_split_destroy(struct pst_blk_queue *queue)
{
	if (!queue->split)
		return;
	free(queue->split->pieces);
	free(queue->split);
	queue->split = NULL;
}

static void pump(struct pst_blk_queue *queue);

static void piece_done(struct pst_req *req, int status)
{
	struct piece *piece = (struct piece *)(void *)req;
	struct pst_req *parent = piece->parent;
	struct progress *p = progress_of(parent);
	struct pst_blk_queue *queue = req->queue;

	if (status && !p->status)
		p->status = status;
	p->outstanding--;
	piece->next_free = queue->split->free;
	queue->split->free = piece;

	if (p->outstanding == 0 && p->cut == parent->length)
		pst_req_complete(parent, p->status);
	pump(queue);
}

/* Copies the next `length` bytes' worth of the parent's segments. */
static uint16_t cut_segments(struct piece *piece, const struct pst_req *parent, struct progress *p,
			     uint64_t length)
{
	uint16_t n = 0;

	while (length > 0) {
		const struct iovec *seg = &parent->segs[p->seg];
		size_t part = pst_min_u64(seg->iov_len - p->seg_offset, length);

		piece->segs[n].iov_base = (char *)seg->iov_base + p->seg_offset;
		piece->segs[n++].iov_len = part;
		length -= part;
		p->seg_offset += part;
		if (p->seg_offset == seg->iov_len) {
			p->seg++;
			p->seg_offset = 0;
		}
	}
	return n;
}

static void submit_piece(struct pst_blk_queue *queue, struct pst_req *parent)
{
	struct progress *p = progress_of(parent);
	struct piece *piece = queue->split->free;
	uint64_t limit = pst_blk_limit(&queue->blk->info, parent->op);
	uint64_t length = pst_min_u64(parent->length - p->cut, limit);

	queue->split->free = piece->next_free;
	piece->parent = parent;
	piece->req.done = piece_done;
	piece->req.op = parent->op;
	piece->req.flags = (uint8_t)(parent->flags | PST_REQ_PIECE);
	piece->req.offset = parent->offset + p->cut;
	piece->req.length = length;
	piece->req.segs = piece->segs;
	piece->req.region = parent->region;
	piece->req.queue = queue;
	piece->req.nsegs = parent->nsegs ? cut_segments(piece, parent, p, length) : 0;
	p->cut += length;
	p->outstanding++;
	queue->blk->ops->submit(queue, &piece->req);
}

static void pump(struct pst_blk_queue *queue)
{
	struct pst_blk_split *split = queue->split;

	while (split->waiting && split->free) {
		struct pst_req *parent = split->waiting;
		struct progress *p = progress_of(parent);

		/* After an error the rest is not sent: the last piece in flight ends the request.
		 */
		if (p->status) {
			p->cut = parent->length;
			if (p->outstanding == 0)
				pst_req_defer(parent, p->status);
		} else {
			submit_piece(queue, parent);
		}
		if (p->cut == parent->length) {
			split->waiting = parent->next;
			if (!split->waiting)
				split->waiting_tail = &split->waiting;
		}
	}
}

void pst_blk_split_submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	struct progress *p = progress_of(req);

	*p = (struct progress){0};
	req->next = NULL;
	*queue->split->waiting_tail = req;
	queue->split->waiting_tail = &req->next;
	pump(queue);
}
