/* SPDX-License-Identifier: MIT */
/*
 * One thread's share of one measurement. A job belongs to its thread from pst_job_open() to
 * pst_job_leave(); the measurement reads the outcome after the thread has ended.
 */
#ifndef PST_BENCH_JOB_H
#define PST_BENCH_JOB_H

#include <stdatomic.h>

#include <penstock/mem.h>
#include <penstock/nvme.h>

#include "base.h"
#include "gen.h"
#include "hist.h"
#include "options.h"
#include "pace.h"
#include "stamp.h"
#include "target.h"
#include "uring.h"

/* After so many failures in a row a measurement is given up. */
#define PST_JOB_FAILURES_MAX 1000

/* An I/O, in flight or free. Its address is the user_data of its entry. */
struct pst_slot {
	uint64_t start;	   /* ns: submission, or the intended start with --rate */
	uint64_t position; /* what is sent: LBA for passthrough, byte offset for block */
	unsigned char *data;
	uint64_t address;  /* what the entry points to: data, or with +vec the vectors */
	struct iovec *iov; /* +vec, else NULL */
	uint32_t nr_iov;
	uint32_t lbas;
	uint64_t block; /* number in the generator's range */
	uint32_t sequence;
	uint16_t device; /* index within the job */
	bool write;
};

/* A device as one job sees it. */
struct pst_job_device {
	const struct pst_bench_target *target;
	struct pst_gen gen;
	struct nvme_uring_cmd read, write; /* templates: all but address, blocks and LBA */
	int fd;				   /* registered slot or descriptor */
	uint8_t sqe_flags;
	bool own_part;	    /* no other thread touches the blocks this one does */
	bool exhausted;	    /* its pass is over */
	uint32_t per_block; /* logical blocks of one I/O */
	uint64_t base;	    /* position of block 0 */
	uint64_t step;	    /* from block to block */
	uint32_t inflight;
	uint32_t share; /* most in flight, so that a slow device does not take all slots */
	uint64_t done;
	/*
	 * --verify: by block less gen.first, the sequence number of the last write that completed,
	 * 0 for none, and a bit while an I/O on it is in flight. NULL when nothing is written.
	 */
	uint32_t *map;
	uint64_t read_back; /* next block to be read back */
	uint32_t sequence;
};

struct pst_job_outcome {
	uint64_t done;	  /* I/Os that succeeded while the clock ran */
	uint64_t errors;  /* failed, whenever */
	uint64_t elapsed; /* ns */
	uint64_t user_ns, system_ns;
	struct pst_hist hist; /* of `done` */
	uint32_t ring_caps, ring_dropped;
	bool gone;		 /* the device went away */
	bool gave_up;		 /* nothing but failures */
	struct pst_error set_up; /* why it did not start */
	struct pst_error first_error;
};

/* What the threads of one measurement share. */
struct pst_job_common {
	const struct pst_bench_options *options;
	const struct pst_bench_mode *mode;
	uint32_t qd;
	uint32_t point;	  /* number of the measurement: upper half of sequence numbers */
	atomic_bool stop; /* set by whoever wants all threads to end */
	const atomic_bool *interrupted;
};

struct pst_job {
	/* Set by the owner before pst_job_open(). */
	struct pst_job_common *common;
	const struct pst_bench_target *targets;
	uint32_t nr_targets;
	uint32_t thread; /* counted from 0, of options->threads */
	struct pst_pool *pool;
	int sqpoll_cpu; /* -1: anywhere */

	struct pst_ring *ring;
	struct pst_region region;
	struct pst_job_device *devices;
	uint32_t nr_devices;
	uint32_t turn; /* device that is next */
	struct pst_slot *slots;
	struct pst_slot **free;
	struct iovec *iovs;
	uint32_t nr_slots, nr_free;
	uint32_t batch;	     /* most to submit at once */
	uint32_t wait_batch; /* fewest completions to sleep for */
	uint8_t sqe_shift;   /* 1 with 128-byte entries */
	uint8_t cqe_shift;
	bool plain;	 /* one device, one direction, blocks of one size: the short loop will do */
	bool counting;	 /* the clock runs */
	uint64_t origin; /* ns: the moment it started */
	bool reading_back;
	uint64_t deadline; /* ns, UINT64_MAX without */
	uint64_t quota;	   /* I/Os still to be started */
	uint32_t failures; /* in a row */
	uint64_t coin;	   /* generator state of the mix */
	struct pst_pace pace;
	struct pst_stamp_shape shape;

	struct pst_job_outcome out;
};

/*
 * On the job's own thread: open (0, or a negative errno with out.set_up filled), and whether or not
 * that went well, leave, which ends the ring. Close frees the rest and may be called from another.
 */
int pst_job_open(struct pst_job *job);
void pst_job_leave(struct pst_job *job);
void pst_job_close(struct pst_job *job);

/* Bytes of pool a job needs for a depth. */
size_t pst_job_pool_size(const struct pst_bench_target *targets, uint32_t nr_targets,
			 const struct pst_bench_options *options, uint32_t qd);

/* Which part of a device's range is this thread's, and of how many. */
uint32_t pst_job_parts(uint32_t nr_targets, uint32_t threads, uint32_t target);

/* Runs the clock: the loops of the ring and of ioctl. They leave nothing in flight. */
void pst_job_run_ring(struct pst_job *job);
void pst_job_run_sync(struct pst_job *job);

/*
 * io.c: what any I/O goes through that is not of the short loop. pst_job_pick() chooses device,
 * direction and block, and stamps what is written; false when none may start now. Every pick is
 * ended by pst_job_complete() with cqe->res (or what stands for it).
 */
bool pst_job_pick(struct pst_job *job, struct pst_slot *slot, uint64_t now);
void pst_job_complete(struct pst_job *job, struct pst_slot *slot, int res, uint64_t now);

/* Notes a failure: counts, keeps the first sentence, stops everything where going on is no use. */
void pst_job_fail(struct pst_job *job, const struct pst_slot *slot, int res);

/* The command of a slot, address and length included. */
void pst_job_command(const struct pst_job *job, const struct pst_slot *slot,
		     struct nvme_uring_cmd *cmd);

/* Starts and stops the clock and the CPU clock; fills elapsed, user_ns and system_ns. */
void pst_job_clock_start(struct pst_job *job);
void pst_job_clock_stop(struct pst_job *job, uint64_t now);

/* Turns to reading back what was written (--verify); false when there is nothing to do. */
bool pst_job_start_reading_back(struct pst_job *job);

/* Lays the vectors of a slot over its data. */
void pst_job_cut_vectors(const struct pst_job *job, struct pst_slot *slot);

/* CLOCK_MONOTONIC, but no longer than a tenth of a second, so that an interrupt is seen in time. */
void pst_job_sleep(uint64_t now, uint64_t until);

static inline bool pst_job_stopped(const struct pst_job *job)
{
	return atomic_load_explicit(&job->common->stop, memory_order_relaxed) ||
	       atomic_load_explicit(job->common->interrupted, memory_order_relaxed);
}

#endif
