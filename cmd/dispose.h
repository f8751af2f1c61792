/* SPDX-License-Identifier: MIT */
/* disposition without --expire: what becomes of loans. */
#ifndef LOCKQ_CMD_DISPOSE_H
#define LOCKQ_CMD_DISPOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli_options.h"
#include "loan_list.h"

struct dispose_options {
	struct lockq_disposition what; /* complete after dispose_check() */
	struct loan_list loans;
	uint64_t token;                /* 0: not given */
	bool complete;
	bool never;
	bool renew;
	bool not_me;
	uint32_t return_after_s;
	uint32_t not_me_for_s;
};
#define DISPOSE_NOT_GIVEN UINT32_MAX
#define DISPOSE_DEFAULTS { LOCKQ_DISPOSITION_INIT, LOAN_LIST_EMPTY, 0, false, false, false, false, \
	DISPOSE_NOT_GIVEN, DISPOSE_NOT_GIVEN }

/* Whether any of these options was given. */
bool dispose_wanted(const struct dispose_options *options);

/* Completes them, reading standard input for --loan -. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int dispose_check(struct dispose_options *options, struct cli_error *error);

/* All of it, from the connection on; frees what the options hold. Returns the exit status. */
LOCKQ_MUST_CHECK int dispose_run(struct cli_common *common, struct dispose_options *options);

#endif
