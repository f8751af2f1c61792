/* SPDX-License-Identifier: MIT */
/* What is going on: lockq_stats() reads how each task stands, lockq_runs() who led a task and what
 * came of it. An operator asks while the database is busy, so no statement here takes a lock, and
 * none counts a large table: each one reads by an index what is going on, or the last rows that
 * leaders and takers have written, and how many it reads is bounded. */
#include <stdlib.h>

#include "getwork/request.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/patience.h"
#include "handle/session.h"
#include "list/kept.h"

/* In each statement the parameter is the task, twice; 0 stands for all of them. */
#define ASKED_TASK "(? = 0 OR t.task_id = ?)"

/* A procedure of schema/doors: an account that could read task_lock could lock its rows. */
static const struct db_query stat_leaders = { "stat_leaders", "CALL leaders(?)", DB_MANY };

/* By the index of pending requests. A request that nobody looks after is about to expire, so it
 * waits for nothing. */
static const struct db_query stat_waiting = {
	"stat_waiting",
	"SELECT d.task_id, COALESCE(SUM(d.attended), 0), COALESCE(SUM(NOT d.attended), 0),"
	"       COALESCE(SUM(IF(d.attended, d.requested, 0)), 0),"
	"       COALESCE(MAX(IF(d.attended, d.age, NULL)), 0)"
	"  FROM (SELECT t.task_id, r.requested,"
	"               r.seen_at >= NOW(6) - INTERVAL t.request_ttl SECOND AS attended,"
	"               GREATEST(TIMESTAMPDIFF(SECOND, r.created_at, NOW(6)), 0) AS age"
	"          FROM task AS t"
	"          STRAIGHT_JOIN work_requested AS r FORCE INDEX (work_requested_line)"
	"            ON r.task_id = t.task_id AND r.pending = 1"
	"         WHERE " ASKED_TASK ") AS d"
	" GROUP BY d.task_id",
	DB_MANY
};

/* By the index of each user's assignments, which has no other rows. */
static const struct db_query stat_assigned = {
	"stat_assigned",
	"SELECT d.task_id, COUNT(*)"
	"  FROM (SELECT w.task_id"
	"          FROM app_user AS u"
	"          STRAIGHT_JOIN work AS w FORCE INDEX (work_pipeline)"
	"            ON w.user_id = u.user_id AND w.state = 'assigned'"
	"         WHERE ? = 0 OR w.task_id = ?"
	"         LIMIT " NUMBER_TEXT(LOCKQ_STAT_ASSIGNED_MOST) ") AS d"
	" GROUP BY d.task_id",
	DB_MANY
};

/* Of work_due, whose rows cron takes out: it has many that are over only where cron does not
 * run. */
static const struct db_query stat_overdue = {
	"stat_overdue",
	"SELECT d.task_id, SUM(d.state = 'assigned'),"
	"       GREATEST(TIMESTAMPDIFF(SECOND, MIN(d.due_at), NOW(6)), 0)"
	"  FROM (SELECT w.task_id, w.state, w.due_at"
	"          FROM work AS w FORCE INDEX (work_due)"
	"         WHERE w.due_at <= NOW(6)"
	"         ORDER BY w.due_at"
	"         LIMIT " NUMBER_TEXT(LOCKQ_STAT_OVERDUE_MOST) ") AS d"
	" WHERE ? = 0 OR d.task_id = ?"
	" GROUP BY d.task_id",
	DB_MANY
};

/* The last requests of each task that have ended. ORDER BY names all columns of the index, or the
 * server would sort all requests of a task. Fewer than the bound are all that there are. Those that
 * were cancelled or have expired are no answers, but they count for the bound: the speed is that of
 * the time over which all of these requests have ended. */
static const struct db_query stat_answers = {
	"stat_answers",
	"SELECT d.task_id, SUM(d.counts), SUM(d.counts AND d.outcome = 'failed'),"
	"       SUM(d.counts AND d.outcome = 'empty'), SUM(IF(d.counts, d.assigned, 0)),"
	"       IF(COUNT(*) < " NUMBER_TEXT(LOCKQ_STAT_ANSWERS)
	"          OR COALESCE(MIN(d.served_at) <= NOW(6) - INTERVAL 1 HOUR, TRUE), 3600000,"
	"          GREATEST(TIMESTAMPDIFF(MICROSECOND, MIN(d.served_at), NOW(6)) DIV 1000, 1)),"
	"       MAX(IF(d.counts AND d.place <= CEIL(d.n * 0.5), d.ms, NULL)),"
	"       MAX(IF(d.counts AND d.place <= CEIL(d.n * 0.95), d.ms, NULL))"
	"  FROM (SELECT s.*,"
	"               ROW_NUMBER() OVER (PARTITION BY s.task_id, s.counts ORDER BY s.ms)"
	"               AS place,"
	"               COUNT(*) OVER (PARTITION BY s.task_id, s.counts) AS n"
	"          FROM (SELECT t.task_id, r.outcome, r.assigned, r.served_at, r.ms,"
	"                       r.outcome IN ('served', 'partial', 'empty', 'failed')"
	"                       AND r.served_at > NOW(6) - INTERVAL 1 HOUR AS counts"
	"                  FROM task AS t"
	"                  JOIN LATERAL"
	"                       (SELECT q.outcome, q.assigned, q.served_at,"
	"                               " REQUEST_WAITED_MS("q") " AS ms"
	"                          FROM work_requested AS q FORCE INDEX (work_requested_line)"
	"                         WHERE q.task_id = t.task_id AND q.pending IS NULL"
	"                         ORDER BY q.task_id DESC, q.pending DESC, q.request_id DESC"
	"                         LIMIT " NUMBER_TEXT(LOCKQ_STAT_ANSWERS) ") AS r"
	"                 WHERE " ASKED_TASK ") AS s) AS d"
	" GROUP BY d.task_id",
	DB_MANY
};

static const struct db_query stat_queries = {
	"stat_queries",
	"SELECT d.task_id, SUM(d.ran), SUM(d.how = 'failed'),"
	"       MAX(IF(d.ran AND d.place <= CEIL(d.n * 0.5), d.query_ms, NULL)),"
	"       MAX(IF(d.ran AND d.place <= CEIL(d.n * 0.95), d.query_ms, NULL)),"
	"       MAX(IF(d.latest = 1 AND d.how = 'failed', d.reason, NULL)),"
	"       COALESCE(MIN(IF(d.how <> 'failed', d.latest, NULL)), COUNT(*) + 1) - 1"
	"  FROM (SELECT s.*,"
	"               ROW_NUMBER() OVER (PARTITION BY s.task_id, s.ran ORDER BY s.query_ms)"
	"               AS place,"
	"               COUNT(*) OVER (PARTITION BY s.task_id, s.ran) AS n,"
	"               ROW_NUMBER() OVER (PARTITION BY s.task_id ORDER BY s.epoch DESC) AS latest"
	"          FROM (SELECT t.task_id, r.epoch, r.how, r.reason, r.query_ms,"
	"                       r.query_ms IS NOT NULL AND r.how <> 'failed' AS ran"
	"                  FROM task AS t"
	"                  JOIN LATERAL"
	"                       (SELECT p.epoch, p.how, p.reason, p.query_ms, p.ended_at"
	"                          FROM leader_run AS p FORCE INDEX (PRIMARY)"
	"                         WHERE p.task_id = t.task_id"
	"                         ORDER BY p.task_id DESC, p.epoch DESC"
	"                         LIMIT " NUMBER_TEXT(LOCKQ_STAT_RUNS) ") AS r"
	"                 WHERE " ASKED_TASK
	"                   AND r.ended_at > NOW(6) - INTERVAL 1 HOUR) AS s) AS d"
	" GROUP BY d.task_id",
	DB_MANY
};

/* Of calls that were held up each adds to a row, see handle/operation.c. */
static const struct db_query stat_trouble = {
	"stat_trouble",
	"SELECT b.task_id, b.operation, SUM(b.busy), SUM(b.lock_waits), SUM(b.deadlocks),"
	"       SUM(b.retries)"
	"  FROM task_trouble AS b"
	" WHERE (? = 0 OR b.task_id = ?) AND b.slot > NOW() - INTERVAL 1 HOUR"
	" GROUP BY b.task_id, b.operation"
	" ORDER BY b.task_id, b.operation",
	DB_MANY
};

static void
fill_waiting(struct lockq_stat *s, const struct db_rows *rows, size_t row)
{
	s->waiting = db_cell_u64(rows, row, 1);
	s->unattended = db_cell_u64(rows, row, 2);
	s->wanted = db_cell_u64(rows, row, 3);
	s->oldest_s = db_cell_u64(rows, row, 4);
}

static void
fill_assigned(struct lockq_stat *s, const struct db_rows *rows, size_t row)
{
	s->assigned = db_cell_u64(rows, row, 1);
}

static void
fill_overdue(struct lockq_stat *s, const struct db_rows *rows, size_t row)
{
	s->overdue = db_cell_u64(rows, row, 1);
	s->untidied_s = db_cell_u64(rows, row, 2);
}

static void
fill_answers(struct lockq_stat *s, const struct db_rows *rows, size_t row)
{
	s->answers = db_cell_u64(rows, row, 1);
	s->answers_failed = db_cell_u64(rows, row, 2);
	s->answers_empty = db_cell_u64(rows, row, 3);
	s->loans = db_cell_u64(rows, row, 4);
	s->loans_per_h = s->loans * 3600000 / db_cell_u64(rows, row, 5);
	s->wait_p50_ms = db_cell_or_none(rows, row, 6);
	s->wait_p95_ms = db_cell_or_none(rows, row, 7);
}

static void
fill_queries(struct lockq_stat *s, const struct db_rows *rows, size_t row)
{
	s->queries = db_cell_u64(rows, row, 1);
	s->failures = db_cell_u64(rows, row, 2);
	s->query_p50_ms = db_cell_or_none(rows, row, 3);
	s->query_p95_ms = db_cell_or_none(rows, row, 4);
	copy_cell(s->failed, sizeof(s->failed), rows, row, 5);
	s->failures_in_a_row = db_cell_u64(rows, row, 6);
}

/* What is read of all tasks at once: rows that begin with a task's number. */
static const struct part {
	const struct db_query *query;
	void (*fill)(struct lockq_stat *s, const struct db_rows *rows, size_t row);
} parts[] = {
	{ &stat_waiting, fill_waiting },
	{ &stat_assigned, fill_assigned },
	{ &stat_overdue, fill_overdue },
	{ &stat_answers, fill_answers },
	{ &stat_queries, fill_queries },
};

static enum db_rc
fill_tasks(struct lockq_stats *stats, const struct db_rows *rows)
{
	enum db_rc rc = DB_OK;

	stats->tasks = calloc(rows->n_rows + 1, sizeof(*stats->tasks));
	if (stats->tasks == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; rc == DB_OK && i < rows->n_rows; i++) {
		struct lockq_stat *s = &stats->tasks[stats->n_tasks++];

		s->task = (uint32_t)db_cell_u64(rows, i, 0);
		s->enabled = db_cell_u64(rows, i, 2) != 0;
		s->keeps_list = db_cell_u64(rows, i, 4) != 0;
		s->has_list = s->keeps_list && db_cell_u64(rows, i, 5) != 0;
		s->list_due = db_cell_u64(rows, i, 6) != 0;
		s->list_length = db_cell_u64(rows, i, 7);
		s->list_left = db_cell_u64(rows, i, 8);
		s->list_age_s = db_cell_u64(rows, i, 9);
		s->refill_failures = db_cell_u64(rows, i, 10);
		copy_cell(stats->at, sizeof(stats->at), rows, i, 12);
		s->max_query_s = db_cell_u64(rows, i, 13);
		s->request_ttl = db_cell_u64(rows, i, 14);
		s->wait_p50_ms = s->wait_p95_ms = s->query_p50_ms = s->query_p95_ms = -1;
		rc = copy_text(&s->task_name, db_cell(rows, i, 1));
		if (rc == DB_OK)
			rc = copy_text(&s->paused, db_cell(rows, i, 3));
		if (rc == DB_OK)
			rc = copy_text(&s->refill_reason, db_cell(rows, i, 11));
	}
	return rc;
}

static struct lockq_stat *
stat_of(struct lockq_stats *stats, uint64_t task)
{
	for (size_t i = 0; i < stats->n_tasks; i++) {
		if (stats->tasks[i].task == task)
			return &stats->tasks[i];
	}
	return NULL;
}

static enum db_rc
read_part(struct db *db, const struct part *part, uint32_t task, struct lockq_stats *stats)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, part->query, DB_ARGS(db_u64(task), db_u64(task)), &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		struct lockq_stat *s = stat_of(stats, db_cell_u64(&rows, i, 0));

		/* A task may be new since the first statement. */
		if (s != NULL)
			part->fill(s, &rows, i);
	}
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
call_leaders(struct db *db, uint32_t task, struct db_rows *rows)
{
	return db_after_call(db, db_run(db, &stat_leaders, DB_ARGS(db_u64(task)), rows));
}

/* The first call is read dirty, the second is not: a name is a leader's where its epoch is not
 * committed yet. */
static enum db_rc
read_leaders(struct db *db, uint32_t task, struct lockq_stats *stats)
{
	struct db_rows dirty = { 0, 0, NULL, NULL }, committed = { 0, 0, NULL, NULL };
	enum db_rc rc = db_next_read_dirty(db);

	if (rc == DB_OK)
		rc = call_leaders(db, task, &dirty);
	if (rc == DB_OK)
		rc = call_leaders(db, task, &committed);
	for (size_t i = 0; rc == DB_OK && i < committed.n_rows; i++) {
		struct lockq_stat *s = stat_of(stats, db_cell_u64(&committed, i, 0));

		if (s != NULL)
			s->epoch = db_cell_u64(&committed, i, 1);
	}
	for (size_t i = 0; rc == DB_OK && i < dirty.n_rows; i++) {
		struct lockq_stat *s = stat_of(stats, db_cell_u64(&dirty, i, 0));

		if (s == NULL || db_cell_is_null(&dirty, i, 2) ||
		    db_cell_u64(&dirty, i, 1) <= s->epoch)
			continue;
		s->leading_ms = db_cell_u64(&dirty, i, 3);
		rc = copy_text(&s->leader, db_cell(&dirty, i, 2));
	}
	db_rows_clear(&dirty);
	db_rows_clear(&committed);
	return rc;
}

static enum db_rc
add_trouble(struct lockq_trouble **list, size_t *n, const struct db_rows *rows, size_t row)
{
	struct lockq_trouble *t = realloc(*list, (*n + 1) * sizeof(*t));

	if (t == NULL)
		return DB_ENOMEM;
	*list = t;
	t += (*n)++;
	*t = (struct lockq_trouble){
		.busy = db_cell_u64(rows, row, 2), .lock_waits = db_cell_u64(rows, row, 3),
		.deadlocks = db_cell_u64(rows, row, 4), .retries = db_cell_u64(rows, row, 5)
	};
	copy_cell(t->operation, sizeof(t->operation), rows, row, 1);
	return DB_OK;
}

/* What cron does, and managers do to people, belongs to no task. */
static enum db_rc
read_trouble(struct db *db, uint32_t task, struct lockq_stats *stats)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &stat_trouble, DB_ARGS(db_u64(task), db_u64(task)), &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		uint64_t of = db_cell_u64(&rows, i, 0);
		struct lockq_stat *s = stat_of(stats, of);

		if (of == 0)
			rc = add_trouble(&stats->trouble, &stats->n_trouble, &rows, i);
		else if (s != NULL)
			rc = add_trouble(&s->trouble, &s->n_trouble, &rows, i);
	}
	db_rows_clear(&rows);
	return rc;
}

/* What a call was asked, and where its result goes. */
struct asked {
	uint32_t task;
	uint32_t most;
	struct lockq_stats *stats;
	struct lockq_runs *runs;
};

static enum db_rc
look_at_stats(struct patience *patience, void *data, int *code)
{
	const struct asked *asked = data;
	struct db *db = patience->q->db;
	struct lockq_stats *stats = asked->stats;
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &stat_tasks, DB_ARGS(db_u64(asked->task), db_u64(asked->task)),
	    &rows);

	lockq_stats_clear(stats);
	if (rc == DB_OK)
		rc = fill_tasks(stats, &rows);
	db_rows_clear(&rows);
	if (rc == DB_OK)
		rc = read_leaders(db, asked->task, stats);
	for (size_t i = 0; rc == DB_OK && i < sizeof(parts) / sizeof(parts[0]); i++)
		rc = read_part(db, &parts[i], asked->task, stats);
	if (rc == DB_OK)
		rc = read_trouble(db, asked->task, stats);
	*code = asked->task != 0 && stats->n_tasks == 0 && rc == DB_OK ?
	    error_unknown_task(patience->q, asked->task) : error_if_none(stats->n_tasks);
	return rc;
}

int
lockq_stats(struct lockq *q, uint32_t task, struct lockq_stats *stats)
{
	struct asked asked = { .task = task, .stats = stats };

	lockq_stats_clear(stats);
	return patience_look_as_viewer(q, look_at_stats, &asked);
}

void
lockq_stats_clear(struct lockq_stats *stats)
{
	if (stats == NULL)
		return;
	for (size_t i = 0; i < stats->n_tasks; i++) {
		free(stats->tasks[i].task_name);
		free(stats->tasks[i].paused);
		free(stats->tasks[i].leader);
		free(stats->tasks[i].trouble);
		free(stats->tasks[i].refill_reason);
	}
	free(stats->tasks);
	free(stats->trouble);
	*stats = (struct lockq_stats)LOCKQ_STATS_INIT;
}

/* --- lockq_runs() --- */

static const struct db_query read_runs = {
	"read_runs",
	"SELECT r.epoch, r.user, r.how, r.as_of, r.query_ms, r.candidates, r.dropped, r.requests,"
	"       r.loans, r.retries, r.reason, r.started_at, r.ended_at, r.left_pending, r.check_ms,"
	"       GREATEST(TIMESTAMPDIFF(MICROSECOND, r.started_at, r.ended_at), 0) DIV 1000"
	"  FROM leader_run AS r FORCE INDEX (PRIMARY)"
	" WHERE r.task_id = ?"
	" ORDER BY r.epoch DESC"
	" LIMIT ?",
	DB_MANY
};

static const struct db_query task_there = {
	"task_there", "SELECT 1 FROM task WHERE task_id = ?", DB_MAYBE
};

static enum db_rc
fill_runs(struct lockq_runs *runs, const struct db_rows *rows)
{
	runs->runs = calloc(rows->n_rows + 1, sizeof(*runs->runs));
	if (runs->runs == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < rows->n_rows; i++) {
		struct lockq_run *r = &runs->runs[runs->n_runs++];

		r->epoch = db_cell_u64(rows, i, 0);
		copy_cell(r->how, sizeof(r->how), rows, i, 2);
		copy_cell(r->as_of, sizeof(r->as_of), rows, i, 3);
		r->query_ms = db_cell_or_none(rows, i, 4);
		r->candidates = db_cell_u64(rows, i, 5);
		r->dropped = db_cell_u64(rows, i, 6);
		r->requests = db_cell_u64(rows, i, 7);
		r->loans = db_cell_u64(rows, i, 8);
		r->retries = db_cell_u64(rows, i, 9);
		copy_cell(r->started_at, sizeof(r->started_at), rows, i, 11);
		copy_cell(r->ended_at, sizeof(r->ended_at), rows, i, 12);
		r->left_pending = db_cell_u64(rows, i, 13);
		r->check_ms = db_cell_or_none(rows, i, 14);
		r->took_ms = db_cell_u64(rows, i, 15);
		if (copy_text(&r->user, db_cell(rows, i, 1)) != DB_OK ||
		    copy_text(&r->reason, db_cell(rows, i, 10)) != DB_OK)
			return DB_ENOMEM;
	}
	return DB_OK;
}

static enum db_rc
look_at_runs(struct patience *patience, void *data, int *code)
{
	const struct asked *asked = data;
	struct lockq *q = patience->q;
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t there = 0;
	enum db_rc rc = db_number(q->db, &task_there, DB_ARGS(db_u64(asked->task)), &there);

	lockq_runs_clear(asked->runs);
	if (rc == DB_OK && there == 0)
		*code = error_unknown_task(q, asked->task);
	if (rc != DB_OK || there == 0)
		return rc;
	rc = db_run(q->db, &read_runs, DB_ARGS(db_u64(asked->task), db_u64(asked->most)), &rows);
	if (rc == DB_OK)
		rc = fill_runs(asked->runs, &rows);
	db_rows_clear(&rows);
	*code = error_if_none(asked->runs->n_runs);
	return rc;
}

int
lockq_runs(struct lockq *q, uint32_t task, uint32_t most, struct lockq_runs *runs)
{
	struct asked asked = { .task = task, .most = most, .runs = runs };

	lockq_runs_clear(runs);
	return patience_look_as_viewer(q, look_at_runs, &asked);
}

void
lockq_runs_clear(struct lockq_runs *runs)
{
	if (runs == NULL)
		return;
	for (size_t i = 0; i < runs->n_runs; i++) {
		free(runs->runs[i].user);
		free(runs->runs[i].reason);
	}
	free(runs->runs);
	*runs = (struct lockq_runs)LOCKQ_RUNS_INIT;
}
