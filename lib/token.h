/* SPDX-License-Identifier: MIT */
/* May this user, under this token and lease, change this loan? */
#ifndef LOCKQ_TOKEN_H
#define LOCKQ_TOKEN_H

#include "disposing.h"

/* Into the order in which loans are locked; *@twice: one is named twice. */
LOCKQ_MUST_CHECK enum db_rc token_sort(struct disposing *d, bool *twice);
/* Locks the loans, by what the user variables say, and says of each what is to become of it. @rows
 * stay the caller's. */
LOCKQ_MUST_CHECK enum db_rc token_judge(struct db *db, struct disposing *d, struct db_rows *rows);
/* Changes those that are to be changed: the log and the rows of work. */
LOCKQ_MUST_CHECK enum db_rc token_change(struct db *db, struct disposing *d, const struct db_rows
    *rows);

#endif
