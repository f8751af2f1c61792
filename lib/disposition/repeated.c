/* SPDX-License-Identifier: MIT */
/* Answers a disposition that was made before with the same UUID: as the first call did, whatever
 * has become of the loans since. The log has all that is needed: the rows that the call wrote, and
 * for loans that it refused the rows that it met. */
#include "disposition/disposing.h"

#include "rules/rules.h"

/* The first row of the log that the call wrote. Rows of its other loans that came before it are
 * those that the call met, since it had locked the loans. */
static DB_QUERY(first_row, DB_ONE,
    "SELECT MIN(l.log_id)"
    "  FROM " SAID_LOANS " AS j"
    "  STRAIGHT_JOIN work_log AS l FORCE INDEX (work_log_loan)"
    "    ON l.task_id = @lockq_task AND l.loan_id = j.loan_id AND l.uuid = @lockq_uuid");

#define OF_THE_LOAN(m) \
	"FROM work_log AS " m " FORCE INDEX (work_log_loan)" \
	" WHERE " m ".task_id = @lockq_task AND " m ".loan_id = j.loan_id"
#define STATE_THEN \
	"CASE l.event WHEN 'renewed' THEN 'assigned' WHEN 'expired' THEN 'returned'" \
	"             ELSE CONCAT(l.event) END"
#define IS_WRITTEN "l.uuid <=> @lockq_uuid"
#define IS_MINE_THEN "l.user_id = me.user_id AND l.token = COALESCE(j.token, l.token)"

/* Whether the row, if the call wrote it, has what this call says. A renewal without a note keeps
 * the note. Of other rows, whether they say the same, see token.c. */
#define SAYS_THE_SAME \
	"((NOT (" IS_WRITTEN ")" \
	"  OR (l.event = @lockq_event AND " IS_MINE_THEN \
	"      AND (l.note <=> @lockq_note OR (l.event = 'renewed' AND @lockq_note IS NULL))))" \
	" AND (@lockq_event <> 'returned'" \
	"      OR (l.event = 'returned' AND " HAS_THE_TIMES ")))"

/* Whether the call would have changed the loan as it met it, see token.c; then the loan was not
 * named, or on_complete refused it. */
#define COULD_CHANGE \
	"(" IS_MINE_THEN " AND CASE l.event" \
	" WHEN 'expired' THEN " MAY_BE_LATE \
	" WHEN 'assigned' THEN " STILL_LASTS " WHEN 'renewed' THEN " STILL_LASTS \
	" ELSE FALSE END)"
#define STILL_LASTS \
	"(" MAY_BE_LATE \
	" OR COALESCE(l.lease_expires_at > COALESCE(f.logged_at, f.at)," \
	"             @lockq_event <> 'renewed' OR @lockq_note IS NOT NULL))"

/* The loans as the first call left or met them, in the columns of token.c. */
static DB_QUERY(loans_then, DB_MANY,
    "SELECT j.loan_id, me.user_id, t.task_id, t.on_complete, holder.name,"
    "       l.user_id = me.user_id, " STATE_THEN ", l.token,"
    "       l.token = COALESCE(j.token, l.token),"
    "       IF(" IS_WRITTEN " OR l.event NOT IN ('assigned', 'renewed'), l.at,"
    "          (SELECT MAX(a.at) " OF_THE_LOAN("a")
    "              AND a.event = 'assigned' AND a.token = l.token)),"
    "       l.available_at,"
    "       COALESCE(e.lease, l.lease_expires_at),"
    "       " COULD_CHANGE ", FALSE, e.lease IS NOT NULL,"
    "       " SAYS_THE_SAME ", l.at, l.available_at, l.lease_expires_at, l.excluded_until,"
    "       " IS_WRITTEN ", NULL"
    "  FROM " SAID_LOANS " AS j"
    "  LEFT JOIN app_user AS me"
    "    ON me.name = @lockq_user"
    "  LEFT JOIN task AS t"
    "    ON t.task_id = @lockq_task"
    "  LEFT JOIN work_log AS f FORCE INDEX (PRIMARY)"
    "    ON f.log_id = ?"
    "  LEFT JOIN LATERAL"
    "       (SELECT m.* " OF_THE_LOAN("m")
    "           AND (m.uuid = @lockq_uuid"
    "                OR (m.log_id < f.log_id AND m.event <> 'available'))"
    "         ORDER BY m.uuid <=> @lockq_uuid DESC, m.version DESC, m.log_id DESC"
    "         LIMIT 1) AS l"
    "    ON TRUE"
    "  LEFT JOIN LATERAL"
    "       (SELECT MAX(m.lease_expires_at) AS lease " OF_THE_LOAN("m")
    "           AND m.event = 'expired' AND m.version = l.version - 1"
    "           AND " IS_WRITTEN ") AS e"
    "    ON TRUE"
    "  LEFT JOIN app_user AS holder"
    "    ON holder.user_id = l.user_id"
    " ORDER BY j.loan_id");

/* The loan that the row tells of, which the first call did not change. */
static enum db_rc
answer_unchanged(struct disposing *d, const struct db_rows *rows, size_t row)
{
	struct lockq_disposed_loan *loan = disposing_result(d, row);
	bool could = db_cell_u64(rows, row, TIMELY) != 0;
	enum db_rc rc;

	/* The answer of this very call, which has only lost its COMMIT, is still there. */
	if (d->in_doubt && loan->what != LOCKQ_DISPOSED)
		return DB_OK;
	if (could && (d->what->kind != LOCKQ_COMPLETE || d->on_complete == NULL))
		d->uuid_taken = true;
	loan->what = could ? LOCKQ_NOT_COMPLETED : token_refusal(d, rows, row);
	rc = token_fill(d, loan, rows, row, false);
	if (rc == DB_OK && could)
		rc = copy_text(&loan->reason, "the first call with this UUID did not complete it,"
		    " and the reason was not kept: make a call with another UUID");
	return rc;
}

enum db_rc
repeated_answer(struct db *db, struct disposing *d)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t first = 0;
	enum db_rc rc = db_number(db, &first_row, DB_NO_ARGS, &first);

	if (rc == DB_OK)
		rc = db_run(db, &loans_then, DB_ARGS(db_u64(first)), &rows);
	if (rc == DB_OK && rows.n_rows != d->n)
		rc = db_refuse(db, "the database gave %zu rows for %zu loans", rows.n_rows, d->n);
	for (size_t row = 0; rc == DB_OK && row < d->n; row++) {
		struct lockq_disposed_loan *loan = disposing_result(d, row);

		loan->loan_id = d->places[row].loan_id;
		/* Of a COMMIT in doubt, only if it was a repetition's. */
		loan->repeated = loan->repeated || !d->in_doubt;
		if (db_cell_u64(&rows, row, DONE_BEFORE) == 0) {
			rc = answer_unchanged(d, &rows, row);
			continue;
		}
		d->uuid_taken = d->uuid_taken || db_cell_u64(&rows, row, SAME) == 0;
		loan->what = LOCKQ_DISPOSED;
		rc = token_fill(d, loan, &rows, row, true);
	}
	db_rows_clear(&rows);
	return rc;
}
