/* SPDX-License-Identifier: MIT */
/* lockqstat --report: the last day as a page of HTML that needs nothing else. */
#ifndef LOCKQ_CMD_LOCKQSTAT_REPORT_H
#define LOCKQ_CMD_LOCKQSTAT_REPORT_H

#include "lockq.h"

/* Writes @path: a summary of @stats in their order, then each task of @day in which something has
 * gone on. Returns 0, or an errno. */
LOCKQ_MUST_CHECK int report_file(const char *path, const struct lockq_stats *stats,
    const struct lockq_day *day);

#endif
