/* SPDX-License-Identifier: MIT */
/* Finds out who holds a row of `work` that others wait for. */
#ifndef LOCKQ_HELD_H
#define LOCKQ_HELD_H

#include "db.h"

enum { HELD_BYTES = 320 };

/* Writes to @text which of the loans @lockq_loans of the task @lockq_task another session has
 * locked, and by which session, where this account may see that: "loan 12 is held by clerk@host,
 * connection 123"; or "" where none is. Locks the others for a moment, in a transaction of its own,
 * so it must not be called in one. What fails here is not told: it is only for a message. */
void held_loan(struct db *db, char text[HELD_BYTES]);

#endif
