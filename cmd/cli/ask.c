/* SPDX-License-Identifier: MIT */
#include "cli/ask.h"

#include <stdlib.h>

#include "cli/answer.h"
#include "cli/program.h"

bool
cli_ask_several(const struct cli_ask *a)
{
	return a->tasks.n > 0 || a->any;
}

/* A request that had a UUID would be another one in the next task. */
static int
check_tasks(struct cli_ask *a, struct cli_error *error)
{
	const char *name = a->any ? "any" : "tasks";

	if (a->tasks.n > 0 && a->any)
		return cli_fail(error, "--any and --tasks can't be combined");
	if (!cli_ask_several(a)) {
		if (cli_default_task(&a->ask.task, error) != 0)
			return -1;
		return a->ask.task != 0 ? 0 : cli_fail_no_task(error);
	}
	if (a->ask.task != 0)
		return cli_fail(error, "--%s can't be combined with --task", name);
	if (a->ask.uuid != NULL)
		return cli_fail(error, "--%s can't be combined with --uuid: a UUID is of one "
		    "task's request", name);
	return 0;
}

int
cli_ask_check(struct cli_ask *a, struct cli_error *error)
{
	a->ask.count = a->count == 0 ? 1 : a->count;
	if (cli_default_user(&a->ask.user, error) != 0 || check_tasks(a, error) != 0)
		return -1;
	if (a->poll.n == 0 && a->tries > 0)
		return cli_fail(error, "--tries goes with --poll: --timeout limits other waits");
	if (a->poll.n > 0)
		a->ask.wait = LOCKQ_WAIT_POLL;
	a->ask.fresh = a->fresh;
	a->ask.poll_s = a->poll.seconds;
	a->ask.n_poll = a->poll.n;
	a->ask.poll_tries = a->tries;
	return 0;
}

bool
cli_ask_find(const struct cli_common *common, struct cli_ask *a, struct lockq *q, int *status)
{
	int rc = a->any ? cli_ask_tasks_find(&a->tasks, q, &a->ask) : LOCKQ_OK;

	if (rc == LOCKQ_OK && (!a->any || a->tasks.n > 0))
		return true;
	*status = rc < 0 || rc == LOCKQ_BUSY ? cli_report_library(common, q, rc) :
	    cli_report(common, CLI_EXIT_REFUSED, "no enabled task has a place for --any: a "
	    "manager gives one, with managetask set N --any-place 1");
	return false;
}

int
cli_ask_show(const struct cli_common *common, const struct cli_ask *a, struct lockq *q,
    struct lockq_answer *answer, int rc)
{
	int status = cli_exit_status(rc, cli_caught());
	bool busy = rc == LOCKQ_BUSY;
	const char *text = rc < 0 ? cli_library_text(q, rc) : lockq_error(q);
	char *complaint = cli_ask_message(&a->ask, answer, rc, text);

	if (answer->user == NULL && ((rc < 0 && rc != LOCKQ_EUNKNOWN) ||
	    (busy && answer->request_id == 0))) {
		cli_report(common, status, "%s", complaint);
	} else {
		if (answer->user == NULL) {
			answer->user = cli_text("%s", a->ask.user);
			answer->task = a->ask.task;
			answer->asked = answer->requested = a->ask.count;
		}
		cli_answer_print(common->json, answer, rc, status, complaint);
	}
	cli_ask_message_refill(answer);
	if (rc < 0)
		cli_report_detail(common, q);
	if (common->verbose)
		cli_ask_message_details(answer);
	free(complaint);
	return status;
}

struct shown {
	const struct cli_common *common;
	const struct cli_ask *a;
	struct lockq *q;
};

/* A task of --tasks that had no loans. */
static void
show_before(void *data, struct lockq_answer *answer, int rc)
{
	const struct shown *shown = data;

	cli_noun_read(shown->common, shown->q, shown->a->ask.task);
	(void)cli_ask_show(shown->common, shown->a, shown->q, answer, rc);
}

int
cli_ask_for_loans(const struct cli_common *common, struct cli_ask *a, struct lockq *q,
    struct lockq_answer *answer)
{
	return a->tasks.n == 0 ? lockq_getwork(q, &a->ask, answer) :
	    cli_ask_tasks(&a->tasks, q, &a->ask, answer, show_before,
	    &(struct shown){ common, a, q });
}

void
cli_ask_fill_due(const struct cli_common *common, const struct cli_ask *a, struct lockq *q)
{
	if (!a->no_refill)
		cli_fill_due(common, q, a->ask.task);
}
