/* SPDX-License-Identifier: MIT */
#include <curses.h>
#include <stdlib.h>
#include <time.h>

#include "checkwork_screen.h"
#include "cli_terminal.h"
#include "cli_text.h"
#include "cli_times.h"
#include "cli_utf8.h"

static const char keys[] =
	"c complete  r return  n never  e renew  m more  q quit  ? more keys";

/* Prints text that is escaped. A terminal of another character set gets ASCII only. */
static void
put(int row, int column, const char *text, attr_t look)
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

static attr_t
bold(void)
{
	return cli_shows_bold() ? A_BOLD : A_NORMAL;
}

static void
draw_heading(const struct checkwork_screen *s)
{
	char now[16] = "", every[CLI_TIME_SIZE], *text, *escaped;
	time_t seconds = time(NULL);
	struct tm local;

	if (localtime_r(&seconds, &local) != NULL)
		strftime(now, sizeof(now), "%H:%M:%S", &local);
	cli_ms(every, (uint64_t)s->o->watch_ms);
	text = cli_text("Pipeline %s %s", cli_dot(), s->o->user);
	escaped = cli_escape(text);
	put(0, 0, escaped, bold());
	free(escaped);
	free(text);
	text = cli_text("  %s %s every %s", now, cli_dot(), every);
	if (cli_width(text) < (size_t)COLS)
		put(0, COLS - (int)cli_width(text), text, A_NORMAL);
	free(text);
}

/* Scrolls so that the marked row is seen, and with the first or the last row what is around it. */
static void
scroll_to_mark(struct checkwork_screen *s, size_t height)
{
	size_t n = s->page.pipeline.n_assignments, end = s->page.n_lines - 1;
	size_t row = n > 0 ? s->page.row_of[s->marked] : 0;
	size_t first = s->marked > 0 ? row : 0, last = s->marked + 1 < n ? row : end;

	if (s->top > end)
		s->top = end;
	if (last >= s->top + height)
		s->top = last - height + 1;
	if (first < s->top && last < first + height)
		s->top = first;
	if (row < s->top)
		s->top = row;
}

static void
draw_page(struct checkwork_screen *s)
{
	size_t height = LINES > 3 ? (size_t)LINES - 2 : 1, n = s->page.n_lines;
	size_t marked = s->has_mark ? s->page.row_of[s->marked] : n;

	if (n == 0)
		return;
	scroll_to_mark(s, height);
	for (size_t i = 0; i < height && s->top + i < n; i++)
		put((int)i + 1, 0, s->page.lines[s->top + i],
		    s->top + i == marked ? A_REVERSE : A_NORMAL);
}

void
checkwork_draw(struct checkwork_screen *s, const char *doing)
{
	char *question = checkwork_key_question(s);
	const char *text = question != NULL ? question : doing != NULL ? doing :
	    s->message != NULL ? s->message : keys;
	char *escaped = cli_escape(text);

	erase();
	draw_heading(s);
	draw_page(s);
	put(LINES - 1, 0, escaped, text == keys ? A_NORMAL : bold());
	refresh();
	free(escaped);
	free(question);
}

void
checkwork_draw_lines(struct checkwork_screen *s)
{
	size_t most = COLS > CLI_WIDTH_LEAST ? (size_t)COLS : CLI_WIDTH_LEAST;
	size_t width = cli_table_width();

	checkwork_page_draw(&s->page, s->o->user, width < most ? width : most, cli_stdout_style());
}
