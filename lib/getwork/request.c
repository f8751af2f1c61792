/* SPDX-License-Identifier: MIT */
/* Step 1, recording a request, and the small reads and writes of it in step 7 and at the end. Each
 * statement is a transaction of its own: a duplicate key inside an open transaction would keep
 * locks that block other users' inserts. */
#include "getwork/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "handle/bounds.h"
#include "rules/account.h"
#include "rules/outcome_state.h"
#include "rules/rules.h"

/* Inserts a row only if the task allows it. At READ COMMITTED the SELECT takes no locks. */
#define INSERT_ALLOWED \
	"INSERT INTO request_in (uuid, user_id, account, task_id, asked, requested, fresh_after)" \
	" SELECT ?, u.user_id, " ACCOUNT ", t.task_id, ?, ?, IF(?, NOW(6), NULL)" \
	"   FROM app_user AS u" \
	"   STRAIGHT_JOIN task AS t" \
	"  WHERE u.name = ? AND u.enabled" \
	"    AND t.task_id = ? AND t.enabled AND t.max_count >= ?" \
	"    AND " MAY_ASK("u")

static DB_QUERY(insert_request, DB_NO_ROWS, INSERT_ALLOWED " AND t.max_pipeline IS NULL");

/* For a task with max_pipeline: a user without room for one loan is refused here, since a heavy
 * query would be run for nothing. pending.c enforces the cap under the task's lock; this statement
 * can't, because two shells of one user may run it at once. */
static DB_QUERY(insert_request_with_room, DB_NO_ROWS,
    INSERT_ALLOWED
    "    AND t.max_pipeline > " LOANS_HELD("u.user_id", "t.task_id"));

static DB_QUERY(request_by_uuid, DB_MAYBE, "SELECT request_id FROM work_requested WHERE uuid = ?");

static DB_QUERY(request_by_id, DB_MAYBE,
    "SELECT request_id FROM work_requested WHERE request_id = ?");

/* Any caller may choose any UUID, so it may be that of somebody else's request. */
static DB_QUERY(read_namesake, DB_MAYBE,
    "SELECT r.request_id, r.task_id, r.asked, r.outcome, u.name = ? AND " MAY_ASK("u")
    "  FROM work_requested AS r"
    "  JOIN app_user AS u"
    "    ON u.user_id = r.user_id"
    " WHERE r.uuid = ?");

static DB_QUERY(pending_of_user, DB_MAYBE,
    "SELECT request_id, uuid, asked"
    "  FROM work_requested"
    " WHERE user_id = (SELECT u.user_id FROM app_user AS u WHERE u.name = ?)"
    "   AND task_id = ? AND pending = 1");

/* Conditional, so that a request which has just ended is not joined. It changes seen_at always,
 * also where a polling call has set it ahead of time: so "no row changed" means that the request
 * has ended. */
static DB_QUERY(touch_pending, DB_NO_ROWS,
    "UPDATE request_mine"
    "   SET seen_at = GREATEST(seen_at + INTERVAL 1 MICROSECOND,"
    "                          NOW(6) + INTERVAL ? SECOND)"
    " WHERE request_id = ? AND outcome = 'pending'");

/* For a call that joins a request and wants a query that begins after this. */
static DB_QUERY(make_fresh, DB_NO_ROWS,
    "UPDATE request_mine"
    "   SET fresh_after = NOW(6)"
    " WHERE request_id = ? AND outcome = 'pending'");

static DB_QUERY(read_status, DB_ONE, "SELECT outcome FROM work_requested WHERE request_id = ?");

/* A plain read that finds the request pending proves nothing while the COMMIT of the lost
 * connection may still be on its way. This read waits for that transaction's end. */
static DB_QUERY(read_status_locked, DB_ONE,
    "SELECT outcome FROM work_requested WHERE request_id = ? FOR SHARE");

static DB_QUERY(cancel_pending, DB_NO_ROWS,
    "UPDATE request_mine"
    "   SET outcome = 'cancelled', requested = 0, served_at = NOW(6)"
    " WHERE uuid = ? AND outcome = 'pending'");

/* Takes the UUID of an INSERT that may still be on its way, which then fails by its unique key. */
static DB_QUERY(insert_cancelled, DB_NO_ROWS,
    "INSERT INTO request_in (uuid, user_id, account, task_id, asked, requested, outcome,"
    "                        served_at)"
    " SELECT ?, u.user_id, " ACCOUNT ", ?, ?, 0, 'cancelled', NOW(6)"
    "   FROM app_user AS u"
    "   JOIN task AS t"
    "     ON t.task_id = ?"
    "  WHERE u.name = ? AND " MAY_ASK("u"));

static DB_QUERY(any_pending, DB_ONE,
    "SELECT EXISTS (SELECT 1 FROM work_requested WHERE task_id = ? AND pending = 1)");

/* A number that was given out earlier may be committed later, so the largest tells nothing. */
static DB_QUERY(sum_pending, DB_ONE,
    "SELECT CAST(COALESCE(SUM(request_id), 0) AS UNSIGNED) FROM work_requested"
    " WHERE task_id = ? AND pending = 1");

void
request_make_uuid(char uuid[UUID_BYTES])
{
	uuid_t binary;

	uuid_generate(binary);
	uuid_unparse_lower(binary, uuid);
}

bool
request_read_uuid(char uuid[UUID_BYTES], const char *text)
{
	uuid_t binary;

	if (uuid_parse(text, binary) != 0)
		return false;
	uuid_unparse_lower(binary, uuid);
	return true;
}

void
request_begin(struct request *request, const char *user, const char *uuid)
{
	*request = (struct request){ .user = user, .chosen = uuid != NULL };
	/* The caller has checked it. */
	if (uuid == NULL || !request_read_uuid(request->uuid, uuid))
		request_make_uuid(request->uuid);
}

enum db_rc
request_namesake(struct db *db, const struct request *request, struct namesake *namesake)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &read_namesake, DB_ARGS(db_text(request->user),
	    db_text(request->uuid)), &rows);

	*namesake = (struct namesake){ .request_id = 0 };
	if (rc == DB_OK && rows.n_rows > 0) {
		namesake->request_id = db_cell_u64(&rows, 0, 0);
		namesake->task_id = (uint32_t)db_cell_u64(&rows, 0, 1);
		namesake->asked = (uint32_t)db_cell_u64(&rows, 0, 2);
		namesake->status = outcome_read(db_cell(&rows, 0, 3));
		namesake->own = db_cell_u64(&rows, 0, 4) != 0;
	}
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
request_find(struct db *db, struct request *request)
{
	struct namesake namesake;
	enum db_rc rc;

	if (!request->chosen)
		return db_number(db, &request_by_uuid, DB_ARGS(db_text(request->uuid)),
		    &request->request_id);
	rc = request_namesake(db, request, &namesake);
	if (rc == DB_OK && namesake.own)
		request->request_id = namesake.request_id;
	return rc;
}

enum db_rc
request_find_named(struct db *db, const char *text, struct request *request, bool *found)
{
	enum db_rc rc = DB_OK;

	errno = 0;
	if (strspn(text, "0123456789") == strlen(text)) {
		uint64_t id = strtoull(text, NULL, 10);

		if (errno == 0)
			rc = db_number(db, &request_by_id, DB_ARGS(db_u64(id)),
			    &request->request_id);
	} else if (request_read_uuid(request->uuid, text)) {
		rc = request_find(db, request);
	}
	*found = rc == DB_OK && request->request_id != 0;
	return rc;
}

/* Joins the user's pending request. *@found is false where there is none, or it has just ended. */
static enum db_rc
join(struct db *db, uint32_t task_id, struct request *request, bool *found)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &pending_of_user, DB_ARGS(db_text(request->user),
	    db_u64(task_id)), &rows);

	*found = false;
	if (rc == DB_OK && rows.n_rows == 1) {
		uint64_t request_id = db_cell_u64(&rows, 0, 0);

		rc = db_run(db, &touch_pending, DB_ARGS(db_u64(0), db_u64(request_id)), NULL);
		if (rc == DB_OK && db_affected(db) == 1 && request->fresh)
			rc = db_run(db, &make_fresh, DB_ARGS(db_u64(request_id)), NULL);
		if (rc == DB_OK && db_affected(db) == 1) {
			*found = true;
			request->joined = true;
			request->in_the_way = request->chosen;
			request->request_id = request_id;
			copy_cell(request->uuid, sizeof(request->uuid), &rows, 0, 1);
			request->asked = (uint32_t)db_cell_u64(&rows, 0, 2);
		}
	}
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
insert(struct db *db, const struct db_query *query, uint32_t task_id, uint32_t count,
    const struct request *request, bool *refused)
{
	enum db_rc rc = db_run(db, query, DB_ARGS(db_text(request->uuid), db_u64(count),
	    db_u64(count), db_bool(request->fresh), db_text(request->user), db_u64(task_id),
	    db_u64(count)), NULL);

	*refused = rc == DB_OK && db_affected(db) == 0;
	return rc;
}

enum db_rc
request_record(struct db *db, uint32_t task_id, uint32_t count, struct request *request,
    bool *refused)
{
	enum db_rc rc = DB_EDUPLICATE;

	/* A duplicate key is this UUID, inserted before the connection was lost, or the user's
	 * other request. That one may end before it can be joined, so the INSERT is tried
	 * again. */
	for (int try = 0; rc == DB_EDUPLICATE && try < RECORD_TRIES; try++) {
		bool found = false;

		rc = insert(db, &insert_request, task_id, count, request, refused);
		if (rc == DB_OK && *refused)
			rc = insert(db, &insert_request_with_room, task_id, count, request,
			    refused);
		if (rc == DB_OK && !*refused)
			request->request_id = db_insert_id(db);
		if (rc != DB_EDUPLICATE)
			return rc;
		rc = request_find(db, request);
		found = request->found = request->request_id != 0;
		if (rc == DB_OK && !found)
			rc = join(db, task_id, request, &found);
		if (rc != DB_OK || found)
			return rc;
		rc = DB_EDUPLICATE;
		db_backoff(0);
	}
	return rc;
}

enum db_rc
request_status(struct db *db, const struct request *request, bool in_doubt, bool *pending)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = in_doubt ? db_set_lock_wait(db, DB_RESOLVE_WAIT_S) : DB_OK;

	if (rc == DB_OK)
		rc = db_run(db, in_doubt ? &read_status_locked : &read_status,
		    DB_ARGS(db_u64(request->request_id)), &rows);
	*pending = rc == DB_OK && outcome_read(db_cell(&rows, 0, 0)) == LOCKQ_PENDING;
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
request_seen(struct db *db, const struct request *request, uint32_t ahead_s, bool *pending)
{
	enum db_rc rc = db_run(db, &touch_pending, DB_ARGS(db_u64(ahead_s),
	    db_u64(request->request_id)), NULL);

	*pending = rc == DB_OK && db_affected(db) == 1;
	return rc;
}

enum db_rc
request_cancel(struct db *db, uint32_t task_id, uint32_t count, struct request *request)
{
	enum db_rc rc = DB_EDUPLICATE;

	for (int try = 0; rc == DB_EDUPLICATE && try < RECORD_TRIES; try++) {
		rc = request->request_id == 0 ? request_find(db, request) : DB_OK;
		if (rc == DB_OK && request->request_id != 0)
			rc = db_run(db, &cancel_pending, DB_ARGS(db_text(request->uuid)), NULL);
		if (rc != DB_OK || request->request_id != 0)
			return rc;
		rc = db_run(db, &insert_cancelled, DB_ARGS(db_text(request->uuid), db_u64(task_id),
		    db_u64(count), db_u64(task_id), db_text(request->user)), NULL);
		if (rc == DB_OK)
			request->request_id = db_insert_id(db);
	}
	return rc;
}

enum db_rc
request_any_pending(struct db *db, uint32_t task_id, bool *any)
{
	uint64_t number = 0;
	enum db_rc rc = db_number(db, &any_pending, DB_ARGS(db_u64(task_id)), &number);

	*any = number != 0;
	return rc;
}

enum db_rc
request_sum_pending(struct db *db, uint32_t task_id, uint64_t *sum)
{
	return db_number(db, &sum_pending, DB_ARGS(db_u64(task_id)), sum);
}
