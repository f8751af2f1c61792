/* SPDX-License-Identifier: MIT */
/* Whether a user, with this token and lease, may change a loan, and the change. */
#ifndef LOCKQ_TOKEN_H
#define LOCKQ_TOKEN_H

#include "disposing.h"

/* Makes @d->places, which the caller frees. *@twice is true where a loan is named twice. */
LOCKQ_MUST_CHECK enum db_rc token_sort(struct disposing *d, bool *twice);
/* Locks the rows of work in key order, and sets each loan's result and whether it changes. @rows
 * are for token_change(); the caller clears them. */
LOCKQ_MUST_CHECK enum db_rc token_judge(struct db *db, struct disposing *d, struct db_rows *rows);
/* Changes those loans: writes the log, then work. */
LOCKQ_MUST_CHECK enum db_rc token_change(struct db *db, struct disposing *d,
    const struct db_rows *rows);

#endif
