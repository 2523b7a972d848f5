/* SPDX-License-Identifier: MIT */
/* Sizes, numbers, switches and lists of key=value as a user writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base.h"
#include "parse.h"

static void size_is(const char *text, uint64_t expected)
{
	uint64_t value = 0;

	assert_int_equal(pst_parse_size(text, &value), 0);
	assert_int_equal(value, expected);
}

static void size_fails(const char *text, int expected)
{
	uint64_t value = 42;

	assert_int_equal(pst_parse_size(text, &value), expected);
	assert_int_equal(value, 42);
}

static void sizes_have_suffixes_of_1024(void **state)
{
	(void)state;
	size_is("0", 0);
	size_is("4096", 4096);
	size_is("4k", 4096);
	size_is("4K", 4096);
	size_is("64M", 64ULL << 20);
	size_is("1G", 1ULL << 30);
	size_is("2T", 2ULL << 40);
	size_is("1GiB", 1ULL << 30);
	size_is("1gb", 1ULL << 30);
	size_is("18446744073709551615", UINT64_MAX);
}

static void what_is_no_size_is_refused(void **state)
{
	static const char *const bad[] = {"",	" 1",  "-1",   "+1",   "k",
					  "1x", "1kk", "1.5G", "0x10", "1 k"};
	size_t i;

	(void)state;
	for (i = 0; i < PST_ARRAY_SIZE(bad); i++)
		size_fails(bad[i], -EINVAL);
	size_fails("18446744073709551616", -ERANGE);
	size_fails("16777216T", -ERANGE);
}

static void numbers_lie_within_their_limits(void **state)
{
	uint64_t value = 0;

	(void)state;
	assert_int_equal(pst_parse_u64("1", 1, 64, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(pst_parse_u64("0x40", 1, 64, &value), 0);
	assert_int_equal(value, 64);
	assert_int_equal(pst_parse_u64("010", 1, 64, &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(pst_parse_u64("0", 1, 64, &value), -ERANGE);
	assert_int_equal(pst_parse_u64("65", 1, 64, &value), -ERANGE);
	assert_int_equal(pst_parse_u64("99999999999999999999", 0, UINT64_MAX, &value), -ERANGE);
	assert_int_equal(value, 10);
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const bad[] = {"", "-1", " 1", "1 ", "1k", "x", "0x", "ten"};
	uint64_t value;
	size_t i;

	(void)state;
	for (i = 0; i < PST_ARRAY_SIZE(bad); i++)
		assert_int_equal(pst_parse_u64(bad[i], 0, 100, &value), -EINVAL);
}

static void switches_have_four_spellings(void **state)
{
	static const char *const yes[] = {"on", "yes", "true", "1"};
	static const char *const no[] = {"off", "no", "false", "0"};
	bool value;
	size_t i;

	(void)state;
	for (i = 0; i < PST_ARRAY_SIZE(yes); i++) {
		value = false;
		assert_int_equal(pst_parse_bool(yes[i], &value), 0);
		assert_true(value);
		assert_int_equal(pst_parse_bool(no[i], &value), 0);
		assert_false(value);
	}
	assert_int_equal(pst_parse_bool("", &value), -EINVAL);
	assert_int_equal(pst_parse_bool("On", &value), -EINVAL);
	assert_int_equal(pst_parse_bool("2", &value), -EINVAL);
}

static void lists_are_taken_apart(void **state)
{
	char text[] = "name=disk0,read-only,serial=a,,b=c,size=,";
	char *rest = text, *key, *value;

	(void)state;
	assert_true(pst_parse_kv(&rest, &key, &value));
	assert_string_equal(key, "name");
	assert_string_equal(value, "disk0");
	assert_true(pst_parse_kv(&rest, &key, &value));
	assert_string_equal(key, "read-only");
	assert_null(value);
	assert_true(pst_parse_kv(&rest, &key, &value));
	assert_string_equal(key, "serial");
	assert_string_equal(value, "a,b=c");
	assert_true(pst_parse_kv(&rest, &key, &value));
	assert_string_equal(key, "size");
	assert_string_equal(value, "");
	assert_false(pst_parse_kv(&rest, &key, &value));
}

static void sentences_are_cut_and_not_overrun(void **state)
{
	struct pst_error err = PST_ERROR_INIT;
	char longest[2 * PST_ERROR_MAX];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(pst_error_set(&err, -EIO, "%s", longest), -EIO);
	assert_int_equal(strlen(err.text), PST_ERROR_MAX - 1);
	assert_int_equal(pst_error_set(&err, -EBUSY, "in use"), -EBUSY);
	assert_int_equal(pst_error_prefix(&err, "disk%d: ", 0), -EBUSY);
	assert_string_equal(err.text, "disk0: in use");
	assert_int_equal(pst_error_prefix(&err, "%s", longest), -EBUSY);
	assert_int_equal(strlen(err.text), PST_ERROR_MAX - 1);
	assert_int_equal(pst_error_set(NULL, -EPERM, "nobody listens"), -EPERM);
	assert_int_equal(pst_error_prefix(NULL, "nobody listens"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_suffixes_of_1024),
		cmocka_unit_test(what_is_no_size_is_refused),
		cmocka_unit_test(numbers_lie_within_their_limits),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(switches_have_four_spellings),
		cmocka_unit_test(lists_are_taken_apart),
		cmocka_unit_test(sentences_are_cut_and_not_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
