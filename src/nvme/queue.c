/* SPDX-License-Identifier: MIT */
/* Asynchronous passthrough: a namespace bound to a ring. */
#include <errno.h>
#include <string.h>

#include "base.h"
#include "nvme_int.h"
#include "uring.h"

struct pst_nvme_queue {
	struct pst_ring *ring;
	const struct pst_nvme_ns *ns;
	int fd;		   /* registered slot, or descriptor */
	uint8_t sqe_flags; /* IOSQE_FIXED_FILE when it is a slot */
};

int pst_nvme_queue_create(struct pst_ring *ring, const struct pst_nvme_ns *ns,
			  struct pst_nvme_queue **out, struct pst_error *err)
{
	struct pst_nvme_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return pst_error_set(err, -ENOMEM, "out of memory for a queue on %s", ns->node);
	queue->ring = ring;
	queue->ns = ns;
	queue->fd = ns->fd;
	if (ring->nr_files) {
		queue->fd = pst_ring_register_file(ring, ns->fd, err);
		if (queue->fd < 0) {
			int ret = queue->fd;

			free(queue);
			return ret;
		}
		queue->sqe_flags = IOSQE_FIXED_FILE;
	}
	*out = queue;
	return 0;
}

void pst_nvme_queue_destroy(struct pst_nvme_queue *queue)
{
	if (!queue)
		return;
	if (queue->sqe_flags & IOSQE_FIXED_FILE)
		(void)pst_ring_unregister_file(queue->ring, queue->fd);
	free(queue);
}

static void command_done(struct pst_op *op, int32_t res, uint32_t flags, uint64_t extra)
{
	struct pst_nvme_op *nvme = pst_container_of(op, struct pst_nvme_op, op);
	struct pst_nvme_result result;

	(void)flags;
	pst_nvme_result_set(&result, res, extra);
	nvme->done(nvme, &result);
}

/* Everything that is sent leaves through here, after the check. */
static inline int send_command(struct pst_nvme_queue *queue, struct pst_nvme_op *op,
			       const struct nvme_uring_cmd *cmd, uint32_t cmd_op, int region_index)
{
	struct io_uring_sqe *sqe = pst_ring_get(queue->ring);

	if (pst_unlikely(!sqe))
		return -EAGAIN;
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->flags = queue->sqe_flags;
	sqe->fd = queue->fd;
	sqe->cmd_op = cmd_op;
	if (region_index >= 0) {
		sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
		sqe->buf_index = (uint16_t)region_index;
	}
	/* The entry is zeroed whole: the kernel refuses what it does not know in the other bytes.
	 */
	memcpy(sqe->cmd, cmd, sizeof(*cmd));
	op->op.done = command_done;
	pst_ring_bind(sqe, &op->op);
	return 0;
}

int pst_nvme_submit(struct pst_nvme_queue *queue, struct pst_nvme_op *op,
		    const struct nvme_uring_cmd *cmd, int region_index)
{
	int ret = pst_nvme_cmd_check(queue->ns, cmd, cmd->data_len);

	return pst_unlikely(ret) ? ret
				 : send_command(queue, op, cmd, NVME_URING_CMD_IO, region_index);
}

int pst_nvme_submit_vec(struct pst_nvme_queue *queue, struct pst_nvme_op *op,
			const struct nvme_uring_cmd *cmd, const struct iovec *iov, uint32_t count)
{
	struct nvme_uring_cmd vec = *cmd;
	uint64_t length = 0;
	uint32_t i;
	int ret;

	if (count == 0 || count > 1024)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		if (__builtin_add_overflow(length, iov[i].iov_len, &length))
			return -EMSGSIZE;
	}
	vec.addr = (uintptr_t)iov;
	vec.data_len = count;
	ret = pst_nvme_cmd_check(queue->ns, &vec, length);
	return ret ? ret : send_command(queue, op, &vec, NVME_URING_CMD_IO_VEC, -1);
}
