/* SPDX-License-Identifier: MIT */
/*
 * Requests to operations of io_uring on one descriptor. Data goes from where it is: one segment of
 * a registered region from the fixed buffer, several as a vector. Only what O_DIRECT does not take
 * as it is cut (the host's pieces may have any alignment) is copied together in a slot.
 *
 * Discarding and zeroing have several ways, best first; one that turns out not to be there is not
 * tried again on this queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <string.h>

#include "backend.h"
#include "base.h"
#include "compat.h"
#include "file_backend.h"
#include "gather.h"
#include "uring.h"

/* How often what the kernel calls passing (EINTR, EAGAIN) is tried again. */
#define RETRIES 100

enum way {
	WAY_DATA,
	WAY_SYNC,
	/*
	 * For block devices: discards as BLKDISCARD does, without blocking (Linux 6.12). What
	 * fallocate offers there in its place zeroes as well, which many devices cannot do by
	 * deallocating.
	 */
	WAY_DISCARD,
	/* Deallocates and reads as zeroes: a hole in a file, unmapping zeroes on a device. */
	WAY_PUNCH,
	/* Reads as zeroes and stays allocated; a device without such a command writes them. */
	WAY_ZERO_RANGE,
	/* For file systems with neither: zeroes from a slot. */
	WAY_WRITE_ZEROES,
	NO_WAY,
};

struct file_queue {
	struct pst_file_dev *dev;
	struct pst_blk_queue *blkq;
	struct pst_gather gather;
	int file;	    /* slot of the registered descriptor, or -1 */
	uint32_t lacks;	    /* bits by enum way: answered as not supported */
	uint64_t logged_ns; /* when a failure was last logged */
};

/* In the request's scratch. */
struct file_io {
	struct pst_op op;
	void *slot;
	uint64_t done;	/* bytes behind us */
	uint32_t asked; /* of the operation in flight */
	uint8_t way;
	uint8_t retries;
};
_Static_assert(sizeof(struct file_io) <= PST_REQ_SCRATCH, "file_io must fit the scratch");

static struct file_io *io_of(struct pst_req *req)
{
	return (struct file_io *)(void *)req->scratch;
}

static struct pst_req *req_of(struct pst_op *op)
{
	struct file_io *io = pst_container_of(op, struct file_io, op);

	return (struct pst_req *)(void *)((char *)io - offsetof(struct pst_req, scratch));
}

int pst_file_io_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
		     struct pst_error *err)
{
	struct pst_file_dev *dev = queue->blk->priv;
	struct file_queue *q = calloc(1, sizeof(*q));
	int ret;

	if (!q)
		return pst_error_set(err, -ENOMEM, "out of memory for a queue on %s", dev->path);
	q->dev = dev;
	q->blkq = queue;
	q->lacks = dev->block ? 0 : 1U << WAY_DISCARD;
	/* Through the page cache nothing is gathered; a few slots are left for zeroes. */
	ret = pst_gather_init(&q->gather, params->ring, PST_FILE_TRANSFER,
			      dev->direct ? PST_GATHER_MEMORY : 0, params->fixed, -1, err);
	if (ret) {
		free(q);
		return ret;
	}
	q->file = pst_ring_register_file(params->ring, dev->fd, NULL);
	queue->priv = q;
	return 0;
}

void pst_file_io_close(struct pst_blk_queue *queue)
{
	struct file_queue *q = queue->priv;

	if (q->file >= 0)
		(void)pst_ring_unregister_file(queue->ring, q->file);
	pst_gather_finish(&q->gather);
	free(q);
}

static void log_failure(struct file_queue *q, const struct pst_req *req, int status)
{
	uint64_t shortest = atomic_load_explicit(&q->dev->shortest, memory_order_relaxed);

	/* "Not supported" is an answer, not a failure. */
	if (status == -EOPNOTSUPP || !pst_backend_log_due(&q->logged_ns))
		return;
	if (shortest < q->dev->end)
		pst_log(PST_LOG_ERROR, q->dev->path,
			"%s of %llu bytes at %llu failed: the file was cut to %llu bytes while it "
			"was served; what was behind is lost: end the export and check the data",
			pst_backend_op_name(req->op), (unsigned long long)req->length,
			(unsigned long long)req->offset, (unsigned long long)shortest);
	else
		pst_log(PST_LOG_ERROR, q->dev->path, "%s of %llu bytes at %llu failed: %s",
			pst_backend_op_name(req->op), (unsigned long long)req->length,
			(unsigned long long)req->offset, pst_errname(status));
}

static void start(struct file_queue *q, struct pst_req *req);

static void retry(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	struct pst_req *req = pst_container_of(op, struct pst_req, op_link);

	(void)res;
	(void)flags;
	(void)extra;
	start(req->queue->priv, req);
}

/* It goes on after the next reap. */
static void try_again(struct file_queue *q, struct pst_req *req)
{
	req->op_link.done = retry;
	pst_ring_defer(q->blkq->ring, &req->op_link, 0);
}

static void release_slot(struct file_queue *q, struct file_io *io)
{
	struct pst_req *next;

	pst_gather_put(&q->gather, io->slot);
	io->slot = NULL;
	while ((next = pst_gather_next(&q->gather)))
		start(q, next);
}

static void end(struct file_queue *q, struct pst_req *req, int status)
{
	struct file_io *io = io_of(req);

	if (io->slot) {
		if (status == 0 && req->op == PST_REQ_READ)
			pst_gather_out(io->slot, req);
		release_slot(q, io);
	}
	if (pst_unlikely(status))
		log_failure(q, req, status);
	pst_req_complete(req, status);
}

/* For an outcome that is known within submit. */
static void end_later(struct file_queue *q, struct pst_req *req, int status)
{
	if (io_of(req)->slot)
		release_slot(q, io_of(req));
	log_failure(q, req, status);
	pst_req_defer(req, status);
}

/* An entry for the request's descriptor and position, or NULL when the ring takes no more. */
static struct io_uring_sqe *prepare(struct file_queue *q, struct pst_req *req, uint8_t opcode)
{
	struct io_uring_sqe *sqe = pst_ring_get(q->blkq->ring);

	if (pst_unlikely(!sqe))
		return NULL;
	sqe->opcode = opcode;
	if (pst_likely(q->file >= 0)) {
		sqe->fd = q->file;
		sqe->flags = IOSQE_FIXED_FILE;
	} else {
		sqe->fd = q->dev->fd;
	}
	sqe->off = q->dev->first + req->offset + io_of(req)->done;
	pst_ring_bind(sqe, &io_of(req)->op);
	return sqe;
}

/* Sends one piece of memory; index of its fixed buffer, or negative. */
static int send_piece(struct file_queue *q, struct pst_req *req, void *addr, uint64_t length,
		      int index)
{
	bool read = req->op == PST_REQ_READ;
	struct io_uring_sqe *sqe;

	if (index >= 0)
		sqe = prepare(q, req, read ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED);
	else
		sqe = prepare(q, req, read ? IORING_OP_READ : IORING_OP_WRITE);
	if (pst_unlikely(!sqe))
		return -EAGAIN;
	sqe->addr = (uintptr_t)addr;
	sqe->len = (uint32_t)length;
	if (index >= 0)
		sqe->buf_index = (uint16_t)index;
	io_of(req)->asked = (uint32_t)length;
	return 0;
}

static int send_vector(struct file_queue *q, struct pst_req *req)
{
	struct io_uring_sqe *sqe =
		prepare(q, req, req->op == PST_REQ_READ ? IORING_OP_READV : IORING_OP_WRITEV);

	if (pst_unlikely(!sqe))
		return -EAGAIN;
	sqe->addr = (uintptr_t)req->segs;
	sqe->len = req->nsegs;
	io_of(req)->asked = (uint32_t)req->length;
	return 0;
}

/* The rest of a vector the kernel did not do as a whole: a segment at a time, it is rare. */
static int send_rest(struct file_queue *q, struct pst_req *req)
{
	const struct iovec *seg = req->segs;
	uint64_t skip = io_of(req)->done;

	for (; skip >= seg->iov_len; seg++)
		skip -= seg->iov_len;
	return send_piece(q, req, (char *)seg->iov_base + skip, seg->iov_len - skip, -1);
}

/* Does O_DIRECT take the segments as they are? */
static bool fits(const struct pst_file_dev *dev, const struct pst_req *req)
{
	uintptr_t addresses = 0;
	size_t lengths = 0;
	uint16_t i;

	for (i = 0; i < req->nsegs; i++) {
		addresses |= (uintptr_t)req->segs[i].iov_base;
		lengths |= req->segs[i].iov_len;
	}
	return pst_is_aligned(addresses, dev->mem_align) && pst_is_aligned(lengths, dev->io_align);
}

static int start_data(struct file_queue *q, struct pst_req *req)
{
	struct file_io *io = io_of(req);

	io->way = WAY_DATA;
	if (!io->slot && io->done == 0 && pst_unlikely(!fits(q->dev, req))) {
		io->slot = pst_gather_get(&q->gather, req);
		if (!io->slot)
			return 0;
		if (req->op == PST_REQ_WRITE)
			pst_gather_in(io->slot, req);
		pst_backend_count(&q->blkq->stats.gathered);
	}
	if (io->slot)
		return send_piece(q, req, (char *)io->slot + io->done, req->length - io->done,
				  q->gather.slots.index);
	if (pst_likely(req->nsegs == 1))
		return send_piece(q, req, (char *)req->segs[0].iov_base + io->done,
				  req->length - io->done,
				  pst_gather_index(&q->gather, req->region));
	return io->done ? send_rest(q, req) : send_vector(q, req);
}

static int start_sync(struct file_queue *q, struct pst_req *req)
{
	struct io_uring_sqe *sqe = prepare(q, req, IORING_OP_FSYNC);

	io_of(req)->way = WAY_SYNC;
	if (!sqe)
		return -EAGAIN;
	sqe->off = 0; /* with a length of 0: the whole file */
	sqe->fsync_flags = IORING_FSYNC_DATASYNC;
	return 0;
}

static int send_fallocate(struct file_queue *q, struct pst_req *req, int mode)
{
	struct io_uring_sqe *sqe = prepare(q, req, IORING_OP_FALLOCATE);

	if (!sqe)
		return -EAGAIN;
	sqe->addr = req->length;
	sqe->len = (uint32_t)(mode | FALLOC_FL_KEEP_SIZE);
	return 0;
}

static int send_discard(struct file_queue *q, struct pst_req *req)
{
	struct io_uring_sqe *sqe = prepare(q, req, IORING_OP_URING_CMD);

	if (!sqe)
		return -EAGAIN;
	sqe->addr = sqe->off;
	sqe->addr3 = req->length;
	sqe->off = 0;
	sqe->cmd_op = PST_BLOCK_URING_CMD_DISCARD;
	return 0;
}

static int send_zeroes(struct file_queue *q, struct pst_req *req)
{
	struct file_io *io = io_of(req);
	uint64_t piece = pst_min_u64(req->length - io->done, q->gather.slots.size);

	if (!io->slot) {
		io->slot = pst_gather_get(&q->gather, req);
		if (!io->slot)
			return 0;
		memset(io->slot, 0, piece);
	}
	return send_piece(q, req, io->slot, piece, q->gather.slots.index);
}

/* The best way for a DISCARD or WRITE_ZEROES that has not turned out not to be there. */
static enum way best_way(const struct file_queue *q, const struct pst_req *req)
{
	bool discard = req->op == PST_REQ_DISCARD;
	enum way way = discard			      ? WAY_DISCARD
		       : (req->flags & PST_REQ_UNMAP) ? WAY_PUNCH
						      : WAY_ZERO_RANGE;
	enum way last = discard ? WAY_PUNCH : WAY_WRITE_ZEROES;

	while (way <= last && (q->lacks & (1U << way)))
		way++;
	return way <= last ? way : NO_WAY;
}

static int start_range(struct file_queue *q, struct pst_req *req)
{
	struct file_io *io = io_of(req);

	io->way = (uint8_t)best_way(q, req);
	switch (io->way) {
	case WAY_DISCARD:
		return send_discard(q, req);
	case WAY_PUNCH:
		return send_fallocate(q, req, FALLOC_FL_PUNCH_HOLE);
	case WAY_ZERO_RANGE:
		return send_fallocate(q, req, FALLOC_FL_ZERO_RANGE);
	case WAY_WRITE_ZEROES:
		return send_zeroes(q, req);
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * A file that was cut has lost data. Reading behind its end is an error already; writing there
 * would make it long again with a hole in the place of what is lost, so nothing is written to it
 * any more, and what was once seen cut off is not read even if the file grows again.
 */
static bool is_lost(struct file_queue *q, const struct pst_req *req)
{
	if (req->op == PST_REQ_FLUSH)
		return false;
	if (req->op == PST_REQ_READ)
		return !q->dev->block &&
		       q->dev->first + req->offset + req->length >
			       atomic_load_explicit(&q->dev->shortest, memory_order_relaxed);
	return pst_file_was_cut(q->dev);
}

static void start(struct file_queue *q, struct pst_req *req)
{
	int ret;

	if (pst_unlikely(is_lost(q, req)))
		ret = -EIO;
	else if (req->op <= PST_REQ_WRITE)
		ret = start_data(q, req);
	else if (req->op == PST_REQ_FLUSH)
		ret = start_sync(q, req);
	else
		ret = start_range(q, req);
	if (pst_likely(ret == 0))
		return;
	if (ret == -EAGAIN)
		try_again(q, req);
	else
		end_later(q, req, ret);
}

static void transferred(struct file_queue *q, struct pst_req *req, uint32_t bytes)
{
	struct file_io *io = io_of(req);

	/* What O_DIRECT did not end on a block it has to do again from there. */
	if (bytes < io->asked)
		bytes = (uint32_t)pst_round_down(bytes, q->dev->io_align);
	if (pst_unlikely(bytes == 0)) {
		/* The end of the file, where we know of none. */
		(void)pst_file_was_cut(q->dev);
		end(q, req, -EIO);
		return;
	}
	io->done += bytes;
	if (pst_likely(io->done >= req->length))
		end(q, req, 0);
	else
		start(q, req);
}

static void op_done(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	struct pst_req *req = req_of(op);
	struct file_queue *q = req->queue->priv;
	struct file_io *io = io_of(req);
	bool is_data = io->way == WAY_DATA || io->way == WAY_WRITE_ZEROES;

	(void)flags;
	(void)extra;
	if (pst_likely(res >= 0)) {
		if (is_data)
			transferred(q, req, (uint32_t)res);
		else
			end(q, req, 0);
	} else if ((res == -EINTR || res == -EAGAIN) && io->retries < RETRIES) {
		io->retries++;
		try_again(q, req);
	} else if (res == -EOPNOTSUPP && !is_data && io->way != WAY_SYNC) {
		q->lacks |= 1U << io->way;
		start(q, req);
	} else {
		end(q, req, res);
	}
}

void pst_file_io_submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	struct file_io *io = io_of(req);

	io->op.done = op_done;
	io->slot = NULL;
	io->done = 0;
	io->retries = 0;
	start(queue->priv, req);
}
