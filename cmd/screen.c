/* SPDX-License-Identifier: MIT */
#include "checkwork_terminal.h"

#include <curses.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#include "cli_signals.h"

enum { ESCAPE_MS = 100 }; /* after which Esc is no arrow key, also over a slow network */

bool
checkwork_terminal_can(void)
{
	int error;
	bool can;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    setupterm(NULL, STDOUT_FILENO, &error) != OK)
		return false;
	can = cursor_address != NULL && clear_screen != NULL;
	(void)del_curterm(cur_term);
	return can;
}

static bool is_open;

/* A terminal without a second screen keeps the picture, and the prompt comes in the place of its
 * last line. */
void
checkwork_terminal_close(void)
{
	if (is_open) {
		move(LINES - 1, 0);
		clrtoeol();
		refresh();
		endwin();
	}
	is_open = false;
	cli_before_end(NULL);
}

/* Where LINES and COLUMNS are exported, curses believes them, and does not tell of a new size. */
bool
checkwork_terminal_resized(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 ||
	    size.ws_col == 0 || !is_term_resized(size.ws_row, size.ws_col))
		return false;
	return resizeterm(size.ws_row, size.ws_col) == OK;
}

/* Ctrl-C stays a signal: it also ends a call of the library that does not look at keys. */
bool
checkwork_terminal_open(void)
{
	if (newterm(NULL, stdout, stdin) == NULL)
		return false;
	is_open = true;
	cli_before_end(checkwork_terminal_close);
	if (atexit(checkwork_terminal_close) != 0)
		return false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	return true;
}
