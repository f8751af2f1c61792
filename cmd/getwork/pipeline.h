/* SPDX-License-Identifier: MIT */
/* What is the user's after getwork has ended. */
#ifndef LOCKQ_CMD_GETWORK_PIPELINE_H
#define LOCKQ_CMD_GETWORK_PIPELINE_H

#include <stdbool.h>

#include "cli/options.h"

/*
 * Prints the user's pipeline as it is now: with @whole as checkwork does, else a line where text is
 * printed on a terminal. If it can't be read within two seconds, a message says so. The exit status
 * stays that of the answer.
 */
void getwork_pipeline(const struct cli_common *common, struct lockq *q, const char *user,
    bool whole);

#endif
