/* SPDX-License-Identifier: MIT */
/* The handle's error text, and the public codes. */
#ifndef LOCKQ_ERROR_H
#define LOCKQ_ERROR_H

#include "db.h"

/* Replaces the text of lockq_error(). */
__attribute__((format(printf, 2, 3))) void error_set(struct lockq *q, const char *format, ...);
/* Returns the public code for @rc. Unless @rc is DB_OK, copies the error of @db, which may be
 * NULL, to the handle. */
LOCKQ_MUST_CHECK int error_from_db(struct lockq *q, const struct db *db, enum db_rc rc);

/* These return LOCKQ_EREFUSED and set the text. */
LOCKQ_MUST_CHECK int error_unknown_user(struct lockq *q, const char *user);
LOCKQ_MUST_CHECK int error_unknown_task(struct lockq *q, uint32_t task_id);

/* Puts "outcome unknown" before the text. */
void error_unknown(struct lockq *q);

#endif
