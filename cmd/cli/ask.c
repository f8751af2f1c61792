/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>

#include "cli/answer.h"
#include "cli/ask.h"
#include "cli/program.h"

/* "gave up after 30 s", "gave up at once", "gave up after 3 looks". */
static char *
when_given_up(const struct lockq_ask *ask, const struct lockq_answer *answer)
{
	uint64_t timeout_ms = ask->timeout_ms > 0 ? (uint64_t)ask->timeout_ms : 0;
	unsigned long long tries = ask->poll_tries;

	if (tries > 0 && (ask->timeout_ms < 0 || answer->waited_ms < timeout_ms))
		return cli_text("gave up after %llu %s", tries, tries == 1 ? "look" : "looks");
	if (timeout_ms == 0)
		return cli_text("gave up at once");
	return cli_text("gave up after %s", timeout_ms % 1000 == 0 ?
	    cli_age(timeout_ms / 1000).text : cli_ms(timeout_ms).text);
}

/* Says why a request ended without loans. */
static char *
try_again(const struct lockq_ask *ask, const struct lockq_answer *answer, int rc)
{
	unsigned long long id = answer->request_id;
	bool cancelled = answer->status == LOCKQ_STATUS_CANCELLED;
	char *when, *text;

	if (id == 0)
		return cli_text("interrupted before anything was asked for");
	if (rc != LOCKQ_CANCELLED && answer->status == LOCKQ_EXPIRED)
		return cli_text("request %llu has expired, since no process waited for it: try "
		    "again", id);
	if (rc == LOCKQ_CANCELLED && cancelled)
		return cli_text("interrupted: request %llu is cancelled", id);
	when = rc == LOCKQ_CANCELLED ? cli_text("interrupted") : when_given_up(ask, answer);
	if (cancelled)
		text = cli_text("%s: request %llu is cancelled: try again", when, id);
	else
		text = cli_text("%s: request %llu stays pending, since another process made it: "
		    "see checkwork --request %llu", when, id, id);
	free(when);
	return text;
}

char *
cli_ask_message(const struct lockq_ask *ask, const struct lockq_answer *answer, int rc,
    const char *library_text)
{
	char *user, *text;
	bool as_asked = ask->wait == LOCKQ_WAIT_NONE && answer->status == LOCKQ_PENDING;
	bool unread = rc == LOCKQ_CANCELLED && answer->status == LOCKQ_STATUS_UNKNOWN;

	if ((rc == LOCKQ_BUSY || unread) && library_text[0] != '\0')
		return cli_text("%s", library_text);
	if (rc == LOCKQ_EQUERY && answer->reason != NULL)
		return cli_text("task %u's query failed: %s", ask->task, answer->reason);
	if (rc == LOCKQ_EUNKNOWN) {
		user = cli_word(ask->user);
		text = cli_text("%s: checkwork --user %s shows what is yours", library_text, user);
		free(user);
		return text;
	}
	if (rc < 0)
		return cli_text("%s", library_text);
	if (rc == LOCKQ_CANCELLED || (rc == LOCKQ_BUSY && !as_asked))
		return try_again(ask, answer, rc);
	return NULL;
}

/* Prints what --verbose adds: the request, the leader, how many transactions were tried again. */
static void
say_details(const struct lockq_answer *answer)
{
	struct cli_time checked = cli_local_s(answer->checked);

	if (answer->request_id != 0)
		cli_message("request %llu (%s): %s after %s",
		    (unsigned long long)answer->request_id, answer->uuid,
		    lockq_status_name(answer->status), cli_ms(answer->waited_ms).text);
	if (answer->leader != NULL && cli_answer_is_from_list(answer))
		cli_message("the list was left by \"%s\", epoch %llu", answer->leader,
		    (unsigned long long)answer->epoch);
	else if (answer->leader != NULL && answer->epoch != 0)
		cli_message("the leader was \"%s\", epoch %llu; source of its list: %s",
		    answer->leader, (unsigned long long)answer->epoch,
		    answer->how != NULL ? answer->how : "unknown");
	else if (answer->leader != NULL)
		cli_message("the leader is \"%s\"", answer->leader);
	/* A leader whose query took no longer than a second need not ask again. */
	if (answer->n_loans > 0 && checked.text[0] != '\0')
		cli_message("the view was asked again about the %s at %s", cli_loans(2),
		    checked.text);
	else if (answer->n_loans > 0)
		cli_message("the view was not asked again about the %s", cli_loans(2));
	if (answer->retries > 0)
		cli_message("%u %s tried again", answer->retries, answer->retries == 1 ?
		    "transaction was" : "transactions were");
}

bool
cli_ask_several(const struct cli_ask *a)
{
	return a->tasks.n > 0 || a->any;
}

/* A request that had a UUID would be another one in the next task. */
static int
check_tasks(struct cli_ask *a, struct cli_error *error)
{
	if (a->any && (a->tasks.n > 0 || a->ask.task != 0))
		return cli_fail(error, "--any and --task can't be combined");
	if (cli_ask_several(a) && a->ask.uuid != NULL)
		return cli_fail(error, "--uuid can't be combined with several tasks: a UUID is of "
		    "one task's request");
	if (cli_ask_several(a))
		return 0;
	if (cli_default_task(&a->ask.task, error) != 0)
		return -1;
	return a->ask.task != 0 ? 0 : cli_fail_no_task(error);
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
	int rc = cli_ask_several(a) ? cli_ask_tasks_find(&a->tasks, a->any, q, &a->ask) : LOCKQ_OK;

	/* Of tasks that are named, the calls themselves tell what is wrong. */
	if (!a->any || (rc == LOCKQ_OK && a->tasks.n > 0))
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
		cli_answer_print(common, q, answer, false, rc, status, complaint);
	}
	/* Why the list is old that the loans come from. */
	if (answer->refill_failed != NULL)
		cli_message("the list is of %s, since filling it anew failed: %s",
		    cli_local_s(answer->as_of).text, answer->refill_failed);
	if (rc < 0)
		cli_report_detail(common, q);
	if (common->verbose)
		say_details(answer);
	free(complaint);
	return status;
}

struct shown {
	const struct cli_common *common;
	const struct cli_ask *a;
	struct lockq *q;
};

/* One of several tasks, which had no loans. */
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
	int rc;

	cli_watch_overtime(q, a->no_refill);
	if (a->tasks.n > 0)
		return cli_ask_tasks(&a->tasks, q, &a->ask, answer, show_before,
		    &(struct shown){ common, a, q });
	rc = lockq_getwork(q, &a->ask, answer);
	cli_end_behind(q);
	return rc;
}

void
cli_ask_fill_due(const struct cli_common *common, const struct cli_ask *a, struct lockq *q)
{
	if (!a->no_refill)
		cli_fill_due(common, q, a->ask.task);
}
