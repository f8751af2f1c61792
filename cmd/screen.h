/* SPDX-License-Identifier: MIT */
/* The terminal of a screen with keys. On every way out it is as it was before. */
#ifndef LOCKQ_CMD_SCREEN_H
#define LOCKQ_CMD_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include <curses.h>

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

/* Waits for a key, for a signal, or until cli_clock_ms() is @until. True: there is a key, or the
 * terminal is gone. */
bool screen_wait(uint64_t until);

#endif
