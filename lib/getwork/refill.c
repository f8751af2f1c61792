/* SPDX-License-Identifier: MIT */
/* lockq_refill(): fills a task's kept list behind people's backs, while they take from the old one.
 * It is a leader's round without a request. Under the task's lock it looks once more whether the
 * list is still due: so of many programs that found it due, one runs the query. What it writes, it
 * writes in the lock's transaction: if it is stopped and loses the lock, it can write nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/error.h"

static DB_QUERY(begin_refill, DB_ONE, "CALL refill_begins(?)");
static DB_QUERY(end_refill, DB_NO_ROWS, "CALL refill_notes(?, ?, ?)");

/* What leader_run and checkwork show as the leader. */
static const char refill_name[] = "(refill)";

/* Tries again where nobody leads: cron may have the lock for a moment. */
static enum db_rc
lead(struct call *c, enum lock_result *result)
{
	enum db_rc rc = DB_OK;

	*result = LOCK_BUSY;
	for (unsigned int n = 0; rc == DB_OK && *result == LOCK_BUSY && n < MISSED_TRIES; n++) {
		if (n > 0)
			rc = wait_a_moment(c->q, LOCKQ_PHASE_RETRY, NULL, n, 0, &c->waiting);
		if (rc == DB_OK)
			rc = lock_try(c->q, &c->task, &c->request, &c->lead, &c->leader, result);
		if (c->leader.leads)
			break;
	}
	return rc;
}

/* LEAD, GIVE and HAND_OVER of a call, without its other steps. */
static enum db_rc
lead_round(struct call *c, enum step *step)
{
	enum db_rc rc = DB_OK;

	*step = LEAD;
	while (rc == DB_OK && (*step == LEAD || *step == GIVE || *step == HAND_OVER)) {
		if (*step == LEAD)
			rc = round_find(c, step);
		else if (*step == GIVE)
			rc = round_give(c, step);
		else
			rc = round_hand_over(c, step);
	}
	return rc;
}

static void
fill(struct lockq_refilled *result, const struct call *c)
{
	result->epoch = c->lead.committed;
	result->loans = c->kept_loans;
	result->requests = c->run.requests;
	result->query_ms = (int64_t)c->query_ms;
	snprintf(result->as_of, sizeof(result->as_of), "%s", c->as_of);
}

/* Those who take from the old list are told why it is overdue. After one that @failed the next try
 * waits for longer. A @reason of NULL takes that back. */
static enum db_rc
note(struct call *c, const char *reason, bool failed)
{
	return db_after_call(c->q->db, db_run(c->q->db, &end_refill,
	    DB_ARGS(db_u64(c->task.task_id), db_text(reason), db_bool(failed)), NULL));
}

/* The same, where the refill's own connection may be lost. */
static void
note_anyway(struct call *c, const char *reason, bool failed)
{
	if (session_connect_in(c->q, CONNECT_MS) == DB_OK && note(c, reason, failed) != DB_OK)
		session_disconnect(c->q);
}

static int
refuse_without_list(struct lockq *q, const struct task *task)
{
	return error_refused(q, "task %u keeps no list: its %s", task->task_id,
	    task->share == SHARE_ORDER ? "cache_ttl is 0" : "share is not \"order\"");
}

/* Turns what became of the round into a public code. */
static int
finish_refill(struct call *c, enum step step, enum db_rc rc, struct lockq_refilled *result)
{
	const char *reason = c->run.reason != NULL ? c->run.reason : c->has_kept ? NULL : c->reason;
	int code;

	if (rc != DB_OK) {
		char text[sizeof(c->q->error)];

		code = error_from_db(c->q, session_failed(c->q), rc);
		memcpy(text, c->q->error, sizeof(text));
		session_disconnect(c->q);
		/* A new connection ends the query. In doubt, the list may be there. */
		if (rc == DB_ECANCELLED)
			(void)!session_connect_in(c->q, CONNECT_MS);
		else if (rc != DB_EINDOUBT)
			note_anyway(c, text, true);
		error_set(c->q, "%s", text);
		return code;
	}
	if (step == TAKE)
		return LOCKQ_NOTHING;
	/* The manager may just have set it. */
	if (c->task.cache_ttl == 0 && c->run.reason == NULL)
		return refuse_without_list(c->q, &c->task);
	if (step == TRY)
		return error_busy(c->q, "task %u was led by another process meanwhile",
		    c->task.task_id);
	fill(result, c);
	rc = note(c, reason, reason != NULL);
	/* The new list is there, whatever became of that. */
	if (reason == NULL)
		return LOCKQ_OK;
	if (rc != DB_OK)
		return error_from_db(c->q, c->q->db, rc);
	return c->run.refused ? error_refused(c->q, "task %u: %s", c->task.task_id, reason) :
	    error_query(c->q, "%s", reason);
}

/* Another session has the lock, and if it is not a leader's, nobody fills the list. Or the task is
 * paused. */
static int
finish_busy(struct call *c, enum lock_result result)
{
	char text[sizeof(c->q->error)];

	if (result == LOCK_PAUSED)
		return error_busy(c->q, "%s", c->task.paused);
	if (c->leader.leads)
		return error_busy(c->q, "task %u is led by another process: its list is filled "
		    "anyway", c->task.task_id);
	snprintf(text, sizeof(text), "task %u is locked by another session, and nobody leads it: "
	    "see lockq-admin(7)", c->task.task_id);
	/* The next try may come soon: the session may end at any time. */
	note_anyway(c, text, false);
	return error_busy(c->q, "%s", text);
}

static int
refill(struct lockq *q, uint32_t task, int only_due, struct lockq_refilled *result)
{
	const struct lockq_ask ask = { .user = refill_name, .task = task, .count = 1 };
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct call c = {
		.q = q, .ask = &ask, .answer = &answer, .task = { .task_id = task },
		.request = { .user = refill_name }, .refills = true, .only_due = only_due != 0,
		.waiting = { .deadline = UINT64_MAX }
	};
	enum step step = LEAD;
	struct kept kept;
	enum lock_result locked = LOCK_BUSY;
	bool known = false;
	enum db_rc rc;

	*result = (struct lockq_refilled)LOCKQ_REFILLED_INIT;
	error_clear(q);
	rc = session_ready(q);
	if (rc == DB_OK)
		rc = kept_look(q->db, NULL, &c.task, &kept, &known);
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	if (!known)
		return error_unknown_task(q, task);
	if (c.task.cache_ttl == 0)
		return refuse_without_list(q, &c.task);
	if (c.only_due && !kept.due)
		return LOCKQ_NOTHING;
	rc = lead(&c, &locked);
	if (rc == DB_OK && locked != LOCK_OURS)
		return finish_busy(&c, locked);
	if (rc == DB_OK)
		rc = lead_round(&c, &step);
	list_clear(&c.list);
	return finish_refill(&c, step, rc, result);
}

int
lockq_refill(struct lockq *q, uint32_t task, int only_due, struct lockq_refilled *result)
{
	operation_begin(q, OPERATION_REFILL, NULL, task);
	return operation_end(q, 0, refill(q, task, only_due, result));
}

int
lockq_refill_due(struct lockq *q, uint32_t task)
{
	uint32_t due = task != 0 ? task : q->due_task;
	uint64_t ours = 0;
	enum db_rc rc;

	error_clear(q);
	/* After a call that has lost its connection nobody waits for a new one. */
	if (due == 0 || (task == 0 && (q->db == NULL || db_lost(q->db))))
		return 0;
	rc = task != 0 ? session_ready(q) : DB_OK;
	if (rc == DB_OK)
		rc = db_after_call(q->db, db_number(q->db, &begin_refill, DB_ARGS(db_u64(due)),
		    &ours));
	q->due_task = 0;
	if (rc != DB_OK)
		(void)!error_from_db(q, q->db, rc);
	return rc == DB_OK && ours == 1;
}

int
lockq_due(struct lockq *q, struct lockq_due *due)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc;

	lockq_due_clear(due);
	error_clear(q);
	rc = session_ready(q);
	if (rc == DB_OK)
		rc = kept_due(q->db, &rows);
	if (rc == DB_OK) {
		due->tasks = calloc(rows.n_rows + 1, sizeof(*due->tasks));
		rc = due->tasks != NULL ? DB_OK : DB_ENOMEM;
	}
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		due->tasks[due->n_tasks++] = (uint32_t)db_cell_u64(&rows, i, 0);
	db_rows_clear(&rows);
	return rc == DB_OK ? error_if_none(due->n_tasks) : error_from_db(q, q->db, rc);
}

void
lockq_due_clear(struct lockq_due *due)
{
	if (due == NULL)
		return;
	free(due->tasks);
	*due = (struct lockq_due)LOCKQ_DUE_INIT;
}
