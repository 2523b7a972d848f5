/* SPDX-License-Identifier: MIT */
/* RLIMIT_MEMLOCK, which the kernel enforces for user memory of VDUSE devices even for root. */
#ifndef PST_MEMLOCK_H
#define PST_MEMLOCK_H

#include <stdint.h>

#include "config.h"

/* Bytes that these exports may pin on this many workers. */
uint64_t pst_memlock_needed(const struct pst_serve_config *config, uint32_t workers);

/* Raises the limit of this process to `needed` bytes where it is lower; -EPERM when it may not. */
int pst_memlock_raise(uint64_t needed, struct pst_error *err);

#endif
