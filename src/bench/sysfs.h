/* SPDX-License-Identifier: MIT */
/* What sysfs says about a block device, its partitions included. */
#ifndef PST_BENCH_SYSFS_H
#define PST_BENCH_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PST_SYSFS_NAME 64

/* Number of a block device from its name; 0 or a negative errno. */
int pst_sysfs_dev(const char *block, dev_t *dev);

bool pst_sysfs_is_partition(const char *block);

/* A file of the queue directory; a partition has its disk's. 0 or a negative errno. */
int pst_sysfs_queue_u64(const char *block, const char *attr, uint64_t *value);
int pst_sysfs_queue_text(const char *block, const char *attr, char *text, size_t size);

/* Hardware queues (directory mq), 0 when unknown. */
uint32_t pst_sysfs_hw_queues(const char *block);

/* Calls fn for the device and every partition of it until fn returns other than 0. */
int pst_sysfs_each_part(const char *block, int (*fn)(const char *name, void *ctx), void *ctx);

/* Copies the first holder's name (device mapper, md, …) and returns true if there is one. */
bool pst_sysfs_holder(const char *block, char name[PST_SYSFS_NAME]);

/* Poll queues the nvme driver was asked for (module parameter), 0 when unknown. */
uint32_t pst_sysfs_nvme_poll_queues(void);

#endif
