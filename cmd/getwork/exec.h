/* SPDX-License-Identifier: MIT */
/* getwork --exec: runs a command for each loan, and disposes of the loan as the command's exit
 * status says. */
#ifndef LOCKQ_CMD_GETWORK_EXEC_H
#define LOCKQ_CMD_GETWORK_EXEC_H

#include "cli/options.h"
#include "lockq.h"

struct getwork_exec {
	const char *command;    /* NULL: not given */
	uint32_t retry_after_s; /* UINT32_MAX: not given */
	uint32_t give_up_after; /* 0: not given */
	char uuid[37];          /* of the request, where the user names none */
};
#define GETWORK_EXEC_DEFAULTS { NULL, UINT32_MAX, 0, "" }

/* Reads COMMAND, which is not empty: a shell would do nothing, and all loans would be completed. */
cli_parse_fn getwork_exec_parse;

/* Whether one of its options was given. */
bool getwork_exec_wanted(const struct getwork_exec *o);

/* Makes a UUID: a request with one does not join another process's, and so no two processes work on
 * the same loans. */
void getwork_exec_uuid(char uuid[37]);

/* Sets what was not given, and *@uuid. @uuid is NULL where there are several requests, each with a
 * UUID of its own. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int getwork_exec_check(struct getwork_exec *o, const char **uuid,
    struct cli_error *error);

/* Works on the loans of @answer, which has some. Returns the exit status. */
LOCKQ_MUST_CHECK int getwork_exec_run(const struct getwork_exec *o,
    const struct cli_common *common, struct lockq *q, const struct lockq_answer *answer);

#endif
