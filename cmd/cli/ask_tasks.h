/* SPDX-License-Identifier: MIT */
/* getwork --tasks: asks several tasks, one after the other, until one has loans. */
#ifndef LOCKQ_CMD_CLI_ASK_TASKS_H
#define LOCKQ_CMD_CLI_ASK_TASKS_H

#include "cli/options.h"

enum { GETWORK_TASKS_MOST = 64 };

struct getwork_tasks {
	uint32_t tasks[GETWORK_TASKS_MOST]; /* in the order in which they are asked */
	size_t n;                           /* 0: not given */
	bool unshared;                      /* each request has a UUID of its own */
	uint64_t began;                     /* getwork_tasks_find(); cli_clock_ms(); 0: never */
};

cli_parse_fn getwork_tasks_parse;

/* For --any: fills @tasks with the enabled tasks that have a place, in their order: the first
 * ones, if there are more than it has room for. @ask->timeout_ms counts from here on. Returns what
 * lockq_tasks() returns. */
LOCKQ_MUST_CHECK int getwork_tasks_find(struct getwork_tasks *tasks, struct lockq *q,
    const struct lockq_ask *ask);

/* Shows the answer of a task that had no loans, before the next one is asked. */
typedef void getwork_tasks_fn(void *data, struct lockq_answer *answer, int rc);

/* Asks as @ask says, but for the tasks of @tasks: first each one's list, in this order, since that
 * takes a moment; then each task as getwork --task does, but for paused ones, unless all are. Ends
 * at the first loans, and when the time is over. @ask->task and @answer are then those of the last
 * task that was asked. Returns what lockq_getwork() has returned for it. */
LOCKQ_MUST_CHECK int getwork_tasks_ask(const struct getwork_tasks *tasks, struct lockq *q,
    struct lockq_ask *ask, struct lockq_answer *answer, getwork_tasks_fn *show, void *data);

#endif
