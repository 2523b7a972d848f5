/* SPDX-License-Identifier: MIT */
/* The packed virtqueue against a driver that keeps the rules. */
#include "virtq_fixture.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define NUM 8

static int start(void **state)
{
	static struct fixture f;

	fixture_start(&f, NUM, true, false, 0);
	*state = &f;
	return 0;
}

static int start_event_idx(void **state)
{
	static struct fixture f;

	fixture_start(&f, NUM, true, true, 0);
	*state = &f;
	return 0;
}

static int stop(void **state)
{
	fixture_stop(*state);
	return 0;
}

static void direct_chain_is_translated_in_order(void **state)
{
	struct fixture *f = *state;
	struct vring_buf bufs[] = {fixture_buf(f, 0, 16, false), fixture_buf(f, 100, 300, false),
				   fixture_buf(f, 4096, 512, true)};
	int id = vring_add(&f->maker, bufs, 3, false);

	assert_true(pst_virtq_has_avail(&f->vq));
	fixture_pop(f, id);
	assert_false(pst_virtq_has_avail(&f->vq));
	assert_int_equal(f->chain.ndescs, 3);
	assert_int_equal(f->chain.out, 2);
	assert_int_equal(f->chain.in, 1);
	for (unsigned int i = 0; i < 3; i++) {
		assert_ptr_equal(f->iov[i].iov_base, f->maker.window + (bufs[i].iova - VRING_IOVA));
		assert_int_equal(f->iov[i].iov_len, bufs[i].len);
	}
}

static void indirect_table_holds_more_than_the_ring(void **state)
{
	struct fixture *f = *state;
	int id = fixture_add(f, PST_VIRTQ_CHAIN_MAX - 1, true);

	fixture_pop(f, id);
	assert_int_equal(f->chain.ndescs, 1);
	assert_int_equal(f->chain.out, 1);
	assert_int_equal(f->chain.in, PST_VIRTQ_CHAIN_MAX - 1);
}

static void chain_as_long_as_the_ring_is_taken(void **state)
{
	struct fixture *f = *state;

	for (int lap = 0; lap < 3; lap++) {
		int id = fixture_add(f, NUM - 1, false);

		fixture_pop(f, id);
		assert_int_equal(f->chain.ndescs, NUM);
		pst_virtq_push(&f->vq, (uint16_t)id, 1);
		assert_true(pst_virtq_publish(&f->vq));
		fixture_take(f, id, 1);
	}
}

static void used_elements_skip_what_their_chains_took(void **state)
{
	struct fixture *f = *state;
	int a = fixture_add(f, 2, false), b = fixture_add(f, 0, true), c = fixture_add(f, 1, false);

	for (int i = 0; i < 3; i++)
		assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
	pst_virtq_push(&f->vq, (uint16_t)b, 0);
	pst_virtq_push(&f->vq, (uint16_t)c, 5);
	assert_false(vring_has_used(&f->maker));
	assert_true(pst_virtq_publish(&f->vq));
	/* b took one slot, c two: the third element lies at 3. */
	pst_virtq_push(&f->vq, (uint16_t)a, 9);
	assert_true(pst_virtq_publish(&f->vq));
	assert_int_equal(le16toh(f->maker.ring[0].id), b);
	assert_int_equal(le16toh(f->maker.ring[1].id), c);
	assert_int_equal(le16toh(f->maker.ring[3].id), a);
	fixture_take(f, b, 0);
	fixture_take(f, c, 5);
	fixture_take(f, a, 9);
	assert_false(vring_has_used(&f->maker));
}

static void used_flags_say_whether_anything_was_written(void **state)
{
	struct fixture *f = *state;

	for (uint32_t len = 0; len < 4; len++) {
		int id = fixture_add(f, 1, false);
		uint16_t slot = f->maker.last_used;

		fixture_pop(f, id);
		pst_virtq_push(&f->vq, (uint16_t)id, len & 1);
		pst_virtq_publish(&f->vq);
		assert_int_equal(le16toh(f->maker.ring[slot].flags) & VRING_DESC_F_WRITE,
				 len & 1 ? VRING_DESC_F_WRITE : 0);
		fixture_take(f, id, len & 1);
	}
}

/* The driver may look at any time: it must not see the second element before the first. */
static void batch_becomes_visible_with_its_first_element(void **state)
{
	struct fixture *f = *state;
	int ids[NUM];

	for (int lap = 0; lap < 3; lap++) {
		for (int i = 0; i < NUM; i++) {
			ids[i] = fixture_add(f, 0, false);
			assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
		}
		for (int i = 0; i < NUM; i++) {
			pst_virtq_push(&f->vq, (uint16_t)ids[i], (uint32_t)i);
			assert_false(vring_has_used(&f->maker));
			assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 0);
		}
		assert_true(pst_virtq_publish(&f->vq));
		for (int i = 0; i < NUM; i++)
			fixture_take(f, ids[i], (uint32_t)i);
	}
}

static void wrap_counters_turn_with_a_ring_of_any_size(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, 7, true, true, 5);
	for (unsigned int i = 0; i < 50; i++) {
		int a = fixture_add(&f, 1, false), b = fixture_add(&f, 2, false);

		assert_int_equal(pst_virtq_pop(&f.vq, &f.chain), 1);
		fixture_pop(&f, b);
		vring_interrupts_on(&f.maker, 0);
		pst_virtq_push(&f.vq, (uint16_t)b, i);
		pst_virtq_push(&f.vq, (uint16_t)a, i + 1);
		assert_true(pst_virtq_publish(&f.vq));
		fixture_take(&f, b, i);
		fixture_take(&f, a, i + 1);
	}
	fixture_stop(&f);
}

static void descriptor_used_in_this_lap_is_not_available(void **state)
{
	struct fixture *f = *state;
	uint16_t both = 1U << VRING_PACKED_DESC_F_AVAIL | 1U << VRING_PACKED_DESC_F_USED;

	f->maker.ring[0].flags = htole16(both);
	assert_false(pst_virtq_has_avail(&f->vq));
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 0);
}

/* Pops one chain, completes it and tells whether the driver is interrupted. */
static bool serve_one(struct fixture *f, int id)
{
	fixture_pop(f, id);
	pst_virtq_push(&f->vq, (uint16_t)id, 0);
	return pst_virtq_publish(&f->vq);
}

static void interrupt_flags_are_honoured(void **state)
{
	struct fixture *f = *state;

	int id = fixture_add(f, 1, false);

	vring_interrupts_off(&f->maker);
	assert_false(serve_one(f, id));
	fixture_take(f, id, 0);
	assert_false(vring_interrupts_on(&f->maker, 0));
	assert_true(serve_one(f, fixture_add(f, 1, false)));
}

/* In every place of the ring, so that event and element lie on either side of its end. */
static void interrupt_comes_at_the_event_offset_and_not_before(void **state)
{
	struct fixture *f = *state;

	for (int place = 0; place < 3 * NUM; place++) {
		int ids[4];

		/* Chains of one and two slots; the event lies in the middle of the third chain. */
		vring_interrupts_on(&f->maker, 4);
		for (unsigned int i = 0; i < 4; i++)
			ids[i] = fixture_add(f, i == 0 ? 0 : 1, false);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
		for (int i = 0; i < 4; i++) {
			pst_virtq_push(&f->vq, (uint16_t)ids[i], 0);
			assert_int_equal(pst_virtq_publish(&f->vq), i == 2);
			fixture_take(f, ids[i], 0);
		}
	}
}

static void whole_ring_in_one_batch_interrupts_once(void **state)
{
	struct fixture *f = *state;

	for (int lap = 0; lap < 3; lap++) {
		vring_interrupts_on(&f->maker, NUM - 1);
		for (int i = 0; i < NUM; i++) {
			int id = fixture_add(f, 0, false);

			assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
			pst_virtq_push(&f->vq, (uint16_t)id, 0);
		}
		assert_true(pst_virtq_publish(&f->vq));
		assert_false(pst_virtq_publish(&f->vq));
		for (uint16_t id; vring_has_used(&f->maker);)
			assert_true(vring_take(&f->maker, &id, &(uint32_t){0}));
		assert_false(serve_one(f, fixture_add(f, 0, false)));
		assert_true(vring_take(&f->maker, &(uint16_t){0}, &(uint32_t){0}));
	}
}

static void kicks_are_off_and_on(void **state)
{
	struct fixture *f = *state;

	for (int place = 0; place < 3 * NUM; place++) {
		pst_virtq_notify_off(&f->vq);
		for (int i = 0; i < 2; i++) {
			int id = fixture_add(f, 0, false);

			assert_false(vring_needs_kick(&f->maker));
			if (i == 0)
				serve_one(f, id);
			else
				assert_true(pst_virtq_notify_on(&f->vq));
			if (i == 1)
				serve_one(f, id);
			fixture_take(f, id, 0);
		}
		assert_false(pst_virtq_notify_on(&f->vq));
		for (int i = 0; i < 2; i++) {
			int id = fixture_add(f, 1, false);

			/* With the event offset the wish is for the next chain only. */
			assert_int_equal(vring_needs_kick(&f->maker),
					 i == 0 || !f->maker.event_idx);
			serve_one(f, id);
			fixture_take(f, id, 0);
		}
	}
}

static void attaching_turns_kicks_on(void **state)
{
	struct fixture *f = *state;
	struct pst_virtq_config cfg = vring_config(&f->maker);

	f->maker.device->flags = htole16(VRING_PACKED_EVENT_FLAG_DISABLE);
	fixture_attach(f, &cfg);
	fixture_add(f, 1, false);
	assert_true(vring_needs_kick(&f->maker));
}

static void unsound_configuration_is_refused(void **state)
{
	struct fixture *f = *state;
	struct pst_virtq_config good = vring_config(&f->maker), cfg;

	pst_virtq_detach(&f->vq);
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		cfg = good;                                                                        \
		change;                                                                            \
		assert_int_equal(pst_virtq_attach(&f->vq, &cfg), -EINVAL);                         \
	} while (0)
	REFUSED(cfg.num = 0);
	REFUSED(cfg.num = 32769);
	REFUSED(cfg.desc = NULL);
	REFUSED(cfg.desc = (char *)good.desc + 8);
	REFUSED(cfg.driver = NULL);
	REFUSED(cfg.driver = (char *)good.driver + 2);
	REFUSED(cfg.device = (char *)good.device + 2);
	REFUSED(cfg.avail = NUM | 0x8000);
	REFUSED(cfg.used = NUM);
#undef REFUSED
}

#define PLAIN(test) cmocka_unit_test_setup_teardown(test, start, stop)
#define EVENT_IDX(test)                                                                            \
	{                                                                                          \
#test "_with_event_idx", test, start_event_idx, stop, NULL                         \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAIN(direct_chain_is_translated_in_order),
		PLAIN(indirect_table_holds_more_than_the_ring),
		PLAIN(chain_as_long_as_the_ring_is_taken),
		PLAIN(used_elements_skip_what_their_chains_took),
		PLAIN(used_flags_say_whether_anything_was_written),
		PLAIN(batch_becomes_visible_with_its_first_element),
		cmocka_unit_test(wrap_counters_turn_with_a_ring_of_any_size),
		PLAIN(descriptor_used_in_this_lap_is_not_available),
		PLAIN(interrupt_flags_are_honoured),
		EVENT_IDX(interrupt_flags_are_honoured),
		EVENT_IDX(interrupt_comes_at_the_event_offset_and_not_before),
		EVENT_IDX(whole_ring_in_one_batch_interrupts_once),
		PLAIN(kicks_are_off_and_on),
		EVENT_IDX(kicks_are_off_and_on),
		PLAIN(attaching_turns_kicks_on),
		PLAIN(unsound_configuration_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
