/* SPDX-License-Identifier: MIT */
#include "checkwork_watch.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "cli_signals.h"
#include "cli_table.h"
#include "cli_terminal.h"
#include "cli_times.h"
#include "exit_status.h"

enum {
	USUAL_MS = 2000,
	SLICE_MS = 100 /* a signal that comes between two looks is heard after this */
};

int
checkwork_watch_parse(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	*(int64_t *)target = USUAL_MS;
	return text == NULL ? 0 : cli_parse_seconds(option, text, target, error);
}

/* On a terminal the picture takes the place of the one before; elsewhere it comes after it. */
static void
begin_picture(const struct checkwork_options *o, bool first)
{
	char now[16] = "", every[CLI_TIME_SIZE];
	time_t seconds = time(NULL);
	struct tm local;

	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	else if (!first)
		fputc('\n', stdout);
	if (localtime_r(&seconds, &local) != NULL)
		strftime(now, sizeof(now), "%H:%M:%S", &local);
	cli_ms(every, (uint64_t)o->watch_ms);
	cli_line("%s %s every %s %s Ctrl-C ends", now, cli_dot(), every, cli_dot());
}

/* A database that is away may come back, and a table that is locked is unlocked. */
static bool
goes_on(int status)
{
	return status == CLI_EXIT_DONE || status == CLI_EXIT_NOTHING || status == CLI_EXIT_BUSY ||
	    status == CLI_EXIT_DATABASE;
}

static void
nap(uint64_t ms)
{
	uint64_t end = cli_clock_ms() + ms;

	for (uint64_t now = cli_clock_ms(); now < end && cli_caught() == 0; now = cli_clock_ms())
		(void)poll(NULL, 0, end - now < SLICE_MS ? (int)(end - now) : SLICE_MS);
}

int
checkwork_watch(const struct checkwork_options *o, struct lockq *q)
{
	struct checkwork_options look = *o;
	int status = CLI_EXIT_DONE;

	for (bool first = true; cli_caught() == 0 && goes_on(status); first = false) {
		look.began = cli_clock_ms();
		begin_picture(o, first);
		status = checkwork_look(&look, q);
		if (fflush(stdout) != 0)
			return status;
		if (goes_on(status))
			nap((uint64_t)o->watch_ms);
	}
	return cli_caught() != 0 ? cli_exit_status(LOCKQ_CANCELLED, cli_caught()) : status;
}
