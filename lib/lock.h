/* SPDX-License-Identifier: MIT */
/* Steps 2 and 3: the lock of a task. */
#ifndef LOCKQ_LOCK_H
#define LOCKQ_LOCK_H

#include "request.h"
#include "task.h"

struct lead {
	uint64_t epoch;        /* ours */
	uint64_t committed;    /* the last one, while it is ours */
	uint64_t wanted;       /* loans, by those who were pending as it began */
	uint64_t left_pending; /* requests that the last leader's list had nothing for */
	char started_at[TIME_BYTES];
	unsigned int missed;   /* attempts in a row that met a lock which nobody held to lead */
};
/* Who leads, as far as a dirty read tells. */
struct leader {
	char name[NAME_BYTES];
	uint64_t ms;      /* since it began */
	bool leads;       /* somebody does, also where the name is not to be seen any more */
	bool wakes;       /* it holds the row of task_wake: followers may wait there */
	uint64_t epoch;   /* that it has raised, or that was committed last */
	uint32_t request_ttl; /* of the task … */
	char task_name[128 * 4 + 1];
};
enum lock_result {
	LOCK_OURS,
	LOCK_BUSY,      /* somebody leads */
	LOCK_ENDED,     /* the own request has ended: the lock is not needed */
	LOCK_LED_SINCE, /* somebody has led meanwhile */
	LOCK_MISSED     /* taken, by whom is not known yet */
};
/* Takes the task's lock for @request: LOCK_OURS, and @task is as its manager has it now; LOCK_BUSY,
 * @leader filled; or LOCK_ENDED. */
LOCKQ_MUST_CHECK enum db_rc lock_try(struct lockq *q, struct task *task, const struct request
    *request, struct lead *lead, struct leader *leader, enum lock_result *result);
/* Takes it again after the leader's own commit, or after a transaction that was rolled back. *@ours
 * is false where somebody else leads, or has led since. */
LOCKQ_MUST_CHECK enum db_rc lock_again(struct lockq *q, const struct task *task, const char *user,
    struct lead *lead, bool *ours);
/* Frees it, and notes what the next leader wants to know. */
LOCKQ_MUST_CHECK enum db_rc lock_commit_and_release(struct lockq *q, const struct task *task,
    const struct lead *lead, uint64_t left_pending);
LOCKQ_MUST_CHECK enum db_rc lock_holder(struct db *db, uint32_t task_id, struct leader *leader,
    bool *held);

#endif
