/* SPDX-License-Identifier: MIT */
/* Where the database is: option files and login paths. */
#ifndef LOCKQ_CMD_CLI_CONNECTION_H
#define LOCKQ_CMD_CLI_CONNECTION_H

#include "cli_options.h"

/*
 * Completes @common->connection: LOCKQ_DEFAULTS_FILE, and with --login-path or
 * --defaults-group-suffix the options that my_print_defaults prints. Refuses an option file that
 * can't be used. @group as in struct cli_tool. Returns 0, or -1 with @error. Its texts live as long
 * as the process.
 */
LOCKQ_MUST_CHECK int cli_connection(struct cli_common *common, const char *group,
    struct cli_error *error);

/*
 * Fills @common->query from the group [lockq_query] of the option files and sets
 * @common->queries_elsewhere, where that group sets anything. Comes after cli_connection(). Returns
 * 0, or -1 with @error.
 */
LOCKQ_MUST_CHECK int cli_query_connection(struct cli_common *common, struct cli_error *error);

#endif
