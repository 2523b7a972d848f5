/* SPDX-License-Identifier: MIT */
#include "virtq_fixture.h"

#include <errno.h>
#include <string.h>

void fixture_attach(struct fixture *f, const struct pst_virtq_config *cfg)
{
	assert_int_equal(pst_virtq_attach(&f->vq, cfg), 0);
}

void fixture_start(struct fixture *f, uint16_t num, bool packed, bool event_idx, uint16_t start)
{
	struct pst_virtq_config cfg;

	memset(f, 0, sizeof(*f));
	vring_maker_init(&f->maker, num, packed, event_idx, start);
	pst_virtq_init(&f->vq);
	f->chain.iov = f->iov;
	cfg = vring_config(&f->maker);
	fixture_attach(f, &cfg);
}

void fixture_stop(struct fixture *f)
{
	pst_virtq_detach(&f->vq);
	pst_virtq_finish(&f->vq);
	vring_maker_finish(&f->maker);
}

struct vring_buf fixture_buf(const struct fixture *f, uint32_t offset, uint32_t len,
			     bool device_writes)
{
	struct vring_buf buf = {vring_data_iova(&f->maker) + offset, len, device_writes};

	return buf;
}

int fixture_add(struct fixture *f, unsigned int writable, bool indirect)
{
	struct vring_buf bufs[PST_VIRTQ_CHAIN_MAX];

	bufs[0] = fixture_buf(f, 0, 16, false);
	for (unsigned int i = 1; i <= writable; i++)
		bufs[i] = fixture_buf(f, i * 1024, 512, true);
	return vring_add(&f->maker, bufs, writable + 1, indirect);
}

void fixture_pop(struct fixture *f, int id)
{
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 1);
	assert_int_equal(f->chain.id, id);
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), 0);
}

void fixture_take(struct fixture *f, int id, uint32_t len)
{
	uint16_t used_id;
	uint32_t used_len;

	assert_true(vring_take(&f->maker, &used_id, &used_len));
	assert_int_equal(used_id, id);
	assert_int_equal(used_len, len);
}

void fixture_breaks(struct fixture *f, int innocent, const char *words, int head)
{
	assert_int_equal(f->vq.inflight, 1);
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), -EPROTO);
	assert_true(f->vq.broken);
	assert_non_null(strstr(f->vq.reason, words));
	assert_int_equal(pst_virtq_pop(&f->vq, &f->chain), -EPROTO);
	assert_false(pst_virtq_has_avail(&f->vq));
	assert_false(pst_virtq_notify_on(&f->vq));

	pst_virtq_push(&f->vq, (uint16_t)innocent, 7);
	pst_virtq_publish(&f->vq);
	if (head >= 0)
		fixture_take(f, head, 0);
	fixture_take(f, innocent, 7);
	assert_false(vring_has_used(&f->maker));
	assert_int_equal(f->vq.inflight, 0);
}
