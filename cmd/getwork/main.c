/* SPDX-License-Identifier: MIT */
/* getwork: asks for the next loans of a task. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cli/answer.h"
#include "cli/ask_message.h"
#include "cli/ask_tasks.h"
#include "cli/dispose.h"
#include "cli/exit_status.h"
#include "cli/fill_due.h"
#include "cli/noun.h"
#include "cli/program.h"
#include "cli/signals.h"
#include "cli/values.h"
#include "getwork/cancel_request.h"
#include "getwork/command.h"
#include "getwork/exec.h"
#include "getwork/pipeline.h"

enum { GAP_LONGEST = 3600 };

struct getwork_options {
	struct cli_common common;
	struct disposition_loans done; /* what --complete names */
	struct lockq_ask ask;
	struct getwork_tasks tasks;    /* what --tasks names, or --any has found */
	bool any;
	uint32_t count; /* 0: not given */
	bool fresh;
	struct cli_gaps poll;
	uint32_t tries; /* 0: no limit */
	bool no_wait;
	bool pipeline;
	bool no_refill;
	struct getwork_cancel cancel;
	struct getwork_exec exec;
};
#define GETWORK_DEFAULTS { CLI_COMMON_INIT, DISPOSITION_LOANS_DEFAULTS, LOCKQ_ASK_INIT, \
	{ { 0 }, 0, false, 0 }, false, 0, false, { { 0 }, 0 }, 0, false, false, false, \
	{ false, NULL }, GETWORK_EXEC_DEFAULTS }

static bool
completes(const struct getwork_options *o)
{
	return o->done.loans.n > 0 || o->done.loans.from_stdin;
}

static int
check_cancel(struct getwork_options *o, struct cli_error *error)
{
	const struct lockq_ask *ask = &o->ask;

	if (o->count != 0 || ask->uuid != NULL || o->fresh || ask->timeout_ms >= 0 ||
	    o->poll.n > 0 || o->tries > 0 || o->no_wait || o->pipeline || o->no_refill ||
	    completes(o) || o->tasks.n > 0 || o->any || getwork_exec_wanted(&o->exec))
		return cli_fail(error, "--cancel can only be combined with --user, --task and the "
		    "options for connection and output");
	if (o->cancel.request != NULL && ask->task != 0)
		return cli_fail(error, "--cancel %s can't be combined with --task",
		    o->cancel.request);
	if (o->cancel.request == NULL && cli_default_task(&o->ask.task, error) != 0)
		return -1;
	return cli_default_user(&o->ask.user, error);
}

/* A request that were left pending in one task, or had a UUID, would be another one in the next. */
static int
check_tasks(struct getwork_options *o, struct cli_error *error)
{
	const char *name = o->any ? "any" : "tasks";

	if (o->tasks.n > 0 && o->any)
		return cli_fail(error, "--any and --tasks can't be combined");
	if (o->tasks.n == 0 && !o->any) {
		if (cli_default_task(&o->ask.task, error) != 0)
			return -1;
		return o->ask.task != 0 ? 0 : cli_fail_no_task(error);
	}
	if (o->ask.task != 0 || completes(o))
		return cli_fail(error, "--%s can't be combined with --task or --complete", name);
	if (o->no_wait)
		return cli_fail(error, "--%s can't be combined with --no-wait: --timeout 0 does "
		    "not wait either, and leaves nothing pending", name);
	if (o->ask.uuid != NULL)
		return cli_fail(error, "--%s can't be combined with --uuid: a UUID is of one "
		    "task's request", name);
	return 0;
}

static int
check(void *options, struct cli_error *error)
{
	struct getwork_options *o = options;

	if (o->cancel.given)
		return check_cancel(o, error);
	o->ask.count = o->count == 0 ? 1 : o->count;
	if (cli_default_user(&o->ask.user, error) != 0 || check_tasks(o, error) != 0)
		return -1;
	if (o->poll.n > 0 && o->no_wait)
		return cli_fail(error, "--poll and --no-wait can't be combined");
	if (o->poll.n == 0 && o->tries > 0)
		return cli_fail(error, "--tries goes with --poll: --timeout limits other waits");
	if (o->ask.timeout_ms >= 0 && o->no_wait)
		return cli_fail(error, "--timeout and --no-wait can't be combined: --timeout 0 "
		    "does not wait either, and leaves nothing pending");
	if (o->no_wait)
		o->ask.wait = LOCKQ_WAIT_NONE;
	else if (o->poll.n > 0)
		o->ask.wait = LOCKQ_WAIT_POLL;
	o->ask.fresh = o->fresh;
	o->ask.poll_s = o->poll.seconds;
	o->ask.n_poll = o->poll.n;
	o->ask.poll_tries = o->tries;
	if (completes(o)) {
		o->done.complete = true;
		o->done.what.user = o->ask.user;
		o->done.what.task = o->ask.task;
		if (disposition_loans_check(&o->done, error) != 0)
			return -1;
	}
	o->tasks.unshared = o->exec.command != NULL;
	return getwork_exec_check(&o->exec, o->tasks.n > 0 || o->any ? NULL : &o->ask.uuid, error);
}

#define OPTION(member) offsetof(struct getwork_options, member)

static const struct cli_option getwork_table[] = {
	{ .help = "What to ask for" },
	{ "user", 'u', "NAME", "the user (default: LOCKQ_USER, else lockq-user\n"
	    "in an option file, else your login)", cli_parse_utf8, OPTION(ask.user), 0, 0 },
	{ "task", 't', "N", "the task's number (default: LOCKQ_TASK, else\n"
	    "lockq-task in an option file)",
	    cli_parse_u32, OPTION(ask.task), 1, UINT32_MAX },
	{ "tasks", 0, "N,N,...", "ask these tasks in this order, first their lists,\n"
	    "and end with the first that has loans", getwork_tasks_parse, OPTION(tasks), 1,
	    UINT32_MAX },
	{ "any", 0, NULL, "the same for tasks that have a place (managetask set\n"
	    "N --any-place 1), in their order", cli_parse_flag, OPTION(any), 0, 0 },
	{ "count", 'n', "N", "how many loans (default: 1)", cli_parse_u32, OPTION(count), 1,
	    LOCKQ_COUNT_MAX },
	{ "uuid", 0, "UUID", "of the request: a repeated call with the same UUID\n"
	    "has the same loans", cli_parse_uuid, OPTION(ask.uuid), 0, 0 },
	{ "fresh", 0, NULL, "only loans of a query that begins after the request",
	    cli_parse_flag, OPTION(fresh), 0, 0 },
	{ .help = "What is done before" },
	{ "complete", 0, "L[,L...]", "complete these loans of the task first, as in 12:7;\n"
	    "if one of them is refused, ask for nothing", loan_option_parse, OPTION(done.loans), 0,
	    0 },
	{ .help = "How to wait while somebody else's query runs" },
	{ "timeout", 0, "SECONDS", "give up after this long; 0: do not wait", cli_parse_seconds,
	    OPTION(ask.timeout_ms), 0, CLI_WAIT_MAX_S },
	{ "poll", 0, "S,S,...", "disconnect, and look again after these seconds;\n"
	    "the last number repeats", cli_parse_gaps, OPTION(poll), 1, GAP_LONGEST },
	{ "tries", 0, "N", "with --poll: give up after so many looks", cli_parse_u32,
	    OPTION(tries), 1, UINT32_MAX },
	{ "no-wait", 0, NULL, "don't wait for others, but run the query if nobody\n"
	    "leads; a request left pending: see checkwork", cli_parse_flag, OPTION(no_wait), 0, 0 },
	{ .help = "A command for each loan" },
	{ "exec", 0, "COMMAND", "run it by a shell, with the loan in LOCKQ_LOAN: exit\n"
	    "0 completes the loan, 75 returns it for later, any\n"
	    "other returns it at once", getwork_exec_parse, OPTION(exec.command), 0, 0 },
	{ "retry-after", 0, "DURATION", "after exit 75, offer the loan again after this time\n"
	    "(default: 1h)", cli_parse_duration, OPTION(exec.retry_after_s), 0,
	    LOCKQ_RETURN_AFTER_MAX },
	{ "give-up-after", 0, "N", "end after so many failures in a row, and return the\n"
	    "other loans (default: 3)", cli_parse_u32, OPTION(exec.give_up_after), 1,
	    LOCKQ_COUNT_MAX },
	{ .help = "Afterwards" },
	{ "pipeline", 0, NULL, "show all that is yours by then, as checkwork does;\n"
	    "without it a line on a terminal tells how much", cli_parse_flag, OPTION(pipeline),
	    0, 0 },
	{ "no-refill", 0, NULL, "start nothing that fills a list which is due (also:\n"
	    "lockq-no-refill in an option file)", cli_parse_flag, OPTION(no_refill), 0, 0 },
	{ .help = "Instead of asking" },
	{ "cancel", 0, "[ID|UUID]", "cancel this request of the user, or the pending one\n"
	    "(of the task that is named)", getwork_cancel_parse, OPTION(cancel), 0, 0 },
	CLI_OPTIONS_END
};

static const struct cli_tool getwork_tool = {
	.name = "getwork",
	.synopsis = "[--user NAME] --task N | --tasks N,N,... | --any\n"
	    " [--count N] [--uuid UUID] [--fresh]\n"
	    " [--complete L[,L...]] [--timeout SECONDS]\n"
	    " [--poll S,S,... [--tries N] | --no-wait]\n"
	    " [--exec COMMAND [--retry-after DURATION]\n"
	    " [--give-up-after N]] [--pipeline] [--no-refill] [--json]\n"
	    "[--user NAME] --cancel [ID|UUID] [--task N] [--json]",
	.purpose = "Asks for the next loans of a task. One process at a time runs the task's\n"
	    "query. All users that ask meanwhile are served from its result. A task may keep\n"
	    "the rest of the result as a list for those that ask later. Ctrl-C cancels the\n"
	    "request.",
	.examples = "  getwork --task 7\n"
	    "  getwork --user oliver --task 7 --count 3 --timeout 60\n"
	    "  getwork --task 7 --poll 5,10,20 --tries 6 --json\n"
	    "  getwork --tasks 3,7 --count 2\n"
	    "  getwork --task 7 --uuid \"$uuid\" --json\n"
	    "  getwork --task 7 --complete 12:7,13:7 --count 2\n"
	    "  getwork --task 7 --count 5 --exec './verify \"$LOCKQ_LOAN\"'\n"
	    "  getwork --cancel 118\n",
	.exits = "  0  at least one loan is yours; with --exec: all loans are completed; the\n"
	    "     request is cancelled\n"
	    "  1  the task has no work for this user; there is nothing to cancel\n"
	    "  2  usage error\n"
	    "  3  still pending, cancelled on timeout, or expired; with --exec: loans were\n"
	    "     returned: try again\n"
	    "  4  refused: the user or task is unknown, the task is disabled, it allows fewer\n"
	    "     loans, or the UUID can't be used again; with --exec and --complete: a loan\n"
	    "     was not yours any more, or on_complete refuses it\n"
	    "  5  no database, a failed query, or the output could not be written; with\n"
	    "     --exec: too many failures in a row\n"
	    "  6  outcome unknown (connection lost at commit): see checkwork\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP: the request is cancelled\n",
	.leads = true,
	.options = getwork_table,
	.check = check,
};

struct shown {
	const struct getwork_options *o;
	struct lockq *q;
};

/* Prints the answer and the message about it. Returns the exit status. */
static int
show(const struct getwork_options *o, struct lockq *q, struct lockq_answer *answer, int rc)
{
	int status = cli_exit_status(rc, cli_caught());
	bool busy = rc == LOCKQ_BUSY;
	const char *text = rc < 0 ? cli_library_text(q, rc) : lockq_error(q);
	char *complaint = getwork_message(&o->ask, answer, rc, text);

	if (answer->user == NULL && ((rc < 0 && rc != LOCKQ_EUNKNOWN) ||
	    (busy && answer->request_id == 0))) {
		cli_report(&o->common, status, "%s", complaint);
	} else {
		if (answer->user == NULL) {
			answer->user = cli_text("%s", o->ask.user);
			answer->task = o->ask.task;
			answer->asked = answer->requested = o->ask.count;
		}
		cli_answer_print(o->common.json, answer, rc, status, complaint);
		if (complaint != NULL)
			cli_message("%s", complaint);
	}
	getwork_message_refill(answer);
	if (rc < 0)
		cli_report_detail(&o->common, q);
	if (o->common.verbose)
		getwork_message_details(answer);
	free(complaint);
	return status;
}

/* A task of --tasks that had no loans. */
static void
show_before(void *data, struct lockq_answer *answer, int rc)
{
	const struct shown *shown = data;

	cli_noun_read(&shown->o->common, shown->q, shown->o->ask.task);
	(void)show(shown->o, shown->q, answer, rc);
}

/* Whether the pipeline is shown after a call that ended with @rc: a line after an answer, all of it
 * wherever the database can tell. */
static bool
has_pipeline(const struct getwork_options *o, int rc)
{
	if (!o->pipeline)
		return rc >= 0 && cli_caught() == 0;
	return rc >= 0 || rc == LOCKQ_EREFUSED || rc == LOCKQ_EQUERY;
}

enum { LAST_IN_LINE = 19 }; /* the nicest value */

/* A commit wakes hundreds of followers at once, and ending a process costs more than printing its
 * line. Without this, followers that are still to read their answer wait for processes that end:
 * the median of the figure "wake" doubles. A process that fills the list must not inherit it. */
static void
be_last_in_line(void)
{
	(void)setpriority(PRIO_PROCESS, 0, LAST_IN_LINE);
}

/* Works on the loans of the answer, and shows what is the user's then. A list that is due is filled
 * meanwhile. */
static int
answered(struct getwork_options *o, struct lockq *q, struct lockq_answer *answer, int rc)
{
	bool works = o->exec.command != NULL && answer->n_loans > 0;
	int status = show(o, q, answer, rc);

	if (!works)
		status = cli_finish(status, answer->n_loans == 0 ? NULL :
		    "the loans are assigned to you nevertheless: see checkwork");
	else
		(void)fflush(stdout); /* before the process that fills the list is made */
	if (!o->no_refill && !lockq_option_no_refill(q))
		getwork_refill(&o->common, q, o->ask.task);
	if (works)
		status = cli_finish(getwork_exec_run(&o->exec, &o->common, q, answer), NULL);
	else
		be_last_in_line();
	if (ferror(stdout) || !has_pipeline(o, rc))
		return status;
	getwork_pipeline(&o->common, q, o->ask.user, o->pipeline);
	return cli_finish(status, NULL);
}

/* Prints what came of --complete, of a call that ended with @rc. Returns false where nothing was
 * asked for, and *@status is the exit status. */
static bool
show_completed(const struct getwork_options *o, struct lockq *q, int rc,
    const struct lockq_disposed_result *done, const struct lockq_answer *answer, int *status)
{
	bool recorded, asked = done->asked != 0;

	*status = disposition_loans_show(&o->common, &o->done, q, asked ? LOCKQ_OK : rc,
	    asked ? "" : answer->uuid, done, &recorded);
	if (asked && o->common.verbose)
		cli_message(answer->one_commit ? "the next %s were given in the same commit" :
		    "the next %s were asked for after that commit", cli_loans(2));
	if (asked)
		return true;
	if (answer->uuid[0] != '\0')
		cli_message("the next %s may have been given, too: that command gives them, or "
		    "asks for them now", cli_loans(2));
	else if (rc == LOCKQ_CANCELLED && done->n_loans > 0)
		cli_message("interrupted: nothing was asked for");
	else
		cli_message("nothing was asked for, since --complete comes first");
	*status = cli_finish(*status, recorded ?
	    "loans were completed nevertheless: see checkwork" : NULL);
	return false;
}

/* For --any. Sets *@status where there is nothing to ask. */
static bool
find_tasks(struct getwork_options *o, struct lockq *q, int *status)
{
	int rc = getwork_tasks_find(&o->tasks, q, &o->ask);

	if (rc == LOCKQ_OK && o->tasks.n > 0)
		return true;
	*status = rc < 0 || rc == LOCKQ_BUSY ? cli_report_library(&o->common, q, rc) :
	    cli_report(&o->common, CLI_EXIT_REFUSED, "no enabled task has a place for --any: a "
	    "manager gives one, with managetask set N --any-place 1");
	return false;
}

static int
ask_for_loans(struct getwork_options *o, struct lockq *q, struct lockq_disposed_result *done,
    struct lockq_answer *answer)
{
	if (completes(o))
		return lockq_dispose_and_ask(q, &o->done.what, done, &o->ask, answer);
	if (o->tasks.n > 0)
		return getwork_tasks_ask(&o->tasks, q, &o->ask, answer, show_before,
		    &(struct shown){ o, q });
	return lockq_getwork(q, &o->ask, answer);
}

static void end(struct getwork_options *o, struct lockq *q, int status) CLI_NORETURN;

static void
end(struct getwork_options *o, struct lockq *q, int status)
{
	free(o->done.loans.list);
	lockq_free(q);
	cli_end(status);
}

int
main(int argc, char **argv)
{
	struct getwork_options o = GETWORK_DEFAULTS;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq *q = NULL;
	struct lockq_disposed_result done = LOCKQ_DISPOSED_RESULT_INIT;
	bool asked;
	int rc, status;

	cli_start(&getwork_tool, &o, argc, argv);
	if (o.exec.command != NULL)
		command_note_files();
	rc = cli_open(&q, &o.common);
	if (rc == LOCKQ_OK && o.cancel.given)
		end(&o, q, cli_finish(getwork_cancel(&o.common, q, &o.cancel, o.ask.user,
		    o.ask.task), NULL));
	if (rc == LOCKQ_OK && o.any && !find_tasks(&o, q, &status))
		end(&o, q, cli_finish(status, NULL));
	if (rc == LOCKQ_OK) {
		cli_catch_signals(completes(&o) ? "loans may be completed all the same, and a "
		    "request may still get others: see checkwork" : "a request may stay pending "
		    "and still get loans: see checkwork");
		rc = ask_for_loans(&o, q, &done, &answer);
		asked = !completes(&o) || show_completed(&o, q, rc, &done, &answer, &status);
		lockq_disposed_clear(&done);
		if (!asked)
			end(&o, q, status);
		cli_noun_read(&o.common, q, o.ask.task);
	}
	status = answered(&o, q, &answer, rc);
	lockq_answer_clear(&answer);
	end(&o, q, status);
}
