/* SPDX-License-Identifier: MIT */
/* Pure command builders: nothing but the layout of NVM Command Set 1.0c. */
#include <string.h>

#include <penstock/nvme.h>

void pst_nvme_cmd_rw(struct nvme_uring_cmd *cmd, uint8_t opcode, uint32_t nsid, uint64_t slba,
		     uint32_t blocks)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = opcode;
	cmd->nsid = nsid;
	cmd->cdw10 = (uint32_t)slba;
	cmd->cdw11 = (uint32_t)(slba >> 32);
	cmd->cdw12 = (blocks - 1) & 0xffff;
}

void pst_nvme_cmd_flush(struct nvme_uring_cmd *cmd, uint32_t nsid)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = PST_NVME_FLUSH;
	cmd->nsid = nsid;
}

void pst_nvme_cmd_dsm(struct nvme_uring_cmd *cmd, uint32_t nsid,
		      const struct pst_nvme_dsm_range *ranges, uint32_t count, uint32_t attributes)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = PST_NVME_DSM;
	cmd->nsid = nsid;
	cmd->addr = (uintptr_t)ranges;
	cmd->data_len = count * (uint32_t)sizeof(*ranges);
	cmd->cdw10 = (count - 1) & 0xff;
	cmd->cdw11 = attributes;
}

void pst_nvme_cmd_identify(struct nvme_uring_cmd *cmd, uint32_t nsid, uint8_t cns, uint8_t csi,
			   void *data)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = PST_NVME_ADMIN_IDENTIFY;
	cmd->nsid = nsid;
	cmd->addr = (uintptr_t)data;
	cmd->data_len = 4096;
	cmd->cdw10 = cns;
	cmd->cdw11 = (uint32_t)csi << 24;
}
