/* SPDX-License-Identifier: MIT */
/* Split virtqueues, VIRTIO 1.2, 2.6. */
#include "virtq.h"
#include "virtq_int.h"

static inline uint16_t flags_of(const struct vq_desc *desc)
{
	return desc->tail[0];
}

static inline uint16_t next_of(const struct vq_desc *desc)
{
	return desc->tail[1];
}

/* Event index of the other side: the 16 bits behind each ring. */
static inline uint16_t *used_event(const struct pst_virtq *vq)
{
	struct vring_avail *avail = vq->cfg.driver;

	return &avail->ring[vq->cfg.num];
}

static inline uint16_t *avail_event(const struct pst_virtq *vq)
{
	struct vring_used *used = vq->cfg.device;

	return (uint16_t *)(void *)&used->ring[vq->cfg.num];
}

/* Both walks return NULL, or what is wrong with the chain. */
static const char *walk_table(const struct pst_virtq *vq, struct pst_chain *chain,
			      const struct vq_desc *indirect)
{
	const char *reason = NULL;
	unsigned int num = indirect->len / VQ_DESC_SIZE;
	const unsigned char *table = vq_open_table(vq, indirect->addr, indirect->len, &reason);
	unsigned int at = 0;

	if (pst_unlikely(!table))
		return reason;
	for (unsigned int taken = 0; taken < num; taken++) {
		struct vq_desc desc = vq_fetch_desc(table + at * VQ_DESC_SIZE);
		uint16_t flags = flags_of(&desc);

		if (pst_unlikely(flags & VRING_DESC_F_INDIRECT))
			return "an indirect table has an indirect descriptor";
		reason = vq_add_buffer(vq, chain, desc.addr, desc.len, flags & VRING_DESC_F_WRITE);
		if (pst_unlikely(reason))
			return reason;
		if (!(flags & VRING_DESC_F_NEXT))
			return NULL;
		at = next_of(&desc);
		if (pst_unlikely(at >= num))
			return "a next index lies outside the indirect table";
	}
	return "the descriptors of an indirect table loop";
}

static const char *walk_chain(const struct pst_virtq *vq, struct pst_chain *chain, uint16_t head)
{
	const unsigned char *ring = vq->cfg.desc;
	unsigned int at = head;

	for (unsigned int taken = 0; taken < vq->cfg.num; taken++) {
		struct vq_desc desc = vq_fetch_desc(ring + at * VQ_DESC_SIZE);
		uint16_t flags = flags_of(&desc);
		const char *reason;

		if (flags & VRING_DESC_F_INDIRECT) {
			if (pst_unlikely(flags & VRING_DESC_F_NEXT))
				return "an indirect descriptor has a next one";
			/* May follow direct ones (2.6.5.3.2); its own write flag means nothing. */
			return walk_table(vq, chain, &desc);
		}
		reason = vq_add_buffer(vq, chain, desc.addr, desc.len, flags & VRING_DESC_F_WRITE);
		if (pst_unlikely(reason))
			return reason;
		if (!(flags & VRING_DESC_F_NEXT))
			return NULL;
		at = next_of(&desc);
		if (pst_unlikely(at >= vq->cfg.num))
			return "a next index lies outside the ring";
	}
	return "the descriptors of a chain loop";
}

/* The next head is known before it is taken: have its descriptor here by then. */
static inline void prefetch_next(const struct pst_virtq *vq, const struct vring_avail *avail)
{
	const struct vring_desc *ring = vq->cfg.desc;
	uint16_t head;

	if (vq->avail_idx == vq->avail_seen)
		return;
	head = le16toh(__atomic_load_n(&avail->ring[vq->avail_idx & vq->mask], __ATOMIC_RELAXED));
	__builtin_prefetch(&ring[head & vq->mask]);
}

int vq_split_pop(struct pst_virtq *vq, struct pst_chain *chain)
{
	const struct vring_avail *avail = vq->cfg.driver;
	const char *reason;
	uint16_t head;

	if (vq->avail_idx == vq->avail_seen) {
		/* Acquire: heads and descriptors are read after the index that announces them. */
		vq->avail_seen = le16toh(__atomic_load_n(&avail->idx, __ATOMIC_ACQUIRE));
		if (vq->avail_idx == vq->avail_seen)
			return 0;
		if (pst_unlikely((uint16_t)(vq->avail_seen - vq->avail_idx) > vq->cfg.num))
			return vq_break(vq, "the available index jumped by more than the ring has");
	}
	head = le16toh(__atomic_load_n(&avail->ring[vq->avail_idx & vq->mask], __ATOMIC_RELAXED));
	vq->avail_idx++;
	if (pst_unlikely(head >= vq->cfg.num))
		return vq_break(vq, "a head lies outside the ring");
	if (pst_unlikely(vq_is_busy(vq, head)))
		return vq_break(vq, "a head is made available while it is in flight");

	chain->id = head;
	chain->ndescs = 1;
	chain->out = 0;
	chain->in = 0;
	reason = walk_chain(vq, chain, head);
	vq_set_busy(vq, head);
	if (pst_unlikely(reason)) {
		pst_virtq_push(vq, head, 0);
		return vq_break(vq, reason);
	}
	prefetch_next(vq, avail);
	return 1;
}

bool vq_split_has_avail(const struct pst_virtq *vq)
{
	const struct vring_avail *avail = vq->cfg.driver;

	return vq->avail_idx != vq->avail_seen ||
	       le16toh(__atomic_load_n(&avail->idx, __ATOMIC_ACQUIRE)) != vq->avail_idx;
}

void vq_split_push(struct pst_virtq *vq, uint16_t id, uint32_t written)
{
	struct vring_used *used = vq->cfg.device;
	vring_used_elem_t *elem = &used->ring[vq->used_idx & vq->mask];

	elem->id = htole32(id);
	elem->len = htole32(written);
	vq->used_idx++;
}

bool vq_split_publish(struct pst_virtq *vq)
{
	const struct vring_avail *avail = vq->cfg.driver;
	struct vring_used *used = vq->cfg.device;
	uint16_t flags;

	/* Release: elements and data are there before the index that announces them. */
	__atomic_store_n(&used->idx, htole16(vq->used_idx), __ATOMIC_RELEASE);
	/* A driver that goes to sleep writes its wish, then looks at the index once more. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (vq->cfg.event_idx) {
		uint16_t event = le16toh(__atomic_load_n(used_event(vq), __ATOMIC_RELAXED));

		return vring_need_event(event, vq->used_idx, vq->used_published);
	}
	flags = le16toh(__atomic_load_n(&avail->flags, __ATOMIC_RELAXED));
	return !(flags & VRING_AVAIL_F_NO_INTERRUPT);
}

void vq_split_notify_off(struct pst_virtq *vq)
{
	struct vring_used *used = vq->cfg.device;

	/*
	 * The event index just behind is the one the driver takes longest to reach. It gets there
	 * every 65536 chains and kicks once for nothing, which does no harm.
	 */
	if (vq->cfg.event_idx)
		__atomic_store_n(avail_event(vq), htole16((uint16_t)(vq->avail_idx - 1)),
				 __ATOMIC_RELAXED);
	else
		__atomic_store_n(&used->flags, htole16(VRING_USED_F_NO_NOTIFY), __ATOMIC_RELAXED);
}

void vq_split_notify_on(struct pst_virtq *vq)
{
	struct vring_used *used = vq->cfg.device;

	if (vq->cfg.event_idx)
		__atomic_store_n(avail_event(vq), htole16(vq->avail_idx), __ATOMIC_RELAXED);
	__atomic_store_n(&used->flags, 0, __ATOMIC_RELAXED);
}
