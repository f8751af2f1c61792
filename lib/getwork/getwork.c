/* SPDX-License-Identifier: MIT */
/*
 * lockq_getwork(), the algorithm of lockq(7). A call goes from state to state until it comes to an
 * end. Each state has a function, which does the step of the page below its name:
 *
 *   TAKE       from_list        -> LOOK (served) | TAKE (a newer list) | ASK | TRY (asked already)
 *              take from the kept list, if there is one
 *   ASK        ask              -> TRY | LOOK (joined, or there before) | REFUSED | TIMED_OUT
 *              step 1: record the request
 *   LOOK       look             -> ANSWERED | FAILED | TRY | TAKE (pending) | ASK (anew)
 *              step 7: read the request's own row, and no other
 *   TRY        try_lock         -> LEAD | FOLLOW (busy) | LOOK (ended meanwhile) | REST (paused)
 *              steps 2 and 3: the task's lock
 *   LEAD       round_find       -> GIVE | TAKE (a newer list) | TIMED_OUT | PENDING (--no-wait)
 *              step 4: find a list: by the heavy query, or by what serves in its place. When the
 *              time is over, another process may lead on
 *   GIVE       round_give       -> HAND_OVER | TRY (somebody has led since) | REST (and again)
 *              step 5: give from the list and commit, again with the list in hand if need be
 *   HAND_OVER  round_hand_over  -> LOOK | REST (no request was ended)
 *              step 6: serve late requests from what is left
 *   FOLLOW     follow           -> LOOK | TIMED_OUT | PENDING (--no-wait)
 *              step 7: wait for the leader's commit
 *   REST       rest             -> LOOK | TIMED_OUT | PENDING (--no-wait)
 *              others hold what was found, or the task is paused: wait before the next try
 *   any        recover          -> LOOK | ASK (not recorded) | TAKE | CANCELLED | FAILED | UNKNOWN
 *              a function has failed
 *
 * ANSWERED, PENDING, TIMED_OUT, REFUSED, CANCELLED, FAILED and UNKNOWN are the ends, for finish().
 * The call holds the task's lock from LEAD on until round_give() commits, and for as long as
 * round_hand_over() gives; in the other states it holds none.
 *
 * Each of the other files answers a question. call.h has what they know of a call.
 *
 *   from_list.c   can the kept list serve this call?
 *   line.c        who else in the line gets loans of that list?
 *   request.c     how is a request recorded, and how does it stand?
 *   refusal.c     why was it refused?
 *   lock.c        who has the task's lock?
 *   round.c       what does a call do with the lock?
 *   pending.c     which requests are pending, and how does each of them end?
 *   assign.c      which of them gets which loan?
 *   share.c       how many loans does each get where there are not enough?
 *   wait.c        how does a follower wait?
 *   recover.c     how does a call go on after a failure?
 *   cancel.c      how does a call that gives up cancel its request?
 *   finish.c      how does a call end?
 *   answer.c      what is the answer to a request?
 *   refill.c      how is a kept list filled before people ask?
 *   cancel_own.c  how does a user cancel the request of another call?
 */
#include "getwork/answer.h"
#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/retry.h"

static enum db_rc ask(struct call *c, enum step *step);
static enum db_rc look(struct call *c, enum step *step);
static enum db_rc try_lock(struct call *c, enum step *step);
static enum db_rc follow(struct call *c, enum step *step);
static enum db_rc rest(struct call *c, enum step *step);

static enum step
end_of(enum db_rc failure)
{
	return failure == DB_ECANCELLED ? CANCELLED : failure == DB_EINDOUBT ? UNKNOWN : FAILED;
}

static int
get_served(struct call *c, enum step step, enum db_rc rc)
{
	for (;;) {
		if (rc != DB_OK)
			rc = recover(c, rc, &step);
		if (rc != DB_OK)
			step = end_of(rc);
		if (step >= ANSWERED)
			return finish(c, step, rc);
		switch (step) {
		case TAKE:      rc = from_list(c, &step); break;
		case ASK:       rc = ask(c, &step); break;
		case LOOK:      rc = look(c, &step); break;
		case TRY:       rc = try_lock(c, &step); break;
		case LEAD:      rc = round_find(c, &step); break;
		case GIVE:      rc = round_give(c, &step); break;
		case HAND_OVER: rc = round_hand_over(c, &step); break;
		case FOLLOW:    rc = follow(c, &step); break;
		case REST:      rc = rest(c, &step); break;
		case ANSWERED: case PENDING: case TIMED_OUT: case REFUSED: case CANCELLED:
		case FAILED: case UNKNOWN:
			break;
		}
	}
}

/* Goes on with the request that has the chosen UUID, if there is one: waits with the call that made
 * it, or gives its answer again. @before: this call has sent its INSERT, so this is the call's own
 * request, unless another process has used the UUID at the same time. */
static enum db_rc
take_namesake(struct call *c, bool before, bool *found, bool *refused)
{
	const struct namesake *namesake = &c->namesake;
	bool pending = false;
	enum db_rc rc = request_namesake(c->q->db, &c->request, &c->namesake);

	*found = rc == DB_OK && namesake->request_id != 0;
	if (!*found)
		return rc;
	*refused = refuse_namesake(c, !before);
	if (*refused || before)
		return rc;
	c->request.request_id = namesake->request_id;
	c->request.asked = namesake->asked;
	c->request.joined = namesake->status == LOCKQ_PENDING;
	c->answer->repeated = !c->request.joined;
	/* The call that made the request may have died, so it may be about to expire. */
	return c->request.joined ? request_seen(c->q->db, &c->request, 0, &pending) : rc;
}

/* A row with a chosen UUID is looked for before the INSERT, since it is an earlier call's then; and
 * after the INSERT, since another process may use the UUID at the same time. */
static enum db_rc
record(struct call *c, bool before, bool *refused)
{
	bool found = false;
	enum db_rc rc = DB_OK;

	if (c->request.chosen && !before)
		rc = take_namesake(c, false, &found, refused);
	if (rc != DB_OK || found)
		return rc;
	c->sent = true;
	rc = request_record(c->q->db, c->task.task_id, c->ask->count, &c->request, refused);
	if (c->request.chosen && (*refused || c->request.found || rc == DB_EDUPLICATE)) {
		enum db_rc failure = take_namesake(c, before, &found, refused);

		if (rc == DB_OK || found)
			rc = failure;
	}
	if (rc == DB_OK && *refused && before && !found)
		rc = refuse_in_doubt(c, refused);
	return rc;
}

static enum db_rc
ask(struct call *c, enum step *step)
{
	bool before = c->sent, refused = false;
	enum db_rc rc;

	/* After a take whose COMMIT is in doubt the request has to be recorded, to find out. */
	if (c->ask->wait == LOCKQ_WAIT_LIST && !before) {
		*step = TIMED_OUT;
		return DB_OK;
	}
	rc = record(c, before, &refused);
	if (rc != DB_OK) {
		/* Where nothing was sent, or the server has answered with an error, the INSERT was
		 * not done, and there is nothing to cancel. There may have been no memory for the
		 * answer. */
		if (!db_was_sent(c->q->db) || (rc != DB_ELOST && rc != DB_ENOMEM))
			c->sent = before;
		return rc;
	}
	c->sent = !refused;
	c->waiting.slice_s = wait_slice_s(c->leader.request_ttl);
	c->waiting.joined = c->request.joined;
	c->waiting.seen = db_clock_ms();
	/* A request that was just inserted can't be served yet, so the first look is skipped. */
	*step = refused ? REFUSED : c->request.joined || c->answer->repeated || before ? LOOK : TRY;
	return DB_OK;
}

/* The joined request has ended. The call makes a request of its own, since it has not given up. */
static void
ask_anew(struct call *c, enum step *step)
{
	lockq_answer_clear(c->answer);
	request_begin(&c->request, c->ask->user, c->ask->uuid);
	c->request.fresh = c->ask->fresh != 0;
	c->sent = false;
	*step = ASK;
}

/* The answer to a joined request is the call's own, except where that request has expired or was
 * cancelled by its user, not by a manager, who gives a reason; or where the caller has chosen
 * another UUID: a repetition would not find the answer by that UUID, and would get more loans. A
 * chosen UUID can't be used for a second request. Nobody waits for a process that leads on when the
 * call's time is over. */
static bool
wants_its_own(const struct call *c)
{
	bool left = c->answer->status == LOCKQ_EXPIRED ||
	    (c->answer->status == LOCKQ_STATUS_CANCELLED && c->answer->reason == NULL);

	return !c->q->overtime_told &&
	    (c->request.in_the_way || (c->request.joined && left && !c->request.chosen));
}

/* Reads the whole answer at once, since most looks find one: a second statement would double the
 * load when hundreds of followers wake. After a take the answer is there. */
static enum db_rc
look(struct call *c, enum step *step)
{
	bool pending = false;

	while (c->answer->status == LOCKQ_PENDING && !pending) {
		enum db_rc rc = answer_read_own(c->q->db, c->request.request_id, c->answer);

		/* If the request has ended since the read, *@pending is false, and it is read
		 * anew. */
		if (rc == DB_OK && c->answer->status == LOCKQ_PENDING)
			rc = db_set_lock_wait(c->q->db, DB_BRIEF_WAIT_S);
		if (rc == DB_OK && c->answer->status == LOCKQ_PENDING)
			rc = wait_still_here(c->q, &c->request, &c->waiting, &pending);
		if (rc != DB_OK)
			return rc;
	}
	if (pending)
		*step = c->keeps ? TAKE : TRY;
	else if (wants_its_own(c))
		ask_anew(c, step);
	else
		*step = c->answer->status == LOCKQ_FAILED ? FAILED : ANSWERED;
	return DB_OK;
}

static enum db_rc
try_lock(struct call *c, enum step *step)
{
	enum lock_result result = LOCK_BUSY;
	enum db_rc rc;

	/* Such a call has a request only where it was to find out what became of a take. */
	if (c->ask->wait == LOCKQ_WAIT_LIST) {
		*step = TIMED_OUT;
		return DB_OK;
	}
	rc = lock_try(c->q, &c->task, &c->request, &c->lead, &c->leader, &result);
	if (rc != DB_OK)
		return rc;
	switch (result) {
	case LOCK_OURS:
		/* What held the call up is over, and is no reason if its time ends now. */
		c->held[0] = '\0';
		*step = LEAD;
		break;
	case LOCK_ENDED:
		*step = LOOK;
		break;
	case LOCK_BUSY:
		*step = FOLLOW;
		break;
	case LOCK_PAUSED:
		*step = REST;
		break;
	}
	return DB_OK;
}

/* A session that serves nobody has the lock: cron's for a moment, a forgotten one, or this call's
 * own, which was lost and which the server has not ended yet. A call that does not wait must not go
 * away then, since nobody would see its request. It tries again for so long that only a forgotten
 * session can still have the lock. */
static bool
try_again_without_leader(const struct call *c)
{
	bool own = c->tries > 0 && c->leader.epoch == c->lead.epoch;

	return (c->leader.name[0] == '\0' || own) && c->unled_waits < MISSED_TRIES;
}

/* After a wait since @since, in which nothing was wrong. */
static void
forget_troubles(struct call *c, uint64_t since)
{
	if (db_clock_ms() - since > TRIES_FORGOTTEN_MS)
		c->tries = c->troubles = 0;
}

/* Finds out who has the lock for so long without leading, to tell it. */
static void
look_who_holds(struct call *c)
{
	uint64_t now = db_clock_ms();

	if (c->leader.leads || c->leader.unled_in_a_row == 0) {
		c->held[0] = '\0';
	} else if (c->held_seen == 0 || now - c->held_seen >= HELD_EVERY_MS) {
		c->held_seen = now;
		held_lock(c->q->db, c->task.task_id, c->held);
	}
}

static enum db_rc
follow(struct call *c, enum step *step)
{
	uint64_t since = db_clock_ms();
	bool over = false;
	enum db_rc rc;

	*step = LOOK;
	c->waiting.slice_s = wait_slice_s(c->leader.request_ttl);
	c->waiting.joined = c->request.joined;
	/* If only our own try failed, wait in full slices: others still take from the list. If the
	 * view was too slow, wait 1, 2, 4 … s, so that we don't add load. */
	if (!c->may_serve) {
		c->waiting.brief_s = 0;
	} else {
		c->kept_tried = 0;
		if (c->waiting.brief_s < c->waiting.slice_s)
			c->waiting.brief_s =
			    c->waiting.brief_s > 0 ? 2 * c->waiting.brief_s : 1;
	}
	look_who_holds(c);
	c->waiting.obstacle = c->held[0] != '\0' ? c->held : NULL;
	if (c->ask->wait == LOCKQ_WAIT_NONE) {
		if (try_again_without_leader(c))
			return wait_a_moment(c->q, c->waiting.obstacle != NULL ?
			    LOCKQ_PHASE_RETRY : LOCKQ_PHASE_WAIT, c->waiting.obstacle,
			    c->unled_waits++, 0, &c->waiting);
		*step = PENDING;
		return DB_OK;
	}
	task_usual_ms_if_shown(c->q, c->q->db, c->ask->task, &c->waiting.usual_ms);
	if (c->ask->wait == LOCKQ_WAIT_POLL)
		rc = wait_polling(c->q, c->ask, &c->request, &c->leader, c->waiting.obstacle,
		    &c->waiting, &over);
	else
		rc = wait_blocking(c->q, c->task.task_id, &c->request, &c->leader, &c->waiting,
		    &over);
	forget_troubles(c, since);
	if (over)
		*step = TIMED_OUT;
	return rc;
}

/* After rounds that ended no request, because others hold what they found. Without a pause, as
 * long as the query took, the call would run the heavy query again and again. Or until the task's
 * manager lets it go on. */
static enum db_rc
rest(struct call *c, enum step *step)
{
	bool paused = c->task.paused[0] != '\0', pending = false, over = false;
	const char *obstacle = paused ? c->task.paused : c->obstacle;
	uint64_t ms = paused ? PAUSED_MS : c->query_ms < REST_MS ? c->query_ms : REST_MS;
	uint64_t since = db_clock_ms();
	enum db_rc rc = request_status(c->q->db, &c->request, false, &pending);

	*step = LOOK;
	/* What the call could not take for the pause may be in the list yet. */
	if (paused)
		c->kept_tried = 0;
	/* Another process may have cancelled the request during the query. */
	if (rc != DB_OK || !pending)
		return rc;
	if (c->ask->wait == LOCKQ_WAIT_POLL)
		rc = wait_polling(c->q, c->ask, &c->request, NULL, obstacle, &c->waiting, &over);
	else if (c->ask->wait != LOCKQ_WAIT_NONE && db_clock_ms() < c->waiting.deadline)
		rc = wait_a_moment(c->q, LOCKQ_PHASE_RETRY, obstacle, c->rounds_in_vain, ms,
		    &c->waiting);
	else
		over = true;
	if (rc == DB_OK)
		forget_troubles(c, since);
	if (over)
		*step = c->ask->wait == LOCKQ_WAIT_NONE ? PENDING : TIMED_OUT;
	return rc;
}

int
call_begin(struct call *c, struct lockq *q, const struct lockq_ask *ask,
    struct lockq_answer *answer)
{
	int code = refuse_ask(q, ask);

	*c = (struct call){ .q = q, .ask = ask, .answer = answer, .since = db_clock_ms(),
		.task = { .task_id = ask->task } };
	lockq_answer_clear(answer);
	if (code != LOCKQ_OK)
		return code;
	error_clear(q);
	q->due_task = 0;
	request_begin(&c->request, ask->user, ask->uuid);
	c->request.fresh = ask->fresh != 0;
	c->waiting.deadline = ask->timeout_ms < 0 ? UINT64_MAX :
	    c->since + (uint64_t)ask->timeout_ms;
	return LOCKQ_OK;
}

int
call_run(struct call *c, enum step step, enum db_rc ready)
{
	struct lockq *q = c->q;
	int code;

	q->asking = &c->request;
	q->overtime_told = q->led_elsewhere = false;
	q->overtime_at = c->ask->wait == LOCKQ_WAIT_NONE ? c->since + OVERTIME_MS :
	    c->ask->timeout_ms < 0 ? 0 : c->waiting.deadline + OVERTIME_MS;
	code = get_served(c, step, ready);
	q->overtime_at = 0;
	q->asking = NULL;
	c->answer->waited_ms = db_clock_ms() - c->since;
	return code;
}

static int
getwork(struct lockq *q, const struct lockq_ask *ask, struct lockq_answer *answer)
{
	struct call c;
	int code = call_begin(&c, q, ask, answer);
	enum db_rc rc;

	if (code != LOCKQ_OK)
		return code;
	rc = session_ready(q);
	/* A call that finds its connection lost, or its server full, goes on as one to which that
	 * happens later. */
	return rc == DB_OK || retry_cures(rc) ? call_run(&c, TAKE, rc) :
	    error_from_db(q, q->db, rc);
}

int
lockq_getwork(struct lockq *q, const struct lockq_ask *ask, struct lockq_answer *answer)
{
	int code;

	operation_begin(q, OPERATION_GETWORK, ask->user, ask->task);
	code = getwork(q, ask, answer);
	return operation_end(q, answer->request_id, code);
}
