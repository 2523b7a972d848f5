/* SPDX-License-Identifier: MIT */
/* One line a result, for spreadsheets (RFC 4180). */
#include <errno.h>
#include <inttypes.h>

#include "base.h"
#include "report.h"

static void put_quoted(FILE *out, const struct pst_bench_result *r)
{
	uint32_t i;
	const char *c;

	(void)fputc('"', out);
	for (i = 0; i < r->nr_notes; i++) {
		if (i)
			(void)fputs("; ", out);
		for (c = r->notes[i]; *c; c++) {
			if (*c == '"')
				(void)fputc('"', out);
			(void)fputc(*c, out);
		}
	}
	(void)fputc('"', out);
}

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

static void put_result(FILE *out, const struct pst_bench_options *o,
		       const struct pst_bench_result *r)
{
	double low = r->iops[0], high = r->iops[0];
	uint32_t i;

	for (i = 1; i < r->rounds; i++) {
		low = r->iops[i] < low ? r->iops[i] : low;
		high = r->iops[i] > high ? r->iops[i] : high;
	}
	(void)fprintf(out, "%s,%s,%" PRIu64 ",%u,%u,%.1f,%.1f,%.1f,%u,", r->mode->name, o->rw,
		      o->bs, r->qd, o->threads, pst_bench_iops(r), low, high, r->rounds);
	(void)fprintf(out, "%.3f,%.3f,%.3f,%.3f,%.3f,", pst_hist_mean(r->hist) / 1000,
		      us(pst_hist_quantile(r->hist, 0.50)), us(pst_hist_quantile(r->hist, 0.99)),
		      us(pst_hist_quantile(r->hist, 0.999)), us(r->hist->max));
	(void)fprintf(out, "%.3f,%.3f,%" PRIu64 ",", pst_bench_user_us(r), pst_bench_system_us(r),
		      r->errors);
	put_quoted(out, r);
	(void)fputs("\r\n", out);
}

int pst_bench_write_csv(const struct pst_bench_report *report, const char *path,
			struct pst_error *err)
{
	PST_AUTO_FREE char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	uint32_t i;

	if (!out)
		return pst_error_set(err, -ENOMEM, "out of memory for %s", path);
	(void)fputs("mode,rw,bs,qd,threads,iops,iops_min,iops_max,rounds,lat_mean_us,lat_p50_us,"
		    "lat_p99_us,lat_p99.9_us,lat_max_us,cpu_user_us,cpu_system_us,errors,notes\r\n",
		    out);
	for (i = 0; i < report->nr_results; i++) {
		if (report->results[i].rounds)
			put_result(out, report->options, &report->results[i]);
	}
	if (fclose(out) != 0)
		return pst_error_set(err, -ENOMEM, "out of memory for %s", path);
	return pst_bench_write_file(path, text, length, err);
}
