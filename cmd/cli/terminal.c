/* SPDX-License-Identifier: MIT */
#include <langinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/progress.h"
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

const char *
cli_dot(void)
{
	return cli_stdout_style() == CLI_BOXES ? "·" : "-";
}

CLI_PRINTF(1, 0) static char *
escaped_text(const char *format, va_list arguments)
{
	char *text = cli_vtext(format, arguments), *escaped = cli_escape(text);

	free(text);
	return escaped;
}

void
cli_heading(const char *format, ...)
{
	bool bold = cli_shows_bold();
	va_list arguments;
	char *escaped;

	va_start(arguments, format);
	escaped = escaped_text(format, arguments);
	va_end(arguments);
	cli_tick_end();
	printf("%s%s%s\n", bold ? "\033[1m" : "", escaped, bold ? "\033[0m" : "");
	free(escaped);
}

void
cli_line(const char *format, ...)
{
	va_list arguments;
	char *escaped;

	va_start(arguments, format);
	escaped = escaped_text(format, arguments);
	va_end(arguments);
	cli_tick_end();
	puts(escaped);
	free(escaped);
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

static size_t width_set;

void
cli_set_width(size_t width)
{
	width_set = width;
}

size_t
cli_table_width(void)
{
	if (width_set > 0)
		return width_set;
	return isatty(STDOUT_FILENO) && columns_wished() > 0 ? columns_wished() :
	    cli_columns(STDOUT_FILENO);
}
