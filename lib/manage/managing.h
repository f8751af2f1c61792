/* SPDX-License-Identifier: MIT */
/* What managers' calls share: each is one procedure of schema/doors, which has a transaction of
 * its own, checks who the manager is, and logs what was done. */
#ifndef LOCKQ_MANAGING_H
#define LOCKQ_MANAGING_H

#include "db/db_text.h"

/* The public code for what every such call is given: LOCKQ_OK, or LOCKQ_EUSAGE with the handle's
 * text. @reason may be NULL. */
LOCKQ_MUST_CHECK int managing_check(struct lockq *q, const char *manager, const char *reason);

/* Calls the procedure of @query, which needs @role, again where others hold what it needs for a
 * moment. Returns a public code, with the handle's text. A row that is held for longer is
 * LOCKQ_BUSY, and @held says which, "task 7". The caller clears @rows. */
LOCKQ_MUST_CHECK int managing_run(struct lockq *q, const char *role, const struct db_query *query,
    const struct db_arg *args, size_t n_args, const char *held, struct db_rows *rows);
/* The public code for a failure of such a call, with the handle's text. */
LOCKQ_MUST_CHECK int managing_failed(struct lockq *q, enum db_rc rc, const char *held);
/* The same where the procedure has succeeded, and what it has done can't be told. */
LOCKQ_MUST_CHECK int managing_untold(struct lockq *q, enum db_rc rc);
/* Whether a call is made again after @try tries. Then it has paused. */
LOCKQ_MUST_CHECK bool managing_again(const struct db *db, enum db_rc rc, unsigned int try);

/* managing_run() of a manager's procedure whose answer is one row: a word, which is copied to
 * @word, and a number, *@number. */
enum { WORD_BYTES = 16 };
LOCKQ_MUST_CHECK int managing_call(struct lockq *q, const struct db_query *query,
    const struct db_arg *args, size_t n_args, const char *held, char word[WORD_BYTES],
    uint64_t *number);

/* define.c: notes in manage_log that a check found the task well after the leader of @epoch.
 * Returns a public code, with the handle's text. */
LOCKQ_MUST_CHECK int define_checked(struct lockq *q, const char *manager, uint32_t task,
    uint64_t epoch);

/* people.c: the public code for the parameters of a change of a person, and for the @word with
 * which the procedure answered, each with the handle's text. */
LOCKQ_MUST_CHECK int people_check(struct lockq *q, const char *user,
    enum lockq_person_change what, const char *account);
LOCKQ_MUST_CHECK int people_judge(struct lockq *q, const char *word, const char *user,
    const char *account);

#endif
