/* SPDX-License-Identifier: MIT */
/**
 * DOC: penstock/blk.h - the block contract between front ends and backends
 *
 * A &struct pst_blk is a block device. Front ends open a queue on it for each of their threads and
 * submit requests; a backend implements &struct pst_blk_ops. Between the two stands
 * pst_blk_submit(), which checks every request and splits what is too long, so that a backend sees
 * only requests that are aligned, inside the device, permitted and of a size it takes.
 *
 * A request completes exactly once, and never from within pst_blk_submit().
 */
#ifndef PENSTOCK_BLK_H
#define PENSTOCK_BLK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <penstock/error.h>
#include <penstock/mem.h>
#include <penstock/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

/** enum pst_req_op - what a request asks for */
enum pst_req_op {
	PST_REQ_READ,
	PST_REQ_WRITE,
	PST_REQ_FLUSH,
	PST_REQ_DISCARD,
	PST_REQ_WRITE_ZEROES,
};

/** PST_REQ_UNMAP - flag of PST_REQ_WRITE_ZEROES: the blocks may be deallocated */
#define PST_REQ_UNMAP (1U << 0)

/** PST_REQ_SCRATCH - bytes of a request that belong to the backend while it has it */
#define PST_REQ_SCRATCH 128

/** PST_REQ_SEGS_MAX - most segments of a request */
#define PST_REQ_SEGS_MAX 1024

struct pst_blk;
struct pst_blk_queue;
struct pst_req;

/**
 * typedef pst_req_done - completion callback
 * @req: the request; the callee may reuse or free it
 * @status: 0; -EOPNOTSUPP not supported; -EROFS read-only; any other negative errno an I/O error
 */
typedef void (*pst_req_done)(struct pst_req *req, int status);

/**
 * struct pst_req - one request
 * @done: called once, on the queue's thread
 * @op: enum pst_req_op
 * @flags: PST_REQ_*
 * @nsegs: entries of @segs, 1 to PST_REQ_SEGS_MAX; 0 for FLUSH, DISCARD and WRITE_ZEROES
 * @offset: first byte, a multiple of the block size; 0 for FLUSH
 * @length: bytes, a multiple of the block size; the sum of @segs for READ and WRITE; 0 for FLUSH
 * @segs: where the data is; untouched until completion. Pieces may be of any length and alignment
 * @region: the region all of @segs lie in when it is registered with the queue's ring, or NULL
 * @op_link: used by the block layer and by backends for deferred completion
 * @next: used by whoever has the request, for a list
 * @queue: set by pst_blk_submit()
 * @scratch: the backend's, undefined at submission
 *
 * Filled by the front end except for @op_link, @next, @queue and @scratch.
 */
struct pst_req {
	pst_req_done done;
	uint8_t op;
	uint8_t flags;
	uint16_t nsegs;
	uint64_t offset;
	uint64_t length;
	const struct iovec *segs;
	const struct pst_region *region;
	struct pst_op op_link;
	struct pst_req *next;
	struct pst_blk_queue *queue;
	unsigned char scratch[PST_REQ_SCRATCH] __attribute__((aligned(16)));
};

/**
 * struct pst_blk_info - what a device is and takes; filled by the backend's open
 * @size: bytes, a multiple of @block_size
 * @block_size: bytes, 512 or 4096: unit of offsets and lengths
 * @physical_block_size: bytes, a multiple of @block_size
 * @optimal_io_size: bytes, 0 when unknown
 * @max_transfer: most bytes of one READ or WRITE handed to the backend, a multiple of @block_size
 * @max_discard: most bytes of one DISCARD, 0 when not supported
 * @discard_alignment: bytes, 0 when any block will do
 * @max_write_zeroes: most bytes of one WRITE_ZEROES, 0 when not supported
 * @volatile_cache: completed writes may be lost on power failure until a FLUSH completes
 * @read_only: WRITE, DISCARD and WRITE_ZEROES are refused with -EROFS
 * @numa_node: where its memory should be, or -1
 * @serial: NUL-terminated
 */
struct pst_blk_info {
	uint64_t size;
	uint32_t block_size;
	uint32_t physical_block_size;
	uint32_t optimal_io_size;
	uint32_t max_transfer;
	uint64_t max_discard;
	uint32_t discard_alignment;
	uint64_t max_write_zeroes;
	bool volatile_cache;
	bool read_only;
	int numa_node;
	char serial[21];
};

/**
 * struct pst_blk_stats - counters of one queue, or sums of several
 * @reads: READ requests completed
 * @writes: WRITE requests completed
 * @flushes: FLUSH requests completed
 * @discards: DISCARD and WRITE_ZEROES requests completed
 * @fixed: data commands sent from a fixed buffer
 * @unfixed: data commands for which the kernel pinned pages
 * @gathered: data commands whose data was copied together in a slot
 * @refused: requests answered -EOPNOTSUPP or -EROFS
 * @errors: requests that ended with any other error
 * @bytes_read: bytes of successful READ requests
 * @bytes_written: bytes of successful WRITE requests
 */
struct pst_blk_stats {
	uint64_t reads, writes, flushes, discards;
	uint64_t fixed, unfixed, gathered;
	uint64_t refused, errors;
	uint64_t bytes_read, bytes_written;
};

/**
 * struct pst_blk_queue - one thread's way to a device
 * @blk: the device
 * @ring: the thread's ring
 * @stats: written by this thread only; others may read it for a report
 * @priv: the backend's
 * @split: the block layer's
 */
struct pst_blk_queue {
	struct pst_blk *blk;
	struct pst_ring *ring;
	struct pst_blk_stats stats;
	void *priv;
	struct pst_blk_split *split;
};

/**
 * struct pst_blk_queue_params - how to open a queue
 * @ring: the calling thread's ring
 * @poll_ring: a second ring of the thread created with iopoll, on which a backend that can does its
 *	I/O; NULL without. Regions used by requests are registered with it too
 * @depth: most requests in flight on this queue, 1 to 4096
 * @fixed: use registered regions; false: the kernel pins pages for each command
 */
struct pst_blk_queue_params {
	struct pst_ring *ring;
	struct pst_ring *poll_ring;
	uint32_t depth;
	bool fixed;
};

/**
 * struct pst_blk_ops - a backend
 * @name: the word before the colon in a source, for example "nvme". Mandatory
 * @close: release what open made; no queue is open. Mandatory. Control thread
 * @queue_open: make @queue usable by the calling thread: set its priv. Mandatory. Worker thread
 * @queue_close: the reverse; nothing is in flight. Mandatory. Worker thread
 * @submit: start a request. It is checked, and no longer than the limits in &struct pst_blk_info.
 *	The backend calls pst_req_complete() exactly once, from the ring's reap and never from here.
 *	Mandatory. Worker thread
 *
 * A backend is opened by a function of its own, which calls pst_blk_create().
 */
struct pst_blk_ops {
	const char *name;
	void (*close)(struct pst_blk *blk);
	int (*queue_open)(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
			  struct pst_error *err);
	void (*queue_close)(struct pst_blk_queue *queue);
	void (*submit)(struct pst_blk_queue *queue, struct pst_req *req);
};

/**
 * struct pst_blk - a block device
 * @ops: its backend
 * @info: what it is; constant while a queue is open
 * @priv: the backend's
 * @source: how the user named it, for messages
 */
struct pst_blk {
	const struct pst_blk_ops *ops;
	struct pst_blk_info info;
	void *priv;
	char source[256];
};

/**
 * pst_blk_create() - make a device for a backend, or for an application's own device
 * @ops: the backend; must outlive the device
 * @info: copied after a check of its ranges
 * @priv: the backend's
 * @source: name for messages
 * @blk: receives the device
 * @err: receives the sentence
 *
 * Return: 0, -EINVAL, -ENOMEM. On failure @priv is still the caller's.
 */
int pst_blk_create(const struct pst_blk_ops *ops, const struct pst_blk_info *info, void *priv,
		   const char *source, struct pst_blk **blk, struct pst_error *err);

/** pst_blk_close() - close a device through its backend; takes NULL */
void pst_blk_close(struct pst_blk *blk);

/**
 * struct pst_blk_open_params - what every backend understands
 * @offset: first byte of the slice of the source that is served
 * @size: bytes of the slice; 0: to the end
 * @read_only: open for reading, and refuse the rest
 * @force: use a source that is mounted or held by somebody else
 * @serial: overrides the source's own when not empty
 * @timeout_ms: how long path loss and controller resets are retried
 */
struct pst_blk_open_params {
	uint64_t offset;
	uint64_t size;
	bool read_only;
	bool force;
	char serial[21];
	uint32_t timeout_ms;
};

/**
 * pst_blk_open() - open a device by source
 * @source: "nvme:/dev/ng0n1", "null:1G", ...
 * @params: how
 * @blk: receives the device
 * @err: receives the sentence
 *
 * Return: 0; -EINVAL for a source that cannot be right; -EBUSY when it is in use; other errnos.
 */
int pst_blk_open(const char *source, const struct pst_blk_open_params *params, struct pst_blk **blk,
		 struct pst_error *err);

/** pst_blk_queue_open() - open the calling thread's queue; returns 0 or -errno */
int pst_blk_queue_open(struct pst_blk *blk, const struct pst_blk_queue_params *params,
		       struct pst_blk_queue **queue, struct pst_error *err);

/** pst_blk_queue_close() - the reverse; takes NULL. Nothing may be in flight. */
void pst_blk_queue_close(struct pst_blk_queue *queue);

/**
 * pst_blk_submit() - start a request
 * @queue: a queue of the calling thread
 * @req: filled by the caller
 *
 * Commands reach the kernel with the next pst_ring_submit(). What is wrong with the request is
 * said through its completion.
 */
void pst_blk_submit(struct pst_blk_queue *queue, struct pst_req *req);

/**
 * pst_req_complete() - a backend is done with a request
 * @req: the request
 * @status: 0 or negative errno
 */
void pst_req_complete(struct pst_req *req, int status);

/**
 * pst_req_defer() - complete a request from the next reap of the queue's ring
 * @req: the request
 * @status: 0 or negative errno
 *
 * For backends that know the outcome within submit.
 */
void pst_req_defer(struct pst_req *req, int status);

/** pst_blk_stats_add() - add the counters of @from to @to; @from may be in use by its thread */
void pst_blk_stats_add(struct pst_blk_stats *to, const struct pst_blk_stats *from);

#ifdef __cplusplus
}
#endif

#endif
