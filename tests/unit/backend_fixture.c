/* SPDX-License-Identifier: MIT */
#include "backend_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct backend_fixture fixture;

void make_ring_or_skip(void)
{
	struct pst_ring_params params = {
		.entries = 64,
		.files = 4,
		.regions = 4,
		.sqpoll_cpu = -1,
	};
	struct pst_error err = PST_ERROR_INIT;
	int ret = pst_ring_create(&params, &fixture.ring, &err);

	if (ret == -EPERM || ret == -ENOSYS) {
		printf("1..0 # SKIP io_uring is refused here: %s\n", err.text);
		exit(0);
	}
	if (ret || pst_pool_create(MEMORY_SIZE, PST_POOL_PAGES_NORMAL, -1, &fixture.pool, &err)) {
		fprintf(stderr, "no ring or memory: %s\n", err.text);
		exit(1);
	}
	fixture.memory = pst_pool_addr(fixture.pool);
	(void)pst_pool_region(fixture.pool, 0, MEMORY_SIZE, &fixture.region);
	if (pst_ring_register_region(fixture.ring, &fixture.region, &err) < 0) {
		printf("1..0 # SKIP memory cannot be registered here: %s\n", err.text);
		exit(0);
	}
}

void destroy_ring(void)
{
	(void)pst_ring_unregister_region(fixture.ring, &fixture.region);
	pst_pool_destroy(fixture.pool);
	pst_ring_destroy(fixture.ring);
}

int open_source(const char *source, const struct pst_blk_open_params *params)
{
	struct pst_blk_queue_params queue = {.ring = fixture.ring, .depth = 64, .fixed = true};
	int ret;

	fixture.err.text[0] = '\0';
	ret = pst_blk_open(source, params, &fixture.blk, &fixture.err);
	if (ret)
		return ret;
	assert_int_equal(pst_blk_queue_open(fixture.blk, &queue, &fixture.queue, &fixture.err), 0);
	return 0;
}

void close_source(void)
{
	pst_blk_queue_close(fixture.queue);
	pst_blk_close(fixture.blk);
	fixture.queue = NULL;
	fixture.blk = NULL;
}

static void done(struct pst_req *req, int status)
{
	(void)req;
	fixture.nr_done++;
	if (fixture.status == 0)
		fixture.status = status;
}

void fill_request(struct pst_req *req, enum pst_req_op op, uint64_t offset,
		  const struct iovec *segs, uint16_t nsegs, bool in_region)
{
	uint16_t i;

	memset(req, 0, sizeof(*req));
	/* A backend may not rely on what it finds there. */
	memset(req->scratch, 0xa5, sizeof(req->scratch));
	req->done = done;
	req->op = (uint8_t)op;
	req->offset = offset;
	req->segs = segs;
	req->nsegs = nsegs;
	for (i = 0; i < nsegs; i++)
		req->length += segs[i].iov_len;
	req->region = in_region ? &fixture.region : NULL;
}

void wait_for(unsigned int nr_done)
{
	while (fixture.nr_done < nr_done)
		assert_true(pst_ring_wait(fixture.ring, 10000000) > 0);
	assert_int_equal(fixture.nr_done, nr_done);
}

static int submit_and_wait(struct pst_req *req)
{
	fixture.nr_done = 0;
	fixture.status = 0;
	pst_blk_submit(fixture.queue, req);
	/* Never from within submit. */
	assert_int_equal(fixture.nr_done, 0);
	wait_for(1);
	return fixture.status;
}

int transfer(enum pst_req_op op, uint64_t offset, const struct iovec *segs, uint16_t nsegs,
	     bool in_region)
{
	struct pst_req req;

	fill_request(&req, op, offset, segs, nsegs, in_region);
	return submit_and_wait(&req);
}

int transfer_at(enum pst_req_op op, uint64_t offset, size_t at, size_t length, bool in_region)
{
	struct iovec seg = {fixture.memory + at, length};

	return transfer(op, offset, &seg, 1, in_region);
}

int command(enum pst_req_op op, uint8_t flags, uint64_t offset, uint64_t length)
{
	struct pst_req req;

	fill_request(&req, op, offset, NULL, 0, false);
	req.flags = flags;
	req.length = length;
	return submit_and_wait(&req);
}

static unsigned char pattern_at(size_t at, unsigned int seed)
{
	return (unsigned char)((at * 2654435761U >> 8) + seed * 97U + 1);
}

void fill_pattern(unsigned char *at, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		at[i] = pattern_at(i, seed);
}

bool is_pattern(const unsigned char *at, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length && at[i] == pattern_at(i, seed); i++)
		;
	return i == length;
}

bool is_zero(const unsigned char *at, size_t length)
{
	size_t i;

	for (i = 0; i < length && at[i] == 0; i++)
		;
	return i == length;
}
