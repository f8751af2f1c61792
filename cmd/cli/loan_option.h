/* SPDX-License-Identifier: MIT */
/* An option that names loans: --loan 12:7,13:8, and --loan - with the same on standard input. */
#ifndef LOCKQ_CMD_CLI_LOAN_OPTION_H
#define LOCKQ_CMD_CLI_LOAN_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/options.h"

/* The loans of all such options, in their order. The caller frees @list. */
struct loan_option {
	struct lockq_loan_ref *list;
	size_t n, capacity;
	bool from_stdin;
	const char *option; /* its name; NULL: it was not given */
};
#define LOAN_OPTION_EMPTY { NULL, 0, 0, false, NULL }

cli_parse_fn loan_option_parse; /* struct loan_option: adds the loans of one option */

/* Adds the loans of @in, with white space or commas between them. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int loan_option_read(struct loan_option *loans, FILE *in, struct cli_error *error);

#endif
