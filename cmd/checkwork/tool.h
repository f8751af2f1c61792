/* SPDX-License-Identifier: MIT */
/* checkwork's options, and what it looks at: each of its forms is one call here. */
#ifndef LOCKQ_CMD_CHECKWORK_TOOL_H
#define LOCKQ_CMD_CHECKWORK_TOOL_H

#include "cli/program.h"

/* --- output.c --- */

/* --choices: what may be typed as an option's value, for the completion of a shell. */
struct checkwork_choices {
	int kind;           /* an enum lockq_choice_kind; negative: not given */
	const char *begins; /* NULL: not given */
};
#define CHECKWORK_CHOICES_DEFAULTS { -1, NULL }

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

/* Whether an option of --choices was given. */
bool checkwork_choices_wanted(const struct checkwork_choices *o);

/* Looks at what the options name, and prints it. Returns the exit status. */
int checkwork_look(const struct checkwork_options *o, struct lockq *q);

#endif
