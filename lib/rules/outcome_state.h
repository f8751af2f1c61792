/* SPDX-License-Identifier: MIT */
/* The words of work_requested.outcome and work.state as enums. */
#ifndef LOCKQ_OUTCOME_STATE_H
#define LOCKQ_OUTCOME_STATE_H

#include "lockq.h"

/* LOCKQ_STATUS_UNKNOWN for NULL and any other word. lockq_status_name() is the way back. */
enum lockq_status outcome_read(const char *word);

enum state { ASSIGNED, COMPLETED, RETURNED, NEVER, NO_STATE };
/* NO_STATE for NULL and any other word. */
enum state state_read(const char *word);
const char *state_name(enum state state);

#endif
