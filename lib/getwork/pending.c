/* SPDX-License-Identifier: MIT */
/* Step 5: reads the queue of a task's pending requests with the loans that may not go to their
 * users, enforces max_pipeline, and writes how each request ends. */
#include "getwork/pending.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rules/forgotten_request.h"

/* READ COMMITTED and after the query, or requests made meanwhile stay invisible. FOR UPDATE, or a
 * request that is being cancelled would be served. The index has the order of ORDER BY, since a
 * sort would lock every row first. The user's loans are counted here, under lock_pipelines: so no
 * other process can add to them before this one has committed. */
DB_QUERY(pending_requests, DB_MANY,
    "SELECT r.request_id, r.user_id, r.requested, " IS_FORGOTTEN("r", "?") ","
    "       EXISTS (SELECT 1 FROM work_exclusion AS e"
    "                WHERE e.task_id = r.task_id AND e.user_id = r.user_id"
    "                  AND e.until > NOW(6)),"
    "       t.max_pipeline,"
    "       IF(t.max_pipeline IS NULL AND t.share <> 'least', 0, "
    LOANS_HELD("r.user_id", "r.task_id") "), u.enabled, " HAS_RULES("t")
    "  FROM work_requested AS r FORCE INDEX (work_requested_line)"
    "  STRAIGHT_JOIN task AS t"
    "    ON t.task_id = r.task_id"
    "  STRAIGHT_JOIN app_user AS u"
    "    ON u.user_id = r.user_id"
    " WHERE r.task_id = ? AND r.pending = 1 AND COALESCE(r.fresh_after <= ?, TRUE)"
    " ORDER BY r.request_id"
    "   FOR UPDATE OF r SKIP LOCKED");

/* Whoever gives loans of a task with max_pipeline holds this row of the user before it counts. A
 * leader does not wait for the rows of others, so their requests stay pending in this round. */
DB_QUERY(lock_pipelines, DB_MANY,
    "SELECT p.user_id"
    "  FROM work_requested AS r FORCE INDEX (work_requested_line)"
    "  STRAIGHT_JOIN pipeline_lock AS p"
    "    ON p.task_id = r.task_id AND p.user_id = r.user_id"
    " WHERE r.task_id = ? AND r.pending = 1"
    "   FOR UPDATE OF p SKIP LOCKED");
static DB_QUERY(make_pipelines, DB_NO_ROWS, "CALL pipeline_rows(?)");

/* In key order, for the bsearch() of pending_exclude(). */
static DB_QUERY(read_exclusions, DB_MANY,
    "SELECT e.user_id, e.loan_id"
    "  FROM JSON_TABLE(?, '$[*]' COLUMNS (user_id INT UNSIGNED PATH '$')) AS j"
    "  STRAIGHT_JOIN work_exclusion AS e FORCE INDEX (PRIMARY)"
    "    ON e.task_id = ? AND e.user_id = j.user_id"
    " WHERE e.until > NOW(6)"
    " ORDER BY e.user_id, e.loan_id");

/* The same by the rules of the task, which keep loans from more users than those in the queue: a
 * loan has few of them. One statement each, since the server would build a UNION first. */
#define KEPT_AWAY(view) \
	"SELECT o.user_id, o.loan_id" \
	"  FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j" \
	"  STRAIGHT_JOIN " view " AS o" \
	"    ON o.task_id = ? AND o.loan_id = j.loan_id"
static const struct db_query read_kept_away[] = {
	{ "read_other_has", KEPT_AWAY("other_has"), DB_MANY },
	{ "read_other_done", KEPT_AWAY("other_done"), DB_MANY },
	{ "read_own_done", KEPT_AWAY("own_done"), DB_MANY }
};

/* Those who look at their own row need no more than its two numbers: assigned > 0 is served,
 * requested = 0 is none, else the request is pending. So `requested` becomes what was given. */
static DB_QUERY(end_requests, DB_NO_ROWS,
    "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (request_id BIGINT UNSIGNED PATH '$[0]',"
    "                                     given INT UNSIGNED PATH '$[1]',"
    "                                     outcome VARCHAR(16) PATH '$[2]',"
    "                                     excluded INT UNSIGNED PATH '$[3]',"
    "                                     reason VARCHAR(512) PATH '$[4]')) AS j"
    "  STRAIGHT_JOIN request_end AS r"
    "    ON r.request_id = j.request_id"
    "   SET r.requested = j.given, r.assigned = j.given, r.outcome = j.outcome,"
    "       r.excluded = j.excluded, r.epoch = ?, r.reason = COALESCE(j.reason, LEFT(?, 512)),"
    "       r.checked = IF(j.given > 0, ?, NULL), r.served_at = NOW(6)"
    " WHERE r.outcome = 'pending'");

static bool
has_number(const struct db_rows *rows, uint64_t number)
{
	for (size_t i = 0; i < rows->n_rows; i++) {
		if (db_cell_u64(rows, i, 0) == number)
			return true;
	}
	return false;
}

static void
read_pending(struct queue *queue, uint64_t own_request, const struct db_rows *locked,
    const struct db_rows *rows, size_t row)
{
	struct pending *pending = &queue->list[queue->n++];

	pending->request_id = db_cell_u64(rows, row, 0);
	pending->user_id = db_cell_u64(rows, row, 1);
	pending->asked = pending->requested = (uint32_t)db_cell_u64(rows, row, 2);
	/* A call that waits touches seen_at now and then; the leader's own call does not wait. */
	if (pending->request_id != own_request && db_cell_u64(rows, row, 3) != 0) {
		pending->outcome = LOCKQ_EXPIRED;
		return;
	}
	/* The request came while a manager was disabling its user. */
	if (db_cell_u64(rows, row, 7) == 0) {
		pending->outcome = LOCKQ_REFUSED;
		snprintf(pending->reason, sizeof(pending->reason), "the user is disabled: ask a "
		    "manager");
		return;
	}
	pending->held = !db_cell_is_null(rows, row, 5) && !has_number(locked, pending->user_id);
	if (pending->held)
		return;
	pending->requested = max_pipeline_fit(db_cell_u64(rows, row, 5), db_cell_u64(rows, row, 6),
	    pending->asked, pending->reason);
	if (pending->requested == 0) {
		pending->outcome = LOCKQ_REFUSED;
		return;
	}
	pending->has = db_cell_u64(rows, row, 6);
	pending->excludes = db_cell_u64(rows, row, 4) != 0;
	queue->wanted += pending->requested;
}

/* Adds the rows to the exclusions. */
static enum db_rc
add_excluded(struct queue *queue, const struct db_rows *rows)
{
	struct exclusion *more = realloc(queue->excluded,
	    (queue->n_excluded + rows->n_rows + 1) * sizeof(*more));

	if (more == NULL)
		return DB_ENOMEM;
	queue->excluded = more;
	for (size_t i = 0; i < rows->n_rows; i++)
		more[queue->n_excluded++] = (struct exclusion){
			db_cell_u64(rows, i, 0), db_cell_u64(rows, i, 1)
		};
	return DB_OK;
}

/* Reads the exclusions of all users in the queue. */
static enum db_rc
read_excluded(struct db *db, const struct task *task, struct queue *queue)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct text users = { NULL, 0, 0, false };
	enum db_rc rc = DB_OK;

	for (size_t i = 0; i < queue->n; i++) {
		if (queue->list[i].excludes)
			text_add(&users, "%s%" PRIu64, users.used == 0 ? "[" : ",",
			    queue->list[i].user_id);
	}
	if (users.used == 0 && !users.failed)
		return DB_OK;
	text_add(&users, "]");
	rc = users.failed ? DB_ENOMEM : db_run(db, &read_exclusions, DB_ARGS(db_text(users.data),
	    db_u64(task->task_id)), &rows);
	text_clear(&users);
	if (rc == DB_OK)
		rc = add_excluded(queue, &rows);
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
read_rows(struct db *db, const struct task *task, bool capped, const char *as_of,
    struct db_rows *locked, struct db_rows *rows)
{
	struct db_arg task_id = db_u64(task->task_id);
	enum db_rc rc = capped ? db_run(db, &make_pipelines, &task_id, 1, NULL) : DB_OK;

	if (rc == DB_OK && capped)
		rc = db_run(db, &lock_pipelines, &task_id, 1, locked);
	return rc == DB_OK ? db_run(db, &pending_requests, DB_ARGS(db_u64(task->request_ttl),
	    task_id, db_text(as_of[0] != '\0' ? as_of : NULL)), rows) : rc;
}

enum db_rc
pending_read(struct db *db, const struct task *task, uint64_t own_request, const char *as_of,
    struct queue *queue)
{
	struct db_rows rows = { 0, 0, NULL, NULL }, locked = { 0, 0, NULL, NULL };
	bool capped = task->max_pipeline > 0;
	enum db_rc rc = read_rows(db, task, capped, as_of, &locked, &rows);

	/* The task's manager may have set it during the query. */
	if (rc == DB_OK && !capped && rows.n_rows > 0 && !db_cell_is_null(&rows, 0, 5))
		rc = read_rows(db, task, true, as_of, &locked, &rows);
	pending_clear(queue);
	if (rc == DB_OK) {
		queue->list = calloc(rows.n_rows + 1, sizeof(*queue->list));
		rc = queue->list != NULL ? DB_OK : DB_ENOMEM;
	}
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		read_pending(queue, own_request, &locked, &rows, i);
	/* As the manager has set them by now. */
	queue->has_rules = rc == DB_OK && rows.n_rows > 0 && db_cell_u64(&rows, 0, 8) != 0;
	db_rows_clear(&rows);
	db_rows_clear(&locked);
	return rc == DB_OK ? read_excluded(db, task, queue) : rc;
}

static int
compare_exclusion(const void *a, const void *b)
{
	const struct exclusion *x = a, *y = b;

	if (x->user_id != y->user_id)
		return x->user_id < y->user_id ? -1 : 1;
	return (x->loan_id > y->loan_id) - (x->loan_id < y->loan_id);
}

enum db_rc
pending_keep_away(struct db *db, const struct task *task, const char *json, struct queue *queue)
{
	size_t n = queue->has_rules ? sizeof(read_kept_away) / sizeof(read_kept_away[0]) : 0;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < n; i++) {
		struct db_rows rows = { 0, 0, NULL, NULL };

		rc = db_run(db, &read_kept_away[i], DB_ARGS(db_text(json),
		    db_u64(task->task_id)), &rows);
		if (rc == DB_OK)
			rc = add_excluded(queue, &rows);
		db_rows_clear(&rows);
	}
	if (n > 0 && rc == DB_OK)
		qsort(queue->excluded, queue->n_excluded, sizeof(*queue->excluded),
		    compare_exclusion);
	return rc;
}

bool
pending_exclude(const struct queue *queue, const struct pending *pending, uint64_t loan_id)
{
	struct exclusion wanted = { pending->user_id, loan_id };

	return queue->n_excluded > 0 && bsearch(&wanted, queue->excluded, queue->n_excluded,
	    sizeof(wanted), compare_exclusion) != NULL;
}

static void
add_ended(struct text *json, const struct pending *pending)
{
	text_add(json, "%s[%" PRIu64 ",%u,\"%s\",%u", json->used == 0 ? "[" : ",",
	    pending->request_id, pending->given, lockq_status_name(pending->outcome),
	    pending->excluded);
	if (pending->reason[0] != '\0')
		text_add(json, ",\"%s\"", pending->reason);
	text_add(json, "]");
}

enum db_rc
pending_write(struct db *db, const struct queue *queue, const struct lead *lead,
    const char *reason, const char *checked, size_t *n_ended)
{
	struct text json = { NULL, 0, 0, false };
	size_t n = 0;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; i < queue->n; i++) {
		if (queue->list[i].outcome == LOCKQ_PENDING)
			continue;
		add_ended(&json, &queue->list[i]);
		n++;
	}
	text_add(&json, "]");
	if (json.failed)
		rc = DB_ENOMEM;
	else if (n > 0)
		rc = db_change(db, &end_requests,
		    DB_ARGS(db_text(json.data), db_u64(lead->epoch), db_text(reason),
		    db_text(checked[0] != '\0' ? checked : NULL)), n);
	text_clear(&json);
	*n_ended += n;
	return rc;
}

void
pending_clear(struct queue *queue)
{
	free(queue->list);
	free(queue->excluded);
	*queue = (struct queue){ .list = NULL };
}
