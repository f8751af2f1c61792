/* SPDX-License-Identifier: MIT */
/* What a user says at the end: complete, return later, never; or on the way: renew the lease. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"
#include "error.h"
#include "retry.h"
#include "request.h"
#include "session.h"
#include "text.h"

/* What is said goes into user variables once, and the statements after that have no parameters:
 * each is one round trip, however many loans there are. The time is that of the first statement, so
 * that what is answered is what is written. */
static const char said[] =
	"@lockq_at = NOW(6), @lockq_task = ?,"
	" @lockq_user = CONVERT(? USING utf8mb4) COLLATE utf8mb4_0900_as_cs,"
	" @lockq_event = CONVERT(? USING utf8mb4) COLLATE utf8mb4_0900_as_cs,"
	" @lockq_loans = ?, @lockq_failed = JSON_ARRAY(), @lockq_ended = 0,"
	" @lockq_after = ?, @lockq_not_me = ?,"
	" @lockq_note = CONVERT(? USING utf8mb4) COLLATE utf8mb4_0900_as_cs,"
	" @lockq_ids = CONVERT(? USING ascii),"
	" @lockq_uuid = CONVERT(? USING ascii) COLLATE ascii_bin";

#define SAID_LOANS \
	"JSON_TABLE(@lockq_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]'," \
	"                                         token BIGINT UNSIGNED PATH '$[1]'))"

/* Never before the last change, which we may have waited for. */
#define AT "GREATEST(@lockq_at, w.changed_at)"
#define AVAILABLE_AT \
	"CASE @lockq_event WHEN 'returned' THEN " AT " + INTERVAL @lockq_after SECOND" \
	" WHEN 'completed' THEN " AT " + INTERVAL NULLIF(t.complete_hold, 0) SECOND END"
#define EXCLUDED_UNTIL AT " + INTERVAL @lockq_not_me SECOND"
#define LEASE_EXPIRES_AT \
	"IF(@lockq_event = 'renewed' AND w.lease_expires_at IS NOT NULL," \
	"   " AT " + INTERVAL t.lease_minutes MINUTE, NULL)"

/* Only who holds a loan, under this very token, and as long as the lease lasts. */
#define MAY_CHANGE \
	"(w.state = 'assigned' AND w.user_id = me.user_id" \
	" AND w.token = COALESCE(j.token, w.token)" \
	" AND COALESCE(w.lease_expires_at > NOW(6)," \
	"              @lockq_event <> 'renewed' OR @lockq_note IS NOT NULL))"

/* Said again, and for the same time. */
#define IS_THE_SAME \
	"(@lockq_event <> 'returned'" \
	" OR EXISTS (SELECT 1 FROM work_log AS l FORCE INDEX (work_log_loan)" \
	"             WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id" \
	"               AND l.version = w.version AND l.event = 'returned'" \
	"               AND l.available_at = l.at + INTERVAL @lockq_after SECOND" \
	"               AND l.excluded_until <=> l.at + INTERVAL @lockq_not_me SECOND))"

/* By primary key and in key order, so that two dispositions never wait for each other in a ring. */
static const struct db_query lock_loans = {
	"lock_loans",
	"SELECT j.loan_id, me.user_id, t.task_id, t.on_complete, holder.name,"
	"       w.user_id = me.user_id, w.state, w.token, w.token = COALESCE(j.token, w.token),"
	"       IF(w.state = 'assigned', w.assigned_at, w.changed_at), w.available_at,"
	"       w.lease_expires_at, " MAY_CHANGE ", " IS_THE_SAME ","
	"       " AT ", " AVAILABLE_AT ", " LEASE_EXPIRES_AT ", " EXCLUDED_UNTIL ","
	"       (SELECT COUNT(*) FROM work_log AS l FORCE INDEX (work_log_loan)"
	"         WHERE l.task_id = @lockq_task AND l.loan_id = j.loan_id"
	"           AND l.uuid = @lockq_uuid)"
	"  FROM (SELECT loan_id, token FROM " SAID_LOANS " AS ids"
	"         ORDER BY loan_id LIMIT 18446744073709551615) AS j"
	"  LEFT JOIN app_user AS me"
	"    ON me.name = @lockq_user"
	"  LEFT JOIN task AS t"
	"    ON t.task_id = @lockq_task"
	"  LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = @lockq_task AND w.loan_id = j.loan_id"
	"  LEFT JOIN app_user AS holder"
	"    ON holder.user_id = w.user_id"
	"   FOR UPDATE OF w",
	DB_MANY
};
enum {
	LOAN, ME, IN_TASK, ON_COMPLETE, HOLDER, IS_MINE, STATE, TOKEN, IS_CURRENT, SINCE, AVAILABLE,
	LEASE, MAY, SAME, NEW_SINCE, NEW_AVAILABLE, NEW_LEASE, NEW_EXCLUDED,
	DONE_BEFORE, NO_COLUMN
};

/* The change as it is going to be, under the same conditions: a lease may run out this moment. */
static const struct db_query log_change = {
	"log_change",
	"INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	"                      request_id, available_at, lease_expires_at, excluded_until, note,"
	"                      uuid, at)"
	" SELECT w.task_id, w.loan_id, @lockq_event, w.user_id, CURRENT_USER(), w.token,"
	"        w.version + 1, w.request_id, " AVAILABLE_AT ", " LEASE_EXPIRES_AT ","
	"        " EXCLUDED_UNTIL ","
	"        IF(@lockq_event = 'renewed', COALESCE(@lockq_note, w.note), @lockq_note),"
	"        @lockq_uuid, " AT
	"   FROM " SAID_LOANS " AS j"
	"   STRAIGHT_JOIN app_user AS me"
	"     ON me.name = @lockq_user"
	"   STRAIGHT_JOIN task AS t"
	"     ON t.task_id = @lockq_task"
	"   STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"     ON w.task_id = @lockq_task AND w.loan_id = j.loan_id"
	"  WHERE " MAY_CHANGE
	"    AND NOT JSON_CONTAINS(@lockq_failed, CAST(w.loan_id AS JSON))"
	"  ORDER BY w.loan_id",
	DB_NO_ROWS
};

/* Conditional all the same, though the row is locked: what was not seen is not overwritten. */
static const struct db_query change_work = {
	"change_work",
	"UPDATE " SAID_LOANS " AS j"
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = @lockq_task AND w.loan_id = j.loan_id"
	"  STRAIGHT_JOIN work_log AS l FORCE INDEX (work_log_loan)"
	"    ON l.task_id = w.task_id AND l.loan_id = w.loan_id AND l.version = w.version + 1"
	"   SET w.state = IF(l.event = 'renewed', 'assigned', CONCAT(l.event)),"
	"       w.version = l.version, w.available_at = l.available_at,"
	"       w.lease_expires_at = l.lease_expires_at,"
	"       w.due_at = COALESCE(NULLIF(l.available_at, l.at), l.lease_expires_at),"
	"       w.note = l.note, w.changed_at = l.at"
	" WHERE l.uuid = @lockq_uuid AND w.state = 'assigned' AND w.user_id = l.user_id"
	"   AND w.token = l.token",
	DB_NO_ROWS
};

static const char *const events[] = { "completed", "returned", "never", "renewed" };

enum { NOTE_CHARACTERS = 512, LOANS_MAX = 10000, ID_DIGITS = 20 };

/* Where in the caller's list a loan is. */
struct place {
	uint64_t loan_id;
	size_t index;
};

/* One call of lockq_dispose(): one transaction. */
struct disposing {
	struct lockq *q;
	const struct lockq_disposition *what;
	struct lockq_disposed_loan *results;  /* in the caller's order */
	struct place *places;                 /* in the order of their ids, as rows come */
	size_t n;
	char uuid[UUID_BYTES];  /* so that what a lost commit did is found in the log */
	bool in_doubt;          /* a try may have been committed */
	bool user_known, task_known;
	bool refused;           /* nothing is done: on_complete has ended the transaction */
	uint64_t n_failed;      /* loans that on_complete failed for */
	char reason[REASON_BYTES];
};

void
lockq_disposed_clear(struct lockq_disposed_result *result)
{
	if (result == NULL)
		return;
	for (size_t i = 0; i < result->n_loans; i++) {
		free(result->loans[i].holder);
		free(result->loans[i].reason);
	}
	free(result->loans);
	*result = (struct lockq_disposed_result)LOCKQ_DISPOSED_RESULT_INIT;
}

static bool
is_set(const struct db_rows *rows, size_t row, size_t column)
{
	return db_cell_u64(rows, row, column) != 0;
}

/* A row that is not to be changed: why not. */
static enum lockq_disposed
refusal(const struct disposing *d, const struct db_rows *rows, size_t row)
{
	const char *state = db_cell(rows, row, STATE);
	bool assigned, mine = is_set(rows, row, IS_MINE), lease;

	if (state == NULL)
		return LOCKQ_NOT_ASSIGNED;
	assigned = strcmp(state, "assigned") == 0;
	lease = !db_cell_is_null(rows, row, LEASE);
	if (!is_set(rows, row, IS_CURRENT))
		return LOCKQ_STALE_TOKEN;
	/* Who returns a loan clears its lease: where it is still there, it ended the assignment. */
	if (mine && lease && (assigned || strcmp(state, "returned") == 0))
		return LOCKQ_LEASE_OVER;
	/* What has no lease needs no renewal. */
	if (mine && is_set(rows, row, SAME) &&
	    strcmp(state, d->what->kind == LOCKQ_RENEW ? "assigned" : events[d->what->kind]) == 0)
		return LOCKQ_DISPOSED_ALREADY;
	return assigned ? LOCKQ_NOT_YOURS : LOCKQ_NOT_ASSIGNED;
}

/* As the row stands, or, where it is about to change, as it will. */
static int
fill_loan(const struct disposing *d, struct lockq_disposed_loan *loan, const struct db_rows *rows,
    size_t row, bool changes)
{
	loan->token = db_cell_u64(rows, row, TOKEN);
	copy_cell(loan->state, sizeof(loan->state), rows, row, STATE);
	if (changes && d->what->kind != LOCKQ_RENEW)
		snprintf(loan->state, sizeof(loan->state), "%s", events[d->what->kind]);
	copy_cell(loan->since, sizeof(loan->since), rows, row, changes ? NEW_SINCE : SINCE);
	copy_cell(loan->available_at, sizeof(loan->available_at), rows, row,
	    changes ? NEW_AVAILABLE : AVAILABLE);
	copy_cell(loan->lease_expires_at, sizeof(loan->lease_expires_at), rows, row,
	    changes ? NEW_LEASE : LEASE);
	copy_cell(loan->excluded_until, sizeof(loan->excluded_until), rows, row,
	    changes ? NEW_EXCLUDED : NO_COLUMN);
	if (copy_text(&loan->reason, NULL) != DB_OK)
		return DB_ENOMEM;
	return copy_text(&loan->holder, db_cell(rows, row, HOLDER));
}

static struct lockq_disposed_loan *
result_of(const struct disposing *d, size_t row)
{
	return &d->results[d->places[row].index];
}

static int
say(struct db *db, const struct disposing *d)
{
	const struct lockq_disposition *what = d->what;
	struct text loans = { NULL, 0, 0, false }, ids = { NULL, 0, 0, false };
	bool returns = what->kind == LOCKQ_RETURN;
	int rc = DB_ENOMEM;

	for (size_t row = 0; row < d->n; row++) {
		const struct lockq_loan_ref *loan = &what->loans[d->places[row].index];

		text_add(&loans, "%s[%" PRIu64, row == 0 ? "[" : ",", loan->loan_id);
		if (loan->token != 0)
			text_add(&loans, ",%" PRIu64, loan->token);
		text_add(&loans, "]");
		text_add(&ids, "%0*" PRIu64, ID_DIGITS, loan->loan_id);
	}
	text_add(&loans, "]");
	if (!loans.failed && !ids.failed)
		rc = db_begin_set(db, said, DB_ARGS(db_u64(what->task), db_text(what->user),
		    db_text(events[what->kind]), db_text(loans.data),
		    returns ? db_u64(what->return_after_s) : db_null(),
		    returns && what->not_me_s > 0 ? db_u64(what->not_me_s) : db_null(),
		    db_text(what->note), db_text(ids.data), db_text(d->uuid)));
	text_clear(&loans);
	text_clear(&ids);
	return rc;
}

static int
lock_and_read(struct db *db, const struct disposing *d, struct db_rows *rows)
{
	int rc = db_run(db, &lock_loans, DB_NO_ARGS, rows);

	/* The statement may have begun before the lost commit it then waited for: its locked rows
	 * are new, what it read of the log is old. */
	if (rc == DB_OK && d->in_doubt)
		rc = db_run(db, &lock_loans, DB_NO_ARGS, rows);
	if (rc == DB_OK && rows->n_rows != d->n)
		rc = db_refuse(db, "there are %zu rows for %zu loans", rows->n_rows, d->n);
	return rc;
}

/* Says of each loan what is to become of it. @n_change: of so many the row is to be changed. */
static int
judge(struct disposing *d, const struct db_rows *rows, uint64_t *n_change)
{
	int rc = DB_OK;

	*n_change = 0;
	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		struct lockq_disposed_loan *loan = result_of(d, row);
		bool done = is_set(rows, row, DONE_BEFORE);
		bool change = is_set(rows, row, MAY) && !done;

		loan->loan_id = d->places[row].loan_id;
		loan->what = done || change ? LOCKQ_DISPOSED : refusal(d, rows, row);
		rc = fill_loan(d, loan, rows, row, false);
		*n_change += change;
	}
	return rc;
}

/* Of those that have changed: not before, since on_complete may be against it. */
static int
fill_changed(struct disposing *d, const struct db_rows *rows)
{
	int rc = DB_OK;

	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		struct lockq_disposed_loan *loan = result_of(d, row);

		if (loan->what == LOCKQ_DISPOSED && !is_set(rows, row, DONE_BEFORE))
			rc = fill_loan(d, loan, rows, row, true);
	}
	return rc;
}

static int
not_completed(struct lockq_disposed_loan *loan, const char *reason)
{
	loan->what = LOCKQ_NOT_COMPLETED;
	return copy_text(&loan->reason, reason);
}

/* What task.on_complete does for one loan. */
static int
complete_one(struct db *db, const char *procedure, const char *quoted, size_t place)
{
	char sql[NAME_BYTES * 3 + 128];

	/* The loan by its place among those that were said. */
	snprintf(sql, sizeof(sql), "CALL work_completes('%s', SUBSTRING(@lockq_ids, %zu, %d),"
	    " @lockq_user)", quoted, place * ID_DIGITS + 1, ID_DIGITS);
	return db_call(db, procedure, sql);
}

/* What work_completes has seen of it. */
static const struct db_query seen_failures = {
	"seen_failures", "SELECT @lockq_ended, JSON_LENGTH(@lockq_failed)", DB_ONE
};

/* A procedure ended the transaction, so what it did may stand or not: nothing is called done. */
static int
explain_end(struct db *db, struct disposing *d, const char *procedure)
{
	d->refused = true;
	snprintf(d->reason, sizeof(d->reason), "on_complete: %s ends the transaction, by COMMIT, "
	    "ROLLBACK, DDL or a deadlock that it passes over: it must leave the transaction to "
	    "lockq, tell the task's manager", procedure);
	return db_refuse(db, "%s", d->reason);
}

/* The loan at @row was not completed. DB_OK where that is all, and the others can go on. */
static int
note_failure(struct db *db, struct disposing *d, size_t row, const char *procedure)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	char reason[REASON_BYTES];
	int rc;

	snprintf(reason, sizeof(reason), "on_complete: %s", db_error(db));
	rc = db_run(db, &seen_failures, DB_NO_ARGS, &rows);
	if (rc == DB_OK && db_cell_u64(&rows, 0, 0) != 0)
		rc = explain_end(db, d, procedure);
	else if (rc == DB_OK && db_cell_u64(&rows, 0, 1) != ++d->n_failed)
		/* An error that no handler sees: what the procedure did is still there. */
		rc = db_refuse(db, "%s", reason);
	else if (rc == DB_OK)
		rc = not_completed(result_of(d, row), reason);
	db_rows_clear(&rows);
	return rc;
}

/* Not what trying all of it again cures, and not what ends the session. */
static bool
is_failure(int rc)
{
	return rc == DB_EFAIL || rc == DB_EDUPLICATE || rc == DB_EHELD || rc == DB_ETIME;
}

/* Before the change, while the loans are locked: a procedure that commits takes nothing of ours
 * with it. A loan for which it fails is left out of what follows. */
static int
complete_all(struct db *db, struct disposing *d, const struct db_rows *rows, uint64_t *n_change)
{
	const char *procedure = db_cell(rows, 0, ON_COMPLETE);
	char quoted[NAME_BYTES * 3];
	int rc = DB_OK;

	if (d->what->kind != LOCKQ_COMPLETE || procedure == NULL)
		return DB_OK;
	if (db_quote_identifier(quoted, sizeof(quoted), procedure) != DB_OK) {
		snprintf(d->reason, sizeof(d->reason), "on_complete is not the name of a "
		    "procedure: letters, digits, _ and $, with one dot at most");
		d->refused = true;
		return DB_EFAIL;
	}
	/* In key order, here too: the rows behind the loans may be locked in theirs. */
	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		if (!is_set(rows, row, MAY) || is_set(rows, row, DONE_BEFORE))
			continue;
		rc = complete_one(db, procedure, quoted, row);
		if (!is_failure(rc))
			continue;
		--*n_change;
		rc = note_failure(db, d, row, procedure);
	}
	return rc;
}

/* One transaction but for its COMMIT: six round trips with that, whatever the number of loans, and
 * one a CALL. */
static int
dispose_body(struct db *db, void *data)
{
	struct disposing *d = data;
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t n = 0;
	int rc = say(db, d);

	d->refused = false;
	d->n_failed = 0;
	if (rc == DB_OK)
		rc = lock_and_read(db, d, &rows);
	d->user_known = rc == DB_OK && !db_cell_is_null(&rows, 0, ME);
	d->task_known = rc == DB_OK && !db_cell_is_null(&rows, 0, IN_TASK);
	if (d->user_known && d->task_known)
		rc = judge(d, &rows, &n);
	if (rc == DB_OK && n > 0)
		rc = complete_all(db, d, &rows, &n);
	/* The log first, and the rows by what it says. */
	if (rc == DB_OK && n > 0)
		rc = db_change(db, &log_change, DB_NO_ARGS, n);
	if (rc == DB_OK && n > 0)
		rc = db_change(db, &change_work, DB_NO_ARGS, n);
	if (rc == DB_OK)
		rc = fill_changed(d, &rows);
	db_rows_clear(&rows);
	return rc;
}

/* A connection lost on the way: the same again on a new one, which waits for the old transaction's
 * end. What that one did is in the log, with this call's UUID. */
static int
dispose_surely(struct disposing *d)
{
	struct lockq *q = d->q;
	int rc = db_transaction_begun(q->lock, dispose_body, d, NULL);

	/* What rolling back cures was tried again there, to its bound. */
	for (unsigned int try = 0;; try++) {
		enum verdict verdict = retry_verdict(rc, false, try, 0, 0);

		d->in_doubt = d->in_doubt || rc == DB_EINDOUBT;
		if (verdict != RECONNECT && verdict != FIND_OUT)
			break;
		db_backoff(try);
		rc = session_connect(q);
		if (rc == DB_OK && d->in_doubt)
			rc = db_set_lock_wait(q->lock, DB_RESOLVE_WAIT_S);
		if (rc == DB_OK)
			rc = db_transaction_begun(q->lock, dispose_body, d, NULL);
		else if (rc == DB_EFAIL)
			rc = DB_ELOST;
	}
	/* It may have been done: no failure afterwards says that it was not. */
	return rc < 0 && d->in_doubt && !d->refused ? DB_EINDOUBT : rc;
}

/* What would have been done is not. */
static int
refuse_all(struct disposing *d)
{
	int rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < d->n; i++) {
		if (d->results[i].what == LOCKQ_DISPOSED)
			rc = not_completed(&d->results[i], d->reason);
	}
	return rc;
}

static size_t
characters(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static int
compare_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->loan_id > y->loan_id) - (x->loan_id < y->loan_id);
}

/* Into the order of the ids; @twice: one is named twice. */
static int
sort_places(struct disposing *d, bool *twice)
{
	*twice = false;
	d->places = calloc(d->n, sizeof(*d->places));
	if (d->places == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < d->n; i++)
		d->places[i] = (struct place){ d->what->loans[i].loan_id, i };
	qsort(d->places, d->n, sizeof(*d->places), compare_place);
	for (size_t i = 1; i < d->n; i++)
		*twice = *twice || d->places[i].loan_id == d->places[i - 1].loan_id;
	return DB_OK;
}

static const char *
fault_of(const struct lockq_disposition *what)
{
	if (what->user == NULL)
		return "no user was named";
	if (what->n_loans == 0 || what->n_loans > LOANS_MAX)
		return "name 1 to 10000 loans";
	if ((unsigned int)what->kind >= sizeof(events) / sizeof(events[0]))
		return "no such disposition";
	if (what->kind == LOCKQ_RETURN && what->return_after_s > LOCKQ_RETURN_AFTER_MAX)
		return "a loan can be returned for 0 to 72 hours";
	if (what->not_me_s > 0 && what->kind != LOCKQ_RETURN)
		return "only a loan that is returned can be kept from being offered to its user";
	if (what->not_me_s > LOCKQ_NOT_ME_MAX)
		return "a loan can be kept from its user for 366 days at most";
	if (what->note != NULL && characters(what->note) > NOTE_CHARACTERS)
		return "a note has 512 characters at most";
	return NULL;
}

static int
result_new(const struct lockq_disposition *what, struct lockq_disposed_result *result)
{
	result->loans = calloc(what->n_loans, sizeof(*result->loans));
	result->n_loans = result->loans != NULL ? what->n_loans : 0;
	return result->loans != NULL ? DB_OK : DB_ENOMEM;
}

/* The worst of it. */
static int
overall(struct lockq *q, const struct lockq_disposed_result *result)
{
	const struct lockq_disposed_loan *refused = NULL, *failed = NULL;

	for (size_t i = 0; i < result->n_loans; i++) {
		if (result->loans[i].what == LOCKQ_NOT_COMPLETED)
			failed = &result->loans[i];
		else if (result->loans[i].what > LOCKQ_DISPOSED_ALREADY)
			refused = &result->loans[i];
	}
	if (failed != NULL) {
		error_set(q, "loan %llu was not completed: %s",
		    (unsigned long long)failed->loan_id, failed->reason);
		return LOCKQ_EQUERY;
	}
	if (refused != NULL)
		error_set(q, "loan %llu was refused", (unsigned long long)refused->loan_id);
	return refused != NULL ? LOCKQ_EREFUSED : LOCKQ_OK;
}

static int
settle(const struct disposing *d, int rc, struct lockq_disposed_result *result)
{
	struct lockq *q = d->q;

	if (rc == DB_OK && d->user_known && d->task_known)
		return overall(q, result);
	lockq_disposed_clear(result);
	if (rc == DB_OK)
		return d->user_known ? error_unknown_task(q, d->what->task) :
		    error_unknown_user(q, d->what->user);
	rc = error_from_db(q, q->lock, rc);
	if (rc == LOCKQ_EUNKNOWN)
		error_unknown(q);
	return rc;
}

int
lockq_dispose(struct lockq *q, const struct lockq_disposition *disposition,
    struct lockq_disposed_result *result)
{
	struct disposing d = { .q = q, .what = disposition, .n = disposition->n_loans };
	const char *fault = fault_of(disposition);
	bool twice = false;
	int rc = DB_OK;

	lockq_disposed_clear(result);
	q->error[0] = '\0';
	if (fault == NULL)
		rc = sort_places(&d, &twice);
	if (fault != NULL || twice) {
		error_set(q, "%s", twice ? "name each loan once" : fault);
		free(d.places);
		return LOCKQ_EUSAGE;
	}
	/* Not asked where it was heard of just now: a disposition goes on after a loss. */
	if (rc == DB_OK && (q->lock == NULL || !db_is_fresh(q->lock)))
		rc = session_ready(q);
	if (rc == DB_OK)
		rc = result_new(disposition, result);
	d.results = result->loans;
	request_make_uuid(d.uuid);
	if (rc == DB_OK)
		rc = dispose_surely(&d);
	if (rc == DB_EFAIL && d.refused)
		rc = refuse_all(&d);
	free(d.places);
	return settle(&d, rc, result);
}
