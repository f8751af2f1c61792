/* SPDX-License-Identifier: MIT */
/* Judges and changes the loans of a disposition: whether the user, with this token and lease, may
 * change each of them. That is asked under lock, and again by each statement that changes
 * something. The values are in the user variables that say() in disposition.c sets. */
#include "disposition/disposing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rules/account.h"
#include "rules/rules.h"

/* A change that this transaction waited for may be later than @lockq_at, and so may the end of a
 * lease that has just run out. */
#define AT \
	"GREATEST(@lockq_at, w.changed_at," \
	"         IF(w.lease_expires_at <= NOW(6), w.lease_expires_at, w.changed_at))"
/* What is promised from now on counts from now, also if the server's clock was set back since the
 * loan was given: else --return-after 0 would be as long as the clock was set back by. */
#define FROM_NOW "IF(" AT " > @lockq_at + INTERVAL 1 MINUTE, @lockq_at, " AT ")"
#define AVAILABLE_AT \
	"CASE @lockq_event WHEN 'returned' THEN " FROM_NOW " + INTERVAL @lockq_after SECOND" \
	" WHEN 'completed' THEN " FROM_NOW " + INTERVAL NULLIF(t.complete_hold, 0) SECOND END"
#define EXCLUDED_UNTIL AT " + INTERVAL @lockq_not_me SECOND"
#define LEASE_EXPIRES_AT \
	"IF(@lockq_event = 'renewed' AND w.lease_expires_at IS NOT NULL," \
	"   " LEASE_END(FROM_NOW, "t.lease_minutes") ", NULL)"

/* Only the user who holds the loan, with its token, and while its lease lasts. A loan without a
 * lease is renewed only for the sake of a note. */
#define IS_MINE "w.user_id = me.user_id AND w.token = COALESCE(j.token, w.token)"
#define IN_TIME \
	"(w.state = 'assigned' AND " IS_MINE \
	" AND COALESCE(w.lease_expires_at > NOW(6)," \
	"              @lockq_event <> 'renewed' OR @lockq_note IS NOT NULL))"
#define LATE(state, is_over) \
	"(w.state = " state " AND " IS_MINE " AND " MAY_BE_LATE " AND " is_over ")"
#define IS_LATE_NOW LATE("'assigned'", "COALESCE(w.lease_expires_at <= NOW(6), FALSE)")
/* A row in state 'returned' has its lease only if time has ended the assignment, and not the user.
 * That may have been after NOW(6), when this statement began: it has waited for a row since. */
#define IS_LATE_SINCE LATE("'returned'", "w.lease_expires_at IS NOT NULL")
#define NOT_FAILED "NOT JSON_CONTAINS(@lockq_failed, CAST(w.loan_id AS JSON))"

/* Whether the same was said before; of a return also with the same times. */
#define IS_THE_SAME \
	"(@lockq_event <> 'returned'" \
	" OR EXISTS (SELECT 1 FROM work_log AS l FORCE INDEX (work_log_loan)" \
	"             WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id" \
	"               AND l.version = w.version AND l.event = 'returned'" \
	"               AND " HAS_THE_TIMES "))"

/* By primary key and in key order, or two dispositions may wait for each other in a ring. */
DB_QUERY(lock_loans, DB_MANY,
    "SELECT j.loan_id, me.user_id, t.task_id, t.on_complete, holder.name,"
    "       w.user_id = me.user_id, w.state, w.token, w.token = COALESCE(j.token, w.token),"
    "       IF(w.state = 'assigned', w.assigned_at, w.changed_at), w.available_at,"
    "       w.lease_expires_at, " IN_TIME ", " IS_LATE_NOW ","
    "       " IS_LATE_SINCE ", " IS_THE_SAME ","
    "       " AT ", " AVAILABLE_AT ", " LEASE_EXPIRES_AT ", " EXCLUDED_UNTIL ","
    "       EXISTS (SELECT 1 FROM work_log AS l FORCE INDEX (work_log_loan)"
    "                WHERE l.task_id = @lockq_task AND l.loan_id = j.loan_id"
    "                  AND l.uuid = @lockq_uuid),"
    "       IF(" MAY_ASK("me") ", NULL, me.account)"
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
    "   FOR UPDATE OF w");

/* The managers who have brought the loans into their states. They are asked for only where a loan
 * is refused. */
static DB_QUERY(read_managers, DB_MANY,
    "SELECT (SELECT l.manager FROM work_log AS l FORCE INDEX (work_log_loan)"
    "         WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id"
    "           AND l.version = w.version AND l.event <> 'available'"
    "         ORDER BY l.log_id DESC LIMIT 1)"
    "  FROM " SAID_LOANS " AS j"
    "  LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
    "    ON w.task_id = @lockq_task AND w.loan_id = j.loan_id"
    " ORDER BY j.loan_id");

/* A late disposition ends the assignment by its lease first, where nobody has done that yet: then
 * the log tells the same story as if cron had come in between. */
static DB_QUERY(log_late, DB_NO_ROWS,
    LOG_EXPIRED(AT)
    "   FROM " SAID_LOANS " AS j"
    "   STRAIGHT_JOIN app_user AS me"
    "     ON me.name = @lockq_user"
    "   STRAIGHT_JOIN task AS t"
    "     ON t.task_id = @lockq_task"
    "   STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
    "     ON w.task_id = @lockq_task AND w.loan_id = j.loan_id"
    "  WHERE " IS_LATE_NOW " AND " NOT_FAILED
    "  ORDER BY w.loan_id");

/* Written first, since `work` follows the log. The conditions are asked again,
 * since a lease may have run out meanwhile. */
static DB_QUERY(log_change, DB_NO_ROWS,
    "INSERT INTO log_in (task_id, loan_id, event, user_id, account, token, version,"
    "                    request_id, available_at, lease_expires_at, excluded_until, note,"
    "                    uuid, at)"
    " SELECT w.task_id, w.loan_id, @lockq_event, w.user_id, " ACCOUNT ", w.token,"
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
    "  WHERE (" IN_TIME " OR " IS_LATE_SINCE ") AND " NOT_FAILED
    "  ORDER BY w.loan_id");

/* The rows of `work` become what the log says, by a procedure of schema/doors. A loan that was
 * not logged stays as it is. */
static DB_QUERY(change_work, DB_NO_ROWS, "CALL work_moves(@lockq_task, @lockq_loans)");

/* The user may have returned the loan before; the later end counts. ON DUPLICATE KEY UPDATE can't
 * do it: an INSERT through a view that has it, once prepared, writes nothing and says nothing
 * (MySQL 9.7). */
#define RETURNED_NOT_ME \
	SAID_LOANS " AS j" \
	"  STRAIGHT_JOIN work_log AS l FORCE INDEX (work_log_loan)" \
	"    ON l.task_id = @lockq_task AND l.loan_id = j.loan_id AND l.uuid = @lockq_uuid" \
	"   AND l.excluded_until IS NOT NULL"
#define EXCLUDED_BEFORE \
	"e.task_id = l.task_id AND e.user_id = l.user_id AND e.loan_id = l.loan_id"
static DB_QUERY(end_exclusion, DB_NO_ROWS,
    "DELETE e FROM " RETURNED_NOT_ME
    "  STRAIGHT_JOIN exclusion_out AS e"
    "    ON " EXCLUDED_BEFORE
    " WHERE e.until < l.excluded_until");

/* The door lets in what the log says. */
static DB_QUERY(exclude, DB_NO_ROWS,
    "INSERT INTO exclusion_in (task_id, user_id, loan_id, until)"
    " SELECT l.task_id, l.user_id, l.loan_id, l.excluded_until"
    "   FROM " RETURNED_NOT_ME
    "  WHERE NOT EXISTS (SELECT 1 FROM work_exclusion AS e WHERE " EXCLUDED_BEFORE ")"
    "  ORDER BY l.loan_id");

static enum db_rc
exclude_user(struct db *db)
{
	enum db_rc rc = db_run(db, &end_exclusion, DB_NO_ARGS, NULL);

	return rc == DB_OK ? db_run(db, &exclude, DB_NO_ARGS, NULL) : rc;
}

static bool
is_set(const struct db_rows *rows, size_t row, size_t column)
{
	return db_cell_u64(rows, row, column) != 0;
}

static int
compare_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->loan_id > y->loan_id) - (x->loan_id < y->loan_id);
}

enum db_rc
token_sort(struct disposing *d, bool *twice)
{
	*twice = false;
	d->places = calloc(d->n, sizeof(*d->places));
	if (d->places == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < d->n; i++)
		d->places[i] = (struct place){ d->what->loans[i].loan_id, i, false, false };
	qsort(d->places, d->n, sizeof(*d->places), compare_place);
	for (size_t i = 1; i < d->n; i++)
		*twice = *twice || d->places[i].loan_id == d->places[i - 1].loan_id;
	return DB_OK;
}

struct text
token_json(const struct disposing *d, bool all)
{
	struct text json = { NULL, 0, 0, false };

	for (size_t i = 0; i < d->n; i++) {
		const struct lockq_loan_ref *loan = &d->what->loans[d->places[i].index];

		if (!all && !d->places[i].changes)
			continue;
		text_add(&json, "%s[%" PRIu64, json.used == 0 ? "[" : ",", loan->loan_id);
		if (loan->token != 0)
			text_add(&json, ",%" PRIu64, loan->token);
		text_add(&json, "]");
	}
	text_add(&json, "]");
	return json;
}

enum lockq_disposed
token_refusal(const struct disposing *d, const struct db_rows *rows, size_t row)
{
	enum state state = state_read(db_cell(rows, row, STATE));
	bool mine = is_set(rows, row, MINE), lease = !db_cell_is_null(rows, row, LEASE);

	if (state == NO_STATE)
		return LOCKQ_NOT_ASSIGNED;
	if (!is_set(rows, row, IS_CURRENT))
		return LOCKQ_STALE_TOKEN;
	/* A user's return clears the lease. A lease that is still there has ended the
	 * assignment. */
	if (mine && lease && (state == ASSIGNED || state == RETURNED))
		return LOCKQ_LEASE_OVER;
	/* For a renewal this means that the loan has no lease. */
	if (mine && is_set(rows, row, SAME) && state == d->state)
		return LOCKQ_DISPOSED_ALREADY;
	return state == ASSIGNED ? LOCKQ_NOT_YOURS : LOCKQ_NOT_ASSIGNED;
}

static bool
is_late(const struct db_rows *rows, size_t row)
{
	return is_set(rows, row, LATE_NOW) || is_set(rows, row, LATE_SINCE);
}

enum db_rc
token_fill(const struct disposing *d, struct lockq_disposed_loan *loan, const struct db_rows *rows,
    size_t row, bool changes)
{
	loan->token = db_cell_u64(rows, row, TOKEN);
	copy_cell(loan->state, sizeof(loan->state), rows, row, STATE);
	if (changes)
		snprintf(loan->state, sizeof(loan->state), "%s", state_name(d->state));
	copy_cell(loan->since, sizeof(loan->since), rows, row, changes ? NEW_SINCE : SINCE);
	copy_cell(loan->available_at, sizeof(loan->available_at), rows, row,
	    changes ? NEW_AVAILABLE : AVAILABLE);
	loan->late = is_late(rows, row);
	copy_cell(loan->lease_expires_at, sizeof(loan->lease_expires_at), rows, row,
	    changes && (!loan->late || d->state == ASSIGNED) ? NEW_LEASE : LEASE);
	copy_cell(loan->excluded_until, sizeof(loan->excluded_until), rows, row,
	    changes ? NEW_EXCLUDED : NO_COLUMN);
	if (copy_text(&loan->reason, NULL) != DB_OK || copy_text(&loan->manager, NULL) != DB_OK)
		return DB_ENOMEM;
	return copy_text(&loan->holder, db_cell(rows, row, HOLDER));
}

static enum db_rc
lock_and_read(struct db *db, const struct disposing *d, struct db_rows *rows)
{
	enum db_rc rc = db_run(db, &lock_loans, DB_NO_ARGS, rows);

	/* The statement may have begun before the lost COMMIT, or before that of another call with
	 * the same UUID, and then waited for it. Its locked rows are new then, but its rows of the
	 * log are old. */
	if (rc == DB_OK && (d->in_doubt || d->what->uuid != NULL))
		rc = db_run(db, &lock_loans, DB_NO_ARGS, rows);
	if (rc == DB_OK && rows->n_rows != d->n)
		rc = db_refuse(db, "the database gave %zu rows for %zu loans", rows->n_rows, d->n);
	return rc;
}

/* Tells of the loans that are refused which manager is the reason. */
static enum db_rc
name_managers(struct db *db, const struct disposing *d)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &read_managers, DB_NO_ARGS, &rows);

	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		if (!d->places[row].changes)
			rc = copy_text(&disposing_result(d, row)->manager,
			    db_cell(&rows, row, 0));
	}
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
token_judge(struct db *db, struct disposing *d, struct db_rows *rows)
{
	enum db_rc rc = lock_and_read(db, d, rows);
	bool refuses = false;

	d->n_change = 0;
	d->user_known = rc == DB_OK && !db_cell_is_null(rows, 0, ME);
	d->task_known = rc == DB_OK && !db_cell_is_null(rows, 0, IN_TASK);
	copy_cell(d->other_account, sizeof(d->other_account), rows, 0,
	    d->user_known ? OTHER_ACCOUNT : NO_COLUMN);
	d->on_complete = db_cell(rows, 0, ON_COMPLETE);
	if (!d->user_known || !d->task_known || d->other_account[0] != '\0')
		return rc;
	for (size_t row = 0; rc == DB_OK && row < d->n; row++)
		d->repeats = d->repeats || is_set(rows, row, DONE_BEFORE);
	if (d->repeats)
		return rc;
	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		struct lockq_disposed_loan *loan = disposing_result(d, row);
		bool change = is_set(rows, row, TIMELY) || is_late(rows, row);

		loan->loan_id = d->places[row].loan_id;
		loan->what = change ? LOCKQ_DISPOSED : token_refusal(d, rows, row);
		rc = token_fill(d, loan, rows, row, false);
		d->places[row].changes = change;
		d->places[row].calls = change && d->what->kind == LOCKQ_COMPLETE;
		d->n_change += change;
		refuses = refuses || loan->what > LOCKQ_DISPOSED_ALREADY;
	}
	return rc == DB_OK && refuses ? name_managers(db, d) : rc;
}

/* Ends the assignments by their leases that are disposed of late, and that are not ended. */
static enum db_rc
end_leases(struct db *db, const struct disposing *d, const struct db_rows *rows)
{
	uint64_t n = 0;
	enum db_rc rc = DB_OK;

	for (size_t row = 0; row < d->n; row++)
		n += d->places[row].changes && is_set(rows, row, LATE_NOW);
	if (n > 0)
		rc = db_change(db, &log_late, DB_NO_ARGS, n);
	if (n > 0 && rc == DB_OK)
		rc = db_change(db, &change_work, DB_NO_ARGS, n);
	return rc;
}

enum db_rc
token_change(struct db *db, struct disposing *d, const struct db_rows *rows)
{
	enum db_rc rc = end_leases(db, d, rows);

	if (rc == DB_OK)
		rc = db_change(db, &log_change, DB_NO_ARGS, d->n_change);
	if (rc == DB_OK)
		rc = db_change(db, &change_work, DB_NO_ARGS, d->n_change);
	if (rc == DB_OK && d->what->not_me_s > 0)
		rc = exclude_user(db);
	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		if (d->places[row].changes)
			rc = token_fill(d, disposing_result(d, row), rows, row, true);
	}
	return rc;
}
