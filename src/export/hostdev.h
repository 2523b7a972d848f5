/* SPDX-License-Identifier: MIT */
/* The block device that an export became in the host, and who uses it. */
#ifndef PST_HOSTDEV_H
#define PST_HOSTDEV_H

#include <stdbool.h>
#include <stddef.h>

/* Is vdpa device `name` attached? */
bool pst_hostdev_attached(const char *name);

/* Writes "/dev/vda" for vdpa device `name`; returns 0, or -ENOENT while there is none. */
int pst_hostdev_find(const char *name, char *device, size_t size);

/*
 * Who uses /dev/vda or a partition of it: mounts, swap, holders (dm, md), open descriptors. Writes
 * a list for a sentence; returns whether there is anybody.
 */
bool pst_hostdev_users(const char *device, char *users, size_t size);

#endif
