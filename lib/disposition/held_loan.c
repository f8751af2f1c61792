/* SPDX-License-Identifier: MIT */
/* Which of the loans of a disposition another session has locked. */
#include <inttypes.h>
#include <stdio.h>

#include "disposition/disposing.h"
#include "rules/rules.h"
#include "rules/task.h"

#define ROWS_OF_LOANS \
	SAID_LOANS " AS j" \
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)" \
	"    ON w.task_id = @lockq_task AND w.loan_id = j.loan_id"

/* SKIP LOCKED passes over the rows that are held, so a loan that is missing here is held. */
static DB_QUERY(free_loans, DB_MANY,
    "SELECT w.loan_id FROM " ROWS_OF_LOANS " ORDER BY w.loan_id FOR UPDATE OF w"
    " SKIP LOCKED");
static DB_QUERY(all_loans, DB_MANY, "SELECT w.loan_id FROM " ROWS_OF_LOANS " ORDER BY w.loan_id");

/* Returns the first loan of @all that is not in @free, or 0. Both are in order. */
static uint64_t
first_missing(const struct db_rows *all, const struct db_rows *free)
{
	for (size_t i = 0; i < all->n_rows; i++) {
		if (i >= free->n_rows || db_cell_u64(all, i, 0) != db_cell_u64(free, i, 0))
			return db_cell_u64(all, i, 0);
	}
	return 0;
}

void
held_loan(struct db *db, uint32_t task_id, char text[HELD_BYTES])
{
	struct db_rows all = { 0, 0, NULL, NULL }, free = { 0, 0, NULL, NULL };
	char noun[LOCKQ_NOUN_SIZE + 1], what[LOCKQ_NOUN_SIZE + 32];
	uint64_t loan = 0;
	struct db_watch *watch = db_set_watch(db, NULL);
	enum db_rc rc;

	text[0] = '\0';
	rc = db_begin(db);
	if (rc == DB_OK)
		rc = db_run(db, &free_loans, DB_NO_ARGS, &free);
	if (rc == DB_OK)
		rc = db_run(db, &all_loans, DB_NO_ARGS, &all);
	if (rc == DB_OK)
		loan = first_missing(&all, &free);
	db_rollback(db);
	snprintf(what, sizeof(what), "%s %" PRIu64, noun_of(db, task_id, 1, noun), loan);
	if (loan != 0)
		held_row(db, "work", db_u64(task_id), db_u64(loan), what, text);
	(void)db_set_watch(db, watch);
	db_rows_clear(&all);
	db_rows_clear(&free);
}
