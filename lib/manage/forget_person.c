/* SPDX-License-Identifier: MIT */
/* lockq_forget_person(): erases a person from the history, in steps of a page of rows each. */
#include <stdio.h>
#include <string.h>

#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/progress.h"
#include "handle/session.h"
#include "manage/managing.h"

static DB_QUERY(manage_forget, DB_ONE, "CALL manage_forget_2(?, ?, ?, ?, ?, ?, ?)");
static DB_QUERY(led_by, DB_MAYBE, "SELECT task_id FROM task_lock WHERE holder = ? LIMIT 1");

/* What a call of lockq_forget_person() was asked, and how far it is. */
struct forgetting {
	struct lockq *q;
	const char *manager, *user, *reason;
	bool dry_run;
	struct ticking ticking; /* its rows are those that were changed */
	char word[WORD_BYTES];  /* what the procedure said last, */
	uint64_t n;             /* and of how many rows */
};

/* Does one step of the procedure, from the first row to the last. */
static int
forget_step(struct forgetting *f, const char *step)
{
	struct db_rows result = { 0, 0, NULL, NULL };
	char held[96];
	uint64_t from = 0;
	bool more = true;
	int code = LOCKQ_OK;

	snprintf(held, sizeof(held), "user \"%.64s\"", f->user);
	while (code == LOCKQ_OK && more) {
		if (tick(&f->ticking) != 0)
			return LOCKQ_CANCELLED;
		code = managing_run(f->q, "lockq_eraser", &manage_forget,
		    DB_ARGS(db_text(f->manager), db_text(f->user), db_text(step), db_u64(from),
		    db_u64(FORGET_ROWS), db_bool(f->dry_run), db_text(f->reason)),
		    held, &result);
		copy_cell(f->word, sizeof(f->word), &result, 0, 0);
		from = db_cell_u64(&result, 0, 1);
		f->n = db_cell_u64(&result, 0, 2);
		more = code == LOCKQ_OK && !db_cell_is_null(&result, 0, 1);
		if (strcmp(f->word, "done") == 0)
			f->ticking.rows += f->n;
		db_rows_clear(&result);
	}
	if (code == LOCKQ_BUSY && !f->dry_run)
		error_set(f->q, "another session holds what belongs to user \"%s\", of whom a part "
		    "may be forgotten by now: the same command goes on", f->user);
	if (code == LOCKQ_OK && strcmp(f->word, "holds") == 0)
		return error_refused(f->q, "user \"%s\" still has loans or pending requests, %llu "
		    "in all: they have to end first", f->user, (unsigned long long)f->n);
	return code == LOCKQ_OK ? people_judge(f->q, f->word, f->user, NULL) : code;
}

/* A process of the person that leads would note its round under the name. No other one begins,
 * since the person is disabled by now. */
static int
refuse_leader(struct lockq *q, const char *user)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int code = LOCKQ_OK;
	enum db_rc rc = db_next_read_dirty(q->db);

	if (rc == DB_OK)
		rc = db_run(q->db, &led_by, DB_ARGS(db_text(user)), &rows);
	if (rc != DB_OK)
		code = error_from_db(q, q->db, rc);
	else if (rows.n_rows > 0)
		code = error_busy(q, "user \"%s\" leads task %llu: try again when the query has "
		    "ended", user, (unsigned long long)db_cell_u64(&rows, 0, 0));
	db_rows_clear(&rows);
	return code;
}

static int
forget_person(struct lockq *q, const char *manager, const char *user, int dry_run,
    const char *reason, uint64_t *rows)
{
	struct forgetting f = {
		.q = q, .manager = manager, .user = user, .reason = reason, .dry_run = dry_run != 0,
		.ticking = { .q = q, .phase = LOCKQ_PHASE_EXPIRE, .since = db_clock_ms() }
	};
	int code = managing_check(q, manager, reason);

	*rows = 0;
	if (code == LOCKQ_OK)
		code = people_check(q, user, LOCKQ_PERSON_DISABLE, NULL);
	if (code == LOCKQ_OK)
		code = forget_step(&f, "log");
	if (code == LOCKQ_OK)
		code = forget_step(&f, "requests");
	if (code == LOCKQ_OK && !f.dry_run)
		code = refuse_leader(q, user);
	if (code == LOCKQ_OK)
		code = forget_step(&f, "rest");
	if (code == LOCKQ_OK)
		*rows = f.ticking.rows;
	return code;
}

int
lockq_forget_person(struct lockq *q, const char *manager, const char *user, int dry_run,
    const char *reason, uint64_t *rows)
{
	operation_begin(q, OPERATION_MANAGE, manager, 0);
	return operation_end(q, 0, forget_person(q, manager, user, dry_run, reason, rows));
}
