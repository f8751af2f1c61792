/* SPDX-License-Identifier: MIT */
/* Step 7: how a follower waits. It never waits on task_lock, where its shared lock would look like
 * a leader's. It comes back now and then whatever happens, since nobody may wait while nobody
 * leads. */
#include "getwork/wait.h"

#include <string.h>

#include "getwork/answer.h"
#include "handle/bounds.h"
#include "handle/progress.h"
#include "handle/session.h"

static DB_QUERY(wait_for_commit, DB_MAYBE,
    "SELECT task_id FROM wake_in WHERE task_id = ? FOR SHARE");

static int
ignore_row(char **cells, const unsigned long *lengths, void *data)
{
	(void)cells;
	(void)lengths;
	(void)data;
	return 0;
}

uint32_t
wait_slice_s(uint32_t request_ttl)
{
	uint32_t slice = request_ttl / SLICES_IN_TTL;

	if (request_ttl == 0 || slice > SLICE_S)
		return SLICE_S;
	return slice > 0 ? slice : 1;
}

static uint64_t
time_left(const struct waiting *waiting)
{
	uint64_t now = db_clock_ms();

	return waiting->deadline > now ? waiting->deadline - now : 0;
}

static struct ticking
start_ticking(struct lockq *q, const struct leader *leader, const struct waiting *waiting)
{
	return (struct ticking){
		.q = q, .since = db_clock_ms(),
		.phase = waiting->obstacle != NULL ? LOCKQ_PHASE_RETRY : LOCKQ_PHASE_WAIT,
		.detail = waiting->obstacle,
		.leader = leader != NULL && leader->name[0] != '\0' ? leader->name : NULL,
		.leader_ms = leader != NULL ? leader->ms : 0, .usual_ms = waiting->usual_ms
	};
}

static enum db_rc
nap(struct ticking *ticking, uint64_t ms, const struct waiting *waiting)
{
	uint64_t left = time_left(waiting);

	return tick_sleep(ticking, ms < left ? ms : left);
}

enum db_rc
wait_still_here(struct lockq *q, const struct request *request, struct waiting *waiting,
    bool *pending)
{
	uint64_t now = db_clock_ms();

	*pending = true;
	if (now - waiting->seen < (uint64_t)waiting->slice_s * 1000 / SEEN_IN_SLICE)
		return DB_OK;
	waiting->seen = now;
	return request_seen(q->db, request, 0, pending);
}

/* After a wait that ended at once, because the leader does not hold the row of task_wake, or
 * because nobody leads. The nap is longer each time, or hundreds of followers would flood the
 * server. */
static enum db_rc
nap_after_quick(struct ticking *ticking, struct waiting *waiting)
{
	unsigned int doublings = waiting->quick < NAP_DOUBLINGS ? waiting->quick : NAP_DOUBLINGS;

	waiting->quick++;
	return nap(ticking, (uint64_t)NAP_MS << doublings, waiting);
}

/* One FOR SHARE wait; *@look is false when its time ran out. A deadlock, which the server reports
 * where more than 200 sessions wait, and a KILL QUERY do not mean that the leader has
 * committed. */
static enum db_rc
wait_slice(struct db *db, uint32_t task_id, unsigned int seconds, struct ticking *ticking,
    struct waiting *waiting, bool *look)
{
	enum db_rc rc = answer_prepare(db);

	if (rc == DB_OK)
		rc = db_set_lock_wait(db, seconds);
	if (rc == DB_OK)
		rc = db_start(db, &wait_for_commit, DB_ARGS(db_u64(task_id)));
	if (rc == DB_OK)
		rc = db_wait(db, seconds, tick, ticking);
	if (rc == DB_OK)
		rc = db_fetch(db, 0, ignore_row, NULL);
	*look = rc != DB_ELOCKWAIT;
	if (rc == DB_ERETRY || rc == DB_EINTERRUPTED)
		return nap_after_quick(ticking, waiting);
	if (rc != DB_OK && rc != DB_ELOCKWAIT)
		return rc;
	if (db_clock_ms() - ticking->since >= QUICK_MS)
		waiting->quick = 0;
	else if (waiting->quick == 0)
		waiting->quick = 1;
	else {
		*look = true;
		return nap_after_quick(ticking, waiting);
	}
	return DB_OK;
}

/* In whole seconds, as lock waits are. */
static unsigned int
longest_wait_s(const struct waiting *waiting, uint64_t left_ms)
{
	uint64_t most = left_ms / 1000;

	if (most > waiting->slice_s)
		most = waiting->slice_s;
	if (waiting->joined && most > JOINED_WAIT_S)
		most = JOINED_WAIT_S;
	if (waiting->brief_s > 0 && most > waiting->brief_s)
		most = waiting->brief_s;
	return (unsigned int)most;
}

/* Where *@look and *@over are both false, the caller waits on. */
static enum db_rc
wait_once(struct lockq *q, uint32_t task_id, const struct leader *leader, struct waiting *waiting,
    bool *look, bool *over)
{
	struct ticking ticking = start_ticking(q, leader, waiting);
	uint64_t left = time_left(waiting);
	enum db_rc rc;

	*look = false;
	*over = left == 0;
	if (*over)
		return DB_OK;
	if (left >= 1000 && leader->leads && leader->wakes) {
		rc = wait_slice(q->db, task_id, longest_wait_s(waiting, left), &ticking,
		    waiting, look);
		/* The next statements must not wait for longer than the call has time. */
		return rc == DB_OK && time_left(waiting) < (uint64_t)SLICE_S * 1000 ?
		    db_set_lock_wait(q->db, DB_BRIEF_WAIT_S) : rc;
	}
	return left < 1000 ? nap(&ticking, LAST_NAP_MS, waiting) :
	    nap_after_quick(&ticking, waiting);
}

enum db_rc
wait_blocking(struct lockq *q, uint32_t task_id, const struct request *request,
    struct leader *leader, struct waiting *waiting, bool *over)
{
	bool look = false, pending = true, held = true;

	/* While the request is pending and somebody leads, trying the lock would only cost. */
	for (;;) {
		enum db_rc rc = wait_once(q, task_id, leader, waiting, &look, over);

		if (rc != DB_OK || look || *over || waiting->brief_s > 0)
			return rc;
		rc = request_status(q->db, request, false, &pending);
		if (rc == DB_OK && pending)
			rc = wait_still_here(q, request, waiting, &pending);
		if (rc == DB_OK && pending)
			rc = lock_holder(q->db, task_id, leader, &held);
		if (rc != DB_OK || !pending || !held)
			return rc;
	}
}

/* The next gap in seconds; 0 where there is none: at the deadline, and after the last try. */
static uint32_t
next_gap_s(const struct lockq_ask *ask, const struct waiting *waiting)
{
	if (time_left(waiting) == 0 ||
	    (ask->poll_tries > 0 && waiting->gap >= ask->poll_tries))
		return 0;
	return ask->poll_s[waiting->gap < ask->n_poll ? waiting->gap : ask->n_poll - 1];
}

enum db_rc
wait_polling(struct lockq *q, const struct lockq_ask *ask, const struct request *request,
    const struct leader *leader, const char *obstacle, struct waiting *waiting, bool *over)
{
	struct ticking ticking = start_ticking(q, leader, waiting);
	bool pending = false;
	uint32_t gap_s = next_gap_s(ask, waiting);
	enum db_rc rc;

	*over = gap_s == 0;
	if (*over)
		return DB_OK;
	if (obstacle != NULL) {
		ticking.phase = LOCKQ_PHASE_RETRY;
		ticking.detail = obstacle;
	}
	rc = request_seen(q->db, request, gap_s, &pending);
	if (rc != DB_OK || !pending)
		return rc;
	session_disconnect(q);
	do {
		waiting->gap++;
		rc = nap(&ticking, (uint64_t)gap_s * 1000, waiting);
		if (rc == DB_OK)
			rc = session_connect(q);
		/* Where the server has no free session, the call looks later. */
		gap_s = next_gap_s(ask, waiting);
	} while (rc == DB_ECROWDED && gap_s > 0);
	/* The last look is over, so the call must not wait longer for a session. */
	if (rc == DB_ECROWDED)
		waiting->deadline = db_clock_ms();
	return rc;
}

enum db_rc
wait_a_moment(struct lockq *q, enum lockq_phase phase, const char *detail, unsigned int try,
    uint64_t ms, struct waiting *waiting)
{
	struct ticking ticking = start_ticking(q, NULL, waiting);

	ticking.phase = phase;
	ticking.detail = detail;
	if (tick(&ticking) != 0)
		return DB_ECANCELLED;
	/* A rest after a long query may be longer than the server keeps an idle session. After a
	 * failure there may be none. */
	ticking.keep_alive = ms > 0 ? q->db : NULL;
	db_backoff(try);
	return nap(&ticking, ms, waiting);
}
