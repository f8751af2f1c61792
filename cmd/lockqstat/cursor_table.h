/* SPDX-License-Identifier: MIT */
/* The table of lockqstat --cursors. */
#ifndef LOCKQ_CMD_LOCKQSTAT_CURSOR_TABLE_H
#define LOCKQ_CMD_LOCKQSTAT_CURSOR_TABLE_H

#include "lockq.h"

void cursor_table(const struct lockq_cursors *cursors);

#endif
