/* SPDX-License-Identifier: MIT */
/* A pending request's place in the line. */
#ifndef LOCKQ_PLACE_IN_LINE_H
#define LOCKQ_PLACE_IN_LINE_H

#include "getwork/lock.h"

/* Adds to @answer the place of its request, which is pending, and how long that may take; -1 where
 * it is not known whether anybody leads. */
LOCKQ_MUST_CHECK enum db_rc place_in_line(struct db *db, const struct leader *leader,
    struct lockq_answer *answer);

#endif
