/* SPDX-License-Identifier: MIT */
/* The virtio-blk model with requests as they should be. */
#include "vblk_fixture.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static void segment_is(const struct pst_req *req, unsigned int i, uint32_t offset, size_t len)
{
	assert_ptr_equal(req->segs[i].iov_base, at(offset));
	assert_int_equal(req->segs[i].iov_len, len);
}

static void read_reaches_the_backend_and_is_answered(void **state)
{
	struct vring_buf data = buf(DATA_AT, 2 * BLOCK, true);
	struct pst_req *req;

	(void)state;
	run(VIRTIO_BLK_T_IN, 80, &data, 1);
	req = backend_has_one();
	assert_int_equal(req->op, PST_REQ_READ);
	assert_int_equal(req->offset, 80 * 512);
	assert_int_equal(req->length, 2 * BLOCK);
	assert_int_equal(req->nsegs, 1);
	segment_is(req, 0, DATA_AT, 2 * BLOCK);
	assert_null(req->region);
	assert_false(pst_virtq_publish(&dev.queue.virtq));
	pst_req_complete(req, 0);
	answered(VIRTIO_BLK_S_OK, 2 * BLOCK + 1);
}

static void write_reaches_the_backend_and_is_answered(void **state)
{
	struct vring_buf data[] = {buf(DATA_AT, BLOCK, false), buf(DATA_AT + 65536, BLOCK, false)};
	struct pst_req *req;

	(void)state;
	run(VIRTIO_BLK_T_OUT, 8, data, 2);
	req = backend_has_one();
	assert_int_equal(req->op, PST_REQ_WRITE);
	assert_int_equal(req->offset, 8 * 512);
	assert_int_equal(req->length, 2 * BLOCK);
	assert_int_equal(req->nsegs, 2);
	segment_is(req, 0, DATA_AT, BLOCK);
	segment_is(req, 1, DATA_AT + 65536, BLOCK);
	pst_req_complete(req, 0);
	answered(VIRTIO_BLK_S_OK, 1);
}

static void contiguous_segments_are_joined(void **state)
{
	struct vring_buf data[] = {buf(DATA_AT, 512, true), buf(DATA_AT + 512, 3584, true),
				   buf(DATA_AT + 3 * BLOCK, BLOCK, true),
				   buf(DATA_AT + 4 * BLOCK, BLOCK, true)};
	struct pst_req *req;

	(void)state;
	run(VIRTIO_BLK_T_IN, 0, data, 4);
	req = backend_has_one();
	assert_int_equal(req->nsegs, 2);
	segment_is(req, 0, DATA_AT, BLOCK);
	segment_is(req, 1, DATA_AT + 3 * BLOCK, 2 * BLOCK);
	pst_req_complete(req, 0);
	answered(VIRTIO_BLK_S_OK, 3 * BLOCK + 1);
}

static void region_is_named_only_when_all_data_lies_in_it(void **state)
{
	struct vring_buf data[] = {buf(DATA_AT, BLOCK, true),
				   buf(DATA_AT + 2 * BLOCK, BLOCK, true)};
	struct pst_region region = {.addr = at(0), .length = DATA_AT + 3 * BLOCK};
	struct pst_req *req;

	(void)state;
	dev.queue.region = &region;
	run(VIRTIO_BLK_T_IN, 0, data, 2);
	req = backend_has_one();
	assert_ptr_equal(req->region, &region);
	pst_req_complete(req, 0);
	answered(VIRTIO_BLK_S_OK, 2 * BLOCK + 1);

	region.length--;
	run(VIRTIO_BLK_T_IN, 0, data, 2);
	req = backend_has_one();
	assert_null(req->region);
	pst_req_complete(req, 0);
	answered(VIRTIO_BLK_S_OK, 2 * BLOCK + 1);
}

static void header_may_be_cut_anywhere_and_share_with_data(void **state)
{
	struct vring_buf bufs[] = {buf(HEADER_AT, 3, false), buf(HEADER_AT + 3, 9, false),
				   buf(DATA_AT - 4, 4 + BLOCK, false), buf(STATUS_AT, 1, true)};
	struct pst_req *req;

	(void)state;
	write_header(VIRTIO_BLK_T_OUT, 16);
	memcpy(at(DATA_AT - 4), at(HEADER_AT + 12), 4);
	vring_add(&dev.maker, bufs, 4, false);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), 1);
	req = backend_has_one();
	assert_int_equal(req->offset, 16 * 512);
	assert_int_equal(req->nsegs, 1);
	segment_is(req, 0, DATA_AT, BLOCK);
	pst_req_complete(req, 0);
	answered(VIRTIO_BLK_S_OK, 1);
}

static void header_and_data_may_be_one_descriptor(void **state)
{
	struct vring_buf bufs[] = {buf(HEADER_AT, 16 + BLOCK, false), buf(DATA_AT, 1, true)};
	struct pst_req *req;

	(void)state;
	write_header(VIRTIO_BLK_T_OUT, 16);
	vring_add(&dev.maker, bufs, 2, false);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), 1);
	req = backend_has_one();
	assert_int_equal(req->offset, 16 * 512);
	assert_int_equal(req->nsegs, 1);
	segment_is(req, 0, HEADER_AT + 16, BLOCK);
	pst_req_complete(req, 0);
	answered(STATUS_UNTOUCHED, 1);
	assert_int_equal(*at(DATA_AT), VIRTIO_BLK_S_OK);
}

static void status_may_share_with_data(void **state)
{
	struct vring_buf bufs[] = {buf(HEADER_AT, 16, false), buf(DATA_AT, BLOCK + 1, true)};
	struct pst_req *req;

	(void)state;
	write_header(VIRTIO_BLK_T_IN, 0);
	vring_add(&dev.maker, bufs, 2, false);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), 1);
	req = backend_has_one();
	assert_int_equal(req->length, BLOCK);
	segment_is(req, 0, DATA_AT, BLOCK);
	*at(DATA_AT + BLOCK) = STATUS_UNTOUCHED;
	*at(DATA_AT + BLOCK - 1) = STATUS_UNTOUCHED;
	pst_req_complete(req, -EIO);
	assert_int_equal(*at(DATA_AT + BLOCK), VIRTIO_BLK_S_IOERR);
	assert_int_equal(*at(DATA_AT + BLOCK - 1), STATUS_UNTOUCHED);
	answered(STATUS_UNTOUCHED, 1);
}

static void flush_and_its_errors_are_passed_on(void **state)
{
	static const struct {
		int status;
		uint8_t answer;
	} cases[] = {{0, VIRTIO_BLK_S_OK},
		     {-EOPNOTSUPP, VIRTIO_BLK_S_UNSUPP},
		     {-EIO, VIRTIO_BLK_S_IOERR},
		     {-EROFS, VIRTIO_BLK_S_IOERR}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pst_req *req;

		run(VIRTIO_BLK_T_FLUSH, 0, NULL, 0);
		req = backend_has_one();
		assert_int_equal(req->op, PST_REQ_FLUSH);
		assert_int_equal(req->length, 0);
		assert_int_equal(req->nsegs, 0);
		pst_req_complete(req, cases[i].status);
		answered(cases[i].answer, 1);
	}
}

static void id_is_given_as_far_as_there_is_room(void **state)
{
	struct vring_buf data = buf(DATA_AT, 20, true);

	(void)state;
	run(VIRTIO_BLK_T_GET_ID, 0, &data, 1);
	answered(VIRTIO_BLK_S_OK, 21);
	assert_memory_equal(at(DATA_AT), "serial-of-20-letters", 20);

	memset(at(DATA_AT), '*', 32);
	data.len = 6;
	run(VIRTIO_BLK_T_GET_ID, 0, &data, 1);
	answered(VIRTIO_BLK_S_OK, 7);
	assert_memory_equal(at(DATA_AT), "serial**", 8);

	data.len = 32;
	run(VIRTIO_BLK_T_GET_ID, 0, &data, 1);
	answered(VIRTIO_BLK_S_OK, 21);
	assert_memory_equal(at(DATA_AT), "serial-of-20-letters****", 24);
	assert_int_equal(dev.count, 0);
}

static void short_id_is_padded(void **state)
{
	struct pst_blk_info info = disk_info();
	struct pst_vblk vblk;

	(void)state;
	strcpy(info.serial, "abc");
	memset(&vblk, 0xff, sizeof(vblk));
	pst_vblk_init(&vblk, &info, 1, NUM, true);
	assert_memory_equal(vblk.id, "abc\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
}

static void discard_and_write_zeroes_carry_their_range(void **state)
{
	static const struct {
		uint32_t type, flags;
		uint8_t op, req_flags;
	} cases[] = {
		{VIRTIO_BLK_T_DISCARD, 0, PST_REQ_DISCARD, 0},
		{VIRTIO_BLK_T_WRITE_ZEROES, 0, PST_REQ_WRITE_ZEROES, 0},
		{VIRTIO_BLK_T_WRITE_ZEROES, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP,
		 PST_REQ_WRITE_ZEROES, PST_REQ_UNMAP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vring_buf data = buf(RANGE_AT, 16, false);
		struct pst_req *req;

		write_range(RANGE_AT, 64, 128, cases[i].flags);
		run(cases[i].type, 0, &data, 1);
		req = backend_has_one();
		assert_int_equal(req->op, cases[i].op);
		assert_int_equal(req->flags, cases[i].req_flags);
		assert_int_equal(req->offset, 64 * 512);
		assert_int_equal(req->length, 128 * 512);
		assert_int_equal(req->nsegs, 0);
		pst_req_complete(req, 0);
		answered(VIRTIO_BLK_S_OK, 1);
	}
}

static void run_stops_at_its_budget(void **state)
{
	struct vring_buf bufs[] = {buf(HEADER_AT, 16, false), buf(STATUS_AT, 1, true)};

	(void)state;
	write_header(VIRTIO_BLK_T_FLUSH, 0);
	for (int i = 0; i < 5; i++)
		vring_add(&dev.maker, bufs, 2, true);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, 3), 3);
	assert_int_equal(dev.count, 3);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, 3), 2);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, 3), 0);
	assert_int_equal(dev.count, 5);
	while (dev.count != 0)
		pst_req_complete(dev.started[--dev.count], 0);
}

static void configuration_tells_what_the_device_is(void **state)
{
	struct virtio_blk_config config;
	struct pst_blk_info info = disk_info();
	struct pst_vblk plain;

	(void)state;
	memset(&config, 0xff, sizeof(config));
	pst_vblk_config(&dev.vblk, &config);
	assert_int_equal(dev.vblk.features,
			 1ULL << VIRTIO_BLK_F_SIZE_MAX | 1ULL << VIRTIO_BLK_F_SEG_MAX |
				 1ULL << VIRTIO_BLK_F_BLK_SIZE | 1ULL << VIRTIO_BLK_F_TOPOLOGY |
				 1ULL << VIRTIO_BLK_F_MQ | 1ULL << VIRTIO_BLK_F_FLUSH |
				 1ULL << VIRTIO_BLK_F_DISCARD | 1ULL << VIRTIO_BLK_F_WRITE_ZEROES);
	assert_int_equal(le64toh(config.capacity), DISK / 512);
	assert_int_equal(le32toh(config.size_max), PST_VBLK_SIZE_MAX);
	assert_int_equal(le32toh(config.seg_max), PST_VBLK_SEG_MAX);
	assert_int_equal(le32toh(config.blk_size), BLOCK);
	assert_int_equal(config.physical_block_exp, 2);
	assert_int_equal(config.alignment_offset, 0);
	assert_int_equal(le16toh(config.min_io_size), 4);
	assert_int_equal(le32toh(config.opt_io_size), 32);
	assert_int_equal(config.wce, 1);
	assert_int_equal(le16toh(config.num_queues), 2);
	/* 3 TiB do not fit: the most whole blocks that do. */
	assert_int_equal(le32toh(config.max_discard_sectors), UINT32_MAX - 7);
	assert_int_equal(le32toh(config.max_discard_seg), 1);
	assert_int_equal(le32toh(config.discard_sector_alignment), 16);
	assert_int_equal(le32toh(config.max_write_zeroes_sectors), (16 << 20) / 512);
	assert_int_equal(le32toh(config.max_write_zeroes_seg), 1);
	assert_int_equal(config.write_zeroes_may_unmap, 1);
	assert_int_equal(config.max_secure_erase_sectors, 0);

	info.read_only = true;
	info.volatile_cache = false;
	pst_vblk_init(&plain, &info, 1, NUM, false);
	assert_int_equal(plain.features,
			 1ULL << VIRTIO_BLK_F_SIZE_MAX | 1ULL << VIRTIO_BLK_F_SEG_MAX |
				 1ULL << VIRTIO_BLK_F_BLK_SIZE | 1ULL << VIRTIO_BLK_F_TOPOLOGY |
				 1ULL << VIRTIO_BLK_F_RO);
	/* Without indirect descriptors a request has to fit the ring. */
	assert_int_equal(plain.seg_max, NUM - 2);
	pst_vblk_config(&plain, &config);
	assert_int_equal(config.wce, 0);
	assert_int_equal(config.max_discard_sectors, 0);
	assert_int_equal(config.max_write_zeroes_sectors, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(read_reaches_the_backend_and_is_answered),
		BOTH(write_reaches_the_backend_and_is_answered),
		SPLIT(contiguous_segments_are_joined),
		SPLIT(region_is_named_only_when_all_data_lies_in_it),
		SPLIT(header_may_be_cut_anywhere_and_share_with_data),
		SPLIT(header_and_data_may_be_one_descriptor),
		SPLIT(status_may_share_with_data),
		BOTH(flush_and_its_errors_are_passed_on),
		SPLIT(id_is_given_as_far_as_there_is_room),
		cmocka_unit_test(short_id_is_padded),
		SPLIT(discard_and_write_zeroes_carry_their_range),
		BOTH(run_stops_at_its_budget),
		SPLIT(configuration_tells_what_the_device_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
