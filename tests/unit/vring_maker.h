/* SPDX-License-Identifier: MIT */
/*
 * The driver's side of a virtqueue for tests: makes rings by hand, split or packed, offers chains,
 * takes used elements and keeps both sides' notifications, as VIRTIO 1.2 (2.6, 2.7) asks of it.
 * What a test needs to do wrong it does to the rings directly.
 *
 * Every part is an allocation of exactly its size, so that a sanitizer sees a step beside it.
 */
#ifndef TEST_VRING_MAKER_H
#define TEST_VRING_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "virtq.h"

/* Where the window lies for the device; above 32 bits, so that truncation shows. */
#define VRING_IOVA UINT64_C(0x7100000000)
/* Room for data in the window; in front of it lies an indirect table for each id. */
#define VRING_DATA_SIZE (1U << 20)
#define VRING_TABLE_SIZE (16U * (PST_VIRTQ_CHAIN_MAX + 2))

struct vring_buf {
	uint64_t iova;
	uint32_t len;
	bool device_writes;
};

struct vring_maker {
	uint16_t num;
	bool packed;
	bool event_idx;
	unsigned char *window;
	struct pst_virtq_space space;
	uint16_t start;

	struct vring_desc *desc; /* split */
	struct vring_avail *avail;
	struct vring_used *used;
	struct vring_packed_desc *ring; /* packed */
	struct vring_packed_desc_event *driver;
	struct vring_packed_desc_event *device;

	uint16_t next_avail; /* split: free-running */
	bool avail_wrap;
	uint16_t last_used;
	bool used_wrap;
	uint16_t added; /* entries made available since the last look at the device's wish */
	uint16_t free_slots;
	uint16_t free_count;
	uint16_t *free_ids; /* split: free descriptors; packed: free buffer ids */
	uint16_t *slots;    /* packed: by id */
};

/* start: first available and used index of a split ring, first slot of a packed one. */
void vring_maker_init(struct vring_maker *m, uint16_t num, bool packed, bool event_idx,
		      uint16_t start);
void vring_maker_finish(struct vring_maker *m);

/* The attachment that fits; indirect descriptors are negotiated. */
struct pst_virtq_config vring_config(const struct vring_maker *m);

/* First byte of the data area, as the device and as the driver sees it. */
uint64_t vring_data_iova(const struct vring_maker *m);
unsigned char *vring_data(const struct vring_maker *m);

/* Makes a chain available; returns its id, or -1 when the ring has no room. */
int vring_add(struct vring_maker *m, const struct vring_buf *bufs, unsigned int count,
	      bool indirect);
/* Writes the indirect table of an id and returns its address. */
uint64_t vring_write_table(struct vring_maker *m, uint16_t id, const struct vring_buf *bufs,
			   unsigned int count);
/* Split: makes a head available, whatever it is. */
void vring_offer(struct vring_maker *m, uint16_t head);
/* Packed: writes one descriptor at the next slot, available; the first of a list comes last. */
void vring_put(struct vring_maker *m, uint16_t slot, bool wrap, const struct vring_packed_desc *d);

/* Must the driver kick for what was added since the last call? */
bool vring_needs_kick(struct vring_maker *m);

bool vring_has_used(const struct vring_maker *m);
/* Takes a used element; frees its descriptors. False when there is none. */
bool vring_take(struct vring_maker *m, uint16_t *id, uint32_t *len);

/* Asks for an interrupt once `after` elements beyond the next one are used; true: some are there.
 */
bool vring_interrupts_on(struct vring_maker *m, uint16_t after);
void vring_interrupts_off(struct vring_maker *m);

#endif
