/* SPDX-License-Identifier: MIT */
/**
 * DOC: penstock/ring.h - an io_uring with completion callbacks
 *
 * One ring belongs to one thread: the thread that creates it is the only one that may call
 * anything here, pst_ring_destroy() included. Whatever is in flight embeds a &struct pst_op;
 * its callback is called from pst_ring_reap() or pst_ring_wait(), never from a submitting
 * function. Nothing on the I/O path allocates or locks.
 */
#ifndef PENSTOCK_RING_H
#define PENSTOCK_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <penstock/error.h>
#include <penstock/mem.h>

#ifdef __cplusplus
extern "C" {
#endif

struct io_uring_sqe;
struct pst_ring;
struct pst_op;

/**
 * typedef pst_op_done - completion callback of an operation
 * @op: the operation
 * @res: cqe->res
 * @flags: cqe->flags; IORING_CQE_F_MORE says that a multishot operation goes on
 * @extra: cqe->big_cqe[0], the 64-bit result of a uring_cmd
 */
typedef void (*pst_op_done)(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra);

/**
 * struct pst_op - what is in flight, embedded in the owner's struct
 * @done: called when it completes
 * @next: used by the ring while the operation is deferred
 * @res: used by the ring while the operation is deferred
 */
struct pst_op {
	pst_op_done done;
	struct pst_op *next;
	int32_t res;
};

/** enum pst_ring_cap - what a ring ended up with; bits of pst_ring_caps() */
enum pst_ring_cap {
	PST_RING_CAP_SQE128 = 1 << 0,	     /* Linux 5.19; set-up fails without */
	PST_RING_CAP_CQE32 = 1 << 1,	     /* Linux 5.19; set-up fails without */
	PST_RING_CAP_COOP_TASKRUN = 1 << 2,  /* Linux 5.19 */
	PST_RING_CAP_TASKRUN_FLAG = 1 << 3,  /* Linux 5.19 */
	PST_RING_CAP_SINGLE_ISSUER = 1 << 4, /* Linux 6.0 */
	PST_RING_CAP_DEFER_TASKRUN = 1 << 5, /* Linux 6.1 */
	PST_RING_CAP_REGISTERED_FD = 1 << 6, /* Linux 5.18 */
	PST_RING_CAP_IOPOLL = 1 << 7,
	PST_RING_CAP_SQPOLL = 1 << 8,
};

/**
 * struct pst_ring_params - how to create a ring
 * @entries: submission queue entries, 1 to 32768
 * @cq_entries: completion queue entries, or 0 for twice @entries
 * @files: slots for registered files, or 0
 * @regions: slots for registered regions, or 0
 * @iopoll: IORING_SETUP_IOPOLL: completions are polled for (uring_cmd on NVMe and O_DIRECT only)
 * @sqpoll: IORING_SETUP_SQPOLL: a kernel thread submits
 * @sqpoll_idle_ms: time after which that thread sleeps; 0 for the kernel's default
 * @sqpoll_cpu: CPU of that thread, or -1
 * @without: PST_RING_CAP_* not to use even where the kernel has them
 */
struct pst_ring_params {
	uint32_t entries;
	uint32_t cq_entries;
	uint32_t files;
	uint32_t regions;
	bool iopoll;
	bool sqpoll;
	uint32_t sqpoll_idle_ms;
	int sqpoll_cpu;
	uint32_t without;
};

/**
 * pst_ring_create() - create the calling thread's ring
 * @params: how
 * @ring: receives the ring
 * @err: receives the sentence
 *
 * Flags the kernel refuses are dropped newest first; pst_ring_dropped() names them.
 *
 * Return: 0; -EPERM when io_uring is switched off (sysctl kernel.io_uring_disabled); -ENOSYS
 * when the kernel lacks io_uring or 128-byte entries; another negative errno.
 */
int pst_ring_create(const struct pst_ring_params *params, struct pst_ring **ring,
		    struct pst_error *err);

/**
 * pst_ring_destroy() - close a ring
 * @ring: the ring, or NULL
 *
 * Nothing may be in flight.
 */
void pst_ring_destroy(struct pst_ring *ring);

/** pst_ring_caps() - PST_RING_CAP_* in use */
uint32_t pst_ring_caps(const struct pst_ring *ring);
/** pst_ring_dropped() - PST_RING_CAP_* that were wanted and refused by this kernel */
uint32_t pst_ring_dropped(const struct pst_ring *ring);
/** pst_ring_cap_name() - name of one PST_RING_CAP_* bit as in io_uring_setup(2) */
const char *pst_ring_cap_name(uint32_t cap);

/**
 * pst_ring_sqe() - take a submission queue entry
 * @ring: the ring
 *
 * The caller fills it and sets its user_data with pst_ring_sqe_set_op(). When the queue is full
 * what it holds is submitted first.
 *
 * Return: a zeroed 128-byte entry, or NULL when the kernel takes no more just now (completion
 * queue overflown); reap and try again.
 */
struct io_uring_sqe *pst_ring_sqe(struct pst_ring *ring);

/** pst_ring_sqe_set_op() - bind an entry to the operation that completes with it */
void pst_ring_sqe_set_op(struct io_uring_sqe *sqe, struct pst_op *op);

/**
 * pst_ring_defer() - complete an operation without the kernel
 * @ring: the ring
 * @op: the operation; its done callback runs from the next pst_ring_reap() with @res
 * @res: what to hand to it
 */
void pst_ring_defer(struct pst_ring *ring, struct pst_op *op, int32_t res);

/**
 * pst_ring_submit() - submit what is queued and let the kernel post what has completed
 *
 * Return: entries submitted, or a negative errno.
 */
int pst_ring_submit(struct pst_ring *ring);

/**
 * pst_ring_reap() - call the callbacks of what has completed
 * @ring: the ring
 * @max: most completions to take in this call, 0 for all that are there at its start
 *
 * Enters the kernel only if it has completions to post (DEFER_TASKRUN, IOPOLL).
 *
 * Return: callbacks called.
 */
unsigned int pst_ring_reap(struct pst_ring *ring, unsigned int max);

/**
 * pst_ring_wait() - submit what is queued, sleep until something completes, reap
 * @ring: the ring
 * @timeout_us: longest sleep in microseconds, or -1 for no limit
 *
 * Return: callbacks called, 0 when the time was up or a signal came, or a negative errno.
 */
int pst_ring_wait(struct pst_ring *ring, int64_t timeout_us);

/** pst_ring_inflight() - operations handed to the kernel and not yet completed */
uint32_t pst_ring_inflight(const struct pst_ring *ring);

/**
 * pst_ring_register_region() - make a region a fixed buffer of the ring
 * @ring: the ring
 * @region: the region; must stay in place until it is unregistered
 * @err: receives the sentence
 *
 * Return: the buffer's index; -ENOMEM when RLIMIT_MEMLOCK does not allow it (the sentence has the
 * bytes needed); -EFAULT when the memory cannot be pinned; -ENOSPC when no slot is free.
 */
int pst_ring_register_region(struct pst_ring *ring, const struct pst_region *region,
			     struct pst_error *err);

/** pst_ring_unregister_region() - the reverse; nothing in flight may use it */
int pst_ring_unregister_region(struct pst_ring *ring, const struct pst_region *region);

/** pst_ring_region_index() - index of a registered region, or -ENOENT */
int pst_ring_region_index(const struct pst_ring *ring, const struct pst_region *region);

/** pst_ring_register_file() - make a descriptor a registered file; returns its slot or -errno */
int pst_ring_register_file(struct pst_ring *ring, int fd, struct pst_error *err);

/** pst_ring_unregister_file() - free a slot returned by pst_ring_register_file() */
int pst_ring_unregister_file(struct pst_ring *ring, int slot);

#ifdef __cplusplus
}
#endif

#endif
