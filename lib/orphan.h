/* SPDX-License-Identifier: MIT */
/* Step 4: the name that a task's heavy query holds. */
#ifndef LOCKQ_ORPHAN_H
#define LOCKQ_ORPHAN_H

#include "db_text.h"

/* Takes the name of the task's query on @db, from a dead leader's query if need be, which is ended.
 * *@ours is false where it could not be had; @as_of is the server's time. */
LOCKQ_MUST_CHECK enum db_rc orphan_end_and_hold_name(struct db *db, uint32_t task_id, bool *ours,
    char as_of[TIME_BYTES]);
LOCKQ_MUST_CHECK enum db_rc orphan_give_name_back(struct db *db);

#endif
