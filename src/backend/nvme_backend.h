/* SPDX-License-Identifier: MIT */
/* Between nvme.c (the device) and nvme_io.c (its queues). */
#ifndef PST_NVME_BACKEND_H
#define PST_NVME_BACKEND_H

#include <penstock/blk.h>
#include <penstock/nvme.h>

struct pst_claim;

struct pst_nvme_dev {
	struct pst_nvme_ns *ns;
	struct pst_claim *claim; /* on the slice; the first one holds the block node */
	uint64_t first_lba;	 /* of the slice */
	uint32_t timeout_ms;
};

int pst_nvme_io_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
		     struct pst_error *err);
void pst_nvme_io_close(struct pst_blk_queue *queue);
void pst_nvme_io_submit(struct pst_blk_queue *queue, struct pst_req *req);

#endif
