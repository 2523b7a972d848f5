/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base.h"
#include "parse.h"

/* A plain number; *end points behind it. strtoull alone would take "-1" and leading blanks. */
static int parse_number(const char *text, int base, uint64_t *value, const char **end)
{
	char *stop;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &stop, base);
	if (errno == ERANGE)
		return -ERANGE;
	*end = stop;
	return stop == text ? -EINVAL : 0;
}

int pst_parse_size(const char *text, uint64_t *value)
{
	static const char units[] = "kMGTP";
	const char *end;
	const char *unit;
	unsigned int shift;
	uint64_t n;
	int ret = parse_number(text, 10, &n, &end);

	if (ret)
		return ret;
	if (*end == '\0') {
		*value = n;
		return 0;
	}

	for (unit = units; *unit; unit++) {
		if (toupper((unsigned char)*end) == toupper((unsigned char)*unit))
			break;
	}
	if (!*unit)
		return -EINVAL;
	end++;
	if (*end && strcasecmp(end, "iB") != 0 && strcasecmp(end, "B") != 0)
		return -EINVAL;
	shift = 10U * (unsigned int)(unit - units + 1);
	if (n > UINT64_MAX >> shift)
		return -ERANGE;
	*value = n << shift;
	return 0;
}

int pst_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *end;
	uint64_t n;
	int ret = parse_number(text, hex ? 16 : 10, &n, &end);

	if (ret)
		return ret;
	if (*end)
		return -EINVAL;
	if (n < min || n > max)
		return -ERANGE;
	*value = n;
	return 0;
}

int pst_parse_bool(const char *text, bool *value)
{
	static const char *const yes[] = {"on", "yes", "true", "1"};
	static const char *const no[] = {"off", "no", "false", "0"};
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(yes); i++) {
		if (strcmp(text, yes[i]) == 0) {
			*value = true;
			return 0;
		}
		if (strcmp(text, no[i]) == 0) {
			*value = false;
			return 0;
		}
	}
	return -EINVAL;
}

bool pst_parse_kv(char **rest, char **key, char **value)
{
	char *in = *rest;
	char *out = in;

	if (!in || !*in)
		return false;

	*key = in;
	*value = NULL;
	while (*in) {
		if (*in == ',' && in[1] == ',') {
			*out++ = ',';
			in += 2;
		} else if (*in == ',') {
			break;
		} else if (*in == '=' && !*value) {
			*out++ = '\0';
			*value = out;
			in++;
		} else {
			*out++ = *in++;
		}
	}
	*rest = *in ? in + 1 : in;
	*out = '\0';
	return true;
}
