/* SPDX-License-Identifier: MIT */
/*
 * For backends that need the data of some requests in one piece: a stock of slots, the line of
 * requests that wait for one, and the fixed buffer that data in a region goes from. One thread's.
 */
#ifndef PST_GATHER_H
#define PST_GATHER_H

#include <penstock/blk.h>

#include "base.h"
#include "slots.h"

struct pst_gather {
	struct pst_slots slots;
	bool fixed;
	const struct pst_region *region; /* the last one seen, and its index */
	int region_index;
	struct pst_req *waiting; /* for a slot, oldest first */
	struct pst_req **waiting_tail;
};

/* Memory for slots of one queue; with a transfer of 512 KiB these are 16 slots. */
#define PST_GATHER_MEMORY (8U << 20)

/*
 * Makes slots of `size` bytes, as many as `memory` holds within reason. Returns 0 or a negative
 * errno with a sentence. finish: no slot is taken and nothing waits.
 */
int pst_gather_init(struct pst_gather *gather, struct pst_ring *ring, uint32_t size,
		    uint32_t memory, bool fixed, int numa_node, struct pst_error *err);
void pst_gather_finish(struct pst_gather *gather);

/* A slot for the request; NULL: it waits in line, and pst_gather_next() hands it out. */
void *pst_gather_get(struct pst_gather *gather, struct pst_req *req);

/*
 * Takes a slot back. Then whatever pst_gather_next() returns is to be started again, until it is
 * NULL: one that fails before it takes its slot must not leave the others waiting.
 */
void pst_gather_put(struct pst_gather *gather, void *slot);
struct pst_req *pst_gather_next(struct pst_gather *gather);

/* Copies between a slot and the segments of a request. */
void pst_gather_in(void *slot, const struct pst_req *req);
void pst_gather_out(const void *slot, const struct pst_req *req);

/* Buffer index of a request's region in the ring, or a negative number: it goes unfixed. */
static inline int pst_gather_index(struct pst_gather *gather, const struct pst_region *region)
{
	if (!region || !gather->fixed)
		return -1;
	if (pst_unlikely(region != gather->region)) {
		gather->region = region;
		gather->region_index = pst_ring_region_index(gather->slots.ring, region);
	}
	return gather->region_index;
}

#endif
