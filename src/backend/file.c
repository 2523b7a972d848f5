/* SPDX-License-Identifier: MIT */
/* A regular file or a block device, or a slice of one, as a block device. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "backend.h"
#include "base.h"
#include "claims.h"
#include "file_backend.h"
#include "hold.h"

/* Zeroing is always offered: where neither the file system nor the device can, zeroes are written.
 */
#define MAX_WRITE_ZEROES (1U << 30)

static void destroy(struct pst_file_dev *dev)
{
	pst_claim_release(dev->claim);
	/* With its last descriptor the lock on a file goes too. */
	if (dev->fd >= 0)
		close(dev->fd);
	free(dev);
}

static void file_close(struct pst_blk *blk)
{
	destroy(blk->priv);
}

static const struct pst_blk_ops file_ops = {
	.name = "file",
	.close = file_close,
	.queue_open = pst_file_io_open,
	.queue_close = pst_file_io_close,
	.submit = pst_file_io_submit,
};

/*
 * What keeps others away is for a block device the exclusive open that all slices share, and for a
 * file a lock on the bytes of each slice, which lock() takes.
 */
static int hold(void *ctx, int *fd, struct pst_error *err)
{
	const struct pst_file_dev *dev = ctx;

	return dev->block ? pst_hold_block(dev->path, dev->path, fd, err) : 0;
}

/*
 * Keeps other processes off the bytes of the slice, as far as they ask: another daemon does. The
 * lock belongs to the open file, not to the process, so that slices do not mix with each other.
 */
static int lock(const struct pst_file_dev *dev, bool read_only, struct pst_error *err)
{
	struct flock range = {
		.l_type = read_only ? F_RDLCK : F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)dev->first,
		.l_len = (off_t)(dev->end - dev->first),
	};

	if (fcntl(dev->fd, F_OFD_SETLK, &range) == 0)
		return 0;
	if (errno == EAGAIN || errno == EACCES)
		return pst_error_set(
			err, -EBUSY,
			"%s is in use: another process has locked bytes %" PRIu64 " to %" PRIu64
			" of it (lslocks shows which); end it, or add force to serve it all the "
			"same",
			dev->path, dev->first, dev->end - 1);
	return pst_error_set(err, -errno,
			     "%s cannot be locked while it is served: %s; add force to do without",
			     dev->path, pst_errname(errno));
}

static int claim(struct pst_file_dev *dev, const char *source,
		 const struct pst_blk_open_params *params, struct pst_error *err)
{
	struct pst_claim_params claim = {
		.source = source,
		.dev = dev->dev,
		.ino = dev->ino,
		.offset = dev->first,
		.length = dev->end - dev->first,
		.read_only = params->read_only,
		.force = params->force,
		.hold = hold,
		.ctx = dev,
	};
	int ret = pst_claim_take(&claim, &dev->claim, err);

	if (ret == 0 && !dev->block && !params->force)
		ret = lock(dev, params->read_only, err);
	return ret;
}

/* 20 bytes that stay the same for a file and differ from those of another. */
static void make_serial(const struct pst_file_dev *dev, char *serial, size_t size)
{
	if (dev->block)
		(void)snprintf(serial, size, "%" PRIx64, (uint64_t)dev->dev);
	else
		(void)snprintf(serial, size, "%" PRIx64 "-%" PRIx64, (uint64_t)dev->dev,
			       (uint64_t)dev->ino);
}

static void fill_info(const struct pst_file_dev *dev, const struct pst_file_facts *facts,
		      const struct pst_blk_open_params *params, struct pst_blk_info *info)
{
	info->block_size = facts->block_size;
	info->physical_block_size = facts->physical_block_size;
	info->optimal_io_size = facts->optimal_io_size;
	info->max_transfer = PST_FILE_TRANSFER;
	info->max_discard = facts->max_discard;
	info->discard_alignment = facts->discard_alignment;
	info->max_write_zeroes = MAX_WRITE_ZEROES;
	info->volatile_cache = facts->volatile_cache;
	info->read_only = params->read_only;
	info->numa_node = -1;
	if (params->serial[0])
		(void)snprintf(info->serial, sizeof(info->serial), "%s", params->serial);
	else
		make_serial(dev, info->serial, sizeof(info->serial));
}

/* A size that is no multiple of the block size leaves a rest that a block device cannot have. */
static int whole_blocks(const struct pst_file_dev *dev, uint64_t bytes, uint32_t block,
			uint64_t *total, struct pst_error *err)
{
	*total = pst_round_down(bytes, block);
	if (*total == 0)
		return pst_error_set(
			err, -EINVAL,
			"%s has %" PRIu64
			" bytes, less than a block of %u: give it a size (truncate -s 1G %s)",
			dev->path, bytes, block, dev->path);
	if (*total != bytes)
		pst_log(PST_LOG_WARNING, dev->path,
			"the last %" PRIu64
			" bytes are not served: its size is not a multiple of %u bytes",
			bytes - *total, block);
	return 0;
}

int pst_file_open(const char *where, const char *source, const struct pst_blk_open_params *params,
		  struct pst_blk **blk, struct pst_error *err)
{
	struct pst_file_dev *dev = calloc(1, sizeof(*dev));
	struct pst_file_facts facts = {0};
	struct pst_blk_info info = {0};
	uint64_t total = 0;
	int ret;

	if (!dev)
		return pst_error_set(err, -ENOMEM, "out of memory for %s", source);
	dev->fd = -1;
	if (snprintf(dev->path, sizeof(dev->path), "%s", where) >= (int)sizeof(dev->path)) {
		ret = pst_error_set(err, -ENAMETOOLONG,
				    "source %.64s... has a path of more than %zu characters: take "
				    "a shorter one",
				    source, sizeof(dev->path) - 1);
		goto fail;
	}
	ret = pst_file_probe(dev, params, &facts, err);
	if (ret)
		goto fail;
	ret = whole_blocks(dev, facts.bytes, facts.block_size, &total, err);
	if (ret)
		goto fail;
	fill_info(dev, &facts, params, &info);
	ret = pst_backend_slice(source, params, total, info.block_size, &info.size, err);
	if (ret)
		goto fail;
	dev->first = params->offset;
	dev->end = params->offset + info.size;
	atomic_init(&dev->shortest, facts.bytes);
	ret = claim(dev, source, params, err);
	if (ret)
		goto fail;
	ret = pst_blk_create(&file_ops, &info, dev, source, blk, err);
	if (ret)
		goto fail;
	return 0;

fail:
	destroy(dev);
	return ret;
}
