/* SPDX-License-Identifier: MIT */
/* The table that checkwork --tasks prints. */
#ifndef LOCKQ_CMD_CHECKWORK_TASK_TABLE_H
#define LOCKQ_CMD_CHECKWORK_TASK_TABLE_H

#include "lockq.h"

/* Prints the table. @tasks has at least one task. */
void task_table(const char *user, const struct lockq_tasks *tasks);

#endif
