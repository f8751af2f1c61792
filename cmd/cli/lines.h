/* SPDX-License-Identifier: MIT */
/* Lines of text that a screen shows a part of. */
#ifndef LOCKQ_CMD_CLI_LINES_H
#define LOCKQ_CMD_CLI_LINES_H

#include <stddef.h>

struct lines {
	char **text;  /* escaped */
	size_t n;
};
#define LINES_INIT { NULL, 0 }

/* Adds a line. Takes @text, which may come from the database. */
void lines_add(struct lines *lines, char *text);

/* Adds the lines of a table, each with its newline; they are escaped already. Takes @table. */
void lines_add_table(struct lines *lines, char *table);

void lines_clear(struct lines *lines);

#endif
