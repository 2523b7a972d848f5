/* SPDX-License-Identifier: MIT */
/* A disk in memory. */
#include <errno.h>
#include <string.h>

#include "backend_fixture.h"

static const struct pst_blk_open_params plain;

static int open_disk(void **state)
{
	(void)state;
	return open_source("mem:8M", &plain);
}

static int close_disk(void **state)
{
	(void)state;
	close_source();
	return 0;
}

static void a_new_disk_is_zeroes(void **state)
{
	(void)state;
	assert_int_equal(fixture.blk->info.size, 8 << 20);
	assert_false(fixture.blk->info.volatile_cache);
	memset(fixture.memory, 1, 1 << 20);
	assert_int_equal(transfer_at(PST_REQ_READ, 7 << 20, 0, 1 << 20, true), 0);
	assert_true(is_zero(fixture.memory, 1 << 20));
}

static void what_is_written_is_read_from_other_segments(void **state)
{
	struct iovec out[] = {{fixture.memory, 1000}, {fixture.memory + 5001, 3096}};
	struct iovec in[] = {{fixture.memory + (1 << 20) + 3, 1},
			     {fixture.memory + (2 << 20), 4000},
			     {fixture.memory + (3 << 20) + 17, 95}};
	unsigned char *joined = fixture.memory + (4 << 20);

	(void)state;
	fill_pattern(joined, 4096, 1);
	memcpy(out[0].iov_base, joined, 1000);
	memcpy(out[1].iov_base, joined + 1000, 3096);
	assert_int_equal(transfer(PST_REQ_WRITE, 512, out, 2, true), 0);
	assert_int_equal(transfer(PST_REQ_READ, 512, in, 3, false), 0);
	memcpy(joined, in[0].iov_base, 1);
	memcpy(joined + 1, in[1].iov_base, 4000);
	memcpy(joined + 4001, in[2].iov_base, 95);
	assert_true(is_pattern(joined, 4096, 1));
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 0, 512, true), 0);
	assert_true(is_zero(fixture.memory, 512));
}

static void zeroed(enum pst_req_op op, uint8_t flags)
{
	/* Begins and ends within a page. */
	const uint64_t from = 4096 * 3 + 512, length = 4096 * 10 + 1024;

	fill_pattern(fixture.memory, 1 << 20, 2);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 0, 0, 1 << 20, true), 0);
	assert_int_equal(command(op, flags, from, length), 0);
	memset(fixture.memory, 1, 1 << 20);
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 0, 1 << 20, true), 0);
	assert_true(is_zero(fixture.memory + from, length));
	memmove(fixture.memory + (2 << 20), fixture.memory, 1 << 20);
	fill_pattern(fixture.memory, 1 << 20, 2);
	assert_memory_equal(fixture.memory, fixture.memory + (2 << 20), from);
	assert_memory_equal(fixture.memory + from + length,
			    fixture.memory + (2 << 20) + from + length, (1 << 20) - from - length);
}

static void discarded_and_zeroed_blocks_read_as_zeroes_and_no_others(void **state)
{
	(void)state;
	zeroed(PST_REQ_DISCARD, 0);
	zeroed(PST_REQ_WRITE_ZEROES, 0);
	zeroed(PST_REQ_WRITE_ZEROES, PST_REQ_UNMAP);
	assert_int_equal(command(PST_REQ_DISCARD, 0, 512, 512), 0);
	assert_int_equal(command(PST_REQ_DISCARD, 0, 0, 8 << 20), 0);
}

static void a_flush_succeeds_and_all_is_counted(void **state)
{
	(void)state;
	assert_int_equal(command(PST_REQ_FLUSH, 0, 0, 0), 0);
	assert_int_equal(transfer_at(PST_REQ_READ, 8 << 20, 0, 512, true), -ENOSPC);
	assert_int_equal(fixture.queue->stats.flushes, 1);
	assert_int_equal(fixture.queue->stats.errors, 1);
	assert_int_equal(fixture.queue->stats.fixed + fixture.queue->stats.unfixed, 0);
}

static void read_only_refuses(void **state)
{
	struct pst_blk_open_params params = {.read_only = true};

	(void)state;
	assert_int_equal(open_source("mem:1M", &params), 0);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 0, 0, 512, true), -EROFS);
	assert_int_equal(command(PST_REQ_DISCARD, 0, 0, 512), -EROFS);
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 0, 512, true), 0);
	close_source();
}

static void a_slice_has_its_size(void **state)
{
	struct pst_blk_open_params params = {.offset = 1 << 20, .size = 1 << 20};

	(void)state;
	assert_int_equal(open_source("mem:4M", &params), 0);
	assert_int_equal(fixture.blk->info.size, 1 << 20);
	close_source();
}

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	assert_int_equal(open_source("mem:lots", &plain), -EINVAL);
	assert_non_null(strstr(fixture.err.text, "mem:1G"));
	assert_int_equal(open_source("mem:1P", &plain), -ENOMEM);
	assert_non_null(strstr(fixture.err.text, "take a smaller one"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_new_disk_is_zeroes, open_disk, close_disk),
		cmocka_unit_test_setup_teardown(what_is_written_is_read_from_other_segments,
						open_disk, close_disk),
		cmocka_unit_test_setup_teardown(
			discarded_and_zeroed_blocks_read_as_zeroes_and_no_others, open_disk,
			close_disk),
		cmocka_unit_test_setup_teardown(a_flush_succeeds_and_all_is_counted, open_disk,
						close_disk),
		cmocka_unit_test(read_only_refuses),
		cmocka_unit_test(a_slice_has_its_size),
		cmocka_unit_test(what_cannot_be_is_refused),
	};
	int failed;

	make_ring_or_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	destroy_ring();
	return failed;
}
