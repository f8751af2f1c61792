/* SPDX-License-Identifier: MIT */
#include "checkwork/look.h"

#include "cli/pipeline.h"

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

int
checkwork_look(const struct checkwork_options *o, struct lockq *q)
{
	allow_rest(o, q);
	if (o->request != NULL)
		return look_at_request(o, q);
	if (o->loan.given)
		return look_at_history(o, q);
	if (o->tasks)
		return look_at_tasks(o, q);
	return o->pending ? look_at_requests(o, q) : look_at_pipeline(o, q);
}
