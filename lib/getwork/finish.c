/* SPDX-License-Identifier: MIT */
/* The end of a call: it cancels a request that nobody waits for any longer, reads the answer, and
 * makes a public code and a text of it. */
#include <string.h>

#include "getwork/answer.h"
#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/retry.h"

enum db_rc
finish_read(struct call *c)
{
	enum db_rc rc = DB_ELOST;

	if (c->request.request_id == 0 || c->answer->status != LOCKQ_PENDING)
		return DB_OK;
	for (unsigned int try = 0; try < DB_TRIES; try++) {
		rc = c->q->db == NULL || db_lost(c->q->db) ? session_connect(c->q) : DB_OK;
		if (rc == DB_OK)
			rc = answer_read(c->q->db, c->request.request_id, c->answer);
		if (!retry_cures(rc) ||
		    (rc == DB_ELOCKWAIT && db_clock_ms() >= c->waiting.deadline))
			break;
		db_backoff(try);
	}
	return rc;
}

/* Reports a failure. The user hears of an error, so the request is cancelled, or loans might be
 * assigned to a user who no longer waits. If it was served just before, the loans are reported. */
static int
finish_failed(struct call *c, enum db_rc failure, bool cancelled)
{
	char text[sizeof(c->q->error)];
	int code = error_from_db(c->q, session_failed(c->q), failure);

	memcpy(text, c->q->error, sizeof(text));
	if (c->request.in_the_way) {
		/* That request is not this call's to end, but what this call has begun is. */
		session_disconnect(c->q);
		return code;
	}
	if (!c->sent)
		return code;
	if (cancelled || cancel(c, true, 0) != DB_OK) {
		error_set(c->q, "%s%.900s: the request may still be pending: see checkwork "
		    "--request %s%s", cancelled ?
		    "interrupted, but the request could not be cancelled: " : "", text,
		    c->request.uuid, failure == DB_ELOST ? " when the database is back" : "");
		return code;
	}
	c->answer->request_id = c->request.request_id;
	if (c->request.request_id != 0 &&
	    answer_read(c->q->db, c->request.request_id, c->answer) == DB_OK &&
	    c->answer->assigned > 0)
		return error_from_answer(c->q, c->answer, false);
	memcpy(c->q->error, text, sizeof(text));
	return code;
}

/* Reports that the time was over and the request could not be cancelled by then: another session
 * holds it, perhaps a leader that serves it, or the database is away. */
static int
finish_pending(struct call *c, enum db_rc failure)
{
	char text[sizeof(c->q->error)];
	int code = error_from_db(c->q, c->q->db, failure);

	if (code == LOCKQ_ENOMEM)
		return code;
	memcpy(text, c->q->error, sizeof(text));
	return error_busy(c->q, "gave up, but %s%.800s: the request may still be pending: see "
	    "checkwork --request %s", failure == DB_ELOCKWAIT ? "" :
	    "the request could not be cancelled: ", failure == DB_ELOCKWAIT ?
	    "another session holds the request" : text, c->request.uuid);
}

/* Reports what another session held until the time was over, so that no request was recorded. */
static int
finish_unasked(struct call *c)
{
	return error_busy(c->q, "%s: nothing was asked for: try again", c->held);
}

/* Reports that the list had nothing. The task may not be known: nobody has asked for it. */
static int
finish_list(struct call *c)
{
	if (c->task.paused[0] == '\0' && c->held[0] == '\0')
		return LOCKQ_NOTHING;
	error_set(c->q, "%s: nothing was asked for: try again later", c->task.paused[0] != '\0' ?
	    c->task.paused : c->held);
	if (c->task.paused[0] != '\0' && copy_text(&c->answer->reason, c->task.paused) != DB_OK)
		return error_from_db(c->q, NULL, DB_ENOMEM);
	return LOCKQ_BUSY;
}

/* Reports that a locked table keeps the answer from being read. The request has ended, cancelled or
 * served, or a call that does not wait has recorded it. */
static int
finish_unread(struct call *c, enum step step)
{
	c->answer->status = LOCKQ_STATUS_UNKNOWN;
	error_set(c->q, "%s, and another session has locked a table that the answer is in: "
	    "see checkwork --request %s", step == PENDING ? "the request was recorded" :
	    step == CANCELLED ? "interrupted" : "gave up", c->request.uuid);
	return step == CANCELLED ? (int)LOCKQ_CANCELLED : (int)LOCKQ_BUSY;
}

/* Reports that a COMMIT was lost, and that nobody knows whether it was done. */
static int
finish_unknown(struct call *c, enum db_rc failure)
{
	c->answer->status = LOCKQ_STATUS_UNKNOWN;
	if (failure == DB_ENOMEM)
		return error_unknown(c->q, "outcome unknown: out of memory: see checkwork "
		    "--request %s", c->request.uuid);
	return error_from_db(c->q, c->q->db, DB_EINDOUBT);
}

/* Adds the names that answer_read_own() leaves out, and the leader of a pending request. The
 * request has ended by now, or it stays: so a name that can't be had is left out, as if it were
 * not known. */
static void
add_names(struct call *c)
{
	struct lockq_answer *answer = c->answer;
	enum db_rc rc = DB_OK;
	bool known;

	if (answer->task != 0 && answer->user == NULL)
		rc = copy_text(&answer->user, c->request.user);
	/* A repetition has read neither. */
	if (rc == DB_OK && answer->repeated && c->task.name[0] == '\0')
		rc = task_read(c->q->db, answer->task, 0, &c->task, &known);
	if (rc == DB_OK && answer->task != 0 && answer->task_name == NULL)
		rc = copy_text(&answer->task_name, c->task.name[0] != '\0' ? c->task.name :
		    c->leader.task_name);
	if (rc == DB_OK && answer->status == LOCKQ_PENDING && c->leader.name[0] != '\0')
		rc = copy_text(&answer->leader, c->leader.name);
	(void)rc;
}

/* Whether the answer is of a round that this call led, also of one whose COMMIT was lost and
 * done. */
static bool
has_led(const struct call *c)
{
	const struct lockq_answer *answer = c->answer;

	/* The loans of a kept list were taken, whoever wrote it. */
	if (answer->epoch == 0 || (answer->how != NULL && strcmp(answer->how, "list") == 0))
		return false;
	if (answer->epoch >= c->led_first && answer->epoch <= c->led_last)
		return true;
	return answer->epoch == c->doubt_epoch &&
	    answer->leader != NULL && strcmp(answer->leader, c->request.user) == 0;
}

/* Says @why nobody was served, also in the answer of a request that stays pending. */
static int
finish_unserved(struct call *c, const char *why)
{
	struct lockq_answer *answer = c->answer;
	enum db_rc rc = DB_OK;

	if (answer->status == LOCKQ_PENDING)
		rc = copy_text(&answer->reason, why);
	error_set(c->q, "%s: request %llu %s", why, (unsigned long long)answer->request_id,
	    answer->status == LOCKQ_PENDING ? "stays pending" : "is cancelled: try again later");
	return rc == DB_OK ? (int)LOCKQ_BUSY : error_from_db(c->q, NULL, rc);
}

/* The call has waited for a request with another UUID, whose loans are no answer to this call. */
static int
finish_behind(struct call *c, bool gave_up)
{
	int code = error_from_answer(c->q, c->answer, gave_up);

	add_names(c);
	if (code == LOCKQ_BUSY)
		error_set(c->q, "nothing was asked for with this UUID: request %llu of the same "
		    "user and task was pending: try again",
		    (unsigned long long)c->request.request_id);
	return code;
}

int
finish(struct call *c, enum step step, enum db_rc failure)
{
	struct lockq_answer *answer = c->answer;
	bool ends = step == TIMED_OUT || step == PENDING || step == CANCELLED;
	enum db_rc rc = failure;

	if (step == REFUSED)
		return refuse(c);
	if (step == TIMED_OUT && c->ask->wait == LOCKQ_WAIT_LIST && !c->sent)
		return finish_list(c);
	answer->joined = c->request.joined;
	answer->retries = c->retries;
	memcpy(answer->uuid, c->request.uuid, sizeof(answer->uuid));
	if (step == CANCELLED)
		rc = cancel(c, true, CANCEL_AT_ONCE_MS);
	else if (step == TIMED_OUT)
		rc = cancel(c, false, CANCEL_MS);
	answer->request_id = c->request.request_id;
	if (rc != DB_OK && step == TIMED_OUT)
		return finish_pending(c, rc);
	if (step == TIMED_OUT && !c->sent && !c->request.in_the_way)
		return finish_unasked(c);
	if (rc != DB_OK && step != UNKNOWN)
		return finish_failed(c, rc, step == CANCELLED);
	if (rc == DB_OK && c->request.in_the_way)
		return finish_behind(c, step == CANCELLED);
	if (ends)
		c->waiting.deadline = 0;
	if (rc == DB_OK)
		rc = finish_read(c);
	if (rc == DB_ELOCKWAIT && ends)
		return finish_unread(c, step);
	if (rc != DB_OK)
		return finish_unknown(c, rc);
	add_names(c);
	answer->led = has_led(c);
	if (step == TIMED_OUT && c->ask->wait == LOCKQ_WAIT_LIST && answer->assigned == 0)
		return LOCKQ_NOTHING;
	if ((step == PENDING || step == TIMED_OUT) && answer->assigned == 0 &&
	    (c->task.paused[0] != '\0' || c->held[0] != '\0'))
		return finish_unserved(c, c->task.paused[0] != '\0' ? c->task.paused : c->held);
	if (step == ANSWERED && answer->status == LOCKQ_STATUS_CANCELLED && answer->reason != NULL)
		error_set(c->q, "request %llu is cancelled: %s",
		    (unsigned long long)answer->request_id, answer->reason);
	else if (step == ANSWERED && answer->status == LOCKQ_STATUS_CANCELLED)
		error_set(c->q, "request %llu was cancelled by another process: %s",
		    (unsigned long long)answer->request_id,
		    c->request.chosen ? "use a new UUID" : "try again");
	return error_from_answer(c->q, answer, step == CANCELLED);
}
