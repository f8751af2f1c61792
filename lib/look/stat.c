/* SPDX-License-Identifier: MIT */
/* What is going on: lockq_stats() reads how each task stands, lockq_runs() who led a task and what
 * came of it. An operator asks while the database is busy, so no statement here takes a lock, and
 * none counts a large table: each one reads by an index what is going on, what is left of lists, or
 * the last rows that leaders and takers have written, and how many it reads is bounded. */
#include <stdlib.h>

#include "db/db_record.h"
#include "getwork/request.h"
#include "handle/error.h"
#include "handle/held.h"
#include "handle/patience.h"
#include "handle/session.h"
#include "list/kept.h"
#include "rules/forgotten_request.h"

/* In each statement the parameter is the task, twice; 0 stands for all of them. */
#define ASKED_TASK "(? = 0 OR t.task_id = ?)"

/* A procedure of schema/doors: an account that could read task_lock could lock its rows. */
static DB_QUERY(stat_leaders, DB_MANY, "CALL leaders(?)");
static DB_QUERY(stat_checks, DB_MANY, "CALL leaders_since_check_1(?)");

/* By the index of pending requests. A request that nobody looks after is about to expire, so it
 * waits for nothing. */
static DB_QUERY(stat_waiting, DB_MANY,
    "SELECT d.task_id, COALESCE(SUM(d.attended), 0), COALESCE(SUM(NOT d.attended), 0),"
    "       COALESCE(SUM(IF(d.attended, d.requested, 0)), 0),"
    "       COALESCE(MAX(IF(d.attended, d.age, NULL)), 0)"
    "  FROM (SELECT t.task_id, r.requested,"
    "               " IS_LOOKED_AFTER("r", "t.request_ttl") " AS attended,"
    "               GREATEST(TIMESTAMPDIFF(SECOND, r.created_at, NOW(6)), 0) AS age"
    "          FROM task AS t"
    "          STRAIGHT_JOIN work_requested AS r FORCE INDEX (work_requested_line)"
    "            ON r.task_id = t.task_id AND r.pending = 1"
    "         WHERE " ASKED_TASK ") AS d"
    " GROUP BY d.task_id");

/* By the index of each user's assignments, which has no other rows. */
static DB_QUERY(stat_assigned, DB_MANY,
    "SELECT d.task_id, COUNT(*)"
    "  FROM (SELECT w.task_id"
    "          FROM app_user AS u"
    "          STRAIGHT_JOIN work AS w FORCE INDEX (work_pipeline)"
    "            ON w.user_id = u.user_id AND w.state = 'assigned'"
    "         WHERE ? = 0 OR w.task_id = ?"
    "         LIMIT " NUMBER_TEXT(LOCKQ_STAT_ASSIGNED_MOST) ") AS d"
    " GROUP BY d.task_id");

/* Of work_due, whose rows cron takes out: it has many that are over only where cron does not
 * run. */
static DB_QUERY(stat_overdue, DB_MANY,
    "SELECT d.task_id, SUM(d.state = 'assigned'),"
    "       GREATEST(TIMESTAMPDIFF(SECOND, MIN(d.due_at), NOW(6)), 0)"
    "  FROM (SELECT w.task_id, w.state, w.due_at"
    "          FROM work AS w FORCE INDEX (work_due)"
    "         WHERE w.due_at <= NOW(6)"
    "         ORDER BY w.due_at"
    "         LIMIT " NUMBER_TEXT(LOCKQ_STAT_OVERDUE_MOST) ") AS d"
    " WHERE ? = 0 OR d.task_id = ?"
    " GROUP BY d.task_id");

/* The last requests of each task that have ended. ORDER BY names the task, or 9.7 would sort all of
 * its requests; and not `pending`, which is NULL in all of them, or 8.0.39 would sort them. Fewer
 * than the bound are all that there are. Those that were cancelled or have expired are no answers,
 * but they count for the bound: the speed is that of the time over which all of these requests have
 * ended. */
static DB_QUERY(stat_answers, DB_MANY,
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
    "                         ORDER BY q.task_id DESC, q.request_id DESC"
    "                         LIMIT " NUMBER_TEXT(LOCKQ_STAT_ANSWERS) ") AS r"
    "                 WHERE " ASKED_TASK ") AS s) AS d"
    " GROUP BY d.task_id");

static DB_QUERY(stat_queries, DB_MANY,
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
    " GROUP BY d.task_id");

/* What the last queries found, and how long they took. */
static DB_QUERY(stat_found, DB_MANY,
    "SELECT d.task_id, MAX(IF(d.latest = 1, d.candidates, NULL)),"
    "       MAX(IF(d.latest = 2, d.candidates, NULL)), MAX(IF(d.latest = 1, d.query_ms, NULL)),"
    "       IF(COUNT(*) >= 4, MAX(IF(d.latest BETWEEN 2 AND 4, d.query_ms, NULL)), NULL),"
    "       GREATEST(TIMESTAMPDIFF(SECOND, MAX(IF(d.latest = 1, d.as_of, NULL)), NOW(6)), 0)"
    "  FROM (SELECT t.task_id, r.candidates, r.query_ms, r.as_of,"
    "               ROW_NUMBER() OVER (PARTITION BY t.task_id ORDER BY r.epoch DESC) AS latest"
    "          FROM task AS t"
    "          JOIN LATERAL"
    "               (SELECT p.epoch, p.how, p.query_ms, p.candidates, p.as_of"
    "                  FROM leader_run AS p FORCE INDEX (PRIMARY)"
    "                 WHERE p.task_id = t.task_id"
    "                 ORDER BY p.task_id DESC, p.epoch DESC"
    "                 LIMIT " NUMBER_TEXT(LOCKQ_STAT_RUNS) ") AS r"
    "         WHERE " ASKED_TASK " AND r.query_ms IS NOT NULL AND r.how <> 'failed') AS d"
    " GROUP BY d.task_id");

/* The newest changes. A task whose loans come back by themselves gives completed ones again. */
#define NEWEST_CHANGES \
	"(SELECT l.log_id, l.task_id, l.loan_id, l.event, l.version, l.at" \
	"   FROM work_log AS l FORCE INDEX (PRIMARY)" \
	"  ORDER BY l.log_id DESC" \
	"  LIMIT " NUMBER_TEXT(LOCKQ_STAT_CHANGES) ")"
static DB_QUERY(stat_given_again, DB_MANY,
    "SELECT d.task_id, COUNT(*)"
    "  FROM " NEWEST_CHANGES " AS d"
    "  JOIN task AS t"
    "    ON t.task_id = d.task_id AND t.complete_hold = 0 AND t.not_again IS NULL"
    " WHERE " ASKED_TASK " AND d.event = 'assigned'"
    "   AND (SELECT p.event FROM work_log AS p FORCE INDEX (work_log_loan)"
    "         WHERE p.task_id = d.task_id AND p.loan_id = d.loan_id AND p.log_id < d.log_id"
    "         ORDER BY p.task_id DESC, p.loan_id DESC, p.log_id DESC"
    "         LIMIT 1) = 'completed'"
    " GROUP BY d.task_id");

/* Both are of all tasks. A transaction writes its change and then the row of work, so one statement
 * sees both or none. */
static DB_QUERY(stat_ahead, DB_ONE,
    "SELECT GREATEST(COALESCE(TIMESTAMPDIFF(SECOND, NOW(6), GREATEST("
    "           COALESCE((SELECT MAX(d.at) FROM " NEWEST_CHANGES " AS d), NOW(6)),"
    "           COALESCE((SELECT MAX(k.as_of) FROM kept_list AS k), NOW(6)))), 0), 0),"
    "       a.loan_id, a.task_id"
    "  FROM (SELECT 1) AS one"
    "  LEFT JOIN (SELECT d.loan_id, d.task_id"
    "               FROM " NEWEST_CHANGES " AS d"
    "               LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
    "                 ON w.task_id = d.task_id AND w.loan_id = d.loan_id"
    "              WHERE COALESCE(w.version, 0) < d.version"
    "              LIMIT 1) AS a"
    "    ON TRUE");

static DB_QUERY(stat_holders, DB_MANY, "CALL holders_1(?)");

/* Of calls that were held up each adds to a row, see handle/operation.c. */
static DB_QUERY(stat_trouble, DB_MANY,
    "SELECT b.task_id, b.operation, SUM(b.busy), SUM(b.lock_waits), SUM(b.deadlocks),"
    "       SUM(b.retries)"
    "  FROM task_trouble AS b"
    " WHERE (? = 0 OR b.task_id = ?) AND b.slot > NOW() - INTERVAL 1 HOUR"
    " GROUP BY b.task_id, b.operation"
    " ORDER BY b.task_id, b.operation");

#define STAT(member) DB_FIELD(struct lockq_stat, member)
static const struct db_record task_record = DB_RECORD(struct lockq_stat,
    STAT(task), STAT(task_name), STAT(enabled), STAT(paused), STAT(keeps_list), STAT(has_list),
    STAT(list_due), STAT(list_length), STAT(list_left), STAT(list_age_s), STAT(refill_failures),
    STAT(refill_reason), DB_NO_FIELD, STAT(max_query_s), STAT(request_ttl), STAT(leader),
    STAT(held), STAT(held_rows));

/* What is read of all tasks at once: rows that begin with a task's number. loans_per_h gets the
 * time in which the loans were given, in milliseconds, and read_part() makes the speed of it. */
static const struct part {
	const struct db_query *query;
	struct db_record record;
} parts[] = {
	{ &stat_waiting, DB_RECORD(struct lockq_stat,
	    DB_NO_FIELD, STAT(waiting), STAT(unattended), STAT(wanted), STAT(oldest_s)) },
	{ &stat_assigned, DB_RECORD(struct lockq_stat,
	    DB_NO_FIELD, STAT(assigned)) },
	{ &stat_overdue, DB_RECORD(struct lockq_stat,
	    DB_NO_FIELD, STAT(overdue), STAT(untidied_s)) },
	{ &stat_answers, DB_RECORD(struct lockq_stat,
	    DB_NO_FIELD, STAT(answers), STAT(answers_failed), STAT(answers_empty), STAT(loans),
	    STAT(loans_per_h), STAT(wait_p50_ms), STAT(wait_p95_ms)) },
	{ &stat_queries, DB_RECORD(struct lockq_stat,
	    DB_NO_FIELD, STAT(queries), STAT(failures), STAT(query_p50_ms), STAT(query_p95_ms),
	    STAT(failed), STAT(failures_in_a_row)) },
	{ &stat_found, DB_RECORD(struct lockq_stat,
	    DB_NO_FIELD, STAT(found), STAT(found_before), STAT(last_query_ms),
	    STAT(slowest_before_ms), STAT(found_age_s)) },
	{ &stat_given_again, DB_RECORD(struct lockq_stat,
	    DB_NO_FIELD, STAT(given_again)) },
};

static enum db_rc
fill_tasks(struct lockq_stats *stats, const struct db_rows *rows)
{
	enum db_rc rc = record_list(&task_record, rows, &stats->tasks, &stats->n_tasks);

	copy_cell(stats->at, sizeof(stats->at), rows, 0, 12);
	for (size_t i = 0; i < stats->n_tasks; i++) {
		struct lockq_stat *s = &stats->tasks[i];

		s->has_list = s->has_list && s->keeps_list;
		s->wait_p50_ms = s->wait_p95_ms = s->query_p50_ms = s->query_p95_ms = -1;
		s->found = s->found_before = s->last_query_ms = s->slowest_before_ms = -1;
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
			rc = record_fill(&part->record, s, &rows, i, 0);
		if (s != NULL && part->query == &stat_answers)
			s->loans_per_h = s->loans * 3600000 / s->loans_per_h;
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

/* A leader that failed before managetask check found the task well is history. Where none has
 * failed, no check matters. */
static enum db_rc
read_checks(struct db *db, uint32_t task, struct lockq_stats *stats)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	bool failed = false;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; i < stats->n_tasks; i++)
		failed = failed || stats->tasks[i].failures_in_a_row > 0;
	if (failed)
		rc = db_after_call(db, db_run(db, &stat_checks, DB_ARGS(db_u64(task)), &rows));
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		struct lockq_stat *s = stat_of(stats, db_cell_u64(&rows, i, 0));
		uint64_t led_since = db_cell_u64(&rows, i, 1);

		if (s == NULL || s->failures_in_a_row <= led_since)
			continue;
		s->failures_in_a_row = led_since;
		if (led_since == 0)
			s->failed[0] = '\0';
	}
	db_rows_clear(&rows);
	return rc;
}

/* Finds the sessions that hold rows without leading. A lock that a leader has is none of these:
 * held_lock() looks once more. */
static enum db_rc
read_holders(struct db *db, uint32_t task, struct lockq_stats *stats)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_after_call(db, db_run(db, &stat_holders, DB_ARGS(db_u64(task)), &rows));

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		struct lockq_stat *s = stat_of(stats, db_cell_u64(&rows, i, 0));
		bool of_work = db_cell_u64(&rows, i, 1) > 0;
		char text[HELD_BYTES] = "";

		if (s == NULL || (of_work ? s->held_rows != NULL : s->leader != NULL))
			continue;
		if (of_work)
			held_by_holder(&rows, i, text);
		else
			held_lock(db, s->task, text);
		if (text[0] != '\0')
			rc = copy_text(of_work ? &s->held_rows : &s->held, text);
	}
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
read_ahead(struct db *db, struct lockq_stats *stats)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &stat_ahead, DB_NO_ARGS, &rows);

	if (rc == DB_OK) {
		stats->ahead_s = db_cell_u64(&rows, 0, 0);
		stats->ahead_loan = db_cell_u64(&rows, 0, 1);
		stats->ahead_task = db_cell_u64(&rows, 0, 2);
	}
	db_rows_clear(&rows);
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
		rc = read_checks(db, asked->task, stats);
	if (rc == DB_OK)
		rc = read_trouble(db, asked->task, stats);
	if (rc == DB_OK)
		rc = read_ahead(db, stats);
	if (rc == DB_OK)
		rc = read_holders(db, asked->task, stats);
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
	for (size_t i = 0; i < stats->n_tasks; i++)
		free(stats->tasks[i].trouble);
	record_list_free(&task_record, stats->tasks, stats->n_tasks);
	free(stats->trouble);
	*stats = (struct lockq_stats)LOCKQ_STATS_INIT;
}

/* --- lockq_runs() --- */

static DB_QUERY(read_runs, DB_MANY,
    "SELECT r.epoch, r.user, r.how, r.as_of, r.query_ms, r.candidates, r.dropped, r.requests,"
    "       r.loans, r.retries, r.reason, r.started_at, r.ended_at, r.left_pending, r.check_ms,"
    "       GREATEST(TIMESTAMPDIFF(MICROSECOND, r.started_at, r.ended_at), 0) DIV 1000"
    "  FROM leader_run AS r FORCE INDEX (PRIMARY)"
    " WHERE r.task_id = ?"
    " ORDER BY r.epoch DESC"
    " LIMIT ?");

static DB_QUERY(task_there, DB_MAYBE, "SELECT 1 FROM task WHERE task_id = ?");

#define RUN(member) DB_FIELD(struct lockq_run, member)
static const struct db_record run_record = DB_RECORD(struct lockq_run,
    RUN(epoch), RUN(user), RUN(how), RUN(as_of), RUN(query_ms), RUN(candidates), RUN(dropped),
    RUN(requests), RUN(loans), RUN(retries), RUN(reason), RUN(started_at), RUN(ended_at),
    RUN(left_pending), RUN(check_ms), RUN(took_ms));

static enum db_rc
look_at_runs(struct patience *patience, void *data, int *code)
{
	const struct asked *asked = data;
	struct lockq *q = patience->q;
	uint64_t there = 0;
	enum db_rc rc = db_number(q->db, &task_there, DB_ARGS(db_u64(asked->task)), &there);

	lockq_runs_clear(asked->runs);
	if (rc == DB_OK && there == 0)
		*code = error_unknown_task(q, asked->task);
	if (rc != DB_OK || there == 0)
		return rc;
	rc = record_read(&run_record, q->db, &read_runs, DB_ARGS(db_u64(asked->task),
	    db_u64(asked->most)), &asked->runs->runs, &asked->runs->n_runs);
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
	record_list_free(&run_record, runs->runs, runs->n_runs);
	*runs = (struct lockq_runs)LOCKQ_RUNS_INIT;
}
