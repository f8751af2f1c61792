/* SPDX-License-Identifier: MIT */
/* What came of a manager's correction, in words. */
#ifndef LOCKQ_CMD_MANAGETASK_CORRECT_MESSAGE_H
#define LOCKQ_CMD_MANAGETASK_CORRECT_MESSAGE_H

#include "lockq.h"

/* The word for JSON. */
const char *correct_message_result(enum lockq_disposed what);

/* Prints a line for a loan that is corrected, or was before, on standard output. */
void correct_message_done(const struct lockq_correction *what,
    const struct lockq_disposed_loan *loan);

/* Says on standard error why a loan was not corrected; @given is the token that was named, or 0. */
void correct_message_refused(const struct lockq_correction *what,
    const struct lockq_disposed_loan *loan, uint64_t given);

#endif
