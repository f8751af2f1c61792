/* SPDX-License-Identifier: MIT */
/* The procedure task.on_complete. */
#ifndef LOCKQ_ON_COMPLETE_H
#define LOCKQ_ON_COMPLETE_H

#include "disposing.h"

/* Loans are in @lockq_ids with so many digits each. */
enum { ON_COMPLETE_ID_DIGITS = 20 };
/* Calls it for each loan that is to be completed. A loan for which it fails is not changed.
 * DB_EFAIL and @d->refused where none is, for @d->reason. */
LOCKQ_MUST_CHECK enum db_rc on_complete_all(struct db *db, struct disposing *d);
/* After the roll-back: what would have been done is not. */
LOCKQ_MUST_CHECK enum db_rc on_complete_refused(struct disposing *d);

#endif
