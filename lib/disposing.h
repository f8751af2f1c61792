/* SPDX-License-Identifier: MIT */
/* One call of lockq_dispose(): shared by disposition.c, token.c and on_complete.c, and by nobody
 * else. */
#ifndef LOCKQ_DISPOSING_H
#define LOCKQ_DISPOSING_H

#include "db_text.h"
#include "outcome_state.h"

/* Where in the caller's list a loan is. */
struct place {
	uint64_t loan_id;
	size_t index;
	bool changes;   /* its row is to be changed */
};

/* One transaction, which may be tried again: then from @user_known on all is said anew. */
struct disposing {
	struct lockq *q;
	const struct lockq_disposition *what;
	enum state state;                     /* that it leads to */
	struct lockq_disposed_loan *results;  /* in the caller's order */
	struct place *places;                 /* in the order of their ids, as rows come */
	size_t n;
	char uuid[UUID_BYTES];  /* so that what a lost commit did is found in the log */
	bool in_doubt;          /* a try may have been committed */
	bool user_known, task_known;
	uint64_t n_change;      /* loans whose rows are to be changed */
	const char *on_complete; /* the task's procedure, or NULL */
	bool refused;           /* nothing is done: on_complete has ended the transaction */
	char reason[REASON_BYTES];
};

static inline struct lockq_disposed_loan *
disposing_result(const struct disposing *d, size_t row)
{
	return &d->results[d->places[row].index];
}

#endif
