/* SPDX-License-Identifier: MIT */
/* After loans were taken from a kept list: gives others of the same list to the line of requests
 * that are pending while nobody leads. */
#include "getwork/lock.h"
#include "handle/bounds.h"
#include "list/take.h"
#include "rules/forgotten_request.h"

/* Without those that nobody looks after any more: a leader or cron lets them expire. */
static DB_QUERY(read_line, DB_MANY,
    "SELECT r.request_id, r.user_id, r.asked,"
    "       (SELECT COUNT(*) FROM work_exclusion AS e"
    "         WHERE e.task_id = r.task_id AND e.user_id = r.user_id AND e.until > NOW(6))"
    "  FROM work_requested AS r FORCE INDEX (work_requested_line)"
    " WHERE r.task_id = ? AND r.pending = 1 AND r.request_id > ?"
    "   AND COALESCE(r.fresh_after <= ?, TRUE) AND " IS_LOOKED_AFTER("r", "?")
    " ORDER BY r.request_id"
    " LIMIT ?");

/* Serves the next LINE_MOST requests after *@last, until @until. *@more is false where there are no
 * more, or nobody can be served. */
static enum db_rc
serve_some(struct db *db, const struct task *task, const struct kept *kept, uint64_t until,
    uint64_t *last, bool *more)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct taken taken;
	uint32_t spare = 0;
	enum db_rc rc = db_run(db, &read_line, DB_ARGS(db_u64(task->task_id), db_u64(*last),
	    db_text(kept->as_of), db_u64(task->request_ttl), db_u64(LINE_MOST)), &rows);

	*more = rows.n_rows == LINE_MOST;
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows && db_clock_ms() < until; i++) {
		struct taker next = {
			.request_id = db_cell_u64(&rows, i, 0),
			.user_id = (uint32_t)db_cell_u64(&rows, i, 1),
			.count = (uint32_t)db_cell_u64(&rows, i, 2),
			.excluded = db_cell_u64(&rows, i, 3), .tries = LINE_TRIES,
			.spare = &spare
		};

		*last = next.request_id;
		rc = take_loans(db, task, kept, &next, &taken);
		db_rows_clear(&taken.rows);
		/* The next request would meet the same, so stop. */
		if (rc == DB_OK &&
		    (taken.result == TAKE_UNKNOWN || taken.result == TAKE_OVER)) {
			*more = false;
			break;
		}
	}
	db_rows_clear(&rows);
	return rc;
}

void
take_for_line(struct db *db, const struct task *task, const struct kept *kept)
{
	struct leader leader = { .leads = false };
	bool held = false, more = true;
	uint64_t last = 0, until = db_clock_ms() + LINE_MS;
	enum db_rc rc = lock_holder(db, task->task_id, &leader, &held);

	while (rc == DB_OK && !held && more && db_clock_ms() < until)
		rc = serve_some(db, task, kept, until, &last, &more);
}
