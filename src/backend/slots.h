/* SPDX-License-Identifier: MIT */
/*
 * A stock of equal buffers in one registered region, for data that must be in one piece. One
 * thread's; taking and giving back is a push and a pop.
 */
#ifndef PST_SLOTS_H
#define PST_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include <penstock/mem.h>
#include <penstock/ring.h>

struct pst_slots {
	struct pst_pool *pool;
	struct pst_region region;
	struct pst_ring *ring;
	int index;     /* buffer index in the ring, or -1: not registered */
	uint32_t size; /* bytes of one */
	uint32_t count;
	uint32_t nr_free;
	uint16_t *free;
};

/*
 * Makes `count` buffers of `size` bytes, on hugepages where there are some, and registers them with
 * the ring if `fixed` and the ring lets it. Returns 0 or a negative errno.
 */
int pst_slots_init(struct pst_slots *slots, struct pst_ring *ring, uint32_t size, uint32_t count,
		   bool fixed, int numa_node, struct pst_error *err);
void pst_slots_finish(struct pst_slots *slots);

static inline void *pst_slots_get(struct pst_slots *slots)
{
	if (slots->nr_free == 0)
		return NULL;
	return slots->region.addr + (size_t)slots->free[--slots->nr_free] * slots->size;
}

static inline void pst_slots_put(struct pst_slots *slots, void *slot)
{
	size_t at = (size_t)((unsigned char *)slot - slots->region.addr);

	slots->free[slots->nr_free++] = (uint16_t)(at / slots->size);
}

#endif
