/* SPDX-License-Identifier: MIT */
/* Step 4: the manager's view in a statement of ours. */
#ifndef LOCKQ_VIEW_H
#define LOCKQ_VIEW_H

#include "list.h"
#include "lock.h"
#include "progress.h"

/* The query in progress, and what is wrong with its rows. */
struct reading {
	struct lockq *q;
	struct db *db;        /* where it runs */
	const struct task *task;
	struct list *candidates;
	struct ticking ticking;
	size_t rows;          /* of the view, in which a loan may stand several times */
	const char *fault;
	bool no_memory;
	bool begun;           /* the server has been told to run it */
};
/* Reads at most @limit loans into @reading->candidates. @reason: why it took a second query. */
LOCKQ_MUST_CHECK enum db_rc view_read(struct reading *reading, const struct lead *lead, uint64_t
    limit, char reason[REASON_BYTES]);
/* The statement around @view, a name as in task.candidates_view; parameters: task, limit.
 * DB_EFAIL for what is no name of a view. */
enum { VIEW_SQL_BYTES = 1536 };
LOCKQ_MUST_CHECK enum db_rc view_statement(char sql[VIEW_SQL_BYTES], const char *view);

#endif
