/* SPDX-License-Identifier: MIT */
/* How a request stands: the words of work_requested.outcome as an enum. */
#ifndef LOCKQ_OUTCOME_H
#define LOCKQ_OUTCOME_H

#include "lockq.h"

/* LOCKQ_STATUS_UNKNOWN for NULL, and for what is no such word. */
enum lockq_status outcome_read(const char *word);

#endif
