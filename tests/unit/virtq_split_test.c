/* SPDX-License-Identifier: MIT */
/* The split virtqueue against a driver that keeps the rules. */
#include "virtq_fixture.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define NUM 8

static int start(void **state)
{
	static struct fixture f;

	fixture_start(&f, NUM, false, false, 0);
	*state = &f;
	return 0;
}

static int start_event_idx(void **state)
{
	static struct fixture f;

	fixture_start(&f, NUM, false, true, 0);
	*state = &f;
	return 0;
}

static int stop(void **state)
{
	fixture_stop(*state);
	return 0;
}

static void set(struct fixture *f, uint16_t at, uint64_t iova, uint32_t len, uint16_t flags,
		uint16_t next)
{
	struct vring_desc *d = &f->maker.desc[at];

	d->addr = htole64(iova);
	d->len = htole32(len);
	d->flags = htole16(flags);
	d->next = htole16(next);
}

/* A chain that the device has taken. */
static int innocent(struct fixture *f)
{
	int id = fixture_add(f, 1, false);

	fixture_pop(f, id);
	return id;
}

static uint64_t data(const struct fixture *f)
{
	return vring_data_iova(&f->maker);
}

static void direct_chain_is_translated_in_order(void **state)
{
	struct fixture *f = *state;
	struct vring_buf bufs[] = {fixture_buf(f, 0, 16, false), fixture_buf(f, 100, 300, false),
				   fixture_buf(f, 4096, 512, true),
				   fixture_buf(f, VRING_DATA_SIZE - 1, 1, true)};
	int id = vring_add(&f->maker, bufs, 4, false);

	assert_true(pst_virtq_has_avail(&f->vq));
	fixture_pop(f, id);
	assert_false(pst_virtq_has_avail(&f->vq));
	assert_int_equal(f->chain.out, 2);
	assert_int_equal(f->chain.in, 2);
	for (unsigned int i = 0; i < 4; i++) {
		assert_ptr_equal(f->iov[i].iov_base,
				 vring_data(&f->maker) + (bufs[i].iova - data(f)));
		assert_int_equal(f->iov[i].iov_len, bufs[i].len);
	}
}

static void indirect_table_holds_more_than_the_ring(void **state)
{
	struct fixture *f = *state;
	int id = fixture_add(f, PST_VIRTQ_CHAIN_MAX - 1, true);

	fixture_pop(f, id);
	assert_int_equal(f->chain.out, 1);
	assert_int_equal(f->chain.in, PST_VIRTQ_CHAIN_MAX - 1);
	assert_ptr_equal(f->iov[PST_VIRTQ_CHAIN_MAX - 1].iov_base,
			 vring_data(&f->maker) + (PST_VIRTQ_CHAIN_MAX - 1) * 1024);
}

static void indirect_table_may_follow_direct_descriptors(void **state)
{
	struct fixture *f = *state;
	struct vring_buf in[] = {fixture_buf(f, 512, 512, true), fixture_buf(f, 2048, 1, true)};

	set(f, 3, data(f), 16, VRING_DESC_F_NEXT, 5);
	set(f, 5, vring_write_table(&f->maker, 5, in, 2), 32,
	    VRING_DESC_F_INDIRECT | VRING_DESC_F_WRITE, 0);
	vring_offer(&f->maker, 3);
	fixture_pop(f, 3);
	assert_int_equal(f->chain.out, 1);
	assert_int_equal(f->chain.in, 2);
}

static void *map_second_window(void *ctx, uint64_t iova, uint64_t length)
{
	return iova >= 0x5000 && length <= 0x1000 && iova - 0x5000 <= 0x1000 - length
		       ? (unsigned char *)ctx + (iova - 0x5000)
		       : NULL;
}

static void address_outside_the_window_is_given_to_translate(void **state)
{
	struct fixture *f = *state;
	unsigned char elsewhere[0x1000];
	struct vring_buf buf = {0x5ff0, 16, true};
	int id;

	f->maker.space.translate = map_second_window;
	f->maker.space.ctx = elsewhere;
	id = vring_add(&f->maker, &buf, 1, false);
	fixture_pop(f, id);
	assert_ptr_equal(f->iov[0].iov_base, elsewhere + 0xff0);
	buf.len = 17;
	vring_add(&f->maker, &buf, 1, false);
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), -EPROTO);
}

static void chains_complete_in_any_order(void **state)
{
	struct fixture *f = *state;
	int a = fixture_add(f, 1, false), b = fixture_add(f, 2, true), c = fixture_add(f, 1, false);

	for (int i = 0; i < 3; i++)
		assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
	pst_virtq_push(&f->vq, (uint16_t)c, 3);
	pst_virtq_push(&f->vq, (uint16_t)a, 1);
	assert_false(vring_has_used(&f->maker));
	assert_true(pst_virtq_publish(&f->vq));
	fixture_take(f, c, 3);
	fixture_take(f, a, 1);
	assert_false(vring_has_used(&f->maker));
	pst_virtq_push(&f->vq, (uint16_t)b, 2);
	assert_true(pst_virtq_publish(&f->vq));
	fixture_take(f, b, 2);
}

static void id_not_in_flight_is_not_pushed(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	pst_virtq_push(&f->vq, (uint16_t)(id == 0 ? 1 : 0), 1);
	pst_virtq_push(&f->vq, NUM, 1);
	pst_virtq_push(&f->vq, UINT16_MAX, 1);
	pst_virtq_push(&f->vq, (uint16_t)id, 1);
	pst_virtq_push(&f->vq, (uint16_t)id, 1);
	assert_true(pst_virtq_publish(&f->vq));
	fixture_take(f, id, 1);
	assert_false(vring_has_used(&f->maker));
	assert_false(pst_virtq_publish(&f->vq));
}

static void indices_wrap_at_16_bits(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, NUM, false, true, 65530);
	for (unsigned int i = 0; i < 40; i++) {
		int a = fixture_add(&f, 1, false), b = fixture_add(&f, 1, true);

		assert_int_equal(pst_virtq_pop(&f.vq, &f.chain), 1);
		fixture_pop(&f, b);
		pst_virtq_push(&f.vq, (uint16_t)b, i);
		pst_virtq_push(&f.vq, (uint16_t)a, i + 1);
		assert_true(pst_virtq_publish(&f.vq));
		fixture_take(&f, b, i);
		fixture_take(&f, a, i + 1);
		assert_false(vring_interrupts_on(&f.maker, 0));
	}
	assert_int_equal(f.vq.used_idx, (uint16_t)(65530 + 80));
	fixture_stop(&f);
}

/* Pops one chain, completes it and tells whether the driver is interrupted. */
static bool serve_one(struct fixture *f, int id)
{
	fixture_pop(f, id);
	pst_virtq_push(&f->vq, (uint16_t)id, 0);
	return pst_virtq_publish(&f->vq);
}

static void interrupt_flag_is_honoured(void **state)
{
	struct fixture *f = *state;

	vring_interrupts_off(&f->maker);
	assert_false(serve_one(f, fixture_add(f, 1, false)));
	vring_interrupts_on(&f->maker, 0);
	assert_true(serve_one(f, fixture_add(f, 1, false)));
}

static void interrupt_comes_at_the_event_index_and_not_before(void **state)
{
	struct fixture *f = *state;
	int a, b;

	vring_interrupts_on(&f->maker, 3);
	assert_false(serve_one(f, fixture_add(f, 1, false)));
	a = fixture_add(f, 1, false);
	b = fixture_add(f, 1, false);
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
	fixture_pop(f, b);
	pst_virtq_push(&f->vq, (uint16_t)a, 0);
	pst_virtq_push(&f->vq, (uint16_t)b, 0);
	assert_false(pst_virtq_publish(&f->vq));
	for (uint16_t id; vring_has_used(&f->maker);)
		assert_true(vring_take(&f->maker, &id, &(uint32_t){0}));
	assert_true(serve_one(f, fixture_add(f, 1, false)));
	assert_false(serve_one(f, fixture_add(f, 1, false)));
}

static void batch_over_the_event_index_interrupts_once(void **state)
{
	struct fixture *f = *state;
	int ids[3];

	vring_interrupts_on(&f->maker, 1);
	for (int i = 0; i < 3; i++) {
		ids[i] = fixture_add(f, 0, false);
		assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
		pst_virtq_push(&f->vq, (uint16_t)ids[i], 0);
	}
	assert_true(pst_virtq_publish(&f->vq));
	assert_false(pst_virtq_publish(&f->vq));
	assert_false(serve_one(f, fixture_add(f, 0, false)));
}

static void kicks_are_off_and_on_by_flag(void **state)
{
	struct fixture *f = *state;

	pst_virtq_notify_off(&f->vq);
	fixture_add(f, 1, false);
	assert_false(vring_needs_kick(&f->maker));
	assert_true(pst_virtq_notify_on(&f->vq));
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
	assert_false(pst_virtq_notify_on(&f->vq));
	fixture_add(f, 1, false);
	assert_true(vring_needs_kick(&f->maker));
}

static void no_kick_comes_while_off_with_event_index(void **state)
{
	struct fixture *f = *state;

	assert_false(pst_virtq_notify_on(&f->vq));
	pst_virtq_notify_off(&f->vq);
	for (int i = 0; i < 30000; i++) {
		int id = fixture_add(f, 1, false);

		assert_false(vring_needs_kick(&f->maker));
		serve_one(f, id);
		fixture_take(f, id, 0);
	}
}

static void kick_comes_for_the_next_chain_after_a_long_time_off(void **state)
{
	struct fixture *f = *state;
	unsigned int spurious = 0;

	for (int round = 0; round < 3; round++) {
		int id;

		pst_virtq_notify_off(&f->vq);
		/* More than 16 bits' worth of chains, so that a stale event index is passed. */
		for (int i = 0; i < 70000; i++) {
			id = fixture_add(f, 1, false);
			spurious += vring_needs_kick(&f->maker);
			serve_one(f, id);
			fixture_take(f, id, 0);
		}
		assert_false(pst_virtq_notify_on(&f->vq));
		/* Served from a poll while on: the wish has to move along. */
		id = fixture_add(f, 1, false);
		vring_needs_kick(&f->maker);
		serve_one(f, id);
		fixture_take(f, id, 0);
		assert_false(pst_virtq_notify_on(&f->vq));
		id = fixture_add(f, 1, false);
		assert_true(vring_needs_kick(&f->maker));
		assert_true(pst_virtq_notify_on(&f->vq));
		serve_one(f, id);
		fixture_take(f, id, 0);
	}
	/* Once in 65536 at most. */
	assert_in_range(spurious, 0, 4);
}

static void attaching_turns_kicks_on(void **state)
{
	struct fixture *f = *state;
	struct pst_virtq_config cfg = vring_config(&f->maker);

	f->maker.used->flags = htole16(VRING_USED_F_NO_NOTIFY);
	fixture_attach(f, &cfg);
	fixture_add(f, 1, false);
	assert_true(vring_needs_kick(&f->maker));
}

static void reattached_queue_starts_at_the_given_indices(void **state)
{
	struct fixture *f = *state;
	struct pst_virtq_config cfg = vring_config(&f->maker);
	int a = innocent(f), b = fixture_add(f, 1, false);

	pst_virtq_detach(&f->vq);
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 0);
	pst_virtq_push(&f->vq, (uint16_t)a, 1);
	assert_false(pst_virtq_publish(&f->vq));
	assert_int_equal(f->maker.used->ring[0].len, 0);
	/* The used index is where a new process starts to take again. */
	fixture_attach(f, &cfg);
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
	assert_int_equal(f->chain.id, a);
	fixture_pop(f, b);
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
	REFUSED(cfg.num = 6);
	REFUSED(cfg.num = 65535);
	REFUSED(cfg.desc = NULL);
	REFUSED(cfg.driver = NULL);
	REFUSED(cfg.device = NULL);
	REFUSED(cfg.space = NULL);
	REFUSED(cfg.desc = (char *)good.desc + 8);
	REFUSED(cfg.driver = (char *)good.driver + 1);
	REFUSED(cfg.device = (char *)good.device + 2);
#undef REFUSED
	assert_false(f->vq.attached);
}

static void chain_at_the_limit_is_taken(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, 256, false, false, 0);
	fixture_pop(&f, fixture_add(&f, PST_VIRTQ_CHAIN_MAX - 1, false));
	assert_int_equal(f.chain.out + f.chain.in, PST_VIRTQ_CHAIN_MAX);
	fixture_stop(&f);
}

#define PLAIN(test) cmocka_unit_test_setup_teardown(test, start, stop)
#define EVENT_IDX(test) cmocka_unit_test_setup_teardown(test, start_event_idx, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAIN(direct_chain_is_translated_in_order),
		PLAIN(indirect_table_holds_more_than_the_ring),
		PLAIN(indirect_table_may_follow_direct_descriptors),
		PLAIN(address_outside_the_window_is_given_to_translate),
		PLAIN(chains_complete_in_any_order),
		PLAIN(id_not_in_flight_is_not_pushed),
		cmocka_unit_test(indices_wrap_at_16_bits),
		PLAIN(interrupt_flag_is_honoured),
		EVENT_IDX(interrupt_comes_at_the_event_index_and_not_before),
		EVENT_IDX(batch_over_the_event_index_interrupts_once),
		PLAIN(kicks_are_off_and_on_by_flag),
		EVENT_IDX(no_kick_comes_while_off_with_event_index),
		EVENT_IDX(kick_comes_for_the_next_chain_after_a_long_time_off),
		PLAIN(attaching_turns_kicks_on),
		PLAIN(reattached_queue_starts_at_the_given_indices),
		PLAIN(unsound_configuration_is_refused),
		cmocka_unit_test(chain_at_the_limit_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
