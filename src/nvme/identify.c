/* SPDX-License-Identifier: MIT */
/* From the bytes of Identify to a namespace that can be used. Pure: tests feed it bytes. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "nvme_int.h"

#define PAGE 4096U
/* What is assumed when sysfs says nothing: the least any Linux since 5.19 gives for PCIe. */
#define DEFAULT_MAX_BYTES (128U << 10)

static void copy_padded(char *to, const char *from, size_t length)
{
	memcpy(to, from, length);
	to[length] = '\0';
	while (length > 0 && (to[length - 1] == ' ' || to[length - 1] == '\0'))
		to[--length] = '\0';
}

/*
 * The format in use: bits 0-3 of FLBAS, and bits 5-6 above them when there are more than 16
 * formats (NVM Command Set 1.0c, figure 97).
 */
static unsigned int format_index(const struct pst_nvme_id_ns *id)
{
	unsigned int index = id->flbas & 0xfU;

	if (id->nlbaf > 15)
		index |= (unsigned int)(id->flbas >> 5 & 3U) << 4;
	return index;
}

static uint32_t max_transfer(const struct pst_nvme_ns *ns, uint8_t mdts,
			     const struct pst_nvme_sysfs *sysfs)
{
	/* NLB has 16 bits, and a length must fit the kernel's 32. */
	uint64_t max = pst_min_u64((uint64_t)65536 << ns->lba_shift, 1U << 30);

	/* MDTS counts in units of the smallest page (CAP.MPSMIN), which is 4096 wherever Linux
	 * runs. */
	if (mdts && mdts < 20)
		max = pst_min_u64(max, (uint64_t)PAGE << mdts);
	if (sysfs->max_hw_sectors_kb)
		max = pst_min_u64(max, sysfs->max_hw_sectors_kb << 10);
	else
		max = pst_min_u64(max, DEFAULT_MAX_BYTES);
	/* A buffer that starts within a page takes one segment more than its pages. */
	if (sysfs->max_segments > 1)
		max = pst_min_u64(max, (sysfs->max_segments - 1) * PAGE);
	return (uint32_t)pst_round_down(max, ns->lba_size);
}

static void decode_performance(struct pst_nvme_ns *ns, const struct pst_nvme_id_ctrl *ctrl,
			       const struct pst_nvme_id_ns *id)
{
	uint64_t atomic = le16toh(ctrl->awupf);

	if ((id->nsfeat & PST_NVME_NSFEAT_NSABP) && le16toh(id->nawupf))
		atomic = le16toh(id->nawupf);
	ns->physical_block_size = ns->lba_size;
	ns->optimal_io_size = 0;
	if (id->nsfeat & PST_NVME_NSFEAT_OPTPERF) {
		uint64_t granularity = (uint64_t)(le16toh(id->npwg) + 1) << ns->lba_shift;

		/* As the kernel: what is atomic on power failure and preferred at once. */
		granularity = pst_min_u64(granularity, (atomic + 1) << ns->lba_shift);
		if (pst_is_power_of_two(granularity))
			ns->physical_block_size = (uint32_t)granularity;
		ns->optimal_io_size = (uint32_t)(le16toh(id->nows) + 1) << ns->lba_shift;
	}
}

int pst_nvme_decode(struct pst_nvme_ns *ns, const struct pst_nvme_id_ctrl *ctrl,
		    const struct pst_nvme_id_ns *id, const struct pst_nvme_sysfs *sysfs,
		    struct pst_error *err)
{
	unsigned int format = format_index(id);
	const struct pst_nvme_lbaf *lbaf = &id->lbaf[format];
	uint16_t oncs = le16toh(ctrl->oncs);

	copy_padded(ns->model, ctrl->mn, sizeof(ctrl->mn));
	copy_padded(ns->serial, ctrl->sn, sizeof(ctrl->sn));
	copy_padded(ns->firmware, ctrl->fr, sizeof(ctrl->fr));
	(void)snprintf(ns->block, sizeof(ns->block), "%s", sysfs->block);
	(void)snprintf(ns->controller, sizeof(ns->controller), "%s", sysfs->controller);
	(void)snprintf(ns->transport, sizeof(ns->transport), "%s", sysfs->transport);
	ns->numa_node = sysfs->numa_node;
	ns->nr_requests = (uint32_t)sysfs->nr_requests;
	ns->dma_alignment = sysfs->dma_alignment ? (uint32_t)sysfs->dma_alignment : 3;

	if (format > id->nlbaf && format > 15)
		return pst_error_set(err, -EINVAL, "%s reports format %u of %u: it cannot be used",
				     ns->node, format, id->nlbaf + 1U);
	if (lbaf->lbads < 9 || lbaf->lbads > 16)
		return pst_error_set(err, -EINVAL,
				     "%s has logical blocks of 2^%u bytes, which cannot be used",
				     ns->node, lbaf->lbads);
	ns->lba_shift = lbaf->lbads;
	ns->lba_size = 1U << lbaf->lbads;
	ns->metadata_size = le16toh(lbaf->ms);
	ns->extended = ns->metadata_size && (id->flbas & PST_NVME_FLBAS_EXTENDED);
	ns->pi_type = id->dps & PST_NVME_DPS_TYPE;
	ns->pi_first = id->dps & PST_NVME_DPS_FIRST;
	ns->lbas = le64toh(id->nsze);
	if (ns->lbas > UINT64_MAX >> ns->lba_shift)
		return pst_error_set(err, -EINVAL, "%s reports an impossible size of %llu blocks",
				     ns->node, (unsigned long long)ns->lbas);
	ns->bytes = ns->lbas << ns->lba_shift;
	ns->volatile_cache = ctrl->vwc & PST_NVME_VWC_PRESENT;
	ns->dsm = oncs & PST_NVME_ONCS_DSM;
	ns->write_zeroes = oncs & PST_NVME_ONCS_WRITE_ZEROES;
	ns->max_transfer = max_transfer(ns, ctrl->mdts, sysfs);
	decode_performance(ns, ctrl, id);
	return 0;
}
