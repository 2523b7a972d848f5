/* SPDX-License-Identifier: MIT */
/* What `penstock serve` was asked for. Everything here is decided from the arguments alone. */
#ifndef PST_CONFIG_H
#define PST_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <penstock/blk.h>
#include <penstock/error.h>
#include <penstock/export.h>

#define PST_WORKERS_MAX 64
#define PST_SOURCE_MAX 255

/* One --export. */
struct pst_export_config {
	struct pst_export_params params;
	struct pst_blk_open_params open;
	char source[PST_SOURCE_MAX + 1];
	uint64_t source_size; /* bytes of a source that is a size (mem:1G, null:1G), else 0 */
};

struct pst_serve_config {
	struct pst_export_config *exports;
	size_t nr_exports;
	uint32_t workers;    /* 0: chosen by pst_config_workers() */
	const char *control; /* path of the control socket, NULL: the default */
	enum pst_log_level log_level;
	bool log_json;
};

/*
 * Parses "name=disk0,source=nvme:/dev/ng0n1,key=value...". Returns 0, or -EINVAL with a sentence
 * that has the object, the reason and the remedy; -ENOMEM.
 */
int pst_config_export(const char *text, struct pst_export_config *exp, struct pst_error *err);

/* What the exports must not be to each other: of one name, or overlapping on one source. */
int pst_config_check(const struct pst_serve_config *config, struct pst_error *err);

/* --workers as given, else one for each queue of the largest export as far as there are CPUs. */
uint32_t pst_config_workers(const struct pst_serve_config *config, uint32_t cpus);

/* The keys of --export with their meaning, a line each; NULL at the end. For --help. */
const char *pst_config_key_help(size_t index);

#endif
