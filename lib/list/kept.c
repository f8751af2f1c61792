/* SPDX-License-Identifier: MIT */
/* A task's kept list: writing it, and deleting those that are not used any more. take.c takes loans
 * from it. */
#include "list/kept.h"

#include <inttypes.h>

#include "handle/bounds.h"

/* A procedure of schema/doors, which lets only the leader write. */
static DB_QUERY(begin_list, DB_ONE, "CALL list_begins(?, ?, ?, ?, ?, ?, ?, ?)");

static DB_QUERY(touch_list, DB_MAYBE, "CALL list_tops_2(?, ?)");

static DB_QUERY(end_lists, DB_ONE, "CALL list_sweeps_2(?, ?)");

enum db_rc
kept_begin(struct db *db, const struct task *task, const struct lead *lead,
    const struct list *list, uint64_t *length)
{
	struct text json = { NULL, 0, 0, false };
	uint64_t n = 0;
	bool whole = list->complete;
	enum db_rc rc = DB_ENOMEM;

	for (size_t i = 0; i < list->n; i++) {
		if (list->list[i].gone)
			continue;
		if (n == KEPT_MOST) {
			whole = false;
			break;
		}
		text_add(&json, "%s[%" PRIu64 ",%" PRIu64 "]", n++ == 0 ? "[" : ",",
		    list->list[i].loan_id, list->list[i].version);
	}
	text_add(&json, n == 0 ? "[]" : "]");
	if (!json.failed)
		rc = db_number(db, &begin_list, DB_ARGS(db_u64(task->task_id), db_u64(lead->epoch),
		    db_text(task->view), db_text(list->as_of), db_bool(whole),
		    db_u64(list->query_ms),
		    list->too_dear ? db_null() : db_u64(list->check_ms),
		    db_text(json.data)), length);
	text_clear(&json);
	return rc;
}

enum db_rc
kept_touch(struct db *db, uint32_t task_id, struct kept *kept)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_after_call(db, db_run(db, &touch_list, DB_ARGS(db_u64(task_id),
	    db_u64(kept->epoch)), &rows));

	if (rc == DB_OK && rows.n_rows > 0)
		kept->touched = (uint32_t)db_cell_u64(&rows, 0, 0);
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
kept_end(struct db *db, uint32_t task_id, uint64_t *n)
{
	return db_number(db, &end_lists, DB_ARGS(db_u64(task_id), db_u64(KEPT_END_ROWS)), n);
}
