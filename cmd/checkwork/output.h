/* SPDX-License-Identifier: MIT */
/* What checkwork prints, as text for people or as JSON: a table of functions each. A user's
 * assignments are printed by cli/pipeline.c. */
#ifndef LOCKQ_CMD_CHECKWORK_OUTPUT_H
#define LOCKQ_CMD_CHECKWORK_OUTPUT_H

#include <stdbool.h>

#include "lockq.h"

struct checkwork_output {
	/* A look at a request; @complaint is the tool's message about it on standard error, or
	 * NULL. */
	void (*request)(const struct lockq_answer *answer, int rc, int status,
	    const char *complaint);

	/* @task is 0 for every task. */
	void (*requests)(const char *user, uint32_t task, const struct lockq_requests *requests);
	void (*tasks)(const char *user, const struct lockq_tasks *tasks);
	void (*history)(uint32_t task, uint64_t loan_id, const struct lockq_history *history);
};

const struct checkwork_output *checkwork_output(bool json);

/* loan_history.c: prints what happened to the loan. @history has at least one event. */
void loan_history(uint32_t task, uint64_t loan_id, const struct lockq_history *history);

#endif
