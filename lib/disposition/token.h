/* SPDX-License-Identifier: MIT */
/* Whether a user, with this token and lease, may change a loan, and the change. */
#ifndef LOCKQ_TOKEN_H
#define LOCKQ_TOKEN_H

#include "disposition/disposing.h"

/* The columns of lock_loans in token.c, and of loans_then in repeated.c. DONE_BEFORE: the log has
 * the loan with the call's UUID. */
enum {
	LOAN, ME, IN_TASK, ON_COMPLETE, HOLDER, MINE, STATE, TOKEN, IS_CURRENT, SINCE, AVAILABLE,
	LEASE, TIMELY, LATE_NOW, LATE_SINCE, SAME, NEW_SINCE, NEW_AVAILABLE, NEW_LEASE,
	NEW_EXCLUDED, DONE_BEFORE, OTHER_ACCOUNT, NO_COLUMN
};

/* Makes @d->places, which the caller frees. *@twice is true where a loan is named twice. */
LOCKQ_MUST_CHECK enum db_rc token_sort(struct disposing *d, bool *twice);
/* Locks the rows of work in key order, and sets each loan's result and whether it changes: none,
 * where the call was made before. @rows are for token_change(); the caller clears them. */
LOCKQ_MUST_CHECK enum db_rc token_judge(struct db *db, struct disposing *d, struct db_rows *rows);
/* Changes those loans: writes the log, then work. */
LOCKQ_MUST_CHECK enum db_rc token_change(struct db *db, struct disposing *d,
    const struct db_rows *rows);
/* Returns why the loan of the row is not to be changed. */
enum lockq_disposed token_refusal(const struct disposing *d, const struct db_rows *rows,
    size_t row);
/* Fills the result from the row, with the new values where it @changes. */
LOCKQ_MUST_CHECK enum db_rc token_fill(const struct disposing *d, struct lockq_disposed_loan *loan,
    const struct db_rows *rows, size_t row, bool changes);
/* The statement that locks them, for check/audit_plan.c. */
extern const struct db_query lock_loans;

#endif
