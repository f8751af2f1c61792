/* SPDX-License-Identifier: MIT */
/* disposition --complete, --return-after, --never and --renew: options and run. */
#ifndef LOCKQ_CMD_CLI_DISPOSE_H
#define LOCKQ_CMD_CLI_DISPOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/json.h"
#include "cli/loan_option.h"
#include "cli/program.h"
#include "lockq.h"

struct disposition_loans {
	struct lockq_disposition what; /* complete after disposition_loans_check() */
	struct loan_option loans;
	uint64_t token;                /* 0: not given */
	bool complete;
	bool never;
	bool renew;
	bool not_me;
	uint32_t return_after_s;
	uint32_t not_me_for_s;
};
#define DISPOSITION_NOT_GIVEN UINT32_MAX
#define DISPOSITION_LOANS_DEFAULTS { LOCKQ_DISPOSITION_INIT, LOAN_OPTION_EMPTY, 0, false, false, \
	false, false, DISPOSITION_NOT_GIVEN, DISPOSITION_NOT_GIVEN }

/* Whether any of these options was given. */
bool disposition_loans_wanted(const struct disposition_loans *options);

/*
 * Checks the options together and completes @options->what; reads standard input for --loan -.
 * Returns 0, or -1 with @error.
 */
LOCKQ_MUST_CHECK int disposition_loans_check(struct disposition_loans *options,
    struct cli_error *error);

/* Prints what came of it: @result, and @rc is the library's code. @uuid, or "", is what the command
 * has to be repeated with where the outcome is unknown. *@recorded: something was changed. Returns
 * the exit status. */
LOCKQ_MUST_CHECK int disposition_loans_show(const struct cli_common *common,
    const struct disposition_loans *options, struct lockq *q, int rc, const char *uuid,
    const struct lockq_disposed_result *result, bool *recorded);

/* Connects, disposes, prints, and frees what the options hold. Returns the exit status. */
LOCKQ_MUST_CHECK int disposition_loans_run(struct cli_common *common,
    struct disposition_loans *options);

/* --- what is printed of each loan of a disposition --- */

/* The result's name in JSON and with --verbose: "done", "not_yours"; static. */
const char *disposition_result(enum lockq_disposed what);

/* How the loan stands: assigned to "tracy" since 10:42; returned by "marcus" for "oliver" at 10:41,
 * where a manager has done that. The caller frees it. */
char *disposition_standing(const struct lockq_disposed_loan *loan);

/* A line about a loan that is done, free() it; @noted: the user gave a note. */
char *disposition_message_done(const struct lockq_disposed_loan *loan, bool noted);

/* A line about a loan that was refused, free() it; @given is the user's token for it. */
char *disposition_message_refused(const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, uint64_t given);

/* Sets what is in the database of the loan: its state, holder, token and times. */
void disposed_loan_set(json_t *object, const struct lockq_disposed_loan *loan);
/* The object of one of the loans that @what names; @status is the exit status for it alone. */
json_t *disposed_object(const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, int status);

#endif
