/* SPDX-License-Identifier: MIT */
/*
 * Driver and device on threads of their own, each asleep when it has nothing to do and woken only
 * when the other side's wish says so. A missing barrier loses a wake-up, and the test its patience.
 */
#include "virtq_fixture.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#define REQUESTS 1000000U
#define NUM 8
#define PATIENCE_S 5

struct pair {
	struct fixture f;
	sem_t kick, interrupt;
	bool lost; /* somebody waited in vain: atomic */
	bool wrong_data;
};

/*
 * Returns false when nobody wakes us. Looks a while before it sleeps: two threads that are both
 * awake meet where the barriers are far more often than two that wake each other.
 */
static bool sleep_on(sem_t *sem)
{
	struct timespec until;

	for (unsigned int i = 0; i < 2000; i++) {
		if (sem_trywait(sem) == 0)
			return true;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	return sem_timedwait(sem, &until) == 0;
}

static void answer_all(struct fixture *f, uint32_t *served)
{
	while (pst_virtq_pop(&f->vq, &f->chain) == 1) {
		uint32_t value;

		/* The answer is the question plus one; nothing else orders the two threads. */
		memcpy(&value, f->iov[0].iov_base, sizeof(value));
		value++;
		memcpy(f->iov[1].iov_base, &value, sizeof(value));
		pst_virtq_push(&f->vq, f->chain.id, sizeof(value));
		(*served)++;
	}
}

static void *device_thread(void *arg)
{
	struct pair *p = arg;
	uint32_t served = 0;

	while (served < REQUESTS) {
		pst_virtq_notify_off(&p->f.vq);
		answer_all(&p->f, &served);
		if (pst_virtq_publish(&p->f.vq))
			sem_post(&p->interrupt);
		if (pst_virtq_notify_on(&p->f.vq) || served == REQUESTS)
			continue;
		if (!sleep_on(&p->kick)) {
			__atomic_store_n(&p->lost, true, __ATOMIC_RELAXED);
			break;
		}
	}
	return NULL;
}

/* Each id has a cell of its own in the data area: question and answer. */
static bool ask(struct pair *p, uint32_t value)
{
	struct vring_maker *m = &p->f.maker;
	uint32_t cell = m->free_count ? m->free_ids[m->free_count - 1] * 64U : 0;
	struct vring_buf bufs[] = {fixture_buf(&p->f, cell, sizeof(value), false),
				   fixture_buf(&p->f, cell + 32, sizeof(value), true)};

	if (m->free_count == 0)
		return false;
	memcpy(vring_data(m) + cell, &value, sizeof(value));
	return vring_add(m, bufs, 2, true) >= 0;
}

static void driver_runs(struct pair *p)
{
	struct vring_maker *m = &p->f.maker;
	uint32_t asked = 0, answered = 0, len, value, question;
	uint16_t id;

	while (answered < REQUESTS) {
		bool added = false, taken = false;

		vring_interrupts_off(m);
		while (asked < REQUESTS && ask(p, asked)) {
			asked++;
			added = true;
			if (asked % 3 == 0)
				break;
		}
		if (added && vring_needs_kick(m))
			sem_post(&p->kick);
		while (vring_take(m, &id, &len)) {
			memcpy(&question, vring_data(m) + id * 64U, sizeof(value));
			memcpy(&value, vring_data(m) + id * 64U + 32, sizeof(value));
			if (value != question + 1 || len != sizeof(value))
				p->wrong_data = true;
			answered++;
			taken = true;
		}
		if (added || taken || answered == REQUESTS || vring_interrupts_on(m, 0))
			continue;
		if (!sleep_on(&p->interrupt)) {
			__atomic_store_n(&p->lost, true, __ATOMIC_RELAXED);
			break;
		}
	}
}

static void play(bool packed, bool event_idx)
{
	static struct pair p;
	pthread_t device;

	memset(&p, 0, sizeof(p));
	fixture_start(&p.f, NUM, packed, event_idx, 0);
	sem_init(&p.kick, 0, 0);
	sem_init(&p.interrupt, 0, 0);
	assert_int_equal(pthread_create(&device, NULL, device_thread, &p), 0);
	driver_runs(&p);
	pthread_join(device, NULL);
	assert_false(p.lost);
	assert_false(p.wrong_data);
	assert_int_equal(p.f.vq.inflight, 0);
	sem_destroy(&p.kick);
	sem_destroy(&p.interrupt);
	fixture_stop(&p.f);
}

static void no_wakeup_is_lost_on_a_split_ring(void **state)
{
	(void)state;
	play(false, false);
}

static void no_wakeup_is_lost_on_a_split_ring_with_event_idx(void **state)
{
	(void)state;
	play(false, true);
}

static void no_wakeup_is_lost_on_a_packed_ring(void **state)
{
	(void)state;
	play(true, false);
}

static void no_wakeup_is_lost_on_a_packed_ring_with_event_idx(void **state)
{
	(void)state;
	play(true, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_wakeup_is_lost_on_a_split_ring),
		cmocka_unit_test(no_wakeup_is_lost_on_a_split_ring_with_event_idx),
		cmocka_unit_test(no_wakeup_is_lost_on_a_packed_ring),
		cmocka_unit_test(no_wakeup_is_lost_on_a_packed_ring_with_event_idx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
