/* SPDX-License-Identifier: MIT */
/* A request to a running daemon. */
#ifndef PST_CLIENT_H
#define PST_CLIENT_H

#include <jansson.h>

#include <penstock/error.h>

/*
 * Sends one request to the daemon at `path` (NULL: the default) and waits for its answer, however
 * long it takes. Consumes the request. Returns the members of a good answer, which the caller
 * releases, or NULL with a sentence.
 */
json_t *pst_client_call(const char *path, json_t *request, struct pst_error *err);

/* Prints an answer as a document with "version", a line feed at its end. */
void pst_client_print_json(json_t *answer);

#endif
