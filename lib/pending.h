/* SPDX-License-Identifier: MIT */
/* Step 5's line: the pending requests of a task. */
#ifndef LOCKQ_PENDING_H
#define LOCKQ_PENDING_H

#include "lock.h"
#include "max_pipeline.h"

/* A pending request and what it gets. */
struct pending {
	uint64_t request_id;
	uint64_t user_id;
	uint32_t asked;
	uint32_t requested;   /* … as far as it fits into the user's pipeline */
	uint32_t given;
	uint32_t excluded;    /* loans that were left, but not for this user */
	uint64_t n_excluded;  /* the user's exclusions in this task */
	enum lockq_status outcome; /* LOCKQ_PENDING: it stays so */
	char reason[MAX_PIPELINE_REASON_BYTES]; /* why it gets less than it asked for, or "" */
};
struct exclusion {
	uint64_t user_id, loan_id;
};
struct queue {
	struct pending *list;   /* first come first */
	size_t n;
	uint64_t wanted;      /* loans to be had ready for those that may still be served */
	struct exclusion *excluded; /* sorted */
	size_t n_excluded;
};
/* The task's pending requests, locked. */
LOCKQ_MUST_CHECK enum db_rc pending_read(struct db *db, const struct task *task, uint64_t
    own_request, struct queue *line);
/* Whether the loan is not to be offered to who asks. */
bool pending_exclude(const struct queue *line, const struct pending *pending, uint64_t loan_id);
/* Ends those that have an outcome; @reason is for who has none of its own. */
LOCKQ_MUST_CHECK enum db_rc pending_write(struct db *db, const struct queue *line,
    const struct lead *lead, const char *reason, size_t *n_ended);
void pending_clear(struct queue *line);

#endif
