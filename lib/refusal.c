/* SPDX-License-Identifier: MIT */
/* The refusals of lockq_getwork(): an ask that no task could allow, and a request whose INSERT
 * inserted nothing. The INSERT does not say why, so that is asked here. */
#include "answer.h"
#include "bounds.h"
#include "call.h"
#include "error.h"
#include "max_pipeline.h"
#include "retry.h"

const char refusal_disabled[] = "the task is disabled: ask its manager";

int
refuse_ask(struct lockq *q, const struct lockq_ask *ask)
{
	bool gaps = ask->wait != LOCKQ_WAIT_POLL || (ask->n_poll > 0 && ask->poll_s != NULL);

	for (size_t i = 0; gaps && ask->wait == LOCKQ_WAIT_POLL && i < ask->n_poll; i++)
		gaps = ask->poll_s[i] > 0;
	if (ask->user != NULL && ask->count >= 1 && ask->count <= LOCKQ_COUNT_MAX && gaps)
		return LOCKQ_OK;
	error_set(q, "a request needs a user, a count from 1 to %d and, to poll, its gaps",
	    LOCKQ_COUNT_MAX);
	return LOCKQ_EUSAGE;
}

/* The task may have allowed more when the INSERT was sent first. So the request is looked up by its
 * UUID; where there is none, a cancelled row takes the UUID. */
enum db_rc
refuse_in_doubt(struct call *c, bool *refused)
{
	enum db_rc rc = request_find(c->q->db, &c->request);

	*refused = false;
	if (rc != DB_OK || c->request.request_id != 0)
		return rc;
	rc = request_cancel(c->q->db, c->ask->task, c->ask->count, &c->request);
	if (rc == DB_OK && c->request.request_id != 0)
		rc = answer_read_own(c->q->db, c->request.request_id, c->answer);
	/* request_id 0: there is no such user or task, so there was no row to put in its place. */
	*refused = rc == DB_OK && (c->request.request_id == 0 ||
	    c->answer->status == LOCKQ_STATUS_CANCELLED);
	if (*refused) {
		lockq_answer_clear(c->answer);
		c->request.request_id = 0;
	}
	return rc;
}

/* Returns LOCKQ_OK where the task allows the request by now. */
static int
explain_refusal(struct call *c)
{
	const struct lockq_ask *ask = c->ask;
	uint32_t user_id = 0;
	int rc = task_and_user(c->q, ask->user, ask->task, &c->task, &user_id);

	if (rc != LOCKQ_OK)
		return rc;
	if (!c->task.enabled) {
		error_set(c->q, "task %u (%s): %s", ask->task, c->task.name, refusal_disabled);
		return LOCKQ_EREFUSED;
	}
	if (ask->count > c->task.max_count) {
		error_set(c->q, "count %u is more than task %u allows: ask for %u at most",
		    ask->count, ask->task, c->task.max_count);
		return LOCKQ_EREFUSED;
	}
	return c->task.max_pipeline > 0 ? max_pipeline_refusal(c->q, &c->task, user_id) : LOCKQ_OK;
}

/* The look for the reason is tried again after a lost connection or a lock wait: nothing was
 * recorded, and without it the user would hear of the connection only. */
int
refuse(struct call *c)
{
	struct lockq *q = c->q;
	int rc = explain_refusal(c);

	for (unsigned int try = 0; rc == LOCKQ_EDATABASE && try < CHECK_TRIES &&
	    retry_cures(db_failure(q->db)); try++) {
		if (db_lost(q->db) && session_connect(q) != DB_OK)
			break;
		rc = explain_refusal(c);
	}
	if (rc == LOCKQ_OK) {
		error_set(q, "task %u has just been changed: ask again", c->ask->task);
		rc = LOCKQ_EREFUSED;
	}
	if (rc == LOCKQ_EREFUSED)
		c->answer->status = LOCKQ_REFUSED;
	return rc;
}
