/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <penstock/mem.h>

#include "base.h"

#define NORMAL_PAGE ((size_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_DIR "/sys/kernel/mm/hugepages/hugepages-2048kB/"

struct pst_pool {
	unsigned char *addr;
	size_t size;
	size_t page_size;
	int fd;
	bool adopted;
};

/* Prefers one node for pages not yet faulted in; a machine without NUMA says no, which is fine. */
static void prefer_node(void *addr, size_t size, int node)
{
	unsigned long mask[16] = {0};

	if (node < 0 || (size_t)node >= sizeof(mask) * 8)
		return;
	mask[(size_t)node / (8 * sizeof(mask[0]))] = 1UL << ((size_t)node % (8 * sizeof(mask[0])));
	(void)syscall(SYS_mbind, addr, size, MPOL_PREFERRED, mask, sizeof(mask) * 8, 0);
}

/*
 * Faults every page in through fallocate, which says ENOSPC or ENOMEM where touching a page that
 * cannot be had would raise SIGBUS.
 */
static int populate(struct pst_pool *pool)
{
	if (fallocate(pool->fd, 0, 0, (off_t)pool->size) != 0)
		return -errno;
	if (madvise(pool->addr, pool->size, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
		return -errno;
	return 0;
}

static int map_pool(size_t size, bool huge, int node, struct pst_pool **out)
{
	struct pst_pool *pool = calloc(1, sizeof(*pool));
	unsigned int flags = MFD_CLOEXEC | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0);
	int ret;

	if (!pool)
		return -ENOMEM;
	pool->page_size = huge ? HUGE_PAGE : NORMAL_PAGE;
	pool->size = pst_round_up(size, pool->page_size);
	pool->fd = memfd_create("penstock", flags);
	if (pool->fd < 0 || ftruncate(pool->fd, (off_t)pool->size) != 0) {
		ret = -errno;
		goto fail;
	}
	pool->addr = mmap(NULL, pool->size, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd, 0);
	if (pool->addr == MAP_FAILED) {
		ret = -errno;
		pool->addr = NULL;
		goto fail;
	}
	prefer_node(pool->addr, pool->size, node);
	ret = populate(pool);
	if (ret)
		goto fail;
	*out = pool;
	return 0;

fail:
	pst_pool_destroy(pool);
	return ret;
}

/* The sentence for too few hugepages, with the numbers and the command. */
static int no_hugepages(size_t size, int cause, struct pst_error *err)
{
	uint64_t want = pst_round_up(size, HUGE_PAGE) / HUGE_PAGE;
	uint64_t nr = 0;
	uint64_t nr_free = 0;

	if (pst_read_u64(HUGE_DIR "nr_hugepages", &nr) != 0 ||
	    pst_read_u64(HUGE_DIR "free_hugepages", &nr_free) != 0)
		return pst_error_set(err, cause,
				     "a pool of %" PRIu64
				     " hugepages cannot be made: this kernel has "
				     "no 2 MiB hugepages (%s)",
				     want, pst_errname(cause));
	return pst_error_set(err, -ENOMEM,
			     "a pool of %zu bytes needs %" PRIu64 " hugepages of 2 MiB and %" PRIu64
			     " are free (%s): reserve more with: echo %" PRIu64
			     " > /proc/sys/vm/nr_hugepages",
			     size, want, nr_free, pst_errname(cause),
			     nr + (want > nr_free ? want - nr_free : want));
}

int pst_pool_create(size_t size, enum pst_pool_pages pages, int numa_node, struct pst_pool **pool,
		    struct pst_error *err)
{
	struct pst_error huge_err = PST_ERROR_INIT;
	int ret;

	if (size == 0 || size > SIZE_MAX - HUGE_PAGE)
		return pst_error_set(err, -EINVAL, "a pool of %zu bytes cannot be made", size);

	if (pages != PST_POOL_PAGES_NORMAL) {
		ret = map_pool(size, true, numa_node, pool);
		if (ret == 0)
			return 0;
		(void)no_hugepages(size, ret, &huge_err);
		if (pages == PST_POOL_PAGES_HUGE) {
			if (err)
				*err = huge_err;
			return huge_err.code;
		}
		pst_log(PST_LOG_WARNING, NULL, "using normal pages: %s", huge_err.text);
	}

	ret = map_pool(size, false, numa_node, pool);
	if (ret)
		return pst_error_set(
			err, ret,
			"a pool of %zu bytes cannot be allocated: %s; ask for less or free "
			"memory",
			size, pst_errname(ret));
	return 0;
}

int pst_pool_adopt(void *addr, size_t size, size_t page_size, struct pst_pool **pool,
		   struct pst_error *err)
{
	struct pst_pool *p;

	if (!addr || size == 0 || page_size < NORMAL_PAGE || !pst_is_power_of_two(page_size) ||
	    !pst_is_aligned((uintptr_t)addr, page_size) || !pst_is_aligned(size, page_size))
		return pst_error_set(
			err, -EINVAL,
			"memory at %p of %zu bytes cannot be a pool: address and size must "
			"be multiples of its page size %zu",
			addr, size, page_size);
	p = calloc(1, sizeof(*p));
	if (!p)
		return pst_error_set(err, -ENOMEM, "out of memory for a pool");
	p->addr = addr;
	p->size = size;
	p->page_size = page_size;
	p->fd = -1;
	p->adopted = true;
	*pool = p;
	return 0;
}

void pst_pool_destroy(struct pst_pool *pool)
{
	if (!pool)
		return;
	if (!pool->adopted) {
		if (pool->addr)
			(void)munmap(pool->addr, pool->size);
		if (pool->fd >= 0)
			close(pool->fd);
	}
	free(pool);
}

void *pst_pool_addr(const struct pst_pool *pool)
{
	return pool->addr;
}

size_t pst_pool_size(const struct pst_pool *pool)
{
	return pool->size;
}

size_t pst_pool_page_size(const struct pst_pool *pool)
{
	return pool->page_size;
}

int pst_pool_fd(const struct pst_pool *pool)
{
	return pool->fd;
}

int pst_pool_region(struct pst_pool *pool, size_t offset, size_t length, struct pst_region *region)
{
	if (length == 0 || length > PST_REGION_MAX || !pst_is_aligned(offset, NORMAL_PAGE) ||
	    !pst_is_aligned(length, NORMAL_PAGE) || length > pool->size ||
	    offset > pool->size - length)
		return -EINVAL;
	region->addr = pool->addr + offset;
	region->length = length;
	region->pool = pool;
	return 0;
}
