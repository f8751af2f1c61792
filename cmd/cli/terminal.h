/* SPDX-License-Identifier: MIT */
/* What standard output can show, and single lines: on it, and on standard error. */
#ifndef LOCKQ_CMD_CLI_TERMINAL_H
#define LOCKQ_CMD_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/text.h"

enum { CLI_WIDTH_LEAST = 20, CLI_WIDTH_MOST = 10000 };

enum cli_style {
	CLI_PLAIN = 0,      /* ASCII */
	CLI_BOXES = 1       /* box drawing */
};

/* CLI_BOXES where standard output is a terminal of a UTF-8 locale. */
enum cli_style cli_stdout_style(void);

/* The columns of the terminal on @fd: its own answer, else COLUMNS, else 80. 0 where @fd is no
 * terminal. */
size_t cli_columns(int fd);

/* How wide tables on standard output may be: @width of cli_set_width(); in a file as wide as they
 * are, which is 0; else COLUMNS, the terminal's columns, or 80. */
size_t cli_table_width(void);
void cli_set_width(size_t width);

/* The separator of two facts on a line of standard output: "·", or "-" in plain style. */
const char *cli_dot(void);

/* Whether bold is fine: standard output is a terminal without NO_COLOR and TERM=dumb. */
bool cli_shows_bold(void);

/* Each of these prints a text, escaped; the functions take it, and the macros make it of a format
 * and its arguments. */

/* Prints @text, which is escaped, on lines that end between words and have @columns at most, but
 * for a longer word; 0: on one line. No line end follows. */
void cli_fold(FILE *out, const char *text, size_t columns);

/* A line on standard output, bold where that is fine. */
void cli_put_heading(char *text);
#define cli_heading(...) cli_put_heading(cli_text(__VA_ARGS__))

/* A line on standard output; on a terminal it is folded. */
void cli_put_line(char *text);
#define cli_line(...) cli_put_line(cli_text(__VA_ARGS__))

/* "getwork: …" on standard error; @end is "\n", or "" before an answer is read. */
void cli_put_message(char *text, const char *end);
#define cli_message(...) cli_put_message(cli_text(__VA_ARGS__), "\n")
#define cli_prompt(...) cli_put_message(cli_text(__VA_ARGS__), "")

/* Sets the name of the program, with which messages begin. @name is kept. */
void cli_messages_of(const char *name);

/* Draws a line of progress on standard error over the last one. */
void cli_draw_tick(const char *line);

/* Erases that line. All functions that print a line do so first. */
void cli_tick_end(void);

#endif
