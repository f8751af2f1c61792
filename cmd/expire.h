/* SPDX-License-Identifier: MIT */
/* disposition --expire, for cron. */
#ifndef LOCKQ_CMD_EXPIRE_H
#define LOCKQ_CMD_EXPIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli_options.h"

struct expire_options {
	bool wanted;
	uint32_t batch;       /* 0: not given */
	uint32_t purge_after_s;
};
#define EXPIRE_DEFAULTS { false, 0, 0 }

cli_parse_fn expire_parse_age; /* uint32_t: a duration from min on; stored as seconds */

/* Whether these options and the others, @disposes, go together. Returns 0, or -1 with @error. */
LOCKQ_MUST_CHECK int expire_check(const struct expire_options *options, bool disposes,
    struct cli_error *error);

/* All of it, from the connection on. Returns the exit status. */
LOCKQ_MUST_CHECK int expire_run(struct cli_common *common, const struct expire_options *options);

/* "returned 12 loans whose leases had ended, expired 1 request"; NULL for nothing. free() it. */
char *expire_summary(const struct lockq_expired *expired);

#endif
