/* SPDX-License-Identifier: MIT */
/* --watch without a screen of keys: the same look, again and again. */
#ifndef LOCKQ_CMD_CLI_WATCH_H
#define LOCKQ_CMD_CLI_WATCH_H

#include "cli/options.h"
#include "cli/values.h"

enum { WATCH_LEAST_S = 1 };

/* Reads the seconds after --watch, which may be left out, into an int64_t of milliseconds. */
cli_parse_fn watch_parse;

/* Looks, and prints what it has seen. Returns the exit status. */
typedef int watch_fn(void *options, struct lockq *q);

/* Looks every @every_ms milliseconds, until a signal ends it or there is nothing to look at. Unless
 * @headed, nothing but what @look prints is printed. Returns the exit status. */
LOCKQ_MUST_CHECK int watch(int64_t every_ms, bool headed, watch_fn *look, void *options,
    struct lockq *q);

#endif
