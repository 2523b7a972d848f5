/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "gather.h"

#define SLOTS_MAX 64U
#define SLOTS_MIN 4U

int pst_gather_init(struct pst_gather *gather, struct pst_ring *ring, uint32_t size,
		    uint32_t memory, bool fixed, int numa_node, struct pst_error *err)
{
	uint32_t count = memory / size;

	count = count < SLOTS_MIN ? SLOTS_MIN : count > SLOTS_MAX ? SLOTS_MAX : count;
	memset(gather, 0, sizeof(*gather));
	gather->fixed = fixed;
	gather->region_index = -1;
	gather->waiting_tail = &gather->waiting;
	return pst_slots_init(&gather->slots, ring, size, count, fixed, numa_node, err);
}

void pst_gather_finish(struct pst_gather *gather)
{
	pst_slots_finish(&gather->slots);
}

void *pst_gather_get(struct pst_gather *gather, struct pst_req *req)
{
	void *slot = pst_slots_get(&gather->slots);

	if (!slot) {
		req->next = NULL;
		*gather->waiting_tail = req;
		gather->waiting_tail = &req->next;
	}
	return slot;
}

void pst_gather_put(struct pst_gather *gather, void *slot)
{
	pst_slots_put(&gather->slots, slot);
}

struct pst_req *pst_gather_next(struct pst_gather *gather)
{
	struct pst_req *next = gather->waiting;

	if (!next || gather->slots.nr_free == 0)
		return NULL;
	gather->waiting = next->next;
	if (!gather->waiting)
		gather->waiting_tail = &gather->waiting;
	return next;
}

void pst_gather_in(void *slot, const struct pst_req *req)
{
	unsigned char *at = slot;
	uint16_t i;

	for (i = 0; i < req->nsegs; i++) {
		memcpy(at, req->segs[i].iov_base, req->segs[i].iov_len);
		at += req->segs[i].iov_len;
	}
}

void pst_gather_out(const void *slot, const struct pst_req *req)
{
	const unsigned char *at = slot;
	uint16_t i;

	for (i = 0; i < req->nsegs; i++) {
		memcpy(req->segs[i].iov_base, at, req->segs[i].iov_len);
		at += req->segs[i].iov_len;
	}
}
