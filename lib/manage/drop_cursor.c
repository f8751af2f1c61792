/* SPDX-License-Identifier: MIT */
/* lockq_drop_cursor(): removes a cursor of the change feed. */
#include <stdio.h>

#include "feed/feed.h"
#include "handle/error.h"
#include "handle/session.h"
#include "manage/managing.h"

static DB_QUERY(end_cursor, DB_ONE, "CALL follow_ends(?)");

/* By the primary key; a process that delivers from the cursor has it locked. */
static enum db_rc
end(struct lockq *q, const char *cursor, uint64_t *ended)
{
	unsigned int try = 0;
	enum db_rc rc;

	do {
		db_count_attempt(q->db, ++try);
		rc = db_number(q->db, &end_cursor, DB_ARGS(db_text(cursor)), ended);
	} while (rc != DB_ELOCKWAIT && managing_again(q->db, rc, try));
	return rc;
}

static int
drop_cursor(struct lockq *q, const char *cursor)
{
	char held[LOCKQ_CURSOR_MAX + 16];
	uint64_t ended = 0;
	int code = LOCKQ_OK;
	enum db_rc rc = session_ready(q);

	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	snprintf(held, sizeof(held), "cursor \"%s\"", cursor);
	db_set_role(q->db, "lockq_follower");
	rc = end(q, cursor, &ended);
	if (rc != DB_OK)
		code = managing_failed(q, rc, held);
	else if (ended == 0)
		code = error_refused(q, "there is no cursor \"%s\"", cursor);
	db_set_role(q->db, "lockq_worker");
	return code;
}

int
lockq_drop_cursor(struct lockq *q, const char *cursor)
{
	int code = follow_check_name(q, cursor);

	if (code != LOCKQ_OK)
		return code;
	error_clear(q);
	operation_begin(q, OPERATION_FOLLOW, NULL, 0);
	return operation_end(q, 0, drop_cursor(q, cursor));
}
