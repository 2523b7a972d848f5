/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <string.h>

#include "gen.h"
#include "stamp.h"

/* "PENSTOCK" as it reads in a hex dump. */
#define MAGIC 0x4b434f54534e4550U

enum word { WORD_MAGIC, WORD_OFFSET, WORD_SEED, WORD_SEQUENCE, WORD_DATA };

/* Buffers may be misaligned on purpose, so words are moved with memcpy; little endian on disk. */
static void put(unsigned char *block, uint32_t word, uint64_t value)
{
	value = htole64(value);
	memcpy(block + word * 8U, &value, 8);
}

static uint64_t get(const unsigned char *block, uint32_t word)
{
	uint64_t value;

	memcpy(&value, block + word * 8U, 8);
	return le64toh(value);
}

static uint64_t data_state(uint64_t offset, uint64_t seed, uint64_t sequence)
{
	return pst_gen_mix(offset) ^ pst_gen_mix(seed + 1) ^ pst_gen_mix(~sequence);
}

void pst_stamp_write(const struct pst_stamp_shape *shape, void *data, uint64_t offset,
		     uint32_t lbas, uint64_t sequence)
{
	unsigned char *block = data;
	uint32_t words = shape->lba_size / 8;
	uint32_t i, w;

	for (i = 0; i < lbas; i++, block += shape->stride, offset += shape->lba_size) {
		uint64_t state = data_state(offset, shape->seed, sequence);

		put(block, WORD_MAGIC, MAGIC);
		put(block, WORD_OFFSET, offset);
		put(block, WORD_SEED, shape->seed);
		put(block, WORD_SEQUENCE, sequence);
		for (w = WORD_DATA; w < words; w++)
			put(block, w, pst_gen_draw(&state));
	}
}

static enum pst_stamp_verdict check_block(const struct pst_stamp_shape *shape,
					  const unsigned char *block, uint64_t offset,
					  uint64_t sequence, uint32_t *word)
{
	uint64_t written = get(block, WORD_SEQUENCE);
	uint64_t state = data_state(offset, shape->seed, written);
	uint32_t w;

	*word = WORD_MAGIC;
	if (get(block, WORD_MAGIC) != MAGIC)
		return PST_STAMP_NONE;
	*word = WORD_OFFSET;
	if (get(block, WORD_OFFSET) != offset)
		return PST_STAMP_PLACE;
	*word = WORD_SEED;
	if (get(block, WORD_SEED) != shape->seed)
		return PST_STAMP_SEED;
	for (w = WORD_DATA; w < shape->lba_size / 8; w++) {
		*word = w;
		if (get(block, w) != pst_gen_draw(&state))
			return PST_STAMP_DATA;
	}
	*word = WORD_SEQUENCE;
	return sequence && written != sequence ? PST_STAMP_OLD : PST_STAMP_GOOD;
}

enum pst_stamp_verdict pst_stamp_check(const struct pst_stamp_shape *shape, const void *data,
				       uint64_t offset, uint32_t lbas, uint64_t sequence,
				       uint64_t *at)
{
	const unsigned char *block = data;
	uint32_t word = 0;
	uint32_t i;

	for (i = 0; i < lbas; i++, block += shape->stride, offset += shape->lba_size) {
		enum pst_stamp_verdict verdict = check_block(shape, block, offset, sequence, &word);

		if (verdict != PST_STAMP_GOOD) {
			*at = offset + word * 8U;
			return verdict;
		}
	}
	return PST_STAMP_GOOD;
}

const char *pst_stamp_text(enum pst_stamp_verdict verdict)
{
	switch (verdict) {
	case PST_STAMP_GOOD:
		return "is as written";
	case PST_STAMP_NONE:
		return "carries no stamp: it was never written with --verify, or its beginning is "
		       "wrong";
	case PST_STAMP_PLACE:
		return "belongs to another offset";
	case PST_STAMP_SEED:
		return "was written with another --seed";
	case PST_STAMP_OLD:
		return "is an old version: a later write was lost";
	case PST_STAMP_DATA:
		return "differs from what was written";
	}
	return "is unknown";
}
