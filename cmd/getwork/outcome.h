/* SPDX-License-Identifier: MIT */
/* What getwork --exec tells of each loan. */
#ifndef LOCKQ_CMD_GETWORK_OUTCOME_H
#define LOCKQ_CMD_GETWORK_OUTCOME_H

#include "cli/options.h"
#include "getwork/command.h"
#include "lockq.h"

/* The disposition's note about a command that did not end with 0; free() it. */
char *getwork_outcome_note(const struct command_end *end);

/*
 * Prints "loan 12: completed (exit 0 after 1.2 s)", of loan @i of @what, after its command has ended
 * as @end says: on standard output if @status is 0, else on standard error; and the JSON object.
 * @loan is NULL where the disposition failed, and @error is why.
 */
void getwork_outcome_show(const struct cli_common *common, const struct lockq_disposition *what,
    size_t i, const struct lockq_disposed_loan *loan, const struct command_end *end, int status,
    const char *error);

#endif
