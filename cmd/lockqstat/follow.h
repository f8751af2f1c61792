/* SPDX-License-Identifier: MIT */
/* The change feed of lockqstat, and its cursors. */
#ifndef LOCKQ_CMD_LOCKQSTAT_FOLLOW_H
#define LOCKQ_CMD_LOCKQSTAT_FOLLOW_H

#include "cli/program.h"
#include "cli/values.h"

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

#endif
