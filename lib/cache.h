/* SPDX-License-Identifier: MIT */
/* Step 4 without a query: the candidates that the last query left, in task_candidate. */
#ifndef LOCKQ_CACHE_H
#define LOCKQ_CACHE_H

#include "list.h"

/* Reads from task_candidate what may still be given, on a connection without a transaction.
 * *@enough is true where it has @wanted loans. DB_OK with too few where it can't be read, for
 * example because the view can't be used. */
LOCKQ_MUST_CHECK enum db_rc cache_read(struct db *db, const struct task *task, uint64_t wanted,
    struct list *found, bool *enough);
/* Leaves in task_candidate only the loans of @list that nobody got, in the lock's transaction that
 * has given from it. */
LOCKQ_MUST_CHECK enum db_rc cache_update(struct db *db, const struct task *task,
    const struct list *list);

#endif
