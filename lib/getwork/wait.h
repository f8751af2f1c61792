/* SPDX-License-Identifier: MIT */
/* Step 7: how a follower waits. */
#ifndef LOCKQ_WAIT_H
#define LOCKQ_WAIT_H

#include "getwork/lock.h"

struct waiting {
	uint64_t deadline;   /* db_clock_ms(); UINT64_MAX: none */
	unsigned int quick;  /* waits in a row that ended at once */
	size_t gap;          /* the next of --poll: so many looks are done */
	uint32_t slice_s;    /* a look touches seen_at once in half of it; no wait is longer */
	bool joined;         /* another process may cancel the request */
	unsigned int brief_s; /* one wait of so long, since a list may serve meanwhile; or 0 */
	uint64_t usual_ms;   /* the usual time of the task's query; 0: not known */
	const char *obstacle; /* who has the lock and leads nobody, in words; or NULL */
	uint64_t seen;       /* when this call last touched seen_at; db_clock_ms() */
};

/* Touches seen_at of a pending request after half a slice, so that it does not expire. *@pending is
 * false where the request has ended. */
LOCKQ_MUST_CHECK enum db_rc wait_still_here(struct lockq *q, const struct request *request,
    struct waiting *waiting, bool *pending);
/* Both wait for the leader's commit, until it is time to look at the request and to try the lock.
 * *@over is true at the deadline. DB_ECANCELLED when the progress function gives up.
 * wait_blocking() waits for a shared lock on the row of task_wake, and updates @leader;
 * wait_polling() waits for the next gap, without a connection; *@over is true after the last try,
 * too. @obstacle: what holds up a call that does not follow, or NULL. Neither holds a lock on
 * return. */
LOCKQ_MUST_CHECK enum db_rc wait_blocking(struct lockq *q, uint32_t task_id,
    const struct request *request, struct leader *leader, struct waiting *waiting, bool *over);
LOCKQ_MUST_CHECK enum db_rc wait_polling(struct lockq *q, const struct lockq_ask *ask,
    const struct request *request, const struct leader *leader, const char *obstacle,
    struct waiting *waiting, bool *over);
/* The longest wait in seconds after which a request of a task with @request_ttl seconds has not
 * expired; 0: not known yet. */
uint32_t wait_slice_s(uint32_t request_ttl);
/* Sleeps before another try: the backoff of try number @try, and then @ms, which end at the
 * deadline. The progress function gets @phase and @detail. With @ms the lock connection is kept
 * alive, and its loss ends the sleep. */
LOCKQ_MUST_CHECK enum db_rc wait_a_moment(struct lockq *q, enum lockq_phase phase,
    const char *detail, unsigned int try, uint64_t ms, struct waiting *waiting);

#endif
