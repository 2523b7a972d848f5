/* SPDX-License-Identifier: MIT */
/* The command line of `penstock bench`. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "options.h"
#include "parse.h"

#define MAX_TIME_S 1e6
#define MAX_BS (64ULL << 20)
/* One fixed buffer of the kernel: what a thread's data must fit in. */
#define MAX_BUFFERS (1ULL << 30)

const char pst_bench_usage[] =
	"usage: penstock bench DEVICE... [OPTION...]\n"
	"       penstock bench --compare A.json B.json\n"
	"\n"
	"Measures the ways to a device side by side: queue depth down, modes across.\n"
	"DEVICE is a generic NVMe node (/dev/ng0n1), its block node, or any block device or file "
	"for\n"
	"mode block. Reading is the default; nothing is written without --allow-write.\n"
	"\n"
	"  --modes LIST       sync, block, async or nop, with features joined by +: fixed, poll,\n"
	"                     sqpoll, vec; default: those the devices can do of sync,block,async,\n"
	"                     async+fixed,async+fixed+poll\n"
	"  --qd LIST          commands in flight a thread; default 1,8,32,128\n"
	"  --bs SIZE          bytes of one I/O; default 4k\n"
	"  --rw KIND          randread (default), randwrite, read, write, mix:NN (NN % random "
	"reads)\n"
	"  --threads N        threads over all devices, pinned; default 1\n"
	"  --time SECONDS     of one measurement; default 3; 0: until --count or the end of a "
	"pass\n"
	"  --count N          I/Os of one measurement\n"
	"  --rate N           I/Os a second, started on schedule whatever the device does\n"
	"  --batch N          most commands submitted in one system call; default 32\n"
	"  --rounds N         measurements of each point, interleaved; default 3\n"
	"  --offset SIZE      first byte used of each device; default 0\n"
	"  --size SIZE        bytes used from there; default: to the end\n"
	"  --seed N           of the random sequence and of --verify; default 1\n"
	"  --buffer-offset N  move data buffers N bytes off their alignment\n"
	"  --verify           stamp what is written, check what is read\n"
	"  --allow-write      allow writing to the devices; what is on them is lost\n"
	"  --force            write even to a device that is in use or carries data\n"
	"  --no-registered-files\n"
	"  --json FILE        write the results as JSON (schema: docs/schema/bench.json)\n"
	"  --csv FILE         write the results as CSV\n"
	"  --compare          print the ratio of two JSON files\n"
	"  --help             this text\n";

enum choice {
	OPT_MODES = 1,
	OPT_QD,
	OPT_BS,
	OPT_RW,
	OPT_THREADS,
	OPT_TIME,
	OPT_COUNT,
	OPT_RATE,
	OPT_BATCH,
	OPT_ROUNDS,
	OPT_OFFSET,
	OPT_SIZE,
	OPT_SEED,
	OPT_BUFFER_OFFSET,
	OPT_VERIFY,
	OPT_ALLOW_WRITE,
	OPT_FORCE,
	OPT_NO_REGISTERED_FILES,
	OPT_JSON,
	OPT_CSV,
	OPT_COMPARE,
	OPT_HELP,
};

static const struct option long_options[] = {
	{"modes", required_argument, NULL, OPT_MODES},
	{"qd", required_argument, NULL, OPT_QD},
	{"bs", required_argument, NULL, OPT_BS},
	{"rw", required_argument, NULL, OPT_RW},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"time", required_argument, NULL, OPT_TIME},
	{"count", required_argument, NULL, OPT_COUNT},
	{"rate", required_argument, NULL, OPT_RATE},
	{"batch", required_argument, NULL, OPT_BATCH},
	{"rounds", required_argument, NULL, OPT_ROUNDS},
	{"offset", required_argument, NULL, OPT_OFFSET},
	{"size", required_argument, NULL, OPT_SIZE},
	{"seed", required_argument, NULL, OPT_SEED},
	{"buffer-offset", required_argument, NULL, OPT_BUFFER_OFFSET},
	{"verify", no_argument, NULL, OPT_VERIFY},
	{"allow-write", no_argument, NULL, OPT_ALLOW_WRITE},
	{"force", no_argument, NULL, OPT_FORCE},
	{"no-registered-files", no_argument, NULL, OPT_NO_REGISTERED_FILES},
	{"json", required_argument, NULL, OPT_JSON},
	{"csv", required_argument, NULL, OPT_CSV},
	{"compare", no_argument, NULL, OPT_COMPARE},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

static int parse_modes(char *list, struct pst_bench_options *o, struct pst_error *err)
{
	char *word;
	uint32_t i;

	o->nr_modes = 0;
	while ((word = strsep(&list, ","))) {
		struct pst_bench_mode *mode = &o->modes[o->nr_modes];

		if (o->nr_modes == PST_BENCH_MODES_MAX)
			return pst_error_set(err, -EINVAL, "--modes takes at most %d modes",
					     PST_BENCH_MODES_MAX);
		if (pst_bench_mode_parse(word, mode, err))
			return -EINVAL;
		for (i = 0; i < o->nr_modes; i++) {
			if (strcmp(o->modes[i].name, mode->name) == 0)
				return pst_error_set(err, -EINVAL, "--modes names %s twice",
						     mode->name);
		}
		o->nr_modes++;
	}
	return 0;
}

static int parse_qds(char *list, struct pst_bench_options *o, struct pst_error *err)
{
	char *word;
	uint64_t qd;

	o->nr_qds = 0;
	while ((word = strsep(&list, ","))) {
		if (o->nr_qds == PST_BENCH_QDS_MAX)
			return pst_error_set(err, -EINVAL, "--qd takes at most %d depths",
					     PST_BENCH_QDS_MAX);
		if (pst_parse_u64(word, 1, PST_BENCH_QD_MAX, &qd))
			return pst_error_set(err, -EINVAL,
					     "--qd %s: a queue depth is a number from 1 to %d",
					     word, PST_BENCH_QD_MAX);
		o->qds[o->nr_qds++] = (uint32_t)qd;
	}
	return 0;
}

static int parse_rw(const char *text, struct pst_bench_options *o, struct pst_error *err)
{
	static const struct {
		const char *name;
		bool random;
		uint32_t read_percent;
	} kinds[] = {
		{"read", false, 100},
		{"write", false, 0},
		{"randread", true, 100},
		{"randwrite", true, 0},
	};
	uint64_t percent;
	size_t i;

	(void)snprintf(o->rw, sizeof(o->rw), "%s", text);
	for (i = 0; i < PST_ARRAY_SIZE(kinds); i++) {
		if (strcmp(text, kinds[i].name) == 0) {
			o->random = kinds[i].random;
			o->read_percent = kinds[i].read_percent;
			return 0;
		}
	}
	if (strncmp(text, "mix:", 4) == 0 && pst_parse_u64(text + 4, 0, 100, &percent) == 0) {
		o->random = true;
		o->read_percent = (uint32_t)percent;
		return 0;
	}
	return pst_error_set(
		err, -EINVAL,
		"--rw %s is not known: randread, randwrite, read, write or mix:NN with "
		"0 to 100 %% reads",
		text);
}

static int parse_time(const char *text, struct pst_bench_options *o, struct pst_error *err)
{
	char *end;
	double seconds;

	errno = 0;
	seconds = strtod(text, &end);
	if (*text == '\0' || strspn(text, "0123456789.") != strlen(text) || *end || errno ||
	    !isfinite(seconds) || seconds > MAX_TIME_S)
		return pst_error_set(err, -EINVAL,
				     "--time %s: a time is a number of seconds from 0 to %.0f",
				     text, MAX_TIME_S);
	o->time_ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int parse_number(const char *name, const char *text, uint64_t min, uint64_t max,
			uint64_t *value, struct pst_error *err)
{
	if (pst_parse_u64(text, min, max, value) == 0)
		return 0;
	return pst_error_set(err, -EINVAL, "--%s %s: a number from %llu to %llu is needed", name,
			     text, (unsigned long long)min, (unsigned long long)max);
}

static int parse_u32(const char *name, const char *text, uint32_t min, uint32_t max,
		     uint32_t *value, struct pst_error *err)
{
	uint64_t wide;
	int ret = parse_number(name, text, min, max, &wide, err);

	if (ret == 0)
		*value = (uint32_t)wide;
	return ret;
}

static int parse_bytes(const char *name, const char *text, uint64_t *value, struct pst_error *err)
{
	if (pst_parse_size(text, value) == 0)
		return 0;
	return pst_error_set(err, -EINVAL, "--%s %s: a size such as 4096, 4k or 1G is needed", name,
			     text);
}

static int take_option(int opt, struct pst_bench_options *o, bool *time_given,
		       struct pst_error *err)
{
	switch ((enum choice)opt) {
	case OPT_MODES:
		o->modes_given = true;
		return parse_modes(optarg, o, err);
	case OPT_QD:
		return parse_qds(optarg, o, err);
	case OPT_BS:
		return parse_bytes("bs", optarg, &o->bs, err);
	case OPT_RW:
		return parse_rw(optarg, o, err);
	case OPT_THREADS:
		return parse_u32("threads", optarg, 1, PST_BENCH_THREADS_MAX, &o->threads, err);
	case OPT_TIME:
		*time_given = true;
		return parse_time(optarg, o, err);
	case OPT_COUNT:
		return parse_number("count", optarg, 1, UINT64_MAX / 2, &o->count, err);
	case OPT_RATE:
		return parse_number("rate", optarg, 1, 1000000000, &o->rate, err);
	case OPT_BATCH:
		return parse_u32("batch", optarg, 1, PST_BENCH_QD_MAX, &o->batch, err);
	case OPT_ROUNDS:
		return parse_u32("rounds", optarg, 1, 1000, &o->rounds, err);
	case OPT_OFFSET:
		return parse_bytes("offset", optarg, &o->offset, err);
	case OPT_SIZE:
		return parse_bytes("size", optarg, &o->size, err);
	case OPT_SEED:
		return parse_number("seed", optarg, 0, UINT64_MAX, &o->seed, err);
	case OPT_BUFFER_OFFSET:
		return parse_u32("buffer-offset", optarg, 0, 4095, &o->buffer_offset, err);
	case OPT_VERIFY:
		o->verify = true;
		return 0;
	case OPT_ALLOW_WRITE:
		o->allow_write = true;
		return 0;
	case OPT_FORCE:
		o->force = true;
		return 0;
	case OPT_NO_REGISTERED_FILES:
		o->registered_files = false;
		return 0;
	case OPT_JSON:
		o->json = optarg;
		return 0;
	case OPT_CSV:
		o->csv = optarg;
		return 0;
	case OPT_COMPARE:
		o->compare[0] = "";
		return 0;
	case OPT_HELP:
		o->help = true;
		return 0;
	}
	return -EINVAL;
}

static int check_modes(const struct pst_bench_options *o, struct pst_error *err)
{
	uint32_t i;

	for (i = 0; i < o->nr_modes; i++) {
		if (o->verify && o->modes[i].base == PST_BENCH_NOP)
			return pst_error_set(err, -EINVAL,
					     "--verify: mode nop moves no data to check");
	}
	return 0;
}

static int check_devices(const struct pst_bench_options *o, struct pst_error *err)
{
	uint32_t i, j;

	for (i = 0; i < o->nr_devices; i++) {
		for (j = 0; j < i; j++) {
			if (strcmp(o->devices[i], o->devices[j]) == 0)
				return pst_error_set(err, -EINVAL, "%s is named twice",
						     o->devices[i]);
		}
	}
	if (o->nr_devices)
		return 0;
	for (i = 0; i < o->nr_modes; i++) {
		if (o->modes[i].base != PST_BENCH_NOP)
			return pst_error_set(
				err, -EINVAL,
				"no device is named: penstock bench /dev/ng0n1 (only mode "
				"nop runs without)");
	}
	return 0;
}

/* What no device can make right. */
static int check_together(const struct pst_bench_options *o, struct pst_error *err)
{
	uint32_t i;

	if (o->bs < 512 || o->bs > MAX_BS || o->bs % 512)
		return pst_error_set(err, -EINVAL,
				     "--bs %llu: a block size is a multiple of 512 up to 64M",
				     (unsigned long long)o->bs);
	for (i = 0; i < o->nr_qds; i++) {
		if (o->qds[i] * (o->bs + o->buffer_offset) > MAX_BUFFERS)
			return pst_error_set(
				err, -EINVAL,
				"--qd %u with --bs %llu needs more than 1 GiB of buffers a "
				"thread: use less of either",
				o->qds[i], (unsigned long long)o->bs);
	}
	if (o->offset % 512 || o->size % 512)
		return pst_error_set(
			err, -EINVAL,
			"--offset and --size are multiples of the logical block, at least "
			"of 512");
	if (pst_bench_writes(o) && !o->allow_write)
		return pst_error_set(
			err, -EINVAL,
			"--rw %s overwrites what is on the devices: say --allow-write if "
			"that is meant",
			o->rw);
	if (o->time_ns == 0 && o->count == 0 && o->random)
		return pst_error_set(
			err, -EINVAL,
			"--time 0 with --rw %s never ends: give --count, or a sequential "
			"--rw, which then makes one pass",
			o->rw);
	return check_modes(o, err) ? -EINVAL : check_devices(o, err);
}

static void set_defaults(struct pst_bench_options *o)
{
	static const uint32_t qds[] = {1, 8, 32, 128};

	memset(o, 0, sizeof(*o));
	memcpy(o->qds, qds, sizeof(qds));
	o->nr_qds = PST_ARRAY_SIZE(qds);
	o->bs = 4096;
	(void)snprintf(o->rw, sizeof(o->rw), "randread");
	o->random = true;
	o->read_percent = 100;
	o->threads = 1;
	o->time_ns = 3000000000;
	o->batch = 32;
	o->rounds = 3;
	o->seed = 1;
	o->registered_files = true;
}

static int take_operands(int argc, char **argv, struct pst_bench_options *o, struct pst_error *err)
{
	if (o->compare[0]) {
		if (argc - optind != 2)
			return pst_error_set(
				err, -EINVAL,
				"--compare takes two JSON files: penstock bench --compare "
				"before.json after.json");
		o->compare[0] = argv[optind];
		o->compare[1] = argv[optind + 1];
		return 0;
	}
	o->devices = argv + optind;
	o->nr_devices = (uint32_t)(argc - optind);
	return check_together(o, err);
}

int pst_bench_args_parse(int argc, char **argv, struct pst_bench_options *o, struct pst_error *err)
{
	char default_modes[] = "sync,block,async,async+fixed,async+fixed+poll";
	bool time_given = false;
	int opt;

	set_defaults(o);
	(void)parse_modes(default_modes, o, err);
	optind = 0; /* glibc: start afresh, this is not the first parse of the process */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		if (opt == ':')
			return pst_error_set(err, -EINVAL, "%s needs a value", argv[optind - 1]);
		if (opt == '?')
			return pst_error_set(
				err, -EINVAL,
				"%s is not an option of bench: see penstock bench --help",
				argv[optind - 1]);
		if (take_option(opt, o, &time_given, err))
			return -EINVAL;
		if (o->help)
			return 0;
	}
	if (o->count && !time_given)
		o->time_ns = 0;
	return take_operands(argc, argv, o, err);
}
