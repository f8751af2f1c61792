/* SPDX-License-Identifier: MIT */
#include "lockqstat/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/json.h"
#include "cli/noun.h"
#include "cli/table.h"
#include "lockqstat/report.h"

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
json_stats(const struct lockq_stats *stats, const struct lockq_runs *runs)
{
	for (size_t i = 0; i < stats->n_tasks; i++) {
		const struct lockq_stat *s = &stats->tasks[i];
		json_t *object = json_object();

		cli_json_set(object, "at", cli_json_time(stats->at));
		cli_json_set(object, "task", cli_json_number(s->task));
		cli_json_set(object, "name", cli_json_text(s->task_name));
		cli_json_set(object, "enabled", json_boolean(s->enabled));
		cli_json_set(object, "paused", cli_json_text(s->paused));
		cli_json_set(object, "leader", cli_json_text(s->leader));
		cli_json_set(object, "held", cli_json_text(s->held));
		cli_json_set(object, "found", s->found < 0 ? json_null() : json_integer(s->found));
		cli_json_set(object, "found_age_s", s->found < 0 ? json_null() :
		    cli_json_number(s->found_age_s));
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
json_health(const struct stat_health *health)
{
	json_t *all = json_object();

	for (size_t i = 0; i < health->n; i++) {
		const struct stat_finding *f = &health->findings[i];
		json_t *object = json_object();

		cli_json_set(object, "task", f->task != 0 ? cli_json_number(f->task) :
		    json_null());
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

int
lockqstat_read(const struct lockqstat_options *o, struct lockq *q, uint32_t task,
    struct lockq_stats *stats, struct lockq_runs *runs)
{
	int rc = lockq_stats(q, task, stats);

	if (rc != LOCKQ_OK || task == 0)
		return rc;
	cli_noun_read(&o->common, q, task);
	rc = lockq_runs(q, task, o->runs, runs);
	return rc == LOCKQ_NOTHING ? LOCKQ_OK : rc;
}

int
lockqstat_failed(const struct lockqstat_options *o, struct lockq *q, int rc)
{
	if (!o->health)
		return cli_report_library(&o->common, q, rc);
	(void)cli_report(&o->common, STAT_UNKNOWN, "%s", cli_library_text(q, rc));
	cli_report_detail(&o->common, q);
	return STAT_UNKNOWN;
}

/* Cursors are no task's, so one task's figures are without them. */
static int
write_metrics(const struct lockqstat_options *o, struct lockq *q, const struct lockq_stats *stats,
    uint64_t began)
{
	struct lockq_cursors cursors = LOCKQ_CURSORS_INIT;
	int rc = o->task == 0 ? lockq_cursors(q, &cursors) : LOCKQ_OK, failure = 0, status;
	uint64_t ms = cli_clock_ms() - began;

	if (rc != LOCKQ_OK && rc != LOCKQ_NOTHING)
		return cli_report_library(&o->common, q, rc);
	if (o->metrics.path == NULL)
		stat_metrics(stdout, stats, &cursors, ms);
	else
		failure = stat_metrics_file(o->metrics.path, stats, &cursors, ms);
	status = failure == 0 ? CLI_EXIT_DONE : cli_report(&o->common, CLI_EXIT_DATABASE,
	    "file \"%s\" can't be written: %s", o->metrics.path, strerror(failure));
	lockq_cursors_clear(&cursors);
	return status;
}

static int
write_report(const struct lockqstat_options *o, struct lockq *q, const struct lockq_stats *stats)
{
	struct lockq_day day = LOCKQ_DAY_INIT;
	char *path = cli_text("%s/lockq.html", o->report);
	int rc = lockq_day(q, o->task, &day), failure = 0, status;

	if (rc != LOCKQ_OK && rc != LOCKQ_NOTHING)
		status = cli_report_library(&o->common, q, rc);
	else if (mkdir(o->report, S_IRWXU | S_IRWXG | S_IRWXO) != 0 && errno != EEXIST)
		status = cli_report(&o->common, CLI_EXIT_DATABASE,
		    "folder \"%s\" can't be made: %s", o->report, strerror(errno));
	else {
		failure = report_file(path, stats, &day, &o->common, q);
		status = failure == 0 ? CLI_EXIT_DONE : cli_report(&o->common, CLI_EXIT_DATABASE,
		    "file \"%s\" can't be written: %s", path, strerror(failure));
	}
	lockq_day_clear(&day);
	free(path);
	return status;
}

static int
say_health(const struct lockqstat_options *o, const struct lockq_stats *stats)
{
	struct stat_limits limits = STAT_LIMITS_USUAL;
	struct stat_health health;
	enum stat_level level;

	if (o->warning_s > 0)
		limits.warning_s = o->warning_s;
	if (o->critical_s > 0)
		limits.critical_s = o->critical_s;
	stat_health_look(&health, stats, &limits);
	if (o->common.json)
		json_health(&health);
	else
		text_health(stats, &health);
	level = health.level;
	stat_health_clear(&health);
	return (int)level;
}

int
lockqstat_look(const struct lockqstat_options *o, struct lockq *q)
{
	struct lockq_stats stats = LOCKQ_STATS_INIT;
	struct lockq_runs runs = LOCKQ_RUNS_INIT;
	uint64_t began = cli_clock_ms();
	int rc = lockqstat_read(o, q, o->task, &stats, &runs), status;

	if (rc == LOCKQ_OK || rc == LOCKQ_NOTHING)
		stat_sort(&stats, o->order);
	if (rc != LOCKQ_OK && rc != LOCKQ_NOTHING)
		status = lockqstat_failed(o, q, rc);
	else if (o->health)
		status = say_health(o, &stats);
	else if (o->metrics.wanted)
		status = write_metrics(o, q, &stats, began);
	else if (o->report != NULL)
		status = write_report(o, q, &stats);
	else {
		if (o->common.json)
			json_stats(&stats, o->task != 0 ? &runs : NULL);
		else
			text_stats(&stats, o->order, o->task != 0 ? &runs : NULL);
		status = cli_exit_status(rc, cli_caught());
	}
	lockq_stats_clear(&stats);
	lockq_runs_clear(&runs);
	return status;
}
