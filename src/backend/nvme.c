/* SPDX-License-Identifier: MIT */
/* A namespace, or a slice of one, as a block device. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend.h"
#include "base.h"
#include "claims.h"
#include "hold.h"
#include "nvme_backend.h"

/* Deallocating has no length limit on the wire but one of 32 bits; the kernel uses 2 GiB less one
 * block at most, and so does the host above us. */
#define MAX_DISCARD (1U << 30)

static void nvme_close(struct pst_blk *blk)
{
	struct pst_nvme_dev *dev = blk->priv;

	pst_claim_release(dev->claim);
	pst_nvme_close(dev->ns);
	free(dev);
}

static const struct pst_blk_ops nvme_ops = {
	.name = "nvme",
	.close = nvme_close,
	.queue_open = pst_nvme_io_open,
	.queue_close = pst_nvme_io_close,
	.submit = pst_nvme_io_submit,
};

/* What cannot be served as a disk of plain blocks, and why. */
static int check_format(const struct pst_nvme_ns *ns, struct pst_error *err)
{
	if (ns->csi != 0)
		return pst_error_set(
			err, -EOPNOTSUPP,
			"/dev/%s is not of the NVM command set (it is %s): it cannot be "
			"served as a disk",
			ns->node, ns->csi == 2 ? "zoned" : "key value");
	if (ns->metadata_size)
		return pst_error_set(
			err, -EOPNOTSUPP,
			"/dev/%s has %u bytes of metadata a block: it cannot be served; "
			"format it without (nvme format --lbaf=N)",
			ns->node, ns->metadata_size);
	if (ns->lba_size > 4096)
		return pst_error_set(err, -EOPNOTSUPP,
				     "/dev/%s has blocks of %u bytes: hosts take 512 to 4096",
				     ns->node, ns->lba_size);
	return 0;
}

/* Holding the block node keeps others from mounting what is served, and tells whether they have. */
static int hold(void *ctx, int *fd, struct pst_error *err)
{
	const struct pst_nvme_ns *ns = ctx;
	char path[64];
	char served[64];

	if (!ns->block[0]) {
		pst_log(PST_LOG_WARNING, ns->node,
			"has no block node to hold: nothing keeps others from using it");
		return 0;
	}
	(void)snprintf(path, sizeof(path), "/dev/%s", ns->block);
	(void)snprintf(served, sizeof(served), "/dev/%s", ns->node);
	return pst_hold_block(path, served, fd, err);
}

static int claim(struct pst_nvme_dev *dev, const char *source,
		 const struct pst_blk_open_params *params, const struct pst_blk_info *info,
		 struct pst_error *err)
{
	struct pst_claim_params claim = {
		.source = source,
		.offset = params->offset,
		.length = info->size,
		.read_only = params->read_only,
		.force = params->force,
		.hold = hold,
		.ctx = dev->ns,
	};
	struct stat st;

	if (fstat(dev->ns->fd, &st) != 0)
		return pst_error_set(err, -errno, "/dev/%s cannot be examined: %s", dev->ns->node,
				     pst_errname(errno));
	claim.dev = st.st_rdev;
	return pst_claim_take(&claim, &dev->claim, err);
}

static void fill_info(const struct pst_nvme_dev *dev, const struct pst_blk_open_params *params,
		      struct pst_blk_info *info)
{
	const struct pst_nvme_ns *ns = dev->ns;

	info->block_size = ns->lba_size;
	info->physical_block_size = ns->physical_block_size;
	info->optimal_io_size = ns->optimal_io_size;
	info->max_transfer = ns->max_transfer;
	info->max_discard = ns->dsm ? MAX_DISCARD : 0;
	info->max_write_zeroes = ns->write_zeroes ? (uint64_t)65536 << ns->lba_shift : 0;
	info->volatile_cache = ns->volatile_cache;
	info->read_only = params->read_only;
	info->numa_node = ns->numa_node;
	(void)snprintf(info->serial, sizeof(info->serial), "%s",
		       params->serial[0] ? params->serial : ns->serial);
}

int pst_nvme_backend_open(const char *where, const char *source,
			  const struct pst_blk_open_params *params, struct pst_blk **blk,
			  struct pst_error *err)
{
	struct pst_nvme_dev *dev = calloc(1, sizeof(*dev));
	struct pst_blk_info info = {0};
	int ret;

	if (!dev)
		return pst_error_set(err, -ENOMEM, "out of memory for %s", source);
	dev->timeout_ms = params->timeout_ms;
	ret = pst_nvme_open(where, !params->read_only, &dev->ns, err);
	if (ret)
		goto fail;
	ret = check_format(dev->ns, err);
	if (ret)
		goto fail;
	fill_info(dev, params, &info);
	ret = pst_backend_slice(source, params, dev->ns->bytes, dev->ns->lba_size, &info.size, err);
	if (ret)
		goto fail;
	dev->first_lba = params->offset >> dev->ns->lba_shift;
	ret = claim(dev, source, params, &info, err);
	if (ret)
		goto fail;
	ret = pst_blk_create(&nvme_ops, &info, dev, source, blk, err);
	if (ret)
		goto fail;
	return 0;

fail:
	pst_claim_release(dev->claim);
	pst_nvme_close(dev->ns);
	free(dev);
	return ret;
}
