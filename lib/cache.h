/* SPDX-License-Identifier: MIT */
/* Step 4 without a query: what the last one left. */
#ifndef LOCKQ_CACHE_H
#define LOCKQ_CACHE_H

#include "list.h"

/* What may be used of it, and a few more than are wanted; @enough for all who ask. */
LOCKQ_MUST_CHECK enum db_rc cache_read(struct db *db, const struct task *task, uint64_t wanted,
    struct list *found, bool *enough);
/* In the transaction that has just given from @list. */
LOCKQ_MUST_CHECK enum db_rc cache_update(struct db *db, const struct task *task,
    const struct list *list);

#endif
