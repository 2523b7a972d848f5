/* SPDX-License-Identifier: MIT */
/*
 * What the file backend asks of the kernel, and what it does with answers a real one seldom gives:
 * half the data, try again, not supported. The kernel here is a model, the file is real.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <penstock/blk.h>

#include "compat.h"
#include "file_backend.h"
#include "uring.h"

#define ENTRIES 64
#define FILE_SIZE (1 << 20)
#define SLICE 8192 /* where it begins in the file */

static struct pst_ring ring;
static struct io_uring_sqe *sqes; /* of two entries' size each, as with IORING_SETUP_SQE128 */
static unsigned int sq_head;	  /* the model's */

static struct pst_blk *blk;
static struct pst_blk_queue *queue;
static char path[64];
static int fd; /* the model's */

/* How the model answers, and what it was asked. */
static uint32_t most;	   /* bytes of one transfer */
static int answers[256];   /* by opcode; 0: do it */
static int passing;	   /* so many times -EINTR first */
static uint8_t asked[512]; /* opcodes, in order */
static unsigned int nr_asked;
static struct io_uring_sqe last; /* the last entry */

static int nr_done, status;
static unsigned char memory[FILE_SIZE] __attribute__((aligned(4096)));

static int32_t move(const struct io_uring_sqe *sqe, bool write)
{
	struct iovec one = {(void *)(uintptr_t)sqe->addr, sqe->len};
	bool vector = sqe->opcode == IORING_OP_READV || sqe->opcode == IORING_OP_WRITEV;
	const struct iovec *segs = vector ? (const struct iovec *)(uintptr_t)sqe->addr : &one;
	uint32_t n = vector ? sqe->len : 1, i, total = 0;
	const struct pst_file_dev *dev = blk->priv;

	/* The model has no O_DIRECT, a real kernel would refuse what is not aligned for it. */
	assert_int_equal(sqe->off % dev->io_align, 0);

	for (i = 0; i < n && total < most; i++) {
		size_t length;

		assert_int_equal((uintptr_t)segs[i].iov_base % dev->mem_align, 0);
		assert_int_equal(segs[i].iov_len % dev->io_align, 0);
		length = segs[i].iov_len < most - total ? segs[i].iov_len : most - total;

		assert_int_equal(
			write ? pwrite(fd, segs[i].iov_base, length, (off_t)(sqe->off + total))
			      : pread(fd, segs[i].iov_base, length, (off_t)(sqe->off + total)),
			length);
		total += (uint32_t)length;
	}
	return (int32_t)total;
}

static int32_t execute(const struct io_uring_sqe *sqe)
{
	if (passing) {
		passing--;
		return -EINTR;
	}
	if (answers[sqe->opcode])
		return answers[sqe->opcode];
	switch (sqe->opcode) {
	case IORING_OP_READ:
	case IORING_OP_READV:
		return move(sqe, false);
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV:
		return move(sqe, true);
	default:
		return 0;
	}
}

/* Runs deferred operations and the model until nothing is left to do. */
static void run(void)
{
	for (;;) {
		struct pst_op *op = ring.deferred_head;

		if (op) {
			ring.deferred_head = op->next;
			if (!op->next)
				ring.deferred_tail = &ring.deferred_head;
			op->done(op, op->res, 0, 0);
		} else if (sq_head != ring.ring.sq.sqe_tail) {
			last = sqes[(sq_head & (ENTRIES - 1)) * 2];
			sq_head++;
			*ring.ring.sq.khead = sq_head;
			ring.inflight--;
			asked[nr_asked++] = last.opcode;
			op = (struct pst_op *)(uintptr_t)last.user_data;
			op->done(op, execute(&last), 0, 0);
		} else {
			break;
		}
	}
}

static int make(void **state)
{
	struct pst_blk_open_params params = {.offset = SLICE};
	char source[80];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s", "/tmp/penstock-file.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SLICE + FILE_SIZE), 0);
	(void)snprintf(source, sizeof(source), "file:%s", path);
	if (pst_blk_open(source, &params, &blk, NULL) != 0)
		return -1;

	memset(&ring, 0, sizeof(ring));
	sqes = calloc(ENTRIES, 128);
	ring.ring.flags = IORING_SETUP_SQE128;
	ring.ring.sq.khead = calloc(1, sizeof(unsigned int));
	ring.ring.sq.ring_entries = ENTRIES;
	ring.ring.sq.ring_mask = ENTRIES - 1;
	ring.ring.sq.sqes = sqes;
	ring.cq_size = ENTRIES;
	ring.deferred_tail = &ring.deferred_head;
	sq_head = 0;

	most = UINT32_MAX;
	memset(answers, 0, sizeof(answers));
	passing = 0;
	nr_asked = 0;
	return 0;
}

static void open_queue(void)
{
	struct pst_blk_queue_params params = {.ring = &ring, .depth = 16};

	assert_int_equal(pst_blk_queue_open(blk, &params, &queue, NULL), 0);
}

static int make_open(void **state)
{
	if (make(state))
		return -1;
	open_queue();
	return 0;
}

static int destroy(void **state)
{
	(void)state;
	pst_blk_queue_close(queue);
	pst_blk_close(blk);
	free(ring.ring.sq.khead);
	free(sqes);
	close(fd);
	return unlink(path);
}

static void done(struct pst_req *req, int result)
{
	(void)req;
	nr_done++;
	status = result;
}

static int request(enum pst_req_op op, uint8_t flags, uint64_t offset, uint64_t length,
		   const struct iovec *segs, uint16_t nsegs)
{
	struct pst_req req = {
		.done = done,
		.op = (uint8_t)op,
		.flags = flags,
		.offset = offset,
		.length = length,
		.segs = segs,
		.nsegs = nsegs,
	};

	/* Nothing may be relied on there. */
	memset(req.scratch, 0xff, sizeof(req.scratch));
	nr_done = 0;
	nr_asked = 0;
	pst_blk_submit(queue, &req);
	assert_int_equal(nr_done, 0);
	run();
	assert_int_equal(nr_done, 1);
	return status;
}

static void fill(void)
{
	size_t i;

	for (i = 0; i < sizeof(memory); i++)
		memory[i] = (unsigned char)(i * 7 + (i >> 9));
}

/* Writes and reads 16384 bytes with segments, the model giving `limit` bytes at a time. */
static void in_portions(uint32_t limit, const struct iovec *segs, uint16_t nsegs)
{
	static unsigned char before[65536], there[16384];
	size_t at = 0;
	uint16_t i;

	fill();
	memcpy(before, memory, sizeof(before));
	most = limit;
	assert_int_equal(request(PST_REQ_WRITE, 0, 512, 16384, segs, nsegs), 0);
	assert_int_equal(pread(fd, there, sizeof(there), SLICE + 512), sizeof(there));
	for (i = 0; i < nsegs; at += segs[i++].iov_len)
		assert_memory_equal(there + at, segs[i].iov_base, segs[i].iov_len);
	memset(memory, 0, sizeof(before));
	assert_int_equal(request(PST_REQ_READ, 0, 512, 16384, segs, nsegs), 0);
	for (i = 0; i < nsegs; i++)
		assert_memory_equal(segs[i].iov_base,
				    before + ((unsigned char *)segs[i].iov_base - memory),
				    segs[i].iov_len);
	most = UINT32_MAX;
}

static void short_transfers_go_on_from_where_they_ended(void **state)
{
	const struct iovec one[] = {{memory + 4096, 16384}};
	const struct iovec vector[] = {
		{memory + 8192, 4096}, {memory, 1024}, {memory + 20480, 11264}};
	const struct iovec odd[] = {{memory + 1, 777}, {memory + 20001, 15607}};

	(void)state;
	in_portions(UINT32_MAX, one, 1);
	assert_int_equal(nr_asked, 1);
	in_portions(4096, one, 1);
	assert_int_equal(nr_asked, 4);
	in_portions(UINT32_MAX, vector, 3);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(asked[0], IORING_OP_READV);
	in_portions(4608, vector, 3);
	assert_int_equal(asked[1], IORING_OP_READ);
	in_portions(512, vector, 3);
	in_portions(1536, odd, 2);
	/* Not even a block: it is done again from the block's begin where O_DIRECT needs that. */
	in_portions(700, one, 1);
	in_portions(700, vector, 3);
	in_portions(700, odd, 2);
}

static void nothing_transferred_is_an_error_and_not_an_endless_turn(void **state)
{
	const struct iovec one[] = {{memory, 4096}};

	(void)state;
	most = 0;
	assert_int_equal(request(PST_REQ_READ, 0, 0, 4096, one, 1), -EIO);
	assert_int_equal(request(PST_REQ_WRITE, 0, 0, 4096, one, 1), -EIO);
	assert_int_equal(queue->stats.errors, 2);
}

static void what_passes_is_tried_again_and_not_for_ever(void **state)
{
	const struct iovec one[] = {{memory, 4096}};

	(void)state;
	passing = 5;
	assert_int_equal(request(PST_REQ_WRITE, 0, 0, 4096, one, 1), 0);
	assert_int_equal(nr_asked, 6);
	passing = 3;
	assert_int_equal(request(PST_REQ_FLUSH, 0, 0, 0, NULL, 0), 0);
	answers[IORING_OP_READ] = -EAGAIN;
	assert_int_equal(request(PST_REQ_READ, 0, 0, 4096, one, 1), -EAGAIN);
	assert_true(nr_asked <= 200);
	answers[IORING_OP_READ] = -EIO;
	assert_int_equal(request(PST_REQ_READ, 0, 0, 4096, one, 1), -EIO);
	assert_int_equal(nr_asked, 1);
}

static void a_flush_is_of_the_data_of_the_whole_file(void **state)
{
	(void)state;
	assert_int_equal(request(PST_REQ_FLUSH, 0, 0, 0, NULL, 0), 0);
	assert_int_equal(last.opcode, IORING_OP_FSYNC);
	assert_int_equal(last.fsync_flags, IORING_FSYNC_DATASYNC);
	assert_int_equal(last.off | last.addr | last.len, 0);
	/* A write that failed in the page cache is said once, by the flush. */
	answers[IORING_OP_FSYNC] = -EIO;
	assert_int_equal(request(PST_REQ_FLUSH, 0, 0, 0, NULL, 0), -EIO);
	answers[IORING_OP_FSYNC] = -EOPNOTSUPP;
	assert_int_equal(request(PST_REQ_FLUSH, 0, 0, 0, NULL, 0), -EOPNOTSUPP);
}

static void zeroing_falls_back_to_writing_and_remembers(void **state)
{
	const uint64_t length = FILE_SIZE - 1024;
	static unsigned char there[FILE_SIZE];
	const struct iovec one[] = {{memory, FILE_SIZE}};
	size_t i;

	(void)state;
	assert_int_equal(request(PST_REQ_WRITE_ZEROES, PST_REQ_UNMAP, 512, length, NULL, 0), 0);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(last.len, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
	assert_int_equal(last.off, SLICE + 512);
	assert_int_equal(last.addr, length);
	assert_int_equal(request(PST_REQ_WRITE_ZEROES, 0, 512, length, NULL, 0), 0);
	assert_int_equal(last.len, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE);

	fill();
	assert_int_equal(request(PST_REQ_WRITE, 0, 0, FILE_SIZE, one, 1), 0);
	answers[IORING_OP_FALLOCATE] = -EOPNOTSUPP;
	most = 200000;
	assert_int_equal(request(PST_REQ_WRITE_ZEROES, PST_REQ_UNMAP, 512, length, NULL, 0), 0);
	assert_int_equal(asked[0], IORING_OP_FALLOCATE);
	assert_int_equal(asked[1], IORING_OP_FALLOCATE);
	assert_int_equal(asked[2], IORING_OP_WRITE);
	assert_int_equal(pread(fd, there, FILE_SIZE, SLICE), FILE_SIZE);
	assert_memory_equal(there, memory, 512);
	assert_memory_equal(there + 512 + length, memory + 512 + length, 512);
	for (i = 512; i < 512 + length && there[i] == 0; i++)
		;
	assert_int_equal(i, 512 + length);

	assert_int_equal(request(PST_REQ_WRITE_ZEROES, 0, 0, 4096, NULL, 0), 0);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(asked[0], IORING_OP_WRITE);
	/* There is no other way to discard. */
	assert_int_equal(request(PST_REQ_DISCARD, 0, 0, 4096, NULL, 0), -EOPNOTSUPP);
	assert_int_equal(queue->stats.refused, 1);
	assert_int_equal(queue->stats.errors, 0);
}

static void a_block_device_is_discarded_by_command_or_by_zeroing(void **state)
{
	struct pst_file_dev *dev = blk->priv;

	(void)state;
	dev->block = true;
	open_queue();
	assert_int_equal(request(PST_REQ_DISCARD, 0, 8192, 4096, NULL, 0), 0);
	assert_int_equal(last.opcode, IORING_OP_URING_CMD);
	assert_int_equal(last.cmd_op, PST_BLOCK_URING_CMD_DISCARD);
	assert_int_equal(last.addr, SLICE + 8192);
	assert_int_equal(last.addr3, 4096);
	/* The kernel wants nothing in these. */
	assert_int_equal(last.ioprio | last.__pad1 | last.len | last.rw_flags, 0);
	assert_int_equal(last.file_index, 0);

	answers[IORING_OP_URING_CMD] = -EOPNOTSUPP;
	assert_int_equal(request(PST_REQ_DISCARD, 0, 8192, 4096, NULL, 0), 0);
	assert_int_equal(nr_asked, 2);
	assert_int_equal(last.opcode, IORING_OP_FALLOCATE);
	assert_int_equal(last.off, SLICE + 8192);
	assert_int_equal(last.addr, 4096);
	assert_int_equal(last.len, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
	assert_int_equal(request(PST_REQ_DISCARD, 0, 8192, 4096, NULL, 0), 0);
	assert_int_equal(nr_asked, 1);
}

static void a_full_ring_is_waited_for(void **state)
{
	const struct iovec odd[] = {{memory + 1, 511}, {memory + 4096, 3585}};
	struct pst_req reqs[3];
	size_t i;

	(void)state;
	ring.cq_size = 1;
	nr_done = 0;
	for (i = 0; i < 3; i++) {
		reqs[i] = (struct pst_req){.done = done,
					   .op = PST_REQ_WRITE,
					   .length = 4096,
					   .offset = i * 4096,
					   .segs = odd,
					   .nsegs = 2};
		pst_blk_submit(queue, &reqs[i]);
	}
	/* While the entry is not taken, the others are only deferred anew. */
	for (i = 0; i < 10; i++) {
		struct pst_op *op = ring.deferred_head;

		assert_non_null(op);
		ring.deferred_head = op->next;
		if (!op->next)
			ring.deferred_tail = &ring.deferred_head;
		op->done(op, op->res, 0, 0);
	}
	assert_int_equal(nr_done, 0);
	ring.cq_size = ENTRIES;
	run();
	assert_int_equal(nr_done, 3);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_open, destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(short_transfers_go_on_from_where_they_ended),
		TEST(nothing_transferred_is_an_error_and_not_an_endless_turn),
		TEST(what_passes_is_tried_again_and_not_for_ever),
		TEST(a_flush_is_of_the_data_of_the_whole_file),
		TEST(zeroing_falls_back_to_writing_and_remembers),
		cmocka_unit_test_setup_teardown(
			a_block_device_is_discarded_by_command_or_by_zeroing, make, destroy),
		TEST(a_full_ring_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
