/* SPDX-License-Identifier: MIT */
/* What the files of disposition share. */
#ifndef LOCKQ_CMD_DISPOSITION_TOOL_H
#define LOCKQ_CMD_DISPOSITION_TOOL_H

#include "cli/program.h"

/* --- expired.c: --expire, for cron: options, run, summary --- */

struct disposition_expire {
	bool wanted;
	uint32_t batch;         /* rows; 0: not given */
	uint32_t purge_after_s; /* 0: not given */
};
#define DISPOSITION_EXPIRE_DEFAULTS { false, 0, 0 }

/*
 * Refuses --expire together with options about loans (@about_loans: one was given), and --batch or
 * --purge-after without --expire. Returns 0, or -1 with @error.
 */
LOCKQ_MUST_CHECK int disposition_expire_check(const struct disposition_expire *options,
    bool about_loans, struct cli_error *error);

/* Connects, runs it and prints what was done. Returns the exit status. */
LOCKQ_MUST_CHECK int disposition_expire_run(struct cli_common *common,
    const struct disposition_expire *options);

#endif
