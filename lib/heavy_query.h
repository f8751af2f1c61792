/* SPDX-License-Identifier: MIT */
/* Step 4: the heavy query. */
#ifndef LOCKQ_HEAVY_QUERY_H
#define LOCKQ_HEAVY_QUERY_H

#include "list.h"
#include "lock.h"

/* Runs it on @db, which is one of @q's, for a list of @limit at most. As source_find();
 * LIST_LOST where the connection elsewhere was. */
LOCKQ_MUST_CHECK enum db_rc heavy_query_run(struct lockq *q, struct db *db, const struct task *task,
    const struct lead *lead, uint64_t usual_ms, uint64_t limit, struct list *candidates,
    enum list_result *result, char reason[REASON_BYTES]);

#endif
