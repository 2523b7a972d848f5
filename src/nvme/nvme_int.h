/* SPDX-License-Identifier: MIT */
/* Between the files of this folder. */
#ifndef PST_NVME_INT_H
#define PST_NVME_INT_H

#include <sys/types.h>

#include <penstock/nvme.h>

#include "nvme_wire.h"

/* What sysfs says about the namespace; 0 where it says nothing. */
struct pst_nvme_sysfs {
	char block[32];
	char controller[32];
	char transport[16];
	uint64_t max_hw_sectors_kb;
	uint64_t max_segments;
	uint64_t dma_alignment;
	uint64_t nr_requests;
	int numa_node;
};

/* Reads what belongs to generic node `node` ("ng0n1"); what is missing stays 0. */
void pst_nvme_sysfs_read(const char *node, struct pst_nvme_sysfs *info);

/*
 * Fills ns from the two structures and sysfs. Returns 0, or -EINVAL when they describe something
 * that cannot be (a block of less than 512 bytes, no such format).
 */
int pst_nvme_decode(struct pst_nvme_ns *ns, const struct pst_nvme_id_ctrl *ctrl,
		    const struct pst_nvme_id_ns *id, const struct pst_nvme_sysfs *sysfs,
		    struct pst_error *err);

/* Splits res of a uring_cmd or an ioctl (0, NVMe status, negative errno) into a result. */
static inline void pst_nvme_result_set(struct pst_nvme_result *result, int res, uint64_t value)
{
	result->error = res < 0 ? res : 0;
	result->status = res > 0 ? (uint16_t)(res & 0x7ff) : 0;
	result->more = res > 0 && (res & 0x2000);
	result->dnr = res > 0 && (res & 0x4000);
	result->value = value;
}

#endif
