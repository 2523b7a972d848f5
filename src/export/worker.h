/* SPDX-License-Identifier: MIT */
/*
 * A worker: one thread, one ring, and the virtqueues bound to it. Other threads reach it with
 * messages only; nothing on the I/O path takes a lock.
 */
#ifndef PST_WORKER_H
#define PST_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <penstock/error.h>
#include <penstock/ring.h>

#include "base.h"

struct pst_worker;
struct pst_msg;

/* A message, in the sender's memory until run() is called on the receiver's thread. */
struct pst_msg {
	void (*run)(struct pst_msg *msg);
	struct pst_msg *next;
};

/* A mailbox: messages in order, and an eventfd that is readable while there are some. */
struct pst_mailbox {
	pthread_mutex_t lock;
	struct pst_msg *head;
	struct pst_msg **tail;
	int event_fd;
};

int pst_mailbox_init(struct pst_mailbox *box);
void pst_mailbox_finish(struct pst_mailbox *box);
void pst_mailbox_post(struct pst_mailbox *box, struct pst_msg *msg);
/* Runs what is there; on the receiver's thread. */
void pst_mailbox_run(struct pst_mailbox *box);

/*
 * What a worker turns over: a virtqueue of an export. Filled by the owner before it is added.
 * poll: looks for work and starts it; returns how much there was. Called every turn.
 * flush: makes what completed visible. Called every turn, after submission.
 * sleep: asks for kicks; returns true when something is there already. Called before sleeping.
 */
struct pst_source {
	struct pst_list link;
	unsigned int (*poll)(struct pst_source *src);
	void (*flush)(struct pst_source *src);
	bool (*sleep)(struct pst_source *src);
	int32_t busy_poll_us; /* as in struct pst_export_params */
};

struct pst_worker {
	unsigned int index;
	int cpu; /* -1: not pinned */
	pthread_t thread;
	struct pst_ring *ring;
	struct pst_ring *poll_ring; /* IOPOLL; made with the first export that wants it */
	struct pst_mailbox mailbox;
	struct pst_op mailbox_op;
	bool mailbox_armed;
	bool stop;
	struct pst_list sources;

	/* Set by a source that has to be looked at again soon though no event will come. */
	bool wake_soon;

	/* Adaptive busy polling: nanoseconds an idle turn goes on before sleeping. */
	uint64_t poll_ns;
};

/* Starts the thread and waits for its ring; returns 0 or a negative errno. */
int pst_worker_start(struct pst_worker *worker, unsigned int index, int cpu, struct pst_error *err);
/* Ends the thread; nothing is bound to it any more. */
void pst_worker_stop(struct pst_worker *worker);

/*
 * Makes the worker's polled ring unless there is one; on its thread. Returns 0 or a negative errno.
 */
int pst_worker_make_poll_ring(struct pst_worker *worker, struct pst_error *err);

/* Runs fn(arg) on the worker's thread and waits for its return. From any other thread. */
int pst_worker_call(struct pst_worker *worker, int (*fn)(void *arg), void *arg);

#endif
