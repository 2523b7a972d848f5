/* SPDX-License-Identifier: MIT */
#include "vblk_fixture.h"

#include <endian.h>
#include <string.h>

struct device dev;

/* The ring below the block layer: only deferral is needed of it. */
void pst_ring_defer(struct pst_ring *ring, struct pst_op *op, int32_t res)
{
	(void)ring;
	op->res = res;
	op->next = dev.deferred;
	dev.deferred = op;
}

void reap(void)
{
	while (dev.deferred) {
		struct pst_op *op = dev.deferred;

		dev.deferred = op->next;
		op->done(op, op->res, 0, 0);
	}
}

static void stub_close(struct pst_blk *blk)
{
	(void)blk;
}

static int stub_queue_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
			   struct pst_error *err)
{
	(void)queue;
	(void)params;
	(void)err;
	return 0;
}

static void stub_queue_close(struct pst_blk_queue *queue)
{
	(void)queue;
}

static void stub_submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	(void)queue;
	assert_true(dev.count < NUM);
	dev.started[dev.count++] = req;
}

static const struct pst_blk_ops stub_ops = {
	.name = "stub",
	.close = stub_close,
	.queue_open = stub_queue_open,
	.queue_close = stub_queue_close,
	.submit = stub_submit,
};

struct pst_blk_info disk_info(void)
{
	struct pst_blk_info info = {
		.size = DISK,
		.block_size = BLOCK,
		.physical_block_size = 4 * BLOCK,
		.optimal_io_size = 32 * BLOCK,
		.max_transfer = 1U << 20,
		.max_discard = UINT64_C(3) << 40,
		.discard_alignment = 2 * BLOCK,
		.max_write_zeroes = 16 << 20,
		.volatile_cache = true,
		.numa_node = -1,
		.serial = "serial-of-20-letters",
	};

	return info;
}

static void start_with(const struct pst_blk_info *info, bool packed)
{
	struct pst_blk_queue_params params = {.depth = NUM};
	struct pst_error err;
	struct pst_virtq_config cfg;

	memset(&dev, 0, sizeof(dev));
	vring_maker_init(&dev.maker, NUM, packed, true, 0);
	assert_int_equal(pst_blk_create(&stub_ops, info, NULL, "stub:", &dev.blk, &err), 0);
	assert_int_equal(pst_blk_queue_open(dev.blk, &params, &dev.blkq, &err), 0);
	pst_vblk_init(&dev.vblk, info, 2, NUM, true);
	assert_int_equal(pst_vblk_queue_init(&dev.queue, &dev.vblk, NUM, dev.blkq), 0);
	cfg = vring_config(&dev.maker);
	assert_int_equal(pst_virtq_attach(&dev.queue.virtq, &cfg), 0);
}

int start(void **state)
{
	struct pst_blk_info info = disk_info();

	(void)state;
	start_with(&info, false);
	return 0;
}

int start_packed(void **state)
{
	struct pst_blk_info info = disk_info();

	(void)state;
	start_with(&info, true);
	return 0;
}

int start_read_only(void **state)
{
	struct pst_blk_info info = disk_info();

	(void)state;
	info.read_only = true;
	start_with(&info, false);
	return 0;
}

int stop(void **state)
{
	(void)state;
	assert_int_equal(dev.queue.virtq.inflight, 0);
	pst_virtq_detach(&dev.queue.virtq);
	pst_vblk_queue_finish(&dev.queue);
	pst_blk_queue_close(dev.blkq);
	pst_blk_close(dev.blk);
	vring_maker_finish(&dev.maker);
	return 0;
}

unsigned char *at(uint32_t offset)
{
	return vring_data(&dev.maker) + offset;
}

struct vring_buf buf(uint32_t offset, uint32_t len, bool device_writes)
{
	struct vring_buf b = {vring_data_iova(&dev.maker) + offset, len, device_writes};

	return b;
}

void write_header(uint32_t type, uint64_t sector)
{
	struct virtio_blk_outhdr header = {.type = htole32(type), .sector = htole64(sector)};

	memcpy(at(HEADER_AT), &header, sizeof(header));
	*at(STATUS_AT) = STATUS_UNTOUCHED;
}

void write_range(uint32_t offset, uint64_t sector, uint32_t sectors, uint32_t flags)
{
	struct virtio_blk_discard_write_zeroes range = {htole64(sector), htole32(sectors),
							htole32(flags)};

	memcpy(at(offset), &range, sizeof(range));
}

void run(uint32_t type, uint64_t sector, const struct vring_buf *data, unsigned int count)
{
	struct vring_buf bufs[NUM];
	unsigned int n = 0;

	write_header(type, sector);
	bufs[n++] = buf(HEADER_AT, 16, false);
	for (unsigned int i = 0; i < count; i++)
		bufs[n++] = data[i];
	bufs[n++] = buf(STATUS_AT, 1, true);
	assert_true(vring_add(&dev.maker, bufs, n, true) >= 0);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), 1);
}

void answered(uint8_t status, uint32_t len)
{
	uint16_t id;
	uint32_t used_len;

	pst_virtq_publish(&dev.queue.virtq);
	assert_true(vring_take(&dev.maker, &id, &used_len));
	assert_false(vring_has_used(&dev.maker));
	assert_int_equal(*at(STATUS_AT), status);
	assert_int_equal(used_len, len);
}

struct pst_req *backend_has_one(void)
{
	assert_int_equal(dev.count, 1);
	dev.count = 0;
	return dev.started[0];
}
