/* SPDX-License-Identifier: MIT */
/*
 * Constants of kernels newer than the headers of Debian 12 (Linux 6.1), each with the version it
 * came in. Values are part of the kernel's ABI.
 */
#ifndef PST_URING_COMPAT_H
#define PST_URING_COMPAT_H

/* io_uring opcodes and registrations; the presence of an opcode dates a feature without a probe of
 * its own. */
#define PST_IORING_OP_READV_FIXED 60  /* Linux 6.15: fixed + vectored uring_cmd came with it */
#define PST_IORING_OP_WRITEV_FIXED 61 /* Linux 6.15 */

/* cmd_op of a uring_cmd on a block device: _IO(0x12, 0). */
#define PST_BLOCK_URING_CMD_DISCARD 0x1200U /* Linux 6.12 */

#endif
