/* SPDX-License-Identifier: MIT */
#include "getwork/tool.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/pipeline.h"

enum {
	LOOK_MS = 2000, /* the answer is out, and nobody should wait for this */
	TASKS_NAMED = 4 /* a line names no more of them */
};

/* "oliver's pipeline: 7 loans, 3 of task 7 and 4 of task 9", or "7 loans of task 7". */
static void
print_line(const struct cli_common *common, struct lockq *q, const char *user,
    const struct lockq_tasks *tasks)
{
	uint64_t loans = 0;
	size_t n = 0, named = 0;
	uint32_t only = 0;
	char *text = cli_text("%s", "");

	for (size_t i = 0; i < tasks->n_tasks; i++) {
		if (tasks->tasks[i].held == 0)
			continue;
		loans += tasks->tasks[i].held;
		only = tasks->tasks[i].task;
		n++;
	}
	for (size_t i = 0; n > 1 && n <= TASKS_NAMED && i < tasks->n_tasks; i++) {
		char *more;

		if (tasks->tasks[i].held == 0)
			continue;
		more = cli_text("%s%s%llu of task %u", text, named == 0 ? ", " :
		    named + 1 == n ? " and " : ", ", (unsigned long long)tasks->tasks[i].held,
		    tasks->tasks[i].task);
		free(text);
		text = more;
		named++;
	}
	cli_noun_of_held(common, q, tasks);
	if (loans == 0)
		cli_line("%s's pipeline is empty", user);
	else if (n == 1)
		cli_line("%s's pipeline: %llu %s of task %u", user, (unsigned long long)loans,
		    cli_loans(loans), only);
	else if (n > TASKS_NAMED)
		cli_line("%s's pipeline: %llu %s of %zu tasks", user, (unsigned long long)loans,
		    cli_loans(loans), n);
	else
		cli_line("%s's pipeline: %llu %s%s", user, (unsigned long long)loans,
		    cli_loans(loans), text);
	free(text);
}

/* Of the numbers alone: the tasks' own columns of the loans may take seconds. */
static int
show_line(const struct cli_common *common, struct lockq *q, const char *user)
{
	struct lockq_tasks tasks = LOCKQ_TASKS_INIT;
	int rc = lockq_tasks(q, user, &tasks);

	if (rc == LOCKQ_OK)
		print_line(common, q, user, &tasks);
	lockq_tasks_clear(&tasks);
	return rc;
}

/* The requests first, as checkwork reads them. */
static int
show_whole(const struct cli_common *common, struct lockq *q, const char *user)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	struct lockq_requests requests = LOCKQ_REQUESTS_INIT;
	int rc = lockq_requests(q, user, 0, &requests);

	if (cli_has_answer(rc))
		rc = lockq_pipeline(q, user, 0, &pipeline);
	if (cli_has_answer(rc)) {
		cli_noun_of_pipeline(common, q, 0, &pipeline);
		/* checkwork would say how to ask for work, which has just been done. */
		if (rc == LOCKQ_NOTHING && requests.n_requests == 0 && !common->json)
			cli_line("%s's pipeline is empty", user);
		else
			cli_pipeline_print(common->json, user, 0, &pipeline, &requests);
	}
	lockq_pipeline_clear(&pipeline);
	lockq_requests_clear(&requests);
	return rc;
}

void
getwork_pipeline(const struct getwork_options *o, struct lockq *q, int rc)
{
	const char *user = o->asking.ask.user;

	/* A line after an answer, or all wherever the database can tell. */
	if (o->pipeline ? rc < 0 && rc != LOCKQ_EREFUSED && rc != LOCKQ_EQUERY :
	    rc < 0 || cli_caught() != 0 || o->common.json || !isatty(STDOUT_FILENO))
		return;
	lockq_look_timeout(q, LOOK_MS);
	rc = o->pipeline ? show_whole(&o->common, q, user) : show_line(&o->common, q, user);
	/* A user who is not known has been told so. */
	if (rc == LOCKQ_BUSY || (rc < 0 && rc != LOCKQ_EREFUSED))
		cli_message("the pipeline could not be read, see checkwork: %s",
		    cli_library_text(q, rc));
}
