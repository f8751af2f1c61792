/* SPDX-License-Identifier: MIT */
/* Where the database is, as far as the command line and the environment say. */
#ifndef LOCKQ_CMD_CLI_CONNECTION_H
#define LOCKQ_CMD_CLI_CONNECTION_H

#include "cli/options.h"

/*
 * Completes @common->connection by LOCKQ_DEFAULTS_FILE and by what my_print_defaults prints of the
 * login path. @group as in struct cli_tool. Returns 0, or -1 with @error. Its texts live as long as
 * the process.
 */
LOCKQ_MUST_CHECK int cli_connection(struct cli_common *common, const char *group,
    struct cli_error *error);

#endif
