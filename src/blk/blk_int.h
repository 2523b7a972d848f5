/* SPDX-License-Identifier: MIT */
/* Between the files of this folder. */
#ifndef PST_BLK_INT_H
#define PST_BLK_INT_H

#include <penstock/blk.h>

/* In pst_req.flags: a piece of a request that was split; not counted, its parent is. */
#define PST_REQ_PIECE (1U << 7)

/* Largest length the backend takes in one request of this kind; UINT64_MAX for FLUSH. */
static inline uint64_t pst_blk_limit(const struct pst_blk_info *info, uint8_t op)
{
	switch (op) {
	case PST_REQ_READ:
	case PST_REQ_WRITE:
		return info->max_transfer;
	case PST_REQ_DISCARD:
		return info->max_discard;
	case PST_REQ_WRITE_ZEROES:
		return info->max_write_zeroes;
	default:
		return UINT64_MAX;
	}
}

/* Returns 0 or -ENOMEM. destroy takes NULL. */
int pst_blk_split_create(struct pst_blk_queue *queue);
void pst_blk_split_destroy(struct pst_blk_queue *queue);

/* Starts a request that is longer than pst_blk_limit(). */
void pst_blk_split_submit(struct pst_blk_queue *queue, struct pst_req *req);

#endif
