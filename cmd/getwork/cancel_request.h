/* SPDX-License-Identifier: MIT */
/* getwork --cancel. */
#ifndef LOCKQ_CMD_GETWORK_CANCEL_REQUEST_H
#define LOCKQ_CMD_GETWORK_CANCEL_REQUEST_H

#include "cli/options.h"

struct getwork_cancel {
	bool given;
	const char *request; /* its number or UUID; NULL: the user's pending one for the task */
};

cli_parse_fn getwork_cancel_parse;

/* Cancels the request, and prints what came of it. Returns the exit status. */
int getwork_cancel(const struct cli_common *common, struct lockq *q,
    const struct getwork_cancel *cancel, const char *user, uint32_t task);

#endif
