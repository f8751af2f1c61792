/* SPDX-License-Identifier: MIT */
/* Ctrl-C, SIGTERM and SIGHUP. */
#ifndef LOCKQ_CMD_CLI_SIGNALS_H
#define LOCKQ_CMD_CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * From this call on, SIGINT, SIGTERM and SIGHUP only set a flag, and cli_on_progress() makes a
 * waiting call of the library give up. Before it, they end the process as usual. A second signal
 * that comes two seconds later or more ends the process at once, with the message "ended at once".
 * @consequence, or NULL, ends that message.
 */
void cli_catch_signals(const char *consequence);

/* The signal that was caught, or 0. */
int cli_caught(void);

/* Ctrl-C has ended what it was meant for, and the program goes on. */
void cli_forget_interrupt(void);

/* Calls @restore before a second signal ends the process: it gives the terminal back. NULL: nothing
 * is called. */
void cli_before_end(void (*restore)(void));

/* From now on the process group @to gets what is caught, or has been, whatever this process waits
 * for. The second signal kills the group in place of this process, and the third counts two seconds
 * after that. 0: no group. */
void cli_pass_on(pid_t to);

/* Blocks SIGINT, SIGTERM, SIGHUP and @more, until sigprocmask() sets *@before again. */
void cli_block_signals(int more, sigset_t *before);

/* Sleeps for so many milliseconds, or until a signal is caught. */
void cli_nap(uint64_t ms);

#endif
