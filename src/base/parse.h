/* SPDX-License-Identifier: MIT */
/* Parsing of what a user writes: sizes, numbers, lists of key=value. */
#ifndef PST_PARSE_H
#define PST_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <penstock/error.h>

/*
 * "4096", "4k", "64M", "1G", "2T" (powers of 1024, case ignored, an optional "iB" or "B" after the
 * letter). Returns 0, -EINVAL when it is not such a number, -ERANGE when it does not fit.
 */
int pst_parse_size(const char *text, uint64_t *value);

/* A decimal (or 0x hexadecimal) number within [min, max]; returns 0, -EINVAL, -ERANGE. */
int pst_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* "on"/"yes"/"true"/"1", "off"/"no"/"false"/"0"; returns 0 or -EINVAL. */
int pst_parse_bool(const char *text, bool *value);

/*
 * One "key=value" or "key" of a comma-separated list. Takes it off *rest, which it modifies; value
 * is NULL for a bare key. A comma in a value is written as two. Returns false at the end.
 */
bool pst_parse_kv(char **rest, char **key, char **value);

#endif
