/* SPDX-License-Identifier: MIT */
/* The terminal of a screen with keys. On every way out it is as it was before. */
#ifndef LOCKQ_CMD_CLI_SCREEN_H
#define LOCKQ_CMD_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <curses.h>

#include "lockq.h"

/* Whether standard input and output are a terminal that can move its cursor. */
bool screen_can(void);

/* False: it can't be used. */
bool screen_open(void);
void screen_close(void);

/* Whether it has another size than curses knew; curses has the new one then. */
bool screen_resized(void);

/* Prints text that is escaped, as much of it as the line has room for. A terminal of another
 * character set gets ASCII only. */
void screen_put(int row, int column, const char *text, attr_t look);

/* Bold, where that is fine. */
attr_t screen_bold(void);

/* Prints the first line: the title, which is escaped here, and the time. */
void screen_heading(const char *title, int64_t every_ms);

/* Lets a signal end the looks of @q, and bounds their wait for locked tables: keys have to work. */
void screen_look_with(struct lockq *q, int64_t timeout_ms);

/* A screen that is drawn anew after each key and each look. */
struct screen_loop {
	void (*resized)(void *data);
	void (*look)(void *data);         /* sets *@next_look */
	void (*draw)(void *data);
	void (*key)(void *data, int key); /* KEY_RESIZE, too */
	void *data;
	const uint64_t *next_look;        /* cli_clock_ms() */
	bool *ends;
};

/* Runs it until *@loop->ends, a signal, or the end of the terminal. */
void screen_run(const struct screen_loop *loop);

/* --- lines of text that a screen shows a part of --- */

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
