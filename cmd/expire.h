/* SPDX-License-Identifier: MIT */
/* disposition --expire, for cron. */
#ifndef LOCKQ_CMD_EXPIRE_H
#define LOCKQ_CMD_EXPIRE_H

#include "cli.h"
#include "cli_values.h"

struct expire_options {
	bool wanted;
	uint32_t batch;       /* 0: not given */
	uint32_t purge_after_s;
};
#define EXPIRE_DEFAULTS { false, 0, 0 }

cli_parse_fn expire_parse_age; /* uint32_t: a duration from min on; stored as seconds */

/* Rows for the table of options; @offset is that of the struct expire_options in the tool's. */
#define EXPIRE_OFFSET(offset, member) ((offset) + offsetof(struct expire_options, member))
#define EXPIRE_TABLE(offset) \
	{ .help = "For cron" }, \
	{ "expire", 0, NULL, "tidy up what time has changed: return loans whose lease\n" \
	    "has ended, expire requests that nobody looks after", \
	    cli_parse_flag, EXPIRE_OFFSET(offset, wanted), 0, 0 }, \
	{ "batch", 0, "N", "rows of one transaction (500)", cli_parse_u32, \
	    EXPIRE_OFFSET(offset, batch), 1, LOCKQ_BATCH_MAX }, \
	{ "purge-after", 0, "DURATION", "delete what ended longer ago, as in 90d; 1d at\n" \
	    "least (default: delete nothing)", expire_parse_age, \
	    EXPIRE_OFFSET(offset, purge_after_s), LOCKQ_PURGE_AFTER_MIN, \
	    LOCKQ_PURGE_AFTER_MAX }

/* Whether these options and the others, @disposes, go together. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int expire_check(const struct expire_options *options, bool disposes,
    struct cli_error *error);

/* All of it, from the connection on. Returns the exit status. */
LOCKQ_MUST_CHECK int expire_run(struct cli_common *common, const struct expire_options *options);

/* "returned 12 loans whose leases had ended, expired 1 request"; NULL for nothing. free() it. */
char *expire_summary(const struct lockq_expired *expired);

#endif
