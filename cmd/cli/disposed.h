/* SPDX-License-Identifier: MIT */
/* What is printed of each loan of a disposition. */
#ifndef LOCKQ_CMD_CLI_DISPOSED_H
#define LOCKQ_CMD_CLI_DISPOSED_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/json.h"
#include "lockq.h"

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

/* The object of one of the loans that @what names; @status is the exit status for it alone. */
json_t *disposed_object(const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, int status);

/* Prints that object; or, of a loan that is done, its line. */
void disposed_print(bool json, const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, int status);

#endif
