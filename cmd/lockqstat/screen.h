/* SPDX-License-Identifier: MIT */
/* lockqstat --watch on a terminal: the table of tasks, one of them marked, or all of that one. */
#ifndef LOCKQ_CMD_LOCKQSTAT_SCREEN_H
#define LOCKQ_CMD_LOCKQSTAT_SCREEN_H

#include "lockqstat/look.h"

/* Shows it until the user or a signal ends it. Returns the exit status. */
LOCKQ_MUST_CHECK int lockqstat_screen(const struct lockqstat_options *o, struct lockq *q);

#endif
