/* SPDX-License-Identifier: MIT */
/* Finds out who holds a row that others wait for. */
#ifndef LOCKQ_HELD_H
#define LOCKQ_HELD_H

#include "db/db.h"

enum { HELD_BYTES = 320 };

/* Where the functions below find nothing. */
#define HELD_UNKNOWN "another session holds what this needs"

/* Writes to @text which of the loans @lockq_loans of the task @task_id, also @lockq_task, another
 * session has locked, and by which session, where this account may see that: "loan 12 is held by
 * clerk@host, connection 123"; or "" where none is. Locks the others for a moment, in a transaction
 * of its own, so it must not be called in one. What fails here is not told: it is only for a
 * message. */
void held_loan(struct db *db, uint32_t task_id, char text[HELD_BYTES]);

/* The same of the task, or of its user, whose rows a new request needs: "task 7 is held by ...".
 * Shares their locks for a moment. */
void held_task_or_user(struct db *db, uint32_t task_id, const char *user, char text[HELD_BYTES]);

/* The same of a table that another session has locked, or is to alter: "table "work" is locked by
 * ...". Waits for the table once more, for as long as db_set_lock_wait() said. */
void held_table(struct db *db, char text[HELD_BYTES]);

#endif
