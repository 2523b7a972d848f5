/* SPDX-License-Identifier: MIT */
/* The checks and the splitting every backend gets, over one that notes what reaches it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <penstock/blk.h>

#include "uring.h"

#define MAX_SEEN 512

static struct pst_req *seen[MAX_SEEN];
static unsigned int nr_seen;
static unsigned int nr_done;
static int last_status;

static void close_stub(struct pst_blk *blk)
{
	(void)blk;
}

static int open_queue(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
		      struct pst_error *err)
{
	(void)queue;
	(void)params;
	(void)err;
	return 0;
}

static void close_queue(struct pst_blk_queue *queue)
{
	(void)queue;
}

static void submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	(void)queue;
	seen[nr_seen++] = req;
}

static const struct pst_blk_ops ops = {
	.name = "stub",
	.close = close_stub,
	.queue_open = open_queue,
	.queue_close = close_queue,
	.submit = submit,
};

static void done(struct pst_req *req, int status)
{
	(void)req;
	nr_done++;
	last_status = status;
}

/* Nothing but the list of deferred operations is used of it. */
static struct pst_ring ring;
static struct pst_blk *blk;
static struct pst_blk_queue *queue;

/* What pst_ring_reap() does with deferred operations, without a kernel. */
static void reap(void)
{
	struct pst_op *op = ring.deferred_head;

	ring.deferred_head = NULL;
	ring.deferred_tail = &ring.deferred_head;
	while (op) {
		struct pst_op *next = op->next;

		op->done(op, op->res, 0, 0);
		op = next;
	}
}

static int set_up(void **state)
{
	const struct pst_blk_info info = {
		.size = 64 << 20,
		.block_size = 512,
		.physical_block_size = 512,
		.max_transfer = 8192,
		.max_discard = 1 << 20,
	};
	const struct pst_blk_queue_params params = {.ring = &ring, .depth = 16};

	(void)state;
	ring.deferred_head = NULL;
	ring.deferred_tail = &ring.deferred_head;
	nr_seen = nr_done = 0;
	last_status = 1;
	assert_int_equal(pst_blk_create(&ops, &info, NULL, "stub", &blk, NULL), 0);
	assert_int_equal(pst_blk_queue_open(blk, &params, &queue, NULL), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pst_blk_queue_close(queue);
	pst_blk_close(blk);
	return 0;
}

static struct pst_req request(uint8_t op, uint64_t offset, uint64_t length,
			      const struct iovec *segs, uint16_t nsegs)
{
	return (struct pst_req){
		.done = done,
		.op = op,
		.offset = offset,
		.length = length,
		.segs = segs,
		.nsegs = nsegs,
	};
}

/* Refused with this status, without reaching the backend, and not from within submit. */
static void assert_refused(struct pst_req req, int status)
{
	unsigned int before = nr_done;

	pst_blk_submit(queue, &req);
	assert_int_equal(nr_done, before);
	reap();
	assert_int_equal(nr_done, before + 1);
	assert_int_equal(last_status, status);
	assert_int_equal(nr_seen, 0);
}

static void what_fits_goes_through_as_it_is(void **state)
{
	struct iovec seg = {(void *)0x1000, 8192};
	struct pst_req req = request(PST_REQ_READ, 4096, 8192, &seg, 1);

	(void)state;
	pst_blk_submit(queue, &req);
	assert_int_equal(nr_seen, 1);
	assert_ptr_equal(seen[0], &req);
	pst_req_complete(&req, 0);
	assert_int_equal(nr_done, 1);
	assert_int_equal(queue->stats.reads, 1);
	assert_int_equal(queue->stats.bytes_read, 8192);
}

static void bad_requests_are_answered_and_go_no_further(void **state)
{
	struct iovec seg = {(void *)0x1000, 512};

	(void)state;
	assert_refused(request(PST_REQ_READ, 0, 0, &seg, 1), -EINVAL);
	assert_refused(request(PST_REQ_READ, 100, 512, &seg, 1), -EINVAL);
	assert_refused(request(PST_REQ_READ, 0, 100, &seg, 1), -EINVAL);
	assert_refused(request(PST_REQ_WRITE, 64 << 20, 512, &seg, 1), -ENOSPC);
	assert_refused(request(PST_REQ_WRITE, UINT64_MAX - 511, 1024, &seg, 1), -ENOSPC);
	assert_refused(request(PST_REQ_WRITE, 0, UINT64_MAX - 511, &seg, 1), -ENOSPC);
	assert_refused(request(PST_REQ_READ, 0, 512, &seg, 0), -EINVAL);
	assert_refused(request(PST_REQ_FLUSH, 0, 512, &seg, 1), -EINVAL);
	assert_refused(request(PST_REQ_WRITE_ZEROES, 0, 512, NULL, 0), -EOPNOTSUPP);
	assert_refused(request(99, 0, 512, &seg, 1), -EOPNOTSUPP);
	assert_int_equal(queue->stats.refused, 2);
	assert_int_equal(queue->stats.errors, 8);
}

static void a_read_only_device_takes_no_writes(void **state)
{
	struct iovec seg = {(void *)0x1000, 512};

	(void)state;
	blk->info.read_only = true;
	assert_refused(request(PST_REQ_WRITE, 0, 512, &seg, 1), -EROFS);
	assert_refused(request(PST_REQ_DISCARD, 0, 512, NULL, 0), -EROFS);
	assert_int_equal(queue->stats.refused, 2);
}

/* Segments of every length, cut at multiples of the limit: each byte once, in order. */
static void a_long_request_is_cut_at_the_limit(void **state)
{
	struct iovec segs[4] = {
		{(void *)0x100000, 512},
		{(void *)0x200000, 20000},
		{(void *)0x300000, 100},
		{(void *)0x400000, 32768 - 20612},
	};
	struct pst_req req = request(PST_REQ_WRITE, 1 << 20, 32768, segs, 4);
	uint64_t at = 0;
	unsigned int i, j, part = 0;
	size_t offset = 0;

	(void)state;
	pst_blk_submit(queue, &req);
	assert_int_equal(nr_seen, 4);
	for (i = 0; i < nr_seen; i++) {
		uint64_t sum = 0;

		assert_int_equal(seen[i]->offset, (1 << 20) + at);
		assert_int_equal(seen[i]->length, 8192);
		for (j = 0; j < seen[i]->nsegs; j++) {
			assert_ptr_equal(seen[i]->segs[j].iov_base,
					 (char *)segs[part].iov_base + offset);
			offset += seen[i]->segs[j].iov_len;
			sum += seen[i]->segs[j].iov_len;
			if (offset == segs[part].iov_len) {
				part++;
				offset = 0;
			}
		}
		assert_int_equal(sum, 8192);
		at += 8192;
	}
	assert_int_equal(part, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(nr_done, 0);
		pst_req_complete(seen[i], 0);
	}
	assert_int_equal(nr_done, 1);
	assert_int_equal(last_status, 0);
	assert_int_equal(queue->stats.writes, 1);
}

static void more_pieces_than_there_are_follow_as_they_come_back(void **state)
{
	struct pst_req req = request(PST_REQ_DISCARD, 0, 60 << 20, NULL, 0);
	unsigned int i;

	(void)state;
	pst_blk_submit(queue, &req);
	assert_in_range(nr_seen, 1, 59);
	for (i = 0; i < 60; i++) {
		assert_int_equal(nr_done, 0);
		assert_int_equal(seen[i]->offset, (uint64_t)i << 20);
		pst_req_complete(seen[i], 0);
	}
	assert_int_equal(nr_seen, 60);
	assert_int_equal(nr_done, 1);
}

static void the_first_error_ends_a_split_request_once(void **state)
{
	struct pst_req req = request(PST_REQ_DISCARD, 0, 60 << 20, NULL, 0);
	unsigned int sent, i;

	(void)state;
	pst_blk_submit(queue, &req);
	sent = nr_seen;
	pst_req_complete(seen[0], -EIO);
	pst_req_complete(seen[1], -ENOSPC);
	/* What was not sent yet is not sent any more. */
	for (i = 2; i < sent; i++) {
		assert_int_equal(nr_done, 0);
		pst_req_complete(seen[i], 0);
	}
	reap();
	assert_int_equal(nr_seen, sent);
	assert_int_equal(nr_done, 1);
	assert_int_equal(last_status, -EIO);
	assert_int_equal(queue->stats.errors, 1);
}

/* One that fails while it waits behind another must not be forgotten. */
static void a_request_that_failed_while_waiting_in_line_completes(void **state)
{
	struct pst_req first = request(PST_REQ_DISCARD, 0, 31 << 20, NULL, 0);
	struct pst_req second = request(PST_REQ_DISCARD, 0, 8 << 20, NULL, 0);
	struct pst_req third = request(PST_REQ_DISCARD, 0, 8 << 20, NULL, 0);
	unsigned int i;

	(void)state;
	pst_blk_submit(queue, &first);
	pst_blk_submit(queue, &second);
	pst_blk_submit(queue, &third);
	/* The second has one piece in flight; that one fails. */
	pst_req_complete(seen[31], -EIO);
	for (i = 0; i < 31; i++)
		pst_req_complete(seen[i], 0);
	for (i = 32; i < nr_seen; i++)
		pst_req_complete(seen[i], 0);
	reap();
	assert_int_equal(nr_done, 3);
	assert_int_equal(queue->stats.errors, 1);
	assert_int_equal(queue->stats.discards, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_fits_goes_through_as_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_requests_are_answered_and_go_no_further, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_read_only_device_takes_no_writes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_long_request_is_cut_at_the_limit, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(more_pieces_than_there_are_follow_as_they_come_back,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_first_error_ends_a_split_request_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_request_that_failed_while_waiting_in_line_completes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
