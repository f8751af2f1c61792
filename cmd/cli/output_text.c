/* SPDX-License-Identifier: MIT */
/* Answers for people. Errors are on standard error already and are not repeated here. */
#include <stdlib.h>
#include <time.h>

#include "checkwork/loan_history.h"
#include "checkwork/task_table.h"
#include "cli/answer.h"
#include "cli/disposed.h"
#include "cli/exit_status.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/pipeline_table.h"
#include "cli/program.h"
#include "cli/request_lines.h"
#include "cli/terminal.h"
#include "cli/times.h"
#include "disposition/expired.h"
#include "getwork/outcome.h"
#include "lockqstat/cursor_table.h"
#include "lockqstat/health.h"
#include "managetask/correct_message.h"
#include "managetask/findings.h"
#include "managetask/tables.h"
#include "seedloans/seed.h"

static void
text_error(const char *text, int status)
{
	(void)text;
	(void)status;
}

static void
text_answer(const struct lockq_answer *answer, int rc, int status, const char *complaint)
{
	unsigned long long id = answer->request_id;
	char *text;

	(void)status;
	if (complaint != NULL)
		return;
	if (answer->joined)
		cli_line("joined your earlier request %llu for %u %s", id, answer->asked,
		    cli_loans(answer->asked));
	if (rc == LOCKQ_OK) {
		cli_answer_loans(answer, !answer->repeated);
		if (answer->repeated)
			cli_line("an earlier call had this answer: checkwork shows what is yours "
			    "now");
	} else if (rc == LOCKQ_NOTHING) {
		text = cli_answer_no_work(answer, time(NULL));
		cli_line("%s", text);
		free(text);
	} else if (rc == LOCKQ_BUSY && answer->status == LOCKQ_PENDING) {
		cli_line("request %llu is pending, %s leads%s: see checkwork --request %llu", id,
		    answer->leader != NULL ? answer->leader : "nobody",
		    answer->leader != NULL ? "" : " at the moment", id);
	}
}

static void
text_cancelled(const struct lockq_answer *answer, int rc, int status, const char *complaint)
{
	unsigned long long id = answer->request_id;

	(void)status;
	if (complaint != NULL)
		return;
	if (answer->assigned > 0) {
		cli_answer_loans(answer, false);
		cli_line("request %llu got these %s before it could be cancelled", id,
		    cli_loans(2));
	} else {
		cli_line("request %llu for %s, task %u: %s%s", id, answer->user, answer->task,
		    lockq_status_name(answer->status),
		    rc == LOCKQ_NOTHING ? ", so there is nothing to cancel" : "");
	}
}

static void
print_pending(const struct lockq_answer *answer)
{
	unsigned long long id = answer->request_id;
	char *line = cli_answer_line(answer, cli_dot()), *user = cli_word(answer->user);

	if (answer->reason != NULL)
		cli_line("request %llu for %s, task %u: pending: %s", id, answer->user,
		    answer->task, answer->reason);
	else if (answer->leader != NULL)
		cli_line("request %llu for %s, task %u: pending, %s leads", id, answer->user,
		    answer->task, answer->leader);
	else if (!answer->nobody_leads)
		cli_line("request %llu for %s, task %u: pending", id, answer->user, answer->task);
	else
		cli_line("request %llu for %s, task %u: pending, nobody leads: run getwork "
		    "--user %s --task %u to be served", id, answer->user, answer->task,
		    user, answer->task);
	if (answer->position > 0)
		cli_line("%s", line);
	free(user);
	free(line);
}

static void
text_request(const struct lockq_answer *answer, int rc, int status, const char *complaint)
{
	unsigned long long id = answer->request_id;
	char *text;

	(void)status;
	if (complaint != NULL)
		return;
	if (rc == LOCKQ_OK) {
		cli_answer_loans(answer, false);
	} else if (rc == LOCKQ_NOTHING) {
		text = cli_answer_no_work(answer, time(NULL));
		cli_line("request %llu%s%s: %s", id, answer->excluded == 0 ? " for " : "",
		    answer->excluded == 0 ? answer->user : "", text);
		free(text);
	} else if (answer->status != LOCKQ_PENDING) {
		cli_line("request %llu for %s, task %u: %s%s%s", id, answer->user, answer->task,
		    lockq_status_name(answer->status), answer->reason != NULL ? ": " : "",
		    answer->reason != NULL ? answer->reason : "");
	} else {
		print_pending(answer);
	}
}

static void
text_pipeline(const char *user, uint32_t task, const struct lockq_pipeline *pipeline,
    const struct lockq_requests *requests)
{
	char *word = cli_word(user);

	if (pipeline->n_assignments > 0)
		checkwork_table(user, pipeline);
	else if (requests->n_requests > 0)
		cli_line("%s's pipeline has no %s yet", user, cli_loan());
	else if (task != 0)
		cli_line("%s's pipeline has no %s of task %u: getwork --user %s --task %u asks "
		    "for work", user, cli_loan(), task, word, task);
	else
		cli_line("%s's pipeline is empty: getwork --user %s --task N asks for work",
		    user, word);
	request_lines(user, requests);
	free(word);
}

static void
text_requests(const char *user, uint32_t task, const struct lockq_requests *requests)
{
	request_lines(user, requests);
	if (requests->n_requests == 0 && task != 0)
		cli_line("%s has no pending request for task %u", user, task);
	else if (requests->n_requests == 0)
		cli_line("%s has no pending request", user);
}

static void
text_tasks(const char *user, const struct lockq_tasks *tasks)
{
	if (tasks->n_tasks > 0)
		task_table(user, tasks);
	else
		cli_line("there are no tasks: a manager makes them, see lockq-schema(5)");
}

static void
text_history(uint32_t task, uint64_t loan_id, const struct lockq_history *history)
{
	if (history->n_events > 0)
		loan_history(task, loan_id, history);
	else
		cli_line("task %u has no record of %s %llu: it was never assigned, or the records "
		    "were purged", task, cli_loan(), (unsigned long long)loan_id);
}

static void
text_disposed(const struct lockq_disposition *what, const struct lockq_disposed_loan *loan,
    int status)
{
	char *text;

	if (status != CLI_EXIT_DONE)
		return;
	text = disposition_message_done(loan, what->note != NULL);
	cli_line("%s", text);
	free(text);
}

static void
text_executed(const struct lockq_disposition *what, size_t i,
    const struct lockq_disposed_loan *loan, const struct command_end *end, int status,
    const char *error)
{
	char *text;

	if (status != CLI_EXIT_DONE)
		return;
	text = getwork_outcome(what, i, loan, end, status, error);
	cli_line("%s", text);
	free(text);
}

static void
text_expired(const struct lockq_expired *d, int rc, int status, const char *error)
{
	char *summary = disposition_expire_summary(d), took[CLI_TIME_SIZE];
	const char *until = rc == LOCKQ_OK ? "" :
	    rc == LOCKQ_CANCELLED ? ", until it was interrupted" : ", until it failed";

	(void)status;
	(void)error;
	cli_ms(took, d->took_ms);
	if (summary != NULL)
		cli_line("%s%s %s %s", summary, until, cli_dot(), took);
	else if (d->busy)
		cli_line("another disposition --expire is running on this database: nothing "
		    "was done");
	else if (rc == LOCKQ_OK)
		cli_line("nothing was due %s %s", cli_dot(), took);
	else if (rc == LOCKQ_CANCELLED)
		cli_line("interrupted before anything was done");
	free(summary);
}

static void
text_none_due(uint32_t task)
{
	if (task != 0)
		cli_line("task %u: its list is not due", task);
	else
		cli_line("no list is due");
}

static const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* A reason goes to standard error; only where it is none to complain about, it stands here. */
static void
text_refilled(uint32_t task, const struct lockq_refilled *result, int rc, int status,
    const char *reason)
{
	unsigned long long loans = result->loans, requests = result->requests;
	char took[CLI_TIME_SIZE];

	if (rc == LOCKQ_OK && result->query_ms >= 0) {
		cli_ms(took, (uint64_t)result->query_ms);
		cli_line("task %u: a list of %llu loan%s, after %llu pending request%s %s query "
		    "%s", task, loans, plural(loans), requests, plural(requests), cli_dot(), took);
	} else if (rc == LOCKQ_NOTHING) {
		text_none_due(task);
	} else if (rc == LOCKQ_CANCELLED) {
		cli_line("task %u: interrupted, the old list stays", task);
	} else if (status == CLI_EXIT_DONE && reason != NULL) {
		cli_line("%s", reason);
	}
}

static void
text_definitions(const struct lockq_definitions *tasks, bool one)
{
	if (tasks->n_tasks == 0)
		cli_line("there are no tasks: managetask add makes one");
	else if (one)
		manage_table_of_task(&tasks->tasks[0]);
	else
		manage_table(tasks);
}

static void
text_people(const struct lockq_people *people)
{
	if (people->n_people == 0)
		cli_line("nobody is known: managetask user add makes people known");
	else
		manage_table_of_people(people);
}

static void
text_managed(const char *what, uint32_t task, const char *user, const char *done)
{
	if (user != NULL)
		cli_line("%s %s: %s", what, user, done);
	else
		cli_line("%s %u: %s", what, task, done);
}

static void
text_corrected(const struct lockq_correction *what, const struct lockq_disposed_loan *loan,
    int status)
{
	if (status == CLI_EXIT_DONE)
		correct_message_done(what, loan);
}

static void
text_cursors(const struct lockq_cursors *cursors)
{
	if (cursors->n_cursors == 0)
		cli_line("there is no cursor: lockqstat --follow makes one");
	else
		cursor_table(cursors);
}

static void
text_dropped(const char *cursor)
{
	cli_line("cursor \"%s\" is removed", cursor);
}

static void
text_seeded(const struct seed_options *options, const struct seed_report *report)
{
	unsigned long long before = report->loans_before, loans = report->loans;
	unsigned long long documents = report->documents, rejected = report->rejected;
	char took[CLI_TIME_SIZE], heavy[CLI_TIME_SIZE];

	cli_ms(took, report->ms);
	if (before > 0)
		cli_line("before: %llu loan%s", before, plural(before));
	if (options->loans > 0 || options->csv != NULL)
		cli_line("added: %llu loan%s with %llu document%s, %llu loans/s", loans,
		    plural(loans), documents, plural(documents),
		    (unsigned long long)report->loans_per_second);
	if (rejected > 0)
		cli_line("rejected: %llu row%s, see \"%s\"", rejected, plural(rejected),
		    report->rejects);
	cli_line("in all: %llu loan%s, %llu users, %llu tasks, %s", before + loans,
	    plural(before + loans), (unsigned long long)report->users,
	    (unsigned long long)report->tasks, took);
	if (report->heavy_ms < 0)
		return;
	cli_ms(heavy, (uint64_t)report->heavy_ms);
	cli_line("task 7's query takes %s%s", heavy, report->heavy_by_itself ?
	    " without extra work, since so many loans match it" :
	    report->heavy_ms > options->heavy_ms + options->heavy_ms / 4 ?
	    ", since the server is busy now" : "");
}

static void
text_stats(const struct lockq_stats *stats, enum stat_order order, const struct lockq_runs *runs)
{
	if (runs == NULL) {
		stat_table(stdout, stats, order, cli_stdout_style(), cli_table_width());
		return;
	}
	cli_heading("Task %u %s %s", stats->tasks[0].task, cli_dot(), stats->tasks[0].task_name);
	stat_table_of_task(stdout, &stats->tasks[0], runs, cli_stdout_style(), cli_table_width());
}

/* Monitoring programs show the first line. */
static void
text_health(const struct lockq_stats *stats, const struct stat_health *health)
{
	uint64_t waiting = 0;

	for (size_t i = 0; i < stats->n_tasks; i++)
		waiting += stats->tasks[i].waiting;
	for (size_t i = 0; i < health->n; i++) {
		char *text = stat_finding_text(&health->findings[i]);

		cli_line("%s", text);
		free(text);
	}
	if (health->n == 0)
		cli_line("ok: %zu %s, %llu %s", stats->n_tasks,
		    stats->n_tasks == 1 ? "task" : "tasks", (unsigned long long)waiting,
		    waiting == 1 ? "request waits" : "requests wait");
}

const struct output output_text = {
	.ticks = true,
	.error = text_error,
	.answer = text_answer,
	.cancelled = text_cancelled,
	.request = text_request,
	.pipeline = text_pipeline,
	.requests = text_requests,
	.tasks = text_tasks,
	.history = text_history,
	.disposed = text_disposed,
	.executed = text_executed,
	.expired = text_expired,
	.definitions = text_definitions,
	.people = text_people,
	.managed = text_managed,
	.corrected = text_corrected,
	.findings = manage_findings,
	.rights = manage_missing_rights,
	.refilled = text_refilled,
	.none_due = text_none_due,
	.stats = text_stats,
	.health = text_health,
	.cursors = text_cursors,
	.dropped = text_dropped,
	.seeded = text_seeded,
};
