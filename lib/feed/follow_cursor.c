/* SPDX-License-Identifier: MIT */
/* The cursors of the change feed: lockq_cursors() reads them. */
#include "feed/feed.h"

#include <string.h>

#include "db/db_record.h"
#include "handle/error.h"
#include "handle/patience.h"
#include "handle/session.h"

DB_QUERY(follow_list, DB_MANY, "CALL follow_list()");

/* One at a time: the server reads only what comes after a number that it is given. */
static DB_QUERY(next_change, DB_MAYBE,
    "SELECT GREATEST(TIMESTAMPDIFF(SECOND, l.at, NOW(6)), 0)"
    "  FROM work_log AS l FORCE INDEX (PRIMARY)"
    " WHERE l.log_id > ?"
    " ORDER BY l.log_id LIMIT 1");
static DB_QUERY(newest_change, DB_ONE, "SELECT MAX(log_id) FROM work_log");

int
follow_check_name(struct lockq *q, const char *cursor)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz" "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789" "._-";
	size_t length = cursor == NULL ? 0 : strspn(cursor, allowed);

	if (length < 1 || length > LOCKQ_CURSOR_MAX || cursor[length] != '\0')
		return error_usage(q, "the name of a cursor has 1 to %d letters, digits, dots, "
		    "hyphens and underscores", LOCKQ_CURSOR_MAX);
	return LOCKQ_OK;
}

#define CURSOR(member) DB_FIELD(struct lockq_cursor, member)
static const struct db_record cursor_record = DB_RECORD(struct lockq_cursor,
    CURSOR(cursor), CURSOR(position), CURSOR(made_at), CURSOR(moved_at), CURSOR(account));

static enum db_rc
add_lag(struct lockq_cursor *cursor, struct db *db, uint64_t newest)
{
	struct db_rows next = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &next_change, DB_ARGS(db_u64(cursor->position)), &next);

	cursor->lag = newest > cursor->position ? newest - cursor->position : 0;
	cursor->age_s = next.n_rows > 0 ? (int64_t)db_cell_u64(&next, 0, 0) : -1;
	db_rows_clear(&next);
	return rc;
}

static enum db_rc
look(struct patience *patience, void *data, int *code)
{
	struct lockq_cursors *cursors = data;
	struct db *db = patience->q->db;
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t newest = 0;
	enum db_rc rc = db_run(db, &follow_list, DB_NO_ARGS, &rows);

	lockq_cursors_clear(cursors);
	if (rc == DB_OK)
		rc = db_number(db, &newest_change, DB_NO_ARGS, &newest);
	if (rc == DB_OK)
		rc = record_list(&cursor_record, &rows, &cursors->cursors, &cursors->n_cursors);
	for (size_t i = 0; rc == DB_OK && i < cursors->n_cursors; i++)
		rc = add_lag(&cursors->cursors[i], db, newest);
	db_rows_clear(&rows);
	*code = error_if_none(cursors->n_cursors);
	return rc;
}

int
lockq_cursors(struct lockq *q, struct lockq_cursors *cursors)
{
	lockq_cursors_clear(cursors);
	return patience_look_as_viewer(q, look, cursors);
}

void
lockq_cursors_clear(struct lockq_cursors *cursors)
{
	if (cursors == NULL)
		return;
	record_list_free(&cursor_record, cursors->cursors, cursors->n_cursors);
	*cursors = (struct lockq_cursors)LOCKQ_CURSORS_INIT;
}
