/* SPDX-License-Identifier: MIT */
/* checkwork --watch: the same look, again and again. */
#ifndef LOCKQ_CMD_CHECKWORK_WATCH_H
#define LOCKQ_CMD_CHECKWORK_WATCH_H

#include "checkwork_look.h"

enum { WATCH_LEAST_S = 1 };

/* Reads the seconds after --watch, which may be left out, into an int64_t of milliseconds. */
cli_parse_fn checkwork_watch_parse;

/* Looks every @o->watch_ms milliseconds, until a signal ends it or the options name nothing that
 * there is. Returns the exit status. */
LOCKQ_MUST_CHECK int checkwork_watch(const struct checkwork_options *o, struct lockq *q);

#endif
