/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base.h"
#include "memlock.h"

/* What a backend pins beside the bounce region, for each queue: slots to gather in. */
#define SLOTS ((uint64_t)16 << 20)

uint64_t pst_memlock_needed(const struct pst_serve_config *config, uint32_t workers)
{
	uint64_t needed = 0;
	size_t i;

	for (i = 0; i < config->nr_exports; i++) {
		const struct pst_export_params *params = &config->exports[i].params;
		uint64_t rings = pst_min_u64(workers, params->queues);

		if (params->umem == PST_OFF)
			continue;
		needed += params->bounce;
		if (params->fixed == PST_OFF)
			continue;
		/* Every ring that has the region counts it again. */
		if (params->nvme_poll)
			rings *= 2;
		needed += params->bounce * rings + SLOTS * params->queues;
	}
	return needed;
}

int pst_memlock_raise(uint64_t needed, struct pst_error *err)
{
	struct rlimit limit, raised;

	if (!needed)
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return pst_error_set(err, -errno, "the limit of locked memory cannot be read: %s",
				     pst_errname(errno));
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed)
		return 0;

	raised = limit;
	raised.rlim_cur = needed;
	if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed)
		raised.rlim_max = needed;
	if (setrlimit(RLIMIT_MEMLOCK, &raised) == 0)
		return 0;
	return pst_error_set(err, -errno,
			     "these exports pin up to %" PRIu64
			     " bytes and RLIMIT_MEMLOCK allows %" PRIu64
			     ", which may not be raised: allow it (ulimit -l %" PRIu64
			     " as root, or LimitMEMLOCK=%" PRIu64
			     " in a systemd unit), take a smaller bounce=, or serve with umem=off",
			     needed, (uint64_t)limit.rlim_max, (needed + 1023) / 1024, needed);
}
