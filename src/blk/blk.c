/* SPDX-License-Identifier: MIT */
/* Devices and their queues: what happens at set-up. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "blk_int.h"

static const char *bad_info(const struct pst_blk_info *info)
{
	uint32_t bs = info->block_size;

	if (bs < 512 || bs > 65536 || !pst_is_power_of_two(bs))
		return "its block size is not a power of two from 512 to 65536";
	if (info->size == 0 || !pst_is_aligned(info->size, bs) || info->size > INT64_MAX)
		return "its size is not a multiple of its block size, or 0";
	if (info->physical_block_size < bs || !pst_is_aligned(info->physical_block_size, bs))
		return "its physical block size is not a multiple of its block size";
	if (info->max_transfer < bs || !pst_is_aligned(info->max_transfer, bs))
		return "its largest transfer is not a multiple of its block size";
	if (!pst_is_aligned(info->max_discard, bs) || !pst_is_aligned(info->max_write_zeroes, bs))
		return "a limit of it is not a multiple of its block size";
	return NULL;
}

int pst_blk_create(const struct pst_blk_ops *ops, const struct pst_blk_info *info, void *priv,
		   const char *source, struct pst_blk **out, struct pst_error *err)
{
	const char *bad = bad_info(info);
	struct pst_blk *blk;

	if (bad)
		return pst_error_set(err, -EINVAL, "%s cannot be served: %s", source, bad);
	blk = calloc(1, sizeof(*blk));
	if (!blk)
		return pst_error_set(err, -ENOMEM, "out of memory for %s", source);
	blk->ops = ops;
	blk->info = *info;
	blk->priv = priv;
	(void)snprintf(blk->source, sizeof(blk->source), "%s", source);
	*out = blk;
	return 0;
}

void pst_blk_close(struct pst_blk *blk)
{
	if (!blk)
		return;
	blk->ops->close(blk);
	free(blk);
}

int pst_blk_queue_open(struct pst_blk *blk, const struct pst_blk_queue_params *params,
		       struct pst_blk_queue **out, struct pst_error *err)
{
	struct pst_blk_queue *queue = calloc(1, sizeof(*queue));
	int ret;

	if (!queue)
		return pst_error_set(err, -ENOMEM, "out of memory for a queue on %s", blk->source);
	queue->blk = blk;
	queue->ring = params->ring;
	ret = pst_blk_split_create(queue);
	if (ret) {
		free(queue);
		return pst_error_set(err, ret, "out of memory for a queue on %s", blk->source);
	}
	ret = blk->ops->queue_open(queue, params, err);
	if (ret) {
		pst_blk_split_destroy(queue);
		free(queue);
		return ret;
	}
	*out = queue;
	return 0;
}

void pst_blk_queue_close(struct pst_blk_queue *queue)
{
	if (!queue)
		return;
	queue->blk->ops->queue_close(queue);
	pst_blk_split_destroy(queue);
	free(queue);
}

void pst_blk_stats_add(struct pst_blk_stats *to, const struct pst_blk_stats *from)
{
	const uint64_t *src = (const uint64_t *)from;
	uint64_t *dst = (uint64_t *)to;
	size_t i;

	/* A struct of nothing but 64-bit counters, each read whole. */
	_Static_assert(sizeof(*from) % sizeof(*src) == 0, "pst_blk_stats");
	for (i = 0; i < sizeof(*from) / sizeof(*src); i++)
		dst[i] += __atomic_load_n(&src[i], __ATOMIC_RELAXED);
}
