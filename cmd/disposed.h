/* SPDX-License-Identifier: MIT */
/* What became of a loan that was disposed of, in words. */
#ifndef LOCKQ_CMD_DISPOSED_H
#define LOCKQ_CMD_DISPOSED_H

#include <stdbool.h>
#include <stdint.h>

#include "lockq.h"

/* "done", "not_yours"; static. */
const char *disposed_name(enum lockq_disposed what);

/* The exit status that it would have alone. */
int disposed_exit(enum lockq_disposed what);

/* A line on standard output about a loan that is done; @noted: with a note. */
void disposed_print(const struct lockq_disposed_loan *loan, bool noted);

/* A line on standard error about one that was refused; @given is the token it was named with. */
void disposed_refuse(const struct lockq_disposition *what,
    const struct lockq_disposed_loan *loan, uint64_t given);

#endif
