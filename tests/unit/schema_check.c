/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "schema_check.h"

struct walk {
	char path[256]; /* of the value under test */
	char *why;
	size_t size;
};

static bool check(struct walk *walk, const json_t *schema, const json_t *value);

static bool fail(struct walk *walk, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct walk *walk, const char *fmt, ...)
{
	int n = snprintf(walk->why, walk->size, "%s: ", walk->path[0] ? walk->path : "/");
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < walk->size)
		(void)vsnprintf(walk->why + n, walk->size - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

static bool is_type(const char *type, const json_t *value)
{
	if (strcmp(type, "object") == 0)
		return json_is_object(value);
	if (strcmp(type, "array") == 0)
		return json_is_array(value);
	if (strcmp(type, "string") == 0)
		return json_is_string(value);
	if (strcmp(type, "integer") == 0)
		return json_is_integer(value);
	if (strcmp(type, "number") == 0)
		return json_is_number(value);
	if (strcmp(type, "boolean") == 0)
		return json_is_boolean(value);
	return strcmp(type, "null") == 0 && json_is_null(value);
}

static bool check_type(struct walk *walk, const json_t *type, const json_t *value)
{
	size_t i;

	if (json_is_string(type))
		return is_type(json_string_value(type), value) ||
		       fail(walk, "is no %s", json_string_value(type));
	for (i = 0; i < json_array_size(type); i++) {
		if (is_type(json_string_value(json_array_get(type, i)), value))
			return true;
	}
	return fail(walk, "is of none of the types allowed");
}

static bool check_member(struct walk *walk, const json_t *schema, const json_t *value,
			 const char *key)
{
	size_t length = strlen(walk->path);
	bool good;

	(void)snprintf(walk->path + length, sizeof(walk->path) - length, "/%s", key);
	good = check(walk, schema, value);
	if (good)
		walk->path[length] = '\0';
	return good;
}

static bool check_object(struct walk *walk, const json_t *schema, const json_t *value)
{
	const json_t *properties = json_object_get(schema, "properties");
	const json_t *required = json_object_get(schema, "required");
	const char *key;
	json_t *member;
	size_t i;

	for (i = 0; i < json_array_size(required); i++) {
		key = json_string_value(json_array_get(required, i));
		if (!json_object_get(value, key))
			return fail(walk, "has no member \"%s\"", key);
	}
	json_object_foreach((json_t *)value, key, member)
	{
		const json_t *of = json_object_get(properties, key);

		if (of && !check_member(walk, of, member, key))
			return false;
		if (!of && json_is_false(json_object_get(schema, "additionalProperties")))
			return fail(walk, "has a member \"%s\" that is not described", key);
	}
	return true;
}

static bool check_array(struct walk *walk, const json_t *schema, const json_t *value)
{
	const json_t *items = json_object_get(schema, "items");
	json_int_t least = json_integer_value(json_object_get(schema, "minItems"));
	char index[24];
	size_t i;

	if ((json_int_t)json_array_size(value) < least)
		return fail(walk, "has fewer than %d elements", (int)least);
	for (i = 0; items && i < json_array_size(value); i++) {
		(void)snprintf(index, sizeof(index), "%zu", i);
		if (!check_member(walk, items, json_array_get(value, i), index))
			return false;
	}
	return true;
}

static bool known_keywords(struct walk *walk, const json_t *schema)
{
	static const char *const known[] = {
		"$schema", "title",	 "description", "type",
		"const",   "properties", "required",	"additionalProperties",
		"items",   "minimum",	 "minItems"};
	const char *key;
	json_t *member;
	size_t i;

	json_object_foreach((json_t *)schema, key, member)
	{
		for (i = 0; i < PST_ARRAY_SIZE(known) && strcmp(known[i], key) != 0; i++)
			;
		if (i == PST_ARRAY_SIZE(known))
			return fail(walk, "the schema uses \"%s\", which is not checked here", key);
	}
	return true;
}

static bool check(struct walk *walk, const json_t *schema, const json_t *value)
{
	const json_t *type = json_object_get(schema, "type");
	const json_t *fixed = json_object_get(schema, "const");
	const json_t *minimum = json_object_get(schema, "minimum");

	if (!known_keywords(walk, schema) || (type && !check_type(walk, type, value)))
		return false;
	if (fixed && !json_equal(fixed, value))
		return fail(walk, "is not the value it must be");
	if (minimum && json_is_number(value) &&
	    json_number_value(value) < json_number_value(minimum))
		return fail(walk, "is below %g", json_number_value(minimum));
	if (json_is_object(value))
		return check_object(walk, schema, value);
	return json_is_array(value) ? check_array(walk, schema, value) : true;
}

bool schema_check(const json_t *schema, const json_t *value, char *why, size_t size)
{
	struct walk walk = {.why = why, .size = size};

	if (!schema || !value)
		return fail(&walk, "there is nothing to check");
	return check(&walk, schema, value);
}
