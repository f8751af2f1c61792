/* SPDX-License-Identifier: MIT */
/* How old a task's kept list is: whether it may still be used, and when it is to be filled anew. */
#include "list/kept.h"

#include "db/db_record.h"

/* The newest list l of a task t. */
#define NEWEST_LIST \
	"l.task_id = t.task_id" \
	" AND l.epoch = (SELECT MAX(n.epoch) FROM kept_list AS n WHERE n.task_id = t.task_id)"

/* Whether takers may use it: it is of the task's view, and not older than cache_ttl. If it seems to
 * be of a time to come, the server's clock was set back, and nobody knows how old it is. */
#define LIST_IS_FRESH \
	"l.candidates_view = t.candidates_view" \
	" AND l.as_of > NOW(6) - INTERVAL t.cache_ttl SECOND AND l.as_of <= NOW(6)"

/* For a task t and its newest list l, which may be none: when the list is to be filled anew. Its
 * time counts from the start of the query. What is left must last for twice as long as a query
 * takes, as fast as loans were taken from the list before, or are from this one. The next query
 * begins no sooner after the last one's end than that one took. A list that has had no loans
 * is due by the clock only. A task that nobody has asked for lately needs no list; whoever reads
 * its row for a user asks. None is filled for a task that is paused, disabled or keeps no list. */
#define TASK_IS_ASKED_FOR \
	"(SELECT n.created_at FROM work_requested AS n FORCE INDEX (work_requested_line)" \
	"  WHERE n.task_id = t.task_id AND n.pending IS NULL" \
	"  ORDER BY n.task_id DESC, n.request_id DESC LIMIT 1)" \
	" > NOW(6) - INTERVAL t.cache_ttl SECOND"
#define LIST_IS_WANTED \
	"t.enabled AND t.paused IS NULL AND t.cache_ttl > 0 AND t.share = 'order'"
#define LIST_IS_DUE \
	"COALESCE(" LIST_IS_WANTED \
	" AND (l.epoch IS NULL OR l.candidates_view <> t.candidates_view OR l.as_of > NOW(6)" \
	"      OR (l.as_of < NOW(6) - INTERVAL 2000 * l.query_ms MICROSECOND" \
	"          AND (l.as_of <= NOW(6) - INTERVAL LEAST(COALESCE(t.refresh_after," \
	"                                                           t.cache_ttl DIV 2)," \
	"                                                  t.cache_ttl) SECOND" \
	"               OR ((l.length > 0 OR NOT l.complete)" \
	"                   AND (CAST(l.length AS SIGNED) - l.head) * 3600000 < 2 * l.query_ms" \
	"                       * GREATEST(l.taken_per_h, l.head * 3600" \
	"                           DIV (TIMESTAMPDIFF(SECOND, l.as_of, NOW(6)) + 1)))))), FALSE)"

static DB_QUERY(read_kept, DB_MAYBE,
    "SELECT " TASK_COLUMNS("u.user_id") ","
    "       u.user_id, l.epoch, l.length, l.head, l.as_of,"
    "       t.enabled AND " LIST_IS_FRESH ","
    "       EXISTS (SELECT 1 FROM work_requested AS r FORCE INDEX (work_requested_one_pending)"
    "                WHERE r.user_id = u.user_id AND r.task_id = t.task_id AND r.pending = 1),"
    "       " LIST_IS_DUE " AND (u.user_id IS NOT NULL OR " TASK_IS_ASKED_FOR "),"
    "       f.reason,"
    "       IF(l.touched > 0"
    "          AND EXISTS (SELECT 1 FROM kept_loan AS k FORCE INDEX (PRIMARY)"
    "                       WHERE k.task_id = t.task_id AND k.epoch = l.epoch"
    "                         AND k.position < l.touched), l.touched, 0),"
    "       EXISTS (SELECT 1 FROM task_touched AS x FORCE INDEX (task_touched_line)"
    "                WHERE x.task_id = t.task_id AND COALESCE(x.epoch <> l.epoch, TRUE)),"
    "       l.check_ms IS NULL"
    "  FROM task AS t"
    "  LEFT JOIN app_user AS u"
    "    ON u.name = ?"
    "  LEFT JOIN kept_list AS l"
    "    ON " NEWEST_LIST
    "  LEFT JOIN task_refill AS f"
    "    ON f.task_id = t.task_id"
    " WHERE t.task_id = ?");

static DB_QUERY(read_due, DB_MANY,
    "SELECT t.task_id"
    "  FROM task AS t"
    "  LEFT JOIN kept_list AS l"
    "    ON " NEWEST_LIST
    " WHERE " LIST_IS_DUE " AND " TASK_IS_ASKED_FOR
    " ORDER BY t.task_id");

/* It counts what is left of a list: the head is noted seldom, so it does not tell. 20,000 rows, the
 * most that a list has, take 3 ms. */
DB_QUERY(stat_tasks, DB_MANY,
    "SELECT t.task_id, t.name, t.enabled, t.paused, t.cache_ttl > 0 AND t.share = 'order',"
    "       COALESCE(" LIST_IS_FRESH ", FALSE),"
    "       " LIST_IS_DUE " AND " TASK_IS_ASKED_FOR ","
    "       l.length,"
    "       IF(t.cache_ttl > 0,"
    "          (SELECT COUNT(*) FROM kept_loan AS k FORCE INDEX (PRIMARY)"
    "            WHERE k.task_id = t.task_id AND k.epoch = l.epoch), 0),"
    "       GREATEST(TIMESTAMPDIFF(SECOND, l.as_of, NOW(6)), 0),"
    "       IF(" LIST_IS_WANTED ", f.failures, 0), IF(" LIST_IS_WANTED ", f.reason, NULL),"
    "       NOW(6), t.max_query_s, t.request_ttl"
    "  FROM task AS t"
    "  LEFT JOIN kept_list AS l"
    "    ON " NEWEST_LIST
    "  LEFT JOIN task_refill AS f"
    "    ON f.task_id = t.task_id"
    " WHERE ? = 0 OR t.task_id = ?"
    " ORDER BY t.task_id");

#define KEPT(member) DB_FIELD(struct kept, member)
static const struct db_record kept_record = DB_RECORD(struct kept,
    KEPT(user_id), KEPT(epoch), KEPT(length), KEPT(head), KEPT(as_of), KEPT(is_there),
    KEPT(has_asked), KEPT(due), KEPT(failed), KEPT(touched), KEPT(has_touched), KEPT(too_dear));

enum db_rc
kept_look(struct db *db, const char *user, struct task *task, struct kept *kept, bool *known)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &read_kept, DB_ARGS(db_text(user), db_u64(task->task_id)),
	    &rows);

	*kept = (struct kept){ .epoch = 0 };
	*known = rc == DB_OK && rows.n_rows > 0;
	if (*known) {
		task_fill(task, task->task_id, &rows);
		record_fill_plain(&kept_record, kept, &rows, 0, TASK_N_COLUMNS);
		kept->usable = kept->is_there && task->paused[0] == '\0';
		kept->has_touched = kept->has_touched && !kept->too_dear;
	}
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
kept_due(struct db *db, struct db_rows *rows)
{
	return db_run(db, &read_due, DB_NO_ARGS, rows);
}
