/* SPDX-License-Identifier: MIT */
/* Creating, describing and removing exports; from any thread but the server's own. */
#include <errno.h>
#include <inttypes.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "hostdev.h"
#include "server.h"
#include "vdpa.h"

#define FEATURE(bit) (1ULL << (bit))

/*
 * How long the kernel waits for an answer before it gives the device up for ever. A reset is
 * answered when the last command is back, and a command may take NVMe's own time-out of 30 s
 * several times.
 */
#define MSG_TIMEOUT_S 300

static int check_params(const struct pst_export_params *p, struct pst_error *err)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t length = strnlen(p->name, sizeof(p->name));

	if (length == 0 || length > PST_EXPORT_NAME_MAX || strspn(p->name, allowed) != length ||
	    p->name[0] == '.' || strcmp(p->name, "control") == 0)
		return pst_error_set(
			err, -EINVAL,
			"\"%.64s\" cannot be a name: use letters, digits, '-', '_' and '.' "
			"(not \"control\", not '.' first)",
			p->name);
	if (p->queues == 0 || p->queues > PST_QUEUES_MAX)
		return pst_error_set(err, -EINVAL, "%s cannot have %u queues: 1 to %d can be had",
				     p->name, p->queues, PST_QUEUES_MAX);
	if (p->queue_size < 2 || p->queue_size > PST_QUEUE_SIZE_MAX ||
	    !pst_is_power_of_two(p->queue_size))
		return pst_error_set(
			err, -EINVAL,
			"%s cannot have queues of %u entries: a power of two from 2 to %d "
			"can be had",
			p->name, p->queue_size, PST_QUEUE_SIZE_MAX);
	if (p->bounce < 1U << 20 || p->bounce > 1U << 30 || !pst_is_aligned(p->bounce, 4096))
		return pst_error_set(err, -EINVAL,
				     "%s cannot have a bounce region of %" PRIu64
				     " bytes: 1 MiB to "
				     "1 GiB in multiples of 4096 can be had",
				     p->name, p->bounce);
	if (p->umem == PST_OFF && p->fixed == PST_ON)
		return pst_error_set(
			err, -EINVAL,
			"%s cannot have fixed buffers without umem: the kernel's bounce "
			"pages cannot be registered",
			p->name);
	return 0;
}

static uint64_t ring_features(const struct pst_export_params *p)
{
	uint64_t features = FEATURE(VIRTIO_F_VERSION_1) | FEATURE(VIRTIO_F_ACCESS_PLATFORM);

	features |= p->indirect ? FEATURE(VIRTIO_RING_F_INDIRECT_DESC) : 0;
	features |= p->event_idx ? FEATURE(VIRTIO_RING_F_EVENT_IDX) : 0;
	features |= p->packed ? FEATURE(VIRTIO_F_RING_PACKED) : 0;
	return features;
}

/*
 * A driver that finds the bounce region full puts a request back in line, but fails it on a packed
 * ring (Linux 6.12, 7.3): there requests are made small enough for all that can be outstanding to
 * fit, and a quarter stays free for the ranges that the kernel's IOVA caches keep for themselves.
 * On a split ring one request must fit, or it would stay in line for ever.
 */
static int limit_requests(struct pst_export *exp, struct pst_error *err)
{
	const struct pst_export_params *p = &exp->params;
	uint64_t share = p->packed ? p->bounce / 4 * 3 / ((uint64_t)p->queues * p->queue_size)
				   : p->bounce / 2;
	int ret = pst_vblk_limit_request(&exp->vblk, share);

	if (ret)
		return pst_error_set(
			err, ret,
			"%s: a bounce region of %" PRIu64 " bytes is too small for %u "
			"packed queues of %u entries: give a larger bounce=, or fewer or "
			"smaller queues",
			p->name, p->bounce, p->queues, p->queue_size);
	return 0;
}

static int create_device(struct pst_export *exp, struct pst_error *err)
{
	const struct pst_export_params *p = &exp->params;
	struct virtio_blk_config config;
	struct pst_vduse_params params = {
		.name = p->name,
		.device_id = VIRTIO_ID_BLOCK,
		.queues = p->queues,
		.queue_size = (uint16_t)p->queue_size,
		.bounce = p->bounce,
		.msg_timeout_s = MSG_TIMEOUT_S,
		.config = &config,
		.config_size = sizeof(config),
	};
	int ret;

	pst_vblk_init(&exp->vblk, &exp->blk->info, (uint16_t)p->queues, (uint16_t)p->queue_size,
		      p->indirect);
	ret = limit_requests(exp, err);
	if (ret)
		return ret;
	pst_vblk_config(&exp->vblk, &config);
	exp->features = ring_features(p) | exp->vblk.features;
	params.features = exp->features;
	return pst_vduse_create(&exp->dev, &params, &exp->bounce, err);
}

/* The pool that is umem and fixed buffer at once. */
static int make_memory(struct pst_export *exp, struct pst_error *err)
{
	const struct pst_export_params *p = &exp->params;
	int ret;

	if (p->umem == PST_OFF)
		return 0;
	exp->pool = p->pool;
	if (!exp->pool) {
		ret = pst_pool_create(exp->bounce,
				      p->umem == PST_ON ? PST_POOL_PAGES_HUGE : PST_POOL_PAGES_AUTO,
				      exp->blk->info.numa_node, &exp->pool, err);
		if (ret) {
			(void)pst_error_prefix(err, "%s: ", p->name);
			return ret;
		}
		exp->own_pool = true;
	}
	ret = pst_pool_region(exp->pool, 0, exp->bounce, &exp->region);
	if (ret)
		return pst_error_set(
			err, ret,
			"%s: its pool of %zu bytes is smaller than the bounce region of "
			"%" PRIu64,
			p->name, pst_pool_size(exp->pool), exp->bounce);
	exp->fixed = p->fixed != PST_OFF;
	return 0;
}

struct queue_call {
	struct pst_equeue *q;
	struct pst_error *err;
};

static int open_queue(void *arg)
{
	struct queue_call *call = arg;

	return pst_equeue_open(call->q, call->err);
}

static int close_queue(void *arg)
{
	pst_equeue_close(arg);
	return 0;
}

static void close_queues(struct pst_export *exp, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		(void)pst_worker_call(exp->queues[i].worker, close_queue, &exp->queues[i]);
}

static int open_queues(struct pst_export *exp, struct pst_error *err)
{
	uint32_t i;
	int ret;

	for (i = 0; i < exp->nr_queues; i++) {
		struct queue_call call = {.q = &exp->queues[i], .err = err};

		ret = pst_worker_call(exp->queues[i].worker, open_queue, &call);
		if (ret < 0) {
			close_queues(exp, i);
			return ret;
		}
	}
	return 0;
}

static bool region_was_refused(const struct pst_export *exp)
{
	uint32_t i;

	for (i = 0; i < exp->nr_queues; i++) {
		if (exp->queues[i].region_refused)
			return true;
	}
	return false;
}

/* With fixed=auto the export does without when a ring does not take its memory. */
static int open_queues_or_fall_back(struct pst_export *exp, struct pst_error *err)
{
	struct pst_error why = PST_ERROR_INIT;
	int ret = open_queues(exp, &why);

	if (ret && exp->params.fixed == PST_AUTO && region_was_refused(exp)) {
		pst_log(PST_LOG_WARNING, exp->params.name, "fixed buffers are not used: %s",
			why.text);
		exp->fixed = false;
		ret = open_queues(exp, &why);
	}
	if (ret && err)
		*err = why;
	return ret;
}

static int make_queues(struct pst_export *exp, struct pst_error *err)
{
	struct pst_server *server = exp->server;
	uint32_t i;

	exp->queues = calloc(exp->params.queues, sizeof(*exp->queues));
	if (!exp->queues)
		return pst_error_set(err, -ENOMEM, "out of memory for the queues of %s",
				     exp->params.name);
	exp->nr_queues = exp->params.queues;
	(void)pthread_mutex_lock(&server->lock);
	for (i = 0; i < exp->nr_queues; i++) {
		struct pst_worker *worker = &server->workers[server->next_worker];

		server->next_worker = (server->next_worker + 1) % server->nr_workers;
		pst_equeue_init(&exp->queues[i], exp, i, worker);
	}
	(void)pthread_mutex_unlock(&server->lock);
	pst_session_init(exp);
	return open_queues_or_fall_back(exp, err);
}

static void watch(void *arg)
{
	struct pst_export *exp = arg;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = exp};

	exp->watched = epoll_ctl(exp->server->epoll_fd, EPOLL_CTL_ADD, exp->dev.fd, &event) == 0;
}

static void unwatch(void *arg)
{
	struct pst_export *exp = arg;

	if (exp->watched)
		(void)epoll_ctl(exp->server->epoll_fd, EPOLL_CTL_DEL, exp->dev.fd, NULL);
	exp->watched = false;
}

static void *attach_main(void *arg)
{
	struct pst_export *exp = arg;

	(void)pst_vdpa_add(exp->params.name, &exp->attach_error);
	pst_server_post(exp->server, &exp->attached_msg);
	return NULL;
}

/* From here on the control thread answers, and the host may see the device. */
static int go_public(struct pst_export *exp, struct pst_error *err)
{
	int ret;

	(void)pthread_mutex_lock(&exp->server->lock);
	pst_list_append(&exp->server->exports, &exp->link);
	(void)pthread_mutex_unlock(&exp->server->lock);
	pst_server_call(exp->server, watch, exp);
	if (!exp->params.attach)
		return 0;
	ret = pthread_create(&exp->attach_thread, NULL, attach_main, exp);
	if (ret)
		return pst_error_set(err, -ret, "%s cannot be attached: no thread: %s",
				     exp->params.name, pst_errname(ret));
	exp->attach_started = true;
	return 0;
}

/* Releases what an export has; its queues are at rest and the control thread has forgotten it. */
static void free_export(struct pst_export *exp)
{
	(void)pthread_mutex_lock(&exp->server->lock);
	pst_list_remove(&exp->link);
	(void)pthread_mutex_unlock(&exp->server->lock);
	free(exp->queues);
	if (exp->own_pool)
		pst_pool_destroy(exp->pool);
	(void)pthread_mutex_destroy(&exp->umem_lock);
	(void)pthread_mutex_destroy(&exp->session_lock);
	free(exp);
}

static int check_name(struct pst_server *server, const char *name, struct pst_error *err)
{
	struct pst_list *pos;
	int ret = 0;

	(void)pthread_mutex_lock(&server->lock);
	pst_list_for_each (pos, &server->exports) {
		if (strcmp(pst_container_of(pos, struct pst_export, link)->params.name, name) == 0)
			ret = pst_error_set(err, -EEXIST,
					    "%s is served here already: choose another name", name);
	}
	(void)pthread_mutex_unlock(&server->lock);
	return ret;
}

int pst_export_create(struct pst_server *server, const struct pst_export_params *params,
		      struct pst_blk *blk, struct pst_export **out, struct pst_error *err)
{
	struct pst_export *exp;
	int ret = check_params(params, err);

	if (ret == 0 && params->attach)
		ret = pst_vdpa_check(err);
	if (ret == 0)
		ret = check_name(server, params->name, err);
	if (ret)
		return ret;
	exp = calloc(1, sizeof(*exp));
	if (!exp)
		return pst_error_set(err, -ENOMEM, "out of memory for export %s", params->name);
	exp->server = server;
	exp->params = *params;
	exp->blk = blk;
	pst_list_init(&exp->link);
	(void)pthread_mutex_init(&exp->umem_lock, NULL);
	(void)pthread_mutex_init(&exp->session_lock, NULL);
	pst_ready_init(exp);

	ret = create_device(exp, err);
	if (ret) {
		free_export(exp);
		return ret;
	}
	ret = make_memory(exp, err);
	if (ret == 0)
		ret = make_queues(exp, err);
	if (ret == 0) {
		ret = go_public(exp, err);
		if (ret) {
			pst_server_call(server, unwatch, exp);
			close_queues(exp, exp->nr_queues);
		}
	}
	if (ret) {
		(void)pst_vduse_destroy(&exp->dev, NULL);
		free_export(exp);
		return ret;
	}
	*out = exp;
	return 0;
}

void pst_export_status(struct pst_export *exp, struct pst_export_status *status)
{
	uint32_t i;

	memset(status, 0, sizeof(*status));
	(void)snprintf(status->name, sizeof(status->name), "%s", exp->params.name);
	(void)pthread_mutex_lock(&exp->umem_lock);
	(void)snprintf(status->device, sizeof(status->device), "%s",
		       exp->device[0] ? exp->device : "-");
	(void)pthread_mutex_unlock(&exp->umem_lock);
	(void)snprintf(status->transport, sizeof(status->transport), "vduse");
	status->size = exp->blk->info.size;
	status->queues = exp->enabled_queues ? exp->enabled_queues : exp->params.queues;
	/* Before the first request: what is going to be. */
	if (exp->pool && !exp->umem_refused)
		status->umem = exp->bounce;
	status->fixed = status->umem && exp->fixed;
	status->packed = exp->params.packed;
	for (i = 0; i < exp->nr_queues; i++) {
		const struct pst_equeue *q = &exp->queues[i];

		if (q->blkq)
			pst_blk_stats_add(&status->stats, &q->blkq->stats);
		status->stats.refused += q->refused + q->vblk.unsupported;
		status->stats.errors += q->failed + q->vblk.failed;
	}
}

/* A driver that is just being reset gets its answer first. */
static void await_reset(struct pst_export *exp)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	bool stopping;

	do {
		(void)pthread_mutex_lock(&exp->session_lock);
		stopping = exp->session == PST_SESSION_STOPPING;
		(void)pthread_mutex_unlock(&exp->session_lock);
		if (stopping)
			(void)nanosleep(&pause, NULL);
	} while (stopping);
}

static void nothing(void *arg)
{
	(void)arg;
}

/* Detaches the device unless that must not be; returns 0, -EBUSY when it stays, or another errno.
 */
static int detach(struct pst_export *exp, enum pst_export_end how, struct pst_error *err)
{
	char device[64];
	char users[512];

	if (!pst_hostdev_attached(exp->params.name))
		return 0;
	if (how == PST_EXPORT_END_IF_UNUSED &&
	    pst_hostdev_find(exp->params.name, device, sizeof(device)) == 0 &&
	    pst_hostdev_users(device, users, sizeof(users)))
		return pst_error_set(
			err, -EBUSY,
			"%s stays attached, since %s is in use: %s; its I/O waits for the "
			"next start",
			exp->params.name, device, users);
	return pst_vdpa_del(exp->params.name, err);
}

int pst_export_remove(struct pst_export *exp, enum pst_export_end how,
		      struct pst_export_status *last, struct pst_error *err)
{
	struct pst_server *server = exp->server;
	int ret;
	int destroyed = 0;

	if (exp->attach_started)
		(void)pthread_join(exp->attach_thread, NULL);
	ret = detach(exp, how, err);

	await_reset(exp);
	pst_server_call(server, unwatch, exp);
	pst_quiesce(exp, PST_QUEUE_IDLE);
	if (last)
		pst_export_status(exp, last);
	pst_session_release(exp);
	close_queues(exp, exp->nr_queues);
	/* Letters to the control thread that were on their way have arrived after this. */
	pst_server_call(server, nothing, NULL);

	if (ret == 0)
		destroyed = pst_vduse_destroy(&exp->dev, err);
	else
		pst_vduse_close(&exp->dev);
	free_export(exp);
	return ret ? ret : destroyed;
}
