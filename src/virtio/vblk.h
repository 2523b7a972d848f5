/* SPDX-License-Identifier: MIT */
/*
 * The virtio-blk device model (VIRTIO 1.2, 5.2): turns chains into block requests and completions
 * into used elements. Knows neither transport nor backend.
 */
#ifndef PST_VBLK_H
#define PST_VBLK_H

#include <stdbool.h>
#include <stdint.h>

#include <penstock/blk.h>
#include <penstock/mem.h>

#include "virtq.h"

struct virtio_blk_config;

/* What a device offers; made from a block device's info by pst_vblk_init(). */
struct pst_vblk {
	struct pst_blk_info info;
	char id[20]; /* answer to GET_ID, padded with NULs, not terminated when full */
	uint16_t queues;
	uint32_t seg_max;
	uint32_t size_max;
	uint64_t features; /* VIRTIO_BLK_F_* bits only */
};

/* One request slot. There is one for every entry of the ring, so that taking one cannot fail. */
struct pst_vblk_req {
	struct pst_req req; /* must stay first: completion casts back */
	struct pst_vblk_queue *vq;
	uint16_t id;	   /* chain to give back */
	uint32_t in_bytes; /* bytes written by the device when all goes well, status included */
	unsigned char *status;
	struct iovec iov[PST_VIRTQ_CHAIN_MAX];
};

/* A virtqueue of such a device, bound to a thread's block queue. */
struct pst_vblk_queue {
	struct pst_virtq virtq;
	const struct pst_vblk *dev;
	struct pst_blk_queue *blkq;
	const struct pst_region *region; /* region the window lies in when registered, else NULL */
	struct pst_vblk_req *reqs;	 /* num of them, indexed by chain id */
	uint16_t num;
	uint64_t unsupported; /* requests answered UNSUPP here */
	uint64_t failed;      /* malformed requests answered IOERR here */
};

/* Largest segment and most segments offered. */
#define PST_VBLK_SIZE_MAX (128U << 10)
#define PST_VBLK_SEG_MAX (PST_VIRTQ_CHAIN_MAX - 2)

/*
 * Decides what is offered: features (BLK_SIZE, SIZE_MAX, SEG_MAX, TOPOLOGY, MQ when queues > 1,
 * FLUSH only with a volatile cache, RO when read-only; DISCARD and WRITE_ZEROES when info says so)
 * and limits. queue_size bounds seg_max when indirect descriptors are not offered.
 */
void pst_vblk_init(struct pst_vblk *dev, const struct pst_blk_info *info, uint16_t queues,
		   uint16_t queue_size, bool indirect);

/*
 * Bounds what one request can take of a bounce region, whose pages each segment has to itself:
 * header, status, descriptor table and data together take no more than `bytes`. Returns 0, or
 * -ENOSPC when not even one page of data fits.
 */
int pst_vblk_limit_request(struct pst_vblk *dev, uint64_t bytes);

/* Fills the configuration space (little endian), all of it. */
void pst_vblk_config(const struct pst_vblk *dev, struct virtio_blk_config *config);

/* Allocates the slots; returns 0 or -ENOMEM. finish: nothing is in flight. */
int pst_vblk_queue_init(struct pst_vblk_queue *q, const struct pst_vblk *dev, uint16_t num,
			struct pst_blk_queue *blkq);
void pst_vblk_queue_finish(struct pst_vblk_queue *q);

/*
 * Pops at most budget chains and starts them. Returns how many, or -EPROTO when the queue is broken
 * (virtq.reason). A chain that is a well-formed list but not a well-formed request is answered
 * IOERR when its status byte can be found, and given back with length 0 when not; unknown types
 * UNSUPP.
 */
int pst_vblk_queue_run(struct pst_vblk_queue *q, unsigned int budget);

#endif
