/* SPDX-License-Identifier: MIT */
/* What lockqstat prints, as text for people or as JSON: a table of functions each. */
#ifndef LOCKQ_CMD_LOCKQSTAT_OUTPUT_H
#define LOCKQ_CMD_LOCKQSTAT_OUTPUT_H

#include <stdbool.h>

#include "lockqstat/health.h"
#include "lockqstat/table.h"

struct lockqstat_output {
	/* How tasks stand, sorted by @order; @runs are those of the one task that there is, or
	 * NULL. */
	void (*stats)(const struct lockq_stats *stats, enum stat_order order,
	    const struct lockq_runs *runs);
	/* What is wrong with them. */
	void (*health)(const struct lockq_stats *stats, const struct stat_health *health);
	/* The places of the readers of the change feed; and the one that was removed. */
	void (*cursors)(const struct lockq_cursors *cursors);
	void (*dropped)(const char *cursor);
};

const struct lockqstat_output *lockqstat_output(bool json);

#endif
