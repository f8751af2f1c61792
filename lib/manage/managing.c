/* SPDX-License-Identifier: MIT */
/* How a manager changes things: each call is a procedure of schema/doors, which is called here.
 *
 *   define.c         makes, changes and removes tasks
 *   settings.c       the settings of a task, and which values they may have
 *   people.c         who may ask for work
 *   forget_person.c  erases a person from the history
 *   correct.c        takes loans back, gives them to somebody else, undoes a completion
 *   drop_cursor.c    removes a cursor of the change feed */
#include "manage/managing.h"

#include <stdio.h>

#include "handle/error.h"
#include "handle/retry.h"
#include "handle/session.h"

int
managing_check(struct lockq *q, const char *manager, const char *reason)
{
	if (manager == NULL || manager[0] == '\0')
		return error_usage(q, "no manager was named");
	if (text_characters(manager) > 64)
		return error_usage(q, "a manager's name has 64 characters at most");
	if (reason != NULL && text_characters(reason) > LOCKQ_NOTE_MAX)
		return error_usage(q, "a reason has %d characters at most", LOCKQ_NOTE_MAX);
	return LOCKQ_OK;
}

/* What the procedure refuses by a SIGNAL is said in its own words. After a lost connection, or
 * without memory for its answer, nobody knows whether it was done. */
int
managing_failed(struct lockq *q, enum db_rc rc, const char *held)
{
	char text[sizeof(q->error)];

	if (rc == DB_EFAIL && db_is_signal(q->db))
		return error_refused(q, "%s", db_server_text(q->db));
	if (rc == DB_ELOCKWAIT || rc == DB_ERETRY) {
		error_set_detail(q, q->db);
		return error_busy(q, "another session holds what belongs to %s: nothing was "
		    "changed: try again", held);
	}
	if (rc != DB_ELOST && rc != DB_EINTERRUPTED && rc != DB_EINDOUBT &&
	    !(rc == DB_ENOMEM && db_was_sent(q->db)))
		return error_from_db(q, q->db, rc);
	snprintf(text, sizeof(text), "%s", db_error(q->db));
	return error_unknown(q, "outcome unknown: %.900s: look whether it was done", text);
}

int
managing_untold(struct lockq *q, enum db_rc rc)
{
	char text[sizeof(q->error)];

	snprintf(text, sizeof(text), "%s", rc == DB_ENOMEM ? "out of memory" : db_error(q->db));
	error_set_detail(q, q->db);
	return error_unknown(q, "it is done, or had been before, but the answer can't be told: "
	    "%.900s: make the same call again", text);
}

bool
managing_again(const struct db *db, enum db_rc rc, unsigned int try)
{
	if (rc == DB_OK || retry_verdict(rc, db_is_behind(db), try, 0, 0) != AGAIN)
		return false;
	db_backoff(try - 1);
	return true;
}

int
managing_run(struct lockq *q, const char *role, const struct db_query *query,
    const struct db_arg *args, size_t n_args, const char *held, struct db_rows *rows)
{
	unsigned int try = 0;
	enum db_rc rc = session_ready(q);

	error_clear(q);
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	db_set_role(q->db, role);
	do {
		db_count_attempt(q->db, ++try);
		rc = db_after_call(q->db, db_run(q->db, query, args, n_args, rows));
	} while (managing_again(q->db, rc, try));
	return rc == DB_OK ? LOCKQ_OK : managing_failed(q, rc, held);
}

int
managing_call(struct lockq *q, const struct db_query *query, const struct db_arg *args,
    size_t n_args, const char *held, char word[WORD_BYTES], uint64_t *number)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int code = managing_run(q, "lockq_manager", query, args, n_args, held, &rows);

	copy_cell(word, WORD_BYTES, &rows, 0, 0);
	*number = db_cell_u64(&rows, 0, 1);
	db_rows_clear(&rows);
	return code;
}
