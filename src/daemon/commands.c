/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base.h"
#include "commands.h"
#include "hostdev.h"

struct command {
	const char *name;
	/* Returns the members of a good answer, or NULL with a sentence. */
	json_t *(*run)(struct pst_exports *exports, json_t *request, struct pst_error *err);
};

static json_t *describe(struct pst_exports *exports, struct pst_served *item,
			const struct pst_export_status *status)
{
	const char *state = pst_exports_state(exports, item);

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:I, s:b, s:b}", "name", status->name,
			 "state", state, "source", item->config->source, "device", status->device,
			 "transport", status->transport, "size", (json_int_t)status->size, "queues",
			 (int)status->queues, "umem", (json_int_t)status->umem, "fixed",
			 (int)status->fixed, "packed", (int)status->packed);
}

static json_t *count(struct pst_exports *exports, struct pst_served *item,
		     const struct pst_export_status *status)
{
	const struct pst_blk_stats *s = &status->stats;

	(void)exports;
	(void)item;
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
			 status->name, "reads", (json_int_t)s->reads, "writes",
			 (json_int_t)s->writes, "flushes", (json_int_t)s->flushes, "discards",
			 (json_int_t)s->discards, "fixed", (json_int_t)s->fixed, "unfixed",
			 (json_int_t)s->unfixed, "gathered", (json_int_t)s->gathered, "refused",
			 (json_int_t)s->refused, "errors", (json_int_t)s->errors, "bytes_read",
			 (json_int_t)s->bytes_read, "bytes_written", (json_int_t)s->bytes_written);
}

/* {"exports": [...]}, an element for each export that is served. */
static json_t *each_export(struct pst_exports *exports,
			   json_t *(*show)(struct pst_exports *, struct pst_served *,
					   const struct pst_export_status *))
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < exports->count; i++) {
		struct pst_served *item = &exports->items[i];
		struct pst_export_status status;

		if (!pst_exports_acquire(exports, item))
			continue;
		pst_export_status(item->exp, &status);
		(void)json_array_append_new(array, show(exports, item, &status));
		pst_exports_release(exports, item);
	}
	return json_pack("{s:o}", "exports", array);
}

static json_t *run_list(struct pst_exports *exports, json_t *request, struct pst_error *err)
{
	(void)request;
	(void)err;
	return each_export(exports, describe);
}

static json_t *run_stats(struct pst_exports *exports, json_t *request, struct pst_error *err)
{
	(void)request;
	(void)err;
	return each_export(exports, count);
}

/* The export a request names, acquired; NULL with a sentence. */
static struct pst_served *acquire_named(struct pst_exports *exports, json_t *request,
					struct pst_error *err)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	struct pst_served *item;

	if (!name) {
		pst_error_set(err, -EINVAL, "the request names no export: add \"name\"");
		return NULL;
	}
	item = pst_exports_find(exports, name);
	if (!item || !pst_exports_acquire(exports, item)) {
		pst_error_set(
			err, -ENOENT,
			"export %.64s: there is none of this name here; penstock export list shows "
			"what is served",
			name);
		return NULL;
	}
	return item;
}

/* Without force a device in use goes on being served, since its I/O would only wait. */
static int check_unused(const struct pst_served *item, struct pst_error *err)
{
	const char *name = item->config->params.name;
	char device[64], users[512];

	/* Looked for anew: the driver may have been bound again under another name. */
	if (pst_hostdev_find(name, device, sizeof(device)) != 0 ||
	    !pst_hostdev_users(device, users, sizeof(users)))
		return 0;
	return pst_error_set(err, -EBUSY,
			     "export %s: %s is in use (%s): end that, or add --force, and what is "
			     "issued later fails",
			     name, device, users);
}

static json_t *run_del(struct pst_exports *exports, json_t *request, struct pst_error *err)
{
	bool force = json_is_true(json_object_get(request, "force"));
	struct pst_served *item = acquire_named(exports, request, err);

	if (!item)
		return NULL;
	if (!force && check_unused(item, err) != 0) {
		pst_exports_release(exports, item);
		return NULL;
	}
	if (pst_exports_remove(exports, item,
			       force ? PST_EXPORT_END_FORCE : PST_EXPORT_END_IF_UNUSED, err) != 0)
		return NULL;
	return json_object();
}

static json_t *run_umem_cycle(struct pst_exports *exports, json_t *request, struct pst_error *err)
{
	struct pst_served *item = acquire_named(exports, request, err);
	int ret;

	if (!item)
		return NULL;
	ret = pst_export_umem_cycle(item->exp, err);
	pst_exports_release(exports, item);
	return ret ? NULL : json_object();
}

static const struct command commands[] = {
	{"list", run_list},
	{"stats", run_stats},
	{"del", run_del},
	{"umem-cycle", run_umem_cycle},
};

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

/* Takes the members and releases them. */
static char *answer(json_t *members, bool ok)
{
	json_t *head = json_pack("{s:i, s:b}", "version", 1, "ok", (int)ok);
	char *text = NULL;

	if (head && members && json_object_update(head, members) == 0)
		text = json_dumps(head, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(head);
	json_decref(members);
	return text;
}

char *pst_command_refuse(const char *sentence)
{
	char ascii[PST_ERROR_MAX];
	char *c;

	/* It may quote what a client sent, cut somewhere: no longer UTF-8, perhaps. */
	(void)snprintf(ascii, sizeof(ascii), "%s", sentence);
	for (c = ascii; *c; c++) {
		if (!isascii((unsigned char)*c))
			*c = '?';
	}
	return answer(json_pack("{s:s}", "error", ascii), false);
}

char *pst_command_run(struct pst_exports *exports, const char *line, size_t length)
{
	json_t *request = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const char *name = json_string_value(json_object_get(request, "cmd"));
	const struct command *command = name ? find_command(name) : NULL;
	struct pst_error err = PST_ERROR_INIT;
	json_t *members;
	char *text;

	if (!name)
		pst_error_set(&err, -EINVAL,
			      "the request is not a JSON object with \"cmd\": send for example "
			      "{\"cmd\":\"list\"}");
	else if (!command)
		pst_error_set(&err, -EINVAL,
			      "command %.32s is unknown: send list, stats, del or umem-cycle",
			      name);
	members = command ? command->run(exports, request, &err) : NULL;
	if (!members && !err.text[0])
		pst_error_set(&err, -ENOMEM, "the daemon has no memory for an answer: free some");
	text = members ? answer(members, true) : pst_command_refuse(err.text);
	json_decref(request);
	return text;
}
