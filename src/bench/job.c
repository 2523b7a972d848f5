/* SPDX-License-Identifier: MIT */
/* Setting a job up: ring, memory, slots, templates; and taking it down. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "job.h"

/* PRACT (NVM Command Set 1.0c, figure 17): the controller adds and removes protection itself. */
#define CDW12_PRACT (1U << 29)
#define PI_BYTES 8
/* The largest map of --verify: 4 bytes a block. */
#define MAP_BYTES_MAX (1ULL << 30)

static const struct pst_bench_options *options_of(const struct pst_job *job)
{
	return job->common->options;
}

/* Room of one slot: small ones do not cross a page, large ones begin on one. */
static size_t slot_room(size_t transfer, uint32_t buffer_offset)
{
	size_t room = 512;

	if (transfer + buffer_offset > 4096)
		return pst_round_up(transfer + buffer_offset, 4096);
	while (room < transfer + buffer_offset)
		room *= 2;
	return room;
}

static size_t largest_room(const struct pst_bench_target *targets, uint32_t nr_targets,
			   const struct pst_bench_options *options)
{
	size_t most = 0;
	uint32_t i;

	for (i = 0; i < nr_targets; i++) {
		size_t transfer = (size_t)(options->bs >> targets[i].lba_shift) * targets[i].stride;
		size_t room = slot_room(transfer, options->buffer_offset);

		most = room > most ? room : most;
	}
	return most;
}

size_t pst_job_pool_size(const struct pst_bench_target *targets, uint32_t nr_targets,
			 const struct pst_bench_options *options, uint32_t qd)
{
	return pst_round_up(qd * largest_room(targets, nr_targets, options), 4096);
}

uint32_t pst_job_parts(uint32_t nr_targets, uint32_t threads, uint32_t target)
{
	/* More threads than devices: thread t works on device t % devices. */
	if (threads <= nr_targets)
		return 1;
	return threads / nr_targets + (target < threads % nr_targets);
}

static int open_ring(struct pst_job *job)
{
	const struct pst_bench_mode *mode = job->common->mode;
	struct pst_ring_params params = {
		.entries = job->nr_slots,
		.files = options_of(job)->registered_files && mode->base != PST_BENCH_NOP
				 ? job->nr_devices
				 : 0,
		.regions = mode->fixed,
		.iopoll = mode->poll,
		.sqpoll = mode->sqpoll,
		.sqpoll_cpu = job->sqpoll_cpu,
	};
	int ret;

	/* Reads and writes of the block node fit small entries; nop is to cost what async costs. */
	if (mode->base == PST_BENCH_BLOCK)
		params.without = PST_RING_CAP_SQE128 | PST_RING_CAP_CQE32;
	ret = pst_ring_create(&params, &job->ring, &job->out.set_up);
	if (ret)
		return ret;
	job->out.ring_caps = pst_ring_caps(job->ring);
	job->out.ring_dropped = pst_ring_dropped(job->ring);
	job->sqe_shift = (job->out.ring_caps & PST_RING_CAP_SQE128) != 0;
	job->cqe_shift = (job->out.ring_caps & PST_RING_CAP_CQE32) != 0;
	if (!mode->fixed)
		return 0;
	ret = pst_ring_register_region(job->ring, &job->region, &job->out.set_up);
	return ret < 0 ? ret : 0;
}

static int open_slots(struct pst_job *job)
{
	const struct pst_bench_options *options = options_of(job);
	size_t room = largest_room(job->targets, job->nr_targets, options);
	bool vec = job->common->mode->vec;
	size_t pieces = (room + 4095) / 4096;
	uint32_t i;

	if (pst_pool_region(job->pool, 0, pst_round_up(room * job->nr_slots, 4096), &job->region))
		return pst_error_set(&job->out.set_up, -ENOMEM, "the buffers of %u I/Os do not fit",
				     job->nr_slots);
	job->slots = calloc(job->nr_slots, sizeof(*job->slots));
	job->free = calloc(job->nr_slots, sizeof(struct pst_slot *));
	if (vec)
		job->iovs = calloc(job->nr_slots * pieces, sizeof(*job->iovs));
	if (!job->slots || !job->free || (vec && !job->iovs))
		return pst_error_set(&job->out.set_up, -ENOMEM, "out of memory for %u I/Os",
				     job->nr_slots);
	for (i = 0; i < job->nr_slots; i++) {
		struct pst_slot *slot = &job->slots[i];

		slot->data = job->region.addr + i * room + options->buffer_offset;
		slot->iov = vec ? &job->iovs[i * pieces] : NULL;
		slot->address = vec ? (uintptr_t)slot->iov : (uintptr_t)slot->data;
		slot->write = pst_bench_writes(options);
		slot->lbas = job->devices[0].per_block;
		/* The lowest slot is on top. */
		job->free[job->nr_slots - 1 - i] = slot;
	}
	job->nr_free = job->nr_slots;
	return 0;
}

/* Templates, checked for the first and the last block that can come. */
static int make_commands(struct pst_job *job, struct pst_job_device *dev)
{
	const struct pst_bench_target *target = dev->target;
	const struct pst_nvme_ns *ns = target->ns;
	struct nvme_uring_cmd probe;
	uint64_t last;
	int ret;

	pst_nvme_cmd_rw(&dev->read, PST_NVME_READ, ns ? ns->nsid : 0, 0, dev->per_block);
	pst_nvme_cmd_rw(&dev->write, PST_NVME_WRITE, ns ? ns->nsid : 0, 0, dev->per_block);
	if (!ns || !pst_bench_mode_passthrough(job->common->mode))
		return 0;
	/* With protection information kept apart, the device makes and strips it. */
	if (ns->pi_type && !ns->extended && ns->metadata_size == PI_BYTES) {
		dev->read.cdw12 |= CDW12_PRACT;
		dev->write.cdw12 |= CDW12_PRACT;
	}

	probe = pst_bench_writes(options_of(job)) ? dev->write : dev->read;
	probe.addr = (uintptr_t)job->region.addr;
	probe.data_len = dev->per_block * target->stride;
	last = dev->base + (target->lbas / dev->per_block - 1) * dev->step;
	probe.cdw10 = (uint32_t)last;
	probe.cdw11 = (uint32_t)(last >> 32);
	ret = pst_nvme_cmd_check(ns, &probe, probe.data_len);
	if (ret)
		return pst_error_set(&job->out.set_up, ret,
				     "%s: I/Os of %u bytes do not pass the rules for commands: %s",
				     target->path, dev->per_block << target->lba_shift,
				     pst_errname(ret));
	return 0;
}

static int make_map(struct pst_job *job, struct pst_job_device *dev)
{
	uint64_t blocks = dev->gen.end - dev->gen.first;

	if (!options_of(job)->verify || !pst_bench_writes(options_of(job)))
		return 0;
	if (blocks > MAP_BYTES_MAX / sizeof(*dev->map))
		return pst_error_set(
			&job->out.set_up, -ENOMEM,
			"--verify keeps 4 bytes a block and %s has %llu: limit them with "
			"--size",
			dev->target->path, (unsigned long long)blocks);
	dev->map = calloc(blocks, sizeof(*dev->map));
	return dev->map ? 0
			: pst_error_set(&job->out.set_up, -ENOMEM, "out of memory for --verify");
}

static int open_device(struct pst_job *job, struct pst_job_device *dev, uint32_t index)
{
	const struct pst_bench_options *options = options_of(job);
	const struct pst_bench_target *target = &job->targets[index];
	struct pst_gen_params params = {
		.lbas = target->lbas,
		.per_block = (uint32_t)(options->bs >> target->lba_shift),
		.parts = pst_job_parts(job->nr_targets, options->threads, index),
		.random = options->random,
		.once = options->time_ns == 0 && options->count == 0,
		.seed = pst_gen_mix(options->seed) + job->common->point * 1000003U + index,
	};

	dev->target = target;
	dev->own_part = options->verify && pst_bench_writes(options);
	params.own_part = dev->own_part;
	params.part = options->threads > job->nr_targets ? job->thread / job->nr_targets : 0;
	dev->per_block = params.per_block;
	dev->base = target->first_lba;
	dev->step = dev->per_block;
	if (!pst_bench_mode_lbas(job->common->mode)) {
		dev->base <<= target->lba_shift;
		dev->step <<= target->lba_shift;
	}
	dev->share = (job->nr_slots + job->nr_devices - 1) / job->nr_devices;
	if (!pst_gen_init(&dev->gen, &params))
		return pst_error_set(
			&job->out.set_up, -EINVAL,
			"%s has fewer blocks than threads: use fewer threads or a smaller "
			"--bs",
			target->path);
	return make_map(job, dev);
}

static int open_devices(struct pst_job *job)
{
	uint32_t threads = options_of(job)->threads;
	uint32_t i, n = 0;
	int ret;

	job->nr_devices =
		threads >= job->nr_targets
			? 1
			: job->nr_targets / threads + (job->thread < job->nr_targets % threads);
	job->devices = calloc(job->nr_devices, sizeof(*job->devices));
	if (!job->devices)
		return pst_error_set(&job->out.set_up, -ENOMEM, "out of memory for a job");
	for (i = job->thread % job->nr_targets; n < job->nr_devices; i += threads, n++) {
		ret = open_device(job, &job->devices[n], i);
		if (ret)
			return ret;
	}
	return 0;
}

/* After the ring: descriptors are registered with it. */
static int bind_devices(struct pst_job *job)
{
	const struct pst_bench_mode *mode = job->common->mode;
	uint32_t i;
	int ret;

	for (i = 0; i < job->nr_devices; i++) {
		struct pst_job_device *dev = &job->devices[i];

		ret = make_commands(job, dev);
		if (ret)
			return ret;
		if (mode->base == PST_BENCH_NOP) {
			dev->fd = -1;
			continue;
		}
		dev->fd =
			mode->base == PST_BENCH_BLOCK ? dev->target->block_fd : dev->target->ns->fd;
		if (!job->ring || !options_of(job)->registered_files)
			continue;
		dev->fd = pst_ring_register_file(job->ring, dev->fd, &job->out.set_up);
		if (dev->fd < 0)
			return dev->fd;
		dev->sqe_flags = IOSQE_FIXED_FILE;
	}
	return 0;
}

/* How much there is to do, and whether the short loop can do it. */
static void set_limits(struct pst_job *job)
{
	const struct pst_bench_options *options = options_of(job);
	const struct pst_job_device *dev = &job->devices[0];
	uint64_t pass = 0;
	bool tail = false;
	uint32_t i;

	for (i = 0; i < job->nr_devices; i++) {
		const struct pst_job_device *d = &job->devices[i];

		pass += d->gen.end - d->gen.first;
		tail |= !options->random && d->target->lbas % d->per_block;
	}
	job->quota = UINT64_MAX;
	if (options->count)
		job->quota = options->count / options->threads +
			     (job->thread < options->count % options->threads);
	else if (dev->gen.once)
		job->quota = pass;
	job->batch = options->batch;
	/* To wait for a whole batch at a small depth would leave the device idle. */
	job->wait_batch = (uint32_t)pst_min_u64(options->batch, job->nr_slots / 4);
	if (job->wait_batch == 0)
		job->wait_batch = 1;
	job->plain = job->nr_devices == 1 && !options->verify && !options->rate && !tail &&
		     (options->read_percent == 100 || options->read_percent == 0);
	job->coin = pst_gen_mix(options->seed + job->thread + 77);
	job->shape.seed = options->seed;
}

int pst_job_open(struct pst_job *job)
{
	int ret;

	memset(&job->out, 0, sizeof(job->out));
	job->nr_slots = pst_bench_mode_rings(job->common->mode) ? job->common->qd : 1;
	ret = open_devices(job);
	if (ret == 0)
		ret = open_slots(job);
	if (ret == 0 && pst_bench_mode_rings(job->common->mode))
		ret = open_ring(job);
	if (ret == 0)
		ret = bind_devices(job);
	if (ret == 0)
		set_limits(job);
	return ret;
}

void pst_job_leave(struct pst_job *job)
{
	if (!job->ring)
		return;
	/* The kernel takes a closed ring apart later; unpinned now, the memory is not counted
	 * twice. */
	if (pst_ring_region_index(job->ring, &job->region) >= 0)
		(void)pst_ring_unregister_region(job->ring, &job->region);
	pst_ring_destroy(job->ring);
	job->ring = NULL;
}

void pst_job_close(struct pst_job *job)
{
	uint32_t i;

	for (i = 0; job->devices && i < job->nr_devices; i++)
		free(job->devices[i].map);
	free(job->devices);
	free(job->slots);
	free(job->free);
	free(job->iovs);
	job->devices = NULL;
	job->slots = NULL;
	job->free = NULL;
	job->iovs = NULL;
}
