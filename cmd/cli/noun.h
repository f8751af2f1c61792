/* SPDX-License-Identifier: MIT */
/* What people call a loan: the noun of the task that a program is about. */
#ifndef LOCKQ_CMD_CLI_NOUN_H
#define LOCKQ_CMD_CLI_NOUN_H

#include "cli/options.h"

/* Asks the database for the noun of @task, where the output is for people. Before, and where the
 * task has none, it is "loan". */
void cli_noun_read(const struct cli_common *common, struct lockq *q, uint32_t task);
/* The same for a pipeline: where it has loans of several tasks whose nouns differ, the noun is
 * "loan". @task is the one that was asked for; or 0. */
void cli_noun_of_pipeline(const struct cli_common *common, struct lockq *q, uint32_t task,
    const struct lockq_pipeline *pipeline);
/* The same for a loan's history. */
void cli_noun_of_history(const struct cli_common *common, struct lockq *q, uint32_t task,
    const struct lockq_history *history);
/* The same for the tasks of which a user holds loans. */
void cli_noun_of_held(const struct cli_common *common, struct lockq *q,
    const struct lockq_tasks *tasks);
/* The same for a noun that is known: "ticket", or "entry/entries". */
void cli_noun_set(const char *noun);

/* The noun of one of them, the same as the begin of a heading, and that of @n. */
const char *cli_loan(void);
const char *cli_loan_title(void);
const char *cli_loans(uint64_t n);

#endif
