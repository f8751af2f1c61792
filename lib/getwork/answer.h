/* SPDX-License-Identifier: MIT */
/* How a request ended, or stands. */
#ifndef LOCKQ_ANSWER_H
#define LOCKQ_ANSWER_H

#include "db/db.h"

/* Fills @answer from the tables, and replaces what it had; the caller clears it. DB_EFAIL where
 * the row was purged. Takes no lock. */
LOCKQ_MUST_CHECK enum db_rc answer_read(struct db *db, uint64_t request_id,
    struct lockq_answer *answer);
/* The same for a call that made the request, without the names of user and task. */
LOCKQ_MUST_CHECK enum db_rc answer_read_own(struct db *db, uint64_t request_id,
    struct lockq_answer *answer);
/* Fills @answer from what a procedure of schema/doors has returned: the columns of @rows from
 * @first on are those of answer_read_own(). */
LOCKQ_MUST_CHECK enum db_rc answer_fill(struct lockq_answer *answer, const struct db_rows *rows,
    size_t first);
/* Prepares the statement of answer_read_own(), before a wait after which it is to be quick. */
LOCKQ_MUST_CHECK enum db_rc answer_prepare(struct db *db);

#endif
