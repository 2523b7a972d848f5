/* SPDX-License-Identifier: MIT */
/*
 * Who in this process serves which part of a device. Slices of one device may be served side by
 * side; two that overlap may not, unless both only read. The first claim on a device also takes
 * what keeps other processes away (an exclusive open, a lock) and the last one returns it.
 */
#ifndef PST_CLAIMS_H
#define PST_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <penstock/error.h>

struct pst_claim;

struct pst_claim_params {
	const char *source; /* for sentences */
	dev_t dev;	    /* of the device, or of the file system */
	ino_t ino;	    /* 0 for a device */
	uint64_t offset;
	uint64_t length;
	bool read_only;
	bool force; /* overlap is the user's business, and nothing is held */
	/*
	 * Takes what keeps others away and stores the descriptor that holds it, or -1 when there is
	 * nothing to hold. Returns 0 or a negative errno with the sentence. Called with the first
	 * claim that does not force.
	 */
	int (*hold)(void *ctx, int *fd, struct pst_error *err);
	void *ctx;
};

/* Returns 0, -EBUSY when it overlaps, or what hold said. Any thread. */
int pst_claim_take(const struct pst_claim_params *params, struct pst_claim **claim,
		   struct pst_error *err);
/* Takes NULL. */
void pst_claim_release(struct pst_claim *claim);

#endif
