/* SPDX-License-Identifier: MIT */
/*
 * An application offers a block device of its own to the local host, in memory of its own: its
 * hugepages are the device's bounce memory, so that its data path sees the host's data in place.
 *
 *   cc own-device.c $(pkg-config --cflags --libs penstock) -o own-device
 *   ./own-device NAME SIZE_MIB        until SIGTERM
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <penstock/blk.h>
#include <penstock/export.h>
#include <penstock/mem.h>

#define BOUNCE ((size_t)64 << 20)

/* The device: bytes in memory. A real one would start its own I/O from the segments. */
static unsigned char *disk;

static void disk_close(struct pst_blk *blk)
{
	(void)blk;
}

static int disk_queue_open(struct pst_blk_queue *queue, const struct pst_blk_queue_params *params,
			   struct pst_error *err)
{
	(void)queue;
	(void)params;
	(void)err;
	return 0;
}

static void disk_queue_close(struct pst_blk_queue *queue)
{
	(void)queue;
}

/* Requests are checked before they come here: aligned, inside the device, of a kind it takes. */
static void disk_submit(struct pst_blk_queue *queue, struct pst_req *req)
{
	unsigned char *at = disk + req->offset;
	unsigned int i;

	(void)queue;
	for (i = 0; i < req->nsegs; i++) {
		if (req->op == PST_REQ_READ)
			memcpy(req->segs[i].iov_base, at, req->segs[i].iov_len);
		else
			memcpy(at, req->segs[i].iov_base, req->segs[i].iov_len);
		at += req->segs[i].iov_len;
	}
	/* Never completed from within submit: this one completes with the next turn. */
	pst_req_defer(req, 0);
}

static const struct pst_blk_ops disk_ops = {
	.name = "own",
	.close = disk_close,
	.queue_open = disk_queue_open,
	.queue_close = disk_queue_close,
	.submit = disk_submit,
};

static void say_ready(void *ctx, struct pst_export *exp, const struct pst_export_status *status)
{
	(void)ctx;
	(void)exp;
	printf("ready device=%s umem=%llu\n", status->device, (unsigned long long)status->umem);
	fflush(stdout);
}

static void say_failed(void *ctx, struct pst_export *exp, const struct pst_error *why)
{
	(void)ctx;
	(void)exp;
	fprintf(stderr, "own-device: %s\n", why->text);
}

int main(int argc, char **argv)
{
	struct pst_server_params server_params = {
		.workers = 1,
		.on_ready = say_ready,
		.on_failed = say_failed,
	};
	struct pst_export_params params = PST_EXPORT_PARAMS_INIT;
	struct pst_blk_info info = {
		.block_size = 512,
		.physical_block_size = 4096,
		.max_transfer = 1 << 20,
		.numa_node = -1,
		.serial = "own-memory",
	};
	struct pst_error err = PST_ERROR_INIT;
	struct pst_export_status last;
	struct pst_server *server;
	struct pst_export *exp;
	struct pst_pool *pool;
	struct pst_blk *blk;
	sigset_t signals;
	void *memory;
	int sig;

	if (argc != 3 || atol(argv[2]) <= 0) {
		fprintf(stderr, "usage: own-device NAME SIZE_MIB\n");
		return 2;
	}
	/* Before any thread exists, so that all of them leave the signal to this one. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);

	info.size = (uint64_t)atol(argv[2]) << 20;
	disk = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memory = mmap(NULL, BOUNCE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (disk == MAP_FAILED || memory == MAP_FAILED) {
		fprintf(stderr, "own-device: no memory: reserve %zu hugepages\n", BOUNCE >> 21);
		return 1;
	}

	snprintf(params.name, sizeof(params.name), "%s", argv[1]);
	params.bounce = BOUNCE;
	params.umem = PST_ON;
	if (pst_pool_adopt(memory, BOUNCE, (size_t)2 << 20, &pool, &err) ||
	    pst_blk_create(&disk_ops, &info, NULL, "own memory", &blk, &err) ||
	    pst_server_create(&server_params, &server, &err))
		goto fail;
	params.pool = pool;
	if (pst_export_create(server, &params, blk, &exp, &err))
		goto fail;

	sigwait(&signals, &sig);
	if (pst_export_remove(exp, PST_EXPORT_END_IF_UNUSED, &last, &err))
		fprintf(stderr, "own-device: %s\n", err.text);
	printf("done reads=%llu writes=%llu errors=%llu\n", (unsigned long long)last.stats.reads,
	       (unsigned long long)last.stats.writes, (unsigned long long)last.stats.errors);
	pst_server_destroy(server);
	pst_blk_close(blk);
	pst_pool_destroy(pool);
	return 0;

fail:
	fprintf(stderr, "own-device: %s\n", err.text);
	return 1;
}
