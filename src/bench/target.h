/* SPDX-License-Identifier: MIT */
/* A device under measurement: a namespace with both its nodes, a block device, or a file. */
#ifndef PST_BENCH_TARGET_H
#define PST_BENCH_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <penstock/error.h>
#include <penstock/nvme.h>

#include "options.h"
#include "sysfs.h"

struct pst_bench_target {
	const char *path;		 /* as given */
	struct pst_nvme_ns *ns;		 /* NULL: no generic node, or no mode wants it */
	char block_path[PATH_MAX];	 /* "": there is none that could be read */
	char block_name[PST_SYSFS_NAME]; /* as in sysfs, "" for a file */
	int block_fd;			 /* opened with O_DIRECT, or -1 */
	int hold_fd;			 /* opened with O_EXCL while we write, or -1 */
	uint64_t bytes;
	uint32_t lba_size;
	uint32_t lba_shift;
	uint32_t stride;	/* bytes of a logical block in a passthrough transfer */
	uint64_t first_lba;	/* of the range in use */
	uint64_t lbas;		/* in it */
	int numa_node;		/* -1 unknown */
	uint32_t nr_requests;	/* tags of a hardware queue, 0 unknown */
	uint32_t hw_queues;	/* 0 unknown */
	uint32_t dma_alignment; /* mask */
	bool io_poll;		/* poll queues exist */
	char scheduler[64];
};

/* Which nodes the modes that will be tried want. */
struct pst_bench_needs {
	bool passthrough;
	bool block;
	bool writable;
};

/*
 * Opens what is there of a device. A node that the device does not have is no failure: the modes
 * that want it are refused later, by name. Returns 0 or a negative errno with a sentence.
 */
int pst_bench_target_open(const char *path, const struct pst_bench_needs *needs,
			  struct pst_bench_target *target, struct pst_error *err);
void pst_bench_target_close(struct pst_bench_target *target);

/* Cuts the range in use out of the device by --offset, --size and --bs; 0 or -EINVAL. */
int pst_bench_target_range(struct pst_bench_target *target, const struct pst_bench_options *options,
			   struct pst_error *err);

/* Bytes that one I/O of the mode moves, metadata included. */
uint64_t pst_bench_target_transfer(const struct pst_bench_target *target,
				   const struct pst_bench_mode *mode, uint64_t bs);

/*
 * Refuses to write to a device that is mounted, swapped on, held by another driver or process, or
 * carries a file system or partition table; with `force` none of this matters. Holds the block node
 * exclusively from here on where it can. Returns 0, -EBUSY, or -EEXIST with a sentence.
 */
int pst_bench_guard(struct pst_bench_target *target, bool force, struct pst_error *err);

#endif
