/* SPDX-License-Identifier: MIT */
/* The last day: lockq_day() reads for each quarter of an hour how long requests waited, what
 * queries took, how many loans were given, and what became of loans. No statement takes a lock. The
 * tables may be large, and none of them has an index by time. But their keys ascend with time,
 * nearly: so the first row of the day is found by halves, and only the rows after it are read. */
#include <stdlib.h>

#include "db/db_record.h"
#include "getwork/request.h"
#include "handle/error.h"
#include "handle/patience.h"
#include "handle/session.h"

#define QUARTERS NUMBER_TEXT(LOCKQ_QUARTERS)

/* The name that lockq_refill() leads under; getwork/refill.c. */
#define REFILL_NAME "'(refill)'"

/* The day ends with the quarter of an hour that has begun. Quarters begin at the same moments by
 * nearly all local clocks. A request of the day may have been made before it. */
static DB_QUERY(day_bounds, DB_ONE,
    "SELECT d.since, d.at, d.since - INTERVAL " NUMBER_TEXT(LOCKQ_DAY_EARLIER_S) " SECOND"
    "  FROM (SELECT TIMESTAMP'1970-01-01 00:00:00' - INTERVAL 1 DAY + INTERVAL"
    "               (UNIX_TIMESTAMP(NOW(6)) DIV " NUMBER_TEXT(LOCKQ_QUARTER_S) " + 1)"
    "               * " NUMBER_TEXT(LOCKQ_QUARTER_S) " SECOND AS since, NOW(6) AS at) AS d");

static DB_QUERY(day_tasks, DB_MANY,
    "SELECT t.task_id, t.name"
    "  FROM task AS t"
    " WHERE ? = 0 OR t.task_id = ?"
    " ORDER BY t.task_id");

/* --- the first row of the day --- */

static DB_QUERY(first_log, DB_ONE, "SELECT MIN(log_id), MAX(log_id) FROM work_log");
static DB_QUERY(is_log_before, DB_MAYBE,
    "SELECT COALESCE(l.logged_at, l.at) < ?"
    "  FROM work_log AS l FORCE INDEX (PRIMARY)"
    " WHERE l.log_id >= ?"
    " ORDER BY l.log_id LIMIT 1");
static DB_QUERY(first_request, DB_ONE,
    "SELECT MIN(request_id), MAX(request_id) FROM work_requested");
static DB_QUERY(is_request_before, DB_MAYBE,
    "SELECT r.created_at < ?"
    "  FROM work_requested AS r FORCE INDEX (PRIMARY)"
    " WHERE r.request_id >= ?"
    " ORDER BY r.request_id LIMIT 1");
static DB_QUERY(first_run, DB_ONE,
    "SELECT MIN(epoch), MAX(epoch) FROM leader_run WHERE task_id = ?");
static DB_QUERY(is_run_before, DB_MAYBE,
    "SELECT u.ended_at < ?"
    "  FROM leader_run AS u FORCE INDEX (PRIMARY)"
    " WHERE u.epoch >= ? AND u.task_id = ?"
    " ORDER BY u.epoch LIMIT 1");

/* --- the figures --- */

/* Each row counts in its quarter and in the whole day, which is the quarter after the last. So both
 * come of the same rows. */
#define THE_DAY "(SELECT CAST(? AS DATETIME(6)) AS since, CAST(? AS DATETIME(6)) AS at) AS day"
#define TWICE "(SELECT FALSE AS whole UNION ALL SELECT TRUE) AS w"
#define QUARTER_OF(time) \
	"TIMESTAMPDIFF(SECOND, day.since, " time ") DIV " NUMBER_TEXT(LOCKQ_QUARTER_S)
#define QUARTER "IF(w.whole, " QUARTERS ", s.quarter)"

static DB_QUERY(day_requests, DB_MANY,
    "SELECT d.task_id, d.quarter, SUM(d.answered), SUM(d.outcome = 'empty'),"
    "       SUM(d.outcome = 'failed'), SUM(d.outcome IN ('cancelled', 'expired')),"
    "       SUM(d.listed), SUM(IF(d.listed, d.assigned, 0)),"
    "       SUM(IF(d.listed, 0, d.assigned)),"
    "       MAX(IF(d.answered AND d.place <= CEIL(d.n * 0.5), d.ms, NULL)),"
    "       MAX(IF(d.answered AND d.place <= CEIL(d.n * 0.95), d.ms, NULL)),"
    "       MAX(IF(d.answered, d.ms, NULL)), MAX(IF(d.listed, d.age, NULL))"
    "  FROM (SELECT s.task_id, s.outcome, s.answered, s.listed, s.assigned, s.ms, s.age,"
    "               " QUARTER " AS quarter,"
    "               ROW_NUMBER() OVER (PARTITION BY s.task_id, " QUARTER ", s.answered"
    "                                  ORDER BY s.ms) AS place,"
    "               COUNT(*) OVER (PARTITION BY s.task_id, " QUARTER ", s.answered) AS n"
    "          FROM (SELECT r.task_id, r.outcome, r.assigned,"
    "                       r.outcome IN ('served', 'partial', 'empty', 'failed') AS answered,"
    "                       COALESCE(r.source = 'list', FALSE) AS listed,"
    "                       " REQUEST_WAITED_MS("r") " AS ms,"
    "                       GREATEST(TIMESTAMPDIFF(SECOND, l.as_of, r.served_at), 0) AS age,"
    "                       " QUARTER_OF("r.served_at") " AS quarter"
    "                  FROM " THE_DAY
    "                  STRAIGHT_JOIN work_requested AS r FORCE INDEX (PRIMARY)"
    "                  LEFT JOIN leader_run AS l FORCE INDEX (PRIMARY)"
    "                    ON r.source = 'list' AND l.task_id = r.task_id AND l.epoch = r.epoch"
    "                 WHERE r.request_id >= ? AND (? = 0 OR r.task_id = ?)"
    "                   AND r.served_at >= day.since AND r.served_at < day.at"
    "                   AND r.outcome NOT IN ('pending', 'refused')) AS s"
    "          STRAIGHT_JOIN " TWICE ") AS d"
    " GROUP BY d.task_id, d.quarter");

#define LOG_OF_THE_DAY \
	"          FROM " THE_DAY \
	"          STRAIGHT_JOIN work_log AS l FORCE INDEX (PRIMARY)" \
	"         WHERE l.log_id >= ? AND (? = 0 OR l.task_id = ?)" \
	"           AND l.event IN ('completed', 'returned', 'never', 'expired')" \
	"           AND COALESCE(l.logged_at, l.at) >= day.since" \
	"           AND COALESCE(l.logged_at, l.at) < day.at"

static DB_QUERY(day_log, DB_MANY,
    "SELECT s.task_id, " QUARTER " AS q, SUM(s.event = 'completed'),"
    "       SUM(s.event = 'returned'), SUM(s.event = 'never'), SUM(s.event = 'expired')"
    "  FROM (SELECT l.task_id, l.event,"
    "               " QUARTER_OF("COALESCE(l.logged_at, l.at)") " AS quarter"
    LOG_OF_THE_DAY ") AS s"
    "  STRAIGHT_JOIN " TWICE
    " GROUP BY s.task_id, q");

static DB_QUERY(day_people, DB_MANY,
    "SELECT s.task_id, COALESCE(u.name, CONCAT('#', s.user_id)), s.completed, s.returned,"
    "       s.never, s.expired"
    "  FROM (SELECT l.task_id, l.user_id, SUM(l.event = 'completed') AS completed,"
    "               SUM(l.event = 'returned') AS returned, SUM(l.event = 'never') AS never,"
    "               SUM(l.event = 'expired') AS expired"
    LOG_OF_THE_DAY
    "         GROUP BY l.task_id, l.user_id) AS s"
    "  LEFT JOIN app_user AS u ON u.user_id = s.user_id"
    " ORDER BY s.task_id, s.completed DESC, u.name");

/* The leaders of one task. */
#define RUNS_OF_THE_DAY \
	"  FROM " THE_DAY \
	"  STRAIGHT_JOIN leader_run AS u FORCE INDEX (PRIMARY)" \
	" WHERE u.task_id = ? AND u.epoch >= ? AND u.ended_at >= day.since AND u.ended_at < day.at"
#define RAN "u.query_ms IS NOT NULL AND u.how <> 'failed'"
#define LED_MS "GREATEST(TIMESTAMPDIFF(MICROSECOND, u.started_at, u.ended_at), 0) DIV 1000"

static DB_QUERY(day_runs, DB_MANY,
    "SELECT d.task_id, d.quarter, SUM(d.ran), SUM(d.how = 'failed'), SUM(d.refills),"
    "       SUM(d.refills AND d.how = 'failed'),"
    "       MAX(IF(d.ran AND d.place <= CEIL(d.n * 0.5), d.query_ms, NULL)),"
    "       MAX(IF(d.ran AND d.place <= CEIL(d.n * 0.95), d.query_ms, NULL)),"
    "       MAX(IF(d.ran, d.query_ms, NULL)), MAX(IF(d.ran, d.spare, NULL))"
    "  FROM (SELECT s.task_id, s.how, s.refills, s.ran, s.query_ms, s.spare,"
    "               " QUARTER " AS quarter,"
    "               ROW_NUMBER() OVER (PARTITION BY " QUARTER ", s.ran ORDER BY s.query_ms)"
    "               AS place,"
    "               COUNT(*) OVER (PARTITION BY " QUARTER ", s.ran) AS n"
    "          FROM (SELECT u.task_id, u.how, u.user = " REFILL_NAME " AS refills,"
    "                       " RAN " AS ran, u.query_ms,"
    "                       GREATEST(CAST(u.candidates AS SIGNED) - u.dropped - u.loans, 0)"
    "                       AS spare,"
    "                       " QUARTER_OF("u.ended_at") " AS quarter"
    RUNS_OF_THE_DAY ") AS s"
    "          STRAIGHT_JOIN " TWICE ") AS d"
    " GROUP BY d.task_id, d.quarter");

static DB_QUERY(day_leaders, DB_MANY,
    "SELECT u.user, COUNT(*), SUM(" RAN "), SUM(u.how = 'failed'), SUM(u.loans),"
    "       SUM(u.retries), SUM(" LED_MS ") AS led_ms"
    RUNS_OF_THE_DAY
    " GROUP BY u.user"
    " ORDER BY led_ms DESC, u.user");

/* A leader that failed may have had no query, but it has taken its time. */
static DB_QUERY(day_queries, DB_MANY,
    "SELECT u.ended_at, u.user, COALESCE(u.query_ms, " LED_MS "), u.how = 'failed', u.reason,"
    "       u.candidates, TIMESTAMPDIFF(MICROSECOND, day.since, u.ended_at) DIV 1000"
    RUNS_OF_THE_DAY
    "   AND (u.query_ms IS NOT NULL OR u.how = 'failed')"
    " ORDER BY u.epoch DESC"
    " LIMIT " NUMBER_TEXT(LOCKQ_DAY_QUERIES));

/* What a call reads: one task, or all of them. */
struct look {
	uint32_t task;
	char earlier[TIME_BYTES]; /* the rows before it are not read */
	struct lockq_day *day;
};

/* A table's least and greatest key, and whether the first row from a key on is older than a
 * time. */
struct keys {
	const struct db_query *edges, *is_before;
	bool of_task;
};

/* Finds a key so that nearly all rows of the day have it or a greater one. *@key is above all rows
 * where there are none of the day. The day is at the end: so the steps go back from there, each
 * twice as long as the last one, and then by halves. A task without a row of the day costs one. */
static enum db_rc
first_key(struct db *db, const struct keys *keys, const struct look *look, uint32_t task,
    uint64_t *key)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, keys->edges, &(struct db_arg){ .number = task }, keys->of_task,
	    &rows);
	uint64_t low = 1, high = 0, step = 1, before = 0;

	if (rc == DB_OK && !db_cell_is_null(&rows, 0, 0)) {
		low = db_cell_u64(&rows, 0, 0);
		high = db_cell_u64(&rows, 0, 1) + 1;
	}
	db_rows_clear(&rows);
	while (rc == DB_OK && low < high) {
		uint64_t half = (high - low + 1) / 2, middle = high - (step < half ? step : half);
		const struct db_arg args[] = { db_text(look->earlier), db_u64(middle),
			db_u64(task) };

		rc = db_number(db, keys->is_before, args, keys->of_task ? 3 : 2, &before);
		if (before != 0)
			low = middle + 1;
		else
			high = middle;
		step = before != 0 ? UINT64_MAX : step < half ? 2 * step : step;
	}
	*key = low;
	return rc;
}

static const struct keys log_keys = { &first_log, &is_log_before, false };
static const struct keys request_keys = { &first_request, &is_request_before, false };
static const struct keys run_keys = { &first_run, &is_run_before, true };

/* What rows that begin with a task and a quarter are for. */
#define IN(member) DB_FIELD(struct lockq_quarter, member)
static const struct db_record requests_record = DB_RECORD(struct lockq_quarter,
    DB_NO_FIELD, DB_NO_FIELD, IN(answers), IN(answers_empty), IN(answers_failed), IN(given_up),
    IN(answers_listed), IN(loans_listed), IN(loans_led), IN(wait_p50_ms), IN(wait_p95_ms),
    IN(wait_max_ms), IN(list_age_s));
static const struct db_record log_record = DB_RECORD(struct lockq_quarter,
    DB_NO_FIELD, DB_NO_FIELD, IN(completed), IN(returned), IN(never), IN(expired));
static const struct db_record run_record = DB_RECORD(struct lockq_quarter,
    DB_NO_FIELD, DB_NO_FIELD, IN(queries), IN(failures), IN(refills), IN(refill_failures),
    IN(query_p50_ms), IN(query_p95_ms), IN(query_max_ms), IN(spare));

static struct lockq_day_task *
task_of(struct lockq_day *day, uint64_t task)
{
	for (size_t i = 0; i < day->n_tasks; i++) {
		if (day->tasks[i].task == task)
			return &day->tasks[i];
	}
	return NULL;
}

static void
no_times(struct lockq_quarter *q)
{
	q->wait_p50_ms = q->wait_p95_ms = q->wait_max_ms = q->list_age_s = -1;
	q->query_p50_ms = q->query_p95_ms = q->query_max_ms = -1;
}

/* A task in which nothing has gone on has no quarters. */
static enum db_rc
need_quarters(struct lockq_day_task *task)
{
	if (task->quarters != NULL)
		return DB_OK;
	task->quarters = calloc(LOCKQ_QUARTERS, sizeof(*task->quarters));
	if (task->quarters == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++)
		no_times(&task->quarters[i]);
	return DB_OK;
}

#define PERSON(member) DB_FIELD(struct lockq_day_person, member)
static const struct db_record person_record = DB_RECORD(struct lockq_day_person,
    PERSON(user), PERSON(completed), PERSON(returned), PERSON(never), PERSON(expired));

/* The rows of a task stand together. */
static enum db_rc
fill_people(struct lockq_day *day, const struct db_rows *rows, const struct db_record *record)
{
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < rows->n_rows; i++) {
		struct lockq_day_task *task = task_of(day, db_cell_u64(rows, i, 0));

		if (task == NULL)
			continue;
		if (task->people == NULL)
			task->people = calloc(rows->n_rows - i, sizeof(*task->people));
		rc = task->people == NULL ? DB_ENOMEM :
		    record_fill(record, &task->people[task->n_people++], rows, i, 1);
	}
	return rc;
}

static enum db_rc
fill_all(struct lockq_day *day, const struct db_rows *rows, const struct db_record *record)
{
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < rows->n_rows; i++) {
		struct lockq_day_task *task = task_of(day, db_cell_u64(rows, i, 0));
		uint64_t quarter = db_cell_u64(rows, i, 1);

		/* A task may be new since they were listed, or removed: its log stays. */
		if (task == NULL)
			continue;
		rc = need_quarters(task);
		if (rc == DB_OK)
			rc = record_fill(record, quarter < LOCKQ_QUARTERS ?
			    &task->quarters[quarter] : &task->whole, rows, i, 0);
	}
	return rc;
}

typedef enum db_rc fill_fn(struct lockq_day *day, const struct db_rows *rows,
    const struct db_record *record);

static enum db_rc
read_all(struct db *db, const struct look *look, const struct keys *keys,
    const struct db_query *query, fill_fn *fill, const struct db_record *record)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t key = 0;
	enum db_rc rc = first_key(db, keys, look, 0, &key);

	if (rc == DB_OK)
		rc = db_run(db, query, DB_ARGS(db_text(look->day->since), db_text(look->day->at),
		    db_u64(key), db_u64(look->task), db_u64(look->task)), &rows);
	if (rc == DB_OK)
		rc = fill(look->day, &rows, record);
	db_rows_clear(&rows);
	return rc;
}

#define LEADER(member) DB_FIELD(struct lockq_day_leader, member)
static const struct db_record leader_record = DB_RECORD(struct lockq_day_leader,
    LEADER(user), LEADER(led), LEADER(queries), LEADER(failures), LEADER(loans), LEADER(retries),
    LEADER(led_ms));

#define QUERY(member) DB_FIELD(struct lockq_day_query, member)
static const struct db_record query_record = DB_RECORD(struct lockq_day_query,
    QUERY(ended_at), QUERY(user), QUERY(ms), QUERY(failed), QUERY(reason), QUERY(candidates),
    QUERY(since_ms));

/* The rows begin with the last query. */
static enum db_rc
fill_queries(struct lockq_day_task *task, const struct db_rows *rows)
{
	enum db_rc rc = DB_OK;

	task->queries = calloc(rows->n_rows + 1, sizeof(*task->queries));
	if (task->queries == NULL)
		return DB_ENOMEM;
	for (size_t i = rows->n_rows; rc == DB_OK && i-- > 0;)
		rc = record_fill(&query_record, &task->queries[task->n_queries++], rows, i, 0);
	return rc;
}

/* The key of leader_run has the task before the epoch, so each task has a first row of its own. */
static enum db_rc
read_runs(struct db *db, const struct look *look, struct lockq_day_task *task)
{
	struct db_rows quarters = { 0, 0, NULL, NULL }, queries = { 0, 0, NULL, NULL };
	uint64_t epoch = 0;
	enum db_rc rc = first_key(db, &run_keys, look, task->task, &epoch);
	const struct db_arg args[] = { db_text(look->day->since), db_text(look->day->at),
		db_u64(task->task), db_u64(epoch) };
	const size_t n_args = sizeof(args) / sizeof(args[0]);

	if (rc == DB_OK)
		rc = db_run(db, &day_runs, args, n_args, &quarters);
	if (rc == DB_OK)
		rc = fill_all(look->day, &quarters, &run_record);
	if (rc == DB_OK && quarters.n_rows > 0)
		rc = record_read(&leader_record, db, &day_leaders, args, n_args, &task->leaders,
		    &task->n_leaders);
	if (rc == DB_OK && quarters.n_rows > 0)
		rc = db_run(db, &day_queries, args, n_args, &queries);
	if (rc == DB_OK)
		rc = fill_queries(task, &queries);
	db_rows_clear(&quarters);
	db_rows_clear(&queries);
	return rc;
}

static enum db_rc
read_tasks(struct db *db, const struct look *look)
{
	struct lockq_day *day = look->day;
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &day_tasks, DB_ARGS(db_u64(look->task), db_u64(look->task)),
	    &rows);

	if (rc == DB_OK) {
		day->tasks = calloc(rows.n_rows + 1, sizeof(*day->tasks));
		rc = day->tasks != NULL ? DB_OK : DB_ENOMEM;
	}
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		struct lockq_day_task *task = &day->tasks[day->n_tasks++];

		task->task = (uint32_t)db_cell_u64(&rows, i, 0);
		no_times(&task->whole);
		rc = copy_text(&task->task_name, db_cell(&rows, i, 1));
	}
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
read_bounds(struct db *db, struct look *look)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &day_bounds, DB_NO_ARGS, &rows);

	if (rc == DB_OK) {
		copy_cell(look->day->since, sizeof(look->day->since), &rows, 0, 0);
		copy_cell(look->day->at, sizeof(look->day->at), &rows, 0, 1);
		copy_cell(look->earlier, sizeof(look->earlier), &rows, 0, 2);
	}
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
look_at_day(struct patience *patience, void *data, int *code)
{
	struct look *look = data;
	struct lockq_day *day = look->day;
	struct db *db = patience->q->db;
	enum db_rc rc;

	lockq_day_clear(day);
	rc = read_bounds(db, look);
	if (rc == DB_OK)
		rc = read_tasks(db, look);
	if (rc == DB_OK)
		rc = read_all(db, look, &request_keys, &day_requests, fill_all, &requests_record);
	if (rc == DB_OK)
		rc = read_all(db, look, &log_keys, &day_log, fill_all, &log_record);
	if (rc == DB_OK)
		rc = read_all(db, look, &log_keys, &day_people, fill_people, &person_record);
	for (size_t i = 0; rc == DB_OK && i < day->n_tasks; i++)
		rc = read_runs(db, look, &day->tasks[i]);
	*code = look->task != 0 && day->n_tasks == 0 && rc == DB_OK ?
	    error_unknown_task(patience->q, look->task) : error_if_none(day->n_tasks);
	return rc;
}

int
lockq_day(struct lockq *q, uint32_t task, struct lockq_day *day)
{
	struct look look = { .task = task, .day = day };

	lockq_day_clear(day);
	return patience_look(q, look_at_day, &look);
}

static void
clear_task(struct lockq_day_task *task)
{
	record_list_free(&leader_record, task->leaders, task->n_leaders);
	record_list_free(&query_record, task->queries, task->n_queries);
	record_list_free(&person_record, task->people, task->n_people);
	free(task->task_name);
	free(task->quarters);
}

void
lockq_day_clear(struct lockq_day *day)
{
	if (day == NULL)
		return;
	for (size_t i = 0; i < day->n_tasks; i++)
		clear_task(&day->tasks[i]);
	free(day->tasks);
	*day = (struct lockq_day)LOCKQ_DAY_INIT;
}
