/* SPDX-License-Identifier: MIT */
/* The packed virtqueue against a driver that breaks the rules, each rule once. */
#include "virtq_fixture.h"

#include <endian.h>

#define NUM 8
/* The id of the chains made by hand: the one vring_add() would give out next. */
#define FREE_ID 1

static int start(void **state)
{
	static struct fixture f;

	fixture_start(&f, NUM, true, false, 0);
	*state = &f;
	return 0;
}

static int stop(void **state)
{
	fixture_stop(*state);
	return 0;
}

/* A chain in flight that the violation must not touch. Takes two slots. */
static int innocent(struct fixture *f)
{
	int id = fixture_add(f, 1, false);

	fixture_pop(f, id);
	assert_int_equal(f->maker.free_ids[--f->maker.free_count], FREE_ID);
	return id;
}

static uint64_t data(const struct fixture *f)
{
	return vring_data_iova(&f->maker);
}

/* Writes the next slot, available whatever it is. */
static void put(struct fixture *f, uint64_t iova, uint32_t len, uint16_t flags, uint16_t id)
{
	struct vring_packed_desc d = {htole64(iova), htole32(len), htole16(id), htole16(flags)};
	struct vring_maker *m = &f->maker;

	vring_put(m, m->next_avail, m->avail_wrap, &d);
	if (id < NUM)
		m->slots[id]++;
	if (++m->next_avail == NUM) {
		m->next_avail = 0;
		m->avail_wrap = !m->avail_wrap;
	}
}

static void id_outside_the_ring_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, data(f), 16, 0, NUM);
	fixture_breaks(f, id, "outside the ring", -1);
}

static void id_in_flight_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, data(f), 16, 0, (uint16_t)id);
	f->maker.slots[id]--;
	fixture_breaks(f, id, "in flight", -1);
}

/* In every place of the ring, since what is in flight may lie on either side of its end. */
static void chain_that_never_ends_breaks(void **state)
{
	(void)state;
	for (uint16_t place = 0; place < NUM; place++) {
		struct fixture f;
		int id;

		fixture_start(&f, NUM, true, false, place);
		id = innocent(&f);
		/* The six free slots, and on into those in flight. */
		for (int i = 0; i < NUM - 2; i++)
			put(&f, data(&f), 16, VRING_DESC_F_NEXT, FREE_ID);
		fixture_breaks(&f, id, "runs into", -1);
		assert_int_equal(f.chain.ndescs, NUM - 2);
		fixture_stop(&f);
	}
}

static void chain_over_the_limit_breaks(void **state)
{
	struct fixture f;
	int id;

	(void)state;
	fixture_start(&f, 256, true, false, 0);
	id = innocent(&f);
	for (int i = 0; i <= PST_VIRTQ_CHAIN_MAX; i++) {
		struct vring_packed_desc d = {
			htole64(data(&f)), htole32(16), htole16(FREE_ID),
			htole16(i == PST_VIRTQ_CHAIN_MAX ? 0 : VRING_DESC_F_NEXT)};

		vring_put(&f.maker, f.maker.next_avail++, true, &d);
		f.maker.slots[FREE_ID]++;
	}
	fixture_breaks(&f, id, "too many", FREE_ID);
	fixture_stop(&f);
}

static void readable_after_writable_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, data(f), 16, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, FREE_ID);
	put(f, data(f), 16, 0, FREE_ID);
	fixture_breaks(f, id, "readable", FREE_ID);
}

static void length_zero_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, data(f), 0, 0, FREE_ID);
	fixture_breaks(f, id, "length 0", FREE_ID);
}

/* The chain is given back whole, though its fault lies in its first descriptor. */
static void chain_is_followed_to_its_id(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, 0, 16, VRING_DESC_F_NEXT, FREE_ID);
	put(f, data(f), 16, VRING_DESC_F_NEXT, FREE_ID);
	put(f, data(f), 16, 0, FREE_ID);
	fixture_breaks(f, id, "not mapped", FREE_ID);
}

static void faulty_chain_with_an_id_in_flight_is_not_given_back(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, data(f), 0, 0, (uint16_t)id);
	f->maker.slots[id]--;
	fixture_breaks(f, id, "length 0", -1);
}

static void buffer_over_the_end_of_addresses_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, UINT64_MAX - 14, 16, 0, FREE_ID);
	fixture_breaks(f, id, "end of the address space", FREE_ID);
}

static void unmapped_buffer_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, data(f) + VRING_DATA_SIZE - 15, 16, 0, FREE_ID);
	fixture_breaks(f, id, "not mapped", FREE_ID);
}

static uint64_t good_table(struct fixture *f)
{
	struct vring_buf bufs[] = {fixture_buf(f, 0, 16, false), fixture_buf(f, 512, 1, true)};

	return vring_write_table(&f->maker, FREE_ID, bufs, 2);
}

static void put_table(struct fixture *f, uint64_t table, uint32_t len)
{
	put(f, table, len, VRING_DESC_F_INDIRECT, FREE_ID);
}

static void indirect_that_was_not_negotiated_breaks(void **state)
{
	struct fixture *f = *state;
	struct pst_virtq_config cfg = vring_config(&f->maker);
	int id;

	cfg.indirect = false;
	fixture_attach(f, &cfg);
	id = innocent(f);
	put_table(f, good_table(f), 32);
	fixture_breaks(f, id, "negotiated", FREE_ID);
}

static void indirect_with_next_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, good_table(f), 32, VRING_DESC_F_INDIRECT | VRING_DESC_F_NEXT, FREE_ID);
	put(f, data(f), 16, 0, FREE_ID);
	fixture_breaks(f, id, "has a next", FREE_ID);
}

/* Allowed in a split ring, not here (2.7.7). */
static void indirect_after_direct_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put(f, data(f), 16, VRING_DESC_F_NEXT, FREE_ID);
	put(f, good_table(f), 32, VRING_DESC_F_INDIRECT, FREE_ID);
	fixture_breaks(f, id, "follows a direct", FREE_ID);
}

static void indirect_in_indirect_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);
	uint64_t table = good_table(f);
	unsigned char *second = f->maker.window + FREE_ID * VRING_TABLE_SIZE + 16;

	((struct vring_packed_desc *)(void *)second)->flags = htole16(VRING_DESC_F_INDIRECT);
	put_table(f, table, 32);
	fixture_breaks(f, id, "has an indirect", FREE_ID);
}

static void readable_after_writable_in_a_table_breaks(void **state)
{
	struct fixture *f = *state;
	struct vring_buf bufs[] = {fixture_buf(f, 512, 1, true), fixture_buf(f, 0, 16, false)};
	int id = innocent(f);

	put_table(f, vring_write_table(&f->maker, FREE_ID, bufs, 2), 32);
	fixture_breaks(f, id, "readable", FREE_ID);
}

static void empty_indirect_table_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put_table(f, good_table(f), 0);
	fixture_breaks(f, id, "multiple of 16", FREE_ID);
}

static void indirect_table_of_odd_length_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put_table(f, good_table(f), 24);
	fixture_breaks(f, id, "multiple of 16", FREE_ID);
}

static void indirect_table_over_the_limit_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put_table(f, good_table(f), 16 * (PST_VIRTQ_CHAIN_MAX + 1));
	fixture_breaks(f, id, "too long", FREE_ID);
}

static void unmapped_indirect_table_breaks(void **state)
{
	struct fixture *f = *state;
	int id = innocent(f);

	put_table(f, data(f) + VRING_DATA_SIZE - 16, 32);
	fixture_breaks(f, id, "table is not mapped", FREE_ID);
}

#define BREAKS(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BREAKS(id_outside_the_ring_breaks),
		BREAKS(id_in_flight_breaks),
		cmocka_unit_test(chain_that_never_ends_breaks),
		cmocka_unit_test(chain_over_the_limit_breaks),
		BREAKS(readable_after_writable_breaks),
		BREAKS(length_zero_breaks),
		BREAKS(chain_is_followed_to_its_id),
		BREAKS(faulty_chain_with_an_id_in_flight_is_not_given_back),
		BREAKS(buffer_over_the_end_of_addresses_breaks),
		BREAKS(unmapped_buffer_breaks),
		BREAKS(indirect_that_was_not_negotiated_breaks),
		BREAKS(indirect_with_next_breaks),
		BREAKS(indirect_after_direct_breaks),
		BREAKS(indirect_in_indirect_breaks),
		BREAKS(readable_after_writable_in_a_table_breaks),
		BREAKS(empty_indirect_table_breaks),
		BREAKS(indirect_table_of_odd_length_breaks),
		BREAKS(indirect_table_over_the_limit_breaks),
		BREAKS(unmapped_indirect_table_breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
