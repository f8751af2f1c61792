/* SPDX-License-Identifier: MIT */
#include "cli/exit_status.h"

int
cli_exit_status(int rc, int signal)
{
	switch ((enum lockq_rc)rc) {
	case LOCKQ_OK:
		return CLI_EXIT_DONE;
	case LOCKQ_NOTHING:
		return CLI_EXIT_NOTHING;
	case LOCKQ_BUSY:
		return CLI_EXIT_BUSY;
	case LOCKQ_CANCELLED:
		return signal != 0 ? 128 + signal : CLI_EXIT_BUSY;
	case LOCKQ_EUSAGE:
		return CLI_EXIT_USAGE;
	case LOCKQ_EREFUSED:
		return CLI_EXIT_REFUSED;
	case LOCKQ_EUNKNOWN:
		return CLI_EXIT_UNKNOWN;
	case LOCKQ_EDATABASE:
	case LOCKQ_EQUERY:
	case LOCKQ_ENOMEM:
		break;
	}
	return CLI_EXIT_DATABASE;
}

int
cli_exit_status_of_loan(enum lockq_disposed what)
{
	if (what == LOCKQ_NOT_COMPLETED)
		return CLI_EXIT_DATABASE;
	return what <= LOCKQ_DISPOSED_ALREADY ? CLI_EXIT_DONE : CLI_EXIT_REFUSED;
}
