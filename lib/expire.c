/* SPDX-License-Identifier: MIT */
/* What time has changed, for cron: leases that have ended, loans that are offered again, requests
 * that nobody looks after, what is kept too long. Availability is computed from the time, so all of
 * this may come late. */
#include "expire.h"

/* The whole of an index, with the primary key behind the time. Written out, since the index is of
 * no use to a comparison of rows: among many of one moment it would begin anew each time. */
static const struct db_query find_due = {
	"find_due",
	"SELECT task_id, loan_id, 0, 1, due_at"
	"  FROM work FORCE INDEX (work_due)"
	" WHERE due_at <= ?"
	"   AND (due_at > ?"
	"        OR (due_at = ? AND task_id > ?)"
	"        OR (due_at = ? AND task_id = ? AND loan_id > ?))"
	" ORDER BY due_at, task_id, loan_id"
	" LIMIT ?",
	DB_MANY
};

/* The change has to know the version, which is not overwritten unseen, and whether a lease ends. */
#define SELECT_DUE \
	"SELECT w.task_id, w.loan_id, w.version, w.state = 'assigned'" \
	"  FROM " JOB_KEYS \
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)" \
	"    ON w.task_id = j.a AND w.loan_id = j.b" \
	" WHERE w.due_at <= ?"

/* lease_expires_at stays: it tells that the lease ended it, not its user. Noting that a loan is
 * available changes nothing of what the row means, so its version stays, or a running leader's list
 * would lose it. */
static const char end_due[] =
	"UPDATE " JOB_KEYS
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = j.a AND w.loan_id = j.b"
	"   SET w.state = IF(j.d, 'returned', w.state), w.version = w.version + j.d,"
	"       w.available_at = IF(j.d, w.lease_expires_at, w.available_at), w.due_at = NULL,"
	"       w.changed_at = IF(j.d, NOW(6), w.changed_at)"
	" WHERE w.version = j.c AND w.due_at IS NOT NULL";

static const char log_due[] =
	"INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	"                      request_id, available_at, lease_expires_at, at)"
	" SELECT w.task_id, w.loan_id, IF(j.d, 'expired', 'available'), w.user_id, CURRENT_USER(),"
	"        w.token, w.version, w.request_id, w.available_at, w.lease_expires_at,"
	"        IF(j.d, w.changed_at, NOW(6))"
	"   FROM " JOB_KEYS
	"   STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"     ON w.task_id = j.a AND w.loan_id = j.b";

static const struct db_query find_stale = {
	"find_stale",
	"SELECT request_id, 0, 0, 1, NULL"
	"  FROM work_requested FORCE INDEX (work_requested_line)"
	" WHERE task_id = ? AND pending = 1 AND request_id > ? AND seen_at < ?"
	" ORDER BY request_id"
	" LIMIT ?",
	DB_MANY
};

#define SELECT_STALE \
	"SELECT r.request_id, 0, 0, 0" \
	"  FROM " JOB_KEYS \
	"  STRAIGHT_JOIN work_requested AS r FORCE INDEX (PRIMARY)" \
	"    ON r.request_id = j.a" \
	" WHERE r.outcome = 'pending' AND r.seen_at < ?"

/* No leader has ended it, so it has no epoch. */
static const char end_stale[] =
	"UPDATE " JOB_KEYS
	"  STRAIGHT_JOIN work_requested AS r FORCE INDEX (PRIMARY)"
	"    ON r.request_id = j.a"
	"   SET r.outcome = 'expired', r.served_at = NOW(6)"
	" WHERE r.outcome = 'pending'";

static const struct db_query find_kept = {
	"find_kept",
	"SELECT task_id, position, position + 1, 1, NULL"
	"  FROM task_candidate FORCE INDEX (PRIMARY)"
	" WHERE task_id = ? AND position >= ? AND kept_at <= ?"
	" ORDER BY position"
	" LIMIT ?",
	DB_MANY
};

#define JOIN_KEPT \
	"  FROM " JOB_KEYS \
	"  STRAIGHT_JOIN task_candidate AS k FORCE INDEX (PRIMARY)" \
	"    ON k.task_id = j.a AND k.position = j.b"
#define SELECT_KEPT "SELECT k.task_id, k.position, 0, 0" JOIN_KEPT " WHERE k.kept_at <= ?"

static const struct db_query find_over = {
	"find_over",
	"SELECT task_id, user_id, loan_id, 1, until"
	"  FROM work_exclusion FORCE INDEX (work_exclusion_until)"
	" WHERE until <= ?"
	"   AND (until > ?"
	"        OR (until = ? AND task_id > ?)"
	"        OR (until = ? AND task_id = ? AND user_id > ?)"
	"        OR (until = ? AND task_id = ? AND user_id = ? AND loan_id > ?))"
	" ORDER BY until, task_id, user_id, loan_id"
	" LIMIT ?",
	DB_MANY
};

#define JOIN_OVER \
	"  FROM " JOB_KEYS \
	"  STRAIGHT_JOIN work_exclusion AS e FORCE INDEX (PRIMARY)" \
	"    ON e.task_id = j.a AND e.user_id = j.b AND e.loan_id = j.c"
#define SELECT_OVER "SELECT e.task_id, e.user_id, e.loan_id, 0" JOIN_OVER " WHERE e.until <= ?"

/* What is older than this is out of date. */
static const struct db_query next_task = {
	"next_task",
	"SELECT task_id, CAST(? AS DATETIME(6)) - INTERVAL request_ttl SECOND,"
	"       CAST(? AS DATETIME(6)) - INTERVAL cache_ttl SECOND"
	"  FROM task"
	" WHERE task_id > ?"
	" ORDER BY task_id"
	" LIMIT 1",
	DB_MAYBE
};

/* ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR */
enum { TABLE_DENIED = 1142, COLUMN_DENIED = 1143 };

static int
due(struct expiring *e, struct db_rows *rows)
{
	const struct cursor *c = &e->batch.from;
	struct db_arg at = db_text(c->at), task = db_u64(c->key.a);

	return batch_ask(e, &find_due, DB_ARGS(db_text(e->limit), at, at, task, at, task,
	    db_u64(c->key.b), db_u64(e->size)), rows);
}

static int
stale(struct expiring *e, struct db_rows *rows)
{
	return batch_ask(e, &find_stale, DB_ARGS(db_u64(e->task_id),
	    db_u64(e->batch.from.key.a), db_text(e->limit), db_u64(e->size)), rows);
}

/* Positions begin at 0, so c is the one from which it goes on. */
static int
kept(struct expiring *e, struct db_rows *rows)
{
	return batch_ask(e, &find_kept, DB_ARGS(db_u64(e->task_id),
	    db_u64(e->batch.from.key.c), db_text(e->limit), db_u64(e->size)), rows);
}

static int
over(struct expiring *e, struct db_rows *rows)
{
	const struct cursor *c = &e->batch.from;
	struct db_arg at = db_text(c->at), task = db_u64(c->key.a), user = db_u64(c->key.b);

	return batch_ask(e, &find_over, DB_ARGS(db_text(e->limit), at, at, task, at, task,
	    user, at, task, user, db_u64(c->key.c), db_u64(e->size)), rows);
}

static const struct job due_job = {
	.find = due,
	JOB_READS("due", SELECT_DUE, "w"),
	.change = { "end_due", end_due, DB_NO_ROWS },
	.log = { "log_due", log_due, DB_NO_ROWS },
	.counter = JOB_COUNTER(available), .counter_d = JOB_COUNTER(leases)
};

static const struct job stale_job = {
	.find = stale,
	JOB_READS("stale", SELECT_STALE, "r"),
	.change = { "end_stale", end_stale, DB_NO_ROWS },
	.under_lock = true,
	.counter = JOB_COUNTER(requests), .counter_d = JOB_COUNTER(requests)
};

static const struct job kept_job = {
	.find = kept,
	JOB_READS("kept", SELECT_KEPT, "k"),
	.change = { "delete_kept", "DELETE k" JOIN_KEPT, DB_NO_ROWS },
	.under_lock = true,
	.counter = JOB_COUNTER(candidates), .counter_d = JOB_COUNTER(candidates)
};

static const struct job over_job = {
	.find = over,
	JOB_READS("over", SELECT_OVER, "e"),
	.change = { "delete_over", "DELETE e" JOIN_OVER, DB_NO_ROWS },
	.counter = JOB_COUNTER(exclusions), .counter_d = JOB_COUNTER(exclusions)
};

static int
expire_tasks(struct expiring *e)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	char asked_before[TIME_BYTES], kept_before[TIME_BYTES];
	int rc;

	for (e->task_id = 0;;) {
		rc = batch_ask(e, &next_task, DB_ARGS(db_text(e->began), db_text(e->began),
		    db_u64(e->task_id)), &rows);
		if (rc != DB_OK || rows.n_rows == 0)
			break;
		e->task_id = (uint32_t)db_cell_u64(&rows, 0, 0);
		copy_cell(asked_before, sizeof(asked_before), &rows, 0, 1);
		copy_cell(kept_before, sizeof(kept_before), &rows, 0, 2);
		rc = batch_run(e, &stale_job, asked_before);
		if (rc == DB_OK)
			rc = batch_run(e, &kept_job, kept_before);
		if (rc != DB_OK)
			break;
	}
	db_rows_clear(&rows);
	return rc;
}

static int
expire_all(struct expiring *e)
{
	int rc = e->what->purge_after_s > 0 ? purge_allowed(e) : DB_OK;

	if (rc == DB_OK)
		rc = batch_run(e, &due_job, e->began);
	if (rc == DB_OK)
		rc = expire_tasks(e);
	if (rc == DB_OK)
		rc = batch_run(e, &over_job, e->began);
	if (rc == DB_OK && e->what->purge_after_s > 0)
		rc = purge(e);
	return rc;
}

static int
check_what(struct lockq *q, const struct lockq_expire *what)
{
	const char *fault = NULL;

	if (what->batch < 1 || what->batch > LOCKQ_BATCH_MAX)
		fault = "a batch has 1 to 10000 rows";
	else if (what->purge_after_s != 0 && (what->purge_after_s < LOCKQ_PURGE_AFTER_MIN ||
	    what->purge_after_s > LOCKQ_PURGE_AFTER_MAX))
		fault = "purge what is older than 1 day, or more, up to 36500";
	if (fault != NULL)
		error_set(q, "%s", fault);
	return fault == NULL ? LOCKQ_OK : LOCKQ_EUSAGE;
}

/* No connection is made anew, and no lost COMMIT is looked up: what was not done is found by the
 * next run. */
static int
explain(struct expiring *e, int rc)
{
	struct lockq *q = e->q;
	bool lost = rc == DB_ELOST || rc == DB_EINDOUBT;
	bool denied = rc == DB_EFAIL && (db_errno(q->lock) == TABLE_DENIED ||
	    db_errno(q->lock) == COLUMN_DENIED);

	rc = error_from_db(q, q->lock, rc == DB_EINDOUBT ? DB_ELOST : rc);
	if (lost)
		error_set(q, "the connection was lost after %llu row%s, the next run does the rest:"
		    " %s", (unsigned long long)e->ticking.rows, e->ticking.rows == 1 ? "" : "s",
		    db_error(q->lock));
	if (denied)
		error_set(q, "%s: the account needs the role lockq_cron", db_error(q->lock));
	return rc;
}

int
lockq_expire(struct lockq *q, const struct lockq_expire *what, struct lockq_expired *expired)
{
	struct expiring e = {
		.q = q, .what = what, .done = expired,
		.ticking = { .q = q, .phase = LOCKQ_PHASE_EXPIRE, .since = db_clock_ms() }
	};
	int rc;

	*expired = (struct lockq_expired)LOCKQ_EXPIRED_INIT;
	q->error[0] = '\0';
	rc = check_what(q, what);
	if (rc != LOCKQ_OK)
		return rc;
	rc = handle_ready(q);
	if (rc == DB_OK)
		rc = batch_begin(&e);
	if (rc == DB_OK)
		rc = expire_all(&e);
	expired->busy = rc == LOCK_BUSY;
	rc = rc == LOCK_BUSY ? LOCKQ_OK : explain(&e, rc);
	batch_end(&e);
	expired->took_ms = db_clock_ms() - e.ticking.since;
	return rc;
}
