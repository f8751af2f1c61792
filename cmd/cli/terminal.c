/* SPDX-License-Identifier: MIT */
#include <langinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "cli/utf8.h"
#include "cli/values.h"

enum { COLUMNS_DEFAULT = 80 };

enum cli_style
cli_stdout_style(void)
{
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;

	return utf8 && isatty(STDOUT_FILENO) ? CLI_BOXES : CLI_PLAIN;
}

bool
cli_shows_bold(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0') &&
	    term != NULL && strcmp(term, "dumb") != 0;
}

/* The number in COLUMNS, or 0. */
static size_t
columns_wished(void)
{
	const char *columns = getenv("COLUMNS");
	uint64_t number = 0;

	if (columns == NULL || cli_number(&number, columns) != 0)
		return 0;
	return number < CLI_WIDTH_MOST ? (size_t)number : CLI_WIDTH_MOST;
}

size_t
cli_columns(int fd)
{
	struct winsize size;
	size_t wished = columns_wished();

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return wished > 0 ? wished : COLUMNS_DEFAULT;
}

static size_t ticking; /* columns of the line that is on the terminal now */

void
cli_draw_tick(const char *line)
{
	size_t width = cli_width(line);
	int rest = ticking > width ? (int)(ticking - width) : 0;

	/* spaces over the rest of the last line: every terminal can do that */
	fprintf(stderr, "\r%s%*s", line, rest, "");
	if (rest > 0)
		fprintf(stderr, "\r%s", line);
	fflush(stderr);
	ticking = width;
}

void
cli_tick_end(void)
{
	size_t columns;

	if (ticking == 0)
		return;
	ticking += 2; /* the terminal's ^C stands there */
	columns = cli_columns(STDERR_FILENO);
	if (columns > 0 && ticking >= columns)
		ticking = columns - 1;
	cli_draw_tick("");
	fputs("\r", stderr);
	fflush(stderr);
}

const char *
cli_dot(void)
{
	return cli_stdout_style() == CLI_BOXES ? "·" : "-";
}

void
cli_put_heading(char *text)
{
	bool bold = cli_shows_bold();
	char *escaped = cli_escaped(text);

	cli_tick_end();
	printf("%s%s%s\n", bold ? "\033[1m" : "", escaped, bold ? "\033[0m" : "");
	free(escaped);
}

void
cli_fold(FILE *out, const char *text, size_t columns)
{
	while (columns > 0 && cli_width(text) > columns) {
		/* One column more, for the blank behind a word that just fits. */
		char *line = cli_cut(text, columns + 1);
		const char *blank = strrchr(line, ' ');
		size_t n = blank != NULL ? (size_t)(blank - line) : strcspn(text, " ");

		free(line);
		if (text[n] == '\0')
			break;
		fprintf(out, "%.*s\n", (int)n, text);
		text += n + 1;
	}
	fputs(text, out);
}

void
cli_put_line(char *text)
{
	char *escaped = cli_escaped(text);

	cli_tick_end();
	cli_fold(stdout, escaped, isatty(STDOUT_FILENO) ? cli_table_width() : 0);
	putchar('\n');
	free(escaped);
}

static const char *program = "lockq";

void
cli_messages_of(const char *name)
{
	program = name;
}

void
cli_put_message(char *text, const char *end)
{
	char *escaped = cli_escaped(text), *line = cli_text("%s: %s", program, escaped);

	cli_tick_end();
	fflush(stdout); /* both may be one pipe, and the lines keep their order there */
	cli_fold(stderr, line, cli_columns(STDERR_FILENO));
	fputs(end, stderr);
	free(line);
	free(escaped);
}

static size_t width_set;

void
cli_set_width(size_t width)
{
	width_set = width;
}

/* What a pipe leads to is read by people, too: watch, less, a mail. */
size_t
cli_table_width(void)
{
	struct stat of;
	size_t columns = cli_columns(STDOUT_FILENO);

	if (width_set > 0)
		return width_set;
	if (columns == 0 && fstat(STDOUT_FILENO, &of) == 0 && S_ISREG(of.st_mode))
		return 0;
	if (columns_wished() > 0)
		return columns_wished();
	return columns > 0 ? columns : COLUMNS_DEFAULT;
}
