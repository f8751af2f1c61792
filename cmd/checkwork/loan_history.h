/* SPDX-License-Identifier: MIT */
/* The table that checkwork --loan prints: what happened to a loan in a task. */
#ifndef LOCKQ_CMD_CHECKWORK_LOAN_HISTORY_H
#define LOCKQ_CMD_CHECKWORK_LOAN_HISTORY_H

#include <stdint.h>

#include "lockq.h"

/* Prints the table. @history has at least one event. */
void loan_history(uint32_t task, uint64_t loan_id, const struct lockq_history *history);

#endif
