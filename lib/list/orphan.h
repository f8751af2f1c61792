/* SPDX-License-Identifier: MIT */
/* Step 4: ends the heavy query of a dead leader, the orphan. */
#ifndef LOCKQ_ORPHAN_H
#define LOCKQ_ORPHAN_H

#include "db/db_text.h"

/* To be called with the task's lock, before the heavy query runs on @db. Takes the name (GET_LOCK)
 * of the task's query there; if another connection of this account has the name, that connection
 * is killed. *@ours is false where the name could not be had in ORPHAN_WAIT_S; the query may run
 * all the same. @as_of is the server's time. */
LOCKQ_MUST_CHECK enum db_rc orphan_end_and_hold_name(struct db *db, uint32_t task_id, bool *ours,
    char as_of[TIME_BYTES]);
LOCKQ_MUST_CHECK enum db_rc orphan_give_name_back(struct db *db);

#endif
