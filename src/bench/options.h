/* SPDX-License-Identifier: MIT */
/* What one `penstock bench` is asked to do, and the parsing of it. Pure: opens nothing. */
#ifndef PST_BENCH_OPTIONS_H
#define PST_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <penstock/error.h>

#define PST_BENCH_MODES_MAX 32
#define PST_BENCH_QDS_MAX 32
#define PST_BENCH_QD_MAX 16384
#define PST_BENCH_THREADS_MAX 1024

/* The way to the device. */
enum pst_bench_base {
	PST_BENCH_SYNC,	 /* NVME_IOCTL_IO64_CMD: one command in flight a thread */
	PST_BENCH_BLOCK, /* io_uring on the block node with O_DIRECT */
	PST_BENCH_ASYNC, /* uring_cmd on the generic node */
	PST_BENCH_NOP,	 /* IORING_OP_NOP: the ring alone, no device */
};

struct pst_bench_mode {
	char name[48]; /* canonical: base, then the features in the order below */
	enum pst_bench_base base;
	bool fixed;  /* buffers registered with the ring */
	bool poll;   /* IORING_SETUP_IOPOLL */
	bool sqpoll; /* IORING_SETUP_SQPOLL */
	bool vec;    /* an array of vectors instead of one address */
};

/* Parses "async+fixed+poll"; returns 0 or -EINVAL with a sentence. */
int pst_bench_mode_parse(const char *text, struct pst_bench_mode *mode, struct pst_error *err);

/* Does the mode run on a ring, and does it go to the generic node of a namespace? */
static inline bool pst_bench_mode_rings(const struct pst_bench_mode *mode)
{
	return mode->base != PST_BENCH_SYNC;
}
static inline bool pst_bench_mode_lbas(const struct pst_bench_mode *mode)
{
	/* Positions count logical blocks; on the block node they count bytes. */
	return mode->base != PST_BENCH_BLOCK;
}
static inline bool pst_bench_mode_passthrough(const struct pst_bench_mode *mode)
{
	return mode->base == PST_BENCH_SYNC || mode->base == PST_BENCH_ASYNC;
}

struct pst_bench_options {
	char **devices; /* in argv */
	uint32_t nr_devices;
	struct pst_bench_mode modes[PST_BENCH_MODES_MAX];
	uint32_t nr_modes;
	bool modes_given; /* else what the devices cannot do is left out silently */
	uint32_t qds[PST_BENCH_QDS_MAX];
	uint32_t nr_qds;
	uint64_t bs;
	char rw[16];
	bool random;
	uint32_t read_percent; /* 100: reads only, 0: writes only */
	uint32_t threads;
	uint64_t time_ns; /* of one measurement, 0: until count or the end of the pass */
	uint64_t count;	  /* I/Os of one measurement over all threads, 0: no limit */
	uint64_t rate;	  /* I/Os per second over all threads, 0: as fast as they complete */
	uint32_t batch;
	uint32_t rounds;
	uint64_t offset, size; /* bytes; size 0: to the end */
	uint64_t seed;
	uint32_t buffer_offset; /* bytes by which data buffers are moved off their alignment */
	bool verify;
	bool allow_write;
	bool force;
	bool registered_files;
	const char *json;
	const char *csv;
	const char *compare[2]; /* both set: nothing is run */
	bool help;
};

static inline bool pst_bench_writes(const struct pst_bench_options *options)
{
	return options->read_percent < 100;
}

/*
 * Parses argv (argv[0] is the verb). What can be decided from the arguments alone is decided here.
 * Returns 0, or -EINVAL with a sentence.
 */
int pst_bench_args_parse(int argc, char **argv, struct pst_bench_options *options,
			 struct pst_error *err);

extern const char pst_bench_usage[];

#endif
