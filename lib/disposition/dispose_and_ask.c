/* SPDX-License-Identifier: MIT */
/* lockq_dispose_and_ask(): disposes of loans, and asks for the next ones. Where the task keeps a
 * list, its front is read and checked first. Then the pop is the last statement of the
 * disposition's transaction, and commits it: one commit in place of two. Where the list does not
 * serve, the disposition is committed alone, and the call asks as lockq_getwork() does. */
#include <string.h>

#include "disposition/disposing.h"
#include "getwork/call.h"
#include "handle/error.h"
#include "handle/retry.h"

/* What was found in the list before the disposition. */
struct found {
	struct call call;
	struct taking taking;
	struct front front;
};

/* Reads the list. Where that fails, the disposition reports it, or the asking does. */
static bool
find(struct found *f)
{
	struct lockq *q = f->call.q;
	bool may = false, found = false;
	enum db_rc rc = session_ready(q);

	if (rc == DB_OK)
		rc = from_list_look(&f->call, &f->taking, &may);
	if (rc == DB_OK && may)
		rc = take_find(q->db, &f->call.task, &f->taking.kept, &f->taking.who, &f->front,
		    &found);
	return rc == DB_OK && found;
}

/* An answer that can't be read may be that of a pop that is committed. */
static enum db_rc
give(struct db *db, void *data)
{
	struct found *f = data;
	struct taking *taking = &f->taking;
	enum db_rc rc = take_found(db, &f->call.task, &taking->kept, &taking->who, &f->front,
	    &taking->taken);

	return rc != DB_OK && from_list_may_have_given(&f->call, rc) ? DB_EINDOUBT : rc;
}

/* Finds the request of a pop whose transaction is committed, and whose answer was lost. The pop has
 * given loans where there is one. It goes on after failures as the steps of a call do. */
static enum db_rc
find_request(struct call *c)
{
	struct lockq *q = c->q;
	enum step step = TAKE;
	enum db_rc rc = session_ready(q);

	q->asking = &c->request;
	for (;;) {
		if (rc == DB_OK)
			rc = request_find(q->db, &c->request);
		if (rc == DB_OK || step >= ANSWERED)
			break;
		rc = recover(c, rc, &step);
		if (rc != DB_OK)
			break;
	}
	q->asking = NULL;
	return rc == DB_OK || rc == DB_ECANCELLED ? rc : DB_EINDOUBT;
}

/* Asks, after the disposition. @in_doubt: the answer of the pop was lost, and its transaction is
 * committed. */
static int
ask_after(struct found *f, bool in_doubt)
{
	struct call *c = &f->call;
	struct taken *taken = &f->taking.taken;
	bool given = taken->result == TAKE_GIVEN;
	enum db_rc rc;
	int code;

	c->request.request_id = taken->request_id;
	c->sent = given || in_doubt;
	if (in_doubt) {
		rc = find_request(c);
		given = c->request.request_id != 0;
		c->sent = given || rc != DB_OK;
	} else {
		rc = session_ready(c->q);
	}
	/* The loans are here, whatever becomes of the connection. */
	if (taken->result == TAKE_GIVEN) {
		taken->others_wait = taken->others_wait && rc == DB_OK;
		rc = from_list_given(c, &f->taking);
	}
	code = rc == DB_OK || retry_cures(rc) ? call_run(c, given ? LOOK : TAKE, rc) :
	    finish(c, rc == DB_ECANCELLED ? CANCELLED : rc == DB_EINDOUBT ? UNKNOWN : FAILED, rc);
	c->answer->one_commit = given && c->answer->assigned > 0;
	return code;
}

int
lockq_dispose_and_ask(struct lockq *q, const struct lockq_disposition *disposition,
    struct lockq_disposed_result *result, const struct lockq_ask *ask, struct lockq_answer *answer)
{
	struct found f = { .taking = { .taken = { .result = TAKE_NONE } } };
	struct last_part last = { .run = give, .data = &f };
	int code;

	operation_begin(q, OPERATION_DISPOSITION, disposition->user, disposition->task);
	lockq_disposed_clear(result);
	code = call_begin(&f.call, q, ask, answer);
	if (code == LOCKQ_OK)
		code = dispose(q, disposition, find(&f) ? &last : NULL, result);
	text_clear(&f.front.stale);
	code = operation_end(q, 0, code);
	if (code == LOCKQ_OK && f.taking.taken.result != TAKE_GIVEN && !last.was_done &&
	    disposing_gives_up(q))
		return error_cancelled(q, "interrupted: nothing was asked for");
	if (code == LOCKQ_OK) {
		result->asked = 1;
		operation_begin(q, OPERATION_GETWORK, ask->user, ask->task);
		return operation_end(q, answer->request_id, ask_after(&f, last.was_done));
	}
	if (f.taking.taken.sent && code == LOCKQ_EUNKNOWN) {
		answer->status = LOCKQ_STATUS_UNKNOWN;
		memcpy(answer->uuid, f.call.request.uuid, sizeof(answer->uuid));
	}
	return code;
}
