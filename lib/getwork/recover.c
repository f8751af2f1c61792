/* SPDX-License-Identifier: MIT */
/* What a call does after a failure: it asks the table in handle/retry.c, connects anew, and finds
 * out what became of a lost COMMIT. All that was open is given up first. So the call's row of
 * work_requested alone tells how it goes on, and nothing is guessed. */
#include <stdio.h>

#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/retry.h"

static enum verdict
verdict_of(struct call *c, enum db_rc failure)
{
	uint64_t now = db_clock_ms();
	unsigned int tries;
	bool knew_primary;

	/* What worked for so long, a heavy query perhaps, was the end of a trouble. But what fails
	 * after each heavy query is given up, too. */
	if (c->tries > 0 && now - c->trouble_last > PATIENCE_MS && c->troubles < DB_TRIES) {
		c->troubles++;
		c->tries = 0;
	}
	tries = c->tries++;
	if (tries == 0)
		c->trouble_since = now;
	c->trouble_last = now;
	c->fails_over = c->fails_over || failure == DB_ELOST || failure == DB_EINDOUBT;
	/* A server that has recorded the request was the primary, and after a lost connection there
	 * may be none for a while. */
	knew_primary = c->fails_over || c->request.request_id != 0;
	return retry_verdict(failure, db_is_behind(c->q->db), tries, now - c->trouble_since,
	    retry_patience(failure, knew_primary, now < c->waiting.deadline ? PATIENCE_MS : 0));
}

/* Where the call goes on. In TAKE and ASK the request may not be recorded, so there is no row to
 * look at: its INSERT waits for one that may still be on its way. A call that has not seen the list
 * for a lost connection looks again, and so does one that only takes, and has not: that it has not
 * looked does not mean that the list has nothing. */
static enum step
after_failure(const struct call *c, enum step step, bool connected_anew)
{
	if (!c->sent && ((step == TAKE && connected_anew) ||
	    (step <= ASK && c->ask->wait == LOCKQ_WAIT_LIST)))
		return TAKE;
	return step == ASK || (step == TAKE && c->request.request_id == 0) ? ASK : LOOK;
}

/* Another session holds what this call needs although it does not lead: a task that its manager is
 * changing, a table that somebody has locked. The server has said so after a second. No transaction
 * is open, and the failure does not count as one. */
static enum db_rc
wait_for_holder(struct call *c, enum step *step)
{
	bool patient = c->ask->wait == LOCKQ_WAIT_BLOCKING || c->ask->wait == LOCKQ_WAIT_POLL;
	enum db_rc rc = db_set_lock_wait(c->q->db, DB_BRIEF_WAIT_S);

	error_set_detail(c->q, c->q->db);
	if (rc == DB_OK && c->ask->timeout_ms != 0)
		held_task_or_user(c->q->db, c->ask->task, c->ask->user, c->held);
	/* This takes a second, too. */
	if (rc == DB_OK && c->held[0] == '\0' && db_clock_ms() < c->waiting.deadline && patient)
		held_table(c->q->db, c->held);
	if (c->held[0] == '\0')
		snprintf(c->held, sizeof(c->held), HELD_UNKNOWN);
	if (rc == DB_OK && patient && db_clock_ms() < c->waiting.deadline) {
		call_again(c);
		*step = after_failure(c, *step, false);
		return wait_a_moment(c->q, LOCKQ_PHASE_RETRY, c->held, 0, 0, &c->waiting);
	}
	if (rc == DB_OK)
		*step = c->request.request_id != 0 && !patient ? PENDING : TIMED_OUT;
	return rc;
}

/* Connects anew, also where the old connection lives, so that the server undoes what it had
 * open. */
static enum db_rc
connect_and_find_out(struct call *c)
{
	uint64_t now = db_clock_ms(), deadline = c->waiting.deadline;
	bool pending = false;
	enum db_rc rc = c->in_doubt ? session_connect(c->q) :
	    session_connect_in(c->q, now < deadline ? deadline - now : 0);

	if (rc == DB_OK && c->in_doubt) {
		rc = request_status(c->q->db, &c->request, true, &pending);
		c->in_doubt = rc != DB_OK;
	}
	return rc;
}

enum db_rc
recover(struct call *c, enum db_rc failure, enum step *step)
{
	enum db_rc rc = failure;

	list_clear(&c->list);
	if (rc == DB_ELOCKWAIT && (*step < LEAD || *step == FOLLOW)) {
		rc = wait_for_holder(c, step);
		if (rc == DB_OK || rc == DB_ECANCELLED)
			return rc;
	}
	for (;;) {
		enum verdict verdict = verdict_of(c, rc);

		if (verdict == GIVE_UP)
			break;
		c->in_doubt = c->in_doubt || verdict == FIND_OUT;
		call_again(c);
		if (db_error(session_failed(c->q))[0] != '\0')
			error_set(c->q, "%s", db_error(session_failed(c->q)));
		/* Before the wait, or the lock stays taken and nobody else can lead meanwhile. */
		session_disconnect(c->q);
		rc = wait_a_moment(c->q, LOCKQ_PHASE_RETRY, c->q->error, c->tries, 0,
		    &c->waiting);
		if (rc == DB_OK)
			rc = connect_and_find_out(c);
		if (rc == DB_OK) {
			error_clear(c->q);
			*step = after_failure(c, *step, true);
			return DB_OK;
		}
	}
	return c->in_doubt && rc != DB_ECANCELLED ? DB_EINDOUBT : rc;
}
