/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "config_keys.h"
#include "parse.h"

#define BOUNCE_MIN ((uint64_t)1 << 20)
#define BOUNCE_MAX ((uint64_t)1 << 30)
#define BOUNCE_ALIGN 4096U
#define SECTOR 512U
#define BUSY_POLL_MAX 1000000U
#define TIMEOUT_MAX 86400U

static void *field_of(const struct pst_config_key *key, struct pst_export_config *exp)
{
	return (char *)exp + key->field;
}

static int set_name(const struct pst_config_key *key, const char *value,
		    struct pst_export_config *exp, struct pst_error *err)
{
	const char *c;

	(void)key;
	if (!value[0])
		return pst_error_set(err, -EINVAL, "name= is empty: write for example name=disk0");
	if (strlen(value) > PST_EXPORT_NAME_MAX)
		return pst_error_set(err, -EINVAL,
				     "its name has %zu characters: take one of at most %d",
				     strlen(value), PST_EXPORT_NAME_MAX);
	for (c = value; *c; c++) {
		if (!isascii((unsigned char)*c) ||
		    (!isalnum((unsigned char)*c) && !strchr("-_.", *c)))
			return pst_error_set(
				err, -EINVAL,
				"its name has a character that is not allowed at position "
				"%zu: use letters, digits, '-', '_' and '.'",
				(size_t)(c - value) + 1);
	}
	/* It becomes a node in /dev/vduse, beside one that is called control. */
	if (value[0] == '.' || strcmp(value, "control") == 0)
		return pst_error_set(err, -EINVAL,
				     "\"control\" and names that begin with '.' cannot be had in "
				     "/dev/vduse: take another, for example disk0");
	(void)snprintf(exp->params.name, sizeof(exp->params.name), "%s", value);
	return 0;
}

static int set_sized_source(const char *value, const char *where, struct pst_export_config *exp,
			    struct pst_error *err)
{
	uint64_t size;

	if (pst_parse_size(where, &size) != 0 || size < SECTOR || size % SECTOR)
		return pst_error_set(err, -EINVAL,
				     "source=%.64s has no size that is a multiple of %u: write for "
				     "example source=%.*s:1G",
				     value, SECTOR, (int)strcspn(value, ":"), value);
	exp->source_size = size;
	return 0;
}

static bool is_kind(const char *value, const char *kind)
{
	size_t length = strlen(kind);

	return strncmp(value, kind, length) == 0 && value[length] == ':';
}

static int set_source(const struct pst_config_key *key, const char *value,
		      struct pst_export_config *exp, struct pst_error *err)
{
	const char *colon = strchr(value, ':');
	int ret = 0;

	(void)key;
	if (strlen(value) > PST_SOURCE_MAX)
		return pst_error_set(
			err, -EINVAL,
			"its source has %zu characters: name it by a path so that it has at "
			"most %d",
			strlen(value), PST_SOURCE_MAX);
	if (!colon && value[0] == '/')
		return pst_error_set(err, -EINVAL,
				     "source=%.64s does not say of which kind it is: write "
				     "source=%s:%.64s",
				     value, strncmp(value, "/dev/ng", 7) == 0 ? "nvme" : "file",
				     value);
	if (!colon)
		return pst_error_set(err, -EINVAL,
				     "source=%.64s is none: write nvme:/dev/ng0n1, file:PATH, "
				     "mem:SIZE or null:SIZE",
				     value);

	if (is_kind(value, "nvme") && !colon[1])
		return pst_error_set(err, -EINVAL,
				     "source=nvme: names no namespace: write for example "
				     "source=nvme:/dev/ng0n1 (nvme list shows them)");
	if (is_kind(value, "file") && !colon[1])
		return pst_error_set(err, -EINVAL,
				     "source=file: names no file: write for example "
				     "source=file:/srv/disk.img or source=file:/dev/sdb");
	if (is_kind(value, "mem") || is_kind(value, "null"))
		ret = set_sized_source(value, colon + 1, exp, err);
	else if (!is_kind(value, "nvme") && !is_kind(value, "file"))
		return pst_error_set(
			err, -EINVAL,
			"source=%.64s is of a kind that is unknown: write nvme:/dev/ng0n1, "
			"file:PATH, mem:SIZE or null:SIZE",
			value);
	if (ret)
		return ret;
	(void)snprintf(exp->source, sizeof(exp->source), "%s", value);
	return 0;
}

static int set_transport(const struct pst_config_key *key, const char *value,
			 struct pst_export_config *exp, struct pst_error *err)
{
	(void)key;
	(void)exp;
	if (strcmp(value, "vduse") == 0)
		return 0;
	return pst_error_set(err, -EINVAL,
			     "transport=%.32s is unknown: write transport=vduse, or leave it out",
			     value);
}

static int set_queues(const struct pst_config_key *key, const char *value,
		      struct pst_export_config *exp, struct pst_error *err)
{
	uint64_t n;

	(void)key;
	if (pst_parse_u64(value, 1, PST_QUEUES_MAX, &n) != 0)
		return pst_error_set(err, -EINVAL,
				     "queues=%.32s is not a number of queues: take 1 to %d", value,
				     PST_QUEUES_MAX);
	exp->params.queues = (uint32_t)n;
	return 0;
}

static int set_queue_size(const struct pst_config_key *key, const char *value,
			  struct pst_export_config *exp, struct pst_error *err)
{
	uint64_t n, below = 2;

	(void)key;
	if (pst_parse_u64(value, 2, PST_QUEUE_SIZE_MAX, &n) != 0)
		return pst_error_set(
			err, -EINVAL,
			"queue-size=%.32s is out of range: take a power of two from 2 to %d", value,
			PST_QUEUE_SIZE_MAX);
	while (below * 2 <= n)
		below *= 2;
	if (n != below)
		return pst_error_set(err, -EINVAL,
				     "queue-size=%" PRIu64 " is not a power of two: take %" PRIu64
				     " or %" PRIu64,
				     n, below, below * 2);
	exp->params.queue_size = (uint32_t)n;
	return 0;
}

static int set_bounce(const struct pst_config_key *key, const char *value,
		      struct pst_export_config *exp, struct pst_error *err)
{
	uint64_t n;

	(void)key;
	if (pst_parse_size(value, &n) != 0 || n < BOUNCE_MIN || n > BOUNCE_MAX)
		return pst_error_set(
			err, -EINVAL,
			"bounce=%.32s is not a size of a bounce region: take 1M to 1G, for "
			"example bounce=64M",
			value);
	if (!pst_is_aligned(n, BOUNCE_ALIGN))
		return pst_error_set(err, -EINVAL,
				     "bounce=%.32s is not a multiple of %u: take %" PRIu64, value,
				     BOUNCE_ALIGN, pst_round_up(n, BOUNCE_ALIGN));
	exp->params.bounce = n;
	return 0;
}

static int set_busy_poll(const struct pst_config_key *key, const char *value,
			 struct pst_export_config *exp, struct pst_error *err)
{
	uint64_t n;

	(void)key;
	if (strcmp(value, "auto") == 0) {
		exp->params.busy_poll_us = PST_BUSY_POLL_AUTO;
		return 0;
	}
	if (strcmp(value, "off") == 0) {
		exp->params.busy_poll_us = 0;
		return 0;
	}
	if (pst_parse_u64(value, 0, BUSY_POLL_MAX, &n) != 0)
		return pst_error_set(
			err, -EINVAL,
			"busy-poll=%.32s is not a time: write auto, off, or microseconds up "
			"to %u",
			value, BUSY_POLL_MAX);
	exp->params.busy_poll_us = (int32_t)n;
	return 0;
}

static int set_serial(const struct pst_config_key *key, const char *value,
		      struct pst_export_config *exp, struct pst_error *err)
{
	size_t length = strlen(value);
	const char *c;

	(void)key;
	if (length == 0 || length > sizeof(exp->open.serial) - 1)
		return pst_error_set(
			err, -EINVAL,
			"its serial has %zu bytes: take 1 to %zu, or leave out serial= for "
			"the source's own",
			length, sizeof(exp->open.serial) - 1);
	for (c = value; *c; c++) {
		if (!isascii((unsigned char)*c) || !isprint((unsigned char)*c))
			return pst_error_set(
				err, -EINVAL,
				"its serial has a byte that cannot be printed at position "
				"%zu: use ASCII",
				(size_t)(c - value) + 1);
	}
	(void)snprintf(exp->open.serial, sizeof(exp->open.serial), "%s", value);
	return 0;
}

/* offset= and size= */
static int set_slice(const struct pst_config_key *key, const char *value,
		     struct pst_export_config *exp, struct pst_error *err)
{
	uint64_t n;

	if (pst_parse_size(value, &n) != 0)
		return pst_error_set(err, -EINVAL,
				     "%s=%.32s is not a number of bytes: write for example %s=1G",
				     key->name, value, key->name);
	if (n % SECTOR)
		return pst_error_set(
			err, -EINVAL, "%s=%.32s is not a multiple of %u: take %" PRIu64, key->name,
			value, SECTOR,
			pst_round_down(n, SECTOR) ? pst_round_down(n, SECTOR) : SECTOR);
	if (n == 0 && strcmp(key->name, "size") == 0)
		return pst_error_set(
			err, -EINVAL,
			"size=%.32s leaves nothing to serve: leave size= out to serve up to "
			"the end",
			value);
	*(uint64_t *)field_of(key, exp) = n;
	return 0;
}

static int set_timeout(const struct pst_config_key *key, const char *value,
		       struct pst_export_config *exp, struct pst_error *err)
{
	uint64_t n;

	(void)key;
	if (pst_parse_u64(value, 0, TIMEOUT_MAX, &n) != 0)
		return pst_error_set(err, -EINVAL,
				     "timeout=%.32s is not a number of seconds: take 0 to %u",
				     value, TIMEOUT_MAX);
	exp->open.timeout_ms = (uint32_t)(n * 1000);
	return 0;
}

static int set_bool(const struct pst_config_key *key, const char *value,
		    struct pst_export_config *exp, struct pst_error *err)
{
	if (pst_parse_bool(value, field_of(key, exp)) != 0)
		return pst_error_set(err, -EINVAL, "%s=%.32s is neither: write %s", key->name,
				     value, key->usage);
	return 0;
}

static int set_mode(const struct pst_config_key *key, const char *value,
		    struct pst_export_config *exp, struct pst_error *err)
{
	enum pst_mode *mode = field_of(key, exp);
	bool on;

	if (strcmp(value, "auto") == 0) {
		*mode = PST_AUTO;
		return 0;
	}
	if (pst_parse_bool(value, &on) != 0)
		return pst_error_set(err, -EINVAL, "%s=%.32s is none of the three: write %s",
				     key->name, value, key->usage);
	*mode = on ? PST_ON : PST_OFF;
	return 0;
}

#define FIELD(member) .field = offsetof(struct pst_export_config, member)

const struct pst_config_key pst_config_keys[] = {
	{"name", "name=disk0", set_name,
	 .help = "name=NAME           name of the export and of its vdpa device"},
	{"source", "source=nvme:/dev/ng0n1", set_source,
	 .help = "source=SOURCE       nvme:/dev/ng0n1, file:PATH, mem:SIZE or null:SIZE"},
	{"transport", "transport=vduse", set_transport,
	 .help = "transport=vduse     how the host reaches it"},
	{"queues", "queues=1", set_queues,
	 .help = "queues=N            virtqueues to offer, 1 to 64 (1)"},
	{"queue-size", "queue-size=256", set_queue_size,
	 .help = "queue-size=N        entries of a virtqueue, a power of two up to 1024 (256)"},
	{"read-only", "read-only=on or read-only=off", set_bool, FIELD(open.read_only),
	 .bare = true, .help = "read-only           refuse whatever writes"},
	{"serial", "serial=TEXT", set_serial,
	 .help = "serial=TEXT         serial number, up to 20 bytes (the source's own)"},
	{"bounce", "bounce=64M", set_bounce,
	 .help = "bounce=SIZE         bytes of the bounce region, 1M to 1G (64M)"},
	{"umem", "umem=auto, umem=on or umem=off", set_mode, FIELD(params.umem),
	 .help = "umem=auto|on|off    the pool's hugepages are the bounce region (auto)"},
	{"fixed", "fixed=auto, fixed=on or fixed=off", set_mode, FIELD(params.fixed),
	 .help = "fixed=auto|on|off   the pool is a fixed buffer of the rings (auto)"},
	{"busy-poll", "busy-poll=auto, busy-poll=off or busy-poll=USEC", set_busy_poll,
	 .help = "busy-poll=auto|off|USEC  how long an idle queue is polled (auto)"},
	{"nvme-poll", "nvme-poll=on or nvme-poll=off", set_bool, FIELD(params.nvme_poll),
	 .help = "nvme-poll=on|off    complete NVMe commands by polling (off)"},
	{"packed", "packed=on or packed=off", set_bool, FIELD(params.packed),
	 .help = "packed=on|off       packed instead of split rings (off)"},
	{"indirect", "indirect=on or indirect=off", set_bool, FIELD(params.indirect),
	 .help = "indirect=on|off     indirect descriptors (on)"},
	{"event-idx", "event-idx=on or event-idx=off", set_bool, FIELD(params.event_idx),
	 .help = "event-idx=on|off    event indices (on)"},
	{"offset", "offset=BYTES", set_slice, FIELD(open.offset),
	 .help = "offset=SIZE         first byte of the source that is served (0)"},
	{"size", "size=BYTES", set_slice, FIELD(open.size),
	 .help = "size=SIZE           bytes that are served (up to the source's end)"},
	{"timeout", "timeout=60", set_timeout,
	 .help = "timeout=SECONDS     how long path loss and resets are retried (60)"},
	{"attach", "attach=yes or attach=no", set_bool, FIELD(params.attach),
	 .help = "attach=yes|no       make the block device appear in the host (yes)"},
	{"force", "force=on or force=off", set_bool, FIELD(open.force), .bare = true,
	 .help = "force               serve a source that is mounted or held by another"},
	{.name = NULL},
};
