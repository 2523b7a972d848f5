/* SPDX-License-Identifier: MIT */
/* A queue attached to hand-made rings, and what the tests of both formats say about it. */
#ifndef TEST_VIRTQ_FIXTURE_H
#define TEST_VIRTQ_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "vring_maker.h"

struct fixture {
	struct vring_maker maker;
	struct pst_virtq vq;
	struct iovec iov[PST_VIRTQ_CHAIN_MAX];
	struct pst_chain chain;
};

void fixture_start(struct fixture *f, uint16_t num, bool packed, bool event_idx, uint16_t start);
/* The same with a configuration that the test has changed. */
void fixture_attach(struct fixture *f, const struct pst_virtq_config *cfg);
void fixture_stop(struct fixture *f);

/* A buffer in the data area. */
struct vring_buf fixture_buf(const struct fixture *f, uint32_t offset, uint32_t len,
			     bool device_writes);
/* Adds a chain of one readable buffer of 16 bytes and `writable` writable ones of 512. */
int fixture_add(struct fixture *f, unsigned int writable, bool indirect);
/* Pops the only chain there is and checks that it is this one. */
void fixture_pop(struct fixture *f, int id);
/* Takes a used element and checks what it says. */
void fixture_take(struct fixture *f, int id, uint32_t len);

/*
 * What every violation does: the queue is broken for ever with a reason that has these words; the
 * head comes back with length 0 when it is given (-1: it cannot); a chain that was in flight before
 * completes as if nothing had happened. To be called with one chain in flight, `innocent`.
 */
void fixture_breaks(struct fixture *f, int innocent, const char *words, int head);

#endif
