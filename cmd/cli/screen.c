/* SPDX-License-Identifier: MIT */
#include "cli/program.h"
#include "cli/screen.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <term.h>
#include <time.h>
#include <unistd.h>

#include "cli/utf8.h"

enum {
	ESCAPE_MS = 100,    /* after which Esc is no arrow key, also over a slow network */
	LOOK_MOST_MS = 2000 /* a look waits no longer for a locked table: keys have to work */
};

bool
screen_can(void)
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
screen_close(void)
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
screen_resized(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 ||
	    size.ws_col == 0 || !is_term_resized(size.ws_row, size.ws_col))
		return false;
	return resizeterm(size.ws_row, size.ws_col) == OK;
}

/* Ctrl-C stays a signal: it also ends a call of the library that does not look at keys. */
bool
screen_open(void)
{
	if (newterm(NULL, stdout, stdin) == NULL)
		return false;
	is_open = true;
	cli_before_end(screen_close);
	if (atexit(screen_close) != 0)
		return false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	return true;
}

void
screen_put(int row, int column, const char *text, attr_t look)
{
	size_t room = COLS > column ? (size_t)(COLS - column) : 0;
	char *cut = cli_cut(text, room);
	bool ascii = cli_stdout_style() == CLI_PLAIN;

	for (char *c = cut; ascii && *c != '\0'; c++) {
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	}
	attrset(look);
	mvaddstr(row, column, cut);
	attrset(A_NORMAL);
	free(cut);
}

attr_t
screen_bold(void)
{
	return cli_shows_bold() ? A_BOLD : A_NORMAL;
}

void
screen_heading(const char *title, int64_t every_ms)
{
	char *text = cli_escape(title);

	screen_put(0, 0, text, screen_bold());
	free(text);
	text = cli_text("  %s %s every %s", cli_now().text, cli_dot(),
	    cli_ms((uint64_t)every_ms).text);
	if (cli_width(text) < (size_t)COLS)
		screen_put(0, COLS - (int)cli_width(text), text, A_NORMAL);
	free(text);
}

/* Waits for a key, for a signal, which is let in for this moment only, or until cli_clock_ms() is
 * @until. True: there is a key, or the terminal is gone. */
static bool
wait_for_key(uint64_t until)
{
	uint64_t now = cli_clock_ms(), rest = until > now ? until - now : 0;
	struct timespec time_left = { (time_t)(rest / 1000), (long)(rest % 1000) * 1000000 };
	sigset_t before;
	fd_set in;
	bool key = false;

	FD_ZERO(&in);
	FD_SET(STDIN_FILENO, &in);
	cli_block_signals(SIGWINCH, &before);
	if (cli_caught() == 0)
		key = pselect(STDIN_FILENO + 1, &in, NULL, NULL, &time_left, &before) > 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return key;
}

static int
on_look(const struct lockq_progress *progress, void *data)
{
	(void)progress;
	(void)data;
	return cli_caught() != 0;
}

void
screen_look_with(struct lockq *q, int64_t timeout_ms)
{
	lockq_on_progress(q, on_look, NULL);
	lockq_look_timeout(q, timeout_ms < LOOK_MOST_MS ? timeout_ms : LOOK_MOST_MS);
}

void
screen_run(const struct screen_loop *loop)
{
	int silent = 0, key;

	while (!*loop->ends && cli_caught() == 0) {
		bool ready;

		if (screen_resized())
			loop->resized(loop->data);
		if (cli_clock_ms() >= *loop->next_look)
			loop->look(loop->data);
		if (*loop->ends)
			break;
		loop->draw(loop->data);
		ready = wait_for_key(*loop->next_look);
		key = getch();
		/* A terminal that is gone is always ready, and has no key. */
		silent = ready && key == ERR ? silent + 1 : 0;
		*loop->ends = *loop->ends || silent > 3;
		for (; key != ERR && !*loop->ends; key = getch())
			loop->key(loop->data, key);
	}
}
