/* SPDX-License-Identifier: MIT */
/* How a request ended, or stands. */
#ifndef LOCKQ_ANSWER_H
#define LOCKQ_ANSWER_H

#include "db.h"

LOCKQ_MUST_CHECK enum db_rc answer_read(struct db *db, uint64_t request_id, struct lockq_answer
    *answer);
/* The same for who asked, without the names of user and task. */
LOCKQ_MUST_CHECK enum db_rc answer_read_own(struct db *db, uint64_t request_id,
    struct lockq_answer *answer);
/* Beforehand, so that answer_read_own() is quick. */
LOCKQ_MUST_CHECK enum db_rc answer_prepare(struct db *db);
/* The public code for how it stands, with a text where that is an error. */
LOCKQ_MUST_CHECK int answer_rc(struct lockq *q, const struct lockq_answer *answer);

#endif
