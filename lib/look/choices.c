/* SPDX-License-Identifier: MIT */
/* lockq_choices(): reads what a person may type as a user, a task, a loan or a request. A shell
 * asks while somebody waits at a key, so each statement is cheap, and its rows are bounded. */
#include "db/db_record.h"
#include "handle/error.h"
#include "handle/session.h"

/* The parameters are twice the beginning of the value, and the bound; before them, for loans only,
 * the user and the task. */
static const struct db_query kinds[] = {
	[LOCKQ_CHOICE_USERS] = {
		"choice_users",
		"SELECT name, ''"
		"  FROM app_user"
		" WHERE LEFT(name, CHAR_LENGTH(?)) = ?"
		" ORDER BY name"
		" LIMIT ?",
		DB_MANY
	},
	[LOCKQ_CHOICE_TASKS] = {
		"choice_tasks",
		"SELECT task_id, name"
		"  FROM task"
		" WHERE LEFT(task_id, CHAR_LENGTH(?)) = ?"
		" ORDER BY task_id"
		" LIMIT ?",
		DB_MANY
	},
	[LOCKQ_CHOICE_LOANS] = {
		"choice_loans",
		"SELECT w.loan_id, w.token"
		"  FROM app_user AS u"
		"  JOIN work AS w"
		"    ON w.user_id = u.user_id AND w.state = 'assigned'"
		" WHERE u.name = ? AND w.task_id = ? AND LEFT(w.loan_id, CHAR_LENGTH(?)) = ?"
		" ORDER BY w.loan_id"
		" LIMIT ?",
		DB_MANY
	},
	/* By the index of pending requests: of those that have ended there may be millions. */
	[LOCKQ_CHOICE_REQUESTS] = {
		"choice_requests",
		"SELECT p.request_id, CONCAT(u.name, ', task ', p.task_id)"
		"  FROM task AS t"
		"  STRAIGHT_JOIN work_requested AS p FORCE INDEX (work_requested_line)"
		"    ON p.task_id = t.task_id AND p.pending = 1"
		"  JOIN app_user AS u"
		"    ON u.user_id = p.user_id"
		" WHERE LEFT(p.request_id, CHAR_LENGTH(?)) = ?"
		" ORDER BY p.request_id"
		" LIMIT ?",
		DB_MANY
	},
};

#define CHOICE(member) DB_FIELD(struct lockq_choice, member)
static const struct db_record choice_record = DB_RECORD(struct lockq_choice,
    CHOICE(value), CHOICE(about));

int
lockq_choices(struct lockq *q, enum lockq_choice_kind kind, const char *user, uint32_t task,
    const char *begins, struct lockq_choices *choices)
{
	const char *beginning = begins != NULL ? begins : "";
	const struct db_arg args[] = { db_text(user), db_u64(task), db_text(beginning),
		db_text(beginning), db_u64(LOCKQ_CHOICES_MAX) };
	size_t skip = kind == LOCKQ_CHOICE_LOANS ? 0 : 2;
	enum db_rc rc;

	lockq_choices_clear(choices);
	error_clear(q);
	if ((size_t)kind >= sizeof(kinds) / sizeof(kinds[0]))
		return error_usage(q, "there is no kind %d of choices", (int)kind);
	if (kind == LOCKQ_CHOICE_LOANS && user == NULL)
		return error_usage(q, "no user was named");
	rc = session_ready(q);
	if (rc == DB_OK)
		rc = record_read(&choice_record, q->db, &kinds[kind], args + skip,
		    sizeof(args) / sizeof(args[0]) - skip, &choices->choices, &choices->n_choices);
	return rc != DB_OK ? error_from_db(q, q->db, rc) : error_if_none(choices->n_choices);
}

void
lockq_choices_clear(struct lockq_choices *choices)
{
	if (choices == NULL)
		return;
	record_list_free(&choice_record, choices->choices, choices->n_choices);
	*choices = (struct lockq_choices)LOCKQ_CHOICES_INIT;
}
