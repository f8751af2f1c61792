/* SPDX-License-Identifier: MIT */
/* The terminal of checkwork's screen. On every way out it is as it was before. */
#ifndef LOCKQ_CMD_CHECKWORK_TERMINAL_H
#define LOCKQ_CMD_CHECKWORK_TERMINAL_H

#include <stdbool.h>

/* Whether standard input and output are a terminal that can move its cursor. */
bool checkwork_terminal_can(void);

/* False: it can't be used. */
bool checkwork_terminal_open(void);
void checkwork_terminal_close(void);

/* Whether it has another size than curses knew; curses has the new one then. */
bool checkwork_terminal_resized(void);

#endif
