/* SPDX-License-Identifier: MIT */
/* lockq_expire(), for cron: ends leases that have run out, notes loans that are available again,
 * expires requests that nobody looks after, and deletes rows that are out of date. Availability is
 * computed from the time, so all of this may come late. The jobs come first, the call is at the
 * end. */
#include "disposition/expire_batch.h"
#include "feed/feed.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "rules/account.h"

/* --- leases that run out, loans that are available again --- */

#define DUE_NUMBERS \
	JOB_NUMBER("task_id", 1) ", " JOB_NUMBER("loan_id", 2) ", " \
	JOB_NUMBER("version", 3) ", " JOB_NUMBER("lease", 4)
#define JOIN_DUE \
	JOB_ROWS(DUE_NUMBERS) \
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)" \
	"    ON w.task_id = j.task_id AND w.loan_id = j.loan_id"

static const struct job due_job = {
	/* By the index work_due and the primary key after it. Not (a, b, c) > (?, ?, ?): the
	 * server would not use the index for that, and read all rows of one time again for each
	 * page. */
	.find = { "find_due",
	    "SELECT due_at, task_id, loan_id"
	    "  FROM work FORCE INDEX (work_due)"
	    " WHERE due_at <= ?"
	    "   AND (due_at > ?"
	    "        OR (due_at = ? AND task_id > ?)"
	    "        OR (due_at = ? AND task_id = ? AND loan_id > ?))"
	    " ORDER BY due_at, task_id, loan_id LIMIT ?", DB_MANY },
	.n_keys = 3, .by_time = true,
	JOB_READS("due", "w.due_at, w.task_id, w.loan_id, w.version, w.state = 'assigned'", "w",
	    JOIN_DUE, "w.due_at <= ?"),
	.lease_column = 4,
	.log = { "log_due",
	    "INSERT INTO log_in (task_id, loan_id, event, user_id, account, token, version,"
	    "                    request_id, available_at, lease_expires_at, at)"
	    " SELECT w.task_id, w.loan_id, IF(j.lease, 'expired', 'available'), w.user_id,"
	    "        " ACCOUNT ", w.token, w.version + j.lease, w.request_id,"
	    "        IF(j.lease, w.lease_expires_at, w.available_at), w.lease_expires_at,"
	    "        NOW(6)"
	    "   FROM " JOIN_DUE
	    "  WHERE w.version = j.version AND w.due_at IS NOT NULL", DB_NO_ROWS },
	.change = { "end_due",
	    "CALL work_moves(NULL, (SELECT JSON_ARRAYAGG(JSON_ARRAY(j.loan_id, j.task_id))"
	    "                           FROM " JOB_ROWS(DUE_NUMBERS) "))", DB_NO_ROWS }
};

/* --- a task's requests that nobody looks after, and its kept lists --- */

#define JOIN_REQUESTS \
	JOB_ROWS(JOB_NUMBER("request_id", 0)) \
	"  STRAIGHT_JOIN work_requested AS r FORCE INDEX (PRIMARY)" \
	"    ON r.request_id = j.request_id"

static const struct job stale_job = {
	.find = { "find_stale",
	    "SELECT request_id"
	    "  FROM work_requested FORCE INDEX (work_requested_line)"
	    " WHERE task_id = ? AND pending = 1 AND seen_at < ? AND request_id > ?"
	    " ORDER BY request_id LIMIT ?", DB_MANY },
	.n_keys = 1,
	JOB_READS("stale", "r.request_id", "r", JOIN_REQUESTS,
	    "r.outcome = 'pending' AND r.seen_at < ?"),
	.change = { "end_stale",
	    "UPDATE " JOB_ROWS(JOB_NUMBER("request_id", 0))
	    "  STRAIGHT_JOIN request_end AS r"
	    "    ON r.request_id = j.request_id"
	    "   SET r.outcome = 'expired', r.requested = 0, r.served_at = NOW(6)"
	    " WHERE r.outcome = 'pending'", DB_NO_ROWS },
	.under_lock = true
};

static DB_QUERY(end_lists, DB_ONE, "CALL list_sweeps_2(?, ?)");

/* Loans of lists that nobody can take from any more. So nobody waits for this, and it needs no lock
 * of the task. */
static enum db_rc
expire_lists(struct expiring *e)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t most = e->what->batch, n = most;
	enum db_rc rc = DB_OK;

	while (rc == DB_OK && n == most) {
		rc = db_after_call(e->q->db, batch_ask(e, &end_lists,
		    DB_ARGS(db_u64(e->task_id), db_u64(most)), &rows));
		n = db_cell_u64(&rows, 0, 0);
		e->done->candidates += n;
		e->ticking.rows += n;
		if (rc == DB_OK && tick(&e->ticking) != 0)
			rc = DB_ECANCELLED;
	}
	db_rows_clear(&rows);
	return rc;
}

/* Per task, the time before which its requests are out of date. */
static DB_QUERY(all_tasks, DB_MANY,
    "SELECT task_id, CAST(? AS DATETIME(6)) - INTERVAL request_ttl SECOND"
    "  FROM task ORDER BY task_id");

static enum db_rc
expire_tasks(struct expiring *e)
{
	struct db_arg began = db_text(e->began);
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = batch_ask(e, &all_tasks, DB_ARGS(began), &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		const char *seen = db_cell(&rows, i, 1);

		e->task_id = (uint32_t)db_cell_u64(&rows, i, 0);
		rc = batch_run(e, &stale_job, &e->done->requests, seen,
		    DB_ARGS(db_u64(e->task_id), db_text(seen)));
		if (rc == DB_OK)
			rc = expire_lists(e);
	}
	db_rows_clear(&rows);
	return rc;
}

/* --- exclusions that are over --- */

#define JOIN_OVER \
	JOB_ROWS(JOB_NUMBER("task_id", 1) ", " JOB_NUMBER("user_id", 2) ", " \
	    JOB_NUMBER("loan_id", 3)) \
	"  STRAIGHT_JOIN exclusion_out AS e" \
	"    ON e.task_id = j.task_id AND e.user_id = j.user_id AND e.loan_id = j.loan_id"

static const struct job over_job = {
	.find = { "find_over",
	    "SELECT until, task_id, user_id, loan_id"
	    "  FROM work_exclusion FORCE INDEX (work_exclusion_until)"
	    " WHERE until <= ?"
	    "   AND (until > ?"
	    "        OR (until = ? AND task_id > ?)"
	    "        OR (until = ? AND task_id = ? AND user_id > ?)"
	    "        OR (until = ? AND task_id = ? AND user_id = ? AND loan_id > ?))"
	    " ORDER BY until, task_id, user_id, loan_id LIMIT ?", DB_MANY },
	.n_keys = 4, .by_time = true,
	JOB_DELETES("over", "e.until, e.task_id, e.user_id, e.loan_id", "e", JOIN_OVER,
	    "e.until <= ?")
};

/* --- the purge, from the oldest row on; rows that tell how a loan stands now are kept, and those
 * by which a task keeps loans from users --- */

/* A row with a time in the future, from a clock that was wrong, is left and must not end the
 * purge. */
#define JOIN_ENDED \
	JOB_ROWS(JOB_NUMBER("request_id", 0)) \
	"  STRAIGHT_JOIN request_out AS r" \
	"    ON r.request_id = j.request_id"

static const struct job requests_job = {
	.find = { "find_requests",
	    "SELECT request_id,"
	    "       CASE WHEN created_at > NOW(6) THEN 0"
	    "            WHEN created_at >= ? THEN 2"
	    "            WHEN outcome <> 'pending' AND COALESCE(served_at, created_at) < ? THEN 1"
	    "            ELSE 0 END"
	    "  FROM work_requested FORCE INDEX (PRIMARY)"
	    " WHERE request_id > ?"
	    " ORDER BY request_id LIMIT ?", DB_MANY },
	.n_keys = 1,
	JOB_DELETES("requests", "r.request_id", "r", JOIN_ENDED,
	    "COALESCE(r.served_at, r.created_at) < ?")
};

/* The view lets rows go that all cursors of the change feed have passed. A cursor that was made
 * since the page was found counts, too. */
#define JOIN_LOG \
	JOB_ROWS(JOB_NUMBER("log_id", 0)) \
	"  STRAIGHT_JOIN log_out AS l" \
	"    ON l.log_id = j.log_id"

/* A row of the log that is older than the state of its loan stays so: rows of `work` need no
 * lock. */
static const struct job log_job = {
	.find = { "find_log",
	    "SELECT l.log_id,"
	    "       CASE WHEN l.at > NOW(6) THEN 0"
	    "            WHEN l.at >= ? THEN 2"
	    "            WHEN l.version >= w.version THEN 0"
	    "            WHEN (l.event = 'completed'"
	    "                  OR (l.event = 'assigned' AND l.manager IS NOT NULL))"
	    "             AND EXISTS (SELECT 1 FROM task AS t"
	    "                          WHERE t.not_same_user_as = l.task_id"
	    "                             OR (t.task_id = l.task_id"
	    "                                 AND COALESCE(l.logged_at, l.at)"
	    "                                     > NOW(6) - INTERVAL t.not_again HOUR)) THEN 0"
	    "            WHEN l.event = 'assigned' AND w.state = 'assigned'"
	    "             AND l.token = w.token THEN 0"
	    "            WHEN l.log_id > ? THEN 3"
	    "            ELSE 1 END"
	    "  FROM work_log AS l FORCE INDEX (PRIMARY)"
	    "  LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
	    "    ON w.task_id = l.task_id AND w.loan_id = l.loan_id"
	    " WHERE l.log_id > ?"
	    " ORDER BY l.log_id LIMIT ?", DB_MANY },
	.n_keys = 1,
	JOB_DELETES("log", "l.log_id", "l", JOIN_LOG, "l.at < ?")
};

#define JOIN_RUNS \
	JOB_ROWS(JOB_NUMBER("task_id", 0) ", " JOB_NUMBER("epoch", 1)) \
	"  STRAIGHT_JOIN run_out AS l" \
	"    ON l.task_id = j.task_id AND l.epoch = j.epoch"

/* The last 100 rounds of a task stay: task_usual_ms() reads them, and if the task is deleted and
 * made again, its epochs go on after the greatest one. */
static const struct job runs_job = {
	.find = { "find_runs",
	    "SELECT task_id, epoch,"
	    "       CASE WHEN ended_at > NOW(6) THEN 0 WHEN ended_at >= ? THEN 2 ELSE 1 END"
	    "  FROM leader_run FORCE INDEX (PRIMARY)"
	    " WHERE task_id = ?"
	    "   AND epoch < (SELECT l.epoch FROM leader_run AS l WHERE l.task_id = ?"
	    "                 ORDER BY l.epoch DESC LIMIT 1 OFFSET 99)"
	    "   AND (task_id > ? OR (task_id = ? AND epoch > ?))"
	    " ORDER BY task_id, epoch LIMIT ?", DB_MANY },
	.n_keys = 2,
	JOB_DELETES("runs", "l.task_id, l.epoch", "l", JOIN_RUNS, "l.ended_at < ?")
};

/* Not from the table task, where a deleted task is missing. */
static DB_QUERY(led_tasks, DB_MANY, "SELECT DISTINCT task_id FROM leader_run");

/* Deletes nothing. It shows a missing privilege also when there is nothing to purge. */
static DB_QUERY(may_purge, DB_NO_ROWS,
    "DELETE r, l, u FROM request_out AS r JOIN log_out AS l JOIN run_out AS u"
    " WHERE FALSE");

/* The readers of the change feed are not waited for: what the one that is furthest behind has not
 * passed is left for the next run. */
static enum db_rc
purge_log(struct expiring *e)
{
	struct db_rows cursors = { 0, 0, NULL, NULL };
	enum db_rc rc = batch_ask(e, &follow_list, DB_NO_ARGS, &cursors);
	uint64_t passed = cursors.n_rows > 0 ? db_cell_u64(&cursors, 0, 1) : UINT64_MAX;

	copy_cell(e->q->cursor, sizeof(e->q->cursor), &cursors, 0, 0);
	db_rows_clear(&cursors);
	if (rc == DB_OK)
		rc = batch_run(e, &log_job, &e->done->log_rows, e->cutoff,
		    DB_ARGS(db_text(e->cutoff), db_u64(passed)));
	if (e->done->kept_rows > 0)
		e->done->kept_for = e->q->cursor;
	return rc;
}

/* Requests before the log, or an answer would be left without its loans. */
static enum db_rc
purge(struct expiring *e)
{
	struct db_arg cutoff = db_text(e->cutoff);
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = batch_run(e, &requests_job, &e->done->old_requests, e->cutoff,
	    DB_ARGS(cutoff, cutoff));

	if (rc == DB_OK)
		rc = purge_log(e);
	if (rc == DB_OK)
		rc = batch_ask(e, &led_tasks, DB_NO_ARGS, &rows);
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		struct db_arg task = db_u64(db_cell_u64(&rows, i, 0));

		rc = batch_run(e, &runs_job, &e->done->runs, e->cutoff,
		    DB_ARGS(cutoff, task, task));
	}
	db_rows_clear(&rows);
	return rc;
}

/* --- the call --- */

/* One run at a time works on a database of a server. Runs on two members of a cluster do not see
 * each other's names, and are kept apart by row locks only. Any account of the server can take a
 * name that it knows: so this one has in it when lockq came into the database, to the microsecond,
 * which nobody can read without a right there. Hashed, since a name has 64 characters at most. */
#define EXPIRE_LOCK_NAME \
	"CONCAT('lockq-expire:', LEFT(SHA2(CONCAT(DATABASE()," \
	" (SELECT MIN(s.applied_at) FROM schema_version AS s)), 256), 40))"

static DB_QUERY(take_cron_name, DB_ONE,
    "SELECT GET_LOCK(" EXPIRE_LOCK_NAME ", ?), NOW(6), NOW(6) - INTERVAL ? SECOND,"
    "       COALESCE(IS_USED_LOCK(" EXPIRE_LOCK_NAME "), 0)");

static DB_QUERY(give_cron_name_back, DB_NO_ROWS, "DO RELEASE_LOCK(" EXPIRE_LOCK_NAME ")");

/* Takes the name, and sets @e->done->busy where another run has it. */
static enum db_rc
take_name(struct expiring *e, unsigned int wait_s)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(e->q->db, &take_cron_name,
	    DB_ARGS(db_u64(wait_s), db_u64(e->what->purge_after_s)), &rows);

	if (rc == DB_OK && db_cell_is_null(&rows, 0, 0))
		rc = db_refuse(e->q->db, "the server could not say whether another run is at work:"
		    " run it again");
	e->done->busy = rc == DB_OK && db_cell_u64(&rows, 0, 0) == 0;
	e->done->busy_session = e->done->busy ? db_cell_u64(&rows, 0, 3) : 0;
	/* Rows that become due while it runs are for the next run, or this one might never end. */
	if (rc == DB_OK && !e->done->busy) {
		copy_cell(e->began, sizeof(e->began), &rows, 0, 1);
		copy_cell(e->cutoff, sizeof(e->cutoff), &rows, 0, 2);
	}
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
expire_all(struct expiring *e)
{
	enum db_rc rc = take_name(e, 0);

	/* A purge, which runs once a night, must not be skipped because of the run of a minute. */
	for (unsigned int s = 0; rc == DB_OK && e->done->busy && e->what->purge_after_s > 0 &&
	    s < PURGE_WAITS_S; s++)
		rc = tick(&e->ticking) != 0 ? DB_ECANCELLED : take_name(e, 1);
	if (rc != DB_OK || e->done->busy)
		return rc;
	if (e->what->purge_after_s > 0)
		rc = batch_ask(e, &may_purge, DB_NO_ARGS, NULL);
	if (rc == DB_OK)
		rc = batch_run(e, &due_job, &e->done->available, e->began,
		    DB_ARGS(db_text(e->began)));
	if (rc == DB_OK)
		rc = expire_tasks(e);
	if (rc == DB_OK)
		rc = batch_run(e, &over_job, &e->done->exclusions, e->began,
		    DB_ARGS(db_text(e->began)));
	if (rc == DB_OK && e->what->purge_after_s > 0)
		rc = purge(e);
	return rc;
}

static int
check_what(struct lockq *q, const struct lockq_expire *what)
{
	const char *fault = error_of_reserved(what->reserved);

	if (fault == NULL && (what->batch < 1 || what->batch > LOCKQ_BATCH_MAX))
		fault = "a batch must have from 1 to 10000 rows";
	else if (fault == NULL && what->purge_after_s != 0 &&
	    (what->purge_after_s < LOCKQ_PURGE_AFTER_MIN ||
	    what->purge_after_s > LOCKQ_PURGE_AFTER_MAX))
		fault = "the age of rows to purge must be from 1 to 36500 days";
	return fault == NULL ? LOCKQ_OK : error_usage(q, "%s", fault);
}

/* Makes a public code and a text of @rc. A lost COMMIT is not looked up, and no connection is made
 * anew, since the next run finds the rows that were not done. */
static int
explain(struct expiring *e, enum db_rc rc)
{
	struct lockq *q = e->q;
	bool lost = rc == DB_ELOST || rc == DB_EINDOUBT;
	int code = error_from_db(q, q->db, lost ? DB_ELOST : rc);

	if (lost)
		error_set(q, "the connection was lost after %llu row%s: the next run does the rest:"
		    " %s", (unsigned long long)e->ticking.rows, e->ticking.rows == 1 ? "" : "s",
		    db_error(q->db));
	return code;
}

static int
expire(struct lockq *q, const struct lockq_expire *what, struct lockq_expired *expired)
{
	struct expiring e = {
		.q = q, .what = what, .done = expired,
		.ticking = { .q = q, .phase = LOCKQ_PHASE_EXPIRE, .since = db_clock_ms() }
	};
	int code = check_what(q, what);
	enum db_rc rc;

	*expired = (struct lockq_expired)LOCKQ_EXPIRED_INIT;
	if (code != LOCKQ_OK)
		return code;
	error_clear(q);
	rc = session_ready(q);
	if (rc == DB_OK && what->purge_after_s != 0)
		db_set_role(q->db, "lockq_cron");
	/* Cron has time. */
	if (rc == DB_OK)
		rc = db_set_lock_wait(q->db, DB_LOCK_WAIT_S);
	if (rc == DB_OK)
		rc = expire_all(&e);
	expired->busy = expired->busy && rc == DB_OK;
	expired->busy_session = expired->busy ? expired->busy_session : 0;
	code = explain(&e, rc);
	if (q->db != NULL)
		db_set_role(q->db, "lockq_worker");
	/* After a failure the server may have given the name, and its answer could not be read. On
	 * a lost connection it has released the name. */
	if ((rc != DB_OK || e.began[0] != '\0') && q->db != NULL && !db_lost(q->db) &&
	    db_run(q->db, &give_cron_name_back, DB_NO_ARGS, NULL) != DB_OK)
		session_disconnect(q);
	expired->took_ms = db_clock_ms() - e.ticking.since;
	return code;
}

int
lockq_expire(struct lockq *q, const struct lockq_expire *what, struct lockq_expired *expired)
{
	operation_begin(q, OPERATION_EXPIRE, NULL, 0);
	return operation_end(q, 0, expire(q, what, expired));
}
