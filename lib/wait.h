/* SPDX-License-Identifier: MIT */
/* Step 7: a follower waits. */
#ifndef LOCKQ_WAIT_H
#define LOCKQ_WAIT_H

#include "lock.h"

struct waiting {
	uint64_t deadline;   /* db_clock_ms(); UINT64_MAX: none */
	unsigned int quick;  /* waits in a row that ended at once */
	size_t gap;          /* of --poll */
	uint32_t slice_s;    /* the longest wait before it looks again */
	uint64_t usual_ms;
	uint64_t seen;       /* when it last said that it is still there */
};
/* Says now and then that the owner of a pending request waits; *@pending is false where it has
 * ended. */
LOCKQ_MUST_CHECK enum db_rc wait_still_here(struct lockq *q, const struct request *request,
    struct waiting *waiting, bool *pending);
/* Waits for the leader's commit, until it is time to look, and to try the lock; *@over at the
 * deadline. */
LOCKQ_MUST_CHECK enum db_rc wait_blocking(struct lockq *q, uint32_t task_id,
    const struct request *request, struct leader *leader, struct waiting *waiting, bool *over);
LOCKQ_MUST_CHECK enum db_rc wait_polling(struct lockq *q, const struct lockq_ask *ask,
    const struct request *request, const struct leader *leader, struct waiting *waiting,
    bool *over);
/* The longest wait that keeps a request of a task with @request_ttl from expiring. */
uint32_t wait_slice_s(uint32_t request_ttl, bool joined);
/* Before the same is tried again: sleeps @try's backoff, and @ms, but these not beyond the
 * deadline. */
LOCKQ_MUST_CHECK enum db_rc wait_a_moment(struct lockq *q, enum lockq_phase phase,
    const char *detail, unsigned int try, uint64_t ms, struct waiting *waiting);

#endif
