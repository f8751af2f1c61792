/* SPDX-License-Identifier: MIT */
/* Translates the library's own codes, and the state of a request, into the public codes of lockq.h,
 * and sets the handle's error text. */
#include "handle/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "handle/session.h"

_Static_assert((int)DB_EFAIL < (int)LOCKQ_ENOMEM, "no code has two meanings");

void
error_set(struct lockq *q, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(q->error, sizeof(q->error), format, args);
	va_end(args);
	/* It names what callers and managers have written, in which anything may stand. */
	text_make_one_line(q->error, sizeof(q->error));
}

void
error_clear(struct lockq *q)
{
	q->error[0] = q->detail[0] = '\0';
}

void
error_set_detail(struct lockq *q, const struct db *db)
{
	snprintf(q->detail, sizeof(q->detail), "%s", db_error_detail(db));
	text_make_one_line(q->detail, sizeof(q->detail));
}

int
error_code(enum db_rc rc)
{
	switch (rc) {
	case DB_OK:
		return LOCKQ_OK;
	case DB_ENOMEM:
		return LOCKQ_ENOMEM;
	case DB_ECANCELLED:
		return LOCKQ_CANCELLED;
	case DB_EINDOUBT:
		return LOCKQ_EUNKNOWN;
	case DB_EFAIL: case DB_ERETRY: case DB_ELOCKWAIT: case DB_EDUPLICATE: case DB_ELOST:
	case DB_ECROWDED: case DB_ETIME: case DB_EINTERRUPTED: case DB_ESHAPE: case DB_EHELD:
	case DB_EMOVED:
		break;
	}
	return LOCKQ_EDATABASE;
}

int
error_from_db(struct lockq *q, const struct db *db, enum db_rc rc)
{
	char text[sizeof(q->error)];

	if (rc == DB_ENOMEM)
		error_set(q, "out of memory");
	else if (rc != DB_OK && db != NULL && db_error(db)[0] != '\0')
		error_set(q, "%s", db_error(db));
	if (rc != DB_OK)
		error_set_detail(q, db);
	if (rc == DB_EINDOUBT) {
		memcpy(text, q->error, sizeof(text));
		error_set(q, "outcome unknown after a COMMIT: %.900s", text);
	}
	return error_code(rc);
}

int
error_from_answer(struct lockq *q, const struct lockq_answer *answer, bool gave_up)
{
	const char *reason = answer->reason != NULL ? answer->reason : "no reason given";

	switch (answer->status) {
	case LOCKQ_SERVED:
	case LOCKQ_PARTIAL:
		return LOCKQ_OK;
	case LOCKQ_EMPTY:
		return LOCKQ_NOTHING;
	case LOCKQ_FAILED:
		return error_query(q, "the query of task %u failed: %s", answer->task, reason);
	case LOCKQ_REFUSED:
		return error_refused(q, "request %llu was refused: %s",
		    (unsigned long long)answer->request_id, reason);
	case LOCKQ_STATUS_UNKNOWN:
		return error_unknown(q, "outcome unknown: lockq " LOCKQ_VERSION " does not know "
		    "the outcome of request %llu", (unsigned long long)answer->request_id);
	case LOCKQ_PENDING:
	case LOCKQ_STATUS_CANCELLED:
	case LOCKQ_EXPIRED:
		break;
	}
	return gave_up ? LOCKQ_CANCELLED : LOCKQ_BUSY;
}

int
error_if_none(size_t n)
{
	return n > 0 ? LOCKQ_OK : LOCKQ_NOTHING;
}

const char *
lockq_error(const struct lockq *q)
{
	return q->error;
}

const char *
lockq_error_detail(const struct lockq *q)
{
	return q->detail;
}

int
error_unknown_user(struct lockq *q, const char *user)
{
	return error_refused(q, "user \"%s\" is unknown: the table app_user has no row for that "
	    "name", user);
}

int
error_other_account(struct lockq *q, const char *user, const char *account)
{
	return error_refused(q, "only the MySQL account \"%s\" may ask for user \"%s\": connect "
	    "with it", account, user);
}

int
error_unknown_task(struct lockq *q, uint32_t task_id)
{
	return error_refused(q, "task %u is unknown: the table task has no row for it", task_id);
}

const char *
error_of_reserved_members(const uint64_t *reserved, size_t n)
{
	bool used = false;

	for (size_t i = 0; i < n; i++)
		used = used || reserved[i] != 0;
	return used ? "a reserved member of a structure is not 0: set it to its _INIT first; or "
	    "this library, " LOCKQ_VERSION ", is older than the program's header" : NULL;
}
