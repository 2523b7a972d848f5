/* SPDX-License-Identifier: MIT */
/*
 * The one place every I/O command passes. The kernel does not compare the length of the data with
 * the number of blocks: a command for more blocks than the buffer holds makes the device write past
 * it, into memory of the kernel.
 */
#include <errno.h>

#include "base.h"
#include "nvme_int.h"

static bool has_range(uint8_t opcode)
{
	switch (opcode) {
	case PST_NVME_READ:
	case PST_NVME_WRITE:
	case PST_NVME_COMPARE:
	case PST_NVME_VERIFY:
	case PST_NVME_WRITE_ZEROES:
	case PST_NVME_WRITE_UNCORRECTABLE:
		return true;
	default:
		return false;
	}
}

static bool has_block_data(uint8_t opcode)
{
	return opcode == PST_NVME_READ || opcode == PST_NVME_WRITE || opcode == PST_NVME_COMPARE;
}

int pst_nvme_cmd_check(const struct pst_nvme_ns *ns, const struct nvme_uring_cmd *cmd,
		       uint64_t length)
{
	uint64_t slba = cmd->cdw10 | (uint64_t)cmd->cdw11 << 32;
	uint64_t blocks = (cmd->cdw12 & 0xffff) + 1;
	uint64_t per_block = ns->lba_size + (ns->extended ? ns->metadata_size : 0);

	if (pst_unlikely(cmd->nsid != ns->nsid || cmd->flags))
		return -EINVAL;
	if (pst_unlikely(length > ns->max_transfer))
		return -EMSGSIZE;
	if (has_range(cmd->opcode)) {
		if (pst_unlikely(slba >= ns->lbas || blocks > ns->lbas - slba))
			return -ERANGE;
		if (pst_unlikely(length != (has_block_data(cmd->opcode) ? blocks * per_block : 0)))
			return -EINVAL;
		return 0;
	}
	if (cmd->opcode == PST_NVME_FLUSH && pst_unlikely(length != 0))
		return -EINVAL;
	if (cmd->opcode == PST_NVME_DSM &&
	    pst_unlikely(length != ((cmd->cdw10 & 0xff) + 1) * sizeof(struct pst_nvme_dsm_range)))
		return -EINVAL;
	/* Without data there is no address; with data there is one. */
	return (length == 0) == (cmd->addr == 0) ? 0 : -EINVAL;
}
