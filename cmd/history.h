/* SPDX-License-Identifier: MIT */
/* What happened to a loan in a task. */
#ifndef LOCKQ_CMD_HISTORY_H
#define LOCKQ_CMD_HISTORY_H

#include <stdint.h>

#include "lockq.h"

/* Who had @loan_id when in @task. */
void cli_history(uint32_t task, uint64_t loan_id, const struct lockq_history *history);

#endif
