/* SPDX-License-Identifier: MIT */
/* Steps 2 and 3: the lock of a task, which is its row of task_lock. */
#ifndef LOCKQ_LOCK_H
#define LOCKQ_LOCK_H

#include "getwork/request.h"
#include "list/kept.h"

/* The leader, as far as a dirty read shows. A call zero-initialises it and keeps it. */
struct leader {
	char name[NAME_BYTES]; /* "" where nobody leads, or the leader is about to commit */
	uint64_t ms;           /* milliseconds since its round began */
	bool leads;            /* somebody leads, also where the name is cleared already */
	bool wakes;            /* it holds the row of task_wake, so followers may wait there */
	uint64_t epoch;        /* the one that it has raised, else the last that was committed */
	uint32_t request_ttl;  /* the task's, in seconds */
	char task_name[TASK_NAME_BYTES];
	unsigned int unled_in_a_row; /* calls of lock_try() that met a lock without a leader */
};

enum lock_result {
	LOCK_OURS,
	LOCK_BUSY,   /* somebody else has it */
	LOCK_ENDED,  /* @request has ended, so the lock is not needed */
	LOCK_PAUSED  /* @task is paused, so nobody leads it */
};

/* Tries to take the lock of @task for @request; one with request_id 0 stands for a round without a
 * request. With LOCK_OURS a transaction is open that holds the
 * row of task_lock, and of task_wake if that was free within a second; @lead is filled, and @task
 * is as its manager has it now. With the other results nothing is locked. @leader is filled in each
 * case; after LOCK_BUSY it has no name where the row is locked by a process that does not lead. */
LOCKQ_MUST_CHECK enum db_rc lock_try(struct lockq *q, struct task *task,
    const struct request *request, struct lead *lead, struct leader *leader,
    enum lock_result *result);

/* Takes the lock again in a new transaction, after the leader's own commit or after a roll-back,
 * to lead as the next one after @lead->committed. *@ours is false, and nothing is locked, where
 * another process leads or has led since. */
LOCKQ_MUST_CHECK enum db_rc lock_again(struct lockq *q, const struct task *task, const char *user,
    struct lead *lead, bool *ours);

/* Commits the leader's transaction, which releases the lock and wakes the followers. @left_pending
 * is for the next leader. DB_ERETRY where the epoch is not ours any more; DB_EINDOUBT where the
 * connection was lost meanwhile. */
LOCKQ_MUST_CHECK enum db_rc lock_commit_and_release(struct lockq *q, const struct task *task,
    const struct lead *lead, uint64_t left_pending);

/* Reads who leads into @leader, by a dirty read; *@held tells whether somebody does. DB_EFAIL
 * where the task has no row in task_lock. Takes no lock. */
LOCKQ_MUST_CHECK enum db_rc lock_holder(struct db *db, uint32_t task_id, struct leader *leader,
    bool *held);

/* line.c: after loans were taken, and others wait: gives from the same list to requests that are
 * pending while nobody leads, for example those of people who did not wait. After LINE_MS, or where
 * the view can't tell, it leaves the rest to the next one who asks. A failure is not reported,
 * since the call's own loans are given. */
void take_for_line(struct db *db, const struct task *task, const struct kept *kept);

#endif
