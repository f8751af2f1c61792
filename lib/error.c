/* SPDX-License-Identifier: MIT */
/* Sets the handle's error text, and makes public codes of the codes inside the library. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "session.h"

void
error_set(struct lockq *q, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(q->error, sizeof(q->error), format, args);
	va_end(args);
}

int
error_from_db(struct lockq *q, const struct db *db, enum db_rc rc)
{
	if (rc == DB_ENOMEM)
		error_set(q, "out of memory");
	else if (rc != DB_OK && db != NULL && db_error(db)[0] != '\0')
		error_set(q, "%s", db_error(db));
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
		break;
	}
	return LOCKQ_EDATABASE;
}

void
error_unknown(struct lockq *q)
{
	char text[sizeof(q->error)];

	memcpy(text, q->error, sizeof(text));
	error_set(q, "outcome unknown: the connection was lost during COMMIT: %.900s", text);
}

const char *
lockq_error(const struct lockq *q)
{
	return q->error;
}

int
error_unknown_user(struct lockq *q, const char *user)
{
	error_set(q, "user \"%s\" is unknown: the table app_user has no row for that name", user);
	return LOCKQ_EREFUSED;
}

int
error_unknown_task(struct lockq *q, uint32_t task_id)
{
	error_set(q, "task %u is unknown: the table task has no row for it", task_id);
	return LOCKQ_EREFUSED;
}
