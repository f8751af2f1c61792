/* SPDX-License-Identifier: MIT */
/* Finds out who holds a row that others wait for. */
#ifndef LOCKQ_HELD_H
#define LOCKQ_HELD_H

#include "db/db.h"

enum { HELD_BYTES = 400 };

/* Where the functions below find nothing. */
#define HELD_UNKNOWN "another session holds what this needs"

/* Writes to @text which session holds the row of @table with that key, where this account may see
 * that: "loan 12 is held by "clerk@host", connection 123". @what is "loan 12", and @key2 NULL where
 * the key is one column. */
void held_row(struct db *db, const char *table, struct db_arg key1, struct db_arg key2,
    const char *what, char text[HELD_BYTES]);

/* The same of the task, or of its user, whose rows a new request needs; "" where another session
 * holds neither. Shares their locks for a moment. What fails here is not told: it is only for a
 * message. */
void held_task_or_user(struct db *db, uint32_t task_id, const char *user, char text[HELD_BYTES]);

/* The same of the lock of a task, its row of task_lock, where a session has it that leads nobody:
 * who that is, and how to end it; "" where the row is free, or a leader has it. Locks the row for a
 * moment, and takes a fifth of a second where it is held. */
void held_lock(struct db *db, uint32_t task_id, char text[HELD_BYTES]);
/* Writes the same of a row that CALL holders_1() has shown, of rows of work, too. */
void held_by_holder(const struct db_rows *rows, size_t row, char text[HELD_BYTES]);

/* The same of a table that another session has locked, or is to alter: "table "work" is locked by
 * ...". Waits for the table once more, for as long as db_set_lock_wait() said. */
void held_table(struct db *db, char text[HELD_BYTES]);

#endif
