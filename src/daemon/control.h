/* SPDX-License-Identifier: MIT */
/*
 * The control socket: JSON lines over a Unix stream socket that only its owner may open. A client
 * sends one request a line and gets one answer a line; each client has a thread of its own, since
 * ending an export may take as long as what is in flight.
 */
#ifndef PST_CONTROL_H
#define PST_CONTROL_H

#include <penstock/error.h>

#include "exports.h"

#define PST_CONTROL_DIR "/run/penstock"
#define PST_CONTROL_PATH PST_CONTROL_DIR "/control.sock"

struct pst_control;

/*
 * Listens at `path`. With NULL it is PST_CONTROL_PATH, and where that cannot be made the daemon
 * does without: a warning, *control NULL and 0. A socket that nobody serves is replaced;
 * -EADDRINUSE when another daemon serves there.
 */
int pst_control_open(const char *path, struct pst_exports *exports, struct pst_control **control,
		     struct pst_error *err);

/* Readable when a client waits; then call pst_control_accept(). */
int pst_control_fd(const struct pst_control *control);
void pst_control_accept(struct pst_control *control);

/* Takes no more requests. Requests that are being carried out go on. */
void pst_control_stop(struct pst_control *control);

/* Waits for the clients' threads and removes the socket; takes NULL. */
void pst_control_close(struct pst_control *control);

#endif
