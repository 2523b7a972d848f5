/* SPDX-License-Identifier: MIT */
/*
 * The only virtqueue in the tree: the device's side of a virtqueue (VIRTIO 1.2, 2.6 split and
 * 2.7 packed), knowing no transport. One thread at a time; nothing here allocates after attach.
 *
 * Every index, length and address comes from the driver's memory and is checked here, once. What
 * pop returns has been translated and lies in the device's address space; what it refuses breaks
 * the queue (pop returns -EPROTO from then on), and nothing else.
 */
#ifndef PST_VIRTQ_H
#define PST_VIRTQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <linux/virtio_ring.h>

/* Most descriptors of one chain, header and status included. Larger chains break the queue. */
#define PST_VIRTQ_CHAIN_MAX 130

/*
 * The driver's addresses. A window is the part of the IOVA space that translates by addition (the
 * bounce region); what lies outside it is given to translate(), which returns NULL when
 * [iova, iova + length) is not mapped as a whole.
 */
struct pst_virtq_space {
	uint64_t window_iova;
	uint64_t window_length;
	unsigned char *window;
	void *(*translate)(void *ctx, uint64_t iova, uint64_t length);
	void *ctx;
};

struct pst_virtq_config {
	uint16_t num;	/* entries; split: a power of two */
	bool packed;	/* VIRTIO_F_RING_PACKED was negotiated */
	bool event_idx; /* VIRTIO_RING_F_EVENT_IDX was negotiated */
	bool indirect;	/* VIRTIO_RING_F_INDIRECT_DESC was negotiated */
	void *desc;	/* split: descriptor table; packed: descriptor ring; translated */
	void *driver;	/* split: available ring; packed: driver event suppression */
	void *device;	/* split: used ring; packed: device event suppression */
	uint16_t avail; /* split: next available index; packed: index | wrap counter << 15 */
	uint16_t used;	/* split: next used index; packed: index | wrap counter << 15 */
	const struct pst_virtq_space *space; /* must outlive the attachment */
};

/*
 * One popped chain. iov[0 .. out) is what the device reads, iov[out .. out + in) what it writes.
 * id is what push wants back: the head (split) or the buffer id (packed), always < num.
 * ndescs is how many ring slots it takes (packed).
 */
struct pst_chain {
	uint16_t id;
	uint16_t ndescs;
	uint16_t out;
	uint16_t in;
	struct iovec *iov; /* the caller's, PST_VIRTQ_CHAIN_MAX entries */
};

struct pst_virtq {
	struct pst_virtq_config cfg;
	uint16_t mask;		 /* num - 1, split */
	uint16_t avail_idx;	 /* next to take */
	uint16_t avail_seen;	 /* split: avail->idx as last read */
	uint16_t used_idx;	 /* next to write; ahead of what is published */
	uint16_t used_published; /* used_idx at the last publish */
	bool avail_wrap;	 /* packed */
	bool used_wrap;		 /* packed */
	bool notify_on;		 /* the driver has been asked for kicks */
	bool attached;
	bool broken;
	uint16_t inflight;	/* popped and not pushed */
	uint16_t publish_count; /* pushed since the last publish */
	uint64_t *busy;		/* bitmap of ids in flight: a head twice is a broken driver */
	uint16_t *id_descs;	/* packed: slots taken by each id in flight */
	const char *reason;	/* why it is broken: a static sentence fragment */
	/* packed: first element of a batch, published last */
	uint16_t pk_first;
	bool pk_pending;
	struct vring_packed_desc pk_first_desc;
};

/* Zeroes vq. finish frees what attach allocated; both take an unattached queue. */
void pst_virtq_init(struct pst_virtq *vq);
void pst_virtq_finish(struct pst_virtq *vq);

/*
 * Starts using a ring. Returns 0, -EINVAL (num 0, above 32768, not a power of two for split, a NULL
 * or misaligned part), -ENOMEM. Attaching anew an attached queue detaches it first.
 */
int pst_virtq_attach(struct pst_virtq *vq, const struct pst_virtq_config *cfg);
void pst_virtq_detach(struct pst_virtq *vq);

/*
 * Takes the next chain. Returns 1; 0 when there is none; -EPROTO when the driver broke the rules:
 * the queue is broken from then on and vq->reason says why. When the head of the offending chain
 * is known it has been pushed with length 0 (publish makes it visible), so that the driver gets it
 * back where that can be. chain->iov must have been set by the caller.
 */
int pst_virtq_pop(struct pst_virtq *vq, struct pst_chain *chain);

/* Is there anything to pop? Reads the driver's index; true also when what is there is malformed. */
bool pst_virtq_has_avail(struct pst_virtq *vq);

/*
 * Gives a chain back: written is the number of bytes the device wrote into it. Becomes visible to
 * the driver with the next publish. Chains may be given back in any order.
 */
void pst_virtq_push(struct pst_virtq *vq, uint16_t id, uint32_t written);

/*
 * Makes what was pushed visible, with one store of the used index (or of the first descriptor's
 * flags). Returns true when the driver wants an interrupt for it: event index when negotiated, else
 * the suppression flags; false when nothing was pushed. A full barrier lies between the store and
 * the look at the driver's wish.
 */
bool pst_virtq_publish(struct pst_virtq *vq);

/*
 * Kicks. off: the driver need not kick (a hint). on: it must from now on for what comes next;
 * returns true when something is available already, which the caller must then look at, since no
 * kick will come for it.
 */
void pst_virtq_notify_off(struct pst_virtq *vq);
bool pst_virtq_notify_on(struct pst_virtq *vq);

#endif
