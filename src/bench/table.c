/* SPDX-License-Identifier: MIT */
/* The table on the terminal: depths down, modes across, in three blocks. */
#include <inttypes.h>
#include <string.h>

#include "base.h"
#include "report.h"

#define CELL 64

typedef void (*cell_fn)(const struct pst_bench_result *result, char cell[CELL]);

/* Three significant digits or more, as short as that allows. */
static void number(double value, char *text, size_t size)
{
	(void)snprintf(text, size, "%.*f", value < 9.995 ? 2 : value < 999.5 ? 1 : 0, value);
}

static void cell_iops(const struct pst_bench_result *result, char cell[CELL])
{
	char kiops[24];

	number(pst_bench_iops(result) / 1000, kiops, sizeof(kiops));
	if (result->rounds > 1)
		(void)snprintf(cell, CELL, "%s ±%.0f%%", kiops, pst_bench_spread(result) * 50);
	else
		(void)snprintf(cell, CELL, "%s", kiops);
}

static void cell_latency(const struct pst_bench_result *result, char cell[CELL])
{
	char p50[24], p99[24];

	number((double)pst_hist_quantile(result->hist, 0.50) / 1000, p50, sizeof(p50));
	number((double)pst_hist_quantile(result->hist, 0.99) / 1000, p99, sizeof(p99));
	(void)snprintf(cell, CELL, "%s/%s", p50, p99);
}

static void cell_cpu(const struct pst_bench_result *result, char cell[CELL])
{
	char user[24], system[24];

	number(pst_bench_user_us(result), user, sizeof(user));
	number(pst_bench_system_us(result), system, sizeof(system));
	(void)snprintf(cell, CELL, "%s+%s", user, system);
}

/* Columns on the terminal: "±" takes two bytes and one column. */
static int columns(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void print_padded(FILE *out, const char *text, int width)
{
	(void)fprintf(out, "  %*s%s", width - columns(text), "", text);
}

/* Footnote letters of a result: one a different note. */
struct notes {
	const char *text[26];
	uint32_t n;
};

static void mark(struct notes *notes, const struct pst_bench_result *result, char *marks)
{
	uint32_t i, k;

	for (i = 0; i < result->nr_notes; i++) {
		for (k = 0; k < notes->n && strcmp(notes->text[k], result->notes[i]) != 0; k++)
			;
		if (k == notes->n && k < PST_ARRAY_SIZE(notes->text))
			notes->text[notes->n++] = result->notes[i];
		if (k < notes->n)
			*marks++ = (char)('a' + k);
	}
	*marks = '\0';
}

static void make_cell(const struct pst_bench_result *result, cell_fn fn, struct notes *notes,
		      char cell[CELL])
{
	char marks[PST_BENCH_NOTES_MAX + 1];

	if (result->rounds == 0) {
		(void)snprintf(cell, CELL, "-");
		return;
	}
	fn(result, cell);
	if (notes) {
		mark(notes, result, marks);
		if (marks[0])
			(void)snprintf(cell + strlen(cell), CELL - strlen(cell), " %s", marks);
	}
}

static void print_block(const struct pst_bench_report *report, const char *title, cell_fn fn,
			struct notes *notes, FILE *out)
{
	uint32_t depths = report->options->nr_qds;
	uint32_t modes = report->nr_results / depths;
	int widths[PST_BENCH_MODES_MAX];
	char cell[CELL];
	uint32_t d, m;

	for (m = 0; m < modes; m++) {
		widths[m] = columns(report->results[m].mode->name);
		for (d = 0; d < depths; d++) {
			struct notes scratch = notes ? *notes : (struct notes){.n = 0};

			make_cell(&report->results[d * modes + m], fn, notes ? &scratch : NULL,
				  cell);
			widths[m] = columns(cell) > widths[m] ? columns(cell) : widths[m];
		}
	}
	(void)fprintf(out, "\n%s\n%6s", title, "qd");
	for (m = 0; m < modes; m++)
		print_padded(out, report->results[m].mode->name, widths[m]);
	(void)fputc('\n', out);
	for (d = 0; d < depths; d++) {
		(void)fprintf(out, "%6u", report->options->qds[d]);
		for (m = 0; m < modes; m++) {
			make_cell(&report->results[d * modes + m], fn, notes, cell);
			print_padded(out, cell, widths[m]);
		}
		(void)fputc('\n', out);
	}
}

static void print_head(const struct pst_bench_report *report, FILE *out)
{
	const struct pst_bench_options *o = report->options;
	uint32_t i;

	for (i = 0; i < report->nr_targets; i++) {
		const struct pst_bench_target *t = &report->targets[i];

		(void)fprintf(out, "%s: %s%s%" PRIu64 " bytes, logical blocks of %u", t->path,
			      t->ns ? t->ns->model : "", t->ns ? ", " : "", t->bytes, t->lba_size);
		if (t->nr_requests)
			(void)fprintf(out, ", %u tags a queue", t->nr_requests);
		(void)fputc('\n', out);
	}
	(void)fprintf(out, "%s, blocks of %" PRIu64 ", %u thread(s), batch %u, %u round(s)", o->rw,
		      o->bs, o->threads, o->batch, o->rounds);
	if (o->time_ns)
		(void)fprintf(out, " of %g s", (double)o->time_ns / 1e9);
	if (o->count)
		(void)fprintf(out, " of %" PRIu64 " I/Os", o->count);
	if (o->rate)
		(void)fprintf(out, ", %" PRIu64 " I/Os a second asked for", o->rate);
	(void)fputc('\n', out);
}

static void print_errors(const struct pst_bench_report *report, FILE *out)
{
	uint32_t i;

	for (i = 0; i < report->nr_results; i++) {
		const struct pst_bench_result *r = &report->results[i];

		if (r->errors)
			(void)fprintf(out, "%" PRIu64 " errors: %s, depth %u\n", r->errors,
				      r->mode->name, r->qd);
	}
}

void pst_bench_print_table(const struct pst_bench_report *report, FILE *out)
{
	struct notes notes = {.n = 0};
	uint32_t i;

	print_head(report, out);
	print_block(report,
		    report->options->rounds > 1
			    ? "kIOPS (median of the rounds, ± half their spread)"
			    : "kIOPS",
		    cell_iops, &notes, out);
	print_block(report, "latency p50/p99, µs", cell_latency, NULL, out);
	print_block(report, "CPU time of one I/O user+system, µs", cell_cpu, NULL, out);
	if (notes.n)
		(void)fputc('\n', out);
	for (i = 0; i < notes.n; i++)
		(void)fprintf(out, "%c: %s\n", (char)('a' + i), notes.text[i]);
	print_errors(report, out);
	if (report->interrupted || report->stopped)
		(void)fprintf(out, "This table is partial.\n");
}
