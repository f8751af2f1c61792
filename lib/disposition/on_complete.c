/* SPDX-License-Identifier: MIT */
/* Calls a task's procedure on_complete for each loan, in the transaction of the disposition, or
 * on_undo in that of the manager who takes it back. The calls come before the change, while the
 * loans are locked: a procedure that commits then commits nothing of lockq's. */
#include "disposition/disposing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "handle/progress.h"
#include "handle/session.h"

static enum db_rc
not_completed(struct lockq_disposed_loan *loan, enum lockq_disposed what, const char *reason)
{
	loan->what = what;
	return copy_text(&loan->reason, reason);
}

struct text
on_complete_ids(const struct disposing *d)
{
	struct text ids = { NULL, 0, 0, false };

	for (size_t row = 0; row < d->n; row++)
		text_add(&ids, "%0*" PRIu64, ON_COMPLETE_ID_DIGITS, d->places[row].loan_id);
	return ids;
}

/* The column of the table task that names the procedure. */
static const char *
column_of(const struct disposing *d)
{
	return d->undoes ? "on_undo" : "on_complete";
}

/* Calls the procedure for one loan, by work_completes_2(), which notes whether it fails. The caller
 * of a disposition may give it up. */
static enum db_rc
complete_one(struct db *db, const struct disposing *d, const char *quoted, size_t place,
    struct ticking *ticking)
{
	char sql[NAME_BYTES * 3 + 192], user[72] = "@lockq_user";

	if (d->undoes)
		snprintf(user, sizeof(user), "JSON_UNQUOTE(JSON_EXTRACT(@lockq_users, '$[%zu]'))",
		    place);
	snprintf(sql, sizeof(sql), "CALL work_completes_2('%s', SUBSTRING(@lockq_ids, %zu, %d),"
	    " %s)", quoted, place * ON_COMPLETE_ID_DIGITS + 1, ON_COMPLETE_ID_DIGITS, user);
	return db_call(db, d->on_complete, sql, d->undoes ? NULL : tick, ticking);
}

/* Whether a procedure has ended the transaction, and for how many loans work_completes_2() saw an
 * error. */
static DB_QUERY(seen_failures, DB_ONE, "SELECT @lockq_ended, JSON_LENGTH(@lockq_failed)");

/* Refuses the whole disposition: the procedure has ended the transaction, so nobody knows what of
 * its changes stands. */
static enum db_rc
explain_end(struct db *db, struct disposing *d)
{
	d->refused = true;
	snprintf(d->reason, sizeof(d->reason), "%s: procedure \"%s\" ends the "
	    "transaction, by COMMIT, ROLLBACK, DDL or a deadlock that it ignores: it must leave "
	    "the transaction to lockq: tell the task's manager", column_of(d), d->on_complete);
	return db_refuse(db, "%s", d->reason);
}

/* Notes that the loan at @row was not completed. DB_OK where the other loans can go on. */
static enum db_rc
note_failure(struct db *db, struct disposing *d, size_t row, uint64_t *n_failed)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	char reason[REASON_BYTES];
	bool refuses = db_is_signal(db);
	enum db_rc rc;

	/* What the business says by a SIGNAL is a sentence for people already. */
	snprintf(reason, sizeof(reason), "%s%s%s", refuses ? "" : column_of(d),
	    refuses ? "" : ": ", refuses ? db_server_text(db) : db_error(db));
	rc = db_run(db, &seen_failures, DB_NO_ARGS, &rows);
	if (rc == DB_OK && db_cell_u64(&rows, 0, 0) != 0)
		rc = explain_end(db, d);
	else if (rc == DB_OK && db_cell_u64(&rows, 0, 1) != ++*n_failed)
		/* The handler of work_completes_2() did not catch the error, so the procedure's
		 * changes were not rolled back. */
		rc = db_refuse(db, "%s", reason);
	else if (rc == DB_OK)
		rc = not_completed(disposing_result(d, row), refuses ? LOCKQ_NOT_ALLOWED :
		    LOCKQ_NOT_COMPLETED, reason);
	db_rows_clear(&rows);
	return rc;
}

/* Nobody can tell which row or table the procedure waits for. */
static void
note_wait(struct disposing *d, size_t row)
{
	d->procedure_waits = true;
	snprintf(d->held, sizeof(d->held), "another session holds what the procedure \"%s\" "
	    "needs for loan %" PRIu64, d->on_complete, d->places[row].loan_id);
}

/* Whether @rc is an error of the procedure: not one that a new transaction cures, nor a lost
 * session. */
static bool
is_failure(enum db_rc rc)
{
	return rc == DB_EFAIL || rc == DB_EDUPLICATE || rc == DB_EHELD || rc == DB_ETIME;
}

static void
note_silence(struct disposing *d)
{
	d->silences++;
	d->silent = true;
	snprintf(d->reason, sizeof(d->reason), "%s: procedure \"%s\" gave no answer within %d "
	    "seconds: nothing was changed: tell the task's manager", column_of(d), d->on_complete,
	    DB_READ_TIMEOUT_S);
}

/* The session of a procedure that does not end is given up, or it would keep the loans locked from
 * those who try again. */
enum db_rc
on_complete_silent(struct disposing *d, enum db_rc rc)
{
	char server[64], error[512];
	enum db_rc connected;

	if (!d->silent)
		return rc;
	d->silent = false;
	snprintf(server, sizeof(server), "%s", db_server(d->q->db));
	snprintf(error, sizeof(error), "%s", db_error(d->q->db));
	connected = session_abandon(d->q);
	/* A router may lead to each of several servers in turn. */
	if (d->silences == 1 && connected != DB_OK)
		return rc;
	if (d->silences == 1 && strcmp(server, db_server(d->q->db)) != 0)
		return db_fail_with(d->q->db, rc, "%s", error);
	d->refused = true;
	return DB_EFAIL;
}

/* The procedure's own statements may wait for longer than lockq's, within the call's time. */
static unsigned int
own_wait_s(const struct disposing *d)
{
	uint64_t now = db_clock_ms(), left_s = now < d->deadline ? (d->deadline - now) / 1000 : 0;

	return left_s >= DB_LOCK_WAIT_S ? DB_LOCK_WAIT_S : left_s > 0 ? (unsigned int)left_s :
	    DB_BRIEF_WAIT_S;
}

static bool
is_called(const struct disposing *d)
{
	bool called = false;

	for (size_t row = 0; row < d->n; row++)
		called = called || d->places[row].calls;
	return called && d->on_complete != NULL;
}

enum db_rc
on_complete_all(struct db *db, struct disposing *d)
{
	char quoted[NAME_BYTES * 3];
	struct ticking ticking = {
		.q = d->q, .phase = LOCKQ_PHASE_DISPOSE, .since = db_clock_ms()
	};
	uint64_t n_failed = 0, began;
	enum db_rc rc = DB_OK;

	if (!is_called(d))
		return DB_OK;
	if (db_quote_identifier(quoted, sizeof(quoted), d->on_complete) != DB_OK) {
		snprintf(d->reason, sizeof(d->reason), "%s is not the name of a "
		    "procedure: a name has letters, digits, _ and $, and one dot at most",
		    column_of(d));
		d->refused = true;
		return DB_EFAIL;
	}
	rc = db_set_lock_wait(db, own_wait_s(d));
	/* In the order of loan_id, or two dispositions may wait in a ring for rows that the
	 * procedure locks. */
	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		if (!d->places[row].calls)
			continue;
		began = db_clock_ms();
		rc = complete_one(db, d, quoted, row, &ticking);
		if (rc == DB_ELOST && db_clock_ms() - began >= DB_READ_TIMEOUT_S * 1000)
			note_silence(d);
		if (rc == DB_ELOCKWAIT)
			note_wait(d, row);
		if (!is_failure(rc))
			continue;
		d->places[row].changes = false;
		d->n_change--;
		rc = note_failure(db, d, row, &n_failed);
	}
	return rc;
}

enum db_rc
on_complete_refused(struct disposing *d)
{
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < d->n; i++) {
		if (d->results[i].what == LOCKQ_DISPOSED)
			rc = not_completed(&d->results[i], LOCKQ_NOT_COMPLETED, d->reason);
	}
	return rc;
}
