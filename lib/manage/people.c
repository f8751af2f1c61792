/* SPDX-License-Identifier: MIT */
/* The people who may ask for work: lockq_people() reads them, lockq_change_person() changes them
 * for a manager. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "getwork/bounds.h"
#include "handle/error.h"
#include "handle/patience.h"
#include "handle/progress.h"
#include "handle/session.h"
#include "manage/managing.h"

static const struct db_query call_user = {
	"manage_person", "CALL manage_person(?, ?, ?, ?, ?)", DB_ONE
};

static const struct db_query call_forget = {
	"manage_forget", "CALL manage_forget(?, ?, ?, ?, ?, ?, ?)", DB_ONE
};
static const struct db_query led_by = {
	"led_by", "SELECT task_id FROM task_lock WHERE holder = ? LIMIT 1", DB_MAYBE
};

/* Each count goes by the user's rows. */
static const struct db_query read_people = {
	"read_people",
	"SELECT u.name, u.account, u.enabled, u.created_at,"
	"       (SELECT COUNT(*) FROM work AS w FORCE INDEX (work_pipeline)"
	"         WHERE w.user_id = u.user_id AND w.state = 'assigned'"
	"           AND COALESCE(w.lease_expires_at > NOW(6), TRUE)),"
	"       (SELECT COUNT(*) FROM task AS t"
	"         STRAIGHT_JOIN work_requested AS r FORCE INDEX (work_requested_one_pending)"
	"            ON r.user_id = u.user_id AND r.task_id = t.task_id AND r.pending = 1)"
	"  FROM app_user AS u"
	" ORDER BY u.name",
	DB_MANY
};

static const char *
action_of(enum lockq_person_change what)
{
	static const char *const words[] = {
		[LOCKQ_PERSON_ADD] = "add", [LOCKQ_PERSON_BIND] = "bind",
		[LOCKQ_PERSON_DISABLE] = "disable", [LOCKQ_PERSON_ENABLE] = "enable",
		[LOCKQ_PERSON_REMOVE] = "remove"
	};

	return (size_t)what < sizeof(words) / sizeof(words[0]) ? words[what] : NULL;
}

static int
check_person(struct lockq *q, const char *user, enum lockq_person_change what,
    const char *account)
{
	if (action_of(what) == NULL)
		return error_usage(q, "%d is no change of a person", (int)what);
	if (user == NULL || user[0] == '\0')
		return error_usage(q, "no user was named");
	if (text_characters(user) > 64)
		return error_usage(q, "a user's name has 64 characters at most");
	if (account != NULL && (account[0] == '\0' || text_characters(account) > 32))
		return error_usage(q, "the name of a MySQL account has 1 to 32 characters");
	return LOCKQ_OK;
}

static int
judge_person(struct lockq *q, const char *word, const char *user)
{
	if (strcmp(word, "done") == 0)
		return LOCKQ_OK;
	if (strcmp(word, "unknown") == 0)
		return error_refused(q, "user \"%s\" is unknown: managetask user add makes one "
		    "known", user);
	if (strcmp(word, "exists") == 0)
		return error_refused(q, "user \"%s\" is there already", user);
	return error_refused(q, "user \"%s\" has asked for work, and the history names the user: "
	    "disable the user", user);
}

static int
change_person(struct lockq *q, const char *manager, const char *user,
    enum lockq_person_change what, const char *account, const char *reason)
{
	char word[WORD_BYTES], held[96];
	uint64_t number = 0;
	int code;

	error_clear(q);
	code = managing_check(q, manager, reason);
	if (code == LOCKQ_OK)
		code = check_person(q, user, what, account);
	if (code != LOCKQ_OK)
		return code;
	snprintf(held, sizeof(held), "user \"%.64s\"", user);
	code = managing_call(q, &call_user, DB_ARGS(db_text(manager), db_text(user),
	    db_text(action_of(what)), db_text(account), db_text(reason)), held, word, &number);
	return code == LOCKQ_OK ? judge_person(q, word, user) : code;
}

int
lockq_change_person(struct lockq *q, const char *manager, const char *user,
    enum lockq_person_change what, const char *account, const char *reason)
{
	operation_begin(q, OPERATION_MANAGE, manager, 0);
	return operation_end(q, 0, change_person(q, manager, user, what, account, reason));
}

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
		code = managing_run(f->q, &call_forget, DB_ARGS(db_text(f->manager),
		    db_text(f->user), db_text(step), db_u64(from), db_u64(FORGET_ROWS),
		    db_bool(f->dry_run), db_text(f->reason)), held, &result);
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
	return code == LOCKQ_OK ? judge_person(f->q, f->word, f->user) : code;
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
	else if (rows.n_rows > 0) {
		error_set(q, "user \"%s\" leads task %llu: try again when the query has ended",
		    user, (unsigned long long)db_cell_u64(&rows, 0, 0));
		code = LOCKQ_BUSY;
	}
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
		code = check_person(q, user, LOCKQ_PERSON_DISABLE, NULL);
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

static enum db_rc
fill_person(struct lockq_person *person, const struct db_rows *rows, size_t row)
{
	person->enabled = db_cell_u64(rows, row, 2) != 0;
	copy_cell(person->created_at, sizeof(person->created_at), rows, row, 3);
	person->held = db_cell_u64(rows, row, 4);
	person->pending = db_cell_u64(rows, row, 5);
	if (copy_text(&person->user, db_cell(rows, row, 0)) != DB_OK)
		return DB_ENOMEM;
	return copy_text(&person->account, db_cell(rows, row, 1));
}

static enum db_rc
look_at_people(struct patience *patience, void *data, int *code)
{
	struct lockq_people *people = data;
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(patience->q->db, &read_people, DB_NO_ARGS, &rows);

	lockq_people_clear(people);
	if (rc == DB_OK) {
		people->people = calloc(rows.n_rows + 1, sizeof(*people->people));
		rc = people->people != NULL ? DB_OK : DB_ENOMEM;
	}
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		rc = fill_person(&people->people[people->n_people++], &rows, i);
	db_rows_clear(&rows);
	*code = error_if_none(people->n_people);
	return rc;
}

int
lockq_people(struct lockq *q, struct lockq_people *people)
{
	lockq_people_clear(people);
	return patience_look(q, look_at_people, people);
}

void
lockq_people_clear(struct lockq_people *people)
{
	if (people == NULL)
		return;
	for (size_t i = 0; i < people->n_people; i++) {
		free(people->people[i].user);
		free(people->people[i].account);
	}
	free(people->people);
	*people = (struct lockq_people)LOCKQ_PEOPLE_INIT;
}
