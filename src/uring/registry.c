/* SPDX-License-Identifier: MIT */
/* Regions and files registered with a ring. Not on the I/O path. */
#include <errno.h>
#include <inttypes.h>

#include <penstock/error.h>

#include "base.h"
#include "uring.h"

int pst_ring_region_index(const struct pst_ring *ring, const struct pst_region *region)
{
	uint32_t i;

	for (i = 0; i < ring->nr_regions; i++) {
		if (ring->regions[i] == region)
			return (int)i;
	}
	return -ENOENT;
}

static int set_buffer(struct pst_ring *ring, uint32_t index, void *addr, size_t length)
{
	struct iovec iov = {.iov_base = addr, .iov_len = length};
	__u64 tag = 0;
	int ret = io_uring_register_buffers_update_tag(&ring->ring, index, &iov, &tag, 1);

	return ret == 1 ? 0 : ret < 0 ? ret : -EIO;
}

int pst_ring_register_region(struct pst_ring *ring, const struct pst_region *region,
			     struct pst_error *err)
{
	uint32_t i;
	int ret;

	for (i = 0; i < ring->nr_regions && ring->regions[i]; i++)
		;
	if (i == ring->nr_regions)
		return pst_error_set(
			err, -ENOSPC,
			"no slot for another fixed buffer: the ring was created with %u",
			ring->nr_regions);

	ret = set_buffer(ring, i, region->addr, region->length);
	switch (ret) {
	case 0:
		ring->regions[i] = region;
		return (int)i;
	case -ENOMEM:
		return pst_error_set(
			err, ret,
			"%zu bytes cannot be registered as a fixed buffer: RLIMIT_MEMLOCK "
			"(ulimit -l) is too low or memory is short: allow that many bytes "
			"for each ring and once more for the device",
			region->length);
	case -EFAULT:
		return pst_error_set(
			err, ret,
			"%zu bytes at %p cannot be registered as a fixed buffer: the pages "
			"behind them cannot be pinned; use memory of a pool",
			region->length, (void *)region->addr);
	default:
		return pst_error_set(err, ret,
				     "%zu bytes cannot be registered as a fixed buffer: %s",
				     region->length, pst_errname(ret));
	}
}

int pst_ring_unregister_region(struct pst_ring *ring, const struct pst_region *region)
{
	int index = pst_ring_region_index(ring, region);
	int ret;

	if (index < 0)
		return index;
	ret = set_buffer(ring, (uint32_t)index, NULL, 0);
	if (ret == 0)
		ring->regions[index] = NULL;
	return ret;
}

int pst_ring_register_file(struct pst_ring *ring, int fd, struct pst_error *err)
{
	uint32_t i;
	int ret;

	for (i = 0; i < ring->nr_files && ring->files[i] >= 0; i++)
		;
	if (i == ring->nr_files)
		return pst_error_set(
			err, -ENOSPC,
			"no slot for another registered file: the ring was created with "
			"%u",
			ring->nr_files);
	ret = io_uring_register_files_update(&ring->ring, i, &fd, 1);
	if (ret != 1)
		return pst_error_set(err, ret < 0 ? ret : -EIO,
				     "descriptor %d cannot be registered with the ring: %s", fd,
				     pst_errname(ret < 0 ? ret : -EIO));
	ring->files[i] = fd;
	return (int)i;
}

int pst_ring_unregister_file(struct pst_ring *ring, int slot)
{
	int none = -1;
	int ret;

	if (slot < 0 || (uint32_t)slot >= ring->nr_files || ring->files[slot] < 0)
		return -ENOENT;
	ret = io_uring_register_files_update(&ring->ring, (unsigned int)slot, &none, 1);
	if (ret != 1)
		return ret < 0 ? ret : -EIO;
	ring->files[slot] = -1;
	return 0;
}
