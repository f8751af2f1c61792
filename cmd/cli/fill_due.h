/* SPDX-License-Identifier: MIT */
/* getwork starts the filling of a list that it has found due. */
#ifndef LOCKQ_CMD_CLI_FILL_DUE_H
#define LOCKQ_CMD_CLI_FILL_DUE_H

#include "cli/options.h"

/*
 * If the list of @task is due, and nobody else has begun to fill it, starts a process that does so
 * behind the caller's back. That one has nothing of the caller's: no terminal, no file, no
 * connection. So a pipe, a shell and ssh do not wait for it. @q is the handle that asked. Returns
 * in the caller only.
 */
void getwork_refill(const struct cli_common *common, struct lockq *q, uint32_t task);

#endif
