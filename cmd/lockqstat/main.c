/* SPDX-License-Identifier: MIT */
/* lockqstat: for operators, who want to see what is going on: who leads, who waits, what is
 * assigned, how fast it goes, and what is wrong. options.c has the options; output.c looks, and
 * prints JSON; follow.c has the change feed, screen.c the keys of --watch; table.c, metrics.c and
 * the files of report.h print the rest, and cli/health.c says what is wrong. */
#include "cli/screen.h"
#include "cli/watch.h"
#include "lockqstat/tool.h"

static int
look_again(void *options, struct lockq *q)
{
	return lockqstat_look(options, q);
}

int
main(int argc, char **argv)
{
	struct lockqstat_options o = LOCKQSTAT_DEFAULTS;
	struct lockq *q = NULL;
	int rc;

	cli_start(&lockqstat_tool, &o, argc, argv);
	cli_set_width(o.width);
	rc = cli_open(&q, &o.common);
	if (rc == LOCKQ_OK && o.watch_ms > 0)
		cli_catch_signals(NULL);
	if (rc == LOCKQ_OK)
		lockq_look_timeout(q, o.common.look_timeout_ms);
	if (rc != LOCKQ_OK) {
		rc = lockqstat_failed(&o, q, rc);
	} else if (lockqstat_follow_wanted(&o.follow)) {
		rc = lockqstat_follow_run(&o.follow, &o.common, q);
	} else if (o.watch_ms > 0 && !o.common.json && screen_can()) {
		rc = lockqstat_screen(&o, q);
	} else if (o.watch_ms > 0) {
		rc = watch(o.watch_ms, !o.common.json, look_again, &o, q);
	} else {
		rc = lockqstat_look(&o, q);
	}
	rc = cli_finish(rc, NULL);
	lockq_free(q);
	cli_end(rc);
}
