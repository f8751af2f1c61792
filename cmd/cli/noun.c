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

/* The nouns of several tasks: one, as long as they are the same. */
struct nouns {
	uint32_t task; /* the last one; 0: none so far */
	char noun[LOCKQ_NOUN_SIZE];
	bool differ;
};

static void
add_noun(struct nouns *nouns, struct lockq *q, uint32_t task)
{
	char noun[LOCKQ_NOUN_SIZE];

	if (task == nouns->task)
		return;
	lockq_noun(q, task, noun);
	nouns->differ = nouns->differ || (nouns->task != 0 && strcmp(noun, nouns->noun) != 0);
	memcpy(nouns->noun, noun, sizeof(noun));
	nouns->task = task;
}

static void
use_nouns(const struct nouns *nouns)
{
	if (nouns->task != 0)
		cli_noun_set(nouns->differ ? "loan" : nouns->noun);
}

void
cli_noun_of_pipeline(const struct cli_common *common, struct lockq *q, uint32_t task,
    const struct lockq_pipeline *pipeline)
{
	struct nouns nouns = { .task = 0 };

	if (common->json)
		return;
	if (task != 0)
		add_noun(&nouns, q, task);
	for (size_t i = 0; i < pipeline->n_assignments; i++)
		add_noun(&nouns, q, pipeline->assignments[i].task);
	use_nouns(&nouns);
}

void
cli_noun_of_history(const struct cli_common *common, struct lockq *q, uint32_t task,
    const struct lockq_history *history)
{
	struct nouns nouns = { .task = 0 };

	if (common->json)
		return;
	if (task != 0)
		add_noun(&nouns, q, task);
	for (size_t i = 0; i < history->n_events; i++)
		add_noun(&nouns, q, history->events[i].task);
	use_nouns(&nouns);
}

void
cli_noun_of_held(const struct cli_common *common, struct lockq *q,
    const struct lockq_tasks *tasks)
{
	struct nouns nouns = { .task = 0 };

	for (size_t i = 0; !common->json && i < tasks->n_tasks; i++) {
		if (tasks->tasks[i].held > 0)
			add_noun(&nouns, q, tasks->tasks[i].task);
	}
	use_nouns(&nouns);
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
