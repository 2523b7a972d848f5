/* SPDX-License-Identifier: MIT */
/* vdpa management over generic netlink (linux/vdpa.h). Both calls block until the host is done. */
#ifndef PST_VDPA_H
#define PST_VDPA_H

#include <penstock/error.h>

/*
 * Attaches VDUSE device `name` to the host. Returns after its driver has probed it, which takes
 * answers from the thread that serves the device's messages: never call it from that one.
 */
int pst_vdpa_add(const char *name, struct pst_error *err);

/* Detaches it; the device has to be served meanwhile. -ENODEV when it is not attached. */
int pst_vdpa_del(const char *name, struct pst_error *err);

/* Is everything there that attaching needs? */
int pst_vdpa_check(struct pst_error *err);

#endif
