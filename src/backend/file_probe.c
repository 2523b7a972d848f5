/* SPDX-License-Identifier: MIT */
/* What a file or block device is, and what it takes: found out by asking and by trying. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base.h"
#include "file_backend.h"

#define PAGE 4096U

/* Discards and zeroing in pieces that do not keep the host waiting. */
#define MAX_DISCARD (1U << 30)

/* An inode no file has: a character device may have the numbers of a block device. */
#define NO_INODE ((ino_t)-1)

static int check_kind(const char *path, struct pst_error *err)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return pst_error_set(
			err, -errno, "%s cannot be served: %s%s", path, pst_errname(errno),
			errno == ENOENT ? "; make it first (truncate -s 1G FILE)" : "");
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
		return 0;
	if (S_ISCHR(st.st_mode))
		return pst_error_set(err, -ENOTBLK,
				     "%s is a character device: name a file or a block device; a "
				     "generic NVMe namespace is served as source=nvme:%s",
				     path, path);
	return pst_error_set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
			     "%s is %s: name a regular file or a block device", path,
			     S_ISDIR(st.st_mode) ? "a directory" : "neither file nor disk");
}

static int open_file(struct pst_file_dev *dev, bool read_only, struct pst_error *err)
{
	int flags = (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC;

	dev->fd = open(dev->path, flags | O_DIRECT);
	dev->direct = dev->fd >= 0;
	if (dev->fd < 0 && errno == EINVAL)
		dev->fd = open(dev->path, flags);
	if (dev->fd >= 0)
		return 0;
	return pst_error_set(err, -errno, "%s cannot be opened for %s: %s%s", dev->path,
			     read_only ? "reading" : "reading and writing", pst_errname(errno),
			     !read_only && (errno == EACCES || errno == EROFS || errno == EPERM)
				     ? "; add read-only to serve it without writing"
				     : "");
}

/* Does a direct read of one unit from memory of that alignment work? */
static bool reads_directly(int fd, uint32_t unit)
{
	void *page = NULL;
	bool ok;

	if (posix_memalign(&page, PAGE, PAGE) != 0)
		return false;
	/* What it read does not matter: a wrong alignment is EINVAL. Of two units in a page the
	 * second one shows that memory need not be aligned to the page. */
	ok = pread(fd, (char *)page + PAGE - unit, unit, 0) >= 0;
	free(page);
	return ok;
}

/* Alignments for O_DIRECT, from the kernel (Linux 6.1) or by trying. */
static bool find_alignment(struct pst_file_dev *dev)
{
	struct statx stx;
	uint32_t unit;

	memset(&stx, 0, sizeof(stx));
	if (statx(dev->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) == 0 &&
	    (stx.stx_mask & STATX_DIOALIGN)) {
		dev->mem_align = stx.stx_dio_mem_align;
		dev->io_align = stx.stx_dio_offset_align;
		/* 0: not with this file; more than a page: no host takes such blocks. */
		return pst_is_power_of_two(dev->mem_align) && pst_is_power_of_two(dev->io_align) &&
		       dev->mem_align <= PAGE && dev->io_align <= PAGE;
	}
	for (unit = 512; unit <= PAGE; unit *= 8) {
		if (reads_directly(dev->fd, unit)) {
			dev->mem_align = unit;
			dev->io_align = unit;
			return true;
		}
	}
	return false;
}

static int settle_direct(struct pst_file_dev *dev, struct pst_error *err)
{
	int flags;

	if (dev->direct && find_alignment(dev))
		return 0;
	if (dev->direct) {
		flags = fcntl(dev->fd, F_GETFL);
		if (flags < 0 || fcntl(dev->fd, F_SETFL, flags & ~O_DIRECT) != 0)
			return pst_error_set(err, -errno,
					     "O_DIRECT cannot be switched off on %s: %s", dev->path,
					     pst_errname(errno));
		dev->direct = false;
	}
	dev->mem_align = 1;
	dev->io_align = 1;
	pst_log(PST_LOG_WARNING, dev->path,
		"goes through the page cache, which costs a copy and memory: it does not take "
		"O_DIRECT; for more speed put it on a file system that does, ext4 or xfs");
	return 0;
}

/* A file of the queue's folder in sysfs; a partition shares that of its disk. */
static void queue_path(dev_t dev, const char *name, char *path, size_t size)
{
	(void)snprintf(path, size, "/sys/dev/block/%u:%u/queue/%s", major(dev), minor(dev), name);
	if (access(path, F_OK) != 0)
		(void)snprintf(path, size, "/sys/dev/block/%u:%u/../queue/%s", major(dev),
			       minor(dev), name);
}

static uint64_t queue_number(dev_t dev, const char *name)
{
	char path[96];
	uint64_t value = 0;

	queue_path(dev, name, path, sizeof(path));
	return pst_read_u64(path, &value) == 0 ? value : 0;
}

/* Whether the first line of a queue's file is `text`; `otherwise` when there is no such file. */
static bool queue_says(dev_t dev, const char *name, const char *text, bool otherwise)
{
	char path[96];
	char line[32];

	queue_path(dev, name, path, sizeof(path));
	return pst_read_line(path, line, sizeof(line)) < 0 ? otherwise : strcmp(line, text) == 0;
}

static int probe_block(struct pst_file_dev *dev, bool read_only, struct pst_file_facts *facts,
		       struct pst_error *err)
{
	unsigned int physical = 0, optimal = 0;
	int logical = 0, is_read_only = 0;
	uint64_t bytes = 0;

	if (ioctl(dev->fd, BLKGETSIZE64, &bytes) != 0 || ioctl(dev->fd, BLKSSZGET, &logical) != 0)
		return pst_error_set(err, -errno, "%s does not tell its size: %s", dev->path,
				     pst_errname(errno));
	if (logical > 4096)
		return pst_error_set(err, -EOPNOTSUPP,
				     "%s has blocks of %d bytes: hosts take 512 to 4096", dev->path,
				     logical);
	if (!queue_says(dev->dev, "zoned", "none", true))
		return pst_error_set(err, -EOPNOTSUPP, "%s is zoned: it cannot be served as a disk",
				     dev->path);
	if (!read_only && ioctl(dev->fd, BLKROGET, &is_read_only) == 0 && is_read_only)
		return pst_error_set(err, -EROFS,
				     "%s is read-only: add read-only to serve it without writing",
				     dev->path);
	(void)ioctl(dev->fd, BLKPBSZGET, &physical);
	(void)ioctl(dev->fd, BLKIOOPT, &optimal);

	facts->bytes = bytes;
	facts->block_size = (uint32_t)logical;
	facts->physical_block_size =
		physical > (unsigned int)logical ? physical : (uint32_t)logical;
	facts->optimal_io_size = optimal;
	facts->max_discard = queue_number(dev->dev, "discard_max_bytes") ? MAX_DISCARD : 0;
	facts->discard_alignment = (uint32_t)queue_number(dev->dev, "discard_granularity");
	/* Through the page cache nothing is on the device before a flush, whatever it is. */
	facts->volatile_cache =
		!dev->direct || queue_says(dev->dev, "write_cache", "write back", true);
	return 0;
}

/* Behind the end there is nothing to lose, and the answer is the same. */
static bool punches_holes(int fd, uint64_t bytes)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 (off_t)pst_round_up(bytes, 1U << 20), 1U << 20) == 0;
}

static void probe_regular(const struct pst_file_dev *dev, const struct stat *st, bool read_only,
			  struct pst_file_facts *facts)
{
	uint64_t unit = (uint64_t)st->st_blksize;

	facts->bytes = (uint64_t)st->st_size;
	facts->block_size = 512;
	/* What the file system writes as a whole; some name a size of transfer here instead. */
	facts->physical_block_size =
		pst_is_power_of_two(unit) && unit >= 512 && unit <= 65536 ? (uint32_t)unit : PAGE;
	if (!read_only && punches_holes(dev->fd, facts->bytes)) {
		facts->max_discard = MAX_DISCARD;
		facts->discard_alignment = facts->physical_block_size;
	}
	facts->volatile_cache = true;
}

int pst_file_probe(struct pst_file_dev *dev, const struct pst_blk_open_params *params,
		   struct pst_file_facts *facts, struct pst_error *err)
{
	struct stat st;
	int ret;

	ret = check_kind(dev->path, err);
	if (ret == 0)
		ret = open_file(dev, params->read_only, err);
	if (ret)
		return ret;
	if (fstat(dev->fd, &st) != 0)
		return pst_error_set(err, -errno, "%s cannot be examined: %s", dev->path,
				     pst_errname(errno));
	dev->block = S_ISBLK(st.st_mode);
	dev->dev = dev->block ? st.st_rdev : st.st_dev;
	dev->ino = dev->block ? NO_INODE : st.st_ino;
	ret = settle_direct(dev, err);
	if (ret)
		return ret;
	if (dev->block)
		ret = probe_block(dev, params->read_only, facts, err);
	else
		probe_regular(dev, &st, params->read_only, facts);
	if (ret)
		return ret;
	if (facts->block_size < dev->io_align)
		facts->block_size = dev->io_align;
	if (facts->physical_block_size < facts->block_size)
		facts->physical_block_size = facts->block_size;
	return 0;
}

bool pst_file_was_cut(struct pst_file_dev *dev)
{
	uint64_t shortest = atomic_load_explicit(&dev->shortest, memory_order_relaxed);
	struct stat st;

	if (dev->block)
		return false;
	if (fstat(dev->fd, &st) == 0) {
		while ((uint64_t)st.st_size < shortest &&
		       !atomic_compare_exchange_weak(&dev->shortest, &shortest,
						     (uint64_t)st.st_size))
			;
	}
	return atomic_load_explicit(&dev->shortest, memory_order_relaxed) < dev->end;
}
