/* SPDX-License-Identifier: MIT */
/* The page: its head, all tasks in a table, and a section for each one in which something has gone
 * on. It is HTML that an XML parser reads, too. It loads nothing and runs nothing, and its policy
 * forbids browsers to do so. */
#include "lockqstat/report.h"

#include <inttypes.h>

#include "cli/noun.h"
#include "lockqstat/tool.h"

struct page {
	const struct lockq_stats *stats;
	const struct lockq_day *day;
	struct stat_health health;
	time_t since, at;
	const struct cli_common *common;
	struct lockq *q;
};

static void
write_head(FILE *out, const struct page *page)
{
	struct cli_time since = report_moment(page->since), at = report_moment(page->at);

	fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\" />\n"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
	    "<meta name=\"color-scheme\" content=\"light dark\" />\n"
	    "<title>lockq: 24 hours until %s</title>\n<style>\n%s</style>\n</head>\n<body>\n"
	    "<header>\n<h1>lockq: the last 24 hours</h1>\n<p>%s to %s, in ", at.text,
	    report_style, since.text, at.text);
	report_name(out, report_zone(page->at).text);
	fputs("</p>\n</header>\n<main>\n", out);
}

static const struct lockq_day_task *
day_of(const struct lockq_day *day, uint32_t task)
{
	for (size_t i = 0; i < day->n_tasks; i++) {
		if (day->tasks[i].task == task)
			return &day->tasks[i];
	}
	return NULL;
}

static bool
is_shown(const struct lockq_day_task *task)
{
	return task != NULL && task->quarters != NULL;
}

/* --- the table of all tasks --- */

static void
cell(FILE *out, const char *of, bool there, const char *text)
{
	fprintf(out, "<td data-of=\"%s\"%s>%s</td>", of, there ? "" : " class=\"none\"",
	    there ? text : "-");
}

static void
cell_of_number(FILE *out, const char *of, uint64_t number)
{
	cell(out, of, number > 0, report_number(number).text);
}

static void
cell_of_ms(FILE *out, const char *of, int64_t ms)
{
	cell(out, of, ms >= 0, report_ms(ms).text);
}

static void
cell_of_state(FILE *out, const struct lockq_stat *stat, const struct stat_health *health)
{
	enum stat_level level = report_level_of(health, stat->task);

	fputs("<td class=\"text\" data-of=\"now\">", out);
	if (level == STAT_FINE && !stat->enabled)
		fputs("disabled", out);
	else if (level == STAT_FINE && stat->paused != NULL)
		fputs("paused", out);
	else
		report_level(out, level);
	fputs("</td>", out);
}

static void
write_row(FILE *out, const struct page *page, const struct lockq_stat *stat)
{
	static const struct lockq_quarter nothing = { .wait_p50_ms = -1, .wait_p95_ms = -1,
		.query_p50_ms = -1, .query_p95_ms = -1 };
	const struct lockq_day_task *day = day_of(page->day, stat->task);
	const struct lockq_quarter *q = day != NULL ? &day->whole : &nothing;

	fprintf(out, "<tr><td class=\"task\"><span>%" PRIu32 "</span>", stat->task);
	if (is_shown(day))
		fprintf(out, "<a href=\"#task-%" PRIu32 "\">", stat->task);
	report_name(out, stat->task_name);
	fprintf(out, "%s</td>", is_shown(day) ? "</a>" : "");
	cell_of_state(out, stat, &page->health);
	cell_of_number(out, "waiting now", stat->waiting);
	cell_of_number(out, "assigned now", stat->assigned);
	cell_of_number(out, "loans given", q->loans_listed + q->loans_led);
	cell_of_number(out, "completed", q->completed);
	cell_of_ms(out, "half waited at most", q->wait_p50_ms);
	cell_of_ms(out, "95 of 100", q->wait_p95_ms);
	cell_of_number(out, "queries", q->queries);
	cell_of_ms(out, "half of them took", q->query_p50_ms);
	cell_of_number(out, "failures", q->failures);
	fputs("</tr>\n", out);
}

static void
write_summary(FILE *out, const struct page *page)
{
	static const char *const columns[] = { "task", "now", "waiting now", "assigned now",
		"loans given", "completed", "half waited", "95 of 100", "queries",
		"half took", "failures" };

	if (page->health.n > 0)
		report_findings(out, page->stats, &page->health, 0);
	if (page->stats->n_tasks == 0) {
		fputs("<p>There is no task.</p>\n", out);
		return;
	}
	fputs("<table class=\"summary\">\n<thead><tr>", out);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		fprintf(out, "<th scope=\"col\"%s>%s</th>", i == 1 ? " class=\"text\"" : "",
		    columns[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < page->stats->n_tasks; i++)
		write_row(out, page, &page->stats->tasks[i]);
	fputs("</tbody>\n</table>\n", out);
}

static void
write_page(FILE *out, const void *data)
{
	const struct page *page = data;

	write_head(out, page);
	write_summary(out, page);
	for (size_t i = 0; i < page->stats->n_tasks; i++) {
		const struct lockq_day_task *day = day_of(page->day, page->stats->tasks[i].task);

		if (!is_shown(day))
			continue;
		cli_noun_read(page->common, page->q, day->task);
		report_task(&(struct report_task){ out, day, page->since },
		    &page->stats->tasks[i], &page->health);
	}
	fputs("</main>\n<footer>Written by lockqstat --report; lockqstat(1) explains the figures."
	    "</footer>\n</body>\n</html>\n", out);
}

int
report_file(const char *path, const struct lockq_stats *stats, const struct lockq_day *day,
    const struct cli_common *common, struct lockq *q)
{
	struct page page = { .stats = stats, .day = day, .common = common, .q = q };
	/* A file like any other one: umask() tells whom it is for, and only setting it reads it. */
	mode_t mask = umask(0);
	int failure;

	(void)umask(mask);
	if (cli_time(&page.since, day->since) != 0 || cli_time(&page.at, day->at) != 0)
		page.since = page.at = 0;
	stat_health_look(&page.health, stats, &STAT_LIMITS_USUAL);
	failure = whole_file(path, 0666 & ~mask, write_page, &page);
	stat_health_clear(&page.health);
	return failure;
}
