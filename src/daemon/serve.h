/* SPDX-License-Identifier: MIT */
/* The daemon from its start to its end. */
#ifndef PST_SERVE_H
#define PST_SERVE_H

#include "config.h"

/*
 * Serves until SIGTERM, SIGINT or SIGHUP. The configuration has passed pst_config_check(); no other
 * thread runs yet. Says on stderr what goes wrong. Returns the exit status of the process.
 */
int pst_serve(const struct pst_serve_config *config);

#endif
