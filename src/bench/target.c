/* SPDX-License-Identifier: MIT */
/* Finding and opening the nodes of a device. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base.h"
#include "target.h"

static int open_failed(const char *path, int code, struct pst_error *err)
{
	switch (code) {
	case -EACCES:
	case -EPERM:
		return pst_error_set(
			err, code,
			"%s cannot be opened: no permission; run as root or give this user "
			"access to the node",
			path);
	case -EINVAL:
		return pst_error_set(
			err, code,
			"%s cannot be opened for direct I/O: its file system has none; use "
			"a block device or another file system",
			path);
	default:
		return pst_error_set(err, code, "%s cannot be opened: %s", path, pst_errname(code));
	}
}

/* What the two nodes share, from the block node's queue directory. */
static void read_queue(struct pst_bench_target *t)
{
	uint64_t value;

	if (!t->block_name[0])
		return;
	if (pst_sysfs_queue_u64(t->block_name, "nr_requests", &value) == 0)
		t->nr_requests = (uint32_t)value;
	if (pst_sysfs_queue_u64(t->block_name, "dma_alignment", &value) == 0)
		t->dma_alignment = (uint32_t)value;
	if (pst_sysfs_queue_u64(t->block_name, "io_poll", &value) == 0)
		t->io_poll = value != 0;
	t->hw_queues = pst_sysfs_hw_queues(t->block_name);
	if (pst_sysfs_queue_text(t->block_name, "scheduler", t->scheduler, sizeof(t->scheduler)) !=
	    0)
		t->scheduler[0] = '\0';
}

static int open_namespace(const char *path, const struct pst_bench_needs *needs,
			  struct pst_bench_target *t, struct pst_error *err)
{
	int ret = pst_nvme_open(path, needs->writable, &t->ns, err);

	if (ret)
		return ret;
	t->bytes = t->ns->bytes;
	t->lba_size = t->ns->lba_size;
	t->stride = t->lba_size + (t->ns->extended ? t->ns->metadata_size : 0);
	t->numa_node = t->ns->numa_node;
	t->dma_alignment = t->ns->dma_alignment;
	t->nr_requests = t->ns->nr_requests;
	if (t->ns->block[0]) {
		(void)snprintf(t->block_name, sizeof(t->block_name), "%s", t->ns->block);
		(void)snprintf(t->block_path, sizeof(t->block_path), "/dev/%s", t->ns->block);
		read_queue(t);
	} else {
		/* The driver says how many poll queues it was asked for when no block node does. */
		t->io_poll = pst_sysfs_nvme_poll_queues() != 0;
	}
	return 0;
}

/* The block node must be the namespace's own: names in /dev are only names. */
static int check_same_device(const struct pst_bench_target *t, struct pst_error *err)
{
	struct stat st;
	dev_t dev;

	if (!t->ns || fstat(t->block_fd, &st) != 0)
		return 0;
	if (pst_sysfs_dev(t->block_name, &dev) == 0 && dev == st.st_rdev)
		return 0;
	return pst_error_set(err, -ENODEV, "%s is not the block node of %s: is /dev complete?",
			     t->block_path, t->ns->node);
}

/*
 * A namespace with interleaved metadata has a block node of no size. That is the same as none, and
 * only mode block will say so.
 */
static int open_block(struct pst_bench_target *t, bool writable, struct pst_error *err)
{
	uint64_t bytes = 0;
	int lba = 512;
	int ret;

	t->block_fd = open(t->block_path, (writable ? O_RDWR : O_RDONLY) | O_DIRECT | O_CLOEXEC);
	if (t->block_fd < 0)
		return open_failed(t->block_path, -errno, err);
	ret = check_same_device(t, err);
	if (ret)
		return ret;

	if (t->block_name[0]) {
		if (ioctl(t->block_fd, BLKGETSIZE64, &bytes) != 0 ||
		    ioctl(t->block_fd, BLKSSZGET, &lba) != 0)
			return pst_error_set(err, -errno, "the size of %s cannot be read: %s",
					     t->block_path, pst_errname(-errno));
		if (bytes == 0 && t->ns) {
			close(pst_steal_fd(&t->block_fd));
			t->block_path[0] = '\0';
			return 0;
		}
	} else {
		struct stat st;

		if (fstat(t->block_fd, &st) != 0)
			return pst_error_set(err, -errno, "the size of %s cannot be read: %s",
					     t->block_path, pst_errname(-errno));
		bytes = (uint64_t)st.st_size;
	}
	if (t->ns)
		return 0;
	t->bytes = bytes;
	t->lba_size = (uint32_t)lba;
	t->stride = t->lba_size;
	return 0;
}

/* "nvme0n1" → "/dev/ng0n1" when there is such a node. */
static bool generic_of(const char *block, char *path, size_t size)
{
	unsigned int ctrl, ns;
	int used = 0;

	if (sscanf(block, "nvme%un%u%n", &ctrl, &ns, &used) != 2 || block[used])
		return false;
	(void)snprintf(path, size, "/dev/ng%un%u", ctrl, ns);
	return access(path, F_OK) == 0;
}

static int open_nodes(const struct pst_bench_needs *needs, const struct stat *st,
		      struct pst_bench_target *t, struct pst_error *err)
{
	char generic[PST_SYSFS_NAME];
	int ret;

	if (S_ISCHR(st->st_mode)) {
		ret = open_namespace(t->path, needs, t, err);
		if (ret || !needs->block || !t->block_path[0])
			return ret;
		return open_block(t, needs->writable, err);
	}
	if (!S_ISBLK(st->st_mode) && !S_ISREG(st->st_mode))
		return pst_error_set(err, -ENODEV, "%s is neither a device nor a file", t->path);

	if (S_ISBLK(st->st_mode)) {
		if (pst_sysfs_name(true, st->st_rdev, t->block_name, sizeof(t->block_name)) != 0)
			return pst_error_set(
				err, -ENODEV,
				"%s belongs to no device that the kernel knows: is it gone?",
				t->path);
		if (needs->passthrough && generic_of(t->block_name, generic, sizeof(generic))) {
			ret = open_namespace(generic, needs, t, err);
			if (ret)
				return ret;
		}
	}
	(void)snprintf(t->block_path, sizeof(t->block_path), "%s", t->path);
	read_queue(t);
	return open_block(t, needs->writable, err);
}

int pst_bench_target_open(const char *path, const struct pst_bench_needs *needs,
			  struct pst_bench_target *t, struct pst_error *err)
{
	struct stat st;
	int ret;

	memset(t, 0, sizeof(*t));
	t->path = path;
	t->block_fd = -1;
	t->hold_fd = -1;
	t->numa_node = -1;
	t->dma_alignment = 511;
	if (stat(path, &st) != 0)
		return pst_error_set(err, -errno,
				     "%s cannot be used: %s; name a node such as /dev/ng0n1 "
				     "(ls /dev/ng*)",
				     path, pst_errname(-errno));
	ret = open_nodes(needs, &st, t, err);
	if (ret) {
		pst_bench_target_close(t);
		return ret;
	}
	t->lba_shift = (uint32_t)__builtin_ctz(t->lba_size);
	return 0;
}

void pst_bench_target_close(struct pst_bench_target *t)
{
	pst_nvme_close(t->ns);
	t->ns = NULL;
	if (t->block_fd >= 0)
		close(pst_steal_fd(&t->block_fd));
	if (t->hold_fd >= 0)
		close(pst_steal_fd(&t->hold_fd));
}

int pst_bench_target_range(struct pst_bench_target *t, const struct pst_bench_options *o,
			   struct pst_error *err)
{
	uint64_t size = o->size;

	if (o->bs % t->lba_size)
		return pst_error_set(
			err, -EINVAL,
			"--bs %llu is no multiple of the %u bytes of a logical block of %s",
			(unsigned long long)o->bs, t->lba_size, t->path);
	if (o->offset % t->lba_size || o->size % t->lba_size)
		return pst_error_set(
			err, -EINVAL,
			"--offset and --size must be multiples of the %u bytes of a logical "
			"block of %s",
			t->lba_size, t->path);
	if (o->offset >= t->bytes)
		return pst_error_set(
			err, -EINVAL, "--offset %llu lies past the end of %s (%llu bytes)",
			(unsigned long long)o->offset, t->path, (unsigned long long)t->bytes);
	if (size == 0)
		size = t->bytes - o->offset;
	if (size > t->bytes - o->offset)
		return pst_error_set(err, -EINVAL,
				     "--offset %llu and --size %llu reach past the end of %s (%llu "
				     "bytes)",
				     (unsigned long long)o->offset, (unsigned long long)size,
				     t->path, (unsigned long long)t->bytes);
	if (size < o->bs)
		return pst_error_set(err, -EINVAL,
				     "%llu bytes of %s are less than one block of %llu",
				     (unsigned long long)size, t->path, (unsigned long long)o->bs);
	t->first_lba = o->offset >> t->lba_shift;
	t->lbas = size >> t->lba_shift;
	return 0;
}

uint64_t pst_bench_target_transfer(const struct pst_bench_target *t,
				   const struct pst_bench_mode *mode, uint64_t bs)
{
	return pst_bench_mode_passthrough(mode) ? (bs >> t->lba_shift) * t->stride : bs;
}
