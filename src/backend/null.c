/* SPDX-License-Identifier: MIT */
/*
 * A device that does nothing, at once: the ceiling of a front end, and the template for the next
 * backend. What is read is whatever the buffer held.
 */
#include <errno.h>
#include <stdio.h>

#include "backend.h"
#include "base.h"
#include "parse.h"

static void null_close(struct pst_blk *blk)
{
	(void)blk;
}

static int null_queue_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
			   struct pst_error *err)
{
	(void)queue;
	(void)params;
	(void)err;
	return 0;
}

static void null_queue_close(struct pst_blk_queue *queue)
{
	(void)queue;
}

static void null_submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	(void)queue;
	pst_req_defer(req, 0);
}

static const struct pst_blk_ops null_ops = {
	.name = "null",
	.close = null_close,
	.queue_open = null_queue_open,
	.queue_close = null_queue_close,
	.submit = null_submit,
};

int pst_null_open(const char *where, const char *source, const struct pst_blk_open_params *params,
		  struct pst_blk **blk, struct pst_error *err)
{
	struct pst_blk_info info = {
		.block_size = 512,
		.physical_block_size = 4096,
		.max_transfer = 1U << 30,
		.max_discard = 1U << 30,
		.max_write_zeroes = 1U << 30,
		.read_only = params->read_only,
		.numa_node = -1,
	};
	uint64_t total;
	int ret;

	if (pst_parse_size(where, &total) != 0 || total < 512)
		return pst_error_set(err, -EINVAL,
				     "source %s has no size: write for example null:1G", source);
	ret = pst_backend_slice(source, params, total, info.block_size, &info.size, err);
	if (ret)
		return ret;
	(void)snprintf(info.serial, sizeof(info.serial), "%s",
		       params->serial[0] ? params->serial : "null");
	return pst_blk_create(&null_ops, &info, NULL, source, blk, err);
}
