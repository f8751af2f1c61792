/* SPDX-License-Identifier: MIT */
/* lockqstat's options, and what it looks at: each of its forms is one call here. */
#ifndef LOCKQ_CMD_LOCKQSTAT_LOOK_H
#define LOCKQ_CMD_LOCKQSTAT_LOOK_H

#include "cli/options.h"
#include "lockqstat/follow.h"
#include "lockqstat/health.h"
#include "lockqstat/table.h"

struct lockqstat_metrics {
	bool wanted;
	const char *path; /* NULL: standard output */
};

struct lockqstat_options {
	struct cli_common common;
	uint32_t task;            /* 0: all */
	uint32_t runs;            /* of one task; LOCKQSTAT_RUNS_NOT_GIVEN: not given */
	enum stat_order order;
	int64_t watch_ms;         /* 0: once */
	uint32_t width;           /* 0: not given */
	struct lockqstat_metrics metrics;
	const char *report;       /* the folder; NULL: none is wanted */
	bool health;
	uint32_t warning_s, critical_s; /* 0: not given */
	struct lockqstat_follow follow;
};
#define LOCKQSTAT_RUNS_NOT_GIVEN UINT32_MAX
#define LOCKQSTAT_DEFAULTS { CLI_COMMON_INIT, 0, LOCKQSTAT_RUNS_NOT_GIVEN, STAT_BY_TASK, 0, 0, \
	{ false, NULL }, NULL, false, 0, 0, LOCKQSTAT_FOLLOW_DEFAULTS }

extern const struct cli_tool lockqstat_tool; /* options.c */

/* Looks once, and prints it. Returns the exit status. */
int lockqstat_look(const struct lockqstat_options *o, struct lockq *q);

/* Reports that the library has returned @rc, and returns the exit status. For a monitor a database
 * that can't be asked is no warning, but unknown. */
int lockqstat_failed(const struct lockqstat_options *o, struct lockq *q, int rc);

/* Reads how tasks stand, and the last leaders of one task. Returns what the library returns; a task
 * that nobody has led yet is LOCKQ_OK. */
LOCKQ_MUST_CHECK int lockqstat_read(const struct lockqstat_options *o, struct lockq *q,
    uint32_t task, struct lockq_stats *stats, struct lockq_runs *runs);

/* screen.c: shows it until the user or a signal ends it. Returns the exit status. */
LOCKQ_MUST_CHECK int lockqstat_screen(const struct lockqstat_options *o, struct lockq *q);

#endif
