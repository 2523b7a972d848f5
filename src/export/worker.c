/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "uring.h"
#include "worker.h"

#define RING_ENTRIES 512
#define RING_CQ_ENTRIES 8192
#define RING_FILES 256
#define RING_REGIONS 256

/* Adaptive busy polling: between never and this long. */
#define POLL_MAX_NS 500000U
#define POLL_MIN_NS 20000U

int pst_mailbox_init(struct pst_mailbox *box)
{
	memset(box, 0, sizeof(*box));
	box->tail = &box->head;
	box->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (box->event_fd < 0)
		return -errno;
	(void)pthread_mutex_init(&box->lock, NULL);
	return 0;
}

void pst_mailbox_finish(struct pst_mailbox *box)
{
	if (box->event_fd < 0)
		return;
	close(box->event_fd);
	box->event_fd = -1;
	(void)pthread_mutex_destroy(&box->lock);
}

void pst_mailbox_post(struct pst_mailbox *box, struct pst_msg *msg)
{
	msg->next = NULL;
	(void)pthread_mutex_lock(&box->lock);
	*box->tail = msg;
	box->tail = &msg->next;
	(void)pthread_mutex_unlock(&box->lock);
	(void)eventfd_write(box->event_fd, 1);
}

void pst_mailbox_run(struct pst_mailbox *box)
{
	struct pst_msg *msg;
	struct pst_msg *next;
	eventfd_t ignored;

	(void)eventfd_read(box->event_fd, &ignored);
	(void)pthread_mutex_lock(&box->lock);
	msg = box->head;
	box->head = NULL;
	box->tail = &box->head;
	(void)pthread_mutex_unlock(&box->lock);
	for (; msg; msg = next) {
		/* run() may free the message. */
		next = msg->next;
		msg->run(msg);
	}
}

static void arm_mailbox(struct pst_worker *worker)
{
	struct io_uring_sqe *sqe = pst_ring_get(worker->ring);

	if (!sqe)
		return;
	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->fd = worker->mailbox.event_fd;
	sqe->poll32_events = POLLIN;
	sqe->len = IORING_POLL_ADD_MULTI;
	pst_ring_bind(sqe, &worker->mailbox_op);
	worker->mailbox_armed = true;
}

static void mailbox_event(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	struct pst_worker *worker = pst_container_of(op, struct pst_worker, mailbox_op);

	(void)res;
	(void)extra;
	if (!(flags & IORING_CQE_F_MORE))
		worker->mailbox_armed = false;
	pst_mailbox_run(&worker->mailbox);
}

/* One turn: reap, look for new work, submit, publish. Returns how much happened. */
static unsigned int turn(struct pst_worker *worker)
{
	struct pst_list *pos;
	struct pst_list *tmp;
	unsigned int work = pst_ring_reap(worker->ring, 0);

	if (worker->poll_ring)
		work += pst_ring_reap(worker->poll_ring, 0);
	pst_list_for_each_safe (pos, tmp, &worker->sources) {
		struct pst_source *src = pst_container_of(pos, struct pst_source, link);

		work += src->poll(src);
	}
	(void)pst_ring_submit(worker->ring);
	if (worker->poll_ring)
		(void)pst_ring_submit(worker->poll_ring);
	pst_list_for_each_safe (pos, tmp, &worker->sources) {
		struct pst_source *src = pst_container_of(pos, struct pst_source, link);

		src->flush(src);
	}
	return work;
}

/* How long the sources of this worker want an idle turn to be repeated, in nanoseconds. */
static uint64_t poll_time(const struct pst_worker *worker)
{
	const struct pst_list *pos;
	uint64_t longest = 0;

	pst_list_for_each (pos, &worker->sources) {
		const struct pst_source *src = pst_container_of(pos, struct pst_source, link);
		uint64_t ns = src->busy_poll_us < 0 ? worker->poll_ns
						    : (uint64_t)src->busy_poll_us * 1000;

		longest = ns > longest ? ns : longest;
	}
	return longest;
}

/*
 * Polling pays when the next event comes sooner than polling may last: a short sleep makes the time
 * grow, a long one makes it shrink.
 */
static void adapt(struct pst_worker *worker, uint64_t slept_ns)
{
	if (slept_ns < POLL_MAX_NS)
		worker->poll_ns = worker->poll_ns ? pst_min_u64(worker->poll_ns * 2, POLL_MAX_NS)
						  : POLL_MIN_NS;
	else
		worker->poll_ns = worker->poll_ns > POLL_MIN_NS ? worker->poll_ns / 2 : 0;
}

static void go_to_sleep(struct pst_worker *worker)
{
	struct pst_list *pos;
	uint64_t before;
	/* Polled commands complete only while somebody polls. */
	bool ready = worker->poll_ring && pst_ring_inflight(worker->poll_ring) > 0;

	pst_list_for_each (pos, &worker->sources) {
		struct pst_source *src = pst_container_of(pos, struct pst_source, link);

		ready |= src->sleep(src);
	}
	if (ready)
		return;
	before = pst_now_ns();
	(void)pst_ring_wait(worker->ring, worker->wake_soon ? 1000 : -1);
	worker->wake_soon = false;
	adapt(worker, pst_now_ns() - before);
}

static void run(struct pst_worker *worker)
{
	uint64_t idle_since = 0;

	while (!worker->stop) {
		if (pst_unlikely(!worker->mailbox_armed))
			arm_mailbox(worker);
		if (turn(worker)) {
			idle_since = 0;
			continue;
		}
		if (!pst_list_empty(&worker->sources)) {
			uint64_t now = pst_now_ns();

			if (!idle_since)
				idle_since = now;
			if (now - idle_since < poll_time(worker)) {
#if defined(__x86_64__)
				__builtin_ia32_pause();
#endif
				continue;
			}
		}
		go_to_sleep(worker);
		idle_since = 0;
	}
}

struct startup {
	struct pst_worker *worker;
	struct pst_error *err;
	int ret;
	sem_t done;
};

/* What this kernel would not give costs speed, not correctness. */
static void say_dropped(const struct pst_ring *ring)
{
	uint32_t dropped = pst_ring_dropped(ring);
	uint32_t cap;

	for (cap = 1; cap && cap <= dropped; cap <<= 1) {
		if (dropped & cap)
			pst_log(PST_LOG_INFO, NULL,
				"the ring does without %s: this kernel refuses it",
				pst_ring_cap_name(cap));
	}
}

static int make_ring(struct pst_ring **ring, bool iopoll, struct pst_error *err)
{
	const struct pst_ring_params params = {
		.entries = RING_ENTRIES,
		.cq_entries = RING_CQ_ENTRIES,
		.files = RING_FILES,
		.regions = RING_REGIONS,
		.iopoll = iopoll,
	};

	int ret = pst_ring_create(&params, ring, err);

	if (ret == 0)
		say_dropped(*ring);
	return ret;
}

int pst_worker_make_poll_ring(struct pst_worker *worker, struct pst_error *err)
{
	return worker->poll_ring ? 0 : make_ring(&worker->poll_ring, true, err);
}

static void *thread_main(void *arg)
{
	struct startup *startup = arg;
	struct pst_worker *worker = startup->worker;
	cpu_set_t set;
	int ret = 0;

	if (worker->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((size_t)worker->cpu, &set);
		ret = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
		if (ret)
			ret = pst_error_set(
				startup->err, -ret,
				"worker %u cannot run on CPU %d: %s; name a CPU that is "
				"online",
				worker->index, worker->cpu, pst_errname(ret));
	}
	if (ret == 0)
		ret = make_ring(&worker->ring, false, startup->err);
	startup->ret = ret;
	(void)sem_post(&startup->done);
	if (ret)
		return NULL;

	run(worker);
	pst_ring_destroy(worker->poll_ring);
	pst_ring_destroy(worker->ring);
	return NULL;
}

static void name_thread(struct pst_worker *worker)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "worker%u", worker->index);
	(void)pthread_setname_np(worker->thread, name);
}

int pst_worker_start(struct pst_worker *worker, unsigned int index, int cpu, struct pst_error *err)
{
	struct startup startup = {.worker = worker, .err = err};
	int ret;

	memset(worker, 0, sizeof(*worker));
	worker->index = index;
	worker->cpu = cpu;
	worker->mailbox_op.done = mailbox_event;
	pst_list_init(&worker->sources);
	ret = pst_mailbox_init(&worker->mailbox);
	if (ret)
		return pst_error_set(err, ret, "worker %u cannot be started: %s", index,
				     pst_errname(ret));

	(void)sem_init(&startup.done, 0, 0);
	ret = pthread_create(&worker->thread, NULL, thread_main, &startup);
	if (ret) {
		ret = pst_error_set(err, -ret, "worker %u cannot be started: %s", index,
				    pst_errname(ret));
	} else {
		name_thread(worker);
		while (sem_wait(&startup.done) != 0)
			;
		ret = startup.ret;
		if (ret)
			(void)pthread_join(worker->thread, NULL);
	}
	(void)sem_destroy(&startup.done);
	if (ret)
		pst_mailbox_finish(&worker->mailbox);
	return ret;
}

struct call {
	struct pst_msg msg;
	int (*fn)(void *arg);
	void *arg;
	int ret;
	sem_t done;
};

static void run_call(struct pst_msg *msg)
{
	struct call *call = pst_container_of(msg, struct call, msg);

	call->ret = call->fn(call->arg);
	(void)sem_post(&call->done);
}

int pst_worker_call(struct pst_worker *worker, int (*fn)(void *arg), void *arg)
{
	struct call call = {.msg.run = run_call, .fn = fn, .arg = arg};

	(void)sem_init(&call.done, 0, 0);
	pst_mailbox_post(&worker->mailbox, &call.msg);
	while (sem_wait(&call.done) != 0)
		;
	(void)sem_destroy(&call.done);
	return call.ret;
}

static int set_stop(void *arg)
{
	struct pst_worker *worker = arg;

	worker->stop = true;
	return 0;
}

void pst_worker_stop(struct pst_worker *worker)
{
	(void)pst_worker_call(worker, set_stop, worker);
	(void)pthread_join(worker->thread, NULL);
	pst_mailbox_finish(&worker->mailbox);
}
