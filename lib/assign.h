/* SPDX-License-Identifier: MIT */
/* Step 5: who gets which loan. */
#ifndef LOCKQ_ASSIGN_H
#define LOCKQ_ASSIGN_H

#include "list.h"
#include "lock.h"

/* What a leader did, for its row of leader_run. */
struct run {
	const char *user;
	enum list_source source;
	size_t candidates, requests, loans;
	uint32_t retries;
	size_t left;         /* requests that stay pending … */
	size_t left_out;     /* … of these, that may not have what there is */
	const char *reason;  /* NULL: loans are given; else why all requests end without */
	bool refused;        /* … as refused; else as failed */
	const char *note;    /* why the list is not from where it should be; or NULL */
};
/* Gives @candidates to the pending requests; not committed yet. Requests that get nothing are told
 * so where list_may_say_empty(); else they stay pending. */
LOCKQ_MUST_CHECK enum db_rc assign_loans(struct lockq *q, const struct task *task,
    const struct lead *lead, uint64_t own_request, struct list *candidates,
    struct run *run);
/* Ends all pending requests as failed or refused, for @run->reason. */
LOCKQ_MUST_CHECK enum db_rc assign_failure(struct db *db, const struct task *task,
    const struct lead *lead, uint64_t own_request, struct run *run);
LOCKQ_MUST_CHECK enum db_rc assign_record_run(struct db *db, const struct task *task,
    const struct lead *lead, const struct list *candidates, const struct run *run);

#endif
