/* SPDX-License-Identifier: MIT */
/* Step 5: the queue of a task's pending requests, first come first, and how each of them ends. */
#ifndef LOCKQ_PENDING_H
#define LOCKQ_PENDING_H

#include "getwork/lock.h"
#include "rules/max_pipeline.h"

/* A pending request and what it gets. */
struct pending {
	uint64_t request_id;
	uint64_t user_id;
	uint32_t asked;
	uint32_t requested;   /* of these, as many as fit into the user's max_pipeline */
	uint32_t given;
	uint32_t share;       /* what share_out() says */
	uint64_t has;         /* loans of the task that the user holds, where that counts */
	uint32_t excluded;    /* loans that were left, but are not offered to this user */
	uint64_t n_excluded;  /* of the loans that are ready to be given */
	bool excludes;        /* the user has returned loans as ones for others */
	bool held;            /* another process counts the user's loans: it stays pending */
	enum lockq_status outcome; /* LOCKQ_PENDING: it stays pending */
	char reason[MAX_PIPELINE_REASON_BYTES]; /* why it gets less than it asked for, or "" */
};
struct exclusion {
	uint64_t user_id, loan_id;
};
struct queue {
	struct pending *list;   /* in the order of request_id */
	size_t n;
	uint64_t wanted;        /* loans for all that may still be served */
	bool has_rules;         /* the task may not give some loans to some users */
	struct exclusion *excluded; /* sorted */
	size_t n_excluded;
};

/* Reads and locks the task's pending requests, but for rows that another session has locked. A
 * request other than @own_request that no process looks after ends as expired, and one whose user
 * holds max_pipeline loans as refused. One that wants a query which began after @as_of is left out,
 * unless @as_of is "". The caller clears @queue, which is cleared first. To be called in the lock's
 * transaction, after the heavy query. */
LOCKQ_MUST_CHECK enum db_rc pending_read(struct db *db, const struct task *task,
    uint64_t own_request, const char *as_of, struct queue *queue);
/* Whether the request may get loans in this round. */
static inline bool
pending_may_get(const struct pending *pending)
{
	return pending->outcome == LOCKQ_PENDING && !pending->held;
}
/* Adds to @queue->excluded to whom the task may not give loans of @json, where it has rules. The
 * door of the log has the last word. */
LOCKQ_MUST_CHECK enum db_rc pending_keep_away(struct db *db, const struct task *task,
    const char *json, struct queue *queue);
/* Whether the loan is not to be offered to the request's user. */
bool pending_exclude(const struct queue *queue, const struct pending *pending, uint64_t loan_id);
/* Writes the outcomes to work_requested, and adds the number of requests that ended to *@n_ended.
 * @reason is for requests without a reason of their own, and may be NULL; @checked is when the view
 * was asked about the loans that were given, or "". */
LOCKQ_MUST_CHECK enum db_rc pending_write(struct db *db, const struct queue *queue,
    const struct lead *lead, const char *reason, const char *checked,
    size_t *n_ended);
void pending_clear(struct queue *queue);
/* share.c: how the requests that a leader reads at once share loans that are not enough for all.
 * Sets @share of each request, which is at most its @requested, so that their sum is @loans, or
 * less where fewer are wanted. Where that does not come out even, those who asked first get one
 * more. */
void share_out(enum share share, struct pending *list, size_t n, uint64_t loans);
/* The statements that lock, for check/audit_plan.c. */
extern const struct db_query pending_requests, lock_pipelines;

#endif
