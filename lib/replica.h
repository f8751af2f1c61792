/* SPDX-License-Identifier: MIT */
/* Step 4 elsewhere: the heavy query over the connection of lockq_query_at(). */
#ifndef LOCKQ_REPLICA_H
#define LOCKQ_REPLICA_H

#include "list.h"
#include "lock.h"

/* As source_find(), for a list of @limit at most: LIST_LOST where the other server's list can't be
 * had, or is of no use; @reason says why. */
LOCKQ_MUST_CHECK enum db_rc replica_ask(struct lockq *q, const struct task *task, const struct lead
    *lead, uint64_t usual_ms, uint64_t limit, struct list *found, enum list_result *result, char
    reason[REASON_BYTES]);

#endif
