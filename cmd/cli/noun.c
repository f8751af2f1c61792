/* SPDX-License-Identifier: MIT */
#include "cli/noun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/utf8.h"

static char one[LOCKQ_NOUN_SIZE] = "loan", many[LOCKQ_NOUN_SIZE + 1] = "loans";

void
cli_noun_set(const char *noun)
{
	/* It is a heading, too, which is printed as it is. */
	char *shown = cli_escape(noun);
	size_t length = strcspn(shown, "/");

	snprintf(one, sizeof(one), "%.*s", (int)length, shown);
	if (shown[length] == '/')
		snprintf(many, sizeof(many), "%s", shown + length + 1);
	else
		snprintf(many, sizeof(many), "%ss", one);
	free(shown);
}

void
cli_noun_read(const struct cli_common *common, struct lockq *q, uint32_t task)
{
	char noun[LOCKQ_NOUN_SIZE];

	if (task == 0 || q == NULL || common->json)
		return;
	lockq_noun(q, task, noun);
	cli_noun_set(noun);
}

void
cli_noun_of_pipeline(const struct cli_common *common, struct lockq *q, uint32_t task,
    const struct lockq_pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->n_assignments; i++) {
		if (task != 0 && pipeline->assignments[i].task != task) {
			cli_noun_set("loan");
			return;
		}
		task = pipeline->assignments[i].task;
	}
	cli_noun_read(common, q, task);
}

const char *
cli_loan(void)
{
	return one;
}

const char *
cli_loans(uint64_t n)
{
	return n == 1 ? one : many;
}
