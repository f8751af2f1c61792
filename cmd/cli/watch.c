/* SPDX-License-Identifier: MIT */
#include "cli/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"

enum { USUAL_MS = 2000 };

int
watch_parse(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	*(int64_t *)target = USUAL_MS;
	return text == NULL ? 0 : cli_parse_seconds(option, text, target, error);
}

/* The terminal's other screen, as pagers use it: what stood there before comes back at the end. */
static const char other_screen[] = "\033[?1049h", first_screen[] = "\033[?1049l";
static const char clear[] = "\033[H\033[2J";

static void
print_heading(int64_t every_ms)
{
	cli_line("%s %s every %s %s Ctrl-C ends", cli_now().text, cli_dot(),
	    cli_ms((uint64_t)every_ms).text, cli_dot());
}

/* On a terminal the picture takes the place of the one before, and the heading comes last, where it
 * is seen. Elsewhere the picture comes after the one before. */
static int
show_picture(int64_t every_ms, watch_fn *look, void *options, struct lockq *q, bool on_terminal,
    bool first)
{
	int status;

	if (on_terminal)
		fputs(clear, stdout);
	else if (!first)
		fputc('\n', stdout);
	if (!on_terminal)
		print_heading(every_ms);
	status = look(options, q);
	if (on_terminal)
		print_heading(every_ms);
	return status;
}

/* A database that is away may come back, and a table that is locked is unlocked. */
static bool
goes_on(int status)
{
	return status == CLI_EXIT_DONE || status == CLI_EXIT_NOTHING || status == CLI_EXIT_BUSY ||
	    status == CLI_EXIT_DATABASE;
}

/* In a signal handler, too. */
static void
leave_screen(void)
{
	(void)!write(STDOUT_FILENO, first_screen, sizeof(first_screen) - 1);
}

int
watch(int64_t every_ms, bool headed, watch_fn *look, void *options, struct lockq *q)
{
	const char *term = getenv("TERM");
	bool on_terminal = headed && isatty(STDOUT_FILENO) != 0 && term != NULL &&
	    strcmp(term, "dumb") != 0;
	int status = CLI_EXIT_DONE;

	if (on_terminal) {
		cli_before_end(leave_screen);
		fputs(other_screen, stdout);
	}
	for (bool first = true; cli_caught() == 0 && goes_on(status); first = false) {
		status = headed ? show_picture(every_ms, look, options, q, on_terminal, first) :
		    look(options, q);
		if (fflush(stdout) != 0)
			return status;
		if (goes_on(status))
			cli_nap((uint64_t)every_ms);
	}
	if (on_terminal) {
		cli_before_end(NULL);
		leave_screen();
	}
	if (cli_caught() != 0)
		return cli_exit_status(LOCKQ_CANCELLED, cli_caught());
	/* The message stood on the other screen. */
	return on_terminal ? look(options, q) : status;
}
