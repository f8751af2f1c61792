/* SPDX-License-Identifier: MIT */
#include "lockqstat/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- what is wrong --- */

void
report_level(FILE *out, enum stat_level level)
{
	/* The sign tells it without colours, too. */
	static const char *const signs[] = { "✓", "▲", "✕", "?" };

	fprintf(out, "<span class=\"level %s\">%s %s</span>", stat_level_name(level), signs[level],
	    stat_level_name(level));
}

enum stat_level
report_level_of(const struct stat_health *health, uint32_t task)
{
	/* The worst comes first. */
	for (size_t i = 0; i < health->n; i++) {
		if (health->findings[i].task == task)
			return health->findings[i].level;
	}
	return STAT_FINE;
}

static const char *
name_of(const struct lockq_stats *stats, uint32_t task)
{
	for (size_t i = 0; i < stats->n_tasks; i++) {
		if (stats->tasks[i].task == task)
			return stats->tasks[i].task_name;
	}
	return "";
}

void
report_findings(FILE *out, const struct lockq_stats *stats, const struct stat_health *health,
    uint32_t task)
{
	if (task != 0 && report_level_of(health, task) == STAT_FINE)
		return;
	fputs("<ul class=\"findings\">\n", out);
	for (size_t i = 0; i < health->n; i++) {
		const struct stat_finding *f = &health->findings[i];

		if (task != 0 && f->task != task)
			continue;
		fputs("<li>", out);
		report_level(out, f->level);
		fputs(" <span>", out);
		if (task == 0) {
			fprintf(out, "<b>%" PRIu32 " ", f->task);
			report_name(out, name_of(stats, f->task));
			fputs("</b>: ", out);
		}
		report_name(out, f->text);
		fputs("</span></li>\n", out);
	}
	fputs("</ul>\n", out);
}

/* --- figures --- */

static void
figure(FILE *out, const char *name, const char *value, const char *more)
{
	fprintf(out, "<div><dt>%s</dt><dd>%s%s%s%s</dd></div>\n", name, value,
	    *more != '\0' ? " <small>" : "", more, *more != '\0' ? "</small>" : "");
}

static void
figure_of_times(FILE *out, const char *name, int64_t p50_ms, int64_t p95_ms)
{
	char more[2 * CLI_TIME_SIZE] = "";

	if (p95_ms >= 0)
		snprintf(more, sizeof(more), "95%%: %s", report_ms(p95_ms).text);
	figure(out, name, report_ms(p50_ms).text, more);
}

static void
figures(FILE *out, const struct lockq_quarter *q)
{
	uint64_t loans = q->loans_listed + q->loans_led;
	char more[4 * CLI_TIME_SIZE], *name = cli_text("%s given", report_loans_title());

	fputs("<dl class=\"figures\">\n", out);
	snprintf(more, sizeof(more), "%d%% from the list",
	    loans > 0 ? (int)(q->loans_listed * 100 / loans) : 0);
	figure(out, name, report_number(loans).text, q->loans_listed > 0 ? more : "");
	free(name);
	snprintf(more, sizeof(more), "%" PRIu64 " no work, %" PRIu64 " failed, %" PRIu64
	    " given up", q->answers_empty, q->answers_failed, q->given_up);
	figure(out, "Answers", report_number(q->answers).text,
	    q->answers_empty + q->answers_failed + q->given_up > 0 ? more : "");
	figure_of_times(out, "Half waited at most", q->wait_p50_ms, q->wait_p95_ms);
	figure_of_times(out, "Half of the queries took", q->query_p50_ms, q->query_p95_ms);
	snprintf(more, sizeof(more), "%" PRIu64 " returned, %" PRIu64 " never, %" PRIu64
	    " expired", q->returned, q->never, q->expired);
	figure(out, "Completed", report_number(q->completed).text,
	    q->returned + q->never + q->expired > 0 ? more : "");
	fputs("</dl>\n", out);
}

/* --- tables --- */

static void
head(FILE *out, const char *const *columns, size_t n)
{
	fputs("<thead><tr>", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "<th scope=\"col\">%s</th>", columns[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
}
#define HEAD(out, ...) head((out), (const char *const[]){ __VA_ARGS__ }, \
	sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void
cell(FILE *out, uint64_t number)
{
	fprintf(out, "<td>%" PRIu64 "</td>", number);
}

static void
cell_of_ms(FILE *out, int64_t ms)
{
	fprintf(out, "<td>%s</td>", report_ms(ms).text);
}

static void
cell_of_text(FILE *out, const char *text)
{
	fputs("<td class=\"text\">", out);
	report_name(out, text);
	fputs("</td>", out);
}

static void
row(const struct report_task *t, size_t quarter)
{
	fprintf(t->out, "<tr><th scope=\"row\">%s</th>",
	    report_moment(report_quarter(t->since, quarter)).text);
}

static void
table_of_waits(const struct report_task *t)
{
	HEAD(t->out, "from", "answers", "half", "95 of 100", "longest", "no work", "failed",
	    "given up");
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		const struct lockq_quarter *q = &t->day->quarters[i];

		if (q->answers + q->given_up == 0)
			continue;
		row(t, i);
		cell(t->out, q->answers);
		cell_of_ms(t->out, q->wait_p50_ms);
		cell_of_ms(t->out, q->wait_p95_ms);
		cell_of_ms(t->out, q->wait_max_ms);
		cell(t->out, q->answers_empty);
		cell(t->out, q->answers_failed);
		cell(t->out, q->given_up);
		fputs("</tr>\n", t->out);
	}
}

static void
table_of_queries(const struct report_task *t)
{
	HEAD(t->out, "from", "queries", "half", "95 of 100", "longest", "failed");
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		const struct lockq_quarter *q = &t->day->quarters[i];

		if (q->queries + q->failures == 0)
			continue;
		row(t, i);
		cell(t->out, q->queries);
		cell_of_ms(t->out, q->query_p50_ms);
		cell_of_ms(t->out, q->query_p95_ms);
		cell_of_ms(t->out, q->query_max_ms);
		cell(t->out, q->failures);
		fputs("</tr>\n", t->out);
	}
}

static void
table_of_loans(const struct report_task *t)
{
	HEAD(t->out, "from", report_loans(2), "from the list", "from leaders");
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		const struct lockq_quarter *q = &t->day->quarters[i];

		if (q->loans_listed + q->loans_led == 0)
			continue;
		row(t, i);
		cell(t->out, q->loans_listed + q->loans_led);
		cell(t->out, q->loans_listed);
		cell(t->out, q->loans_led);
		fputs("</tr>\n", t->out);
	}
}

static void
table_of_lists(const struct report_task *t)
{
	HEAD(t->out, "from", "requests served", report_loans(2), "refills", "failed",
	    "began with", "age");
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		const struct lockq_quarter *q = &t->day->quarters[i];

		if (q->answers_listed + q->refills == 0)
			continue;
		row(t, i);
		cell(t->out, q->answers_listed);
		cell(t->out, q->loans_listed);
		cell(t->out, q->refills);
		cell(t->out, q->refill_failures);
		cell(t->out, q->spare);
		cell_of_ms(t->out, q->list_age_s < 0 ? -1 : q->list_age_s * 1000);
		fputs("</tr>\n", t->out);
	}
}

static void
table_of_dispositions(const struct report_task *t)
{
	HEAD(t->out, "from", "completed", "returned", "never", "expired");
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		const struct lockq_quarter *q = &t->day->quarters[i];

		if (q->completed + q->returned + q->never + q->expired == 0)
			continue;
		row(t, i);
		cell(t->out, q->completed);
		cell(t->out, q->returned);
		cell(t->out, q->never);
		cell(t->out, q->expired);
		fputs("</tr>\n", t->out);
	}
}

static void
table_of_leaders(const struct report_task *t)
{
	HEAD(t->out, "leader", "led", "for", "queries", "failed", report_loans(2), "retries");
	for (size_t i = 0; i < t->day->n_leaders; i++) {
		const struct lockq_day_leader *l = &t->day->leaders[i];

		fputs("<tr><th scope=\"row\">", t->out);
		report_name(t->out, l->user);
		fputs("</th>", t->out);
		cell(t->out, l->led);
		cell_of_ms(t->out, (int64_t)l->led_ms);
		cell(t->out, l->queries);
		cell(t->out, l->failures);
		cell(t->out, l->loans);
		cell(t->out, l->retries);
		fputs("</tr>\n", t->out);
	}
}

static void
table_of_people(const struct report_task *t)
{
	HEAD(t->out, "user", "completed", "returned", "never", "expired");
	for (size_t i = 0; i < t->day->n_people; i++) {
		const struct lockq_day_person *p = &t->day->people[i];

		fputs("<tr><th scope=\"row\">", t->out);
		report_name(t->out, p->user);
		fputs("</th>", t->out);
		cell(t->out, p->completed);
		cell(t->out, p->returned);
		cell(t->out, p->never);
		cell(t->out, p->expired);
		fputs("</tr>\n", t->out);
	}
}

/* The last ones first, and of a task that fails all day not all. */
static void
table_of_failures(const struct report_task *t)
{
	enum { FAILURES_MOST = 50 };
	unsigned int n = 0;

	HEAD(t->out, "when", "leader", "after", "why");
	for (size_t i = t->day->n_queries; i-- > 0 && n < FAILURES_MOST;) {
		const struct lockq_day_query *q = &t->day->queries[i];

		if (!q->failed)
			continue;
		n++;
		fprintf(t->out, "<tr><th scope=\"row\">%s</th>",
		    report_moment(t->since + (time_t)(q->since_ms / 1000)).text);
		cell_of_text(t->out, q->user);
		cell_of_ms(t->out, (int64_t)q->ms);
		cell_of_text(t->out, q->reason != NULL ? q->reason : "the reason is not known");
		fputs("</tr>\n", t->out);
	}
}

/* --- lanes --- */

static uint64_t completed(const struct lockq_quarter *q) { return q->completed; }
static uint64_t returned(const struct lockq_quarter *q) { return q->returned; }
static uint64_t never(const struct lockq_quarter *q) { return q->never; }
static uint64_t expired(const struct lockq_quarter *q) { return q->expired; }
static uint64_t refills(const struct lockq_quarter *q) { return q->refills - q->refill_failures; }
static uint64_t refills_failed(const struct lockq_quarter *q) { return q->refill_failures; }
static uint64_t spare(const struct lockq_quarter *q) { return q->spare; }
static uint64_t list_age(const struct lockq_quarter *q)
{
	return q->list_age_s > 0 ? (uint64_t)q->list_age_s : 0;
}

static const struct report_lane dispositions[] = {
	{ "completed", completed, "", "listed" },
	{ "returned", returned, "", "listed" },
	{ "never", never, "", "listed" },
	{ "lease expired", expired, "", "bad" },
};
static const struct report_lane lists[] = {
	{ "age of the list, at most", list_age, " s", "listed" },
	{ "what it began with, at most", spare, "", "listed" },
	{ "refills", refills, "", "listed" },
	{ "refills that failed", refills_failed, "", "bad" },
};
#define N_LANES(lanes) (sizeof(lanes) / sizeof((lanes)[0]))

static void
picture_of_lists(const struct report_task *t)
{
	svg_lanes(t, "The list over the day: its age, its length, refills, and those that failed. "
	    "The figures are in the table below.", lists, N_LANES(lists));
}

static void
picture_of_dispositions(const struct report_task *t)
{
	char *what = cli_text("What became of %s over the day. The figures are in the table below.",
	    report_loans(2));

	svg_lanes(t, what, dispositions, N_LANES(dispositions));
	free(what);
}

/* --- cards: a picture and its table --- */

static bool
has_answers(const struct lockq_day_task *day)
{
	return day->whole.answers > 0;
}

static bool
has_queries(const struct lockq_day_task *day)
{
	return day->n_queries > 0;
}

static bool
has_loans(const struct lockq_day_task *day)
{
	return day->whole.loans_listed + day->whole.loans_led > 0;
}

static bool
has_lists(const struct lockq_day_task *day)
{
	return day->whole.answers_listed + day->whole.refills > 0;
}

static bool
has_dispositions(const struct lockq_day_task *day)
{
	const struct lockq_quarter *q = &day->whole;

	return q->completed + q->returned + q->never + q->expired > 0;
}

static bool
has_leaders(const struct lockq_day_task *day)
{
	return day->n_leaders > 0;
}

static bool
has_people(const struct lockq_day_task *day)
{
	return day->n_people > 0;
}

static bool
has_failures(const struct lockq_day_task *day)
{
	return day->whole.failures > 0;
}

/* A sign of the picture, and what it stands for. */
#define KEY(sign, meaning) "<span><svg class=\"key\" viewBox=\"0 0 12 12\" width=\"12\" " \
	"height=\"12\" aria-hidden=\"true\">" sign "</svg> " meaning "</span>\n"
#define KEY_BAR(style) "<rect class=\"" style "\" x=\"2\" y=\"1\" width=\"8\" height=\"10\"/>"
#define KEY_LINE(style) "<path class=\"" style "\" d=\"M6 0L6 12\"/>"

static const struct card {
	const char *class, *title, *keys; /* "*" in the title stands for the task's loans */
	bool (*has)(const struct lockq_day_task *day);
	void (*picture)(const struct report_task *t);
	void (*table)(const struct report_task *t);
} cards[] = {
	{ "waits", "How long people waited",
	    KEY("<circle class=\"half\" cx=\"6\" cy=\"6\" r=\"2.4\"/>", "half of them, at most")
	    KEY(KEY_LINE("most"), "95 of 100") KEY(KEY_LINE("longest"), "the longest"),
	    has_answers, svg_waits, table_of_waits },
	{ "loans", "* given in a quarter of an hour",
	    KEY(KEY_BAR("listed"), "from the list") KEY(KEY_BAR("led"), "from leaders"),
	    has_loans, svg_loans, table_of_loans },
	{ "dispositions", "What became of *", "<span>in a quarter of an hour</span>",
	    has_dispositions, picture_of_dispositions, table_of_dispositions },
	{ "queries", "Heavy queries",
	    KEY("<circle class=\"query\" cx=\"6\" cy=\"6\" r=\"2.6\"/>", "what a query took")
	    KEY("<path class=\"failed\" d=\"M3 3l6 6m0 -6l-6 6\"/>", "a leader failed"),
	    has_queries, svg_queries, table_of_queries },
	{ "lists", "The list", "<span>in a quarter of an hour</span>", has_lists, picture_of_lists,
	    table_of_lists },
	{ "leaders", "Who led", "<span>how often, and for how long altogether</span>", has_leaders,
	    svg_leaders, table_of_leaders },
	{ "people", "Who completed", "<span>and what else each one said</span>",
	    has_people, NULL, table_of_people },
	{ "failures", "Why leaders failed", "<span>the last one first</span>", has_failures, NULL,
	    table_of_failures },
};

static void
title(FILE *out, const char *text)
{
	size_t before = strcspn(text, "*");

	fprintf(out, "%.*s", (int)before, text);
	if (text[before] != '\0')
		fprintf(out, "%s%s", before > 0 ? report_loans(2) : report_loans_title(),
		    text + before + 1);
}

static void
table(const struct report_task *t, const struct card *card)
{
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", t->out);
	title(t->out, card->title);
	fputs(": table\"><table>\n", t->out);
	card->table(t);
	fputs("</tbody></table></div>\n", t->out);
}

static void
draw_card(const struct report_task *t, const struct card *card)
{
	fprintf(t->out, "<figure class=\"card %s\">\n<figcaption><b>", card->class);
	title(t->out, card->title);
	fprintf(t->out, "</b><small>%s</small></figcaption>\n", card->keys);
	if (card->picture == NULL) {
		table(t, card);
	} else {
		card->picture(t);
		fputs("<details><summary>Figures</summary>\n", t->out);
		table(t, card);
		fputs("</details>\n", t->out);
	}
	fputs("</figure>\n", t->out);
}

void
report_task(const struct report_task *t, const struct lockq_stat *stat,
    const struct stat_health *health)
{
	const struct lockq_stats one = { .tasks = NULL, .n_tasks = 0 };

	fprintf(t->out, "<section id=\"task-%" PRIu32 "\">\n<h2><span>%" PRIu32 "</span> ",
	    stat->task, stat->task);
	report_name(t->out, stat->task_name);
	fputs("</h2>\n", t->out);
	report_findings(t->out, &one, health, stat->task);
	figures(t->out, &t->day->whole);
	fputs("<div class=\"cards\">\n", t->out);
	for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
		if (cards[i].has(t->day))
			draw_card(t, &cards[i]);
	}
	fputs("</div>\n</section>\n", t->out);
}
