/* SPDX-License-Identifier: MIT */
/*
 * Driver and device at random against a model of what the ring holds: nothing lost, nothing twice,
 * nothing changed on the way; no interrupt and no kick missing or needless. The seed is printed
 * with each failure's test name; VIRTQ_SEED tries others.
 */
#include "virtq_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 100000
#define BUFS_MAX 6
/* Not a power of two for the packed ring, which need not be one. */
#define SPLIT_NUM 16
#define PACKED_NUM 13

struct request {
	struct vring_buf bufs[BUFS_MAX];
	unsigned int count, out;
	uint32_t written;
	bool free, at_device;
};

struct fifo {
	uint16_t ids[64];
	unsigned int head, tail;
};

struct model {
	struct fixture f;
	uint64_t rng;
	struct request reqs[SPLIT_NUM];
	struct fifo available, pushed, used;
	uint16_t held[SPLIT_NUM]; /* at the device, in no order */
	unsigned int held_count;
	unsigned int added, taken;
	bool device_sleeps, driver_sleeps;
	bool interrupts_off;
};

static uint32_t roll(struct model *m, uint32_t below)
{
	m->rng ^= m->rng << 13;
	m->rng ^= m->rng >> 7;
	m->rng ^= m->rng << 17;
	return (uint32_t)((m->rng >> 20) % below);
}

static void fifo_put(struct fifo *q, uint16_t id)
{
	q->ids[q->tail++ % 64] = id;
}

static bool fifo_empty(const struct fifo *q)
{
	return q->head == q->tail;
}

static uint16_t fifo_get(struct fifo *q)
{
	assert_false(fifo_empty(q));
	return q->ids[q->head++ % 64];
}

static void driver_adds(struct model *m)
{
	unsigned int burst = 1 + roll(m, 4);
	bool any = false, kick;

	while (burst-- != 0 && m->added < REQUESTS) {
		struct request r = {.count = 1 + roll(m, BUFS_MAX)};
		int id;

		r.out = roll(m, r.count + 1);
		for (unsigned int i = 0; i < r.count; i++)
			r.bufs[i] =
				fixture_buf(&m->f, roll(m, 500000), 1 + roll(m, 5000), i >= r.out);
		id = vring_add(&m->f.maker, r.bufs, r.count, roll(m, 2));
		if (id < 0)
			break;
		assert_true(m->reqs[id].free);
		m->reqs[id] = r;
		fifo_put(&m->available, (uint16_t)id);
		m->added++;
		any = true;
	}
	if (!any)
		return;
	kick = vring_needs_kick(&m->f.maker);
	if (m->device_sleeps)
		assert_true(kick);
	else if (!m->f.vq.notify_on)
		assert_false(kick);
	m->device_sleeps = false;
}

static void driver_takes(struct model *m)
{
	unsigned int burst = 1 + roll(m, 8);
	uint16_t id;
	uint32_t len;

	while (burst-- != 0 && vring_take(&m->f.maker, &id, &len)) {
		assert_int_equal(id, fifo_get(&m->used));
		assert_int_equal(len, m->reqs[id].written);
		m->reqs[id].free = true;
		m->taken++;
	}
}

static void driver_turns_interrupts(struct model *m)
{
	m->interrupts_off = roll(m, 2);
	if (m->interrupts_off) {
		vring_interrupts_off(&m->f.maker);
		m->driver_sleeps = false;
	} else {
		m->driver_sleeps = !vring_interrupts_on(&m->f.maker, 0);
		assert_int_equal(m->driver_sleeps, fifo_empty(&m->used));
	}
}

static void device_pops(struct model *m)
{
	unsigned int burst = 1 + roll(m, 6);

	while (burst-- != 0) {
		const struct pst_chain *chain = &m->f.chain;
		const struct request *r;
		int ret = pst_virtq_pop(&m->f.vq, &m->f.chain);

		if (fifo_empty(&m->available)) {
			assert_int_equal(ret, 0);
			return;
		}
		assert_int_equal(ret, 1);
		assert_int_equal(chain->id, fifo_get(&m->available));
		r = &m->reqs[chain->id];
		assert_int_equal(chain->out, r->out);
		assert_int_equal(chain->in, r->count - r->out);
		for (unsigned int i = 0; i < r->count; i++) {
			assert_ptr_equal(chain->iov[i].iov_base,
					 m->f.maker.window + (r->bufs[i].iova - VRING_IOVA));
			assert_int_equal(chain->iov[i].iov_len, r->bufs[i].len);
		}
		m->held[m->held_count++] = chain->id;
	}
}

static void device_pushes(struct model *m)
{
	unsigned int burst = 1 + roll(m, 6);

	while (burst-- != 0 && m->held_count != 0) {
		unsigned int i = roll(m, m->held_count);
		uint16_t id = m->held[i];

		m->held[i] = m->held[--m->held_count];
		m->reqs[id].written = roll(m, 3) ? roll(m, 100000) : 0;
		pst_virtq_push(&m->f.vq, id, m->reqs[id].written);
		fifo_put(&m->pushed, id);
	}
}

static void device_publishes(struct model *m)
{
	bool any = !fifo_empty(&m->pushed);
	bool interrupt = pst_virtq_publish(&m->f.vq);

	while (!fifo_empty(&m->pushed))
		fifo_put(&m->used, fifo_get(&m->pushed));
	if (!any || m->interrupts_off)
		assert_false(interrupt);
	else if (m->driver_sleeps)
		assert_true(interrupt);
	if (any)
		m->driver_sleeps = false;
}

static void device_turns_kicks(struct model *m)
{
	if (roll(m, 2)) {
		pst_virtq_notify_off(&m->f.vq);
		m->device_sleeps = false;
	} else {
		m->device_sleeps = !pst_virtq_notify_on(&m->f.vq);
		assert_int_equal(m->device_sleeps, fifo_empty(&m->available));
	}
}

static void (*const actions[])(struct model *) = {
	driver_adds,	  driver_adds,	    driver_takes,
	driver_takes,	  device_pops,	    device_pops,
	device_pushes,	  device_pushes,    driver_turns_interrupts,
	device_publishes, device_publishes, device_turns_kicks,
};

static uint64_t seed(void)
{
	const char *text = getenv("VIRTQ_SEED");

	return text ? strtoull(text, NULL, 0) : 1;
}

static void play(bool packed, bool event_idx, uint16_t first)
{
	static struct model m;

	memset(&m, 0, sizeof(m));
	fixture_start(&m.f, packed ? PACKED_NUM : SPLIT_NUM, packed, event_idx, first);
	m.rng = (seed() + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (unsigned int i = 0; i < SPLIT_NUM; i++)
		m.reqs[i].free = true;
	while (m.taken < REQUESTS)
		actions[roll(&m, sizeof(actions) / sizeof(actions[0]))](&m);
	assert_int_equal(m.f.vq.inflight, 0);
	assert_false(vring_has_used(&m.f.maker));
	fixture_stop(&m.f);
}

static void split_ring_keeps_to_the_model(void **state)
{
	(void)state;
	play(false, false, 65000);
}

static void split_ring_with_event_idx_keeps_to_the_model(void **state)
{
	(void)state;
	play(false, true, 30000);
}

static void packed_ring_keeps_to_the_model(void **state)
{
	(void)state;
	play(true, false, 0);
}

static void packed_ring_with_event_idx_keeps_to_the_model(void **state)
{
	(void)state;
	play(true, true, PACKED_NUM - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(split_ring_keeps_to_the_model),
		cmocka_unit_test(split_ring_with_event_idx_keeps_to_the_model),
		cmocka_unit_test(packed_ring_keeps_to_the_model),
		cmocka_unit_test(packed_ring_with_event_idx_keeps_to_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
