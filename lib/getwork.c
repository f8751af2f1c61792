/* SPDX-License-Identifier: MIT */
/*
 * The algorithm, lockq(7), from top to bottom.
 *
 *   1  record the request, where a leader can see it           request.c
 *   2  try the task's lock                                     lock.c
 *   3  locked and held: somebody leads, so follow              lock.c
 *   4  leading: run the heavy query once                       candidates.c
 *   5  give its loans to all who asked, in order; commit       assign.c
 *   6  look once more for those who came too late to be seen   here
 *   7  following: wait for the leader's commit, look at the    wait.c
 *      own row only, and lead if it is still pending
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* One call of lockq_getwork(). */
struct call {
	struct lockq *q;
	const struct lockq_ask *ask;
	struct lockq_answer *answer; /* how our request stands; final when it is not pending */
	struct task task;
	struct request request;
	struct lead lead;
	struct leader leader;     /* whom we follow */
	struct waiting waiting;
	uint64_t led_epoch;       /* of the round that we led to its end */
	uint64_t doubt_epoch;     /* of one whose commit was lost, if it was done */
	unsigned int tries;       /* errors in a row that were tried again … */
	uint64_t trouble_since;   /* … since then */
	unsigned int missed;      /* times that nobody led, and yet the lock was not to be had */
	unsigned int fruitless;   /* rounds in a row that ended no request … */
	const char *why;          /* … and what is in the way */
	uint64_t query_ms;        /* of the last one */
	bool recorded;            /* our INSERT was sent, whatever became of it */
	bool in_doubt;            /* a commit was lost and is not resolved yet */
};

enum {
	TRIES_FORGOTTEN_MS = 1000,
	CHECK_TRIES = 2,
	HAND_OVER_TRIES = 4, HAND_OVER_DONE = 1,
	MISSED_TRIES = 12,     /* some six seconds: a transaction that is stopped is gone later */
	CANCEL_MS = 20000, CANCEL_AT_ONCE_MS = 5000, CANCEL_WAIT_S = 2,
	BEHIND_MS = 10000, REST_MS = 30000,
	PATIENCE_MS = 30000    /* a server that is started again is back in less */
};

static const char disabled[] = "the task is disabled, ask its manager";

/* Step 5 as one transaction: what it writes, and the commit that frees the lock and wakes. */
static int
give_and_commit(struct call *c, struct candidates *candidates, struct run *run)
{
	struct db *db = c->q->lock;
	uint64_t own = c->request.request_id;
	bool more_is_kept = candidates->source == LIST_CACHE && !candidates->complete;
	int rc;

	run->requests = run->loans = 0;
	run->candidates = candidates->n;
	rc = run->reason != NULL ? assign_failure(db, &c->task, &c->lead, own, run) :
	    assign_loans(c->q, &c->task, &c->lead, own, candidates, run);
	if (rc == DB_OK && run->reason == NULL)
		rc = cache_update(db, &c->task, candidates);
	if (rc == DB_OK)
		rc = assign_record_run(db, &c->task, &c->lead, candidates, run);
	if (rc == DB_OK)
		rc = lock_commit(c->q, &c->task, &c->lead, more_is_kept ? 0 : run->left);
	if (rc == DB_EINDOUBT)
		c->doubt_epoch = c->lead.epoch;
	if (rc == DB_OK) {
		candidates_forget_gone(candidates);
		candidates->stale = 0;
		candidates->kept = candidates->kept || c->task.cache_ttl > 0;
	}
	return rc;
}

/* The same, tried again as a whole after a deadlock or a lock wait. The list stays good as long as
 * nobody has led since: it is checked against `work` each time. DB_EFAIL when no try did it: that
 * is for good, the query is not run again for it. A server that is behind its cluster is given some
 * time. */
static int
give_until_done(struct call *c, struct candidates *candidates, struct run *run)
{
	int rc = give_and_commit(c, candidates, run);
	uint64_t end = db_clock_ms() + BEHIND_MS;

	for (unsigned int try = 0; rc == DB_ERETRY || rc == DB_ELOCKWAIT; try++) {
		db_rollback(c->q->lock);
		c->lead.epoch--;
		if (try >= DB_TRIES && (!db_is_behind(c->q->lock) || db_clock_ms() >= end))
			return DB_EFAIL;
		c->lead.retries++;
		rc = wait_a_moment(c->q, LOCKQ_PHASE_RETRY, db_error(c->q->lock), try, &c->waiting);
		if (rc == DB_OK)
			rc = lock_again(c->q, &c->task, c->request.user, &c->lead);
		if (rc != DB_OK)
			return rc < 0 ? rc : DB_ERETRY;
		rc = give_and_commit(c, candidates, run);
	}
	return rc;
}

/* Looks for late requests, and gives to them: 0 when it is to be done once more, HAND_OVER_DONE. */
static int
hand_over_once(struct call *c, struct candidates *candidates, struct run *run)
{
	uint64_t epoch = c->lead.epoch;
	bool any = false;
	int rc = request_any_pending(c->q->lock, c->task.task_id, &any);

	if (rc == DB_OK && !any)
		return HAND_OVER_DONE;
	if (rc == DB_OK)
		rc = lock_again(c->q, &c->task, c->request.user, &c->lead);
	if (rc > 0)
		return HAND_OVER_DONE; /* somebody else leads, or has led since */
	if (rc == DB_OK)
		rc = give_until_done(c, candidates, run);
	if (rc < 0 && rc != DB_EINDOUBT) {
		db_rollback(c->q->lock);
		c->lead.epoch = epoch;
	}
	return rc;
}

/* Step 6. A request commits before it tries the lock, and we look after we freed it: so one that
 * was told "busy" by us is seen here. Only from what is left of the list, never "no work", and
 * only while nobody else has led. What fails here fails for nobody: our own answer is committed. */
static void
hand_over(struct call *c, struct candidates *candidates)
{
	struct run run = { .user = c->request.user, .source = LIST_HAND_OVER };
	unsigned int fruitless = 0;

	while (candidates->n > 0 && fruitless < HAND_OVER_TRIES) {
		int rc = hand_over_once(c, candidates, &run);

		if (rc == DB_OK && run.requests > 0)
			continue;
		if (rc != DB_OK && !db_is_retryable(rc))
			break;
		/* What is left of the list is not for those who are left. */
		if (rc == DB_OK && run.left > 0 && run.left == run.left_out)
			break;
		/* Nothing given: somebody may be touching that request at this moment. */
		db_backoff(fruitless++);
		if (rc != DB_OK)
			c->lead.retries++;
		if (rc == DB_ELOST || rc == DB_ECROWDED) {
			rc = handle_connect(c->q);
			if (rc != DB_OK && !db_is_retryable(rc))
				break;
		}
	}
}

/* Step 4: a list to give from; or, in @run, why there is none for anybody. */
static int
find_list(struct call *c, struct candidates *candidates, struct run *run,
    char reason[REASON_BYTES])
{
	int rc;

	if (c->task.enabled) {
		rc = candidates_find(c->q, &c->task, &c->lead, &c->waiting.usual_ms, candidates,
		    reason);
	} else {
		snprintf(reason, REASON_BYTES, "%s", disabled);
		run->refused = true;
		rc = CANDIDATES_FAILED;
	}
	run->source = candidates->source;
	run->note = reason[0] != '\0' ? reason : NULL;
	if (rc == CANDIDATES_FAILED) {
		run->reason = reason;
		rc = DB_OK;
	}
	return rc;
}

/* Of a round that is committed, for the next one, and for what comes after that. */
static void
note_round(struct call *c, const struct candidates *candidates, const struct run *run)
{
	c->led_epoch = c->lead.epoch;
	/* What a hint leaves, the query here may serve: that is not the same again. */
	c->fruitless = run->requests > 0 ||
	    (list_is_hint(candidates->source) && run->left > 0) ? 0 : c->fruitless + 1;
	c->why = run->left > 0 ? "others hold the loans that were found" :
	    "another session holds the request";
	c->query_ms = candidates->query_ms;
}

/* Steps 4 to 6, with the lock held. */
static int
lead_round(struct call *c)
{
	struct candidates candidates = { .list = NULL };
	struct run run = { .user = c->request.user };
	char reason[REASON_BYTES] = "";
	int rc = find_list(c, &candidates, &run, reason);

	if (rc == DB_OK)
		rc = give_until_done(c, &candidates, &run);
	if (rc == DB_OK) {
		note_round(c, &candidates, &run);
		hand_over(c, &candidates);
	}
	candidates_clear(&candidates);
	return rc;
}

/* A round that ended no request, because others hold what it found: not again at once, nor before a
 * time that is worth another query. */
static int
rest(struct call *c)
{
	uint64_t ms = c->query_ms < REST_MS ? c->query_ms : REST_MS;

	if (c->fruitless == 0)
		return DB_OK;
	if (c->ask->wait == LOCKQ_WAIT_NONE || db_clock_ms() >= c->waiting.deadline)
		return WAIT_OVER;
	return wait_for_better(c->q, c->why, c->fruitless, ms, &c->waiting);
}

/* Somebody has the lock who does not lead: cron for a moment, or a session that was forgotten. Who
 * does not wait is not told to look later before it is the latter: nobody would see the request. */
static bool
nobody_leads(const struct call *c)
{
	return c->leader.name[0] == '\0' && c->missed < MISSED_TRIES;
}

/* Step 7, the waiting part. */
static int
follow(struct call *c)
{
	uint64_t since = db_clock_ms();
	int rc;

	c->waiting.slice_s = wait_slice_s(c->leader.request_ttl, c->request.joined);
	if (c->ask->wait == LOCKQ_WAIT_NONE)
		return nobody_leads(c) ? wait_a_moment(c->q, LOCKQ_PHASE_WAIT, NULL, c->missed++,
		    &c->waiting) : WAIT_OVER;
	know_usual(c->q, c->q->lock, c->ask->task, &c->waiting.usual_ms);
	if (c->ask->wait == LOCKQ_WAIT_POLL)
		rc = wait_polling(c->q, c->ask, &c->request, &c->leader, &c->waiting);
	else
		rc = wait_blocking(c->q, c->task.task_id, &c->request, &c->leader, &c->waiting);
	if (db_clock_ms() - since > TRIES_FORGOTTEN_MS)
		c->tries = 0;
	return rc;
}

static bool
worth_another_try(struct call *c, int rc)
{
	uint64_t now = db_clock_ms();

	if (c->tries++ == 0)
		c->trouble_since = now;
	if (c->tries <= DB_TRIES)
		return true;
	/* A lost server, or one that is behind its cluster, not a transaction that keeps failing:
	 * as long as the user would wait. */
	return ((rc != DB_ERETRY && rc != DB_ELOCKWAIT) || db_is_behind(c->q->lock)) &&
	    now < c->waiting.deadline && now - c->trouble_since < PATIENCE_MS;
}

/* Rolls back, reconnects where that is needed, and lets the caller look again: its own row tells
 * what became of it. Bounded; what no second try cures is returned. */
static int
recover(struct call *c, int rc)
{
	while (db_is_retryable(rc) || rc == DB_EINDOUBT) {
		if (rc == DB_EINDOUBT)
			c->in_doubt = true;
		if (!worth_another_try(c, rc))
			break;
		c->lead.retries++;
		if (db_error(handle_failed(c->q))[0] != '\0')
			error_set(c->q, "%s", db_error(handle_failed(c->q)));
		rc = wait_a_moment(c->q, LOCKQ_PHASE_RETRY, c->q->error, c->tries, &c->waiting);
		if (rc != DB_OK)
			break;
		/* A fresh connection, also where this one lives: whatever it had open is undone. */
		rc = handle_connect(c->q);
		if (rc == DB_OK && c->in_doubt) {
			rc = request_status_locked(c->q->lock, &c->request);
			if (rc >= 0)
				c->in_doubt = false;
		}
		if (rc >= 0)
			return DB_OK;
	}
	return c->in_doubt && rc != DB_ECANCELLED ? DB_EINDOUBT : rc;
}

/* An INSERT before may have got through, when more was allowed than now: the request is found by
 * its UUID, or takes it, so that nothing arrives later behind the user's back. */
static int
refused_in_doubt(struct call *c)
{
	int rc = request_find(c->q->lock, &c->request);

	if (rc != DB_OK || c->request.request_id != 0)
		return rc;
	rc = request_cancel(c->q->lock, c->ask->task, c->ask->count, &c->request);
	if (rc == DB_OK && c->request.request_id == 0)
		return REQUEST_REFUSED; /* there is no such user, or task */
	if (rc == DB_OK)
		rc = answer_read_own(c->q->lock, c->request.request_id, c->answer);
	if (rc != DB_OK || c->answer->status != LOCKQ_STATUS_CANCELLED)
		return rc;
	lockq_answer_clear(c->answer);
	c->request.request_id = 0;
	return REQUEST_REFUSED;
}

static int
record(struct call *c)
{
	int rc;

	do {
		bool before = c->recorded;

		c->recorded = true;
		rc = request_record(c->q->lock, c->task.task_id, c->ask->count, &c->request);
		if (rc == REQUEST_REFUSED && before)
			rc = refused_in_doubt(c);
		if (rc >= 0)
			break;
		/* An answer is no doubt: there is nothing to cancel. */
		if (rc != DB_ELOST)
			c->recorded = before;
		rc = recover(c, rc);
	} while (rc == DB_OK);
	if (rc == REQUEST_REFUSED)
		c->recorded = false;
	c->waiting.slice_s = wait_slice_s(UINT32_MAX, c->request.joined);
	c->waiting.seen = db_clock_ms();
	return rc;
}

/* Who joined a request that its maker has cancelled has not given up: from here on with one of its
 * own. Likewise when it expired. WAIT_OVER is not for us to say: the new one is looked at first. */
static int
ask_anew(struct call *c)
{
	lockq_answer_clear(c->answer);
	c->request = (struct request){ .user = c->request.user };
	request_make_uuid(c->request.uuid);
	return record(c);
}

/* Only at our own row. All of the answer at once: mostly it is there. */
static int
look(struct call *c)
{
	int rc;

	/* Who has just asked is not answered yet; whoever leads looks first. */
	if (c->request.unseen) {
		c->request.unseen = false;
		return REQUEST_PENDING;
	}
	if (c->answer->status != LOCKQ_PENDING)
		return DB_OK;
	do {
		rc = answer_read_own(c->q->lock, c->request.request_id, c->answer);
		if (rc == DB_OK && c->answer->status == LOCKQ_PENDING)
			rc = wait_still_here(c->q, &c->request, &c->waiting);
	} while (rc == DB_OK && c->answer->status == LOCKQ_PENDING);
	return rc;
}

static bool
is_left_by_its_maker(const struct call *c)
{
	return c->request.joined && (c->answer->status == LOCKQ_STATUS_CANCELLED ||
	    c->answer->status == LOCKQ_EXPIRED);
}

/* The algorithm. 0 when the request has ended, WAIT_OVER when the wait is over. */
static int
get_served(struct call *c)
{
	int rc = record(c);                                           /* step 1 */

	while (rc == DB_OK) {
		rc = look(c);                                         /* step 7 */
		if (rc == DB_OK && !is_left_by_its_maker(c))
			break;
		if (rc == DB_OK) {
			rc = ask_anew(c);
			continue;
		}
		if (rc == REQUEST_PENDING)
			rc = lock_try(c->q, &c->task, &c->request, &c->lead, &c->leader); /* 2, 3 */
		if (rc == DB_OK) {
			rc = lead_round(c);                           /* steps 4 to 6 */
			if (rc == DB_OK)
				rc = rest(c);
		} else if (rc == LOCK_BUSY) {
			rc = follow(c);                               /* step 7 */
		} else if (rc == LOCK_NOT_NEEDED) {
			rc = DB_OK;
		}
		if (rc < 0)
			rc = recover(c, rc);
	}
	return rc;
}

/* Nobody waits any longer, so nothing may arrive later behind the user's back. A leader may be
 * serving the request this moment: then the statement waits for its commit and changes nothing. */
static int
cancel(struct call *c, bool abandon, uint64_t patience_ms)
{
	uint64_t end = db_clock_ms() + patience_ms;
	int rc = abandon ? handle_abandon(c->q) : DB_OK;

	if (!c->recorded || c->request.joined)
		return rc;
	for (unsigned int try = 0;; try++) {
		if (rc == DB_OK)
			rc = db_set_lock_wait(c->q->lock, CANCEL_WAIT_S);
		if (rc == DB_OK)
			rc = request_cancel(c->q->lock, c->task.task_id, c->ask->count,
			    &c->request);
		if (!db_is_retryable(rc))
			return rc;
		if (db_clock_ms() >= end)
			return rc;
		/* Who gives up now is told, but not asked. */
		if (wait_a_moment(c->q, LOCKQ_PHASE_CANCEL, db_error(c->q->lock), try,
		    &c->waiting) != DB_OK)
			db_backoff(try);
		rc = handle_connect(c->q);
	}
}

/* What the tables say now, whatever happened to connections on the way. */
static int
read_answer(struct call *c, struct lockq_answer *answer)
{
	int rc = DB_ELOST;

	if (answer->status != LOCKQ_PENDING)
		return DB_OK;
	for (unsigned int try = 0; try < DB_TRIES; try++) {
		rc = c->q->lock == NULL || db_lost(c->q->lock) ? handle_connect(c->q) : DB_OK;
		if (rc == DB_OK)
			rc = answer_read(c->q->lock, c->request.request_id, answer);
		if (!db_is_retryable(rc))
			break;
		db_backoff(try);
	}
	return rc;
}

/* An error that no second try cured. The request must not be served later behind the back of who
 * was told of the error; if it was served just before, that is the better answer. */
static int
finish_failed(struct call *c, int failure, bool cancelled, struct lockq_answer *answer)
{
	char text[sizeof(c->q->error)];
	int rc = error_from_db(c->q, handle_failed(c->q), failure);

	memcpy(text, c->q->error, sizeof(text));
	if (!c->recorded)
		return rc;
	if (cancelled || cancel(c, true, 0) != DB_OK) {
		error_set(c->q, "%s%.900s: the request may still be pending, see checkwork "
		    "--request %s%s", cancelled ?
		    "interrupted, but it could not be cancelled: " : "", text,
		    c->request.uuid, failure == DB_ELOST ? " when the database is back" : "");
		return rc;
	}
	answer->request_id = c->request.request_id;
	if (c->request.request_id != 0 &&
	    answer_read(c->q->lock, c->request.request_id, answer) == DB_OK &&
	    answer_rc(c->q, answer) == LOCKQ_OK)
		return LOCKQ_OK;
	memcpy(c->q->error, text, sizeof(text));
	return rc;
}

/* Who reads its own answer knows them. */
static int
add_names(struct call *c)
{
	struct lockq_answer *answer = c->answer;
	int rc = DB_OK;

	if (answer->user == NULL)
		rc = copy_text(&answer->user, c->request.user);
	if (rc == DB_OK && answer->task_name == NULL)
		rc = copy_text(&answer->task_name, c->task.name[0] != '\0' ? c->task.name :
		    c->leader.task_name);
	return rc;
}

static int
finish(struct call *c, int rc, struct lockq_answer *answer)
{
	bool cancelled = rc == DB_ECANCELLED;

	answer->joined = c->request.joined;
	answer->retries = c->lead.retries;
	memcpy(answer->uuid, c->request.uuid, sizeof(answer->uuid));
	if (cancelled)
		rc = cancel(c, true, CANCEL_AT_ONCE_MS);
	else if (rc == WAIT_OVER)
		rc = c->ask->wait == LOCKQ_WAIT_NONE ? DB_OK : cancel(c, false, CANCEL_MS);
	answer->request_id = c->request.request_id;
	if (rc < 0 && rc != DB_EINDOUBT)
		return finish_failed(c, rc, cancelled, answer);
	if (rc != DB_EINDOUBT && c->request.request_id != 0)
		rc = read_answer(c, answer);
	if (rc < 0) {
		rc = error_from_db(c->q, c->q->lock, rc);
		error_unknown(c->q);
		answer->status = LOCKQ_STATUS_UNKNOWN;
		return rc == LOCKQ_ENOMEM ? rc : LOCKQ_EUNKNOWN;
	}
	if (answer->task != 0 && add_names(c) != DB_OK)
		return LOCKQ_ENOMEM;
	if (answer->status == LOCKQ_PENDING && c->leader.name[0] != '\0' &&
	    copy_text(&answer->leader, c->leader.name) != DB_OK)
		return LOCKQ_ENOMEM;
	answer->led = answer->epoch != 0 && (answer->epoch == c->led_epoch ||
	    (answer->epoch == c->doubt_epoch && answer->leader != NULL &&
	    strcmp(answer->leader, c->request.user) == 0));
	rc = answer_rc(c->q, answer);
	return rc == LOCKQ_BUSY && cancelled ? LOCKQ_CANCELLED : rc;
}

/* Whose pipeline has no room. */
static int
check_room(struct call *c, uint32_t user_id)
{
	char reason[PIPELINE_REASON_BYTES];
	uint64_t held = 0;
	int rc = task_held(c->q->lock, c->task.task_id, user_id, &held);

	if (rc != DB_OK)
		return error_from_db(c->q, c->q->lock, rc);
	if (held < c->task.max_pipeline)
		return LOCKQ_OK;
	pipeline_reason(reason, c->task.max_pipeline, held);
	error_set(c->q, "task %u (%s): %s", c->task.task_id, c->task.name, reason);
	return LOCKQ_EREFUSED;
}

/* Why a request was not recorded. LOCKQ_OK: by now there is no reason. */
static int
explain_refusal(struct call *c)
{
	const struct lockq_ask *ask = c->ask;
	uint32_t user_id = 0;
	int rc = task_and_user(c->q, ask->user, ask->task, &c->task, &user_id);

	if (rc != LOCKQ_OK)
		return rc;
	if (!c->task.enabled) {
		error_set(c->q, "task %u (%s): %s", ask->task, c->task.name, disabled);
		return LOCKQ_EREFUSED;
	}
	if (ask->count > c->task.max_count) {
		error_set(c->q, "count %u is more than task %u allows: ask for %u at most",
		    ask->count, ask->task, c->task.max_count);
		return LOCKQ_EREFUSED;
	}
	return c->task.max_pipeline > 0 ? check_room(c, user_id) : LOCKQ_OK;
}

/* Stopped for too long, say, or a table is being altered; nothing has been recorded, so the same
 * again does no harm. */
static int
refuse(struct call *c)
{
	struct lockq *q = c->q;
	int rc = explain_refusal(c);

	for (unsigned int try = 0; rc == LOCKQ_EDATABASE && try < CHECK_TRIES &&
	    db_is_retryable(db_failure(q->lock)); try++) {
		if (db_lost(q->lock) && handle_connect(q) != DB_OK)
			break;
		rc = explain_refusal(c);
	}
	if (rc == LOCKQ_OK) {
		error_set(q, "task %u was changed this moment: ask again", c->ask->task);
		rc = LOCKQ_EREFUSED;
	}
	if (rc == LOCKQ_EREFUSED)
		c->answer->status = LOCKQ_REFUSED;
	return rc;
}

/* What needs no database to be refused. */
static int
check_ask(struct lockq *q, const struct lockq_ask *ask)
{
	bool gaps = ask->wait != LOCKQ_WAIT_POLL || (ask->n_poll > 0 && ask->poll_s != NULL);

	for (size_t i = 0; gaps && ask->wait == LOCKQ_WAIT_POLL && i < ask->n_poll; i++)
		gaps = ask->poll_s[i] > 0;
	if (ask->user != NULL && ask->count >= 1 && ask->count <= LOCKQ_COUNT_MAX && gaps)
		return LOCKQ_OK;
	error_set(q, "count must be 1 to %d, with a user, and gaps when polling", LOCKQ_COUNT_MAX);
	return LOCKQ_EUSAGE;
}

int
lockq_getwork(struct lockq *q, const struct lockq_ask *ask, struct lockq_answer *answer)
{
	struct call c = { .q = q, .ask = ask, .answer = answer, .task = { .task_id = ask->task } };
	uint64_t start = db_clock_ms();
	int rc = check_ask(q, ask);

	lockq_answer_clear(answer);
	if (rc != LOCKQ_OK)
		return rc;
	q->error[0] = '\0';
	rc = handle_ready(q);
	if (rc != DB_OK)
		return error_from_db(q, q->lock, rc);
	c.request.user = ask->user;
	request_make_uuid(c.request.uuid);
	c.waiting.deadline = ask->timeout_ms < 0 ? UINT64_MAX : start + (uint64_t)ask->timeout_ms;
	q->asking = &c.request;
	rc = get_served(&c);
	rc = rc == REQUEST_REFUSED ? refuse(&c) : finish(&c, rc, answer);
	q->asking = NULL;
	answer->waited_ms = db_clock_ms() - start;
	return rc;
}
