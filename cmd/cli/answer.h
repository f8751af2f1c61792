/* SPDX-License-Identifier: MIT */
/* A request's answer, for getwork, runwork and checkwork: as text, or as JSON. */
#ifndef LOCKQ_CMD_CLI_ANSWER_H
#define LOCKQ_CMD_CLI_ANSWER_H

#include <stdbool.h>
#include <time.h>

#include "cli/json.h"
#include "cli/options.h"
#include "lockq.h"

/* Whether the loans come from the list that a leader has left, and not from one who led. */
bool cli_answer_is_from_list(const struct lockq_answer *answer);

/* Prints heading, loans and summary on standard output: on a terminal with the task's own columns,
 * for --verbose with the tokens, and with @waited also how long this call took. */
void cli_answer_loans(const struct cli_common *common, struct lockq *q,
    const struct lockq_answer *answer, bool waited);

/*
 * "3 of 3 loans for oliver · served in 3.1 s by tracy's query (2.9 s) · request 118"; free() it.
 * Of a kept list: "served in 9 ms from tracy's list of 12 s ago". @dot separates the facts. @waited
 * as above.
 */
char *cli_answer_summary(const struct lockq_answer *answer, bool waited, const char *dot);

/*
 * "no work for task 7 as of 10:42:03", or "nothing for oliver in task 7 as of 10:42:03: 3 loans are
 * left, but they were returned with --not-me"; free() it.
 */
char *cli_answer_no_work(const struct lockq_answer *answer, time_t now);

/* "3rd in line, behind requests for 8 loans · expected in about 40 s", of a pending request;
 * free() it. */
char *cli_answer_line(const struct lockq_answer *answer, const char *dot);

/* The object of a request; @error may be NULL. */
json_t *cli_json_answer(const struct lockq_answer *answer, int status, const char *error);

/* Prints the answer to a request that was made, or that was to be @cancelled, which ended with @rc;
 * and @complaint, the tool's message about it on standard error, or NULL. */
void cli_answer_print(const struct cli_common *common, struct lockq *q,
    const struct lockq_answer *answer, bool cancelled, int rc, int status, const char *complaint);

#endif
