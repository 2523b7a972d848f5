/* SPDX-License-Identifier: MIT */
/**
 * DOC: penstock/export.h - offering a block device to the local host
 *
 * A server has a control thread and workers; each worker is a thread with a ring. An export is a
 * &struct pst_blk offered through a transport, today VDUSE: the host's virtio_blk driver sees a
 * disk whose bounce memory is a pool of the server's, or of the application's.
 *
 * The functions here may be called from any thread but the server's own; callbacks come from the
 * control thread and must not call back into the server.
 */
#ifndef PENSTOCK_EXPORT_H
#define PENSTOCK_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <penstock/blk.h>
#include <penstock/error.h>
#include <penstock/mem.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pst_server;
struct pst_export;

/** enum pst_mode - a feature that may be asked for, insisted on or switched off */
enum pst_mode {
	PST_AUTO,
	PST_ON,
	PST_OFF,
};

/** PST_EXPORT_NAME_MAX - longest name of an export, without the NUL */
#define PST_EXPORT_NAME_MAX 64
/** PST_QUEUES_MAX - most virtqueues of an export */
#define PST_QUEUES_MAX 64
/** PST_QUEUE_SIZE_MAX - most entries of a virtqueue */
#define PST_QUEUE_SIZE_MAX 1024
/** PST_BUSY_POLL_AUTO - busy_poll_us: the time adapts to the load */
#define PST_BUSY_POLL_AUTO (-1)

/**
 * struct pst_export_params - how to offer a device; start from PST_EXPORT_PARAMS_INIT
 * @name: letters, digits, '-', '_' and '.'; also the name of the vdpa device
 * @queues: virtqueues to offer, 1 to PST_QUEUES_MAX; the driver enables no more than there are CPUs
 * @queue_size: entries of a virtqueue, a power of two, 2 to PST_QUEUE_SIZE_MAX
 * @bounce: bytes of the bounce region, 1 MiB to 1 GiB, a multiple of 4096
 * @umem: the bounce region is the pool's memory (VDUSE_IOTLB_REG_UMEM, Linux 6.0); PST_AUTO falls
 *	back to mapped bounce pages with a warning
 * @fixed: the pool is a fixed buffer of the workers' rings; needs umem
 * @busy_poll_us: microseconds an idle queue is polled before its worker sleeps, 0 for never, or
 *	PST_BUSY_POLL_AUTO
 * @nvme_poll: complete NVMe commands by polling, on a ring of its own
 * @packed: offer packed virtqueues
 * @indirect: offer indirect descriptors
 * @event_idx: offer event indices
 * @attach: make the device appear in the host (vdpa dev add); without, somebody else does
 * @pool: memory for the bounce region, at least @bounce bytes, which must outlive the export;
 *	NULL: the export makes its own
 */
struct pst_export_params {
	char name[PST_EXPORT_NAME_MAX + 1];
	uint32_t queues;
	uint32_t queue_size;
	uint64_t bounce;
	enum pst_mode umem;
	enum pst_mode fixed;
	int32_t busy_poll_us;
	bool nvme_poll;
	bool packed;
	bool indirect;
	bool event_idx;
	bool attach;
	struct pst_pool *pool;
};

#define PST_EXPORT_PARAMS_INIT                                                                     \
	{                                                                                          \
		.queues = 1, .queue_size = 256, .bounce = 64U << 20, .umem = PST_AUTO,             \
		.fixed = PST_AUTO, .busy_poll_us = PST_BUSY_POLL_AUTO, .indirect = true,           \
		.event_idx = true, .attach = true                                                  \
	}

/**
 * struct pst_export_status - what an export looks like now
 * @name: its name
 * @device: block device in the host, for example "/dev/vda", or "-"
 * @transport: "vduse"
 * @size: bytes
 * @queues: virtqueues the driver enabled; before that the number offered
 * @umem: bytes of bounce memory that are the pool's, 0 when mapped bounce pages are used
 * @fixed: commands are sent from fixed buffers
 * @packed: packed virtqueues are in use
 * @stats: counters of its queues, summed
 */
struct pst_export_status {
	char name[PST_EXPORT_NAME_MAX + 1];
	char device[64];
	char transport[16];
	uint64_t size;
	uint32_t queues;
	uint64_t umem;
	bool fixed;
	bool packed;
	struct pst_blk_stats stats;
};

/**
 * struct pst_server_params - how to create a server
 * @workers: threads with a ring each, 1 to 64
 * @cpus: CPU of each worker, or NULL: not pinned
 * @on_ready: an export's device exists in the host and its memory is settled; may be NULL
 * @on_failed: an export cannot go on: the sentence says why; may be NULL
 * @ctx: handed to both
 */
struct pst_server_params {
	uint32_t workers;
	const int *cpus;
	void (*on_ready)(void *ctx, struct pst_export *exp, const struct pst_export_status *status);
	void (*on_failed)(void *ctx, struct pst_export *exp, const struct pst_error *why);
	void *ctx;
};

/**
 * pst_server_create() - start the control thread and the workers
 *
 * Return: 0; what pst_ring_create() says; -ENOMEM.
 */
int pst_server_create(const struct pst_server_params *params, struct pst_server **server,
		      struct pst_error *err);

/** pst_server_destroy() - stop the threads; takes NULL. No export may be left. */
void pst_server_destroy(struct pst_server *server);

/**
 * pst_export_create() - offer a device
 * @server: the server
 * @params: how; copied
 * @blk: the device; stays the caller's and must outlive the export
 * @exp: receives the export
 * @err: receives the sentence
 *
 * Returns when the export is created and, with attach, the request to attach it has been sent;
 * on_ready says when it can be used. On failure nothing is left behind.
 *
 * Return: 0; -EINVAL bad parameters; -EEXIST name in use; -ENODEV the kernel has no vduse or its
 * module is not loaded; -EPERM, -EACCES; -ENOMEM memory or RLIMIT_MEMLOCK.
 */
int pst_export_create(struct pst_server *server, const struct pst_export_params *params,
		      struct pst_blk *blk, struct pst_export **exp, struct pst_error *err);

/** enum pst_export_end - how to end an export */
enum pst_export_end {
	/** detach and destroy it unless it is in use; in use it stays attached, -EBUSY */
	PST_EXPORT_END_IF_UNUSED,
	/** detach and destroy it even then; the host's later I/O to it fails */
	PST_EXPORT_END_FORCE,
};

/**
 * pst_export_remove() - complete what is in flight and end an export
 * @exp: the export; released in any case
 * @how: what to do with a device that is in use
 * @last: receives the final status and counters; may be NULL
 * @err: receives the sentence; names the users when it is -EBUSY
 *
 * Every request that reached the export is completed first.
 *
 * Return: 0; -EBUSY when it was left attached; another negative errno.
 */
int pst_export_remove(struct pst_export *exp, enum pst_export_end how,
		      struct pst_export_status *last, struct pst_error *err);

/** pst_export_status() - what it looks like now */
void pst_export_status(struct pst_export *exp, struct pst_export_status *status);

/**
 * pst_export_umem_cycle() - stop the queues, deregister and register the user memory, go on
 * @exp: the export
 * @err: receives the sentence
 *
 * For tests: whatever is in flight completes first, and the host sees a stall.
 *
 * Return: 0; -ENOENT when no user memory is registered; another negative errno.
 */
int pst_export_umem_cycle(struct pst_export *exp, struct pst_error *err);

#ifdef __cplusplus
}
#endif

#endif
