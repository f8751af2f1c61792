/* SPDX-License-Identifier: MIT */
/* The handle's error text, and public codes for what the rooms return. */
#ifndef LOCKQ_ERROR_H
#define LOCKQ_ERROR_H

#include "db.h"

__attribute__((format(printf, 2, 3))) void error_set(struct lockq *q, const char *format, ...);
/* The public code for what the database layer returned, its text into the handle's error. */
LOCKQ_MUST_CHECK int error_from_db(struct lockq *q, const struct db *db, enum db_rc rc);

/* LOCKQ_EREFUSED, with its text. */
LOCKQ_MUST_CHECK int error_unknown_user(struct lockq *q, const char *user);
LOCKQ_MUST_CHECK int error_unknown_task(struct lockq *q, uint32_t task_id);

/* Puts before the error's text that the outcome is unknown. */
void error_unknown(struct lockq *q);

#endif
