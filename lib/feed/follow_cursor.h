/* SPDX-License-Identifier: MIT */
/* The cursors of the change feed. */
#ifndef LOCKQ_FOLLOW_CURSOR_H
#define LOCKQ_FOLLOW_CURSOR_H

#include "db/db.h"

/* Selects the name, the position, when it was made and moved, and the account of each cursor; the
 * one that is furthest behind comes first. */
extern const struct db_query follow_list;

/* The public code for a cursor's name: LOCKQ_OK, or LOCKQ_EUSAGE with the handle's text. */
LOCKQ_MUST_CHECK int follow_check_name(struct lockq *q, const char *cursor);

#endif
