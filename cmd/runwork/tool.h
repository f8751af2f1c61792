/* SPDX-License-Identifier: MIT */
/*
 * What the files of runwork share. main.c parses, asks and maps; options.c has the options; loans.c
 * works on the loans of an answer, one after the other, and disposes of each as its command has
 * ended; command.c runs a command; lease.c renews leases meanwhile; output.c tells what came of it.
 * Each of them calls only those that are named after it.
 */
#ifndef LOCKQ_CMD_RUNWORK_TOOL_H
#define LOCKQ_CMD_RUNWORK_TOOL_H

#include "cli/ask.h"
#include "runwork/command.h"
#include "runwork/lease.h"

/* As env(1), nohup(1) and xargs(1) have them. */
enum { RUNWORK_CANT_RUN = 126, RUNWORK_NOT_FOUND = 127 };

struct runwork_options {
	struct cli_common common;
	struct cli_ask asking;
	uint32_t retry_after_s; /* UINT32_MAX: not given */
	uint32_t give_up_after; /* 0: not given */
	char **command;         /* with its arguments */
	char uuid[37];          /* of the request, where the user names none */
};
#define RUNWORK_DEFAULTS { CLI_COMMON_INIT, CLI_ASK_DEFAULTS, UINT32_MAX, 0, NULL, "" }

extern const struct cli_tool runwork_tool;

/* The work on the loans of one answer. */
struct runwork {
	const struct runwork_options *o;
	const struct lockq_answer *answer;
	struct runwork_lease lease;
	uint32_t failures; /* in a row */
	int status;        /* the worst so far: a higher number is worse */
	bool away;         /* the last disposition failed */
	bool disposed_before; /* what it found: the loan's command had disposed of it */
};

/* Works on the loans of @answer, which has some. Returns the exit status. */
LOCKQ_MUST_CHECK int runwork_loans(const struct runwork_options *o, struct lockq *q,
    const struct lockq_answer *answer);

/* The exit status for a command that could not be started: @failure is an errno. */
int runwork_no_command(int failure);

/* --- output.c --- */

/* "command "verify" is not found", where it could not be started; free() it. */
char *runwork_no_command_text(const char *name, int failure);

/* The disposition's note about a command that did not end with 0; free() it. */
char *runwork_note(const struct command_end *end);

/*
 * Prints "loan 12: completed (exit 0 after 1.2 s)", of loan @i of @what, after its command has
 * ended as @end says: on standard output if @status is 0, else on standard error; and the JSON
 * object. @loan is NULL where the disposition failed, and @error is why.
 */
void runwork_print(bool json, const struct lockq_disposition *what, size_t i,
    const struct lockq_disposed_loan *loan, const struct command_end *end, int status,
    const char *error);

#endif
