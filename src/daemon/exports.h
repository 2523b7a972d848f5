/* SPDX-License-Identifier: MIT */
/*
 * The exports a daemon serves, seen from three sides: the main thread that starts and ends them,
 * the server's control thread that reports about them, and clients of the control socket.
 *
 * The lock is never held while the library is called: its control thread takes it in callbacks.
 */
#ifndef PST_EXPORTS_H
#define PST_EXPORTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <penstock/export.h>

#include "config.h"

struct pst_failure;

struct pst_served {
	const struct pst_export_config *config;
	struct pst_blk *blk;	/* NULL before it is opened and after the export ended */
	struct pst_export *exp; /* NULL before it is created and after it ended */
	bool ready;		/* its line has been printed */
	bool failed;
	bool busy;   /* a thread has acquired it */
	bool ending; /* the one that has is removing it */
};

struct pst_exports {
	pthread_mutex_t lock;
	pthread_cond_t released;
	struct pst_served *items;
	size_t count;
	int event_fd; /* readable when there are failures to take */
	struct pst_failure *failures;
};

int pst_exports_init(struct pst_exports *exports, const struct pst_serve_config *config,
		     struct pst_error *err);
/* Closes the sources. No export is left. */
void pst_exports_finish(struct pst_exports *exports);

/* Opens the sources of all. */
int pst_exports_open(struct pst_exports *exports, struct pst_error *err);

/* Offers all; on failure those before it are still offered. */
int pst_exports_create(struct pst_exports *exports, struct pst_server *server,
		       struct pst_error *err);

/*
 * Keeps an item from being removed until pst_exports_release(), waiting while another thread has
 * it. Returns false when there is no such export (any more).
 */
bool pst_exports_acquire(struct pst_exports *exports, struct pst_served *item);
void pst_exports_release(struct pst_exports *exports, struct pst_served *item);

/* Waits until no other thread has the item: a removal that is under way is over then. */
void pst_exports_wait(struct pst_exports *exports, struct pst_served *item);

/* The item with this name, or NULL; whether it is still served is said by acquiring it. */
struct pst_served *pst_exports_find(struct pst_exports *exports, const char *name);

/* "starting", "ready" or "failed" */
const char *pst_exports_state(struct pst_exports *exports, const struct pst_served *item);

/*
 * Ends an export that this thread has acquired and releases it. Prints its done line. Returns as
 * pst_export_remove().
 */
int pst_exports_remove(struct pst_exports *exports, struct pst_served *item,
		       enum pst_export_end how, struct pst_error *err);

/*
 * Takes one failure that the server reported, oldest first; returns false when there is none.
 * *started says whether the export had been ready before.
 */
bool pst_exports_take_failure(struct pst_exports *exports, struct pst_error *why, bool *started);

/* Callbacks for struct pst_server_params; ctx is the struct pst_exports. */
void pst_exports_on_ready(void *ctx, struct pst_export *exp,
			  const struct pst_export_status *status);
void pst_exports_on_failed(void *ctx, struct pst_export *exp, const struct pst_error *why);

#endif
