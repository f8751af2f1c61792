/* SPDX-License-Identifier: MIT */
#include "lockqstat/tool.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/noun.h"
#include "cli/table.h"
#include "cli/utf8.h"

static const char *const orders[] = {
	[STAT_BY_TASK] = "task", [STAT_BY_WAITING] = "waiting", [STAT_BY_OLDEST] = "oldest",
	[STAT_BY_ASSIGNED] = "assigned", [STAT_BY_LOANS] = "loans", [STAT_BY_WAIT] = "wait",
	[STAT_BY_QUERY] = "query", [STAT_BY_FAILURES] = "failures"
};

const char *
stat_order_name(enum stat_order order)
{
	return orders[order];
}

static uint64_t
or_zero(int64_t ms)
{
	return ms > 0 ? (uint64_t)ms : 0;
}

static uint64_t
key(const struct lockq_stat *s, enum stat_order order)
{
	switch (order) {
	case STAT_BY_WAITING: return s->waiting;
	case STAT_BY_OLDEST: return s->oldest_s;
	case STAT_BY_ASSIGNED: return s->assigned;
	case STAT_BY_LOANS: return s->loans_per_h;
	case STAT_BY_WAIT: return or_zero(s->wait_p95_ms);
	case STAT_BY_QUERY: return or_zero(s->query_p95_ms);
	case STAT_BY_FAILURES: return s->failures + s->refill_failures;
	case STAT_BY_TASK:
	case STAT_ORDERS: break;
	}
	return 0;
}

/* qsort() hands nothing on to the function that compares. */
static enum stat_order sorted_by;

static int
compare(const void *a, const void *b)
{
	const struct lockq_stat *one = a, *other = b;
	uint64_t of_one = key(one, sorted_by), of_other = key(other, sorted_by);

	if (of_one != of_other)
		return of_one > of_other ? -1 : 1;
	return one->task < other->task ? -1 : one->task > other->task;
}

void
stat_sort(struct lockq_stats *stats, enum stat_order order)
{
	sorted_by = order;
	qsort(stats->tasks, stats->n_tasks, sizeof(*stats->tasks), compare);
}

static void
cell_of_number(struct cli_table *table, uint64_t number)
{
	if (number == 0)
		cli_table_cell(table, "-");
	else
		cli_table_cell(table, "%" PRIu64, number);
}

static void
cell_of_ms(struct cli_table *table, int64_t ms)
{
	cli_table_cell(table, "%s", ms < 0 ? "-" : cli_ms((uint64_t)ms).text);
}

static void
cell_of_age(struct cli_table *table, bool there, uint64_t seconds)
{
	cli_table_cell(table, "%s", there ? cli_age(seconds).text : "-");
}

static void
add_row(struct cli_table *table, const struct lockq_stat *s)
{
	struct lockq_trouble sum = { "", 0, 0, 0, 0, { 0 } };

	for (size_t i = 0; i < s->n_trouble; i++) {
		sum.retries += s->trouble[i].retries;
		sum.deadlocks += s->trouble[i].deadlocks;
	}
	cli_table_cell(table, "%u", s->task);
	cli_table_cell(table, "%s", s->task_name);
	cli_table_cell(table, "%s", s->leader != NULL ? s->leader : !s->enabled ? "(disabled)" :
	    s->paused != NULL ? "(paused)" : "-");
	cell_of_age(table, s->leader != NULL, s->leading_ms / 1000);
	cell_of_number(table, s->waiting);
	cell_of_age(table, s->waiting > 0, s->oldest_s);
	if (s->has_list)
		cli_table_cell(table, "%" PRIu64, s->list_left);
	else if (!s->keeps_list && s->found >= 0)
		cli_table_cell(table, "found %" PRId64, s->found);
	else
		cli_table_cell(table, "%s", s->keeps_list ? "none" : "-");
	cell_of_age(table, s->has_list || (!s->keeps_list && s->found >= 0),
	    s->has_list ? s->list_age_s : s->found_age_s);
	cell_of_number(table, s->assigned);
	cell_of_number(table, s->overdue);
	cell_of_number(table, s->loans_per_h);
	cell_of_ms(table, s->wait_p50_ms);
	cell_of_ms(table, s->wait_p95_ms);
	cell_of_ms(table, s->query_p50_ms);
	cell_of_ms(table, s->query_p95_ms);
	cell_of_number(table, sum.retries);
	cell_of_number(table, sum.deadlocks);
	cell_of_number(table, s->failures + s->refill_failures);
}

size_t
stat_table_first_row(enum cli_style style)
{
	return style == CLI_BOXES ? 3 : 2;
}

/* Its column is shown wherever the table fits. */
static const unsigned int column_of[] = {
	[STAT_BY_TASK] = 0, [STAT_BY_WAITING] = 4, [STAT_BY_OLDEST] = 5, [STAT_BY_ASSIGNED] = 8,
	[STAT_BY_LOANS] = 10, [STAT_BY_WAIT] = 12, [STAT_BY_QUERY] = 14, [STAT_BY_FAILURES] = 17
};

void
stat_table(FILE *out, const struct lockq_stats *stats, enum stat_order order,
    enum cli_style style, size_t width)
{
	struct cli_column columns[] = {
		{ "task", CLI_RIGHT }, { "name", CLI_TEXT }, { "leader", CLI_TEXT },
		{ "led for", CLI_RIGHT | CLI_SPARE(7) }, { "waiting", CLI_RIGHT },
		{ "oldest", CLI_RIGHT }, { "list", CLI_RIGHT | CLI_SPARE(2) },
		{ "age", CLI_RIGHT | CLI_SPARE(8) }, { "assigned", CLI_RIGHT | CLI_SPARE(5) },
		{ "overdue", CLI_RIGHT | CLI_SPARE(9) }, { "loans/h", CLI_RIGHT | CLI_SPARE(3) },
		{ "wait p50", CLI_RIGHT | CLI_SPARE(10) },
		{ "wait p95", CLI_RIGHT | CLI_SPARE(4) },
		{ "query p50", CLI_RIGHT | CLI_SPARE(6) },
		{ "query p95", CLI_RIGHT | CLI_SPARE(11) },
		{ "retries", CLI_RIGHT | CLI_SPARE(12) },
		{ "deadlocks", CLI_RIGHT | CLI_SPARE(13) },
		{ "failed", CLI_RIGHT | CLI_SPARE(1) },
	};
	struct stat_health health;
	struct cli_table *table;

	columns[column_of[order]].is &= CLI_RIGHT | CLI_TEXT;
	table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < stats->n_tasks; i++)
		add_row(table, &stats->tasks[i]);
	cli_table_fit(out, table, style, width);
	stat_health_look(&health, stats, &STAT_LIMITS_USUAL);
	for (size_t i = 0; i < health.n; i++) {
		char *line = cli_escaped(stat_finding_text(&health.findings[i]));

		cli_fold(out, line, width);
		fputc('\n', out);
		free(line);
	}
	stat_health_clear(&health);
}

/* --- one task --- */

static void
add_fact(struct cli_table *table, const char *what, char *value)
{
	cli_table_cell(table, "%s", what);
	cli_table_add(table, value);
}

static char *
ms_pair(int64_t p50, int64_t p95)
{
	return p50 < 0 ? cli_text("none") :
	    cli_text("half of them %s or less, 95 of 100 %s or less", cli_ms(or_zero(p50)).text,
		cli_ms(or_zero(p95)).text);
}

static char *
list_fact(const struct lockq_stat *s)
{
	if (!s->keeps_list && s->found < 0)
		return cli_text("none is kept: each leader runs the query");
	if (!s->keeps_list)
		return cli_text("none is kept: the last query found %" PRId64 " %s %s ago",
		    s->found, cli_loans((uint64_t)s->found), cli_age(s->found_age_s).text);
	if (!s->has_list)
		return cli_text("none at the moment");
	return cli_text("%" PRIu64 " %s left, %" PRIu64 " at first, %s old%s", s->list_left,
	    cli_loans(s->list_left), s->list_length, cli_age(s->list_age_s).text,
	    s->list_due ? ", to be filled anew" : "");
}

/* The user who leads, or the reason why nobody does. */
static char *
leader_fact(const struct lockq_stat *s)
{
	if (s->leader != NULL)
		return cli_text("%s, for %s", s->leader, cli_ms(s->leading_ms).text);
	if (!s->enabled)
		return cli_text("nobody: the task is disabled");
	if (s->paused != NULL)
		return cli_text("nobody: the task is paused: %s", s->paused);
	return s->held != NULL ? cli_text("nobody: %s", s->held) : cli_text("nobody");
}

static void
add_facts(struct cli_table *table, const struct lockq_stat *s)
{
	add_fact(table, "leader", leader_fact(s));
	add_fact(table, "waiting", s->waiting == 0 ? cli_text("nobody") :
	    cli_text("%" PRIu64 " %s for %" PRIu64 " %s, the oldest for %s", s->waiting,
		s->waiting == 1 ? "request" : "requests", s->wanted,
		cli_loans(s->wanted), cli_age(s->oldest_s).text));
	if (s->unattended > 0)
		add_fact(table, "about to expire", cli_text("%" PRIu64 " that nobody looks after",
		    s->unattended));
	add_fact(table, "list", list_fact(s));
	if (s->refill_failures > 0)
		add_fact(table, "refill", cli_text("failed %" PRIu64 " times in a row: %s",
		    s->refill_failures, s->refill_reason != NULL ? s->refill_reason : "?"));
	add_fact(table, "assigned", cli_text("%" PRIu64 " %s, %" PRIu64 " overdue", s->assigned,
	    cli_loans(s->assigned), s->overdue));
	add_fact(table, "answers", cli_text("%" PRIu64 ": %" PRIu64 " without work, %" PRIu64
	    " failed", s->answers, s->answers_empty, s->answers_failed));
	add_fact(table, cli_loans(2), cli_text("%" PRIu64 " given, %" PRIu64 " in an hour at that "
	    "speed", s->loans, s->loans_per_h));
	add_fact(table, "waits", ms_pair(s->wait_p50_ms, s->wait_p95_ms));
	add_fact(table, "queries", ms_pair(s->query_p50_ms, s->query_p95_ms));
	add_fact(table, "leaders", cli_text("%" PRIu64 " with a query, %" PRIu64 " failed",
	    s->queries, s->failures));
	for (size_t i = 0; i < s->n_trouble; i++) {
		const struct lockq_trouble *t = &s->trouble[i];

		add_fact(table, "held up", cli_text("%s: %" PRIu64 " busy, %" PRIu64 " lock waits, "
		    "%" PRIu64 " deadlocks, %" PRIu64 " retries", t->operation, t->busy,
		    t->lock_waits, t->deadlocks, t->retries));
	}
}

static void
add_run(struct cli_table *table, const struct lockq_run *r)
{
	cli_table_cell(table, "%" PRIu64, r->epoch);
	cli_table_cell(table, "%s", r->user);
	cli_table_cell(table, "%s", cli_local_s(r->started_at).text);
	cli_table_cell(table, "%s", r->how);
	cli_table_cell(table, "%s", cli_ms(r->took_ms).text);
	cell_of_ms(table, r->query_ms);
	if (r->query_ms < 0)
		cli_table_cell(table, "-");
	else
		cli_table_cell(table, "%" PRIu64, r->candidates);
	cell_of_number(table, r->requests);
	cell_of_number(table, r->loans);
	cell_of_number(table, r->left_pending);
	cell_of_number(table, r->dropped);
	cell_of_number(table, r->retries);
	cli_table_cell(table, "%s", r->reason != NULL ? r->reason : "");
}

static void
print_runs(FILE *out, const struct lockq_runs *runs, enum cli_style style, size_t width)
{
	char *from = cli_text("%s from", cli_loans(2));
	const struct cli_column columns[] = {
		{ "epoch", CLI_RIGHT }, { "leader", CLI_TEXT }, { "began", 0 },
		{ from, CLI_TEXT | CLI_SPARE(3) }, { "led for", CLI_RIGHT | CLI_SPARE(2) },
		{ "query", CLI_RIGHT }, { "found", CLI_RIGHT | CLI_SPARE(4) },
		{ "requests", CLI_RIGHT }, { cli_loans(2), CLI_RIGHT },
		{ "left", CLI_RIGHT | CLI_SPARE(5) }, { "dropped", CLI_RIGHT | CLI_SPARE(6) },
		{ "retries", CLI_RIGHT | CLI_SPARE(7) }, { "reason", CLI_TEXT | CLI_SPARE(1) },
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; i < runs->n_runs; i++)
		add_run(table, &runs->runs[i]);
	cli_table_fit(out, table, style, width);
	free(from);
}

void
stat_table_of_task(FILE *out, const struct lockq_stat *task, const struct lockq_runs *runs,
    enum cli_style style, size_t width)
{
	static const struct cli_column columns[] = {
		{ "figure", 0 }, { "now, or in the last hour", CLI_TEXT }
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));

	if (!task->enabled)
		add_fact(table, "disabled", cli_text("whoever asks is refused"));
	if (task->paused != NULL)
		add_fact(table, "paused", cli_text("%s", task->paused));
	add_facts(table, task);
	cli_table_fit(out, table, style, width);
	if (runs->n_runs > 0)
		print_runs(out, runs, style, width);
	else
		fprintf(out, "nobody has led it yet\n");
}
