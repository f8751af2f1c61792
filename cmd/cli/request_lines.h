/* SPDX-License-Identifier: MIT */
/* The lines that checkwork prints of a user's pending requests. */
#ifndef LOCKQ_CMD_CLI_REQUEST_LINES_H
#define LOCKQ_CMD_CLI_REQUEST_LINES_H

#include <time.h>

#include "lockq.h"

/* Prints a line for each request. */
void request_lines(const char *user, const struct lockq_requests *requests);

/*
 * "request 118 for 3 loans of task 7 is pending since 10:42 (3 min 20 s): tracy leads"; free() it.
 */
char *request_line(const char *user, const struct lockq_request *request, time_t now);

#endif
