/* SPDX-License-Identifier: MIT */
/* The tables of lockqstat: how all tasks stand, and one task with its last leaders. */
#ifndef LOCKQ_CMD_LOCKQSTAT_TABLE_H
#define LOCKQ_CMD_LOCKQSTAT_TABLE_H

#include <stdio.h>

#include "cli/terminal.h"
#include "lockq.h"

/* What tasks are sorted by. Except for the first, the largest comes first. */
enum stat_order {
	STAT_BY_TASK, STAT_BY_WAITING, STAT_BY_OLDEST, STAT_BY_ASSIGNED, STAT_BY_LOANS,
	STAT_BY_WAIT, STAT_BY_QUERY, STAT_BY_FAILURES,
	STAT_ORDERS
};

/* The word for it, which --sort takes and a screen shows. */
const char *stat_order_name(enum stat_order order);

void stat_sort(struct lockq_stats *stats, enum stat_order order);

/* The table of all tasks, no wider than @width (0: any width), with the column of @order; and below
 * it what is wrong. */
void stat_table(FILE *out, const struct lockq_stats *stats, enum stat_order order,
    enum cli_style style, size_t width);

/* All of one task, and its last leaders. */
void stat_table_of_task(FILE *out, const struct lockq_stat *task, const struct lockq_runs *runs,
    enum cli_style style, size_t width);

/* The lines above the first task of stat_table(), each of which has a line. */
size_t stat_table_first_row(enum cli_style style);

#endif
