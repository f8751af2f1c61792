/* SPDX-License-Identifier: MIT */
/* Answers a disposition that was made before. */
#ifndef LOCKQ_REPEATED_H
#define LOCKQ_REPEATED_H

#include "disposition/disposing.h"

/* Fills the results from the log, which has rows of the call's UUID for some of the loans. Sets
 * @d->uuid_taken where these are of another call: another user's, or with other parameters. */
LOCKQ_MUST_CHECK enum db_rc repeated_answer(struct db *db, struct disposing *d);

#endif
