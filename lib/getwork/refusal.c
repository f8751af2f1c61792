/* SPDX-License-Identifier: MIT */
/* The refusals of lockq_getwork(): parameters that no task could allow, and a request whose INSERT
 * inserted nothing. The INSERT does not say why, so that is asked here. */
#include "getwork/answer.h"
#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/retry.h"
#include "rules/account.h"
#include "rules/max_pipeline.h"

const char refusal_disabled[] = "the task is disabled: ask its manager";

int
refuse_ask(struct lockq *q, const struct lockq_ask *ask)
{
	const char *fault = error_of_reserved(ask->reserved);
	bool gaps = ask->wait != LOCKQ_WAIT_POLL || (ask->n_poll > 0 && ask->poll_s != NULL);
	char uuid[UUID_BYTES];

	for (size_t i = 0; gaps && ask->wait == LOCKQ_WAIT_POLL && i < ask->n_poll; i++)
		gaps = ask->poll_s[i] > 0;
	if (fault != NULL)
		return error_usage(q, "%s", fault);
	if (ask->uuid != NULL && !request_read_uuid(uuid, ask->uuid))
		return error_usage(q, "\"%.40s\" is no UUID", ask->uuid);
	if (ask->poll_tries > 0 && ask->wait != LOCKQ_WAIT_POLL)
		return error_usage(q, "poll_tries is for polling: leave it at 0");
	if (ask->user != NULL && ask->count >= 1 && ask->count <= LOCKQ_COUNT_MAX && gaps)
		return LOCKQ_OK;
	return error_usage(q, "a request needs a user, a count from 1 to %d and, with polling, "
	    "gaps of 1 second or more", LOCKQ_COUNT_MAX);
}

/* The task may have allowed more when the INSERT was sent first. So the request is looked up by its
 * UUID; where there is none, a cancelled row takes the UUID. If the reply to that is lost, too, the
 * next try finds this row. A manager who cancels a request gives a reason. */
enum db_rc
refuse_in_doubt(struct call *c, bool *refused)
{
	enum db_rc rc = request_find(c->q->db, &c->request);

	*refused = false;
	if (rc == DB_OK && c->request.request_id == 0)
		rc = request_cancel(c->q->db, c->ask->task, c->ask->count, &c->request);
	if (rc == DB_OK && c->request.request_id != 0)
		rc = answer_read_own(c->q->db, c->request.request_id, c->answer);
	/* request_id 0: there is no such user or task, so there was no row to put in its place. */
	*refused = rc == DB_OK && (c->request.request_id == 0 ||
	    (c->answer->status == LOCKQ_STATUS_CANCELLED && c->answer->reason == NULL));
	if (*refused) {
		lockq_answer_clear(c->answer);
		c->request.request_id = 0;
	}
	return rc;
}

bool
refuse_namesake(const struct call *c, bool earlier)
{
	const struct namesake *n = &c->namesake;
	bool without_loans = n->status != LOCKQ_PENDING && n->status != LOCKQ_SERVED &&
	    n->status != LOCKQ_PARTIAL;

	return !n->own || n->task_id != c->ask->task || n->asked != c->ask->count ||
	    (earlier && without_loans);
}

/* Of somebody else's request nothing is told. */
static int
explain_namesake(const struct call *c)
{
	const struct namesake *n = &c->namesake;
	char noun[LOCKQ_NOUN_SIZE + 1];

	if (!n->own)
		return error_refused(c->q, "UUID \"%s\" is another request's: use a new UUID",
		    c->request.uuid);
	if (n->task_id != c->ask->task || n->asked != c->ask->count)
		return error_refused(c->q, "UUID \"%s\" was used to ask for %u %s of task %u: use "
		    "a new UUID for another call", c->request.uuid, n->asked,
		    noun_of(c->q->db, n->task_id, n->asked, noun), n->task_id);
	return error_refused(c->q, "request %llu, with the UUID \"%s\", has ended without %s "
	    "(%s): use a new UUID", (unsigned long long)n->request_id, c->request.uuid,
	    noun_of(c->q->db, n->task_id, 0, noun), lockq_status_name(n->status));
}

/* The one account that may ask for a user, where this connection has another one. */
static DB_QUERY(other_account, DB_MAYBE,
    "SELECT u.account FROM app_user AS u WHERE u.user_id = ? AND NOT " MAY_ASK("u"));
static DB_QUERY(user_is_disabled, DB_MAYBE,
    "SELECT NOT u.enabled FROM app_user AS u WHERE u.user_id = ?");

enum db_rc
refuse_account(struct lockq *q, const char *user, uint32_t user_id, int *refusal)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(q->db, &other_account, DB_ARGS(db_u64(user_id)), &rows);

	if (rc == DB_OK && rows.n_rows > 0)
		*refusal = error_other_account(q, user, db_cell(&rows, 0, 0));
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
refuse_disabled(struct lockq *q, const char *user, uint32_t user_id, int *refusal)
{
	uint64_t disabled = 0;
	enum db_rc rc = db_number(q->db, &user_is_disabled, DB_ARGS(db_u64(user_id)), &disabled);

	if (rc == DB_OK && disabled != 0)
		*refusal = error_refused(q, "user \"%s\" is disabled: ask a manager", user);
	return rc;
}

/* *@refusal stays LOCKQ_OK where the task allows the request by now. */
static enum db_rc
explain_refusal(struct call *c, int *refusal)
{
	const struct lockq_ask *ask = c->ask;
	const struct task *task = &c->task;
	uint32_t user_id = 0;
	enum db_rc rc = task_and_user(c->q, ask->user, ask->task, &c->task, &user_id, refusal);

	if (rc == DB_OK && *refusal == LOCKQ_OK)
		rc = refuse_account(c->q, ask->user, user_id, refusal);
	if (rc == DB_OK && *refusal == LOCKQ_OK)
		rc = refuse_disabled(c->q, ask->user, user_id, refusal);
	if (rc != DB_OK || *refusal != LOCKQ_OK)
		return rc;
	if (!task->enabled)
		*refusal = error_refused(c->q, "task %u (\"%s\"): %s", ask->task, task->name,
		    refusal_disabled);
	else if (ask->count > task->max_count)
		*refusal = error_refused(c->q, "count %u is more than task %u allows: ask for %u "
		    "at most", ask->count, ask->task, task->max_count);
	else if (task->max_pipeline > 0)
		rc = max_pipeline_refusal(c->q, task, user_id, refusal);
	return rc;
}

/* The look for the reason is tried again after a lost connection or a lock wait: nothing was
 * recorded, and without it the user would hear of the connection only. */
int
refuse(struct call *c)
{
	struct lockq *q = c->q;
	int refusal = LOCKQ_OK;
	enum db_rc rc;

	c->answer->status = LOCKQ_REFUSED;
	if (c->namesake.request_id != 0)
		return explain_namesake(c);
	rc = explain_refusal(c, &refusal);
	for (unsigned int try = 0; retry_cures(rc) && try < CHECK_TRIES; try++) {
		rc = db_lost(q->db) ? session_connect(q) : DB_OK;
		if (rc != DB_OK)
			break;
		rc = explain_refusal(c, &refusal);
	}
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	if (refusal == LOCKQ_OK)
		refusal = error_refused(q, "task %u has just been changed: ask again",
		    c->ask->task);
	return refusal;
}
