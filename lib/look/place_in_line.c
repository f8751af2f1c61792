/* SPDX-License-Identifier: MIT */
/* A request's place among the task's pending requests, and how long it may take. Not a part of
 * answer_read(), since it would slow down hundreds of followers that wake at once. */
#include "look/place_in_line.h"

#include "rules/forgotten_request.h"

/* By the index of pending requests: of those that have ended there may be millions. */
static DB_QUERY(read_queue, DB_ONE,
    "SELECT COUNT(*), COALESCE(SUM(r.requested), 0),"
    "       (SELECT " TASK_PAUSED("p") " FROM task AS p WHERE p.task_id = ?)"
    "  FROM work_requested AS r FORCE INDEX (work_requested_line)"
    "  JOIN task AS t"
    "    ON t.task_id = r.task_id"
    " WHERE r.task_id = ? AND r.pending = 1 AND r.request_id < ?"
    "   AND " IS_LOOKED_AFTER("r", "t.request_ttl"));

enum db_rc
place_in_line(struct db *db, const struct leader *leader, struct lockq_answer *answer)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t usual_ms = 0;
	enum db_rc rc = db_run(db, &read_queue, DB_ARGS(db_u64(answer->task),
	    db_u64(answer->task), db_u64(answer->request_id)), &rows);

	if (rc == DB_OK) {
		answer->position = (uint32_t)db_cell_u64(&rows, 0, 0) + 1;
		answer->loans_ahead = db_cell_u64(&rows, 0, 1);
		rc = copy_text(&answer->reason, db_cell(&rows, 0, 2));
	}
	if (rc == DB_OK && answer->reason == NULL)
		rc = task_usual_ms(db, answer->task, &usual_ms);
	db_rows_clear(&rows);
	if (rc != DB_OK || usual_ms == 0 || (answer->leader == NULL && !answer->nobody_leads))
		return rc;
	if (answer->leader == NULL)
		answer->expected_ms = (int64_t)usual_ms;
	else
		answer->expected_ms = usual_ms > leader->ms ? (int64_t)(usual_ms - leader->ms) : 0;
	return rc;
}
