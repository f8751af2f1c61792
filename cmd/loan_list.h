/* SPDX-License-Identifier: MIT */
/* The loans that a command line names: 12,13:7 or, for "-", what standard input has. */
#ifndef LOCKQ_CMD_LOAN_LIST_H
#define LOCKQ_CMD_LOAN_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli_options.h"

/* One after the other, of all --loan options; free() the list. */
struct loan_list {
	struct lockq_loan_ref *list;
	size_t n, capacity;
	bool from_stdin;
};
#define LOAN_LIST_EMPTY { NULL, 0, 0, false }

cli_parse_fn loan_list_parse; /* struct loan_list: adds what the argument names */

/* Adds the loans of @in, with white space or commas between them. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int loan_list_read(struct loan_list *loans, FILE *in, struct cli_error *error);

#endif
