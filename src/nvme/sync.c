/* SPDX-License-Identifier: MIT */
/* One command, one ioctl, one answer. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "nvme_int.h"

static int passthru(int fd, unsigned long request, const struct nvme_uring_cmd *cmd,
		    struct pst_nvme_result *result)
{
	struct nvme_passthru_cmd64 wire = {
		.opcode = cmd->opcode,
		.flags = cmd->flags,
		.nsid = cmd->nsid,
		.cdw2 = cmd->cdw2,
		.cdw3 = cmd->cdw3,
		.metadata = cmd->metadata,
		.addr = cmd->addr,
		.metadata_len = cmd->metadata_len,
		.data_len = cmd->data_len,
		.cdw10 = cmd->cdw10,
		.cdw11 = cmd->cdw11,
		.cdw12 = cmd->cdw12,
		.cdw13 = cmd->cdw13,
		.cdw14 = cmd->cdw14,
		.cdw15 = cmd->cdw15,
		.timeout_ms = cmd->timeout_ms,
	};
	int ret = ioctl(fd, request, &wire);

	pst_nvme_result_set(result, ret < 0 ? -errno : ret, wire.result);
	return result->error;
}

int pst_nvme_admin_sync(int fd, const struct nvme_uring_cmd *cmd, struct pst_nvme_result *result)
{
	return passthru(fd, NVME_IOCTL_ADMIN64_CMD, cmd, result);
}

int pst_nvme_io_sync(const struct pst_nvme_ns *ns, const struct nvme_uring_cmd *cmd,
		     struct pst_nvme_result *result)
{
	int ret = pst_nvme_cmd_check(ns, cmd, cmd->data_len);

	if (ret) {
		pst_nvme_result_set(result, ret, 0);
		return ret;
	}
	return passthru(ns->fd, NVME_IOCTL_IO64_CMD, cmd, result);
}
