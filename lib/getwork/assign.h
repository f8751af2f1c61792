/* SPDX-License-Identifier: MIT */
/* Step 5: gives loans to requests. All of it runs in the lock's transaction and locks, by primary
 * key, the rows of work_requested and work that it changes. The caller commits. */
#ifndef LOCKQ_ASSIGN_H
#define LOCKQ_ASSIGN_H

#include "getwork/lock.h"
#include "list/list.h"

/* A round: its figures and how it ended, for its row of leader_run. */
struct run {
	const char *user;     /* the leader's */
	uint64_t own_request; /* the leader's request, which never expires here */
	enum list_source source;
	size_t candidates;
	size_t requests;      /* ended by this round */
	size_t loans;         /* given */
	uint32_t retries;
	size_t left;          /* requests that stay pending */
	size_t left_out;      /* of these, those whose users may not have what is left */
	bool too_short;       /* a short list is not enough for all; nothing was written */
	const char *reason;   /* NULL: loans are given; else why all requests end without any */
	bool asked_view;      /* the list's check_ms was measured */
	bool refused;         /* with @reason: they end as refused, else as failed */
	const char *note;     /* why the list is from another source than it should be; or NULL */
};

/* Gives the loans of @list to the pending requests, and fills the numbers of @run. A request that
 * gets nothing ends as empty where list_may_say_empty(), else it stays pending. After
 * @run->too_short the transaction is to be rolled back, for a long list. DB_ERETRY where
 * rows were changed meanwhile: to be rolled back and tried again with the same list. */
LOCKQ_MUST_CHECK enum db_rc assign_loans(struct lockq *q, const struct task *task,
    const struct lead *lead, struct list *list, struct run *run);
/* Ends all pending requests for @run->reason. */
LOCKQ_MUST_CHECK enum db_rc assign_failure(struct db *db, const struct task *task,
    const struct lead *lead, struct run *run);
/* Writes the row of leader_run. */
LOCKQ_MUST_CHECK enum db_rc assign_record_run(struct db *db, const struct task *task,
    const struct lead *lead, const struct list *list, const struct run *run);
/* The statements that lock, or need an index to find what to lock, for check/audit_plan.c. */
extern const struct db_query in_kept_list, lock_kept, lock_seen;

#endif
