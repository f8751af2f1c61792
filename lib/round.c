/* SPDX-License-Identifier: MIT */
/* Steps 4 to 6, with the task's lock: find a list, give from it and commit, hand over what is left
 * to requests that came late. */
#include <stdio.h>

#include "bounds.h"
#include "cache.h"
#include "call.h"
#include "retry.h"
#include "source.h"

void
round_clear(struct call *c)
{
	list_clear(&c->list);
}

/* Step 4: a list to give from; or the reason why there is none for anybody. */
enum db_rc
round_find(struct call *c, enum step *step)
{
	enum list_result result = LIST_FAILED;
	enum db_rc rc = DB_OK;

	c->run = (struct run){ .user = c->request.user };
	c->reason[0] = '\0';
	round_clear(c);
	if (c->task.enabled) {
		rc = source_find(c->q, &c->task, &c->lead, &c->waiting.usual_ms, &c->list,
		    &result, c->reason);
	} else {
		snprintf(c->reason, sizeof(c->reason), "%s", refusal_disabled);
		c->run.refused = true;
	}
	if (rc != DB_OK)
		return rc;
	c->run.source = c->list.source;
	c->run.note = c->reason[0] != '\0' ? c->reason : NULL;
	c->run.reason = result == LIST_FOUND ? NULL : c->reason;
	/* What a query that failed had shown until then is nothing to give from; when it began, and
	 * how long it took, is recorded. */
	if (result != LIST_FOUND)
		c->list.n = 0;
	*step = GIVE;
	return DB_OK;
}

/* Step 5 as one transaction: what it writes, and the commit that frees the lock and wakes. */
static enum db_rc
give_and_commit(struct call *c, struct run *run)
{
	struct db *db = c->q->db;
	uint64_t own = c->request.request_id;
	enum db_rc rc;

	run->requests = run->loans = 0;
	run->candidates = c->list.n;
	run->retries = c->retries;
	rc = run->reason != NULL ? assign_failure(db, &c->task, &c->lead, own, run) :
	    assign_loans(c->q, &c->task, &c->lead, own, &c->list, run);
	if (rc == DB_OK && run->reason == NULL)
		rc = cache_update(db, &c->task, &c->list);
	if (rc == DB_OK)
		rc = assign_record_run(db, &c->task, &c->lead, &c->list, run);
	if (rc == DB_OK)
		/* There is more of a kept list; one that ended no request is not used again. */
		rc = lock_commit_and_release(c->q, &c->task, &c->lead, list_is_cut(&c->list) &&
		    run->requests > 0 ? 0 : run->left);
	if (rc == DB_EINDOUBT)
		c->doubt_epoch = c->lead.epoch;
	if (rc == DB_OK) {
		c->lead.committed = c->lead.epoch;
		list_forget_gone(&c->list);
		c->list.stale = 0;
		c->list.kept = c->list.kept || c->task.cache_ttl > 0;
	}
	return rc;
}

/* The same, tried again as a whole after a deadlock or a lock wait, with the list in hand: it stays
 * good as long as nobody has led since, for it is checked against `work` each time. *@ours is false
 * where somebody has. DB_EFAIL when no try did it: that is for good, the query is not run again for
 * it. */
static enum db_rc
give_until_done(struct call *c, struct run *run, bool *ours)
{
	uint64_t since = db_clock_ms();
	enum db_rc rc = give_and_commit(c, run);

	*ours = true;
	for (unsigned int try = 0; rc == DB_ERETRY || rc == DB_ELOCKWAIT; try++) {
		bool behind = db_is_behind(c->q->db);

		db_rollback(c->q->db);
		if (retry_verdict(rc, behind, try, db_clock_ms() - since, BEHIND_MS) == GIVE_UP)
			return DB_EFAIL;
		c->retries++;
		rc = wait_a_moment(c->q, LOCKQ_PHASE_RETRY, db_error(c->q->db), try, 0,
		    &c->waiting);
		if (rc == DB_OK)
			rc = lock_again(c->q, &c->task, c->request.user, &c->lead, ours);
		if (rc != DB_OK || !*ours)
			return rc;
		rc = give_and_commit(c, run);
	}
	return rc;
}

enum db_rc
round_give(struct call *c, enum step *step)
{
	const struct run *run = &c->run;
	bool ours = true;
	enum db_rc rc = give_until_done(c, &c->run, &ours);

	if (rc != DB_OK)
		return rc;
	if (!ours) {
		round_clear(c);
		c->obstacle = "others have led since";
		*step = ++c->rounds_in_vain < DB_TRIES ? TRY : REST;
		return DB_OK;
	}
	c->led_epoch = c->lead.epoch;
	/* What a hint leaves, the query here may serve: that is not the same again. */
	c->rounds_in_vain = run->requests > 0 ||
	    (list_is_hint(c->list.source) && run->left > 0) ? 0 : c->rounds_in_vain + 1;
	c->obstacle = run->left > 0 ? "others hold the loans that were found" :
	    "another session holds the request";
	c->query_ms = c->list.query_ms;
	*step = HAND_OVER;
	return DB_OK;
}

/* Looks for late requests, and gives to them. *@again: it is to be done once more. */
static enum db_rc
hand_over_once(struct call *c, struct run *run, bool *again)
{
	bool any = false;
	enum db_rc rc = request_any_pending(c->q->db, c->task.task_id, &any);

	*again = any;
	/* Not ours: somebody else leads, or has led since. */
	if (rc == DB_OK && any)
		rc = lock_again(c->q, &c->task, c->request.user, &c->lead, again);
	if (rc == DB_OK && *again)
		rc = give_until_done(c, run, again);
	if (rc != DB_OK)
		db_rollback(c->q->db);
	return rc;
}

/* Step 6. A request commits before it tries the lock, and we look after we freed it: so one that
 * was told "busy" by us is seen here. Only from what is left of the list, never "no work", and
 * only while nobody else has led. What fails here fails for nobody: our own answer is committed. */
enum db_rc
round_hand_over(struct call *c, enum step *step)
{
	struct run run = { .user = c->request.user, .source = LIST_HAND_OVER };
	unsigned int fruitless = 0;
	bool again = true;

	while (again && c->list.n > 0 && fruitless < HAND_OVER_TRIES) {
		enum db_rc rc = hand_over_once(c, &run, &again);

		/* Our own request may be among them. */
		if (rc == DB_OK && run.requests > 0)
			c->rounds_in_vain = 0;
		if (rc == DB_OK && (!again || run.requests > 0))
			continue;
		if (rc != DB_OK && !retry_cures(rc))
			break;
		/* What is left of the list is not for those who are left, or not enough. */
		if (rc == DB_OK && run.left > 0 &&
		    (run.left == run.left_out || list_is_cut(&c->list)))
			break;
		/* Nothing given: somebody may be touching that request at this moment. */
		db_backoff(fruitless++);
		again = true;
		if (rc != DB_OK)
			c->retries++;
		if (retry_verdict(rc, false, 0, 0, 0) == RECONNECT) {
			rc = session_connect(c->q);
			if (rc != DB_OK && !retry_cures(rc))
				break;
		}
	}
	round_clear(c);
	*step = c->rounds_in_vain == 0 ? LOOK : REST;
	return DB_OK;
}
