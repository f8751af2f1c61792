/* SPDX-License-Identifier: MIT */
/* --log: a JSON line for each call of the library and for each failed statement. */
#ifndef LOCKQ_CMD_CLI_LOG_H
#define LOCKQ_CMD_CLI_LOG_H

#include "cli/options.h"

/* Sets @common->log to LOCKQ_LOG where it is not given, and looks whether the file can be written.
 * 0, or -1 with @error. */
LOCKQ_MUST_CHECK int cli_log_check(struct cli_common *common, struct cli_error *error);

/* Logs what @q does from now on, if that is wanted. @common stays as long as @q. */
void cli_log(const struct cli_common *common, struct lockq *q);

#endif
