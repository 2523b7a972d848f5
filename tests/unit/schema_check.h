/* SPDX-License-Identifier: MIT */
/*
 * The part of JSON Schema that our schemas use: type, const, properties, required,
 * additionalProperties, items, minimum, minItems. Any other keyword that would constrain something
 * is refused, so that none is passed over in silence.
 */
#ifndef PST_SCHEMA_CHECK_H
#define PST_SCHEMA_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* Is `value` what `schema` describes? If not, `why` names the place and the rule. */
bool schema_check(const json_t *schema, const json_t *value, char *why, size_t size);

#endif
