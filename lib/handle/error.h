/* SPDX-License-Identifier: MIT */
/* The handle's error text, and the public codes: no other file makes one but LOCKQ_OK. */
#ifndef LOCKQ_ERROR_H
#define LOCKQ_ERROR_H

#include "db/db.h"

/* Replaces the text of lockq_error(). */
__attribute__((format(printf, 2, 3))) void error_set(struct lockq *q, const char *format, ...);

/* Each of these macros sets the text; its value is the public code. */
#define error_usage(q, ...) (error_set((q), __VA_ARGS__), (int)LOCKQ_EUSAGE)
#define error_refused(q, ...) (error_set((q), __VA_ARGS__), (int)LOCKQ_EREFUSED)
#define error_query(q, ...) (error_set((q), __VA_ARGS__), (int)LOCKQ_EQUERY)
#define error_unknown(q, ...) (error_set((q), __VA_ARGS__), (int)LOCKQ_EUNKNOWN)
#define error_database(q, ...) (error_set((q), __VA_ARGS__), (int)LOCKQ_EDATABASE)
#define error_busy(q, ...) (error_set((q), __VA_ARGS__), (int)LOCKQ_BUSY)
#define error_cancelled(q, ...) (error_set((q), __VA_ARGS__), (int)LOCKQ_CANCELLED)
/* At the start of a call there is no error. */
void error_clear(struct lockq *q);
/* Keeps what @db says for lockq_error_detail(). */
void error_set_detail(struct lockq *q, const struct db *db);
LOCKQ_MUST_CHECK int error_unknown_user(struct lockq *q, const char *user);
/* @account is the only one that may ask for the user, and this connection has another one. */
LOCKQ_MUST_CHECK int error_other_account(struct lockq *q, const char *user, const char *account);
LOCKQ_MUST_CHECK int error_unknown_task(struct lockq *q, uint32_t task_id);
/* Says what is wrong if a reserved member is not 0, else returns NULL. Then the structure was not
 * set to its _INIT, or the caller was compiled with a newer header. */
const char *error_of_reserved_members(const uint64_t *reserved, size_t n);
#define error_of_reserved(reserved) \
	error_of_reserved_members((reserved), sizeof(reserved) / sizeof((reserved)[0]))

/* Returns the public code for @rc. */
LOCKQ_MUST_CHECK int error_code(enum db_rc rc);
/* The same. Unless @rc is DB_OK, it copies the error of @db, which may be NULL, to the handle. With
 * DB_EINDOUBT the text begins with "outcome unknown". */
LOCKQ_MUST_CHECK int error_from_db(struct lockq *q, const struct db *db, enum db_rc rc);
/* Returns the public code for @answer->status; if that is an error, the handle's error has a text.
 * A request that is pending or that has ended without an answer is LOCKQ_BUSY, but LOCKQ_CANCELLED
 * where the caller @gave_up. */
LOCKQ_MUST_CHECK int error_from_answer(struct lockq *q, const struct lockq_answer *answer,
    bool gave_up);
/* Returns LOCKQ_NOTHING for a result without rows. */
LOCKQ_MUST_CHECK int error_if_none(size_t n);

#endif
