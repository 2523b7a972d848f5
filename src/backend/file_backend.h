/* SPDX-License-Identifier: MIT */
/* Between file.c (the device), file_probe.c (what it takes) and file_io.c (its queues). */
#ifndef PST_FILE_BACKEND_H
#define PST_FILE_BACKEND_H

#include <stdatomic.h>
#include <sys/types.h>

#include <penstock/blk.h>

struct pst_claim;

/* Most bytes of one READ or WRITE; also the size of a slot. */
#define PST_FILE_TRANSFER (1U << 20)

struct pst_file_dev {
	char path[256];
	int fd;
	bool block;	    /* a block device, else a regular file */
	bool direct;	    /* O_DIRECT; the alignments below are 1 without */
	uint32_t mem_align; /* of addresses, bytes */
	uint32_t io_align;  /* of offsets and of the length of every segment, bytes */
	dev_t dev;
	ino_t ino;
	uint64_t first; /* byte of the slice in the file */
	uint64_t end;	/* and the one behind it */
	struct pst_claim *claim;
	/* The shortest the file has been seen; below `end` it was cut while it was served. */
	_Atomic uint64_t shortest;
};

/* What is found out about an open file, before it is a device. */
struct pst_file_facts {
	uint64_t bytes;
	uint32_t block_size;
	uint32_t physical_block_size;
	uint32_t optimal_io_size;
	uint64_t max_discard;
	uint32_t discard_alignment;
	bool volatile_cache;
};

/*
 * Opens dev->path, with O_DIRECT where that can be used, and fills dev up to ino. Returns 0 or a
 * negative errno with a sentence.
 */
int pst_file_probe(struct pst_file_dev *dev, const struct pst_blk_open_params *params,
		   struct pst_file_facts *facts, struct pst_error *err);

/*
 * Has the file been cut below the slice? Looks at it anew. Not for block devices, which do not
 * shrink. Any thread.
 */
bool pst_file_was_cut(struct pst_file_dev *dev);

int pst_file_io_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
		     struct pst_error *err);
void pst_file_io_close(struct pst_blk_queue *queue);
void pst_file_io_submit(struct pst_blk_queue *queue, struct pst_req *req);

#endif
