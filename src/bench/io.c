/* SPDX-License-Identifier: MIT */
/* One I/O: choosing it, building its command, judging its outcome. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "job.h"

#define MAP_BUSY (1U << 31)
/* How often a random block that is in use is drawn anew before the turn is passed on. */
#define DRAWS 16

static uint64_t byte_offset(const struct pst_job *job, const struct pst_slot *slot)
{
	const struct pst_bench_target *target = job->devices[slot->device].target;

	return pst_bench_mode_lbas(job->common->mode) ? slot->position << target->lba_shift
						      : slot->position;
}

/* The next block that was written and is to be read back. */
static bool next_written(struct pst_job_device *dev, uint64_t *block)
{
	uint64_t blocks = dev->gen.end - dev->gen.first;

	while (dev->read_back < blocks && (dev->map[dev->read_back] & ~MAP_BUSY) == 0)
		dev->read_back++;
	if (dev->read_back == blocks)
		return false;
	*block = dev->gen.first + dev->read_back++;
	return true;
}

/* With a map, blocks in flight are left alone: which of two writes is the last would be open. */
static bool choose_block(struct pst_job *job, struct pst_job_device *dev, uint64_t *block)
{
	uint32_t draws;

	if (job->reading_back)
		return next_written(dev, block);
	if (!dev->map)
		return pst_gen_next(&dev->gen, block);
	for (draws = 0; draws < DRAWS; draws++) {
		struct pst_gen before = dev->gen;

		if (!pst_gen_next(&dev->gen, block))
			return false;
		if (!(dev->map[*block - dev->gen.first] & MAP_BUSY))
			return true;
		if (!dev->gen.random) {
			/* A pass has caught up with the one before: the same block again later. */
			dev->gen = before;
			return false;
		}
	}
	return false;
}

/* In turn, but none beyond its share of the depth. */
static struct pst_job_device *choose_device(struct pst_job *job, uint64_t *block)
{
	uint32_t tried;

	for (tried = 0; tried < job->nr_devices; tried++) {
		struct pst_job_device *dev = &job->devices[job->turn];

		if (++job->turn == job->nr_devices)
			job->turn = 0;
		if (dev->exhausted || dev->inflight >= dev->share)
			continue;
		if (choose_block(job, dev, block))
			return dev;
		if (job->reading_back || dev->gen.once)
			dev->exhausted = job->reading_back || dev->gen.next == dev->gen.end;
	}
	return NULL;
}

static bool choose_write(struct pst_job *job)
{
	uint32_t percent = job->common->options->read_percent;

	if (job->reading_back || percent == 100)
		return false;
	return percent == 0 || pst_gen_below(&job->coin, 100) >= percent;
}

bool pst_job_pick(struct pst_job *job, struct pst_slot *slot, uint64_t now)
{
	bool paced = job->pace.rate && !job->reading_back;
	struct pst_job_device *dev;
	uint64_t block;

	if (paced && now < job->pace.next)
		return false;
	dev = choose_device(job, &block);
	if (!dev)
		return false;

	slot->device = (uint16_t)(dev - job->devices);
	slot->block = block;
	slot->write = choose_write(job);
	slot->position = dev->base + block * dev->step;
	slot->lbas =
		(uint32_t)pst_min_u64(dev->per_block, dev->target->lbas - block * dev->per_block);
	slot->start = now;
	if (paced)
		(void)pst_pace_take(&job->pace, now, &slot->start);
	dev->inflight++;
	if (dev->map)
		dev->map[block - dev->gen.first] |= MAP_BUSY;
	if (slot->write && job->common->options->verify) {
		slot->sequence = ++dev->sequence & ~MAP_BUSY;
		job->shape.lba_size = dev->target->lba_size;
		job->shape.stride = pst_bench_mode_lbas(job->common->mode) ? dev->target->stride
									   : dev->target->lba_size;
		pst_stamp_write(&job->shape, slot->data, byte_offset(job, slot), slot->lbas,
				(uint64_t)job->common->point << 32 | slot->sequence);
	}
	return true;
}

void pst_job_command(const struct pst_job *job, const struct pst_slot *slot,
		     struct nvme_uring_cmd *cmd)
{
	const struct pst_job_device *dev = &job->devices[slot->device];

	*cmd = slot->write ? dev->write : dev->read;
	cmd->cdw10 = (uint32_t)slot->position;
	cmd->cdw11 = (uint32_t)(slot->position >> 32);
	cmd->cdw12 = (cmd->cdw12 & ~0xffffU) | (slot->lbas - 1);
	cmd->addr = (uintptr_t)slot->data;
	cmd->data_len = slot->lbas * dev->target->stride;
}

/* Pieces of a page each; a short block at the end of the range has fewer or shorter ones. */
void pst_job_cut_vectors(const struct pst_job *job, struct pst_slot *slot)
{
	const struct pst_bench_target *target = job->devices[slot->device].target;
	size_t left = (size_t)slot->lbas *
		      (pst_bench_mode_lbas(job->common->mode) ? target->stride : target->lba_size);
	unsigned char *at = slot->data;

	for (slot->nr_iov = 0; left; slot->nr_iov++) {
		size_t piece = pst_min_u64(left, 4096);

		slot->iov[slot->nr_iov] = (struct iovec){.iov_base = at, .iov_len = piece};
		at += piece;
		left -= piece;
	}
}

static void fail_with(struct pst_job *job, const struct pst_slot *slot, const char *why,
		      const char *more)
{
	const struct pst_bench_target *target = job->devices[slot->device].target;

	if (job->out.errors++ == 0)
		(void)pst_error_set(&job->out.first_error, -EIO,
				    "%s: %s of %u bytes at %" PRIu64 ": %s%s", target->path,
				    slot->write ? "write" : "read", slot->lbas << target->lba_shift,
				    byte_offset(job, slot), why, more);
}

void pst_job_fail(struct pst_job *job, const struct pst_slot *slot, int res)
{
	bool gone = res == -ENODEV || res == -ENXIO || res == -ESHUTDOWN || res == -ENOTCONN;

	if (res > 0 && pst_bench_mode_passthrough(job->common->mode))
		fail_with(job, slot, "the device says ",
			  pst_nvme_status_text((uint16_t)(res & 0x7ff)));
	else if (res >= 0)
		fail_with(job, slot, "fewer bytes were moved than asked for", "");
	else
		fail_with(job, slot, pst_errname(res), gone ? "; the device is gone" : "");

	if (gone)
		job->out.gone = true;
	if (++job->failures >= PST_JOB_FAILURES_MAX)
		job->out.gave_up = true;
	if (gone || job->out.gave_up)
		atomic_store_explicit(&job->common->stop, true, memory_order_relaxed);
}

/* What the block should hold: a write of this measurement, or with reads only, any stamp at all. */
static bool check_data(struct pst_job *job, const struct pst_slot *slot, uint32_t written)
{
	struct pst_job_device *dev = &job->devices[slot->device];
	bool passthrough = pst_bench_mode_lbas(job->common->mode);
	struct pst_stamp_shape shape = {.lba_size = dev->target->lba_size,
					.stride = passthrough ? dev->target->stride
							      : dev->target->lba_size,
					.seed = job->shape.seed};
	uint64_t sequence = dev->map ? (uint64_t)job->common->point << 32 | written : 0;
	enum pst_stamp_verdict verdict;
	char where[64];
	uint64_t at;

	verdict = pst_stamp_check(&shape, slot->data, byte_offset(job, slot), slot->lbas, sequence,
				  &at);
	if (verdict == PST_STAMP_GOOD)
		return true;
	(void)snprintf(where, sizeof(where), "the word at %" PRIu64 " ", at);
	fail_with(job, slot, where, pst_stamp_text(verdict));
	return false;
}

static bool succeeded(const struct pst_job *job, const struct pst_slot *slot, int res)
{
	if (job->common->mode->base == PST_BENCH_BLOCK)
		return res == (int)(slot->lbas << job->devices[slot->device].target->lba_shift);
	return res == 0;
}

void pst_job_complete(struct pst_job *job, struct pst_slot *slot, int res, uint64_t now)
{
	struct pst_job_device *dev = &job->devices[slot->device];
	uint32_t *map = dev->map ? &dev->map[slot->block - dev->gen.first] : NULL;
	uint32_t written = map ? *map & ~MAP_BUSY : 0;
	bool good = succeeded(job, slot, res);

	dev->inflight--;
	if (!good)
		pst_job_fail(job, slot, res);
	/* Blocks not yet written in this measurement hold whatever was there before. */
	else if (!slot->write && job->common->options->verify && (!map || written))
		good = check_data(job, slot, written);
	if (map && slot->write)
		*map = good ? slot->sequence : 0;
	else if (map)
		*map = written;
	if (!good)
		return;

	job->failures = 0;
	if (job->counting) {
		dev->done++;
		job->out.done++;
		pst_hist_add(&job->out.hist, now > slot->start ? now - slot->start : 0, 1);
	}
}
