/* SPDX-License-Identifier: MIT */
/* What standard output can show, and lines on it. */
#ifndef LOCKQ_CMD_CLI_TERMINAL_H
#define LOCKQ_CMD_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli_text.h"

enum cli_style {
	CLI_PLAIN = 0,      /* ASCII */
	CLI_BOXES = 1       /* box drawing */
};

/* Whether the locale's characters are UTF-8. */
bool cli_utf8_locale(void);

/* CLI_BOXES where standard output is a terminal of a UTF-8 locale. */
enum cli_style cli_stdout_style(void);

/* How wide standard output is: as the terminal says, or COLUMNS; 0 where it is no terminal. */
size_t cli_stdout_columns(void);

/* Whether standard output is a terminal that may be coloured: NO_COLOR, TERM=dumb. */
bool cli_stdout_bold(void);

/* What stands between two facts on a line of standard output: "·", or "-" in plain style. */
const char *cli_dot(void);

/* A line of its own on standard output, bold where that is fine; escaped. */
void cli_heading(const char *format, ...) CLI_PRINTF(1, 2);

/* A line on standard output, escaped. */
void cli_line(const char *format, ...) CLI_PRINTF(1, 2);

#endif
