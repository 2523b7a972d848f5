/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base.h"
#include "slots.h"

int pst_slots_init(struct pst_slots *slots, struct pst_ring *ring, uint32_t size, uint32_t count,
		   bool fixed, int numa_node, struct pst_error *err)
{
	struct pst_error why = PST_ERROR_INIT;
	uint32_t i;
	int ret;

	memset(slots, 0, sizeof(*slots));
	slots->index = -1;
	slots->ring = ring;
	slots->size = (uint32_t)pst_round_up(size, 4096);
	slots->count = count;
	slots->free = malloc(count * sizeof(*slots->free));
	if (!slots->free)
		return pst_error_set(err, -ENOMEM, "out of memory for %u buffers", count);

	/* Hugepages matter less here than to the bounce region: no warning when there are none. */
	ret = pst_pool_create((size_t)slots->size * count, PST_POOL_PAGES_HUGE, numa_node,
			      &slots->pool, NULL);
	if (ret)
		ret = pst_pool_create((size_t)slots->size * count, PST_POOL_PAGES_NORMAL, numa_node,
				      &slots->pool, err);
	if (ret) {
		pst_slots_finish(slots);
		return ret;
	}
	(void)pst_pool_region(slots->pool, 0, (size_t)slots->size * count, &slots->region);
	for (i = 0; i < count; i++)
		slots->free[slots->nr_free++] = (uint16_t)i;

	if (fixed) {
		slots->index = pst_ring_register_region(ring, &slots->region, &why);
		if (slots->index < 0) {
			pst_log(PST_LOG_WARNING, NULL, "gathered data goes unfixed: %s", why.text);
			slots->index = -1;
		}
	}
	return 0;
}

void pst_slots_finish(struct pst_slots *slots)
{
	if (slots->index >= 0)
		(void)pst_ring_unregister_region(slots->ring, &slots->region);
	pst_pool_destroy(slots->pool);
	free(slots->free);
	memset(slots, 0, sizeof(*slots));
	slots->index = -1;
}
