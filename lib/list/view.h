/* SPDX-License-Identifier: MIT */
/* Step 4: the SQL around the manager's view, and the reading of its rows. */
#ifndef LOCKQ_VIEW_H
#define LOCKQ_VIEW_H

#include "getwork/lock.h"
#include "handle/progress.h"
#include "list/list.h"

/* A leader's search for a list: what it needs, and where the result goes. */
struct search {
	struct lockq *q;
	const struct task *task;
	const struct lead *lead;
	uint64_t usual_ms;  /* the usual time of the task's query in milliseconds; 0: not known */
	bool is_short;      /* a short list may do; source_find() makes it false where none does, */
	uint64_t limit;     /* and sets the most loans of the list */
	uint64_t tried;     /* the epoch of the kept list that the call has taken from; 0: none */
	bool fresh;         /* the call wants a query in any case */
	bool refills;       /* it fills the kept list, */
	bool only_due;      /* if that is due */
	struct list *found;
	char *reason;       /* REASON_BYTES: why there is no list, or why it is from this source */
};

/* One run of the heavy query. */
struct reading {
	const struct search *search;
	struct db *db;        /* where it runs */
	struct ticking ticking;
	size_t rows;          /* of the view, in which a loan may stand several times */
	const char *fault;    /* what is wrong with a row; or NULL */
	bool no_memory;
	bool begun;           /* the server has been told to run it */
};

/* Runs the query and reads the loans into @reading->search->found. Where the view shows loans so
 * often that the list is too short, it runs a second query and notes that in @reason, if that is
 * "". */
LOCKQ_MUST_CHECK enum db_rc view_read(struct reading *reading);
/* Composes the statement around @view, the name in task.candidates_view. Its parameters are the
 * task and the limit. DB_EFAIL where @view is not the name of a view. */
enum { VIEW_SQL_BYTES = 1536 };
LOCKQ_MUST_CHECK enum db_rc view_statement(char sql[VIEW_SQL_BYTES], const char *view);
/* The same for an audit: the leader's statement with a third column, whether the priority is NULL;
 * where the view @repeats its loans, the one that counts each loan once. */
LOCKQ_MUST_CHECK enum db_rc view_audit_statement(char sql[VIEW_SQL_BYTES], const char *view,
    bool repeats);

#endif
