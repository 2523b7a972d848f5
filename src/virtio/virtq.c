/* SPDX-License-Identifier: MIT */
/* Life of a virtqueue and the choice between its two formats. */
#include "virtq.h"
#include "virtq_int.h"

#define VQ_NUM_MAX 32768

void pst_virtq_init(struct pst_virtq *vq)
{
	memset(vq, 0, sizeof(*vq));
}

void pst_virtq_finish(struct pst_virtq *vq)
{
	free(vq->busy);
	free(vq->id_descs);
	pst_virtq_init(vq);
}

static bool aligned(const void *part, uintptr_t align)
{
	return part && ((uintptr_t)part & (align - 1)) == 0;
}

static bool config_is_sound(const struct pst_virtq_config *cfg)
{
	if (cfg->num == 0 || cfg->num > VQ_NUM_MAX || !cfg->space)
		return false;
	if (!aligned(cfg->desc, 16))
		return false;
	if (cfg->packed)
		return aligned(cfg->driver, 4) && aligned(cfg->device, 4) &&
		       (cfg->avail & 0x7fff) < cfg->num && (cfg->used & 0x7fff) < cfg->num;
	return aligned(cfg->driver, 2) && aligned(cfg->device, 4) && pst_is_power_of_two(cfg->num);
}

int pst_virtq_attach(struct pst_virtq *vq, const struct pst_virtq_config *cfg)
{
	if (!config_is_sound(cfg))
		return -EINVAL;
	pst_virtq_finish(vq);
	vq->busy = calloc((cfg->num + 63U) / 64U, sizeof(*vq->busy));
	vq->id_descs = calloc(cfg->packed ? cfg->num : 1, sizeof(*vq->id_descs));
	if (!vq->busy || !vq->id_descs) {
		pst_virtq_finish(vq);
		return -ENOMEM;
	}

	vq->cfg = *cfg;
	if (cfg->packed) {
		vq->avail_idx = cfg->avail & 0x7fff;
		vq->avail_wrap = cfg->avail >> 15;
		vq->used_idx = cfg->used & 0x7fff;
		vq->used_wrap = cfg->used >> 15;
	} else {
		vq->mask = (uint16_t)(cfg->num - 1);
		vq->avail_idx = cfg->avail;
		vq->avail_seen = cfg->avail;
		vq->used_idx = cfg->used;
	}
	vq->used_published = vq->used_idx;
	vq->attached = true;

	/* Whoever had the ring before may have died with kicks off. */
	pst_virtq_notify_on(vq);
	return 0;
}

void pst_virtq_detach(struct pst_virtq *vq)
{
	vq->attached = false;
	vq->notify_on = false;
}

int pst_virtq_pop(struct pst_virtq *vq, struct pst_chain *chain)
{
	if (pst_unlikely(vq->broken))
		return -EPROTO;
	if (pst_unlikely(!vq->attached))
		return 0;
	if (vq->cfg.packed)
		return vq_packed_pop(vq, chain);
	return vq_split_pop(vq, chain);
}

bool pst_virtq_has_avail(struct pst_virtq *vq)
{
	if (pst_unlikely(vq->broken || !vq->attached))
		return false;
	if (vq->cfg.packed)
		return vq_packed_has_avail(vq);
	return vq_split_has_avail(vq);
}

void pst_virtq_push(struct pst_virtq *vq, uint16_t id, uint32_t written)
{
	/* A completion that outlived the attachment has no ring to go to. */
	if (pst_unlikely(!vq->attached || id >= vq->cfg.num || !vq_is_busy(vq, id)))
		return;
	vq_clear_busy(vq, id);
	vq->publish_count++;
	if (vq->cfg.packed)
		vq_packed_push(vq, id, written);
	else
		vq_split_push(vq, id, written);
}

bool pst_virtq_publish(struct pst_virtq *vq)
{
	bool wanted;

	if (vq->publish_count == 0 || pst_unlikely(!vq->attached))
		return false;
	if (vq->cfg.packed)
		wanted = vq_packed_publish(vq);
	else
		wanted = vq_split_publish(vq);
	vq->used_published = vq->used_idx;
	vq->publish_count = 0;
	return wanted;
}

void pst_virtq_notify_off(struct pst_virtq *vq)
{
	if (!vq->notify_on)
		return;
	vq->notify_on = false;
	if (vq->cfg.packed)
		vq_packed_notify_off(vq);
	else
		vq_split_notify_off(vq);
}

bool pst_virtq_notify_on(struct pst_virtq *vq)
{
	if (pst_unlikely(!vq->attached))
		return false;
	/* Asked for anew each time: with event idx the wish is for one index, and may be stale. */
	vq->notify_on = true;
	if (vq->cfg.packed)
		vq_packed_notify_on(vq);
	else
		vq_split_notify_on(vq);
	/* The driver stores its index, then looks at our wish; we do it the other way round. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return pst_virtq_has_avail(vq);
}
