/* SPDX-License-Identifier: MIT */
/* What ended long ago is deleted, where that is wanted: from the oldest on, and what tells how a
 * loan stands now stays, however old it is. */
#include "expire.h"

/* A row of the future, by a clock that was wrong, is passed over: it must not end the purge. */
static const struct db_query find_requests = {
	"find_requests",
	"SELECT request_id, 0, 0,"
	"       CASE WHEN created_at > NOW(6) THEN 0"
	"            WHEN created_at >= ? THEN 2"
	"            WHEN outcome <> 'pending' AND COALESCE(served_at, created_at) < ? THEN 1"
	"            ELSE 0 END, NULL"
	"  FROM work_requested FORCE INDEX (PRIMARY)"
	" WHERE request_id > ?"
	" ORDER BY request_id"
	" LIMIT ?",
	DB_MANY
};

#define JOIN_REQUESTS \
	"  FROM " JOB_KEYS \
	"  STRAIGHT_JOIN work_requested AS r FORCE INDEX (PRIMARY)" \
	"    ON r.request_id = j.a"
#define SELECT_REQUESTS \
	"SELECT r.request_id, 0, 0, 0" JOIN_REQUESTS \
	" WHERE r.outcome <> 'pending' AND COALESCE(r.served_at, r.created_at) < ?"

/* What is once behind the state of its loan stays behind it, so the rows of `work` need no lock. */
static const struct db_query find_log = {
	"find_log",
	"SELECT l.log_id, 0, 0,"
	"       CASE WHEN l.at > NOW(6) THEN 0"
	"            WHEN l.at >= ? THEN 2"
	"            WHEN l.version >= w.version THEN 0"
	"            WHEN l.event = 'assigned' AND w.state = 'assigned'"
	"             AND l.token = w.token THEN 0"
	"            ELSE 1 END, NULL"
	"  FROM work_log AS l FORCE INDEX (PRIMARY)"
	"  LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = l.task_id AND w.loan_id = l.loan_id"
	" WHERE l.log_id > ?"
	" ORDER BY l.log_id"
	" LIMIT ?",
	DB_MANY
};

#define JOIN_LOG \
	"  FROM " JOB_KEYS \
	"  STRAIGHT_JOIN work_log AS l FORCE INDEX (PRIMARY)" \
	"    ON l.log_id = j.a"
#define SELECT_LOG "SELECT l.log_id, 0, 0, 0" JOIN_LOG " WHERE l.at < ?"

/* Its tasks need not be there any more. */
static const struct db_query next_led_task = {
	"next_led_task", "SELECT MIN(task_id) FROM leader_run WHERE task_id > ?", DB_ONE
};

/* The last ones stay: what is usual is their median, and a task that is made again goes on after
 * the greatest epoch. */
static const struct db_query find_runs = {
	"find_runs",
	"SELECT task_id, epoch, 0,"
	"       CASE WHEN ended_at > NOW(6) THEN 0 WHEN ended_at >= ? THEN 2 ELSE 1 END, NULL"
	"  FROM leader_run FORCE INDEX (PRIMARY)"
	" WHERE task_id = ? AND epoch > ?"
	"   AND epoch < (SELECT l.epoch FROM leader_run AS l WHERE l.task_id = ?"
	"                 ORDER BY l.epoch DESC LIMIT 1 OFFSET 99)"
	" ORDER BY epoch"
	" LIMIT ?",
	DB_MANY
};

#define JOIN_RUNS \
	"  FROM " JOB_KEYS \
	"  STRAIGHT_JOIN leader_run AS l FORCE INDEX (PRIMARY)" \
	"    ON l.task_id = j.a AND l.epoch = j.b"
#define SELECT_RUNS "SELECT l.task_id, l.epoch, 0, 0" JOIN_RUNS " WHERE l.ended_at < ?"

static int
requests(struct expiring *e, struct db_rows *rows)
{
	return batch_ask(e, &find_requests, DB_ARGS(db_text(e->limit), db_text(e->limit),
	    db_u64(e->batch.from.key.a), db_u64(e->size)), rows);
}

static int
log_rows(struct expiring *e, struct db_rows *rows)
{
	return batch_ask(e, &find_log, DB_ARGS(db_text(e->limit),
	    db_u64(e->batch.from.key.a), db_u64(e->size)), rows);
}

static int
runs(struct expiring *e, struct db_rows *rows)
{
	struct db_arg task = db_u64(e->task_id);

	return batch_ask(e, &find_runs, DB_ARGS(db_text(e->limit), task,
	    db_u64(e->batch.from.key.b), task, db_u64(e->size)), rows);
}

static const struct job requests_job = {
	.find = requests,
	JOB_READS("requests", SELECT_REQUESTS, "r"),
	.change = { "purge_requests", "DELETE r" JOIN_REQUESTS, DB_NO_ROWS },
	.counter = JOB_COUNTER(old_requests), .counter_d = JOB_COUNTER(old_requests)
};

static const struct job log_job = {
	.find = log_rows,
	JOB_READS("log", SELECT_LOG, "l"),
	.change = { "purge_log", "DELETE l" JOIN_LOG, DB_NO_ROWS },
	.counter = JOB_COUNTER(log_rows), .counter_d = JOB_COUNTER(log_rows)
};

static const struct job runs_job = {
	.find = runs,
	JOB_READS("runs", SELECT_RUNS, "l"),
	.change = { "purge_runs", "DELETE l" JOIN_RUNS, DB_NO_ROWS },
	.counter = JOB_COUNTER(runs), .counter_d = JOB_COUNTER(runs)
};

static int
purge_runs(struct expiring *e)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc;

	for (e->task_id = 0;;) {
		rc = batch_ask(e, &next_led_task, DB_ARGS(db_u64(e->task_id)), &rows);
		if (rc != DB_OK || db_cell_is_null(&rows, 0, 0))
			break;
		e->task_id = (uint32_t)db_cell_u64(&rows, 0, 0);
		rc = batch_run(e, &runs_job, e->cutoff);
		if (rc != DB_OK)
			break;
	}
	db_rows_clear(&rows);
	return rc;
}

int
purge_allowed(struct expiring *e)
{
	static const struct job *const jobs[] = { &requests_job, &log_job, &runs_job };
	int rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < sizeof(jobs) / sizeof(jobs[0]); i++)
		rc = batch_ask(e, &jobs[i]->change, DB_ARGS(db_text("[]")), NULL);
	return rc;
}

/* Requests before the log, so that none is left without the loans that it was given. */
int
purge(struct expiring *e)
{
	int rc = batch_run(e, &requests_job, e->cutoff);

	if (rc == DB_OK)
		rc = batch_run(e, &log_job, e->cutoff);
	return rc == DB_OK ? purge_runs(e) : rc;
}
