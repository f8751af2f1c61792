/* SPDX-License-Identifier: MIT */
/* One task in the report: its figures of the day, its pictures, each with a table. */
#ifndef LOCKQ_CMD_LOCKQSTAT_REPORT_TASK_H
#define LOCKQ_CMD_LOCKQSTAT_REPORT_TASK_H

#include "lockqstat/health.h"
#include "lockqstat/report_svg.h"

/* The section of a task in which something has gone on; @health is of all tasks. */
void report_task(const struct report_task *t, const struct lockq_stat *stat,
    const struct stat_health *health);

/* What is wrong with a task, or with 0 with all of them. */
void report_findings(FILE *out, const struct lockq_stats *stats, const struct stat_health *health,
    uint32_t task);

/* How bad it is, as a word with a sign before it. */
void report_level(FILE *out, enum stat_level level);
enum stat_level report_level_of(const struct stat_health *health, uint32_t task);

#endif
