/* SPDX-License-Identifier: MIT */
/* Honest figures: what is checked before a mode runs, and what is noted beside its figures. */
#include <errno.h>
#include <inttypes.h>

#include <liburing.h>

#include "base.h"
#include "compat.h"
#include "job.h"
#include "session.h"

static bool kernel_has_readv_fixed(void)
{
	struct io_uring_probe *probe = io_uring_get_probe();
	bool has = probe && io_uring_opcode_supported(probe, PST_IORING_OP_READV_FIXED);

	io_uring_free_probe(probe);
	return has;
}

static int check_poll(const struct pst_bench_target *t, const struct pst_bench_mode *mode,
		      struct pst_error *err)
{
	if (!mode->poll || t->io_poll)
		return 0;
	if (!t->ns && !t->block_name[0])
		return pst_error_set(err, -EOPNOTSUPP,
				     "mode %s: %s is a file, which cannot be polled", mode->name,
				     t->path);
	return pst_error_set(
		err, -EOPNOTSUPP,
		"mode %s: %s has no poll queues, so it would run by interrupt: reload the "
		"driver with: modprobe -r nvme && modprobe nvme poll_queues=1 (or "
		"nvme.poll_queues=1 on the kernel's command line)",
		mode->name, t->path);
}

static int check_metadata(const struct pst_bench_target *t, const struct pst_bench_mode *mode,
			  bool writes, struct pst_error *err)
{
	const struct pst_nvme_ns *ns = t->ns;

	/* Without a buffer for it the device would read and write address 0. */
	if (ns->metadata_size && !ns->extended && !(ns->pi_type && ns->metadata_size == 8))
		return pst_error_set(
			err, -EOPNOTSUPP,
			"mode %s: %s keeps %u bytes of metadata apart from each logical "
			"block, which bench has no buffers for: use mode block or another "
			"format",
			mode->name, t->path, ns->metadata_size);
	if (ns->pi_type && ns->extended && writes)
		return pst_error_set(
			err, -EOPNOTSUPP,
			"mode %s: %s interleaves protection information with the data, "
			"which bench does not write: only read it, or use another format",
			mode->name, t->path);
	return 0;
}

static int check_passthrough(const struct pst_bench_target *t, const struct pst_bench_mode *mode,
			     const struct pst_bench_options *options, struct pst_error *err)
{
	uint64_t transfer;
	int ret;

	if (!t->ns)
		return pst_error_set(
			err, -ENODEV,
			"mode %s: %s has no generic NVMe node: only mode block works on it",
			mode->name, t->path);
	if (t->ns->csi == 1)
		return pst_error_set(
			err, -EOPNOTSUPP,
			"mode %s: %s is a key-value namespace, which bench cannot measure",
			mode->name, t->path);
	ret = check_metadata(t, mode, pst_bench_writes(options), err);
	if (ret)
		return ret;
	transfer = (options->bs >> t->lba_shift) * t->stride;
	if (transfer > t->ns->max_transfer)
		return pst_error_set(
			err, -EMSGSIZE,
			"mode %s: %s takes at most %u bytes in one command and %" PRIu64
			" are asked for: use a smaller --bs, or mode block, where the kernel "
			"splits",
			mode->name, t->path, t->ns->max_transfer, transfer);
	return 0;
}

static int check_block(const struct pst_bench_target *t, const struct pst_bench_mode *mode,
		       const struct pst_bench_options *options, struct pst_error *err)
{
	if (t->block_fd < 0)
		return pst_error_set(
			err, -ENODEV,
			"mode %s: %s has no block node that can be read: use mode async",
			mode->name, t->path);
	if (options->buffer_offset & t->dma_alignment)
		return pst_error_set(
			err, -EINVAL,
			"mode %s: direct I/O on %s does not take buffers at --buffer-offset "
			"%u (alignment %u)",
			mode->name, t->block_path, options->buffer_offset, t->dma_alignment + 1);
	return 0;
}

int pst_bench_check_mode(const struct pst_bench_target *t, const struct pst_bench_mode *mode,
			 const struct pst_bench_options *options, struct pst_error *err)
{
	int ret = 0;

	if (mode->base == PST_BENCH_NOP)
		return 0;
	ret = mode->base == PST_BENCH_BLOCK ? check_block(t, mode, options, err)
					    : check_passthrough(t, mode, options, err);
	if (ret)
		return ret;
	/* Tried on an older kernel, this leaks a tag of the device for ever. */
	if (mode->fixed && mode->vec && !kernel_has_readv_fixed())
		return pst_error_set(
			err, -EOPNOTSUPP,
			"mode %s: this kernel has no vectors in fixed buffers: Linux 6.15 "
			"or newer is needed",
			mode->name);
	return check_poll(t, mode, err);
}

/* Tags of the hardware queues that a measurement can fill. */
static void note_depth(const struct pst_bench_session *s, const struct pst_bench_target *t,
		       struct pst_bench_result *r)
{
	uint32_t threads = s->options->threads;
	uint32_t on_device = threads <= s->nr_targets ? 1
						      : pst_job_parts(s->nr_targets, threads,
								      (uint32_t)(t - s->targets));
	uint64_t tags = (uint64_t)t->nr_requests * (t->hw_queues ? t->hw_queues : 1);

	if (!t->nr_requests || !pst_bench_mode_rings(r->mode))
		return;
	if (r->qd > t->nr_requests || (uint64_t)r->qd * on_device > tags)
		pst_bench_note(
			r,
			"depth %u of %u thread(s) is above the %u tags of a hardware queue of "
			"%s: the rest waits in the kernel",
			r->qd, on_device, t->nr_requests, t->path);
}

static void note_copies(const struct pst_bench_session *s, const struct pst_bench_target *t,
			struct pst_bench_result *r)
{
	if (r->mode->base == PST_BENCH_ASYNC || r->mode->base == PST_BENCH_SYNC) {
		if (s->options->buffer_offset & t->dma_alignment)
			pst_bench_note(r,
				       "buffers at offset %u are misaligned (%s wants multiples of "
				       "%u): the kernel copies",
				       s->options->buffer_offset, t->path, t->dma_alignment + 1);
		else if (r->mode->vec && s->options->buffer_offset && s->options->bs > 4096)
			pst_bench_note(r,
				       "vectors at offset %u leave gaps within pages: the kernel "
				       "copies",
				       s->options->buffer_offset);
	}
}

static void note_ring(struct pst_bench_result *r, uint32_t dropped)
{
	uint32_t bit;

	for (bit = 1; bit && bit <= dropped; bit <<= 1) {
		if (dropped & bit)
			pst_bench_note(r, "the kernel dropped %s", pst_ring_cap_name(bit));
	}
}

void pst_bench_note_conditions(const struct pst_bench_session *s, struct pst_bench_result *r)
{
	uint32_t i;

	if (r->mode->base == PST_BENCH_SYNC && r->qd > 1)
		pst_bench_note(r, "sync keeps one command in flight a thread at every depth");
	for (i = 0; r->mode->base != PST_BENCH_NOP && i < s->nr_targets; i++) {
		note_depth(s, &s->targets[i], r);
		note_copies(s, &s->targets[i], r);
	}
	if (s->normal_pages && r->mode->base != PST_BENCH_NOP)
		pst_bench_note(r, "buffers are on normal pages: too few hugepages are free");
	if (s->options->threads > s->nr_cpus)
		pst_bench_note(r, "%u threads share %u CPUs", s->options->threads, s->nr_cpus);
	if (r->mode->sqpoll && s->options->threads * 2 > s->nr_cpus)
		pst_bench_note(r, "SQPOLL threads have no CPU of their own: %u threads, %u CPUs",
			       s->options->threads, s->nr_cpus);
	note_ring(r, r->ring_dropped);
}
