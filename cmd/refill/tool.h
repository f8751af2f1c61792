/* SPDX-License-Identifier: MIT */
/* What the files of refill share. */
#ifndef LOCKQ_CMD_REFILL_TOOL_H
#define LOCKQ_CMD_REFILL_TOOL_H

#include "cli/program.h"

/* --- lists.c: filling one list, those that are due, or watching them --- */

struct refill_options {
	struct cli_common common;
	uint32_t task;    /* 0: each whose list is due */
	bool due;         /* only lists that are due */
	bool watch;       /* again and again */
	int64_t every_ms; /* between two looks; negative: not given */
};
enum { REFILL_EVERY_MS = 5000 };
#define REFILL_DEFAULTS { CLI_COMMON_INIT, 0, false, false, -1 }

/* Fills the list of @o->task, or those that are due, and prints what was done. Returns the exit
 * status. */
LOCKQ_MUST_CHECK int refill_lists(const struct refill_options *o, struct lockq *q);

/* Fills lists that are due until a signal ends it. Returns the exit status. */
LOCKQ_MUST_CHECK int refill_watch(const struct refill_options *o, struct lockq *q);

#endif
