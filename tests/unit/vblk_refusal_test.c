/* SPDX-License-Identifier: MIT */
/* The virtio-blk model with requests that are wrong, unknown or not permitted. */
#include "vblk_fixture.h"

#include <errno.h>

/* Runs one request that must not reach the backend. */
static void refuses(uint32_t type, uint64_t sector, struct vring_buf data, uint8_t status)
{
	uint64_t unsupported = dev.queue.unsupported, failed = dev.queue.failed;

	run(type, sector, &data, 1);
	assert_int_equal(dev.count, 0);
	answered(status, 1);
	assert_int_equal(dev.queue.unsupported + dev.queue.failed, unsupported + failed + 1);
}

static void range_flags_that_mean_nothing_are_unsupported(void **state)
{
	struct vring_buf data = buf(RANGE_AT, 16, false);

	(void)state;
	write_range(RANGE_AT, 64, 128, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP);
	refuses(VIRTIO_BLK_T_DISCARD, 0, data, VIRTIO_BLK_S_UNSUPP);
	write_range(RANGE_AT, 64, 128, 2);
	refuses(VIRTIO_BLK_T_DISCARD, 0, data, VIRTIO_BLK_S_UNSUPP);
	write_range(RANGE_AT, 64, 128, 0x80000001);
	refuses(VIRTIO_BLK_T_WRITE_ZEROES, 0, data, VIRTIO_BLK_S_UNSUPP);
	assert_int_equal(dev.queue.unsupported, 3);
}

static void range_that_is_none_is_an_error(void **state)
{
	(void)state;
	write_range(RANGE_AT, 64, 128, 0);
	write_range(RANGE_AT + 16, 256, 128, 0);
	refuses(VIRTIO_BLK_T_DISCARD, 0, buf(RANGE_AT, 15, false), VIRTIO_BLK_S_IOERR);
	refuses(VIRTIO_BLK_T_DISCARD, 0, buf(RANGE_AT, 17, false), VIRTIO_BLK_S_IOERR);
	refuses(VIRTIO_BLK_T_DISCARD, 0, buf(RANGE_AT, 16, true), VIRTIO_BLK_S_IOERR);
	write_range(RANGE_AT, 64, 0, 0);
	refuses(VIRTIO_BLK_T_DISCARD, 0, buf(RANGE_AT, 16, false), VIRTIO_BLK_S_IOERR);
	write_range(RANGE_AT, 64, 7, 0);
	refuses(VIRTIO_BLK_T_WRITE_ZEROES, 0, buf(RANGE_AT, 16, false), VIRTIO_BLK_S_IOERR);
	write_range(RANGE_AT, UINT64_C(1) << 55, 8, 0);
	refuses(VIRTIO_BLK_T_WRITE_ZEROES, 0, buf(RANGE_AT, 16, false), VIRTIO_BLK_S_IOERR);
	assert_int_equal(dev.queue.failed, 6);
	/* Two segments where one is offered. */
	refuses(VIRTIO_BLK_T_DISCARD, 0, buf(RANGE_AT, 32, false), VIRTIO_BLK_S_UNSUPP);
}

static void id_without_room_for_it_is_an_error(void **state)
{
	(void)state;
	refuses(VIRTIO_BLK_T_GET_ID, 0, buf(DATA_AT, 20, false), VIRTIO_BLK_S_IOERR);
	assert_int_equal(dev.queue.failed, 1);
}

static void unknown_types_are_unsupported(void **state)
{
	struct vring_buf data = buf(DATA_AT, BLOCK, true);

	(void)state;
	refuses(VIRTIO_BLK_T_SCSI_CMD, 0, data, VIRTIO_BLK_S_UNSUPP);
	refuses(VIRTIO_BLK_T_SECURE_ERASE, 0, data, VIRTIO_BLK_S_UNSUPP);
	refuses(UINT32_MAX, 0, data, VIRTIO_BLK_S_UNSUPP);
	assert_int_equal(dev.queue.unsupported, 3);
}

static void discard_that_is_not_offered_is_unsupported(void **state)
{
	struct vring_buf data = buf(RANGE_AT, 16, false);

	(void)state;
	dev.vblk.features &=
		~((1ULL << VIRTIO_BLK_F_DISCARD) | (1ULL << VIRTIO_BLK_F_WRITE_ZEROES));
	write_range(RANGE_AT, 64, 128, 0);
	refuses(VIRTIO_BLK_T_DISCARD, 0, data, VIRTIO_BLK_S_UNSUPP);
	refuses(VIRTIO_BLK_T_WRITE_ZEROES, 0, data, VIRTIO_BLK_S_UNSUPP);
}

static void write_to_a_read_only_device_is_an_error_and_counts_as_refused(void **state)
{
	struct vring_buf data = buf(DATA_AT, BLOCK, true);
	struct pst_req *req;

	(void)state;
	refuses(VIRTIO_BLK_T_OUT, 0, buf(DATA_AT, BLOCK, false), VIRTIO_BLK_S_IOERR);
	assert_int_equal(dev.queue.unsupported, 1);
	assert_int_equal(dev.queue.failed, 0);
	run(VIRTIO_BLK_T_IN, 0, &data, 1);
	req = backend_has_one();
	pst_req_complete(req, 0);
	answered(VIRTIO_BLK_S_OK, BLOCK + 1);
}

static void data_that_is_not_whole_blocks_is_an_error(void **state)
{
	(void)state;
	refuses(VIRTIO_BLK_T_IN, 0, buf(DATA_AT, BLOCK - 512, true), VIRTIO_BLK_S_IOERR);
	refuses(VIRTIO_BLK_T_OUT, 0, buf(DATA_AT, BLOCK + 1, false), VIRTIO_BLK_S_IOERR);
	/* Data in the wrong direction is no data. */
	refuses(VIRTIO_BLK_T_IN, 0, buf(DATA_AT, BLOCK, false), VIRTIO_BLK_S_IOERR);
	refuses(VIRTIO_BLK_T_OUT, 0, buf(DATA_AT, BLOCK, true), VIRTIO_BLK_S_IOERR);
	assert_int_equal(dev.queue.failed, 4);
}

static void sector_that_overflows_is_an_error(void **state)
{
	struct vring_buf data = buf(DATA_AT, BLOCK, true);

	(void)state;
	/* Shifted out of 64 bits, these would be the first block. */
	refuses(VIRTIO_BLK_T_IN, UINT64_C(1) << 55, data, VIRTIO_BLK_S_IOERR);
	refuses(VIRTIO_BLK_T_IN, UINT64_C(1) << 63, data, VIRTIO_BLK_S_IOERR);
}

static void range_beyond_the_end_is_an_error(void **state)
{
	static const uint64_t sectors[] = {DISK / 512, DISK / 512 - 7, UINT64_MAX >> 9, 1};
	struct vring_buf data = buf(DATA_AT, BLOCK, true);

	(void)state;
	for (size_t i = 0; i < sizeof(sectors) / sizeof(sectors[0]); i++) {
		run(VIRTIO_BLK_T_IN, sectors[i], &data, 1);
		assert_int_equal(dev.count, 0);
		reap();
		answered(VIRTIO_BLK_S_IOERR, 1);
	}
}

static void chain_without_a_header_is_an_error(void **state)
{
	struct vring_buf bufs[] = {buf(HEADER_AT, 15, false), buf(STATUS_AT, 1, true)};

	(void)state;
	write_header(VIRTIO_BLK_T_FLUSH, 0);
	vring_add(&dev.maker, bufs, 2, false);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), 1);
	answered(VIRTIO_BLK_S_IOERR, 1);
	*at(STATUS_AT) = STATUS_UNTOUCHED;
	vring_add(&dev.maker, bufs + 1, 1, false);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), 1);
	answered(VIRTIO_BLK_S_IOERR, 1);
	assert_int_equal(dev.queue.failed, 2);
}

static void chain_without_a_status_comes_back_with_length_zero(void **state)
{
	struct vring_buf bufs[] = {buf(HEADER_AT, 16, false), buf(DATA_AT, BLOCK, false)};

	(void)state;
	write_header(VIRTIO_BLK_T_OUT, 0);
	vring_add(&dev.maker, bufs, 2, false);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), 1);
	answered(STATUS_UNTOUCHED, 0);
	assert_int_equal(dev.queue.failed, 1);
	assert_int_equal(dev.count, 0);
}

static void broken_queue_lets_requests_in_flight_complete(void **state)
{
	struct vring_buf data = buf(DATA_AT, BLOCK, true), nowhere = {0, 16, true};
	struct pst_req *req;
	uint16_t id;
	uint32_t len;

	(void)state;
	run(VIRTIO_BLK_T_IN, 0, &data, 1);
	vring_add(&dev.maker, &nowhere, 1, false);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), -EPROTO);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), -EPROTO);
	pst_virtq_publish(&dev.queue.virtq);
	assert_true(vring_take(&dev.maker, &id, &len));
	assert_int_equal(len, 0);
	req = backend_has_one();
	pst_req_complete(req, 0);
	answered(VIRTIO_BLK_S_OK, BLOCK + 1);
}

static void ring_larger_than_the_slots_breaks(void **state)
{
	struct vring_buf data = buf(DATA_AT, BLOCK, true);

	(void)state;
	dev.queue.num = NUM / 2;
	vring_add(&dev.maker, &data, 1, false);
	assert_int_equal(pst_vblk_queue_run(&dev.queue, NUM), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPLIT(range_flags_that_mean_nothing_are_unsupported),
		SPLIT(range_that_is_none_is_an_error),
		SPLIT(id_without_room_for_it_is_an_error),
		SPLIT(unknown_types_are_unsupported),
		SPLIT(discard_that_is_not_offered_is_unsupported),
		cmocka_unit_test_setup_teardown(
			write_to_a_read_only_device_is_an_error_and_counts_as_refused,
			start_read_only, stop),
		SPLIT(data_that_is_not_whole_blocks_is_an_error),
		SPLIT(sector_that_overflows_is_an_error),
		SPLIT(range_beyond_the_end_is_an_error),
		SPLIT(chain_without_a_header_is_an_error),
		BOTH(chain_without_a_status_comes_back_with_length_zero),
		BOTH(broken_queue_lets_requests_in_flight_complete),
		SPLIT(ring_larger_than_the_slots_breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
