/* SPDX-License-Identifier: MIT */
/* What the control socket understands. docs/schema/control.json describes requests and answers. */
#ifndef PST_COMMANDS_H
#define PST_COMMANDS_H

#include <stddef.h>

#include "exports.h"

/*
 * Carries out one request. Whatever it holds, the answer is one line of JSON without a line feed,
 * which the caller frees; NULL when there is no memory.
 */
char *pst_command_run(struct pst_exports *exports, const char *line, size_t length);

/* The answer that says why a request is not carried out. */
char *pst_command_refuse(const char *sentence);

#endif
