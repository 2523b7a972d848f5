/* SPDX-License-Identifier: MIT */
/* From the text of an --export to a struct: the list of keys, and the rules between them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base.h"
#include "config.h"
#include "config_keys.h"
#include "parse.h"

#define PAIRS_MAX 64

struct pair {
	const char *key;
	const char *value; /* NULL for a bare key */
};

static uint32_t distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	uint32_t row[32];
	size_t i, j;

	if (la >= PST_ARRAY_SIZE(row) || lb >= PST_ARRAY_SIZE(row))
		return UINT32_MAX;
	for (j = 0; j <= lb; j++)
		row[j] = (uint32_t)j;
	for (i = 1; i <= la; i++) {
		uint32_t diagonal = row[0];

		row[0] = (uint32_t)i;
		for (j = 1; j <= lb; j++) {
			uint32_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j - 1] < row[j])
				row[j] = row[j - 1];
			row[j]++;
			if (change < row[j])
				row[j] = change;
		}
	}
	return row[lb];
}

static int unknown_key(const char *name, struct pst_error *err)
{
	const char *nearest = NULL;
	uint32_t best = 4; /* more edits than that is another word */
	size_t i;

	for (i = 0; pst_config_keys[i].name; i++) {
		uint32_t d = distance(name, pst_config_keys[i].name);

		if (d < best) {
			best = d;
			nearest = pst_config_keys[i].name;
		}
	}
	if (nearest)
		return pst_error_set(err, -EINVAL, "key \"%.32s\" is unknown: did you mean %s?",
				     name, nearest);
	return pst_error_set(err, -EINVAL,
			     "key \"%.32s\" is unknown: see penstock serve --help for the keys",
			     name);
}

static const struct pst_config_key *find_key(const char *name)
{
	size_t i;

	for (i = 0; pst_config_keys[i].name; i++) {
		if (strcmp(pst_config_keys[i].name, name) == 0)
			return &pst_config_keys[i];
	}
	return NULL;
}

static const char *find_value(const struct pair *pairs, size_t count, const char *key)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (strcmp(pairs[i].key, key) == 0)
			return pairs[i].value;
	}
	return NULL;
}

static int split(char *text, struct pair *pairs, size_t *count, struct pst_error *err)
{
	char *key, *value;

	*count = 0;
	while (pst_parse_kv(&text, &key, &value)) {
		if (*count == PAIRS_MAX)
			return pst_error_set(err, -EINVAL,
					     "has more than %d keys: give each key once",
					     PAIRS_MAX);
		pairs[*count].key = key;
		pairs[*count].value = value;
		++*count;
	}
	return 0;
}

static int apply(const struct pair *pairs, size_t count, struct pst_export_config *exp,
		 struct pst_error *err)
{
	size_t i, j;

	for (i = 0; i < count; i++) {
		const struct pst_config_key *key;
		int ret;

		if (!pairs[i].key[0])
			return pst_error_set(
				err, -EINVAL,
				"an empty key stands in the list: write key=value,key=value");
		key = find_key(pairs[i].key);
		if (!key)
			return unknown_key(pairs[i].key, err);
		for (j = 0; j < i; j++) {
			if (strcmp(pairs[i].key, pairs[j].key) == 0)
				return pst_error_set(err, -EINVAL,
						     "key %s is given twice: leave one out",
						     key->name);
		}
		if (!pairs[i].value && !key->bare)
			return pst_error_set(err, -EINVAL, "key %s has no value: write %s",
					     key->name, key->usage);
		ret = key->set(key, pairs[i].value ? pairs[i].value : "on", exp, err);
		if (ret)
			return ret;
	}
	return 0;
}

/* A slice that cannot be right whatever the source turns out to be. */
static int check_slice(const struct pst_export_config *exp, struct pst_error *err)
{
	uint64_t offset = exp->open.offset, size = exp->open.size, total = exp->source_size;

	if (size > UINT64_MAX - offset)
		return pst_error_set(err, -EINVAL,
				     "offset=%" PRIu64 " and size=%" PRIu64
				     " add up to more than 64 bits: "
				     "take a slice that lies within the source",
				     offset, size);
	if (total && (offset >= total || size > total - offset))
		return pst_error_set(err, -EINVAL,
				     "its slice passes the end of %s, which has %" PRIu64
				     " bytes: take a smaller offset= or size=",
				     exp->source, total);
	return 0;
}

static int check_export(const struct pst_export_config *exp, struct pst_error *err)
{
	if (!exp->source[0])
		return pst_error_set(err, -EINVAL,
				     "has no source: add for example source=nvme:/dev/ng0n1");
	if (exp->params.fixed == PST_ON && exp->params.umem == PST_OFF)
		return pst_error_set(
			err, -EINVAL,
			"fixed=on needs the pool as bounce region and umem=off is given: "
			"leave out umem=off, or take fixed=off");
	if (exp->params.nvme_poll && strncmp(exp->source, "nvme:", 5) != 0)
		return pst_error_set(
			err, -EINVAL,
			"nvme-poll=on is for sources nvme:PATH and this one is %s: leave it "
			"out",
			exp->source);
	return check_slice(exp, err);
}

int pst_config_export(const char *text, struct pst_export_config *exp, struct pst_error *err)
{
	static const struct pst_export_params defaults = PST_EXPORT_PARAMS_INIT;
	PST_AUTO_FREE char *copy = strdup(text);
	struct pair pairs[PAIRS_MAX];
	const char *name;
	size_t count;
	int ret;

	if (!copy)
		return pst_error_set(err, -ENOMEM, "out of memory for --export %.64s: free some",
				     text);
	memset(exp, 0, sizeof(*exp));
	exp->params = defaults;
	exp->open.timeout_ms = 60000;

	ret = split(copy, pairs, &count, err);
	if (ret)
		return pst_error_prefix(err, "--export %.64s ", text);
	name = find_value(pairs, count, "name");
	if (!name)
		return pst_error_set(err, -EINVAL,
				     "--export \"%.64s\" has no name: add for example name=disk0",
				     text);
	ret = apply(pairs, count, exp, err);
	if (!ret)
		ret = check_export(exp, err);
	if (ret)
		return pst_error_prefix(err, "export %.64s: ", name);
	return 0;
}

static bool overlap(const struct pst_export_config *a, const struct pst_export_config *b)
{
	uint64_t a_end = a->open.size ? a->open.offset + a->open.size : UINT64_MAX;
	uint64_t b_end = b->open.size ? b->open.offset + b->open.size : UINT64_MAX;

	return a->open.offset < b_end && b->open.offset < a_end;
}

/* Two writers of the same blocks; a source that is a size is a new device for every export. */
static bool clash(const struct pst_export_config *a, const struct pst_export_config *b)
{
	if (a->source_size || strcmp(a->source, b->source) != 0 || !overlap(a, b))
		return false;
	if (a->open.read_only && b->open.read_only)
		return false;
	return !(a->open.force && b->open.force);
}

int pst_config_check(const struct pst_serve_config *config, struct pst_error *err)
{
	size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	size_t i, j;

	if (config->control && (!config->control[0] || strlen(config->control) > most))
		return pst_error_set(
			err, -EINVAL,
			"control socket \"%.32s\": its path has %zu characters: take one of "
			"1 to %zu",
			config->control, strlen(config->control), most);
	if (!config->nr_exports)
		return pst_error_set(
			err, -EINVAL,
			"nothing to serve: add --export name=disk0,source=nvme:/dev/ng0n1");
	for (i = 0; i < config->nr_exports; i++) {
		const struct pst_export_config *a = &config->exports[i];

		for (j = 0; j < i; j++) {
			const struct pst_export_config *b = &config->exports[j];

			if (strcmp(a->params.name, b->params.name) == 0)
				return pst_error_set(
					err, -EINVAL,
					"export %s: another has the same name: give each "
					"its own",
					a->params.name);
			if (clash(a, b))
				return pst_error_set(
					err, -EINVAL,
					"export %s: its part of %s is that of export %s "
					"too: give each a slice with offset= and size=, or "
					"make both read-only",
					a->params.name, a->source, b->params.name);
		}
	}
	return 0;
}

uint32_t pst_config_workers(const struct pst_serve_config *config, uint32_t cpus)
{
	uint32_t workers = 1;
	size_t i;

	if (config->workers)
		return config->workers;
	for (i = 0; i < config->nr_exports; i++) {
		if (config->exports[i].params.queues > workers)
			workers = config->exports[i].params.queues;
	}
	workers = (uint32_t)pst_min_u64(workers, PST_WORKERS_MAX);
	return cpus && cpus < workers ? cpus : workers;
}

const char *pst_config_key_help(size_t index)
{
	return pst_config_keys[index].name ? pst_config_keys[index].help : NULL;
}
