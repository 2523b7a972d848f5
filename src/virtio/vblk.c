/* SPDX-License-Identifier: MIT */
/* The virtio-blk device model, VIRTIO 1.2, 5.2. */
#include "vblk.h"

#include <linux/virtio_blk.h>

#include "virtq_int.h"

#define SECTOR_SHIFT 9
#define PAGE 4096U
#define FEATURE(bit) (UINT64_C(1) << (bit))

_Static_assert(sizeof(struct virtio_blk_outhdr) == 16, "VIRTIO 1.2, 5.2.6");
_Static_assert(sizeof(struct virtio_blk_discard_write_zeroes) == 16, "VIRTIO 1.2, 5.2.6");
_Static_assert(sizeof(((struct pst_vblk *)NULL)->id) == VIRTIO_BLK_ID_BYTES, "VIRTIO 1.2, 5.2.6");

/* Part of a popped chain: its header, its status byte and what lies between, while it is parsed. */
struct span {
	struct iovec *iov;
	unsigned int count;
};

void pst_vblk_init(struct pst_vblk *dev, const struct pst_blk_info *info, uint16_t queues,
		   uint16_t queue_size, bool indirect)
{
	memset(dev, 0, sizeof(*dev));
	dev->info = *info;
	memcpy(dev->id, info->serial, strnlen(info->serial, sizeof(dev->id)));
	dev->queues = queues;
	dev->size_max = PST_VBLK_SIZE_MAX;
	dev->seg_max = PST_VBLK_SEG_MAX;
	/* Header and status take two of the ring's entries. */
	if (!indirect && queue_size < PST_VIRTQ_CHAIN_MAX)
		dev->seg_max = queue_size > 3 ? queue_size - 2U : 1;

	dev->features = FEATURE(VIRTIO_BLK_F_BLK_SIZE) | FEATURE(VIRTIO_BLK_F_SIZE_MAX) |
			FEATURE(VIRTIO_BLK_F_SEG_MAX) | FEATURE(VIRTIO_BLK_F_TOPOLOGY);
	if (queues > 1)
		dev->features |= FEATURE(VIRTIO_BLK_F_MQ);
	if (info->volatile_cache)
		dev->features |= FEATURE(VIRTIO_BLK_F_FLUSH);
	if (info->read_only) {
		dev->features |= FEATURE(VIRTIO_BLK_F_RO);
		return;
	}
	if (info->max_discard != 0)
		dev->features |= FEATURE(VIRTIO_BLK_F_DISCARD);
	if (info->max_write_zeroes != 0)
		dev->features |= FEATURE(VIRTIO_BLK_F_WRITE_ZEROES);
}

int pst_vblk_limit_request(struct pst_vblk *dev, uint64_t bytes)
{
	/* One for each of header, status and table, and one since data may begin within a page. */
	const uint64_t overhead = 4;
	uint64_t pages = bytes / PAGE;

	if (pages < overhead + 1)
		return -ENOSPC;
	pages -= overhead;
	dev->seg_max = (uint32_t)pst_min_u64(dev->seg_max, pages);
	dev->size_max = (uint32_t)pst_min_u64(dev->size_max,
					      pst_round_down(pages / dev->seg_max * PAGE, PAGE));
	return 0;
}

/* Bytes as 512-byte sectors in 32 bits, rounded down to whole blocks. */
static uint32_t sectors32(const struct pst_blk_info *info, uint64_t bytes)
{
	uint64_t most = (uint64_t)UINT32_MAX << SECTOR_SHIFT;
	uint64_t fit = pst_round_down(pst_min_u64(bytes, most), info->block_size);

	return (uint32_t)(fit >> SECTOR_SHIFT);
}

void pst_vblk_config(const struct pst_vblk *dev, struct virtio_blk_config *config)
{
	const struct pst_blk_info *info = &dev->info;
	uint32_t ratio = info->physical_block_size / info->block_size;

	memset(config, 0, sizeof(*config));
	if (ratio == 0)
		ratio = 1;
	config->capacity = htole64(info->size >> SECTOR_SHIFT);
	config->size_max = htole32(dev->size_max);
	config->seg_max = htole32(dev->seg_max);
	config->blk_size = htole32(info->block_size);
	config->physical_block_exp = (uint8_t)(31 - __builtin_clz(ratio));
	config->min_io_size = htole16((uint16_t)pst_min_u64(ratio, UINT16_MAX));
	config->opt_io_size = htole32(info->optimal_io_size / info->block_size);
	config->wce = info->volatile_cache;
	config->num_queues = htole16(dev->queues);
	if (dev->features & FEATURE(VIRTIO_BLK_F_DISCARD)) {
		uint32_t align =
			info->discard_alignment ? info->discard_alignment : info->block_size;

		config->max_discard_sectors = htole32(sectors32(info, info->max_discard));
		config->max_discard_seg = htole32(1);
		config->discard_sector_alignment = htole32(align >> SECTOR_SHIFT);
	}
	if (dev->features & FEATURE(VIRTIO_BLK_F_WRITE_ZEROES)) {
		config->max_write_zeroes_sectors = htole32(sectors32(info, info->max_write_zeroes));
		config->max_write_zeroes_seg = htole32(1);
		config->write_zeroes_may_unmap = 1;
	}
}

int pst_vblk_queue_init(struct pst_vblk_queue *q, const struct pst_vblk *dev, uint16_t num,
			struct pst_blk_queue *blkq)
{
	memset(q, 0, sizeof(*q));
	pst_virtq_init(&q->virtq);
	q->dev = dev;
	q->blkq = blkq;
	q->num = num;
	q->reqs = calloc(num, sizeof(*q->reqs));
	return q->reqs ? 0 : -ENOMEM;
}

void pst_vblk_queue_finish(struct pst_vblk_queue *q)
{
	free(q->reqs);
	q->reqs = NULL;
	pst_virtq_finish(&q->virtq);
}

static uint64_t span_length(const struct span *s)
{
	uint64_t length = 0;

	for (unsigned int i = 0; i < s->count; i++)
		length += s->iov[i].iov_len;
	return length;
}

/*
 * Takes size bytes from the front, where the driver may have cut them as it liked (2.6.4). The
 * barrier makes the copy the only thing the compiler may look at afterwards: the original is the
 * driver's, and may change.
 */
static inline bool span_take(struct span *s, void *to, size_t size)
{
	unsigned char *at = to;

	if (pst_likely(s->count != 0 && s->iov->iov_len == size)) {
		memcpy(to, s->iov->iov_base, size);
		s->iov++;
		s->count--;
		size = 0;
	}
	while (pst_unlikely(size != 0 && s->count != 0)) {
		size_t part = (size_t)pst_min_u64(s->iov->iov_len, size);

		memcpy(at, s->iov->iov_base, part);
		at += part;
		size -= part;
		s->iov->iov_base = (unsigned char *)s->iov->iov_base + part;
		s->iov->iov_len -= part;
		if (s->iov->iov_len == 0) {
			s->iov++;
			s->count--;
		}
	}
	__asm__ volatile("" ::: "memory");
	return size == 0;
}

/* Writes size bytes to the front; returns how many there was room for. */
static uint32_t span_put(const struct span *s, const void *from, uint32_t size)
{
	const unsigned char *at = from;
	uint32_t done = 0;

	for (unsigned int i = 0; i < s->count && done < size; i++) {
		uint32_t part = (uint32_t)pst_min_u64(s->iov[i].iov_len, size - done);

		memcpy(s->iov[i].iov_base, at + done, part);
		done += part;
	}
	return done;
}

static void complete(struct pst_req *req, int status)
{
	struct pst_vblk_req *slot = (struct pst_vblk_req *)req;
	uint32_t written = 1;

	if (pst_likely(status == 0)) {
		*slot->status = VIRTIO_BLK_S_OK;
		written = slot->in_bytes;
	} else {
		*slot->status = status == -EOPNOTSUPP ? VIRTIO_BLK_S_UNSUPP : VIRTIO_BLK_S_IOERR;
	}
	pst_virtq_push(&slot->vq->virtq, slot->id, written);
}

/* The three ways to answer without the backend. */
static void answer(struct pst_vblk_queue *q, const struct pst_vblk_req *slot, uint8_t status,
		   uint32_t written)
{
	*slot->status = status;
	pst_virtq_push(&q->virtq, slot->id, written);
}

static void answer_unsupported(struct pst_vblk_queue *q, const struct pst_vblk_req *slot)
{
	q->unsupported++;
	answer(q, slot, VIRTIO_BLK_S_UNSUPP, 1);
}

static void answer_malformed(struct pst_vblk_queue *q, const struct pst_vblk_req *slot)
{
	q->failed++;
	answer(q, slot, VIRTIO_BLK_S_IOERR, 1);
}

/* 5.2.6.2: a write to a read-only device is an I/O error; it counts as refused. */
static void answer_read_only(struct pst_vblk_queue *q, const struct pst_vblk_req *slot)
{
	q->unsupported++;
	answer(q, slot, VIRTIO_BLK_S_IOERR, 1);
}

/*
 * Lists the data in the slot, joining neighbours: what is contiguous for the driver but for the
 * cuts it made is one segment, and one command, for the backend. Returns the length in bytes.
 */
static uint64_t list_data(struct pst_vblk_queue *q, struct pst_vblk_req *slot, const struct span *s)
{
	const struct pst_region *region = q->region;
	struct iovec *to = slot->iov;
	uint64_t length = 0;
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->count; i++) {
		const struct iovec *from = &s->iov[i];

		length += from->iov_len;
		if (n != 0 &&
		    (unsigned char *)to[n - 1].iov_base + to[n - 1].iov_len == from->iov_base) {
			to[n - 1].iov_len += from->iov_len;
		} else if (from->iov_len != 0) {
			to[n++] = *from;
		}
	}
	for (unsigned int i = 0; region && i < n; i++) {
		if (!pst_region_contains(region, to[i].iov_base, to[i].iov_len))
			region = NULL;
	}
	slot->req.nsegs = (uint16_t)n;
	slot->req.region = region;
	return length;
}

/* Whole blocks, at an offset that fits in 64 bits; the range is checked by the block layer. */
static bool is_sound(const struct pst_vblk_queue *q, uint64_t sector, uint64_t length)
{
	return length != 0 && pst_is_aligned(length, q->dev->info.block_size) &&
	       sector <= UINT64_MAX >> SECTOR_SHIFT;
}

static void start_data(struct pst_vblk_queue *q, struct pst_vblk_req *slot, uint8_t op,
		       uint64_t sector, const struct span *data)
{
	struct pst_req *req = &slot->req;
	uint64_t length = list_data(q, slot, data);

	/* The used length has 32 bits and counts the status byte. */
	if (pst_unlikely(!is_sound(q, sector, length) || length >= UINT32_MAX)) {
		answer_malformed(q, slot);
		return;
	}
	slot->in_bytes = op == PST_REQ_READ ? (uint32_t)length + 1 : 1;
	req->op = op;
	req->flags = 0;
	req->offset = sector << SECTOR_SHIFT;
	req->length = length;
	pst_blk_submit(q->blkq, req);
}

static void start_nodata(struct pst_vblk_queue *q, struct pst_vblk_req *slot, uint8_t op,
			 uint8_t flags, uint64_t sector, uint64_t length)
{
	struct pst_req *req = &slot->req;

	slot->in_bytes = 1;
	req->op = op;
	req->flags = flags;
	req->nsegs = 0;
	req->region = NULL;
	req->offset = sector << SECTOR_SHIFT;
	req->length = length;
	pst_blk_submit(q->blkq, req);
}

static void start_range(struct pst_vblk_queue *q, struct pst_vblk_req *slot, uint32_t type,
			struct span *out)
{
	bool zeroes = type == VIRTIO_BLK_T_WRITE_ZEROES;
	uint64_t feature = FEATURE(zeroes ? VIRTIO_BLK_F_WRITE_ZEROES : VIRTIO_BLK_F_DISCARD);
	uint32_t known = zeroes ? VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP : 0;
	struct virtio_blk_discard_write_zeroes range;
	uint64_t payload = span_length(out), sector, length;
	uint32_t flags;

	if (!(q->dev->features & feature)) {
		answer_unsupported(q, slot);
		return;
	}
	if (payload % sizeof(range) != 0 || !span_take(out, &range, sizeof(range))) {
		answer_malformed(q, slot);
		return;
	}
	sector = le64toh(range.sector);
	length = (uint64_t)le32toh(range.num_sectors) << SECTOR_SHIFT;
	flags = le32toh(range.flags);
	/* One segment a request is what the configuration offers. */
	if (payload != sizeof(range) || (flags & ~known))
		answer_unsupported(q, slot);
	else if (!is_sound(q, sector, length))
		answer_malformed(q, slot);
	else
		start_nodata(q, slot, zeroes ? PST_REQ_WRITE_ZEROES : PST_REQ_DISCARD,
			     flags ? PST_REQ_UNMAP : 0, sector, length);
}

static void answer_id(struct pst_vblk_queue *q, const struct pst_vblk_req *slot,
		      const struct span *in)
{
	uint32_t written = span_put(in, q->dev->id, sizeof(q->dev->id));

	if (written == 0)
		answer_malformed(q, slot);
	else
		answer(q, slot, VIRTIO_BLK_S_OK, written + 1);
}

/* Finds the request in a chain and starts or answers it. Edits the chain's iovec in place. */
static void handle(struct pst_vblk_queue *q, const struct pst_chain *chain)
{
	struct pst_vblk_req *slot = &q->reqs[chain->id];
	struct span out = {chain->iov, chain->out};
	struct span in = {chain->iov + chain->out, chain->in};
	struct virtio_blk_outhdr header;
	struct iovec *last;
	uint64_t sector;
	uint32_t type;

	if (pst_unlikely(in.count == 0)) {
		q->failed++;
		pst_virtq_push(&q->virtq, chain->id, 0);
		return;
	}
	/* The status is the last byte the device may write; data may share its descriptor. */
	last = &in.iov[in.count - 1];
	last->iov_len--;
	if (pst_likely(last->iov_len == 0))
		in.count--;
	slot->status = (unsigned char *)last->iov_base + last->iov_len;
	slot->id = chain->id;
	slot->vq = q;
	slot->req.done = complete;
	slot->req.segs = slot->iov;

	if (pst_unlikely(!span_take(&out, &header, sizeof(header)))) {
		answer_malformed(q, slot);
		return;
	}
	type = le32toh(header.type);
	sector = le64toh(header.sector);

	switch (type) {
	case VIRTIO_BLK_T_IN:
		start_data(q, slot, PST_REQ_READ, sector, &in);
		break;
	case VIRTIO_BLK_T_OUT:
		if (q->dev->info.read_only)
			answer_read_only(q, slot);
		else
			start_data(q, slot, PST_REQ_WRITE, sector, &out);
		break;
	case VIRTIO_BLK_T_FLUSH:
		/* Also when not offered: without a cache to flush it is an honest success. */
		start_nodata(q, slot, PST_REQ_FLUSH, 0, 0, 0);
		break;
	case VIRTIO_BLK_T_GET_ID:
		answer_id(q, slot, &in);
		break;
	case VIRTIO_BLK_T_DISCARD:
	case VIRTIO_BLK_T_WRITE_ZEROES:
		start_range(q, slot, type, &out);
		break;
	default:
		answer_unsupported(q, slot);
		break;
	}
}

int pst_vblk_queue_run(struct pst_vblk_queue *q, unsigned int budget)
{
	struct iovec iov[PST_VIRTQ_CHAIN_MAX];
	struct pst_chain chain = {.iov = iov};
	unsigned int n;

	if (pst_unlikely(q->virtq.cfg.num > q->num))
		return vq_break(&q->virtq, "the ring has more entries than there are slots");
	for (n = 0; n < budget; n++) {
		int ret = pst_virtq_pop(&q->virtq, &chain);

		if (ret <= 0) {
			if (ret < 0)
				return ret;
			break;
		}
		handle(q, &chain);
	}
	return (int)n;
}
