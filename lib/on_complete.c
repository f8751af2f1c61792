/* SPDX-License-Identifier: MIT */
/* A task's procedure on_complete, called for each loan in the transaction of the disposition.
 * Before the change, while the loans are locked: a procedure that commits takes nothing of ours
 * with it. */
#include "on_complete.h"

#include <stdio.h>

static enum db_rc
not_completed(struct lockq_disposed_loan *loan, const char *reason)
{
	loan->what = LOCKQ_NOT_COMPLETED;
	return copy_text(&loan->reason, reason);
}

/* What task.on_complete does for one loan. */
static enum db_rc
complete_one(struct db *db, const char *procedure, const char *quoted, size_t place)
{
	char sql[NAME_BYTES * 3 + 128];

	/* The loan by its place among those that were said. */
	snprintf(sql, sizeof(sql), "CALL work_completes('%s', SUBSTRING(@lockq_ids, %zu, %d),"
	    " @lockq_user)", quoted, place * ON_COMPLETE_ID_DIGITS + 1,
	    ON_COMPLETE_ID_DIGITS);
	return db_call(db, procedure, sql);
}

/* What work_completes has seen of it. */
static const struct db_query seen_failures = {
	"seen_failures", "SELECT @lockq_ended, JSON_LENGTH(@lockq_failed)", DB_ONE
};

/* A procedure ended the transaction, so what it did may stand or not: nothing is called done. */
static enum db_rc
explain_end(struct db *db, struct disposing *d)
{
	d->refused = true;
	snprintf(d->reason, sizeof(d->reason), "on_complete: procedure \"%s\" ends the "
	    "transaction, by COMMIT, ROLLBACK, DDL or a deadlock that it ignores: it must leave "
	    "the transaction to lockq: tell the task's manager", d->on_complete);
	return db_refuse(db, "%s", d->reason);
}

/* The loan at @row was not completed. DB_OK where that is all, and the others can go on. */
static enum db_rc
note_failure(struct db *db, struct disposing *d, size_t row, uint64_t *n_failed)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	char reason[REASON_BYTES];
	enum db_rc rc;

	snprintf(reason, sizeof(reason), "on_complete: %s", db_error(db));
	rc = db_run(db, &seen_failures, DB_NO_ARGS, &rows);
	if (rc == DB_OK && db_cell_u64(&rows, 0, 0) != 0)
		rc = explain_end(db, d);
	else if (rc == DB_OK && db_cell_u64(&rows, 0, 1) != ++*n_failed)
		/* An error that no handler sees: what the procedure did is still there. */
		rc = db_refuse(db, "%s", reason);
	else if (rc == DB_OK)
		rc = not_completed(disposing_result(d, row), reason);
	db_rows_clear(&rows);
	return rc;
}

/* Not what trying all of it again cures, and not what ends the session. */
static bool
is_failure(enum db_rc rc)
{
	return rc == DB_EFAIL || rc == DB_EDUPLICATE || rc == DB_EHELD || rc == DB_ETIME;
}

enum db_rc
on_complete_all(struct db *db, struct disposing *d)
{
	char quoted[NAME_BYTES * 3];
	uint64_t n_failed = 0;
	enum db_rc rc = DB_OK;

	if (d->what->kind != LOCKQ_COMPLETE || d->on_complete == NULL)
		return DB_OK;
	if (db_quote_identifier(quoted, sizeof(quoted), d->on_complete) != DB_OK) {
		snprintf(d->reason, sizeof(d->reason), "on_complete is not the name of a "
		    "procedure: a name has letters, digits, _ and $, and one dot at most");
		d->refused = true;
		return DB_EFAIL;
	}
	/* In key order, here too: the rows behind the loans may be locked in theirs. */
	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		if (!d->places[row].changes)
			continue;
		rc = complete_one(db, d->on_complete, quoted, row);
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
			rc = not_completed(&d->results[i], d->reason);
	}
	return rc;
}
