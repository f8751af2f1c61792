/* SPDX-License-Identifier: MIT */
/* Which of the loans of a disposition another session has locked. */
#include "held.h"

#include <inttypes.h>
#include <stdio.h>

#define SAID_LOANS \
	"JSON_TABLE(@lockq_loans, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j" \
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)" \
	"    ON w.task_id = @lockq_task AND w.loan_id = j.loan_id"

/* SKIP LOCKED passes over the rows that are held, so a loan that is missing here is held. */
static const struct db_query free_loans = {
	"free_loans",
	"SELECT w.loan_id FROM " SAID_LOANS " ORDER BY w.loan_id FOR UPDATE OF w"
	" SKIP LOCKED",
	DB_MANY
};
static const struct db_query all_loans = {
	"all_loans", "SELECT w.loan_id FROM " SAID_LOANS " ORDER BY w.loan_id", DB_MANY
};

/* Only an account that may read these tables of the server gets an answer. */
static const struct db_query holder_of_row = {
	"holder_of_row",
	"SELECT CONCAT(t.processlist_user, '@', t.processlist_host), t.processlist_id"
	"  FROM performance_schema.data_locks AS d"
	"  JOIN performance_schema.threads AS t"
	"    ON t.thread_id = d.thread_id"
	" WHERE d.object_schema = DATABASE() AND d.object_name = 'work'"
	"   AND d.index_name = 'PRIMARY' AND d.lock_status = 'GRANTED'"
	"   AND d.lock_data = CONCAT(@lockq_task, ', ', ?)"
	" LIMIT 1",
	DB_MAYBE
};

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
held_loan(struct db *db, char text[HELD_BYTES])
{
	struct db_rows all = { 0, 0, NULL, NULL }, free = { 0, 0, NULL, NULL };
	struct db_rows holder = { 0, 0, NULL, NULL };
	uint64_t loan = 0;
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
	if (loan != 0) {
		rc = db_run(db, &holder_of_row, DB_ARGS(db_u64(loan)), &holder);
		if (rc == DB_OK && holder.n_rows > 0)
			snprintf(text, HELD_BYTES, "loan %" PRIu64 " is held by %s, connection %s",
			    loan, db_cell(&holder, 0, 0), db_cell(&holder, 0, 1));
		else
			snprintf(text, HELD_BYTES, "loan %" PRIu64 " is held by another session",
			    loan);
	}
	db_rows_clear(&all);
	db_rows_clear(&free);
	db_rows_clear(&holder);
}
