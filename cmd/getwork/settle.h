/* SPDX-License-Identifier: MIT */
/* What getwork --exec says of the loans of an answer. */
#ifndef LOCKQ_CMD_GETWORK_SETTLE_H
#define LOCKQ_CMD_GETWORK_SETTLE_H

#include "getwork/command.h"
#include "getwork/exec.h"
#include "getwork/lease.h"

/* The work on one answer. */
struct getwork_work {
	const struct getwork_exec *o;
	const struct cli_common *common;
	const struct lockq_answer *answer;
	struct getwork_lease lease;
	uint32_t failures; /* in a row */
	int status;        /* the worst so far: a higher number is worse */
	bool away;         /* the last disposition failed */
};

void getwork_note_status(struct getwork_work *w, int status);

/* Says of @n loans from @first on what @what has; @end is how the command of the only one ended.
 * Returns the worst of their exit statuses. */
int getwork_dispose(struct getwork_work *w, size_t first, size_t n,
    struct lockq_disposition *what, const struct command_end *end);

/* Disposes of a loan as its command has ended. Returns whether that is a failure. */
bool getwork_settle(struct getwork_work *w, size_t i, const struct command_end *end);

#endif
