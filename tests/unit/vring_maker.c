/* SPDX-License-Identifier: MIT */
#include "vring_maker.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define DESC_AVAIL (1U << VRING_PACKED_DESC_F_AVAIL)
#define DESC_USED (1U << VRING_PACKED_DESC_F_USED)

static void *zeroed(size_t size)
{
	void *p = NULL;

	if (posix_memalign(&p, 16, size) != 0)
		abort();
	memset(p, 0, size);
	return p;
}

void vring_maker_init(struct vring_maker *m, uint16_t num, bool packed, bool event_idx,
		      uint16_t start)
{
	size_t size = (size_t)num * VRING_TABLE_SIZE + VRING_DATA_SIZE;

	memset(m, 0, sizeof(*m));
	m->num = num;
	m->packed = packed;
	m->event_idx = event_idx;
	m->start = start;
	m->next_avail = m->last_used = start;
	m->avail_wrap = m->used_wrap = true;
	m->window = zeroed(size);
	m->space.window_iova = VRING_IOVA;
	m->space.window_length = size;
	m->space.window = m->window;
	if (packed) {
		m->ring = zeroed(sizeof(*m->ring) * num);
		m->driver = zeroed(sizeof(*m->driver));
		m->device = zeroed(sizeof(*m->device));
		/* What lies before the start has been used in the first lap. */
		for (uint16_t i = 0; i < start; i++)
			m->ring[i].flags = htole16(DESC_AVAIL | DESC_USED);
	} else {
		m->desc = zeroed(sizeof(*m->desc) * num);
		m->avail = zeroed(sizeof(*m->avail) + 2U * num + 2U);
		m->used = zeroed(sizeof(*m->used) + 8U * num + 2U);
		m->avail->idx = htole16(start);
		m->used->idx = htole16(start);
		/* Interrupts are on until told otherwise, as with a ring that starts at 0. */
		if (event_idx)
			m->avail->ring[num] = htole16(start);
	}
	m->slots = zeroed(sizeof(*m->slots) * num);
	m->free_ids = zeroed(sizeof(*m->free_ids) * num);
	m->free_slots = num;
	m->free_count = num;
	for (unsigned int i = 0; i < num; i++)
		m->free_ids[i] = (uint16_t)(num - 1 - i);
}

void vring_maker_finish(struct vring_maker *m)
{
	free(m->window);
	free(m->ring);
	free(m->driver);
	free(m->device);
	free(m->desc);
	free(m->avail);
	free(m->used);
	free(m->slots);
	free(m->free_ids);
}

struct pst_virtq_config vring_config(const struct vring_maker *m)
{
	uint16_t index = m->packed ? (uint16_t)(m->start | 0x8000) : m->start;
	struct pst_virtq_config cfg = {
		.num = m->num,
		.packed = m->packed,
		.event_idx = m->event_idx,
		.indirect = true,
		.desc = m->packed ? (void *)m->ring : (void *)m->desc,
		.driver = m->packed ? (void *)m->driver : (void *)m->avail,
		.device = m->packed ? (void *)m->device : (void *)m->used,
		.avail = index,
		.used = index,
		.space = &m->space,
	};

	return cfg;
}

uint64_t vring_data_iova(const struct vring_maker *m)
{
	return VRING_IOVA + (uint64_t)m->num * VRING_TABLE_SIZE;
}

unsigned char *vring_data(const struct vring_maker *m)
{
	return m->window + (size_t)m->num * VRING_TABLE_SIZE;
}

static uint16_t write_flag(const struct vring_buf *buf)
{
	return buf->device_writes ? VRING_DESC_F_WRITE : 0;
}

uint64_t vring_write_table(struct vring_maker *m, uint16_t id, const struct vring_buf *bufs,
			   unsigned int count)
{
	unsigned char *table = m->window + (size_t)id * VRING_TABLE_SIZE;

	for (unsigned int i = 0; i < count; i++) {
		if (m->packed) {
			struct vring_packed_desc d = {
				.addr = htole64(bufs[i].iova),
				.len = htole32(bufs[i].len),
				/* Reserved here; a device that looks at it goes wrong. */
				.id = 0xffff,
				.flags = htole16(write_flag(&bufs[i])),
			};

			memcpy(table + i * sizeof(d), &d, sizeof(d));
		} else {
			bool more = i + 1 < count;
			struct vring_desc d = {
				.addr = htole64(bufs[i].iova),
				.len = htole32(bufs[i].len),
				.flags = htole16((uint16_t)(write_flag(&bufs[i]) |
							    (more ? VRING_DESC_F_NEXT : 0))),
				.next = more ? htole16((uint16_t)(i + 1)) : 0xffff,
			};

			memcpy(table + i * sizeof(d), &d, sizeof(d));
		}
	}
	return VRING_IOVA + (uint64_t)id * VRING_TABLE_SIZE;
}

void vring_offer(struct vring_maker *m, uint16_t head)
{
	m->avail->ring[m->next_avail % m->num] = htole16(head);
	m->next_avail++;
	m->added++;
	__atomic_store_n(&m->avail->idx, htole16(m->next_avail), __ATOMIC_RELEASE);
}

static int add_split(struct vring_maker *m, const struct vring_buf *bufs, unsigned int count,
		     bool indirect)
{
	unsigned int need = indirect ? 1 : count;
	uint16_t head;

	if (m->free_count < need)
		return -1;
	head = m->free_ids[m->free_count - 1];
	for (unsigned int i = 0; i < need; i++) {
		uint16_t at = m->free_ids[--m->free_count];
		struct vring_desc *d = &m->desc[at];

		if (indirect) {
			d->addr = htole64(vring_write_table(m, at, bufs, count));
			d->len = htole32(16 * count);
			d->flags = htole16(VRING_DESC_F_INDIRECT);
			break;
		}
		d->addr = htole64(bufs[i].iova);
		d->len = htole32(bufs[i].len);
		d->flags = htole16(write_flag(&bufs[i]));
		if (i + 1 < need) {
			d->flags |= htole16(VRING_DESC_F_NEXT);
			d->next = htole16(m->free_ids[m->free_count - 1]);
		}
	}
	m->slots[head] = (uint16_t)need;
	vring_offer(m, head);
	return head;
}

static void free_split(struct vring_maker *m, uint16_t head)
{
	uint16_t at = head;

	for (unsigned int left = m->slots[head]; left != 0; left--) {
		m->free_ids[m->free_count++] = at;
		at = le16toh(m->desc[at].next);
	}
}

void vring_put(struct vring_maker *m, uint16_t slot, bool wrap, const struct vring_packed_desc *d)
{
	uint16_t flags = le16toh(d->flags);

	flags |= wrap ? DESC_AVAIL : DESC_USED;
	m->ring[slot].addr = d->addr;
	m->ring[slot].len = d->len;
	m->ring[slot].id = d->id;
	__atomic_store_n(&m->ring[slot].flags, htole16(flags), __ATOMIC_RELEASE);
}

static int add_packed(struct vring_maker *m, const struct vring_buf *bufs, unsigned int count,
		      bool indirect)
{
	unsigned int need = indirect ? 1 : count;
	struct vring_packed_desc first = {0};
	uint16_t head = m->next_avail;
	bool head_wrap = m->avail_wrap;
	uint16_t id;

	if (m->free_slots < need || m->free_count == 0)
		return -1;
	id = m->free_ids[--m->free_count];
	for (unsigned int i = 0; i < need; i++) {
		struct vring_packed_desc d = {
			.addr = htole64(bufs[i].iova),
			.len = htole32(bufs[i].len),
			/* Only the last one's counts. */
			.id = i + 1 == need ? htole16(id) : 0xffff,
			.flags = htole16((uint16_t)(write_flag(&bufs[i]) |
						    (i + 1 < need ? VRING_DESC_F_NEXT : 0))),
		};

		if (indirect) {
			d.addr = htole64(vring_write_table(m, id, bufs, count));
			d.len = htole32(16 * count);
			d.flags = htole16(VRING_DESC_F_INDIRECT);
		}
		if (i == 0)
			first = d;
		else
			vring_put(m, m->next_avail, m->avail_wrap, &d);
		if (++m->next_avail == m->num) {
			m->next_avail = 0;
			m->avail_wrap = !m->avail_wrap;
		}
	}
	m->slots[id] = (uint16_t)need;
	m->free_slots = (uint16_t)(m->free_slots - need);
	m->added = (uint16_t)(m->added + need);
	vring_put(m, head, head_wrap, &first);
	return id;
}

int vring_add(struct vring_maker *m, const struct vring_buf *bufs, unsigned int count,
	      bool indirect)
{
	return m->packed ? add_packed(m, bufs, count, indirect)
			 : add_split(m, bufs, count, indirect);
}

/* Packed: a position of the other side in terms of our lap (2.7.14). */
static uint16_t in_our_lap(const struct vring_maker *m, uint16_t off_wrap, bool wrap)
{
	uint16_t event = off_wrap & 0x7fff;

	return (off_wrap >> 15) == wrap ? event : (uint16_t)(event - m->num);
}

bool vring_needs_kick(struct vring_maker *m)
{
	uint16_t old = (uint16_t)(m->next_avail - m->added);
	uint16_t event, flags;
	uint32_t wish;

	m->added = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!m->packed) {
		if (!m->event_idx)
			return !(le16toh(__atomic_load_n(&m->used->flags, __ATOMIC_RELAXED)) &
				 VRING_USED_F_NO_NOTIFY);
		event = le16toh(__atomic_load_n((uint16_t *)(void *)&m->used->ring[m->num],
						__ATOMIC_RELAXED));
		return vring_need_event(event, m->next_avail, old);
	}
	wish = le32toh(__atomic_load_n((uint32_t *)(void *)m->device, __ATOMIC_RELAXED));
	flags = (uint16_t)(wish >> 16);
	if (flags != VRING_PACKED_EVENT_FLAG_DESC)
		return flags != VRING_PACKED_EVENT_FLAG_DISABLE;
	event = in_our_lap(m, (uint16_t)wish, m->avail_wrap);
	return vring_need_event(event, m->next_avail, old);
}

bool vring_has_used(const struct vring_maker *m)
{
	uint16_t flags;

	if (!m->packed)
		return le16toh(__atomic_load_n(&m->used->idx, __ATOMIC_ACQUIRE)) != m->last_used;
	flags = le16toh(__atomic_load_n(&m->ring[m->last_used].flags, __ATOMIC_ACQUIRE));
	return !!(flags & DESC_AVAIL) == m->used_wrap && !!(flags & DESC_USED) == m->used_wrap;
}

bool vring_take(struct vring_maker *m, uint16_t *id, uint32_t *len)
{
	unsigned int to;

	if (!vring_has_used(m))
		return false;
	if (!m->packed) {
		const vring_used_elem_t *elem = &m->used->ring[m->last_used % m->num];

		*id = (uint16_t)le32toh(elem->id);
		*len = le32toh(elem->len);
		m->last_used++;
		if (*id >= m->num)
			abort();
		free_split(m, *id);
		return true;
	}
	*id = le16toh(m->ring[m->last_used].id);
	*len = le32toh(m->ring[m->last_used].len);
	if (*id >= m->num)
		abort();
	to = (unsigned int)m->last_used + m->slots[*id];
	if (to >= m->num) {
		to -= m->num;
		m->used_wrap = !m->used_wrap;
	}
	m->last_used = (uint16_t)to;
	m->free_slots = (uint16_t)(m->free_slots + m->slots[*id]);
	m->free_ids[m->free_count++] = *id;
	return true;
}

bool vring_interrupts_on(struct vring_maker *m, uint16_t after)
{
	if (!m->packed) {
		__atomic_store_n(&m->avail->flags, 0, __ATOMIC_RELAXED);
		if (m->event_idx)
			__atomic_store_n(&m->avail->ring[m->num],
					 htole16((uint16_t)(m->last_used + after)),
					 __ATOMIC_RELAXED);
	} else {
		unsigned int to = (unsigned int)m->last_used + after;
		bool wrap = m->used_wrap;
		uint32_t wish = VRING_PACKED_EVENT_FLAG_ENABLE;

		if (to >= m->num) {
			to -= m->num;
			wrap = !wrap;
		}
		if (m->event_idx)
			wish = (uint32_t)VRING_PACKED_EVENT_FLAG_DESC << 16 | (uint32_t)wrap << 15 |
			       to;
		__atomic_store_n((uint32_t *)(void *)m->driver, htole32(wish), __ATOMIC_RELAXED);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return vring_has_used(m);
}

void vring_interrupts_off(struct vring_maker *m)
{
	if (m->packed)
		__atomic_store_n((uint32_t *)(void *)m->driver,
				 htole32((uint32_t)VRING_PACKED_EVENT_FLAG_DISABLE << 16),
				 __ATOMIC_RELAXED);
	else if (m->event_idx)
		__atomic_store_n(&m->avail->ring[m->num], htole16((uint16_t)(m->last_used - 1)),
				 __ATOMIC_RELAXED);
	else
		__atomic_store_n(&m->avail->flags, htole16(VRING_AVAIL_F_NO_INTERRUPT),
				 __ATOMIC_RELAXED);
}
