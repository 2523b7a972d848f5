/* SPDX-License-Identifier: MIT */
/* The split virtqueue against a driver that breaks the rules, each rule once. */
#include "virtq_fixture.h"

#include <endian.h>

#define NUM 8

static int start(void **state)
{
	static struct fixture f;

	fixture_start(&f, NUM, false, false, 0);
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

/* A chain in flight that a later violation must not touch. Takes descriptors 0 and 1. */
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

static void available_index_that_jumps_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	f->maker.avail->idx = htole16((uint16_t)(f->maker.next_avail + NUM + 1));
	fixture_breaks(f, id, "available index jumped", -1);
}

static void head_outside_the_ring_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	vring_offer(&f->maker, NUM);
	fixture_breaks(f, id, "head lies outside", -1);
}

static void head_in_flight_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	vring_offer(&f->maker, (uint16_t)id);
	fixture_breaks(f, id, "in flight", -1);
}

static void next_outside_the_ring_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	set(f, 2, data(f), 16, VRING_DESC_F_NEXT, NUM);
	vring_offer(&f->maker, 2);
	fixture_breaks(f, id, "next index lies outside the ring", 2);
}

static void looping_chain_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	set(f, 2, data(f), 16, VRING_DESC_F_NEXT, 3);
	set(f, 3, data(f), 16, VRING_DESC_F_NEXT, 2);
	vring_offer(&f->maker, 2);
	fixture_breaks(f, id, "descriptors of a chain loop", 2);
}

static void chain_over_the_limit_breaks(void **state)
{
	struct fixture f;
	int id;

	(void)state;
	fixture_start(&f, 256, false, false, 0);
	id = innocent(&f);
	for (uint16_t i = 0; i <= PST_VIRTQ_CHAIN_MAX; i++)
		set(&f, (uint16_t)(i + 2), data(&f), 16,
		    i == PST_VIRTQ_CHAIN_MAX ? 0 : VRING_DESC_F_NEXT, (uint16_t)(i + 3));
	vring_offer(&f.maker, 2);
	fixture_breaks(&f, id, "too many", 2);
	fixture_stop(&f);
}

static void readable_after_writable_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	set(f, 2, data(f), 16, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 3);
	set(f, 3, data(f), 16, 0, 0);
	vring_offer(&f->maker, 2);
	fixture_breaks(f, id, "readable", 2);
}

static void length_zero_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	set(f, 2, data(f), 0, 0, 0);
	vring_offer(&f->maker, 2);
	fixture_breaks(f, id, "length 0", 2);
}

static void buffer_over_the_end_of_addresses_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	set(f, 2, UINT64_MAX - 14, 16, 0, 0);
	vring_offer(&f->maker, 2);
	fixture_breaks(f, id, "end of the address space", 2);
}

static void unmapped_buffer_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	set(f, 2, data(f) + VRING_DATA_SIZE - 15, 16, 0, 0);
	vring_offer(&f->maker, 2);
	fixture_breaks(f, id, "not mapped", 2);
}

static void buffer_before_the_window_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	set(f, 2, VRING_IOVA - 1, 16, 0, 0);
	vring_offer(&f->maker, 2);
	fixture_breaks(f, id, "not mapped", 2);
}

/* Offers descriptor 2 as an indirect one with this table. */
static void offer_table(struct fixture *f, uint64_t table, uint32_t len, uint16_t flags)
{
	set(f, 2, table, len, VRING_DESC_F_INDIRECT | flags, 3);
	set(f, 3, data(f), 16, 0, 0);
	vring_offer(&f->maker, 2);
}

static uint64_t good_table(struct fixture *f)
{
	struct vring_buf bufs[] = {fixture_buf(f, 0, 16, false), fixture_buf(f, 512, 1, true)};

	return vring_write_table(&f->maker, 2, bufs, 2);
}

static struct vring_desc *table_entry(struct fixture *f, unsigned int at)
{
	return (struct vring_desc *)(void *)(f->maker.window + 2 * VRING_TABLE_SIZE) + at;
}

static void indirect_that_was_not_negotiated_breaks(void **state)
{
	struct fixture *f = *state;
	struct pst_virtq_config cfg = vring_config(&f->maker);
	int id;

	cfg.indirect = false;
	fixture_attach(f, &cfg);
	id = innocent(f);
	offer_table(f, good_table(f), 32, 0);
	fixture_breaks(f, id, "negotiated", 2);
}

static void indirect_with_next_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	offer_table(f, good_table(f), 32, VRING_DESC_F_NEXT);
	fixture_breaks(f, id, "has a next", 2);
}

static void indirect_in_indirect_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);
	uint64_t table = good_table(f);

	table_entry(f, 1)->flags = htole16(VRING_DESC_F_INDIRECT);
	offer_table(f, table, 32, 0);
	fixture_breaks(f, id, "has an indirect", 2);
}

static void empty_indirect_table_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	offer_table(f, good_table(f), 0, 0);
	fixture_breaks(f, id, "multiple of 16", 2);
}

static void indirect_table_of_odd_length_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	offer_table(f, good_table(f), 40, 0);
	fixture_breaks(f, id, "multiple of 16", 2);
}

static void indirect_table_over_the_limit_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	offer_table(f, good_table(f), 16 * (PST_VIRTQ_CHAIN_MAX + 1), 0);
	fixture_breaks(f, id, "too long", 2);
}

static void indirect_table_over_the_end_of_addresses_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	offer_table(f, UINT64_MAX - 15, 32, 0);
	fixture_breaks(f, id, "end of the address space", 2);
}

static void unmapped_indirect_table_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	offer_table(f, data(f) + VRING_DATA_SIZE - 16, 32, 0);
	fixture_breaks(f, id, "table is not mapped", 2);
}

static void next_outside_the_indirect_table_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);
	uint64_t table = good_table(f);

	table_entry(f, 0)->next = htole16(2);
	offer_table(f, table, 32, 0);
	fixture_breaks(f, id, "outside the indirect table", 2);
}

static void looping_indirect_table_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);
	uint64_t table = good_table(f);

	table_entry(f, 0)->next = htole16(0);
	offer_table(f, table, 32, 0);
	fixture_breaks(f, id, "descriptors of an indirect table loop", 2);
}

static void direct_and_indirect_together_obey_the_limit(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);
	struct vring_buf bufs[PST_VIRTQ_CHAIN_MAX];

	for (unsigned int i = 0; i < PST_VIRTQ_CHAIN_MAX; i++)
		bufs[i] = fixture_buf(f, i, 1, true);
	set(f, 2, data(f), 16, VRING_DESC_F_NEXT, 3);
	set(f, 3, vring_write_table(&f->maker, 3, bufs, PST_VIRTQ_CHAIN_MAX),
	    16 * PST_VIRTQ_CHAIN_MAX, VRING_DESC_F_INDIRECT, 0);
	vring_offer(&f->maker, 2);
	fixture_breaks(f, id, "too many", 2);
}

#define BREAKS(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BREAKS(available_index_that_jumps_breaks),
		BREAKS(head_outside_the_ring_breaks),
		BREAKS(head_in_flight_breaks),
		BREAKS(next_outside_the_ring_breaks),
		BREAKS(looping_chain_breaks),
		cmocka_unit_test(chain_over_the_limit_breaks),
		BREAKS(readable_after_writable_breaks),
		BREAKS(length_zero_breaks),
		BREAKS(buffer_over_the_end_of_addresses_breaks),
		BREAKS(unmapped_buffer_breaks),
		BREAKS(buffer_before_the_window_breaks),
		BREAKS(indirect_that_was_not_negotiated_breaks),
		BREAKS(indirect_with_next_breaks),
		BREAKS(indirect_in_indirect_breaks),
		BREAKS(empty_indirect_table_breaks),
		BREAKS(indirect_table_of_odd_length_breaks),
		BREAKS(indirect_table_over_the_limit_breaks),
		BREAKS(indirect_table_over_the_end_of_addresses_breaks),
		BREAKS(unmapped_indirect_table_breaks),
		BREAKS(next_outside_the_indirect_table_breaks),
		BREAKS(looping_indirect_table_breaks),
		BREAKS(direct_and_indirect_together_obey_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
