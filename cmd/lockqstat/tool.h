/* SPDX-License-Identifier: MIT */
/* What the files of lockqstat share; those of the report share report.h, too. */
#ifndef LOCKQ_CMD_LOCKQSTAT_TOOL_H
#define LOCKQ_CMD_LOCKQSTAT_TOOL_H

#include <stdio.h>
#include <sys/stat.h>

#include "cli/health.h"
#include "cli/program.h"

/* --- table.c: how all tasks stand, and one task with its last leaders --- */

/* What tasks are sorted by. Except for the first, the largest comes first. */
enum stat_order {
	STAT_BY_TASK, STAT_BY_WAITING, STAT_BY_OLDEST, STAT_BY_ASSIGNED, STAT_BY_LOANS,
	STAT_BY_WAIT, STAT_BY_QUERY, STAT_BY_FAILURES,
	STAT_ORDERS
};

/* The word for it, which --sort takes and a screen shows. */
const char *stat_order_name(enum stat_order order);

void stat_sort(struct lockq_stats *stats, enum stat_order order);

/* The table of all tasks, no wider than @width (0: any width), with the column of @order; and below
 * it what is wrong. */
void stat_table(FILE *out, const struct lockq_stats *stats, enum stat_order order,
    enum cli_style style, size_t width);

/* All of one task, and its last leaders. */
void stat_table_of_task(FILE *out, const struct lockq_stat *task, const struct lockq_runs *runs,
    enum cli_style style, size_t width);

/* The lines above the first task of stat_table(), each of which has a line. */
size_t stat_table_first_row(enum cli_style style);

/* --- follow.c: the change feed, and its cursors --- */

struct lockqstat_follow {
	const char *cursor;      /* to follow; NULL: none */
	bool from_now;
	bool until_now;
	uint32_t batch;          /* 0: not given */
	bool cursors;            /* show all cursors */
	const char *drop;        /* the cursor to remove; NULL: none */
};
#define LOCKQSTAT_FOLLOW_DEFAULTS { NULL, false, false, 0, false, NULL }

/*
 * Rows of the option table; @at is a macro that gives the offset of a member of struct
 * lockqstat_follow in the tool's options. A macro, since the table is one constant.
 */
#define LOCKQSTAT_FOLLOW_OPTIONS(at) \
	{ .help = "Follow the changes" }, \
	{ "follow", 0, "CURSOR", "each change of state as a line of JSON, from where\n" \
	    "this cursor is on, until a signal ends it", cli_parse_text, \
	    at(cursor), 0, 0 }, \
	{ "until-now", 0, NULL, "with --follow: end when what is there is delivered", \
	    cli_parse_flag, at(until_now), 0, 0 }, \
	{ "from-now", 0, NULL, "with --follow: a new cursor begins behind the newest\n" \
	    "change (default: before the oldest one that is kept)", cli_parse_flag, \
	    at(from_now), 0, 0 }, \
	{ "batch", 0, "N", "with --follow: changes that are acknowledged\n" \
	    "together (default: 500)", cli_parse_u32, at(batch), 1, LOCKQ_BATCH_MAX }, \
	{ "cursors", 0, NULL, "how far each cursor has come", cli_parse_flag, \
	    at(cursors), 0, 0 }, \
	{ "drop-cursor", 0, "CURSOR", "remove this cursor", cli_parse_text, \
	    at(drop), 0, 0 }

/* Whether the command line names one of these. */
bool lockqstat_follow_wanted(const struct lockqstat_follow *options);

/* Checks the options among themselves; @others is whether there are others that can't be combined
 * with these. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int lockqstat_follow_check(const struct lockqstat_follow *options, bool others,
    struct cli_error *error);

/* Does what they say over a connected handle. Returns the exit status. */
LOCKQ_MUST_CHECK int lockqstat_follow_run(const struct lockqstat_follow *options,
    const struct cli_common *common, struct lockq *q);

/* --- output.c: the options, and what is looked at: each form is one call here --- */

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

/* --- metrics.c: how tasks and cursors stand, in the text format of Prometheus --- */

/* @took_ms is how long it took to read them. */
void stat_metrics(FILE *out, const struct lockq_stats *stats, const struct lockq_cursors *cursors,
    uint64_t took_ms);

/* The same into a file that takes @path's place when it is whole, so that nobody reads half of it.
 * Returns 0, or an errno. */
LOCKQ_MUST_CHECK int stat_metrics_file(const char *path, const struct lockq_stats *stats,
    const struct lockq_cursors *cursors, uint64_t took_ms);

/* --- whole_file.c: a file that takes its place when it is whole, so that nobody reads half of it
 * --- */

typedef void whole_file_fn(FILE *out, const void *data);

/* Lets @write fill a file beside @path, gives it @mode, and renames it. Returns 0, or an errno, and
 * then @path is as it was. Only a regular file is replaced: a device, a FIFO or what a symbolic
 * link leads to is written into. */
LOCKQ_MUST_CHECK int whole_file(const char *path, mode_t mode, whole_file_fn *write,
    const void *data);

#endif
