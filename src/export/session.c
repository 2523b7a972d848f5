/* SPDX-License-Identifier: MIT */
/*
 * The driver's messages, and the sessions they start and end: from DRIVER_OK to reset. On the
 * control thread. A reset is answered only when every queue has finished what it had in flight,
 * since the driver uses the memory for something else afterwards.
 */
#include <errno.h>
#include <linux/virtio_config.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server.h"

#define FEATURE(bit) (1ULL << (bit))

static void reply(struct pst_export *exp, uint32_t id, uint32_t result)
{
	struct vduse_dev_response response = {.request_id = id, .result = result};
	int ret = pst_vduse_reply(&exp->dev, &response);

	if (ret)
		pst_log(PST_LOG_ERROR, exp->params.name,
			"the kernel's request %u cannot be answered: "
			"%s",
			id, pst_errname(ret));
}

static void start_queue(struct pst_msg *msg)
{
	pst_equeue_start(pst_container_of(msg, struct pst_equeue, start_msg));
}

static void queue_stopped(struct pst_msg *msg);

/* On the worker: the queue is drained. */
static void queue_drained(struct pst_drain *drain)
{
	struct pst_equeue *q = pst_container_of(drain, struct pst_equeue, stop_drain);

	q->stop_msg.run = queue_stopped;
	pst_server_post(q->exp->server, &q->stop_msg);
}

static void stop_queue(struct pst_msg *msg)
{
	struct pst_equeue *q = pst_container_of(msg, struct pst_equeue, stop_msg);

	pst_equeue_drain(q, &q->stop_drain);
}

void pst_session_init(struct pst_export *exp)
{
	uint32_t i;

	for (i = 0; i < exp->nr_queues; i++) {
		struct pst_equeue *q = &exp->queues[i];

		q->start_msg.run = start_queue;
		q->stop_drain.then = PST_QUEUE_IDLE;
		q->stop_drain.done = queue_drained;
	}
}

static void release_queue(struct pst_equeue *q)
{
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(q->maps); i++)
		pst_vduse_unmap(&q->maps[i]);
	if (q->kick_fd >= 0) {
		(void)pst_vduse_vq_kick_fd(&q->exp->dev, q->index, -1);
		close(q->kick_fd);
		q->kick_fd = -1;
	}
	q->enabled = false;
}

void pst_session_release(struct pst_export *exp)
{
	uint32_t i;

	for (i = 0; i < exp->nr_queues; i++)
		release_queue(&exp->queues[i]);
	pst_umem_unsettle(exp);
	exp->session = PST_SESSION_NONE;
}

static void queue_stopped(struct pst_msg *msg)
{
	struct pst_equeue *q = pst_container_of(msg, struct pst_equeue, stop_msg);
	struct pst_export *exp = q->exp;

	if (--exp->queues_stopping)
		return;
	(void)pthread_mutex_lock(&exp->session_lock);
	pst_session_release(exp);
	(void)pthread_mutex_unlock(&exp->session_lock);
	reply(exp, exp->reset_reply.request_id, VDUSE_REQ_RESULT_OK);
}

/* Begins to end the session; the answer follows when all queues are at rest. */
static void stop_session(struct pst_export *exp, uint32_t id)
{
	uint32_t stopping = 0;
	uint32_t i;

	exp->reset_reply.request_id = id;
	exp->session = PST_SESSION_STOPPING;
	for (i = 0; i < exp->nr_queues; i++)
		stopping += exp->queues[i].enabled;
	if (stopping == 0) {
		pst_session_release(exp);
		reply(exp, id, VDUSE_REQ_RESULT_OK);
		return;
	}
	exp->queues_stopping = stopping;
	for (i = 0; i < exp->nr_queues; i++) {
		struct pst_equeue *q = &exp->queues[i];

		if (!q->enabled)
			continue;
		q->stop_msg.run = stop_queue;
		pst_mailbox_post(&q->worker->mailbox, &q->stop_msg);
	}
}

/* The bytes of the three parts of a ring (VIRTIO 1.2, 2.7 and 2.8). */
static void ring_sizes(bool packed, uint32_t num, uint64_t sizes[3])
{
	sizes[0] = 16ULL * num;
	sizes[1] = packed ? 4 : 6 + 2ULL * num;
	sizes[2] = packed ? 4 : 6 + 8ULL * num;
}

static int map_ring(struct pst_equeue *q, const struct vduse_vq_info *info, bool packed)
{
	const uint64_t addrs[3] = {info->desc_addr, info->driver_addr, info->device_addr};
	uint64_t sizes[3];
	size_t i;
	int ret;

	ring_sizes(packed, info->num, sizes);
	for (i = 0; i < 3; i++) {
		ret = pst_vduse_map(&q->exp->dev, addrs[i], sizes[i], &q->maps[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static void fill_config(struct pst_equeue *q, const struct vduse_vq_info *info, uint64_t features)
{
	bool packed = features & FEATURE(VIRTIO_F_RING_PACKED);

	q->config = (struct pst_virtq_config){
		.num = (uint16_t)info->num,
		.packed = packed,
		.event_idx = features & FEATURE(VIRTIO_RING_F_EVENT_IDX),
		.indirect = features & FEATURE(VIRTIO_RING_F_INDIRECT_DESC),
		.desc = q->maps[0].addr,
		.driver = q->maps[1].addr,
		.device = q->maps[2].addr,
		.space = &q->space,
	};
	if (packed) {
		q->config.avail = (uint16_t)(info->packed.last_avail_idx |
					     info->packed.last_avail_counter << 15);
		q->config.used = (uint16_t)(info->packed.last_used_idx |
					    info->packed.last_used_counter << 15);
	} else {
		/* A new session: the driver's ring is empty, so both indices are the same. */
		q->config.avail = info->split.avail_index;
		q->config.used = info->split.avail_index;
	}
	memset(&q->space, 0, sizeof(q->space));
}

/* 1 when the driver enabled the queue, 0 when it did not, or a negative errno. */
static int prepare_queue(struct pst_equeue *q, uint64_t features)
{
	bool packed = features & FEATURE(VIRTIO_F_RING_PACKED);
	struct vduse_vq_info info;
	int ret = pst_vduse_vq_info(&q->exp->dev, q->index, &info);

	if (ret)
		return ret;
	if (!info.ready)
		return 0;
	if (info.num == 0 || info.num > PST_QUEUE_SIZE_MAX)
		return -EINVAL;
	ret = map_ring(q, &info, packed);
	if (ret)
		return ret;
	fill_config(q, &info, features);

	q->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->kick_fd < 0)
		return -errno;
	ret = pst_vduse_vq_kick_fd(&q->exp->dev, q->index, q->kick_fd);
	if (ret)
		return ret;
	q->enabled = true;
	return 1;
}

static int start_session(struct pst_export *exp)
{
	const uint64_t needed = FEATURE(VIRTIO_F_VERSION_1) | FEATURE(VIRTIO_F_ACCESS_PLATFORM);
	uint64_t features = 0;
	uint32_t i;
	int ret = pst_vduse_features(&exp->dev, &features);

	if (ret)
		return ret;
	if ((features & needed) != needed || (features & ~exp->features))
		return -EPROTO;

	exp->enabled_queues = 0;
	for (i = 0; i < exp->nr_queues; i++) {
		ret = prepare_queue(&exp->queues[i], features);
		if (ret < 0) {
			pst_session_release(exp);
			return ret;
		}
		exp->enabled_queues += (uint32_t)ret;
	}
	exp->session = PST_SESSION_RUNNING;
	for (i = 0; i < exp->nr_queues; i++) {
		struct pst_equeue *q = &exp->queues[i];

		if (q->enabled)
			pst_mailbox_post(&q->worker->mailbox, &q->start_msg);
	}
	return 0;
}

static void set_status(struct pst_export *exp, uint32_t id, uint8_t status)
{
	int ret;

	if (status == 0 && exp->session == PST_SESSION_RUNNING) {
		stop_session(exp, id);
		return;
	}
	if ((status & VIRTIO_CONFIG_S_DRIVER_OK) && exp->session == PST_SESSION_NONE) {
		ret = start_session(exp);
		if (ret) {
			pst_log(PST_LOG_ERROR, exp->params.name,
				"the driver cannot be served: its queues cannot be set up: %s",
				pst_errname(ret));
			reply(exp, id, VDUSE_REQ_RESULT_FAILED);
			return;
		}
	}
	reply(exp, id, VDUSE_REQ_RESULT_OK);
}

/* Only asked for by drivers that move a device elsewhere; the index is a snapshot. */
static void get_vq_state(struct pst_export *exp, const struct vduse_dev_request *request)
{
	struct vduse_dev_response response = {.request_id = request->request_id};
	uint32_t index = request->vq_state.index;

	if (index >= exp->nr_queues) {
		reply(exp, request->request_id, VDUSE_REQ_RESULT_FAILED);
		return;
	}
	response.vq_state.index = index;
	response.vq_state.split.avail_index =
		__atomic_load_n(&exp->queues[index].vblk.virtq.avail_idx, __ATOMIC_RELAXED);
	(void)pst_vduse_reply(&exp->dev, &response);
}

static void handle(struct pst_export *exp, const struct vduse_dev_request *request)
{
	(void)pthread_mutex_lock(&exp->session_lock);
	switch (request->type) {
	case VDUSE_SET_STATUS:
		set_status(exp, request->request_id, request->s.status);
		break;
	case VDUSE_GET_VQ_STATE:
		get_vq_state(exp, request);
		break;
	case VDUSE_UPDATE_IOTLB:
		/* The virtio_vdpa driver's mappings stay for a session: nothing is cached beyond.
		 */
		reply(exp, request->request_id, VDUSE_REQ_RESULT_OK);
		break;
	default:
		pst_log(PST_LOG_WARNING, exp->params.name,
			"the kernel's request of type %u is not "
			"known and is refused",
			request->type);
		reply(exp, request->request_id, VDUSE_REQ_RESULT_FAILED);
		break;
	}
	(void)pthread_mutex_unlock(&exp->session_lock);
}

void pst_session_message(struct pst_export *exp)
{
	struct vduse_dev_request request;
	int ret;

	while ((ret = pst_vduse_receive(&exp->dev, &request)) > 0)
		handle(exp, &request);
	if (ret < 0) {
		struct pst_error why = PST_ERROR_INIT;

		(void)pst_error_set(&why, ret,
				    "%s: the kernel's requests cannot be read: %s; the device is "
				    "broken and must be removed (vdpa dev del %s)",
				    exp->params.name, pst_errname(ret), exp->params.name);
		pst_export_fail(exp, &why);
	}
}
