/* SPDX-License-Identifier: MIT */
/* The tables that checkwork prints of a user's assignments: their columns, and the advice below. */
#ifndef LOCKQ_CMD_CHECKWORK_TABLE_H
#define LOCKQ_CMD_CHECKWORK_TABLE_H

#include "lockq.h"

/*
 * Prints one table, or one for each task where a task has details of its own; then what to do about
 * leases that ran out or soon will. @pipeline has at least one assignment.
 */
void checkwork_table(const char *user, const struct lockq_pipeline *pipeline);

#endif
