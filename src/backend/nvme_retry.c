/* SPDX-License-Identifier: MIT */
/*
 * Failures that pass: a controller that is being reset, a path that is lost, a queue that is
 * frozen. Such requests are sent again until their time is up, and the host does not notice.
 * Writing the same data again is harmless: the host has not been told of the first attempt.
 */
#include <endian.h>
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "base.h"
#include "nvme_backend.h"
#include "uring.h"

/* Between two attempts. */
static struct __kernel_timespec pause_time = {.tv_nsec = 50000000};

/* Statuses after which the same command may succeed (NVMe Base 2.0c, figures 94 to 98). */
static const uint16_t passing[] = {
	0x005, /* Commands Aborted due to Power Loss Notification */
	0x007, /* Command Abort Requested */
	0x008, /* Command Aborted due to SQ Deletion */
	0x021, /* Command Interrupted */
	0x022, /* Transient Transport Error */
	0x082, /* Namespace Not Ready */
	0x302, /* Asymmetric Access Inaccessible */
	0x303, /* Asymmetric Access Transition */
	0x360, /* Controller Pathing Error */
	0x370, /* Host Pathing Error: the controller is not ready */
	0x371, /* Command Aborted By Host: a reset took it back */
};

static bool passes(const struct pst_nvme_result *result)
{
	size_t i;

	/* EINTR: taken back by a reset. EAGAIN: a frozen queue. EBUSY: no tag. */
	if (result->error)
		return result->error == -EINTR || result->error == -EAGAIN ||
		       result->error == -EBUSY;
	for (i = 0; i < PST_ARRAY_SIZE(passing); i++) {
		/* Do Not Retry is the device's word on its own statuses; the path ones are Linux's.
		 */
		if (result->status == passing[i])
			return !result->dnr || result->status >= 0x360;
	}
	return false;
}

static void set_timer(struct pst_nvme_io_queue *q)
{
	struct io_uring_sqe *sqe = pst_ring_get(q->blkq->ring);

	if (!sqe) {
		/* A full ring: look again after the next reap. */
		pst_ring_defer(q->blkq->ring, &q->timer, 0);
	} else {
		sqe->opcode = IORING_OP_TIMEOUT;
		sqe->fd = -1;
		sqe->addr = (uintptr_t)&pause_time;
		sqe->len = 1;
		pst_ring_bind(sqe, &q->timer);
	}
	q->timer_set = true;
}

static bool controller_is_live(const struct pst_nvme_ns *ns)
{
	char path[96];
	char state[32];

	if (!ns->controller[0])
		return true;
	(void)snprintf(path, sizeof(path), "/sys/class/nvme/%s/state", ns->controller);
	/* No such file: the controller is gone, and sending says so. */
	return pst_read_line(path, state, sizeof(state)) < 0 || strcmp(state, "live") == 0;
}

/*
 * After a reset the namespace may have another format: then a length that was right would not be.
 * Returns false when it cannot be used any more.
 */
static bool identify_again(struct pst_nvme_io_queue *q)
{
	const struct pst_nvme_ns *ns = q->dev->ns;
	struct pst_nvme_ns *now = NULL;
	struct pst_error why = PST_ERROR_INIT;
	char path[48];

	(void)snprintf(path, sizeof(path), "/dev/%s", ns->node);
	if (pst_nvme_open(path, false, &now, &why) != 0)
		return true; /* not there, or not ready: the next attempt says so */
	if (now->nsid != ns->nsid || now->lba_size != ns->lba_size ||
	    now->metadata_size != ns->metadata_size || now->lbas < ns->lbas) {
		q->dev->changed = true;
		pst_log(PST_LOG_ERROR, ns->node,
			"was changed while it was served (blocks of %u bytes, %llu of them, were "
			"%u and "
			"%llu): nothing is sent to it any more; serve it anew",
			now->lba_size, (unsigned long long)now->lbas, ns->lba_size,
			(unsigned long long)ns->lbas);
	}
	pst_nvme_close(now);
	return !q->dev->changed;
}

static void timer_fired(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	struct pst_nvme_io_queue *q = pst_container_of(op, struct pst_nvme_io_queue, timer);
	struct pst_req *req = q->retrying;
	struct pst_req *next;
	uint64_t now = pst_now_ns();
	bool live = controller_is_live(q->dev->ns);
	bool usable = !live || identify_again(q);

	(void)res;
	(void)flags;
	(void)extra;
	q->timer_set = false;
	q->retrying = NULL;
	q->retrying_tail = &q->retrying;
	for (; req; req = next) {
		next = req->next;
		if (!usable || now >= pst_nvme_io_of(req)->deadline_ns) {
			pst_nvme_io_end(q, req, -EIO);
		} else if (live) {
			pst_nvme_io_start(q, req);
		} else {
			req->next = NULL;
			*q->retrying_tail = req;
			q->retrying_tail = &req->next;
		}
	}
	if (q->retrying && !q->timer_set)
		set_timer(q);
}

void pst_nvme_retry_init(struct pst_nvme_io_queue *q)
{
	q->retrying_tail = &q->retrying;
	q->timer.done = timer_fired;
}

bool pst_nvme_retry(struct pst_nvme_io_queue *q, struct pst_req *req,
		    const struct pst_nvme_result *result)
{
	struct pst_nvme_io *io = pst_nvme_io_of(req);
	uint64_t now;

	if (!passes(result))
		return false;
	now = pst_now_ns();
	if (io->deadline_ns == 0)
		io->deadline_ns = now + (uint64_t)q->dev->timeout_ms * 1000000U;
	if (now >= io->deadline_ns)
		return false;
	if (!q->retrying && pst_backend_log_due(&q->logged_ns))
		pst_log(PST_LOG_INFO, q->dev->ns->node, "commands are sent again: %s",
			result->error ? pst_errname(result->error)
				      : pst_nvme_status_text(result->status));
	req->next = NULL;
	*q->retrying_tail = req;
	q->retrying_tail = &req->next;
	if (!q->timer_set)
		set_timer(q);
	return true;
}
