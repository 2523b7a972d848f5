/* SPDX-License-Identifier: MIT */
/*
 * Between the files of this folder. Threads: C is the control thread, W a worker, A any other.
 *
 * Life of an export: created (A) - session starts at DRIVER_OK (C tells every W) - memory settled
 * at the first request (W) - session ends at reset (C tells every W, answers when all are drained)
 * - removed (A).
 */
#ifndef PST_SERVER_H
#define PST_SERVER_H

#include <pthread.h>
#include <semaphore.h>

#include <penstock/export.h>

#include "vblk.h"
#include "vduse.h"
#include "worker.h"

struct pst_server {
	struct pst_server_params params;
	struct pst_worker *workers;
	uint32_t nr_workers;
	uint32_t next_worker; /* round robin of queues; A, under lock */

	pthread_t control;
	struct pst_mailbox mailbox;
	int epoll_fd;
	bool stop;

	pthread_mutex_t lock; /* exports */
	struct pst_list exports;
};

enum pst_queue_state {
	PST_QUEUE_IDLE, /* no session */
	PST_QUEUE_RUNNING,
	PST_QUEUE_DRAINING, /* takes nothing new; goes to `then` when nothing is in flight */
	PST_QUEUE_PAUSED,   /* keeps the ring, takes nothing */
};

/* What a queue does once it is drained, and whom it tells. */
struct pst_drain {
	enum pst_queue_state then; /* IDLE or PAUSED */
	void (*done)(struct pst_drain *drain);
};

/* One virtqueue. Everything but what is marked is its worker's while a session lasts. */
struct pst_equeue {
	struct pst_source source; /* first: the worker's list casts back */
	struct pst_export *exp;
	uint32_t index;
	struct pst_worker *worker;
	struct pst_blk_queue *blkq;
	bool region_registered; /* by this queue, with its worker's ring */
	bool region_refused;	/* by that ring */

	enum pst_queue_state state;
	struct pst_drain *drain;
	bool settled;  /* the window is valid */
	bool has_kick; /* the poll below is in the ring */
	bool irq_pending;
	int kick_fd;
	struct pst_op kick_op;
	struct pst_op cancel_op;
	bool cancelling;
	bool broken_said;
	uint64_t refused; /* of earlier sessions: answered by the device model itself */
	uint64_t failed;

	struct pst_virtq_space space;
	struct pst_vblk_queue vblk;

	/* C fills these before the session starts and releases them after it ended. */
	bool enabled;
	struct pst_virtq_config config;
	struct pst_vduse_map maps[3];
	struct pst_msg start_msg;
	struct pst_msg stop_msg;
	struct pst_drain stop_drain;
};

enum pst_umem_state {
	PST_UMEM_UNSETTLED,
	PST_UMEM_REGISTERED,
	PST_UMEM_MAPPED, /* the kernel's own bounce pages */
};

enum pst_session_state {
	PST_SESSION_NONE,
	PST_SESSION_RUNNING,
	PST_SESSION_STOPPING,
};

struct pst_export {
	struct pst_list link;
	struct pst_server *server;
	struct pst_export_params params;
	struct pst_blk *blk;
	struct pst_vblk vblk;
	struct pst_vduse dev;
	uint64_t features; /* offered */
	uint64_t bounce;   /* bytes the kernel uses */

	struct pst_pool *pool; /* NULL with umem off */
	bool own_pool;
	struct pst_region region;
	bool fixed; /* the region is registered with the workers' rings */

	struct pst_equeue *queues;
	uint32_t nr_queues;

	/* The memory behind the bounce region; one thread settles it, the others wait. */
	pthread_mutex_t umem_lock;
	enum pst_umem_state umem;
	bool umem_refused; /* auto fell back, and said so */
	struct pst_vduse_map bounce_map;
	unsigned char *window;
	bool settled_posted;
	struct pst_msg settled_msg;

	/* C's, and under session_lock what others look at. */
	pthread_mutex_t session_lock;
	enum pst_session_state session;
	uint32_t enabled_queues;
	uint32_t queues_stopping;
	struct vduse_dev_response reset_reply;
	bool watched; /* in the epoll set */

	/* Attaching, in a thread of its own. */
	pthread_t attach_thread;
	bool attach_started;
	struct pst_msg attached_msg;
	struct pst_error attach_error;
	bool attached;
	uint64_t attached_ns; /* when, to give up waiting for a block device */
	bool ready_said;
	char device[64]; /* under umem_lock */

	/* Set once, by whoever finds that the export cannot go on. */
	bool failed;
	struct pst_msg fail_msg;
	struct pst_error fail_error;
};

/* session.c: C */
void pst_session_init(struct pst_export *exp);
void pst_session_message(struct pst_export *exp);
/* After the queues are idle: returns what the session took. */
void pst_session_release(struct pst_export *exp);

/* ready.c: C, fail from any thread */
void pst_ready_init(struct pst_export *exp);
/* Says that the export is ready once it is; returns whether there is still something to wait for.
 */
bool pst_ready_check(struct pst_export *exp);
/* The export cannot go on. The first call counts. */
void pst_export_fail(struct pst_export *exp, const struct pst_error *why);

/* equeue.c: W, except init */
void pst_equeue_init(struct pst_equeue *q, struct pst_export *exp, uint32_t index,
		     struct pst_worker *worker);
int pst_equeue_open(struct pst_equeue *q, struct pst_error *err);
void pst_equeue_close(struct pst_equeue *q);
void pst_equeue_start(struct pst_equeue *q);
void pst_equeue_drain(struct pst_equeue *q, struct pst_drain *drain);
void pst_equeue_resume(struct pst_equeue *q);

/* umem.c: any thread */
/*
 * Makes the bounce region's memory usable for this session: the pool's if it may be and can be,
 * else the kernel's pages, mapped. Nothing of this session is in flight. Returns 0, or -EAGAIN when
 * the kernel has no bounce region yet.
 */
int pst_umem_settle(struct pst_export *exp);
/* After a session: the next one settles anew. */
void pst_umem_unsettle(struct pst_export *exp);

/* quiesce.c: A. Both under session_lock. */
/* Lets every queue finish what is in flight and stay in state `then`; waits for it. */
void pst_quiesce(struct pst_export *exp, enum pst_queue_state then);
void pst_quiesce_end(struct pst_export *exp);

/* server.c */
void pst_server_post(struct pst_server *server, struct pst_msg *msg);
/* Runs fn(arg) on the control thread and waits. A */
void pst_server_call(struct pst_server *server, void (*fn)(void *arg), void *arg);

#endif
