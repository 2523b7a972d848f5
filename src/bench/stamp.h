/* SPDX-License-Identifier: MIT */
/*
 * Stamped data for --verify. Every logical block says where it belongs, which run wrote it and
 * when: magic, its byte offset, the seed, a sequence number, and then words derived from these
 * three, so that a block in the wrong place, an old one, or one wrong byte anywhere in it is found.
 */
#ifndef PST_BENCH_STAMP_H
#define PST_BENCH_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The layout of one transfer. */
struct pst_stamp_shape {
	uint32_t lba_size; /* bytes of data of a logical block, a multiple of 8, at least 512 */
	uint32_t stride;   /* bytes from one to the next: more with interleaved metadata */
	uint64_t seed;
};

enum pst_stamp_verdict {
	PST_STAMP_GOOD,
	PST_STAMP_NONE,	 /* no magic: never stamped, or its first word is wrong */
	PST_STAMP_PLACE, /* belongs to another offset */
	PST_STAMP_SEED,	 /* written with another seed */
	PST_STAMP_OLD,	 /* another sequence number than expected */
	PST_STAMP_DATA,	 /* a byte of the data is wrong */
};

/* Stamps `lbas` logical blocks from byte `offset` of the namespace on. */
void pst_stamp_write(const struct pst_stamp_shape *shape, void *data, uint64_t offset,
		     uint32_t lbas, uint64_t sequence);

/*
 * Checks them; sequence 0 accepts any. On a finding *at is the byte offset in the namespace of the
 * first wrong word.
 */
enum pst_stamp_verdict pst_stamp_check(const struct pst_stamp_shape *shape, const void *data,
				       uint64_t offset, uint32_t lbas, uint64_t sequence,
				       uint64_t *at);

/* Words for a verdict: "belongs to another offset" … */
const char *pst_stamp_text(enum pst_stamp_verdict verdict);

#endif
