/* SPDX-License-Identifier: MIT */
/* checkwork: shows a user's current assignments and pending requests, who had a loan when, or how a
 * request stands. With the keys of --watch it also acts on them. options.c has the options;
 * output.c looks, by a function for each form, and prints; screen.h says what the files of the
 * screen do. */
#include "checkwork/screen.h"
#include "cli/screen.h"
#include "cli/watch.h"

/* The pipeline is what keys can act on. */
static bool
has_screen(const struct checkwork_options *o)
{
	return o->watch_ms > 0 && !o->tasks && !o->pending && !o->loan.given &&
	    screen_can();
}

/* For --watch without a screen: each look has the patience of --timeout. */
static int
look_again(void *options, struct lockq *q)
{
	struct checkwork_options *o = options;

	o->began = cli_clock_ms();
	return checkwork_look(o, q);
}

int
main(int argc, char **argv)
{
	struct checkwork_options o = CHECKWORK_DEFAULTS;
	struct lockq *q = NULL;
	int rc;

	cli_start(&checkwork_tool, &o, argc, argv);
	cli_set_width(o.width);
	o.began = cli_clock_ms();
	rc = cli_open(&q, &o.common);
	if (rc == LOCKQ_OK && (o.wait_ms > 0 || o.watch_ms > 0))
		cli_catch_signals(NULL);
	if (rc != LOCKQ_OK)
		rc = cli_report_library(&o.common, q, rc);
	else if (has_screen(&o))
		rc = checkwork_screen(&o, q);
	else if (o.watch_ms > 0)
		rc = watch(o.watch_ms, true, look_again, &o, q);
	else
		rc = checkwork_look(&o, q);
	rc = cli_finish(rc, NULL);
	lockq_free(q);
	cli_end(rc);
}
