/* SPDX-License-Identifier: MIT */
/* The results as JSON; the schema is docs/schema/bench.json. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <jansson.h>

#include <penstock/ring.h>

#include "base.h"
#include "report.h"

/* Three decimals are a nanosecond of a microsecond; more would only look exact. */
static json_t *rounded(double value)
{
	return json_real(round(value * 1000) / 1000);
}

static json_t *us(uint64_t ns)
{
	return rounded((double)ns / 1000);
}

static void cpu_model(char *model, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	(void)snprintf(model, size, "unknown");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !value)
			continue;
		value += 1 + strspn(value + 1, " ");
		value[strcspn(value, "\n")] = '\0';
		(void)snprintf(model, size, "%s", value);
		break;
	}
	(void)fclose(file);
}

/* RLIM_INFINITY and what is unknown are null. */
static json_t *memlock_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return json_null();
	return json_integer((json_int_t)limit.rlim_cur);
}

static json_t *machine(void)
{
	char model[256];
	char clock[64] = "unknown";
	struct utsname name = {0};
	uint64_t hugepages = 0;

	cpu_model(model, sizeof(model));
	(void)uname(&name);
	(void)pst_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			    clock, sizeof(clock));
	(void)pst_read_u64("/proc/sys/vm/nr_hugepages", &hugepages);
	return json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:s, s:o}", "kernel", name.release, "arch",
			 name.machine, "cpu", model, "cpus", (int)sysconf(_SC_NPROCESSORS_ONLN),
			 "memory", (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
			 "hugepages", (json_int_t)hugepages, "clocksource", clock, "memlock",
			 memlock_limit());
}

static json_t *device(const struct pst_bench_target *t)
{
	json_t *object = json_pack("{s:s, s:I, s:i, s:i, s:i, s:i, s:b, s:i}", "path", t->path,
				   "bytes", (json_int_t)t->bytes, "lba_size", (int)t->lba_size,
				   "numa_node", t->numa_node, "nr_requests", (int)t->nr_requests,
				   "hw_queues", (int)t->hw_queues, "io_poll", t->io_poll,
				   "dma_alignment", (int)t->dma_alignment);
	const struct pst_nvme_ns *ns = t->ns;

	if (t->block_path[0])
		(void)json_object_set_new(object, "block", json_string(t->block_path));
	if (t->scheduler[0])
		(void)json_object_set_new(object, "scheduler", json_string(t->scheduler));
	if (!ns)
		return object;
	(void)json_object_set_new(object, "node", json_string(ns->node));
	(void)json_object_set_new(object, "nsid", json_integer(ns->nsid));
	/* Identify's strings are bytes of the device: what is no text is left out. */
	(void)json_object_set_new(object, "model", json_string(ns->model));
	(void)json_object_set_new(object, "serial", json_string(ns->serial));
	(void)json_object_set_new(object, "firmware", json_string(ns->firmware));
	(void)json_object_set_new(object, "transport", json_string(ns->transport));
	(void)json_object_set_new(object, "metadata_size", json_integer(ns->metadata_size));
	(void)json_object_set_new(object, "max_transfer", json_integer(ns->max_transfer));
	return object;
}

static json_t *options_json(const struct pst_bench_report *report)
{
	const struct pst_bench_options *o = report->options;

	return json_pack("{s:f, s:I, s:I, s:i, s:i, s:I, s:I, s:I, s:i, s:b, s:b}", "time",
			 (double)o->time_ns / 1e9, "count", (json_int_t)o->count, "rate",
			 (json_int_t)o->rate, "batch", (int)o->batch, "rounds", (int)o->rounds,
			 "offset", (json_int_t)o->offset, "size", (json_int_t)o->size, "seed",
			 (json_int_t)o->seed, "buffer_offset", (int)o->buffer_offset, "verify",
			 o->verify, "registered_files", o->registered_files);
}

static json_t *rounds(const struct pst_bench_result *r)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < r->rounds; i++)
		(void)json_array_append_new(array, rounded(r->iops[i]));
	return array;
}

static json_t *flags(const struct pst_bench_result *r)
{
	json_t *array = json_array();
	uint32_t bit;

	for (bit = 1; bit && bit <= r->ring_caps; bit <<= 1) {
		if (r->ring_caps & bit)
			(void)json_array_append_new(array, json_string(pst_ring_cap_name(bit)));
	}
	return array;
}

static json_t *notes(const struct pst_bench_result *r)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < r->nr_notes; i++)
		(void)json_array_append_new(array, json_string(r->notes[i]));
	return array;
}

static json_t *result(const struct pst_bench_options *o, const struct pst_bench_result *r)
{
	return json_pack("{s:s, s:s, s:I, s:i, s:i, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "mode",
			 r->mode->name, "rw", o->rw, "bs", (json_int_t)o->bs, "qd", (int)r->qd,
			 "threads", (int)o->threads, "iops", rounded(pst_bench_iops(r)),
			 "iops_rounds", rounds(r), "lat_us",
			 json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean",
				   rounded(pst_hist_mean(r->hist) / 1000), "p50",
				   us(pst_hist_quantile(r->hist, 0.50)), "p99",
				   us(pst_hist_quantile(r->hist, 0.99)), "p99.9",
				   us(pst_hist_quantile(r->hist, 0.999)), "max", us(r->hist->max)),
			 "cpu_us_per_io",
			 json_pack("{s:o, s:o}", "user", rounded(pst_bench_user_us(r)), "system",
				   rounded(pst_bench_system_us(r))),
			 "errors", (json_int_t)r->errors, "notes", notes(r), "flags", flags(r));
}

json_t *pst_bench_json(const struct pst_bench_report *report)
{
	json_t *devices = json_array();
	json_t *results = json_array();
	json_t *refused = json_array();
	uint32_t i;

	for (i = 0; i < report->nr_targets; i++)
		(void)json_array_append_new(devices, device(&report->targets[i]));
	for (i = 0; i < report->nr_results; i++) {
		if (report->results[i].rounds)
			(void)json_array_append_new(results,
						    result(report->options, &report->results[i]));
	}
	for (i = 0; i < report->nr_refusals; i++)
		(void)json_array_append_new(
			refused, json_pack("{s:s, s:s}", "mode", report->refusals[i].mode->name,
					   "why", report->refusals[i].why.text));
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:b}", "version", 1, "machine", machine(),
			 "devices", devices, "options", options_json(report), "results", results,
			 "refused", refused, "partial", report->interrupted || report->stopped);
}

int pst_bench_write_json(const struct pst_bench_report *report, const char *path,
			 struct pst_error *err)
{
	json_t *document = pst_bench_json(report);
	PST_AUTO_FREE char *text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;
	PST_AUTO_FREE char *line = NULL;
	int length;

	json_decref(document);
	length = text ? asprintf(&line, "%s\n", text) : -1;
	if (length < 0)
		return pst_error_set(err, -ENOMEM, "out of memory for %s", path);
	return pst_bench_write_file(path, line, (size_t)length, err);
}
