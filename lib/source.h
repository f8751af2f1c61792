/* SPDX-License-Identifier: MIT */
/* Step 4: the list that a leader gives from. */
#ifndef LOCKQ_SOURCE_H
#define LOCKQ_SOURCE_H

#include "list.h"
#include "lock.h"

/* The list that a leader gives from: LIST_FOUND, and @reason may say why the query did not run
 * elsewhere; or LIST_FAILED with the reason. */
LOCKQ_MUST_CHECK enum db_rc source_find(struct lockq *q, const struct task *task, struct lead *lead,
    uint64_t *usual_ms, struct list *found, enum list_result *result,
    char reason[REASON_BYTES]);

#endif
