/* SPDX-License-Identifier: MIT */
/* Where the database is: option files and login paths. */
#ifndef LOCKQ_CMD_CLI_CONNECTION_H
#define LOCKQ_CMD_CLI_CONNECTION_H

#include "cli_options.h"

/*
 * Fills @common->connection from the options: LOCKQ_DEFAULTS_FILE, the option file's readability,
 * and, for --login-path and --defaults-group-suffix, what my_print_defaults says. @group as in
 * struct cli_tool. Returns 0, or -1 with @error. What it allocates lives as long as the process.
 */
LOCKQ_MUST_CHECK int cli_connection(struct cli_common *common, const char *group,
    struct cli_error *error);

/*
 * Fills @common->query from the group [lockq_query] of the option files, where it is there and sets
 * anything; after cli_connection(). Likewise.
 */
LOCKQ_MUST_CHECK int cli_query_connection(struct cli_common *common, struct cli_error *error);

#endif
