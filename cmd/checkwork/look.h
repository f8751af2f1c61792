/* SPDX-License-Identifier: MIT */
/* checkwork's options, and what it looks at: each of its forms is one call here. */
#ifndef LOCKQ_CMD_CHECKWORK_LOOK_H
#define LOCKQ_CMD_CHECKWORK_LOOK_H

#include "checkwork/choices.h"
#include "cli/options.h"
#include "cli/values.h"
#include "lockq.h"

struct checkwork_options {
	struct cli_common common;
	const char *user;
	uint32_t task;
	bool pending;
	bool tasks;
	struct cli_loan loan;
	const char *request;
	int64_t wait_ms; /* negative: not given */
	uint32_t width;  /* 0: not given */
	uint64_t began;  /* cli_clock_ms() */
	int64_t watch_ms; /* 0: not given */
	struct checkwork_choices choices;
};
#define CHECKWORK_DEFAULTS { CLI_COMMON_INIT, NULL, 0, false, false, { false, 0 }, NULL, -1, 0, \
	0, 0, CHECKWORK_CHOICES_DEFAULTS }

extern const struct cli_tool checkwork_tool; /* options.c */

/* Looks at what the options name, but for --choices, and prints it. Returns the exit status. */
int checkwork_look(const struct checkwork_options *o, struct lockq *q);

#endif
