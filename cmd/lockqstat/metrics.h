/* SPDX-License-Identifier: MIT */
/* How tasks, and the cursors of the change feed, stand in the text format of Prometheus. */
#ifndef LOCKQ_CMD_LOCKQSTAT_METRICS_H
#define LOCKQ_CMD_LOCKQSTAT_METRICS_H

#include <stdio.h>

#include "lockq.h"

/* @took_ms is how long it took to read them. */
void stat_metrics(FILE *out, const struct lockq_stats *stats, const struct lockq_cursors *cursors,
    uint64_t took_ms);

/* The same into a file that takes @path's place when it is whole, so that nobody reads half of it.
 * Returns 0, or an errno. */
LOCKQ_MUST_CHECK int stat_metrics_file(const char *path, const struct lockq_stats *stats,
    const struct lockq_cursors *cursors, uint64_t took_ms);

#endif
