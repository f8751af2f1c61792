/* SPDX-License-Identifier: MIT */
/* lockq_cancel(): cancels a user's own request, which another call has made. */
#include <stdio.h>

#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "rules/account.h"

#define OWN_REQUEST \
	"SELECT r.request_id, r.uuid" \
	"  FROM work_requested AS r" \
	"  JOIN app_user AS u" \
	"    ON u.user_id = r.user_id" \
	" WHERE u.name = ? AND " MAY_ASK("u")

static DB_QUERY(own_request, DB_MAYBE, OWN_REQUEST " AND r.request_id = ?");

static DB_QUERY(own_pending_request, DB_MANY,
    OWN_REQUEST " AND r.pending = 1 AND (? = 0 OR r.task_id = ?) ORDER BY r.request_id LIMIT 2");

/* Finds what lockq_cancel() is to cancel. *@code is a refusal, or LOCKQ_NOTHING, where there is no
 * such request. Of somebody else's request nothing is told, not even that there is one. */
static enum db_rc
find_own(struct call *c, const char *named, int *code)
{
	struct lockq *q = c->q;
	struct request *r = &c->request;
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint32_t user_id = 0, task_id = c->task.task_id;
	bool known = true;
	enum db_rc rc = DB_OK;

	if (named != NULL)
		rc = request_find_named(q->db, named, r, &known);
	if (rc == DB_OK)
		rc = named != NULL ? db_run(q->db, &own_request, DB_ARGS(db_text(r->user),
		    db_u64(r->request_id)), &rows) : db_run(q->db, &own_pending_request,
		    DB_ARGS(db_text(r->user), db_u64(task_id), db_u64(task_id)), &rows);
	r->request_id = rc == DB_OK && rows.n_rows == 1 ? db_cell_u64(&rows, 0, 0) : 0;
	if (rc == DB_OK && rows.n_rows > 1) {
		*code = error_refused(q, "user \"%s\" has several pending requests: name one, or "
		    "its task: see checkwork --pending", r->user);
	} else if (r->request_id != 0) {
		copy_cell(r->uuid, sizeof(r->uuid), &rows, 0, 1);
	} else if (rc == DB_OK && named != NULL) {
		*code = error_refused(q, "request \"%s\" is unknown, or it is not a request of "
		    "user \"%s\"", named, r->user);
	} else if (rc == DB_OK) {
		*code = LOCKQ_NOTHING;
		rc = task_and_user(q, r->user, task_id, task_id != 0 ? &c->task : NULL, &user_id,
		    code);
		if (rc == DB_OK && *code == LOCKQ_NOTHING)
			rc = refuse_account(q, r->user, user_id, code);
	}
	db_rows_clear(&rows);
	return rc;
}

/* The public code for how the request stands after lockq_cancel(). */
static int
code_of(struct call *c, enum db_rc rc)
{
	unsigned long long id = c->request.request_id;
	char text[sizeof(c->q->error)];

	if (rc == DB_ELOCKWAIT && c->answer->assigned > 0)
		return LOCKQ_OK;
	if (rc == DB_ELOCKWAIT || (rc == DB_OK && c->answer->status == LOCKQ_PENDING))
		return error_busy(c->q, "request %llu is held by a process that serves it, and may "
		    "still be pending: see checkwork --request %llu", id, id);
	if (rc != DB_OK) {
		int code = error_from_db(c->q, c->q->db, rc);

		snprintf(text, sizeof(text), "%s", c->q->error);
		error_set(c->q, "%.900s: the request may still be pending: see checkwork "
		    "--request %llu", text, id);
		return code;
	}
	return c->answer->status == LOCKQ_STATUS_CANCELLED || c->answer->assigned > 0 ? LOCKQ_OK :
	    LOCKQ_NOTHING;
}

static int
cancel_own(struct lockq *q, const char *user, uint32_t task, const char *request,
    struct lockq_answer *answer)
{
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	struct call c = {
		.q = q, .ask = &ask, .answer = answer, .task = { .task_id = task },
		.request = { .user = user }, .sent = true, .waiting = { .deadline = UINT64_MAX }
	};
	uint64_t start = db_clock_ms();
	int code = LOCKQ_OK;
	enum db_rc rc;

	lockq_answer_clear(answer);
	error_clear(q);
	if (user == NULL || (request != NULL && task != 0))
		return error_usage(q, "to cancel needs a user, and a request or a task, not both");
	rc = session_ready(q);
	if (rc == DB_OK)
		rc = find_own(&c, request, &code);
	if (rc == DB_ELOCKWAIT) {
		held_table(q->db, c.held);
		return error_busy(q, "%s: nothing was cancelled: try again", c.held[0] != '\0' ?
		    c.held : HELD_UNKNOWN);
	}
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	if (code != LOCKQ_OK)
		return code;
	rc = cancel(&c, false, CANCEL_MS);
	/* This does not wait for a leader that locks the row; then the answer is the one before
	 * its commit. */
	if (rc == DB_OK || rc == DB_ELOCKWAIT) {
		enum db_rc read = finish_read(&c);

		rc = read != DB_OK ? read : rc;
	}
	answer->waited_ms = db_clock_ms() - start;
	return code_of(&c, rc);
}

int
lockq_cancel(struct lockq *q, const char *user, uint32_t task, const char *request,
    struct lockq_answer *answer)
{
	int code;

	operation_begin(q, OPERATION_CANCEL, user, task);
	code = cancel_own(q, user, task, request, answer);
	return operation_end(q, answer->request_id, code);
}
