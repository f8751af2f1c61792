/* SPDX-License-Identifier: MIT */
/* Step 4: the heavy query, which is the manager's view in a statement of ours. */
#ifndef LOCKQ_VIEW_H
#define LOCKQ_VIEW_H

#include <stdint.h>

#include "list.h"
#include "lock.h"
#include "lockq.h"
#include "task.h"
#include "text.h"

/* Runs it on @db, which is one of @q's, for a list of @limit at most. As source_find();
 * LIST_LOST where the connection elsewhere was. */
LOCKQ_MUST_CHECK int view_query(struct lockq *q, struct db *db, const struct task *task,
    const struct lead *lead, uint64_t usual_ms, uint64_t limit, struct list *candidates,
    enum list_result *result, char reason[REASON_BYTES]);
/* The statement around @view, a name as in task.candidates_view; parameters: task, limit.
 * DB_EFAIL for what is no name of a view. */
enum { VIEW_SQL_BYTES = 1536 };
LOCKQ_MUST_CHECK int view_statement(char sql[VIEW_SQL_BYTES], const char *view);

#endif
