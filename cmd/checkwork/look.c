/* SPDX-License-Identifier: MIT */
#include "checkwork/look.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/pipeline.h"
#include "cli/utf8.h"

/* What the program has left of --timeout, for the next call. */
static void
allow_rest(const struct checkwork_options *o, struct lockq *q)
{
	int64_t used = (int64_t)(cli_clock_ms() - o->began), all = o->common.look_timeout_ms;

	lockq_look_timeout(q, all > used ? all - used : 0);
}

static int
look_at_request(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int rc = lockq_request_look(q, o->request, o->wait_ms > 0 ? o->wait_ms : 0, &answer);
	const char *complaint = rc < 0 ? cli_library_text(q, rc) : NULL;
	int status = cli_exit_status(rc, cli_caught());

	cli_noun_read(&o->common, q, answer.task);
	if (answer.user == NULL) {
		status = cli_report_library(&o->common, q, rc);
	} else {
		checkwork_output(o->common.json)->request(&answer, rc, status, complaint);
		if (complaint != NULL)
			cli_message("%s", complaint);
	}
	lockq_answer_clear(&answer);
	return status;
}

static int
look_at_history(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_history history = LOCKQ_HISTORY_INIT;
	int rc = lockq_history(q, o->task, o->loan.id, &history);

	cli_noun_read(&o->common, q, o->task);
	if (cli_has_answer(rc))
		checkwork_output(o->common.json)->history(o->task, o->loan.id, &history);
	lockq_history_clear(&history);
	return cli_looked(&o->common, q, rc);
}

static int
look_at_requests(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_requests requests = LOCKQ_REQUESTS_INIT;
	int rc = lockq_requests(q, o->user, o->task, &requests);

	if (cli_has_answer(rc))
		checkwork_output(o->common.json)->requests(o->user, o->task, &requests);
	lockq_requests_clear(&requests);
	return cli_looked(&o->common, q, rc);
}

static int
look_at_tasks(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_tasks tasks = LOCKQ_TASKS_INIT;
	int rc = lockq_tasks(q, o->user, &tasks);

	if (cli_has_answer(rc))
		checkwork_output(o->common.json)->tasks(o->user, &tasks);
	lockq_tasks_clear(&tasks);
	return cli_looked(&o->common, q, rc);
}

/* The requests first: one that is served meanwhile is shown as pending, and its loans, too. In the
 * other order neither would be shown. */
static int
look_at_pipeline(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	struct lockq_requests requests = LOCKQ_REQUESTS_INIT;
	int rc = lockq_requests(q, o->user, o->task, &requests);

	allow_rest(o, q);
	if (cli_has_answer(rc))
		rc = lockq_pipeline(q, o->user, o->task, &pipeline);
	if (cli_has_answer(rc)) {
		cli_noun_of_pipeline(&o->common, q, o->task, &pipeline);
		cli_pipeline_print(o->common.json, o->user, o->task, &pipeline, &requests);
		if (pipeline.detail_fault != NULL)
			cli_message("a task's own columns are missing: %s", pipeline.detail_fault);
	}
	lockq_pipeline_clear(&pipeline);
	lockq_requests_clear(&requests);
	return cli_looked(&o->common, q, rc);
}

bool
checkwork_choices_wanted(const struct checkwork_choices *o)
{
	return o->kind >= 0 || o->begins != NULL;
}

/* Prints what may be typed as an option's value, for the completion of a shell. */
static int
list_choices(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_choices choices = LOCKQ_CHOICES_INIT;
	int rc = lockq_choices(q, (enum lockq_choice_kind)o->choices.kind, o->user, o->task,
	    o->choices.begins, &choices);

	for (size_t i = 0; i < choices.n_choices; i++) {
		char *value = cli_escape(choices.choices[i].value);
		char *about = cli_escape(choices.choices[i].about);

		printf("%s%s%s\n", value, about[0] != '\0' ? "\t" : "", about);
		free(value);
		free(about);
	}
	lockq_choices_clear(&choices);
	return rc < 0 ? cli_report_library(&o->common, q, rc) : cli_exit_status(rc, cli_caught());
}

int
checkwork_look(const struct checkwork_options *o, struct lockq *q)
{
	if (checkwork_choices_wanted(&o->choices))
		return list_choices(o, q);
	allow_rest(o, q);
	if (o->request != NULL)
		return look_at_request(o, q);
	if (o->loan.given)
		return look_at_history(o, q);
	if (o->tasks)
		return look_at_tasks(o, q);
	return o->pending ? look_at_requests(o, q) : look_at_pipeline(o, q);
}
