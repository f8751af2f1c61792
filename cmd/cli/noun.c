/* SPDX-License-Identifier: MIT */
#include "cli/noun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/utf8.h"

static char one[LOCKQ_NOUN_SIZE] = "loan", title[LOCKQ_NOUN_SIZE] = "Loan";
static char many[LOCKQ_NOUN_SIZE + 1] = "loans";

void
cli_noun_set(const char *noun)
{
	/* It is a heading, too, which is printed as it is. */
	char *shown = cli_escape(noun);
	size_t length = strcspn(shown, "/");

	snprintf(one, sizeof(one), "%.*s", (int)length, shown);
	snprintf(title, sizeof(title), "%s", one);
	if (title[0] >= 'a' && title[0] <= 'z')
		title[0] = (char)(title[0] - 'a' + 'A');
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

/* The same for things of which each is of a task: *@task is 0 before the first one. Once there are
 * two tasks, the noun is "loan", and this is false. */
static bool
is_of_one_task(uint32_t *task, uint32_t of)
{
	bool same = *task == 0 || *task == of;

	if (!same)
		cli_noun_set("loan");
	*task = of;
	return same;
}

void
cli_noun_of_pipeline(const struct cli_common *common, struct lockq *q, uint32_t task,
    const struct lockq_pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->n_assignments; i++) {
		if (!is_of_one_task(&task, pipeline->assignments[i].task))
			return;
	}
	cli_noun_read(common, q, task);
}

void
cli_noun_of_history(const struct cli_common *common, struct lockq *q, uint32_t task,
    const struct lockq_history *history)
{
	for (size_t i = 0; i < history->n_events; i++) {
		if (!is_of_one_task(&task, history->events[i].task))
			return;
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

const char *
cli_loan_title(void)
{
	return title;
}
