/* SPDX-License-Identifier: MIT */
/* UTF-8: lengths and widths, cutting, escaping. All functions take any bytes. */
#ifndef LOCKQ_CMD_CLI_UTF8_H
#define LOCKQ_CMD_CLI_UTF8_H

#include <stddef.h>

/* How many characters @text has in its @size bytes; -1 where they are not valid UTF-8. */
long cli_utf8_length(const char *text, size_t size);

/* Columns that @text takes on a terminal. */
size_t cli_width(const char *text);

/*
 * A copy fit for a terminal: control characters as \n, \x1b or \u0085, bytes that are not UTF-8 as
 * \xff, bidirectional overrides as \u202e; free() it. NULL gives "".
 */
char *cli_escape(const char *text);

/* The same of @text, which it frees. */
char *cli_escaped(char *text);

/* A copy that is valid UTF-8: only bytes that are not are escaped; free() it. */
char *cli_valid_utf8(const char *text);

/* A copy cut to @width columns; free() it. */
char *cli_cut(const char *text, size_t width);

/* The same, ending with @ellipsis where text was cut off and there is room for it; free() it. */
char *cli_shorten(const char *text, size_t width, const char *ellipsis);

#endif
