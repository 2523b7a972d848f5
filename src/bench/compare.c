/* SPDX-License-Identifier: MIT */
/* `penstock bench --compare`: the same points of two files side by side. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base.h"
#include "report.h"

static json_t *load(const char *path, struct pst_error *err)
{
	json_error_t why;
	json_t *document = json_load_file(path, 0, &why);

	if (!document) {
		(void)pst_error_set(err, -EINVAL, "%s cannot be read as JSON: %s", path, why.text);
		return NULL;
	}
	if (json_integer_value(json_object_get(document, "version")) != 1 ||
	    !json_is_array(json_object_get(document, "results"))) {
		(void)pst_error_set(err, -EINVAL,
				    "%s holds no results of penstock bench, version 1", path);
		json_decref(document);
		return NULL;
	}
	return document;
}

/* Are these measurements of the same thing? */
static bool same_point(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"mode", "rw", "bs", "qd", "threads"};
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(keys); i++) {
		if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
			return false;
	}
	return true;
}

static const json_t *find_point(const json_t *document, const json_t *point)
{
	const json_t *results = json_object_get(document, "results");
	size_t i;

	for (i = 0; i < json_array_size(results); i++) {
		const json_t *other = json_array_get(results, i);

		if (same_point(point, other))
			return other;
	}
	return NULL;
}

static double iops(const json_t *point)
{
	return json_number_value(json_object_get(point, "iops"));
}

static double p99(const json_t *point)
{
	return json_number_value(json_object_get(json_object_get(point, "lat_us"), "p99"));
}

static void range(const json_t *point, double *low, double *high)
{
	const json_t *all = json_object_get(point, "iops_rounds");
	size_t i;

	*low = *high = iops(point);
	for (i = 0; i < json_array_size(all); i++) {
		double value = json_number_value(json_array_get(all, i));

		*low = value < *low ? value : *low;
		*high = value > *high ? value : *high;
	}
}

/* A difference means something when the rounds of one file lie all above those of the other. */
static const char *verdict(const json_t *a, const json_t *b)
{
	double low_a, high_a, low_b, high_b;

	range(a, &low_a, &high_a);
	range(b, &low_b, &high_b);
	if (low_b > high_a)
		return "faster";
	if (high_b < low_a)
		return "slower";
	return "within the spread";
}

static void print_point(const json_t *a, const json_t *b, FILE *out)
{
	(void)fprintf(out,
		      "%-22s %-9s %8" PRId64 " %5" PRId64 " %4" PRId64
		      " %10.1f %10.1f %7.3f %8.3f  %s\n",
		      json_string_value(json_object_get(a, "mode")),
		      json_string_value(json_object_get(a, "rw")),
		      (int64_t)json_integer_value(json_object_get(a, "bs")),
		      (int64_t)json_integer_value(json_object_get(a, "qd")),
		      (int64_t)json_integer_value(json_object_get(a, "threads")), iops(a) / 1000,
		      iops(b) / 1000, iops(a) > 0 ? iops(b) / iops(a) : 0,
		      p99(a) > 0 ? p99(b) / p99(a) : 0, verdict(a, b));
}

static bool is_point(const json_t *point)
{
	return json_is_string(json_object_get(point, "mode")) &&
	       json_is_string(json_object_get(point, "rw")) &&
	       json_is_number(json_object_get(point, "iops"));
}

int pst_bench_compare(const char *before, const char *after, FILE *out, struct pst_error *err)
{
	json_t *a = load(before, err);
	json_t *b = a ? load(after, err) : NULL;
	uint32_t matched = 0;
	const json_t *results;
	size_t i;
	int ret = 0;

	if (!b) {
		json_decref(a);
		return -EINVAL;
	}
	(void)fprintf(out, "A: %s\nB: %s\n\n%-22s %-9s %8s %5s %4s %10s %10s %7s %8s\n", before,
		      after, "mode", "rw", "bs", "qd", "thr", "kIOPS A", "kIOPS B", "B/A",
		      "p99 B/A");
	results = json_object_get(a, "results");
	for (i = 0; i < json_array_size(results); i++) {
		const json_t *point = json_array_get(results, i);
		const json_t *other = is_point(point) ? find_point(b, point) : NULL;

		if (other && is_point(other)) {
			print_point(point, other, out);
			matched++;
		}
	}
	if (matched == 0)
		ret = pst_error_set(err, -EINVAL,
				    "%s and %s have no measurement in common: mode, rw, bs, qd and "
				    "threads must agree",
				    before, after);
	json_decref(a);
	json_decref(b);
	return ret;
}
