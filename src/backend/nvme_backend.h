/* SPDX-License-Identifier: MIT */
/* Between nvme.c (the device) and nvme_io.c (its queues). */
#ifndef PST_NVME_BACKEND_H
#define PST_NVME_BACKEND_H

#include <penstock/blk.h>
#include <penstock/nvme.h>

#include "gather.h"

struct pst_claim;

struct pst_nvme_dev {
	struct pst_nvme_ns *ns;
	struct pst_claim *claim; /* on the slice; the first one holds the block node */
	uint64_t first_lba;	 /* of the slice */
	uint32_t timeout_ms;
	_Atomic bool changed; /* reformatted behind our back: nothing is sent any more */
};

struct pst_nvme_io_queue {
	struct pst_nvme_queue *nvme;
	struct pst_nvme_dev *dev;
	struct pst_blk_queue *blkq;
	struct pst_ring *cmd_ring; /* of the commands: the thread's ring, or its polled one */
	struct pst_gather gather;
	uint64_t logged_ns; /* when a failure was last logged */

	/* Requests whose command failed in a way that passes, and the timer that brings them back.
	 */
	struct pst_req *retrying;
	struct pst_req **retrying_tail;
	struct pst_op timer;
	bool timer_set;
};

/* In the request's scratch. */
struct pst_nvme_io {
	struct pst_nvme_op op;
	void *slot;
	uint64_t deadline_ns;		 /* of its retries; 0 before the first */
	struct pst_nvme_dsm_range range; /* of a DISCARD */
};
_Static_assert(sizeof(struct pst_nvme_io) <= PST_REQ_SCRATCH, "pst_nvme_io must fit the scratch");

static inline struct pst_nvme_io *pst_nvme_io_of(struct pst_req *req)
{
	return (struct pst_nvme_io *)(void *)req->scratch;
}

int pst_nvme_io_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
		     struct pst_error *err);
void pst_nvme_io_close(struct pst_blk_queue *queue);
void pst_nvme_io_submit(struct pst_blk_queue *queue, struct pst_req *req);

/* Sends the command of a request, for the first time or again. */
void pst_nvme_io_start(struct pst_nvme_io_queue *q, struct pst_req *req);
/* Ends a request; gives its slot back. */
void pst_nvme_io_end(struct pst_nvme_io_queue *q, struct pst_req *req, int status);

/* nvme_retry.c */
void pst_nvme_retry_init(struct pst_nvme_io_queue *q);
/*
 * Takes a request whose command failed if trying again makes sense and its time is not up. Returns
 * whether it was taken.
 */
bool pst_nvme_retry(struct pst_nvme_io_queue *q, struct pst_req *req,
		    const struct pst_nvme_result *result);

#endif
