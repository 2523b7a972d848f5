/* SPDX-License-Identifier: MIT */
/* The keys of an --export: one line of a table each. */
#ifndef PST_CONFIG_KEYS_H
#define PST_CONFIG_KEYS_H

#include "config.h"

struct pst_config_key {
	const char *name;
	const char *usage; /* how to write it, for a sentence */
	/* Stores a value; returns 0, or -EINVAL with a sentence that lacks only the object. */
	int (*set)(const struct pst_config_key *key, const char *value,
		   struct pst_export_config *exp, struct pst_error *err);
	size_t field; /* offset in struct pst_export_config, for setters that several keys share */
	bool bare;    /* may stand without a value and then means on */
	const char *help;
};

/* Ends with a key without a name. */
extern const struct pst_config_key pst_config_keys[];

#endif
