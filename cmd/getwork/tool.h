/* SPDX-License-Identifier: MIT */
/*
 * What the files of getwork share. main.c parses, asks, also with --complete, cancels, prints and
 * maps; options.c has the options; pipeline.c shows what is the user's afterwards. What runwork
 * does in the same way is in cli/ask.h.
 */
#ifndef LOCKQ_CMD_GETWORK_TOOL_H
#define LOCKQ_CMD_GETWORK_TOOL_H

#include "cli/ask.h"
#include "cli/dispose.h"

struct getwork_options {
	struct cli_common common;
	struct disposition_loans done; /* what --complete names */
	struct cli_ask asking;
	bool no_wait;
	bool pipeline;
	bool cancels;
	const char *request; /* of --cancel: its number or UUID; NULL: the user's pending one for
	                      * the task */
};
#define GETWORK_DEFAULTS { CLI_COMMON_INIT, DISPOSITION_LOANS_DEFAULTS, CLI_ASK_DEFAULTS, false, \
	false, false, NULL }

extern const struct cli_tool getwork_tool;

/* Whether --complete was given. */
bool getwork_completes(const struct getwork_options *o);

/*
 * Prints the user's pipeline as it is now, after a call that ended with @rc: with --pipeline as
 * checkwork does, wherever the database can tell; else after an answer a line, where text is
 * printed on a terminal. If it can't be read within two seconds, a message says so. The exit status
 * stays that of the answer.
 */
void getwork_pipeline(const struct getwork_options *o, struct lockq *q, int rc);

#endif
