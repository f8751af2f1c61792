/* SPDX-License-Identifier: MIT */
/* Words of the tables as enums: how a request stands, work_requested.outcome, and how a loan does,
 * work.state. */
#ifndef LOCKQ_OUTCOME_STATE_H
#define LOCKQ_OUTCOME_STATE_H

#include "lockq.h"

/* LOCKQ_STATUS_UNKNOWN for NULL, and for what is no such word; lockq_status_name() is the way
 * back. */
enum lockq_status outcome_read(const char *word);

enum state { ASSIGNED, COMPLETED, RETURNED, NEVER, NO_STATE };
/* NO_STATE for NULL, and for what is no such word. */
enum state state_read(const char *word);
const char *state_name(enum state state);

#endif
