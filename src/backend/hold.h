/* SPDX-License-Identifier: MIT */
/* Keeping other processes away from a block device. */
#ifndef PST_HOLD_H
#define PST_HOLD_H

#include <penstock/error.h>

/*
 * Opens a block node exclusively, so that nothing mounts it while it is served; fails when it or a
 * partition of it is mounted or held already. `served` is what the user named: the node itself, or
 * the generic node beside it. Returns 0 with the descriptor, or a negative errno with a sentence.
 */
int pst_hold_block(const char *node, const char *served, int *fd, struct pst_error *err);

#endif
