/* SPDX-License-Identifier: MIT */
/* The tables that checkwork prints of a user's assignments: their columns, and the advice below. */
#ifndef LOCKQ_CMD_CLI_PIPELINE_TABLE_H
#define LOCKQ_CMD_CLI_PIPELINE_TABLE_H

#include <stddef.h>

#include "cli/terminal.h"
#include "lockq.h"

/*
 * Prints one table, or one for each task where a task has details of its own; then what to do about
 * leases that ran out or soon will. @pipeline has at least one assignment.
 */
void checkwork_table(const char *user, const struct lockq_pipeline *pipeline);

/*
 * One of these tables as text, with its heading; free() it. It begins with assignment @from, and is
 * no wider than @width. *@n is set to how many assignments it has, *@first_row to the line of the
 * first one, from 0: each has one line.
 */
char *checkwork_table_part(const struct lockq_pipeline *pipeline, size_t from, size_t width,
    enum cli_style style, size_t *n, size_t *first_row);

#endif
