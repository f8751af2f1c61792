/* SPDX-License-Identifier: MIT */
/* What lockqstat says, as JSON: one object a line. */
#ifndef LOCKQ_CMD_LOCKQSTAT_JSON_H
#define LOCKQ_CMD_LOCKQSTAT_JSON_H

#include "lockq.h"
#include "lockqstat/health.h"

/* An object for each task; @runs are those of the one task that there is, or NULL. */
void stat_json(const struct lockq_stats *stats, const struct lockq_runs *runs);

/* An object for each finding, and one for all. */
void stat_json_health(const struct stat_health *health);

#endif
