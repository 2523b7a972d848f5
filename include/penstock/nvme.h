/* SPDX-License-Identifier: MIT */
/**
 * DOC: penstock/nvme.h - NVMe namespaces and asynchronous passthrough
 *
 * Commands are written in the kernel's own &struct nvme_uring_cmd (linux/nvme_ioctl.h), which the
 * builders below fill as NVM Command Set 1.0c lays them out. A &struct pst_nvme_ns describes a
 * namespace and may be shared by threads; a &struct pst_nvme_queue belongs to one ring and thus
 * to one thread.
 */
#ifndef PENSTOCK_NVME_H
#define PENSTOCK_NVME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <linux/nvme_ioctl.h>

#include <penstock/error.h>
#include <penstock/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

/** enum pst_nvme_opcode - opcodes of the NVM command set (NVM Command Set 1.0c, section 3) */
enum pst_nvme_opcode {
	PST_NVME_FLUSH = 0x00,
	PST_NVME_WRITE = 0x01,
	PST_NVME_READ = 0x02,
	PST_NVME_WRITE_UNCORRECTABLE = 0x04,
	PST_NVME_COMPARE = 0x05,
	PST_NVME_WRITE_ZEROES = 0x08,
	PST_NVME_DSM = 0x09,
	PST_NVME_VERIFY = 0x0c,
	PST_NVME_COPY = 0x19,
};

/** enum pst_nvme_admin_opcode - opcodes of the admin command set (NVMe Base 2.0c, section 5) */
enum pst_nvme_admin_opcode {
	PST_NVME_ADMIN_GET_LOG_PAGE = 0x02,
	PST_NVME_ADMIN_IDENTIFY = 0x06,
	PST_NVME_ADMIN_SET_FEATURES = 0x09,
	PST_NVME_ADMIN_GET_FEATURES = 0x0a,
};

/**
 * struct pst_nvme_ns - a namespace, opened and identified
 * @fd: the ng node, open for reading and writing, or for reading only
 * @writable: whether @fd was opened for writing
 * @node: name of the generic node, for example "ng0n1"
 * @block: name of the block node, for example "nvme0n1"; empty when there is none
 * @controller: name of the controller, for example "nvme0"
 * @model: model number, trailing spaces removed
 * @serial: serial number, trailing spaces removed
 * @firmware: firmware revision, trailing spaces removed
 * @transport: as in sysfs: "pcie", "tcp", "rdma", "fc", "loop"
 * @nsid: namespace identifier
 * @csi: command set identifier: 0 NVM, 1 key value, 2 zoned
 * @bytes: capacity in bytes, metadata not counted
 * @lbas: capacity in logical blocks (NSZE)
 * @lba_size: bytes of data per logical block
 * @lba_shift: log2 of @lba_size
 * @metadata_size: bytes of metadata per logical block, 0 without
 * @extended: metadata is interleaved with the data (extended LBAs)
 * @pi_type: end-to-end protection type 1 to 3, 0 without
 * @pi_first: protection information lies in the first bytes of the metadata
 * @max_transfer: most bytes of one command: min(MDTS, max_hw_sectors, max_segments * page),
 *	rounded down to a multiple of @lba_size
 * @physical_block_size: bytes written atomically on power failure, at least @lba_size
 * @optimal_io_size: preferred write size in bytes, 0 when not reported
 * @volatile_cache: the controller has a volatile write cache
 * @write_zeroes: the controller supports Write Zeroes (ONCS)
 * @dsm: the controller supports Dataset Management (ONCS)
 * @dma_alignment: alignment mask of data addresses below which the kernel copies
 * @numa_node: of the controller, -1 when unknown
 * @nr_requests: tags per hardware queue as seen in sysfs, 0 when unknown
 */
struct pst_nvme_ns {
	int fd;
	bool writable;
	char node[32];
	char block[32];
	char controller[32];
	char model[41];
	char serial[21];
	char firmware[9];
	char transport[16];
	uint32_t nsid;
	uint8_t csi;
	uint64_t bytes;
	uint64_t lbas;
	uint32_t lba_size;
	uint32_t lba_shift;
	uint32_t metadata_size;
	bool extended;
	uint8_t pi_type;
	bool pi_first;
	uint32_t max_transfer;
	uint32_t physical_block_size;
	uint32_t optimal_io_size;
	bool volatile_cache;
	bool write_zeroes;
	bool dsm;
	uint32_t dma_alignment;
	int numa_node;
	uint32_t nr_requests;
};

/**
 * pst_nvme_open() - open a generic namespace node and identify the namespace
 * @path: for example /dev/ng0n1
 * @writable: open for writing too
 * @ns: receives the namespace
 * @err: receives the sentence
 *
 * A block node, a partition or a controller is refused with -ENODEV or -EINVAL; the sentence names
 * the generic node to use.
 *
 * Return: 0; -ENOENT, -EACCES, -EINVAL, -ENODEV; the errno of a failed ioctl.
 */
int pst_nvme_open(const char *path, bool writable, struct pst_nvme_ns **ns, struct pst_error *err);

/** pst_nvme_close() - close a namespace; takes NULL. No queue may be open on it. */
void pst_nvme_close(struct pst_nvme_ns *ns);

/**
 * struct pst_nvme_result - outcome of one command, never folded into one number
 * @error: 0, or negative errno: the command did not reach the device, or its fate is unknown
 * @status: status code type (bits 8-10) and status code (bits 0-7) as the device gave them; 0 when
 *	@error is not 0
 * @dnr: the device says that a retry cannot help (Do Not Retry)
 * @more: there is more in the error log page
 * @value: 64-bit result (dwords 0 and 1 of the completion)
 */
struct pst_nvme_result {
	int error;
	uint16_t status;
	bool dnr;
	bool more;
	uint64_t value;
};

/** pst_nvme_ok() - did the command succeed? */
static inline bool pst_nvme_ok(const struct pst_nvme_result *result)
{
	return result->error == 0 && result->status == 0;
}

/**
 * pst_nvme_status_text() - name of a status in the specification's words
 * @status: status code type and code, as in &struct pst_nvme_result
 *
 * Return: a static string; "unknown status" for what NVMe Base 2.0c does not name.
 */
const char *pst_nvme_status_text(uint16_t status);

/**
 * pst_nvme_result_errno() - the errno a block device would give for a result
 *
 * Return: 0; @error as it is; -EOPNOTSUPP for an invalid opcode or field, -EIO, -ENOSPC, -EILSEQ
 * (protection), -ENODATA (unrecovered read), -EROFS, -ETIMEDOUT as Linux maps them.
 */
int pst_nvme_result_errno(const struct pst_nvme_result *result);

/**
 * pst_nvme_cmd_rw() - build Read, Write, Compare, Verify, Write Zeroes or Write Uncorrectable
 * @cmd: overwritten whole
 * @opcode: one of them
 * @nsid: namespace
 * @slba: first logical block
 * @blocks: number of logical blocks, 1 to 65536 (the wire's NLB is one less)
 *
 * Data address and length are left 0 for the caller.
 */
void pst_nvme_cmd_rw(struct nvme_uring_cmd *cmd, uint8_t opcode, uint32_t nsid, uint64_t slba,
		     uint32_t blocks);

/** pst_nvme_cmd_flush() - build Flush */
void pst_nvme_cmd_flush(struct nvme_uring_cmd *cmd, uint32_t nsid);

/** struct pst_nvme_dsm_range - one range of Dataset Management, little endian on the wire */
struct pst_nvme_dsm_range {
	uint32_t attributes;
	uint32_t blocks;
	uint64_t slba;
};

/**
 * pst_nvme_cmd_dsm() - build Dataset Management
 * @cmd: overwritten whole
 * @nsid: namespace
 * @ranges: array in the caller's memory, already little endian
 * @count: 1 to 256
 * @attributes: dword 11; bit 2 is Deallocate
 */
void pst_nvme_cmd_dsm(struct nvme_uring_cmd *cmd, uint32_t nsid,
		      const struct pst_nvme_dsm_range *ranges, uint32_t count, uint32_t attributes);

/**
 * pst_nvme_cmd_identify() - build Identify
 * @cmd: overwritten whole
 * @nsid: namespace, or 0
 * @cns: controller or namespace structure
 * @csi: command set identifier (dword 11 bits 24-31)
 * @data: 4096 bytes
 */
void pst_nvme_cmd_identify(struct nvme_uring_cmd *cmd, uint32_t nsid, uint8_t cns, uint8_t csi,
			   void *data);

/**
 * pst_nvme_cmd_check() - the rules every I/O command passes before the kernel sees it
 * @ns: the namespace it is for
 * @cmd: the command
 * @length: bytes of data (for a vectored command the sum of its vectors)
 *
 * For commands with data (Read, Write, Compare): @length is exactly (NLB + 1) logical blocks,
 * since the kernel does not look and a device would write past the buffer; within max_transfer.
 * For every command with a range: the range lies within the namespace. Commands without data have
 * no address and no length.
 *
 * Return: 0; -EINVAL; -EMSGSIZE when it is larger than max_transfer; -ERANGE past the end.
 */
int pst_nvme_cmd_check(const struct pst_nvme_ns *ns, const struct nvme_uring_cmd *cmd,
		       uint64_t length);

/**
 * pst_nvme_admin_sync() - send one admin command and wait (NVME_IOCTL_ADMIN64_CMD)
 * @fd: a controller or generic node
 * @cmd: the command, with data address and length
 * @result: receives the outcome
 *
 * Return: 0 when @result holds what the device said, or the negative errno that is in @result too.
 */
int pst_nvme_admin_sync(int fd, const struct nvme_uring_cmd *cmd, struct pst_nvme_result *result);

/**
 * pst_nvme_io_sync() - send one I/O command and wait (NVME_IOCTL_IO64_CMD)
 * @ns: the namespace
 * @cmd: the command, with data address and length
 * @result: receives the outcome
 *
 * Return: as pst_nvme_admin_sync(); what pst_nvme_cmd_check() refuses is not sent.
 */
int pst_nvme_io_sync(const struct pst_nvme_ns *ns, const struct nvme_uring_cmd *cmd,
		     struct pst_nvme_result *result);

struct pst_nvme_queue;
struct pst_nvme_op;

/** typedef pst_nvme_done - completion callback; called from the ring's reap */
typedef void (*pst_nvme_done)(struct pst_nvme_op *op, const struct pst_nvme_result *result);

/**
 * struct pst_nvme_op - a command in flight, embedded in the owner's struct
 * @op: the ring's part
 * @done: called once, never from within the submitting function
 */
struct pst_nvme_op {
	struct pst_op op;
	pst_nvme_done done;
};

/**
 * pst_nvme_queue_create() - bind a namespace to a ring
 * @ring: the calling thread's ring
 * @ns: the namespace, which must outlive the queue
 * @queue: receives the queue
 * @err: receives the sentence
 *
 * Registers the node with the ring when it has slots for files.
 *
 * Return: 0 or a negative errno.
 */
int pst_nvme_queue_create(struct pst_ring *ring, const struct pst_nvme_ns *ns,
			  struct pst_nvme_queue **queue, struct pst_error *err);

/** pst_nvme_queue_destroy() - the reverse; takes NULL. Nothing may be in flight. */
void pst_nvme_queue_destroy(struct pst_nvme_queue *queue);

/**
 * pst_nvme_submit() - queue a command
 * @queue: the queue
 * @op: in flight until its done is called
 * @cmd: the command, copied; its addr and data_len describe the data
 * @region_index: index of the registered region the data lies in, or -1: the kernel pins the
 *	pages for this command alone
 *
 * The command goes to the kernel with the next pst_ring_submit().
 *
 * Return: 0; what pst_nvme_cmd_check() says; -EAGAIN when the ring takes no entry just now.
 * On failure @op is not in flight.
 */
int pst_nvme_submit(struct pst_nvme_queue *queue, struct pst_nvme_op *op,
		    const struct nvme_uring_cmd *cmd, int region_index);

/**
 * pst_nvme_submit_vec() - queue a command whose data is scattered
 * @queue: the queue
 * @op: in flight until its done is called
 * @cmd: the command, copied; addr and data_len are set from @iov
 * @iov: the pieces; read by the kernel at submission, so they stay until pst_ring_submit() returned
 * @count: 1 to 1024
 *
 * Return: as pst_nvme_submit().
 */
int pst_nvme_submit_vec(struct pst_nvme_queue *queue, struct pst_nvme_op *op,
			const struct nvme_uring_cmd *cmd, const struct iovec *iov, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
