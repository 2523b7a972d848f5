/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer target: everything a driver can put into the memory that the virtqueue and the
 * virtio-blk model read. The input is a small configuration, then the rings, then the window.
 * tests/fuzz/virtq_seeds writes inputs to start from.
 *
 *   build-fuzz/tests/fuzz/virtq_fuzz -timeout=5 -max_len=4096 NEW tests/fuzz/corpus/virtq
 */
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/virtio_blk.h>

#include "vblk.h"

#define WINDOW_IOVA UINT64_C(0x10000)
#define WINDOW_MAX 8192U
/* A second mapping that ends where the address space does. */
#define FAR_SIZE 256U
#define FAR_IOVA (UINT64_MAX - FAR_SIZE + 1)
#define NUM_MAX 64
#define BLOCK 512U
#define DISK (UINT64_C(1) << 20)

struct setup {
	uint8_t flags; /* enum setup_flag */
	uint8_t num;
	uint16_t start;
	uint8_t rounds;
	uint8_t burst; /* chains made available a round */
	uint8_t statuses;
	uint8_t spare;
};

enum setup_flag {
	SETUP_PACKED = 1,
	SETUP_EVENT_IDX = 2,
	SETUP_INDIRECT = 4,
	SETUP_READ_ONLY = 8,
	SETUP_NEWEST_FIRST = 16,
	SETUP_FAR = 32,
	SETUP_NO_DISCARD = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pst_op *deferred;
static struct pst_req *started[NUM_MAX];
static unsigned int started_count;
static uint8_t statuses;

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* The ring below the block layer: only deferral is needed of it. */
void pst_ring_defer(struct pst_ring *ring, struct pst_op *op, int32_t res)
{
	(void)ring;
	op->res = res;
	op->next = deferred;
	deferred = op;
}

static void nothing_to_close(struct pst_blk *blk)
{
	(void)blk;
}

static int queue_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
		      struct pst_error *err)
{
	(void)queue;
	(void)params;
	(void)err;
	return 0;
}

static void queue_close(struct pst_blk_queue *queue)
{
	(void)queue;
}

/* Touches all it is given, as a device would: the sanitizer says what is not ours. */
static void submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	uint64_t length = 0;

	(void)queue;
	must(started_count < NUM_MAX);
	must(req->length % BLOCK == 0 && req->offset % BLOCK == 0);
	must(req->offset <= DISK && req->length <= DISK - req->offset);
	for (unsigned int i = 0; i < req->nsegs; i++) {
		unsigned char *base = req->segs[i].iov_base;

		must(req->segs[i].iov_len != 0);
		for (size_t at = 0; at < req->segs[i].iov_len; at++) {
			if (req->op == PST_REQ_READ)
				base[at] = (unsigned char)at;
			else
				(void)*(volatile unsigned char *)&base[at];
		}
		length += req->segs[i].iov_len;
	}
	if (req->op == PST_REQ_READ || req->op == PST_REQ_WRITE)
		must(length == req->length && length != 0);
	else
		must(req->nsegs == 0);
	started[started_count++] = req;
}

static const struct pst_blk_ops ops = {
	.name = "fuzz",
	.close = nothing_to_close,
	.queue_open = queue_open,
	.queue_close = queue_close,
	.submit = submit,
};

static void *translate_far(void *ctx, uint64_t iova, uint64_t length)
{
	/* Called for what is not in the window, with a length and without a wrap. */
	must(length != 0 && length - 1 <= UINT64_MAX - iova);
	if (iova < FAR_IOVA || length > FAR_SIZE - (iova - FAR_IOVA))
		return NULL;
	return (unsigned char *)ctx + (iova - FAR_IOVA);
}

static void complete_one(bool newest_first)
{
	struct pst_req *req = started[newest_first ? started_count - 1 : 0];

	started_count--;
	if (!newest_first)
		memmove(started, started + 1, started_count * sizeof(started[0]));
	statuses = (uint8_t)(statuses << 1 | statuses >> 7);
	pst_req_complete(req, statuses & 1 ? -5 : 0);
}

static void reap(void)
{
	while (deferred) {
		struct pst_op *op = deferred;

		deferred = op->next;
		op->done(op, op->res, 0, 0);
	}
}

/* Takes size bytes of the input, zero-filled when it has run out, as an allocation of that size. */
static void *take(const uint8_t **data, size_t *left, size_t size)
{
	size_t some = *left < size ? *left : size;
	void *part = NULL;

	must(posix_memalign(&part, 16, size ? size : 1) == 0);
	memset(part, 0, size);
	memcpy(part, *data, some);
	*data += some;
	*left -= some;
	return part;
}

/* What a driver does between two looks: makes more available. */
static void make_available(const struct pst_virtq *vq, const struct setup *setup)
{
	if (!vq->cfg.packed) {
		struct vring_avail *avail = vq->cfg.driver;

		avail->idx = htole16((uint16_t)(le16toh(avail->idx) + setup->burst));
		return;
	}
	for (unsigned int i = 0; i < setup->burst % (NUM_MAX + 1); i++) {
		struct vring_packed_desc *ring = vq->cfg.desc;
		unsigned int at = vq->avail_idx + i;
		bool wrap = vq->avail_wrap != (at >= vq->cfg.num);
		uint16_t flags;

		at %= vq->cfg.num;
		flags = le16toh(ring[at].flags) & 0x7f7f;
		ring[at].flags = htole16((uint16_t)(flags | (wrap ? 0x80 : 0x8000)));
	}
}

static void play(struct pst_vblk_queue *q, const struct setup *setup)
{
	struct pst_virtq *vq = &q->virtq;
	unsigned int rounds = setup->rounds % 8 + 1;

	for (unsigned int round = 0; round < rounds; round++) {
		int n;

		make_available(vq, setup);
		n = pst_vblk_queue_run(q, 1 + round * 8);
		must(n >= 0 || (vq->broken && vq->reason));
		must(vq->inflight <= vq->cfg.num);
		if (started_count != 0)
			complete_one(setup->flags & SETUP_NEWEST_FIRST);
		if (round % 2)
			reap();
		pst_virtq_publish(vq);
		if (round % 3 == 1)
			pst_virtq_notify_off(vq);
		else
			must(!pst_virtq_notify_on(vq) || !vq->broken);
	}
	while (started_count != 0)
		complete_one(setup->flags & SETUP_NEWEST_FIRST);
	reap();
	pst_virtq_publish(vq);
	must(vq->inflight == 0);
	must(!vq->broken || pst_vblk_queue_run(q, 1) < 0);
}

static void fill_config(struct pst_virtq_config *cfg, const struct setup *setup)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->packed = setup->flags & SETUP_PACKED;
	cfg->event_idx = setup->flags & SETUP_EVENT_IDX;
	cfg->indirect = setup->flags & SETUP_INDIRECT;
	if (cfg->packed) {
		cfg->num = (uint16_t)(setup->num % NUM_MAX + 1);
		cfg->avail =
			(uint16_t)((setup->start & 0x7fff) % cfg->num | (setup->start & 0x8000));
	} else {
		cfg->num = (uint16_t)(1U << setup->num % 7);
		cfg->avail = setup->start;
	}
	cfg->used = cfg->avail;
}

/* A block queue for each kind of disk, kept: opening one costs more than a run. */
static struct pst_blk_queue *disk_for(const struct setup *setup)
{
	static struct pst_blk_queue *kept[4];
	struct pst_blk_queue_params params = {.depth = NUM_MAX};
	struct pst_blk_info info = {
		.size = DISK,
		.block_size = BLOCK,
		.physical_block_size = BLOCK,
		.max_transfer = WINDOW_MAX,
		.max_discard = DISK,
		.max_write_zeroes = DISK,
		.numa_node = -1,
		.serial = "fuzz",
		.read_only = setup->flags & SETUP_READ_ONLY,
	};
	unsigned int kind = (info.read_only ? 1 : 0) + (setup->flags & SETUP_NO_DISCARD ? 2 : 0);
	struct pst_error err;
	struct pst_blk *blk;

	if (kept[kind])
		return kept[kind];
	if (setup->flags & SETUP_NO_DISCARD)
		info.max_discard = info.max_write_zeroes = 0;
	must(pst_blk_create(&ops, &info, NULL, "fuzz:", &blk, &err) == 0);
	must(pst_blk_queue_open(blk, &params, &kept[kind], &err) == 0);
	return kept[kind];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pst_virtq_space space = {.window_iova = WINDOW_IOVA};
	struct pst_region region = {0};
	struct pst_virtq_config cfg;
	struct pst_vblk_queue q;
	struct pst_blk_queue *blkq;
	struct pst_vblk vblk;
	struct setup setup;

	if (size < sizeof(setup))
		return 0;
	memcpy(&setup, data, sizeof(setup));
	data += sizeof(setup);
	size -= sizeof(setup);
	fill_config(&cfg, &setup);
	cfg.desc = take(&data, &size, cfg.num * 16U);
	cfg.driver = take(&data, &size, cfg.packed ? 4 : 6U + 2U * cfg.num);
	cfg.device = take(&data, &size, cfg.packed ? 4 : 6U + 8U * cfg.num);
	if (!cfg.packed)
		((struct vring_avail *)cfg.driver)->idx = htole16(cfg.avail);
	if (setup.flags & SETUP_FAR) {
		space.translate = translate_far;
		space.ctx = take(&data, &size, FAR_SIZE);
	}
	space.window_length = size < WINDOW_MAX ? size : WINDOW_MAX;
	space.window = take(&data, &size, space.window_length);
	cfg.space = &space;
	statuses = setup.statuses;

	blkq = disk_for(&setup);
	pst_vblk_init(&vblk, &blkq->blk->info, 1, cfg.num, cfg.indirect);
	must(pst_vblk_queue_init(&q, &vblk, cfg.num, blkq) == 0);
	must(pst_virtq_attach(&q.virtq, &cfg) == 0);
	/* Half of the window, so that a request may lie in it, outside and across. */
	region.addr = space.window;
	region.length = space.window_length / 2;
	q.region = &region;
	play(&q, &setup);

	pst_virtq_detach(&q.virtq);
	pst_vblk_queue_finish(&q);
	free(cfg.desc);
	free(cfg.driver);
	free(cfg.device);
	free(space.window);
	free(space.ctx);
	return 0;
}
