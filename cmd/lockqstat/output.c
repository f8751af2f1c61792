/* SPDX-License-Identifier: MIT */
#include "lockqstat/tool.h"

#include <stdlib.h>

#include "cli/json.h"
#include "cli/table.h"

static void
text_stats(const struct lockq_stats *stats, enum stat_order order, const struct lockq_runs *runs)
{
	if (runs == NULL) {
		stat_table(stdout, stats, order, cli_stdout_style(), cli_table_width());
		return;
	}
	cli_heading("Task %u %s %s", stats->tasks[0].task, cli_dot(), stats->tasks[0].task_name);
	stat_table_of_task(stdout, &stats->tasks[0], runs, cli_stdout_style(), cli_table_width());
}

static json_t *
ms_or_null(int64_t ms)
{
	return ms < 0 ? json_null() : json_integer(ms);
}

static json_t *
json_list(const struct lockq_stat *s)
{
	json_t *list = json_object();

	if (!s->keeps_list) {
		json_decref(list);
		return json_null();
	}
	cli_json_set(list, "usable", json_boolean(s->has_list));
	cli_json_set(list, "due", json_boolean(s->list_due));
	cli_json_set(list, "length", cli_json_number(s->list_length));
	cli_json_set(list, "left", cli_json_number(s->list_left));
	cli_json_set(list, "age_s", cli_json_number(s->list_age_s));
	cli_json_set(list, "failures", cli_json_number(s->refill_failures));
	cli_json_set(list, "reason", cli_json_text(s->refill_reason));
	return list;
}

static json_t *
json_run(const struct lockq_run *r)
{
	json_t *run = json_object();

	cli_json_set(run, "epoch", cli_json_number(r->epoch));
	cli_json_set(run, "user", cli_json_text(r->user));
	cli_json_set(run, "how", cli_json_text(r->how));
	cli_json_set(run, "as_of", cli_json_time(r->as_of));
	cli_json_set(run, "started_at", cli_json_time(r->started_at));
	cli_json_set(run, "ended_at", cli_json_time(r->ended_at));
	cli_json_set(run, "took_ms", cli_json_number(r->took_ms));
	cli_json_set(run, "query_ms", ms_or_null(r->query_ms));
	cli_json_set(run, "check_ms", ms_or_null(r->check_ms));
	cli_json_set(run, "candidates", cli_json_number(r->candidates));
	cli_json_set(run, "dropped", cli_json_number(r->dropped));
	cli_json_set(run, "requests", cli_json_number(r->requests));
	cli_json_set(run, "loans", cli_json_number(r->loans));
	cli_json_set(run, "left_pending", cli_json_number(r->left_pending));
	cli_json_set(run, "retries", cli_json_number(r->retries));
	cli_json_set(run, "reason", cli_json_text(r->reason));
	return run;
}

static json_t *
json_trouble(const struct lockq_trouble *trouble, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct lockq_trouble *t = &trouble[i];
		json_t *object = json_object();

		cli_json_set(object, "operation", cli_json_text(t->operation));
		cli_json_set(object, "busy", cli_json_number(t->busy));
		cli_json_set(object, "lock_waits", cli_json_number(t->lock_waits));
		cli_json_set(object, "deadlocks", cli_json_number(t->deadlocks));
		cli_json_set(object, "retries", cli_json_number(t->retries));
		json_array_append_new(array, object);
	}
	return array;
}

/* Calls that were for no task in particular. */
static void
print_rest(const struct lockq_stats *stats)
{
	json_t *object = json_object();

	cli_json_set(object, "at", cli_json_time(stats->at));
	cli_json_set(object, "task", json_null());
	cli_json_set(object, "trouble", json_trouble(stats->trouble, stats->n_trouble));
	cli_json_print(object);
}

static void
json_stats(const struct lockq_stats *stats, enum stat_order order, const struct lockq_runs *runs)
{
	(void)order;
	for (size_t i = 0; i < stats->n_tasks; i++) {
		const struct lockq_stat *s = &stats->tasks[i];
		json_t *object = json_object();

		cli_json_set(object, "at", cli_json_time(stats->at));
		cli_json_set(object, "task", cli_json_number(s->task));
		cli_json_set(object, "name", cli_json_text(s->task_name));
		cli_json_set(object, "enabled", json_boolean(s->enabled));
		cli_json_set(object, "paused", cli_json_text(s->paused));
		cli_json_set(object, "leader", cli_json_text(s->leader));
		cli_json_set(object, "leading_ms", s->leader != NULL ?
		    cli_json_number(s->leading_ms) : json_null());
		cli_json_set(object, "epoch", cli_json_number(s->epoch));
		cli_json_set(object, "waiting", cli_json_number(s->waiting));
		cli_json_set(object, "unattended", cli_json_number(s->unattended));
		cli_json_set(object, "wanted", cli_json_number(s->wanted));
		cli_json_set(object, "oldest_s", cli_json_number(s->oldest_s));
		cli_json_set(object, "list", json_list(s));
		cli_json_set(object, "assigned", cli_json_number(s->assigned));
		cli_json_set(object, "overdue", cli_json_number(s->overdue));
		cli_json_set(object, "untidied_s", cli_json_number(s->untidied_s));
		cli_json_set(object, "answers", cli_json_number(s->answers));
		cli_json_set(object, "answers_empty", cli_json_number(s->answers_empty));
		cli_json_set(object, "answers_failed", cli_json_number(s->answers_failed));
		cli_json_set(object, "loans", cli_json_number(s->loans));
		cli_json_set(object, "loans_per_h", cli_json_number(s->loans_per_h));
		cli_json_set(object, "wait_p50_ms", ms_or_null(s->wait_p50_ms));
		cli_json_set(object, "wait_p95_ms", ms_or_null(s->wait_p95_ms));
		cli_json_set(object, "queries", cli_json_number(s->queries));
		cli_json_set(object, "query_p50_ms", ms_or_null(s->query_p50_ms));
		cli_json_set(object, "query_p95_ms", ms_or_null(s->query_p95_ms));
		cli_json_set(object, "failures", cli_json_number(s->failures));
		cli_json_set(object, "failures_in_a_row", cli_json_number(s->failures_in_a_row));
		cli_json_set(object, "failed",
		    cli_json_text(s->failed[0] != '\0' ? s->failed : NULL));
		cli_json_set(object, "trouble", json_trouble(s->trouble, s->n_trouble));
		if (runs != NULL)
			cli_json_set(object, "runs", json_array());
		for (size_t n = 0; runs != NULL && n < runs->n_runs; n++)
			json_array_append_new(json_object_get(object, "runs"),
			    json_run(&runs->runs[n]));
		cli_json_print(object);
	}
	if (stats->n_trouble > 0)
		print_rest(stats);
}

static void
json_health(const struct lockq_stats *stats, const struct stat_health *health)
{
	json_t *all = json_object();

	(void)stats;
	for (size_t i = 0; i < health->n; i++) {
		const struct stat_finding *f = &health->findings[i];
		json_t *object = json_object();

		cli_json_set(object, "task", cli_json_number(f->task));
		cli_json_set(object, "status", cli_json_text(stat_level_name(f->level)));
		cli_json_set(object, "code", cli_json_text(f->code));
		cli_json_set(object, "text", cli_json_text(f->text));
		cli_json_print(object);
	}
	cli_json_set(all, "task", json_null());
	cli_json_set(all, "status", cli_json_text(stat_level_name(health->level)));
	cli_json_set(all, "findings", cli_json_number(health->n));
	cli_json_set(all, "exit", json_integer((int)health->level));
	cli_json_print(all);
}

/* Monitoring programs show the first line. */
static void
text_health(const struct lockq_stats *stats, const struct stat_health *health)
{
	uint64_t waiting = 0;

	for (size_t i = 0; i < stats->n_tasks; i++)
		waiting += stats->tasks[i].waiting;
	for (size_t i = 0; i < health->n; i++)
		cli_put_line(stat_finding_text(&health->findings[i]));
	if (health->n == 0)
		cli_line("ok: %zu %s, %llu %s", stats->n_tasks,
		    stats->n_tasks == 1 ? "task" : "tasks", (unsigned long long)waiting,
		    waiting == 1 ? "request waits" : "requests wait");
}

static void
print_cursors(const struct lockq_cursors *cursors)
{
	static const struct cli_column columns[] = {
		{ "cursor", 0 }, { "behind", CLI_RIGHT }, { "next change", CLI_RIGHT },
		{ "position", CLI_RIGHT | CLI_SPARE(1) }, { "moved", CLI_SPARE(2) },
		{ "made", CLI_SPARE(4) }, { "by", CLI_TEXT | CLI_SPARE(3) },
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	size_t i;

	for (i = 0; i < cursors->n_cursors; i++) {
		const struct lockq_cursor *c = &cursors->cursors[i];
		struct cli_time moved = cli_local(c->moved_at);

		cli_table_cell(table, "%s", c->cursor);
		cli_table_cell(table, "%llu", (unsigned long long)c->lag);
		cli_table_cell(table, "%s", c->age_s < 0 ? "none" :
		    cli_age((uint64_t)c->age_s).text);
		cli_table_cell(table, "%llu", (unsigned long long)c->position);
		cli_table_cell(table, "%s", moved.text[0] != '\0' ? moved.text : "never");
		cli_table_cell(table, "%s", cli_local(c->made_at).text);
		cli_table_cell(table, "%s", c->account);
	}
	cli_table_print(table);
	cli_line("%zu %s", cursors->n_cursors, cursors->n_cursors == 1 ? "cursor" : "cursors");
}

static void
text_cursors(const struct lockq_cursors *cursors)
{
	if (cursors->n_cursors == 0)
		cli_line("there is no cursor: lockqstat --follow makes one");
	else
		print_cursors(cursors);
}

static void
json_cursors(const struct lockq_cursors *cursors)
{
	for (size_t i = 0; i < cursors->n_cursors; i++) {
		const struct lockq_cursor *c = &cursors->cursors[i];
		json_t *object = json_object();

		cli_json_set(object, "cursor", cli_json_text(c->cursor));
		cli_json_set(object, "position", cli_json_number(c->position));
		cli_json_set(object, "lag", cli_json_number(c->lag));
		cli_json_set(object, "age_s", c->age_s < 0 ? json_null() :
		    cli_json_number((uint64_t)c->age_s));
		cli_json_set(object, "made_at", cli_json_time(c->made_at));
		cli_json_set(object, "moved_at", cli_json_time(c->moved_at));
		cli_json_set(object, "account", cli_json_text(c->account));
		cli_json_print(object);
	}
}

static void
text_dropped(const char *cursor)
{
	cli_line("cursor \"%s\" is removed", cursor);
}

static void
json_dropped(const char *cursor)
{
	json_t *object = json_object();

	cli_json_set(object, "cursor", cli_json_text(cursor));
	cli_json_set(object, "done", json_string("removed"));
	cli_json_print(object);
}

const struct lockqstat_output *
lockqstat_output(bool json)
{
	static const struct lockqstat_output as_text = {
		text_stats, text_health, text_cursors, text_dropped
	};
	static const struct lockqstat_output as_json = {
		json_stats, json_health, json_cursors, json_dropped
	};

	return json ? &as_json : &as_text;
}
