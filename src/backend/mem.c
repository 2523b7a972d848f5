/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory. It begins as zeroes and vanishes with the daemon, so that a flush has nothing
 * to do. On normal pages: hugepages are for what is pinned, and one that was discarded could be
 * taken by another and be missing, with a signal, at the next write.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "backend.h"
#include "base.h"
#include "parse.h"

struct mem_dev {
	struct pst_pool *pool;
	unsigned char *addr;
};

static void destroy(struct mem_dev *dev)
{
	if (!dev)
		return;
	pst_pool_destroy(dev->pool);
	free(dev);
}

static void mem_close(struct pst_blk *blk)
{
	destroy(blk->priv);
}

static int mem_queue_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
			  struct pst_error *err)
{
	(void)params;
	(void)err;
	queue->priv = queue->blk->priv;
	return 0;
}

static void mem_queue_close(struct pst_blk_queue *queue)
{
	queue->priv = NULL;
}

static void copy(unsigned char *at, const struct pst_req *req)
{
	uint16_t i;

	for (i = 0; i < req->nsegs; i++) {
		if (req->op == PST_REQ_WRITE)
			memcpy(at, req->segs[i].iov_base, req->segs[i].iov_len);
		else
			memcpy(req->segs[i].iov_base, at, req->segs[i].iov_len);
		at += req->segs[i].iov_len;
	}
}

/* Whole pages go back to the kernel, which gives zeroes for them; what is left over is zeroed. */
static void release(struct mem_dev *dev, uint64_t offset, uint64_t length)
{
	size_t page = pst_pool_page_size(dev->pool);
	uint64_t from = pst_round_up(offset, page);
	uint64_t to = pst_round_down(offset + length, page);

	if (from >= to || madvise(dev->addr + from, to - from, MADV_REMOVE) != 0) {
		memset(dev->addr + offset, 0, length);
		return;
	}
	memset(dev->addr + offset, 0, from - offset);
	memset(dev->addr + to, 0, offset + length - to);
}

static void mem_submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	struct mem_dev *dev = queue->priv;

	switch (req->op) {
	case PST_REQ_READ:
	case PST_REQ_WRITE:
		copy(dev->addr + req->offset, req);
		break;
	case PST_REQ_DISCARD:
		release(dev, req->offset, req->length);
		break;
	case PST_REQ_WRITE_ZEROES:
		if (req->flags & PST_REQ_UNMAP)
			release(dev, req->offset, req->length);
		else
			memset(dev->addr + req->offset, 0, req->length);
		break;
	default:
		break;
	}
	pst_req_defer(req, 0);
}

static const struct pst_blk_ops mem_ops = {
	.name = "mem",
	.close = mem_close,
	.queue_open = mem_queue_open,
	.queue_close = mem_queue_close,
	.submit = mem_submit,
};

/* Bytes that can be had without swapping, or UINT64_MAX when nobody knows. */
static uint64_t available(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kib = 0;
	char line[128];

	if (!file)
		return UINT64_MAX;
	while (kib == 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "MemAvailable:", 13) == 0)
			kib = strtoull(line + 13, NULL, 10);
	}
	(void)fclose(file);
	return kib ? kib << 10 : UINT64_MAX;
}

static int make(const char *source, uint64_t size, struct mem_dev **out, struct pst_error *err)
{
	uint64_t most = available();
	struct mem_dev *dev;
	int ret;

	/* The kernel would not refuse, but end a process, perhaps this one, while it fills up. */
	if (size > most)
		return pst_error_set(err, -ENOMEM,
				     "%s is served from memory and needs %" PRIu64
				     " bytes of it, of which %" PRIu64
				     " are available; take a smaller one, or a file: source",
				     source, size, most);
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return pst_error_set(err, -ENOMEM, "out of memory for %s", source);
	ret = pst_pool_create(size, PST_POOL_PAGES_NORMAL, -1, &dev->pool, err);
	if (ret) {
		free(dev);
		(void)pst_error_prefix(err, "%s: ", source);
		return ret;
	}
	dev->addr = pst_pool_addr(dev->pool);
	*out = dev;
	return 0;
}

int pst_mem_open(const char *where, const char *source, const struct pst_blk_open_params *params,
		 struct pst_blk **blk, struct pst_error *err)
{
	struct pst_blk_info info = {
		.block_size = 512,
		.physical_block_size = 4096,
		.max_transfer = 1U << 30,
		.max_discard = 1U << 30,
		.discard_alignment = 4096,
		.max_write_zeroes = 1U << 30,
		.read_only = params->read_only,
		.numa_node = -1,
	};
	struct mem_dev *dev = NULL;
	uint64_t total;
	int ret;

	if (pst_parse_size(where, &total) != 0 || total < info.block_size)
		return pst_error_set(err, -EINVAL,
				     "source %s has no size: write for example mem:1G", source);
	ret = pst_backend_slice(source, params, total, info.block_size, &info.size, err);
	if (ret)
		return ret;
	(void)snprintf(info.serial, sizeof(info.serial), "%s",
		       params->serial[0] ? params->serial : "mem");
	ret = make(source, info.size, &dev, err);
	if (ret)
		return ret;
	ret = pst_blk_create(&mem_ops, &info, dev, source, blk, err);
	if (ret)
		destroy(dev);
	return ret;
}
