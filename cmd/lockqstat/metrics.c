/* SPDX-License-Identifier: MIT */
#include "lockqstat/tool.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cli/utf8.h"

/* Each returns a task's value, or a negative number where it has none. */
static int64_t enabled(const struct lockq_stat *s) { return s->enabled; }
static int64_t paused(const struct lockq_stat *s) { return s->paused != NULL; }
static int64_t led(const struct lockq_stat *s) { return s->leader != NULL; }
static int64_t leading(const struct lockq_stat *s) { return (int64_t)s->leading_ms; }
static int64_t waiting(const struct lockq_stat *s) { return (int64_t)s->waiting; }
static int64_t oldest(const struct lockq_stat *s) { return (int64_t)s->oldest_s; }
static int64_t wanted(const struct lockq_stat *s) { return (int64_t)s->wanted; }
static int64_t list_left(const struct lockq_stat *s)
{
	return !s->keeps_list ? -1 : s->has_list ? (int64_t)s->list_left : 0;
}
static int64_t list_age(const struct lockq_stat *s)
{
	return s->has_list ? (int64_t)s->list_age_s : -1;
}
static int64_t list_due(const struct lockq_stat *s) { return s->keeps_list ? s->list_due : -1; }
static int64_t refills(const struct lockq_stat *s) { return (int64_t)s->refill_failures; }
static int64_t assigned(const struct lockq_stat *s) { return (int64_t)s->assigned; }
static int64_t overdue(const struct lockq_stat *s) { return (int64_t)s->overdue; }
static int64_t untidied(const struct lockq_stat *s) { return (int64_t)s->untidied_s; }
static int64_t rate(const struct lockq_stat *s) { return (int64_t)s->loans_per_h; }
static int64_t answers(const struct lockq_stat *s) { return (int64_t)s->answers; }
static int64_t empty(const struct lockq_stat *s) { return (int64_t)s->answers_empty; }
static int64_t answers_failed(const struct lockq_stat *s) { return (int64_t)s->answers_failed; }
static int64_t wait_p50(const struct lockq_stat *s) { return s->wait_p50_ms; }
static int64_t wait_p95(const struct lockq_stat *s) { return s->wait_p95_ms; }
static int64_t queries(const struct lockq_stat *s) { return (int64_t)s->queries; }
static int64_t query_p50(const struct lockq_stat *s) { return s->query_p50_ms; }
static int64_t query_p95(const struct lockq_stat *s) { return s->query_p95_ms; }
static int64_t failures(const struct lockq_stat *s) { return (int64_t)s->failures; }
static int64_t in_a_row(const struct lockq_stat *s) { return (int64_t)s->failures_in_a_row; }
static int64_t max_query(const struct lockq_stat *s) { return (int64_t)s->max_query_s; }
static int64_t epoch(const struct lockq_stat *s) { return (int64_t)s->epoch; }

/* All are gauges: rows of the past are purged, so nothing only ever grows. */
static const struct metric {
	const char *name, *help;
	int64_t (*value)(const struct lockq_stat *s);
	bool is_ms; /* and shown in seconds */
} metrics[] = {
	{ "lockq_task_enabled", "Whether the task takes requests", enabled, false },
	{ "lockq_task_paused", "Whether a manager has paused the task", paused, false },
	{ "lockq_leader", "Whether a process leads", led, false },
	{ "lockq_leading_seconds", "For how long it has led", leading, true },
	{ "lockq_max_query_seconds", "For how long a query of the task may run", max_query, false },
	{ "lockq_epoch", "Epoch of the last leader that has committed", epoch, false },
	{ "lockq_waiting_requests", "Pending requests that somebody looks after", waiting, false },
	{ "lockq_wanted_loans", "Loans that those requests want", wanted, false },
	{ "lockq_oldest_wait_seconds", "For how long the oldest of them has waited",
	    oldest, false },
	{ "lockq_list_loans", "Loans that are left of the kept list", list_left, false },
	{ "lockq_list_age_seconds", "Time since the start of the query of the list",
	    list_age, false },
	{ "lockq_list_due", "Whether it is time to fill the list anew", list_due, false },
	{ "lockq_refill_failures", "Tries to fill the list that failed, in a row", refills, false },
	{ "lockq_assigned_loans", "Loans that users have", assigned, false },
	{ "lockq_overdue_loans", "Loans whose lease has ended", overdue, false },
	{ "lockq_untidied_seconds", "For how long disposition --expire has had work",
	    untidied, false },
	{ "lockq_loans_per_hour", "Loans given, at the speed of the last hour", rate, false },
	{ "lockq_answers", "Requests answered in the last hour", answers, false },
	{ "lockq_answers_empty", "Requests of the last hour that found no work", empty, false },
	{ "lockq_answers_failed", "Requests of the last hour that failed", answers_failed, false },
	{ "lockq_wait_p50_seconds", "Half of the requests of the last hour waited no longer",
	    wait_p50, true },
	{ "lockq_wait_p95_seconds", "95 of 100 requests of the last hour waited no longer",
	    wait_p95, true },
	{ "lockq_queries", "Heavy queries of the last hour that did not fail", queries, false },
	{ "lockq_query_p50_seconds", "Half of the queries of the last hour took no longer",
	    query_p50, true },
	{ "lockq_query_p95_seconds", "95 of 100 queries of the last hour took no longer",
	    query_p95, true },
	{ "lockq_failures", "Leaders of the last hour that failed", failures, false },
	{ "lockq_failures_in_a_row", "The last so many leaders failed", in_a_row, false },
};

/* The value of a label: a name from the database, one line of UTF-8. */
static void
print_label(FILE *out, const char *text)
{
	char *escaped = cli_escape(text);

	for (const char *c = escaped; *c != '\0'; c++) {
		if (*c == '\\' || *c == '"')
			putc('\\', out);
		putc(*c, out);
	}
	free(escaped);
}

/* Without floating point, whose decimal point is the locale's. */
static void
print_value(FILE *out, int64_t value, bool is_ms)
{
	if (is_ms)
		fprintf(out, "%" PRId64 ".%03d\n", value / 1000, (int)(value % 1000));
	else
		fprintf(out, "%" PRId64 "\n", value);
}

static void
print_head(FILE *out, const struct metric *metric)
{
	fprintf(out, "# HELP %s %s.\n# TYPE %s gauge\n", metric->name, metric->help, metric->name);
}

/* A task without a value has no line, and a metric without lines has no head. */
static void
print_metric(FILE *out, const struct metric *metric, const struct lockq_stats *stats)
{
	bool begun = false;

	for (size_t i = 0; i < stats->n_tasks; i++) {
		int64_t value = metric->value(&stats->tasks[i]);

		if (value < 0)
			continue;
		if (!begun)
			print_head(out, metric);
		begun = true;
		fprintf(out, "%s{task=\"%u\",name=\"", metric->name, stats->tasks[i].task);
		print_label(out, stats->tasks[i].task_name);
		fputs("\"} ", out);
		print_value(out, value, metric->is_ms);
	}
}

static uint64_t busy(const struct lockq_trouble *t) { return t->busy; }
static uint64_t lock_waits(const struct lockq_trouble *t) { return t->lock_waits; }
static uint64_t deadlocks(const struct lockq_trouble *t) { return t->deadlocks; }
static uint64_t retries(const struct lockq_trouble *t) { return t->retries; }

/* What held up calls, by operation. */
static const struct trouble_metric {
	struct metric metric;
	uint64_t (*value)(const struct lockq_trouble *t);
} troubles[] = {
	{ { "lockq_busy_calls", "Calls of the last hour that ended busy", NULL, false }, busy },
	{ { "lockq_lock_waits", "Statements of the last hour that waited too long for a lock", NULL,
	    false }, lock_waits },
	{ { "lockq_deadlocks", "Statements of the last hour that ended with a deadlock", NULL,
	    false }, deadlocks },
	{ { "lockq_retries", "What calls of the last hour tried again", NULL, false }, retries },
};

/* @name is the task's, or "" for calls that were for no task in particular. */
static void
print_trouble(FILE *out, const struct trouble_metric *m, uint32_t task, const char *name,
    const struct lockq_trouble *trouble, size_t n, bool *begun)
{
	for (size_t i = 0; i < n; i++) {
		if (!*begun)
			print_head(out, &m->metric);
		*begun = true;
		fprintf(out, "%s{task=\"%u\",name=\"", m->metric.name, task);
		print_label(out, name);
		fprintf(out, "\",operation=\"%s\"} %" PRIu64 "\n", trouble[i].operation,
		    m->value(&trouble[i]));
	}
}

static int64_t behind(const struct lockq_cursor *c) { return (int64_t)c->lag; }
static int64_t age(const struct lockq_cursor *c) { return c->age_s < 0 ? 0 : c->age_s; }

static const struct cursor_metric {
	struct metric metric;
	int64_t (*value)(const struct lockq_cursor *c);
} cursor_metrics[] = {
	{ { "lockq_cursor_behind", "Changes that a reader of the feed has not acknowledged, about",
	    NULL, false }, behind },
	{ { "lockq_cursor_age_seconds", "Time since the first of them happened", NULL, false },
	    age },
};

static void
print_findings(FILE *out, const struct lockq_stats *stats)
{
	static const struct metric metric = { "lockq_finding",
		"Something is wrong, as lockqstat --health says", NULL, false };
	struct stat_health health;

	stat_health_look(&health, stats, &STAT_LIMITS_USUAL);
	if (health.n > 0)
		print_head(out, &metric);
	for (size_t i = 0; i < health.n; i++)
		fprintf(out, "%s{task=\"%u\",code=\"%s\",status=\"%s\"} 1\n", metric.name,
		    health.findings[i].task, health.findings[i].code,
		    stat_level_name(health.findings[i].level));
	stat_health_clear(&health);
}

void
stat_metrics(FILE *out, const struct lockq_stats *stats, const struct lockq_cursors *cursors,
    uint64_t took_ms)
{
	static const struct metric took = {
		"lockq_stat_seconds", "Time that it took to read these figures", NULL, true
	};

	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++)
		print_metric(out, &metrics[m], stats);
	for (size_t m = 0; m < sizeof(troubles) / sizeof(troubles[0]); m++) {
		bool begun = false;

		for (size_t i = 0; i < stats->n_tasks; i++)
			print_trouble(out, &troubles[m], stats->tasks[i].task,
			    stats->tasks[i].task_name, stats->tasks[i].trouble,
			    stats->tasks[i].n_trouble, &begun);
		print_trouble(out, &troubles[m], 0, "", stats->trouble, stats->n_trouble, &begun);
	}
	print_findings(out, stats);
	for (size_t m = 0; m < sizeof(cursor_metrics) / sizeof(cursor_metrics[0]); m++) {
		if (cursors->n_cursors > 0)
			print_head(out, &cursor_metrics[m].metric);
		for (size_t i = 0; i < cursors->n_cursors; i++) {
			const struct lockq_cursor *c = &cursors->cursors[i];

			/* The name of a cursor needs no escapes. */
			fprintf(out, "%s{cursor=\"%s\"} ", cursor_metrics[m].metric.name,
			    c->cursor);
			print_value(out, cursor_metrics[m].value(c), false);
		}
	}
	print_head(out, &took);
	fprintf(out, "%s ", took.name);
	print_value(out, (int64_t)took_ms, took.is_ms);
}

struct reading {
	const struct lockq_stats *stats;
	const struct lockq_cursors *cursors;
	uint64_t took_ms;
};

static void
write_metrics(FILE *out, const void *data)
{
	const struct reading *reading = data;

	stat_metrics(out, reading->stats, reading->cursors, reading->took_ms);
}

int
stat_metrics_file(const char *path, const struct lockq_stats *stats,
    const struct lockq_cursors *cursors, uint64_t took_ms)
{
	/* The collector runs as another user. */
	return whole_file(path, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH, write_metrics,
	    &(struct reading){ stats, cursors, took_ms });
}
