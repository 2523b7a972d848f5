/* SPDX-License-Identifier: MIT */
/*
 * What the two ring formats share: the single fetch of descriptors, translation, and the checks
 * of one buffer. Included by src/virtio only.
 */
#ifndef PST_VIRTQ_INT_H
#define PST_VIRTQ_INT_H

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base.h"
#include "virtq.h"

#define VQ_DESC_SIZE 16U

_Static_assert(sizeof(struct vring_desc) == VQ_DESC_SIZE, "VIRTIO 1.2, 2.6.5");
_Static_assert(sizeof(struct vring_packed_desc) == VQ_DESC_SIZE, "VIRTIO 1.2, 2.7.13");
_Static_assert(sizeof(struct vring_packed_desc_event) == 4, "VIRTIO 1.2, 2.7.14");

/*
 * Reads 16 bytes of memory that the driver may be changing. The values are made opaque to the
 * compiler, so that what is checked and what is used later are the same: it cannot read the memory
 * a second time. A driver's table has no guaranteed alignment.
 */
static inline void vq_fetch16(const void *from, uint64_t *first, uint64_t *second)
{
	uint64_t a, b;

	memcpy(&a, from, sizeof(a));
	memcpy(&b, (const unsigned char *)from + sizeof(a), sizeof(b));
	__asm__ volatile("" : "+r"(a), "+r"(b));
	*first = le64toh(a);
	*second = le64toh(b);
}

/* A descriptor of either format; tail[0] and tail[1] are the 16-bit fields behind the length. */
struct vq_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t tail[2];
};

static inline struct vq_desc vq_fetch_desc(const void *from)
{
	struct vq_desc desc;
	uint64_t second;

	vq_fetch16(from, &desc.addr, &second);
	desc.len = (uint32_t)second;
	desc.tail[0] = (uint16_t)(second >> 32);
	desc.tail[1] = (uint16_t)(second >> 48);
	return desc;
}

static inline void *vq_translate(const struct pst_virtq_space *space, uint64_t iova,
				 uint64_t length)
{
	uint64_t offset = iova - space->window_iova;

	if (pst_likely(offset < space->window_length && length <= space->window_length - offset))
		return space->window + offset;
	if (!space->translate)
		return NULL;
	return space->translate(space->ctx, iova, length);
}

/* Does [addr, addr + len) run over the end of the address space? */
static inline bool vq_wraps(uint64_t addr, uint32_t len)
{
	return len != 0 && addr + (len - 1) < addr;
}

/* Appends one buffer to a chain. Returns NULL, or what is wrong with it. */
static inline const char *vq_add_buffer(const struct pst_virtq *vq, struct pst_chain *chain,
					uint64_t addr, uint32_t len, bool device_writes)
{
	unsigned int n = (unsigned int)chain->out + chain->in;
	void *base;

	if (pst_unlikely(n >= PST_VIRTQ_CHAIN_MAX))
		return "a chain has too many descriptors or loops";
	if (pst_unlikely(len == 0))
		return "a descriptor has length 0";
	if (pst_unlikely(vq_wraps(addr, len)))
		return "a buffer runs over the end of the address space";
	if (pst_unlikely(!device_writes && chain->in != 0))
		return "a device-readable descriptor follows a device-writable one";
	base = vq_translate(vq->cfg.space, addr, len);
	if (pst_unlikely(!base))
		return "the address of a buffer is not mapped";
	chain->iov[n].iov_base = base;
	chain->iov[n].iov_len = len;
	if (device_writes)
		chain->in++;
	else
		chain->out++;
	return NULL;
}

/* Translates an indirect table. Returns NULL with *reason set when it cannot be one. */
static inline const unsigned char *vq_open_table(const struct pst_virtq *vq, uint64_t addr,
						 uint32_t len, const char **reason)
{
	const unsigned char *table;

	if (pst_unlikely(!vq->cfg.indirect)) {
		*reason = "an indirect descriptor was not negotiated";
		return NULL;
	}
	if (pst_unlikely(len == 0 || len % VQ_DESC_SIZE != 0)) {
		*reason = "the length of an indirect table is not a multiple of 16";
		return NULL;
	}
	if (pst_unlikely(len / VQ_DESC_SIZE > PST_VIRTQ_CHAIN_MAX)) {
		*reason = "an indirect table is too long";
		return NULL;
	}
	if (pst_unlikely(vq_wraps(addr, len))) {
		*reason = "an indirect table runs over the end of the address space";
		return NULL;
	}
	table = vq_translate(vq->cfg.space, addr, len);
	if (pst_unlikely(!table))
		*reason = "the address of an indirect table is not mapped";
	return table;
}

static inline bool vq_is_busy(const struct pst_virtq *vq, uint16_t id)
{
	return (vq->busy[id / 64] >> (id % 64)) & 1;
}

static inline void vq_set_busy(struct pst_virtq *vq, uint16_t id)
{
	vq->busy[id / 64] |= UINT64_C(1) << (id % 64);
	vq->inflight++;
}

static inline void vq_clear_busy(struct pst_virtq *vq, uint16_t id)
{
	vq->busy[id / 64] &= ~(UINT64_C(1) << (id % 64));
	vq->inflight--;
}

static inline int vq_break(struct pst_virtq *vq, const char *reason)
{
	vq->broken = true;
	vq->reason = reason;
	return -EPROTO;
}

/* The formats. The callers in virtq.c have checked that the queue is attached. */
int vq_split_pop(struct pst_virtq *vq, struct pst_chain *chain);
bool vq_split_has_avail(const struct pst_virtq *vq);
void vq_split_push(struct pst_virtq *vq, uint16_t id, uint32_t written);
bool vq_split_publish(struct pst_virtq *vq);
void vq_split_notify_off(struct pst_virtq *vq);
void vq_split_notify_on(struct pst_virtq *vq);

int vq_packed_pop(struct pst_virtq *vq, struct pst_chain *chain);
bool vq_packed_has_avail(const struct pst_virtq *vq);
void vq_packed_push(struct pst_virtq *vq, uint16_t id, uint32_t written);
bool vq_packed_publish(struct pst_virtq *vq);
void vq_packed_notify_off(struct pst_virtq *vq);
void vq_packed_notify_on(struct pst_virtq *vq);

#endif
