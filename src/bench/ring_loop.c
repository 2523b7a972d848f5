/* SPDX-License-Identifier: MIT */
/*
 * The loop of the modes on a ring. Entries are built once: the queue's memory keeps what an entry
 * held, so only the fields that differ from I/O to I/O are written (--rw of one kind on one device;
 * anything else writes entries whole). The clock is read once a turn: completions of one
 * turn are taken to have happened when the kernel handed them over, submissions right after.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "compat.h"
#include "job.h"

/* SQPOLL: how often the completion queue is looked at before sleeping in the kernel. */
#define SPINS 200

static inline struct io_uring_sqe *entry(const struct pst_job *job, unsigned int tail)
{
	const struct io_uring_sq *sq = &job->ring->ring.sq;

	return &sq->sqes[(tail & sq->ring_mask) << job->sqe_shift];
}

/*
 * There are as many entries as slots, rounded up, so a free slot means a free entry: no check. The
 * LBA lies within the namespace by construction (the generator stays below the number of full
 * blocks) and the length is that of the template, which was checked.
 */
static inline __attribute__((always_inline)) void prepare_plain(struct pst_job *job, uint32_t n,
								uint64_t now,
								const bool passthrough,
								const bool random)
{
	struct pst_job_device *dev = &job->devices[0];
	struct io_uring_sq *sq = &job->ring->ring.sq;
	struct pst_slot **top = job->free + job->nr_free;
	struct io_uring_sqe *sqes = sq->sqes;
	unsigned int mask = sq->ring_mask;
	unsigned int tail = sq->sqe_tail;
	unsigned int end = tail + n;
	struct pst_gen gen = dev->gen;
	uint64_t base = dev->base;
	uint64_t step = dev->step;

	for (; tail != end; tail++) {
		struct io_uring_sqe *sqe = &sqes[(size_t)(tail & mask) << passthrough];
		struct pst_slot *slot = *--top;
		uint64_t block = 0;
		uint64_t position;

		if (random)
			block = pst_gen_random(&gen);
		else
			/* Never at an end here: a single pass is limited by the quota. */
			(void)pst_gen_next(&gen, &block);
		position = base + block * step;
		slot->start = now;
		slot->position = position;
		sqe->user_data = (uintptr_t)slot;
		if (passthrough) {
			struct nvme_uring_cmd *cmd = (struct nvme_uring_cmd *)sqe->cmd;

			cmd->addr = slot->address;
			/* cdw10 and cdw11 are the two halves of the LBA, in this order. */
			memcpy(&cmd->cdw10, &position, sizeof(position));
		} else {
			sqe->addr = slot->address;
			sqe->off = position;
		}
	}
	dev->gen.state = gen.state;
	dev->gen.next = gen.next;
	sq->sqe_tail = tail;
	job->nr_free -= n;
}

static void fill_passthrough(const struct pst_job *job, const struct pst_slot *slot,
			     struct io_uring_sqe *sqe)
{
	struct nvme_uring_cmd *cmd = (struct nvme_uring_cmd *)sqe->cmd;

	pst_job_command(job, slot, cmd);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->cmd_op = NVME_URING_CMD_IO;
	if (job->common->mode->base == PST_BENCH_NOP) {
		sqe->opcode = IORING_OP_NOP;
		sqe->cmd_op = 0;
	}
	if (job->common->mode->fixed)
		sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	if (job->common->mode->vec) {
		sqe->cmd_op = NVME_URING_CMD_IO_VEC;
		cmd->addr = slot->address;
		cmd->data_len = slot->nr_iov;
	}
}

static void fill_block(const struct pst_job *job, const struct pst_slot *slot,
		       struct io_uring_sqe *sqe)
{
	static const uint8_t opcodes[2][2][2] = {
		/* [fixed][vec][write]; fixed and vectored came with Linux 6.15 */
		{{IORING_OP_READ, IORING_OP_WRITE}, {IORING_OP_READV, IORING_OP_WRITEV}},
		{{IORING_OP_READ_FIXED, IORING_OP_WRITE_FIXED},
		 {PST_IORING_OP_READV_FIXED, PST_IORING_OP_WRITEV_FIXED}},
	};
	const struct pst_bench_mode *mode = job->common->mode;

	sqe->opcode = opcodes[mode->fixed][mode->vec][slot->write];
	sqe->off = slot->position;
	sqe->addr = slot->address;
	sqe->len = mode->vec ? slot->nr_iov
			     : slot->lbas << job->devices[slot->device].target->lba_shift;
}

static void fill_entry(struct pst_job *job, struct pst_slot *slot, struct io_uring_sqe *sqe)
{
	const struct pst_job_device *dev = &job->devices[slot->device];

	memset(sqe, 0, (size_t)64 << job->sqe_shift);
	if (job->common->mode->vec)
		pst_job_cut_vectors(job, slot);
	if (job->common->mode->base == PST_BENCH_BLOCK)
		fill_block(job, slot, sqe);
	else
		fill_passthrough(job, slot, sqe);
	sqe->fd = dev->fd;
	sqe->flags = dev->sqe_flags;
	/* The only fixed buffer of the ring has index 0, which is there already. */
	sqe->user_data = (uintptr_t)slot;
}

static uint32_t prepare_any(struct pst_job *job, uint32_t n, uint64_t now)
{
	struct io_uring_sq *sq = &job->ring->ring.sq;
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct pst_slot *slot = job->free[job->nr_free - 1];

		if (!pst_job_pick(job, slot, now))
			break;
		fill_entry(job, slot, entry(job, sq->sqe_tail));
		sq->sqe_tail++;
		job->nr_free--;
	}
	return i;
}

/* The short loop writes only what differs: everything else is put into every entry once. */
static void fill_queue(struct pst_job *job)
{
	const struct io_uring_sq *sq = &job->ring->ring.sq;
	struct pst_slot slot = job->slots[0];
	unsigned int i;

	for (i = 0; job->common->mode->vec && i < job->nr_slots; i++)
		pst_job_cut_vectors(job, &job->slots[i]);
	for (i = 0; i < sq->ring_entries; i++)
		fill_entry(job, &slot, entry(job, i));
}

static unsigned int reap_any(struct pst_job *job, uint64_t now)
{
	struct io_uring_cq *cq = &job->ring->ring.cq;
	unsigned int head = *cq->khead;
	unsigned int tail = io_uring_smp_load_acquire(cq->ktail);
	unsigned int n = tail - head;

	for (; head != tail; head++) {
		const struct io_uring_cqe *cqe =
			&cq->cqes[(head & cq->ring_mask) << job->cqe_shift];
		struct pst_slot *slot = (struct pst_slot *)(uintptr_t)cqe->user_data;

		job->free[job->nr_free++] = slot;
		pst_job_complete(job, slot, cqe->res, now);
	}
	io_uring_smp_store_release(cq->khead, head);
	return n;
}

/* Completions of one submission come in runs, which enter the histogram as one. */
static inline __attribute__((always_inline)) void reap_plain(struct pst_job *job, uint64_t now,
							     const bool passthrough, int good)
{
	struct io_uring_cq *cq = &job->ring->ring.cq;
	struct pst_slot **top = job->free + job->nr_free;
	const struct io_uring_cqe *cqes = cq->cqes;
	unsigned int mask = cq->ring_mask;
	unsigned int head = *cq->khead;
	unsigned int tail = io_uring_smp_load_acquire(cq->ktail);
	unsigned int n = tail - head;
	uint64_t start = now;
	uint64_t run = 0, failed = 0;

	for (; head != tail; head++) {
		const struct io_uring_cqe *cqe = &cqes[(size_t)(head & mask) << passthrough];
		struct pst_slot *slot = (struct pst_slot *)(uintptr_t)cqe->user_data;

		*top++ = slot;
		if (pst_unlikely(cqe->res != good)) {
			pst_job_fail(job, slot, cqe->res);
			failed++;
			continue;
		}
		if (slot->start != start) {
			if (run)
				pst_hist_add(&job->out.hist, now - start, run);
			start = slot->start;
			run = 0;
		}
		run++;
	}
	if (run)
		pst_hist_add(&job->out.hist, now - start, run);
	io_uring_smp_store_release(cq->khead, head);
	job->nr_free += n;
	job->out.done += n - failed;
	if (n != failed)
		job->failures = 0;
}

/* The kernel's thread submits; a system call is only made to wake it or to sleep. */
static int enter_sqpoll(struct pst_job *job, unsigned int wait)
{
	struct io_uring *ring = &job->ring->ring;
	uint32_t spins;
	int ret = io_uring_submit(ring);

	if (ret < 0 || wait == 0)
		return ret;
	for (spins = 0; spins < SPINS; spins++) {
		if (io_uring_cq_ready(ring))
			return 0;
		__builtin_ia32_pause();
	}
	return io_uring_submit_and_wait(ring, 1);
}

static int enter(struct pst_job *job, unsigned int wait)
{
	if (job->common->mode->sqpoll)
		return enter_sqpoll(job, wait);
	return io_uring_submit_and_wait(&job->ring->ring, wait);
}

/* Open loop: sleeps for a completion, but no longer than until the next intended start. */
static int enter_paced(struct pst_job *job, uint64_t now)
{
	uint64_t until = pst_min_u64(job->pace.next, job->deadline);
	struct io_uring *ring = &job->ring->ring;
	struct __kernel_timespec ts;
	struct io_uring_cqe *cqe;

	if (until <= now || job->common->mode->poll)
		return io_uring_submit_and_get_events(ring);
	if (job->nr_free == job->nr_slots) {
		pst_job_sleep(now, until);
		return 0;
	}
	ts.tv_sec = (long long)((until - now) / 1000000000U);
	ts.tv_nsec = (long long)((until - now) % 1000000000U);
	return io_uring_submit_and_wait_timeout(ring, &cqe, 1, &ts, NULL);
}

static bool fatal(int ret)
{
	return ret < 0 && ret != -EINTR && ret != -EAGAIN && ret != -EBUSY && ret != -ETIME;
}

static void ring_failed(struct pst_job *job, int ret)
{
	if (job->out.errors++ == 0)
		(void)pst_error_set(&job->out.first_error, ret, "mode %s: the ring failed: %s",
				    job->common->mode->name, pst_errname(ret));
	job->out.gave_up = true;
	atomic_store_explicit(&job->common->stop, true, memory_order_relaxed);
}

/* As many as have to complete before going on is worth a system call. */
static inline unsigned int wait_for(const struct pst_job *job, uint32_t prepared, uint32_t asked)
{
	uint32_t inflight = job->nr_slots - job->nr_free;

	if (job->nr_free && job->quota && prepared == asked)
		return 0;
	return (unsigned int)pst_min_u64(job->wait_batch, inflight);
}

/* May it go on? Ends the clock otherwise. */
static inline bool goes_on(struct pst_job *job, uint64_t now)
{
	if (pst_likely(!pst_job_stopped(job) && now < job->deadline &&
		       (job->quota || job->nr_free < job->nr_slots)))
		return true;
	if (job->counting)
		pst_job_clock_stop(job, now);
	return false;
}

static inline uint32_t may_prepare(const struct pst_job *job)
{
	return (uint32_t)pst_min_u64(pst_min_u64(job->nr_free, job->batch), job->quota);
}

static inline void take_quota(struct pst_job *job, uint32_t prepared)
{
	if (job->quota != UINT64_MAX)
		job->quota -= prepared;
}

static inline __attribute__((always_inline)) void loop_plain(struct pst_job *job,
							     const bool passthrough,
							     const bool random)
{
	int good = passthrough ? 0 : (int)job->common->options->bs;
	uint64_t now = pst_now_ns();

	while (goes_on(job, now)) {
		uint32_t n = may_prepare(job);
		int ret;

		prepare_plain(job, n, now, passthrough, random);
		take_quota(job, n);
		ret = enter(job, wait_for(job, n, n));
		if (pst_unlikely(fatal(ret)))
			ring_failed(job, ret);
		now = pst_now_ns();
		reap_plain(job, now, passthrough, good);
	}
}

static void loop_any(struct pst_job *job)
{
	uint64_t now = pst_now_ns();

	while (goes_on(job, now)) {
		uint32_t n = may_prepare(job);
		uint32_t prepared = prepare_any(job, n, now);
		bool paced = job->pace.rate && !job->reading_back;
		int ret;

		if (prepared == 0 && job->nr_free == job->nr_slots && !paced) {
			/* Nothing is left to be read back, or of a pass. */
			job->quota = 0;
			continue;
		}
		take_quota(job, prepared);
		if (paced && prepared < n)
			ret = enter_paced(job, now);
		else
			ret = enter(job, wait_for(job, prepared, n));
		if (pst_unlikely(fatal(ret)))
			ring_failed(job, ret);
		now = pst_now_ns();
		(void)reap_any(job, now);
	}
}

/* Waits for what is in flight; after the clock has stopped. */
static void drain(struct pst_job *job)
{
	while (job->nr_free < job->nr_slots) {
		int ret = io_uring_submit_and_wait(&job->ring->ring, 1);

		if (fatal(ret))
			return;
		if (reap_any(job, pst_now_ns()) == 0)
			(void)sched_yield();
	}
}

/*
 * The short loop keeps no account of devices and blocks in flight; what comes after it does.
 */
static void settle_accounts(struct pst_job *job)
{
	struct pst_job_device *dev = &job->devices[0];

	dev->done = job->out.done;
	dev->inflight = job->nr_slots - job->nr_free;
}

static void run_plain(struct pst_job *job)
{
	bool random = job->common->options->random;

	if (job->common->mode->base != PST_BENCH_BLOCK && random)
		loop_plain(job, true, true);
	else if (job->common->mode->base != PST_BENCH_BLOCK)
		loop_plain(job, true, false);
	else if (random)
		loop_plain(job, false, true);
	else
		loop_plain(job, false, false);
}

void pst_job_run_ring(struct pst_job *job)
{
	if (job->plain)
		fill_queue(job);
	pst_job_clock_start(job);
	if (job->plain) {
		run_plain(job);
		settle_accounts(job);
	} else {
		loop_any(job);
	}
	drain(job);
	if (pst_job_start_reading_back(job)) {
		loop_any(job);
		drain(job);
	}
}
