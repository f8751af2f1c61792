/* SPDX-License-Identifier: MIT */
/* The exit statuses of the programs, and how the library's return codes are mapped to them. */
#ifndef LOCKQ_CMD_CLI_EXIT_STATUS_H
#define LOCKQ_CMD_CLI_EXIT_STATUS_H

#include "lockq.h"

/*
 * A program that a signal ended exits with 128 + the signal's number: 130, 143 or 129.
 *
 * CLI_EXIT_DATABASE is also the status of an answer that could not be written to standard output,
 * whatever the library returned: a script that did not get the loans must not take the call for
 * done.
 */
enum cli_exit {
	CLI_EXIT_DONE = 0,
	CLI_EXIT_NOTHING = 1,
	CLI_EXIT_USAGE = 2,
	CLI_EXIT_BUSY = 3,
	CLI_EXIT_REFUSED = 4,
	CLI_EXIT_DATABASE = 5,
	CLI_EXIT_UNKNOWN = 6
};

/* The exit status for a return code of the library; @signal is the signal that was caught, or 0. */
int cli_exit_status(int rc, int signal);

/* The exit status of a disposition of one loan that ended like this. */
int cli_exit_status_of_loan(enum lockq_disposed what);

#endif
