/* SPDX-License-Identifier: MIT */
/* Packed virtqueues, VIRTIO 1.2, 2.7. */
#include "virtq.h"
#include "virtq_int.h"

#define DESC_AVAIL (1U << VRING_PACKED_DESC_F_AVAIL)
#define DESC_USED (1U << VRING_PACKED_DESC_F_USED)

static inline uint16_t id_of(const struct vq_desc *desc)
{
	return desc->tail[0];
}

static inline uint16_t flags_of(const struct vq_desc *desc)
{
	return desc->tail[1];
}

/* Available: the driver has been here in this lap and the device has not. */
static inline bool is_avail(uint16_t flags, bool wrap)
{
	return !!(flags & DESC_AVAIL) == wrap && !!(flags & DESC_USED) != wrap;
}

/* Acquire: the rest of a descriptor, and those behind it, are read after these flags. */
static inline uint16_t load_flags(const struct pst_virtq *vq, uint16_t at)
{
	const struct vring_packed_desc *ring = vq->cfg.desc;

	return le16toh(__atomic_load_n(&ring[at].flags, __ATOMIC_ACQUIRE));
}

/* Slots taken and not yet used. Equal positions are empty in the same lap, full in the next. */
static inline unsigned int slots_in_flight(const struct pst_virtq *vq)
{
	unsigned int ahead = vq->avail_wrap == vq->used_wrap ? 0 : vq->cfg.num;

	return ahead + vq->avail_idx - vq->used_idx;
}

static inline void advance(const struct pst_virtq *vq, uint16_t *at, bool *wrap, unsigned int slots)
{
	unsigned int to = *at + slots;

	if (to >= vq->cfg.num) {
		to -= vq->cfg.num;
		*wrap = !*wrap;
	}
	*at = (uint16_t)to;
}

/* In a packed table the entries lie in order, and only the write flag means anything (2.7.7). */
static const char *walk_table(const struct pst_virtq *vq, struct pst_chain *chain,
			      const struct vq_desc *indirect)
{
	const char *reason = NULL;
	unsigned int num = indirect->len / VQ_DESC_SIZE;
	const unsigned char *table = vq_open_table(vq, indirect->addr, indirect->len, &reason);

	if (pst_unlikely(!table))
		return reason;
	for (unsigned int at = 0; at < num; at++) {
		struct vq_desc desc = vq_fetch_desc(table + at * VQ_DESC_SIZE);
		uint16_t flags = flags_of(&desc);

		if (pst_unlikely(flags & VRING_DESC_F_INDIRECT))
			return "an indirect table has an indirect descriptor";
		reason = vq_add_buffer(vq, chain, desc.addr, desc.len, flags & VRING_DESC_F_WRITE);
		if (pst_unlikely(reason))
			return reason;
	}
	return NULL;
}

static inline const char *take_desc(const struct pst_virtq *vq, struct pst_chain *chain,
				    const struct vq_desc *desc, uint16_t flags)
{
	if (flags & VRING_DESC_F_INDIRECT) {
		if (pst_unlikely(flags & VRING_DESC_F_NEXT))
			return "an indirect descriptor has a next one";
		if (pst_unlikely(chain->ndescs != 1))
			return "an indirect descriptor follows a direct one";
		return walk_table(vq, chain, desc);
	}
	return vq_add_buffer(vq, chain, desc->addr, desc->len, flags & VRING_DESC_F_WRITE);
}

int vq_packed_pop(struct pst_virtq *vq, struct pst_chain *chain)
{
	const unsigned char *ring = vq->cfg.desc;
	uint16_t flags = load_flags(vq, vq->avail_idx);
	const char *reason = NULL;
	unsigned int limit;

	if (!is_avail(flags, vq->avail_wrap))
		return 0;

	chain->ndescs = 0;
	chain->out = 0;
	chain->in = 0;
	limit = vq->cfg.num - slots_in_flight(vq);
	for (;;) {
		struct vq_desc desc;

		if (pst_unlikely(chain->ndescs == limit))
			return vq_break(vq, "a chain runs into descriptors in flight or loops");
		desc = vq_fetch_desc(ring + vq->avail_idx * VQ_DESC_SIZE);
		/* The head's flags have been read: what was checked is what is used. */
		if (chain->ndescs != 0)
			flags = flags_of(&desc);
		chain->ndescs++;
		advance(vq, &vq->avail_idx, &vq->avail_wrap, 1);
		/* A bad chain is followed all the same: the id is in its last descriptor. */
		if (pst_likely(!reason))
			reason = take_desc(vq, chain, &desc, flags);
		if (!(flags & VRING_DESC_F_NEXT)) {
			chain->id = id_of(&desc);
			break;
		}
	}

	if (pst_unlikely(chain->id >= vq->cfg.num))
		return vq_break(vq, reason ? reason : "a buffer id lies outside the ring");
	if (pst_unlikely(vq_is_busy(vq, chain->id)))
		return vq_break(vq, reason ? reason : "a buffer id is used again while in flight");
	vq_set_busy(vq, chain->id);
	vq->id_descs[chain->id] = chain->ndescs;
	if (pst_unlikely(reason)) {
		pst_virtq_push(vq, chain->id, 0);
		return vq_break(vq, reason);
	}
	return 1;
}

bool vq_packed_has_avail(const struct pst_virtq *vq)
{
	return is_avail(load_flags(vq, vq->avail_idx), vq->avail_wrap);
}

/*
 * The driver looks at the elements in order, so those behind the first of a batch may be written
 * in full at once: none is looked at before the first has its flags.
 */
void vq_packed_push(struct pst_virtq *vq, uint16_t id, uint32_t written)
{
	struct vring_packed_desc *ring = vq->cfg.desc;
	uint16_t flags = vq->used_wrap ? (uint16_t)(DESC_AVAIL | DESC_USED) : 0;

	if (written != 0)
		flags |= VRING_DESC_F_WRITE;
	if (!vq->pk_pending) {
		vq->pk_pending = true;
		vq->pk_first = vq->used_idx;
		vq->pk_first_desc.id = htole16(id);
		vq->pk_first_desc.len = htole32(written);
		vq->pk_first_desc.flags = htole16(flags);
	} else {
		struct vring_packed_desc *elem = &ring[vq->used_idx];

		elem->id = htole16(id);
		elem->len = htole32(written);
		__atomic_store_n(&elem->flags, htole16(flags), __ATOMIC_RELAXED);
	}
	advance(vq, &vq->used_idx, &vq->used_wrap, vq->id_descs[id]);
}

bool vq_packed_publish(struct pst_virtq *vq)
{
	struct vring_packed_desc *ring = vq->cfg.desc;
	struct vring_packed_desc *first = &ring[vq->pk_first];
	uint32_t *driver = vq->cfg.driver;
	uint16_t event, flags, old;
	uint32_t wish;

	first->id = vq->pk_first_desc.id;
	first->len = vq->pk_first_desc.len;
	__atomic_store_n(&first->flags, vq->pk_first_desc.flags, __ATOMIC_RELEASE);
	vq->pk_pending = false;
	/* A driver that goes to sleep writes its wish, then looks at the ring once more. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);

	wish = le32toh(__atomic_load_n(driver, __ATOMIC_RELAXED));
	flags = (wish >> 16) & 3;
	if (flags == VRING_PACKED_EVENT_FLAG_DISABLE)
		return false;
	if (flags != VRING_PACKED_EVENT_FLAG_DESC || !vq->cfg.event_idx)
		return true;

	/* Positions relative to this lap, so that plain index arithmetic holds across its start. */
	event = wish & 0x7fff;
	if (((wish >> VRING_PACKED_EVENT_F_WRAP_CTR) & 1) != vq->used_wrap)
		event = (uint16_t)(event - vq->cfg.num);
	old = vq->used_published;
	if (old >= vq->used_idx)
		old = (uint16_t)(old - vq->cfg.num);
	return vring_need_event(event, vq->used_idx, old);
}

/* One store: the driver reads offset and flags together. */
static void store_wish(struct pst_virtq *vq, uint16_t off_wrap, uint16_t flags)
{
	uint32_t *device = vq->cfg.device;

	__atomic_store_n(device, htole32((uint32_t)flags << 16 | off_wrap), __ATOMIC_RELAXED);
}

void vq_packed_notify_off(struct pst_virtq *vq)
{
	store_wish(vq, 0, VRING_PACKED_EVENT_FLAG_DISABLE);
}

void vq_packed_notify_on(struct pst_virtq *vq)
{
	uint16_t wrap = (uint16_t)(vq->avail_wrap << VRING_PACKED_EVENT_F_WRAP_CTR);

	if (vq->cfg.event_idx)
		store_wish(vq, (uint16_t)(vq->avail_idx | wrap), VRING_PACKED_EVENT_FLAG_DESC);
	else
		store_wish(vq, 0, VRING_PACKED_EVENT_FLAG_ENABLE);
}
