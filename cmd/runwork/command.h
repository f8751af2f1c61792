/* SPDX-License-Identifier: MIT */
/*
 * A command in a process group of its own, and the wait for its end.
 *
 * Its own group is what can be ended as a whole, a pipeline, too. The price is that the terminal
 * sends Ctrl-C and Ctrl-Z to this program only, so command_wait() passes them on.
 */
#ifndef LOCKQ_CMD_RUNWORK_COMMAND_H
#define LOCKQ_CMD_RUNWORK_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lockq.h"

/* How a command ended. */
struct command_end {
	bool begun;
	int exit;    /* its exit status; negative: it has none */
	int signal;  /* the signal that ended it; or 0 */
	uint64_t ms; /* how long it took */
};
#define COMMAND_NOT_BEGUN { false, -1, 0, 0 }

/* A command that runs. */
struct command {
	pid_t pid;        /* and the number of its group */
	uint64_t began;   /* cli_clock_ms() */
	uint64_t kill_at; /* when what is left of it is killed; UINT64_MAX: never */
	bool reaped;
	bool wants_terminal; /* it was stopped since it has used the terminal, and is told to end */
	sigset_t mask;    /* of this program, while no command runs */
	struct sigaction child, stop; /* the same */
	struct command_end end;
};

/* Notes which files this program was given: the commands get these, and none that it opens later.
 * Comes before the first connection. */
void command_note_files(void);

/* Whether @name can be started, as execvp(3) looks for it. Returns 0, or an errno: ENOENT where
 * there is none. */
LOCKQ_MUST_CHECK int command_look(const char *name);

/*
 * Starts @arguments, with standard input from /dev/null. Returns 0, or an errno. Until its end, its
 * group gets the signals that this program gets, see cli_pass_on().
 */
LOCKQ_MUST_CHECK int command_start(struct command *command, char *const arguments[]);

/* Waits until the command has ended, and returns true; or until cli_clock_ms() has reached @until,
 * and returns false. Stops with it on Ctrl-Z. */
LOCKQ_MUST_CHECK bool command_wait(struct command *command, uint64_t until);

/* Tells the command to end: SIGTERM, and SIGKILL to what is left of it some seconds later. It may
 * be told again. */
void command_stop(struct command *command);

#endif
