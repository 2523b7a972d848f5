/* SPDX-License-Identifier: MIT */
/**
 * DOC: penstock/mem.h - pools of pinned memory and regions of them
 *
 * A pool is one contiguous mapping, made of hugepages where the machine has them.
 * A region is a contiguous part of a pool that is handed to the kernel as a whole:
 * as a fixed buffer of a ring (IORING_REGISTER_BUFFERS) and, at the same time, as the
 * user memory of a VDUSE device (VDUSE_IOTLB_REG_UMEM). A pool knows neither.
 *
 * Pools and regions are set up by one thread; afterwards they are read-only and may
 * be used from any.
 */
#ifndef PENSTOCK_MEM_H
#define PENSTOCK_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pst_pool;

/** enum pst_pool_pages - which pages a pool may be made of */
enum pst_pool_pages {
	/** hugepages, or normal pages with a warning in the log when there are none */
	PST_POOL_PAGES_AUTO,
	/** hugepages, or the pool is not created */
	PST_POOL_PAGES_HUGE,
	/** normal pages */
	PST_POOL_PAGES_NORMAL,
};

/** PST_REGION_MAX - largest region in bytes: the kernel's limit for one fixed buffer */
#define PST_REGION_MAX ((size_t)1 << 30)

/**
 * struct pst_region - a contiguous part of a pool
 * @addr: first byte
 * @length: bytes, a multiple of the page size, 1 to PST_REGION_MAX
 * @pool: the pool it lies in
 *
 * Made by pst_pool_region(). The address of the struct is the region's identity: a ring
 * remembers it, so it must stay in place while it is registered.
 */
struct pst_region {
	unsigned char *addr;
	size_t length;
	struct pst_pool *pool;
};

/**
 * pst_pool_create() - allocate a pool on a memfd
 * @size: bytes; rounded up to the page size in use
 * @pages: which pages it may be made of
 * @numa_node: node the memory should come from, or -1
 * @pool: receives the pool
 * @err: receives the sentence
 *
 * All pages are faulted in before it returns, so that running out of hugepages is an
 * error here and not a signal later.
 *
 * Return: 0; -ENOMEM when there are too few pages (the sentence names how many are free
 * and the command that reserves more); another negative errno.
 */
int pst_pool_create(size_t size, enum pst_pool_pages pages, int numa_node, struct pst_pool **pool,
		    struct pst_error *err);

/**
 * pst_pool_adopt() - make a pool over memory the application already has
 * @addr: first byte, page-aligned
 * @size: bytes, a multiple of the page size
 * @page_size: size of the pages behind it in bytes (4096, 2 MiB, 1 GiB)
 * @pool: receives the pool
 * @err: receives the sentence
 *
 * The memory stays the application's: it must outlive the pool, and destroying the pool
 * does not unmap it. This is how an SPDK- or DPDK-based program brings its hugepages.
 *
 * Return: 0, -EINVAL (alignment), -ENOMEM.
 */
int pst_pool_adopt(void *addr, size_t size, size_t page_size, struct pst_pool **pool,
		   struct pst_error *err);

/**
 * pst_pool_destroy() - release a pool
 * @pool: the pool, or NULL
 *
 * No region of it may be registered with a ring or a device any more.
 */
void pst_pool_destroy(struct pst_pool *pool);

/** pst_pool_addr() - first byte of the pool */
void *pst_pool_addr(const struct pst_pool *pool);
/** pst_pool_size() - bytes of the pool after rounding */
size_t pst_pool_size(const struct pst_pool *pool);
/** pst_pool_page_size() - bytes of one page of it */
size_t pst_pool_page_size(const struct pst_pool *pool);
/** pst_pool_fd() - the memfd, or -1 for an adopted pool */
int pst_pool_fd(const struct pst_pool *pool);

/**
 * pst_pool_region() - describe a part of a pool
 * @pool: the pool
 * @offset: first byte, a multiple of 4096
 * @length: bytes, a multiple of 4096, at most PST_REGION_MAX
 * @region: filled in
 *
 * Return: 0, or -EINVAL when it is misaligned, empty, too large or not within the pool.
 */
int pst_pool_region(struct pst_pool *pool, size_t offset, size_t length, struct pst_region *region);

/**
 * pst_region_contains() - does a range of memory lie within a region?
 */
static inline bool pst_region_contains(const struct pst_region *region, const void *addr,
				       size_t length)
{
	uintptr_t start = (uintptr_t)region->addr;
	uintptr_t at = (uintptr_t)addr;

	return at >= start && length <= region->length && at - start <= region->length - length;
}

#ifdef __cplusplus
}
#endif

#endif
