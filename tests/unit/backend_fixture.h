/* SPDX-License-Identifier: MIT */
/* A backend on a real ring of this kernel, and requests that are waited for. */
#ifndef PST_BACKEND_FIXTURE_H
#define PST_BACKEND_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <penstock/blk.h>

#define MEMORY_SIZE ((size_t)8 << 20)

struct backend_fixture {
	struct pst_ring *ring;
	struct pst_pool *pool;
	struct pst_region region; /* registered with the ring; all of the pool */
	unsigned char *memory;
	struct pst_blk *blk;
	struct pst_blk_queue *queue;
	struct pst_error err;
	unsigned int nr_done;
	int status; /* of the last one, or the first that was not 0 */
};

extern struct backend_fixture fixture;

/* For a group of tests: makes ring and memory. Skips the program where io_uring is refused. */
void make_ring_or_skip(void);
void destroy_ring(void);

/* Opens device and queue; returns what pst_blk_open() did. */
int open_source(const char *source, const struct pst_blk_open_params *params);
void close_source(void);

/* One request, its data described by segments of memory; returns its status. */
int transfer(enum pst_req_op op, uint64_t offset, const struct iovec *segs, uint16_t nsegs,
	     bool in_region);
/* The same for one segment of the fixture's memory that begins at `at`. */
int transfer_at(enum pst_req_op op, uint64_t offset, size_t at, size_t length, bool in_region);
/* A request without data. */
int command(enum pst_req_op op, uint8_t flags, uint64_t offset, uint64_t length);

/* For several at once: fill, submit with pst_blk_submit(), then wait. */
void fill_request(struct pst_req *req, enum pst_req_op op, uint64_t offset,
		  const struct iovec *segs, uint16_t nsegs, bool in_region);
void wait_for(unsigned int nr_done);

/* Bytes that differ from place to place and from seed to seed. */
void fill_pattern(unsigned char *at, size_t length, unsigned int seed);
bool is_pattern(const unsigned char *at, size_t length, unsigned int seed);
bool is_zero(const unsigned char *at, size_t length);

#endif
