/* SPDX-License-Identifier: MIT */
/* Steps 4 to 6, what a call does with the task's lock: it finds a list, gives loans from it and
 * commits, and hands over what is left to requests that came late. */
#include <stdio.h>
#include <string.h>

#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/retry.h"
#include "list/ask_view.h"
#include "list/search.h"
#include "list/take.h"

/* Whether what this round leaves is to be kept. It is not where nobody could take from it, since
 * the view can't be asked about its loans. */
static bool
will_keep(const struct call *c)
{
	return c->task.cache_ttl > 0 && list_was_queried(c->run.source) && !c->list.kept &&
	    c->run.reason == NULL && (!c->list.too_dear || c->task.use_unchecked);
}

/* Measures what asking the view about some loans takes, before a list is kept. */
static enum db_rc
measure_check(struct call *c)
{
	struct check check = { .n = 0 };
	struct db *db = session_beside(c->q);
	uint64_t since = db_clock_ms();
	enum db_rc rc;

	while (check.n < CHECK_SAMPLE && check.n < c->list.n) {
		check.loans[check.n] = c->list.list[check.n].loan_id;
		check.n++;
	}
	if (c->task.cache_ttl == 0 || check.n == 0 || db == c->q->db)
		return DB_OK;
	rc = check_loans(db, &c->task, &check);
	c->list.check_ms = db_clock_ms() - since;
	c->list.too_dear = check.too_dear;
	c->run.asked_view = rc == DB_OK;
	if (check.too_dear) {
		size_t used = strlen(c->reason);

		snprintf(c->reason + used, sizeof(c->reason) - used, "%s%s%s",
		    used > 0 ? "; " : "", check.why, c->task.use_unchecked ? "" :
		    c->task.check_view[0] != '\0' ? ": so no list is kept: mend this view" :
		    ": so no list is kept: name a check_view in the task's row");
	}
	return rc;
}

/* Gives to pending requests from the kept list, as those who take from it do. */
static void
serve_line(struct call *c)
{
	struct task task = c->task;
	struct kept kept;
	bool known = false;

	/* Nobody waits for this process now, so it waits for others as a taker does. */
	if (db_set_lock_wait(c->q->db, DB_BRIEF_WAIT_S) == DB_OK &&
	    kept_look(c->q->db, c->request.user, &task, &kept, &known) == DB_OK && kept.usable)
		take_for_line(c->q->db, &task, &kept);
}

/* Step 4. Where no list can be had, @c->run.reason says why, and step 5 ends all requests with
 * it. */
enum db_rc
round_find(struct call *c, enum step *step)
{
	struct search search = {
		.q = c->q, .task = &c->task, .lead = &c->lead, .usual_ms = c->waiting.usual_ms,
		.is_short = !c->needs_long_list, .found = &c->list, .reason = c->reason,
		.tried = c->kept_tried, .fresh = c->ask->fresh != 0, .refills = c->refills,
		.only_due = c->only_due
	};
	enum list_result result = LIST_FAILED;
	enum db_rc rc = DB_OK;

	c->run = (struct run){ .user = c->request.user, .own_request = c->request.request_id };
	c->reason[0] = '\0';
	list_clear(&c->list);
	if (c->task.enabled) {
		rc = source_find(&search, &result);
	} else {
		snprintf(c->reason, sizeof(c->reason), "%s", refusal_disabled);
		c->run.refused = true;
	}
	if (rc == DB_ECANCELLED && c->q->led_elsewhere) {
		snprintf(c->leader.name, sizeof(c->leader.name), "%s", c->request.user);
		*step = c->ask->wait == LOCKQ_WAIT_NONE ? PENDING : TIMED_OUT;
		return session_connect_in(c->q, CONNECT_MS);
	}
	/* Requests that found this leader's lock taken count on it to serve them. */
	if (rc == DB_OK && result == LIST_KEPT) {
		db_rollback(c->q->db);
		serve_line(c);
		*step = TAKE;
		return DB_OK;
	}
	if (rc == DB_OK && result == LIST_FOUND)
		rc = measure_check(c);
	if (rc != DB_OK)
		return rc;
	c->run.source = c->list.source;
	c->run.note = c->reason[0] != '\0' ? c->reason : NULL;
	c->run.reason = result == LIST_FOUND ? NULL : c->reason;
	/* The rows that a failed query has shown are not given; as_of and query_ms stay, since they
	 * are recorded. */
	if (result != LIST_FOUND)
		c->list.n = 0;
	*step = GIVE;
	return DB_OK;
}

/* Step 5: all that the lock's transaction writes, and its COMMIT. */
static enum db_rc
give_and_commit(struct call *c, struct run *run)
{
	struct db *db = c->q->db;
	enum db_rc rc;

	run->requests = run->loans = 0;
	run->candidates = c->list.n;
	run->retries = c->retries;
	rc = run->reason != NULL ? assign_failure(db, &c->task, &c->lead, run) :
	    assign_loans(c->q, &c->task, &c->lead, &c->list, run);
	if (rc == DB_OK && run->too_short)
		return DB_OK;
	if (rc == DB_OK && will_keep(c))
		rc = kept_begin(db, &c->task, &c->lead, &c->list, &c->kept_loans);
	if (rc == DB_OK)
		rc = assign_record_run(db, &c->task, &c->lead, &c->list, run);
	if (rc == DB_OK)
		rc = lock_commit_and_release(c->q, &c->task, &c->lead, run->left);
	if (rc == DB_EINDOUBT)
		c->doubt_epoch = c->lead.epoch;
	if (rc == DB_OK) {
		c->led_last = c->lead.committed = c->lead.epoch;
		list_forget_gone(&c->list);
		c->has_kept = c->has_kept || will_keep(c);
		c->list.kept = c->list.kept || will_keep(c);
		snprintf(c->as_of, sizeof(c->as_of), "%s", c->list.as_of);
	}
	return rc;
}

/* give_and_commit(), tried again after a deadlock or a lock wait, without another query. The list
 * stays good as long as nobody else has led, since each try checks it against `work`; *@ours is
 * false where somebody has. DB_EFAIL after the last try: with an error that recover() takes for
 * curable, the call would run the heavy query again. */
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
		call_again(c);
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
	if (run->too_short) {
		db_rollback(c->q->db);
		list_clear(&c->list);
		c->needs_long_list = true;
		*step = TRY;
		return DB_OK;
	}
	if (!ours) {
		list_clear(&c->list);
		c->obstacle = "others have led since";
		*step = ++c->rounds_in_vain < DB_TRIES ? TRY : REST;
		return DB_OK;
	}
	c->led_first = c->lead.epoch;
	/* A hint that left requests pending was not in vain, since the next round queries here. */
	c->rounds_in_vain = run->requests > 0 ||
	    (list_is_hint(c->list.source) && run->left > 0) ? 0 : c->rounds_in_vain + 1;
	c->obstacle = run->left > 0 ? "others hold what was found" :
	    "another session holds the request";
	c->query_ms = c->list.query_ms;
	*step = HAND_OVER;
	return DB_OK;
}

/* Looks for late requests, and gives to them. *@again is false where there are none, or where
 * another process leads or has led since. */
static enum db_rc
hand_over_once(struct call *c, struct run *run, bool *again)
{
	bool any = false;
	enum db_rc rc = request_any_pending(c->q->db, c->task.task_id, &any);

	*again = any;
	if (rc == DB_OK && any)
		rc = lock_again(c->q, &c->task, c->request.user, &c->lead, again);
	if (rc == DB_OK && *again)
		rc = give_until_done(c, run, again);
	if (rc != DB_OK)
		db_rollback(c->q->db);
	return rc;
}

/* The tries of a hand-over that ended no request, in a row. */
struct tries {
	unsigned int in_vain;
	uint64_t pending;     /* before the last one: request_sum_pending() */
};

/* A request that came during the last try has found the lock taken, so somebody has to look at it.
 * It has tries of its own. */
static bool
has_tries_left(struct call *c, struct tries *tries)
{
	uint64_t before = tries->pending;

	if (tries->in_vain == 0)
		return true;
	if (request_sum_pending(c->q->db, c->task.task_id, &tries->pending) == DB_OK &&
	    before != 0 && tries->pending != before)
		tries->in_vain = 0;
	return tries->in_vain < HAND_OVER_TRIES;
}

/* Serves those who came during the query from the list that this round keeps, and deletes the
 * task's older lists. */
static void
hand_over_kept(struct call *c)
{
	uint64_t n = 1, until;
	enum db_rc rc = DB_OK;

	serve_line(c);
	/* What is left here, cron deletes. */
	until = db_clock_ms() + LINE_MS;
	while (rc == DB_OK && n > 0 && db_clock_ms() < until)
		rc = kept_end(c->q->db, c->task.task_id, &n);
	if (rc != DB_OK)
		db_rollback(c->q->db);
}

/* Step 6. A request commits before it tries the lock, and this look comes after the lock was
 * released. So each request that found this leader's lock taken is seen here. A failure here is not
 * reported, since the call's own answer is committed. */
enum db_rc
round_hand_over(struct call *c, enum step *step)
{
	struct run run = {
		.user = c->request.user, .own_request = c->request.request_id,
		.source = LIST_HAND_OVER
	};
	struct tries tries = { 0, 0 };
	bool again = true;

	/* Others take from it by now, so this call gives as they do, and not from memory. */
	if (c->list.kept) {
		hand_over_kept(c);
		again = false;
	}
	while (again && c->list.n > 0 && has_tries_left(c, &tries)) {
		enum db_rc rc = hand_over_once(c, &run, &again);

		/* The call's own request may be among those that were ended. */
		if (rc == DB_OK && run.requests > 0)
			c->rounds_in_vain = 0;
		if (rc == DB_OK && (!again || run.requests > 0))
			continue;
		if (rc != DB_OK && !retry_cures(rc))
			break;
		/* The requests that are left may not have what is left of the list, or it is not
		 * enough for them. */
		if (rc == DB_OK && run.left > 0 &&
		    (run.left == run.left_out || c->list.cut))
			break;
		/* Nothing was given: another session may have the request locked for a moment. */
		db_backoff(tries.in_vain++);
		again = true;
		if (rc != DB_OK)
			call_again(c);
		if (retry_verdict(rc, false, 0, 0, 0) == RECONNECT) {
			rc = session_connect(c->q);
			if (rc != DB_OK && !retry_cures(rc))
				break;
		}
	}
	list_clear(&c->list);
	*step = c->rounds_in_vain == 0 ? LOOK : REST;
	return DB_OK;
}
