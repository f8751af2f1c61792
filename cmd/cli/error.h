/* SPDX-License-Identifier: MIT */
/* What is wrong with an option or its value. It is returned, not printed, so that tests can look at
 * it. */
#ifndef LOCKQ_CMD_CLI_ERROR_H
#define LOCKQ_CMD_CLI_ERROR_H

#include "cli/text.h"

struct cli_error {
	char text[512];
};

/* Formats @error, which is escaped when it is printed. Returns -1, for return cli_fail(…). */
int cli_fail(struct cli_error *error, const char *format, ...) CLI_PRINTF(2, 3);

#endif
