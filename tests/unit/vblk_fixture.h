/* SPDX-License-Identifier: MIT */
/*
 * A virtio-blk device between a hand-made ring and a backend that keeps what it is given until the
 * test completes it. The block layer between them is the real one.
 */
#ifndef TEST_VBLK_FIXTURE_H
#define TEST_VBLK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/virtio_blk.h>

#include "vblk.h"
#include "vring_maker.h"

#define NUM 16
#define BLOCK 4096U
#define DISK (UINT64_C(64) << 20)
/* Where things lie in the data area. */
#define HEADER_AT 0U
#define RANGE_AT 64U
#define STATUS_AT 128U
#define DATA_AT 8192U
#define STATUS_UNTOUCHED 0xee

struct device {
	struct vring_maker maker;
	struct pst_vblk vblk;
	struct pst_vblk_queue queue;
	struct pst_blk *blk;
	struct pst_blk_queue *blkq;
	struct pst_req *started[NUM]; /* what the backend has */
	unsigned int count;
	struct pst_op *deferred;
};

extern struct device dev;

/* cmocka's set-up and tear-down; the latter checks that nothing was forgotten. */
int start(void **state);
int start_packed(void **state);
int start_read_only(void **state);
int stop(void **state);

struct pst_blk_info disk_info(void);
/* Completes what the block layer has deferred. */
void reap(void);

unsigned char *at(uint32_t offset);
struct vring_buf buf(uint32_t offset, uint32_t len, bool device_writes);
void write_header(uint32_t type, uint64_t sector);
void write_range(uint32_t offset, uint64_t sector, uint32_t sectors, uint32_t flags);

/* Offers a request of header, data and status, each in a descriptor of its own, and runs it. */
void run(uint32_t type, uint64_t sector, const struct vring_buf *data, unsigned int count);
/* The only request that has been answered: its status and its length. */
void answered(uint8_t status, uint32_t len);
/* Takes the only request the backend has. */
struct pst_req *backend_has_one(void);

#define SPLIT(test) cmocka_unit_test_setup_teardown(test, start, stop)
/* For what depends on when a chain is given back; the rest does not see the format. */
#define BOTH(test)                                                                                 \
	SPLIT(test),                                                                               \
	{                                                                                          \
#test "_packed", test, start_packed, stop, NULL                                    \
	}

#endif
