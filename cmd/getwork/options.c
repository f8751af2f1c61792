/* SPDX-License-Identifier: MIT */
#include "getwork/tool.h"

bool
getwork_completes(const struct getwork_options *o)
{
	return o->done.loans.n > 0 || o->done.loans.from_stdin;
}

static int
parse_cancel(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct getwork_options *o = target;

	o->cancels = true;
	return text == NULL ? 0 : cli_parse_request(option, text, &o->request, error);
}

static int
check_cancel(struct getwork_options *o, struct cli_error *error)
{
	struct cli_ask *a = &o->asking;

	if (a->count != 0 || a->ask.uuid != NULL || a->fresh || a->ask.timeout_ms >= 0 ||
	    a->poll.n > 0 || a->tries > 0 || o->no_wait || o->pipeline || a->no_refill ||
	    getwork_completes(o) || cli_ask_several(a))
		return cli_fail(error, "--cancel can only be combined with --user, --task and the "
		    "options for connection and output");
	if (o->request != NULL && a->ask.task != 0)
		return cli_fail(error, "--cancel %s can't be combined with --task", o->request);
	if (o->request == NULL && cli_default_task(&a->ask.task, error) != 0)
		return -1;
	return cli_default_user(&a->ask.user, error);
}

/* A request that were left pending in one task would be another one in the next. */
static int
check_several(const struct getwork_options *o, struct cli_error *error)
{
	if (getwork_completes(o))
		return cli_fail(error, "--complete can't be combined with several tasks");
	if (o->no_wait)
		return cli_fail(error, "--no-wait can't be combined with several tasks: "
		    "--timeout 0 does not wait either, and leaves nothing pending");
	return 0;
}

static int
check(void *options, struct cli_error *error)
{
	struct getwork_options *o = options;
	struct cli_ask *a = &o->asking;

	if (o->cancels)
		return check_cancel(o, error);
	if (cli_ask_several(a) && check_several(o, error) != 0)
		return -1;
	if (a->poll.n > 0 && o->no_wait)
		return cli_fail(error, "--poll and --no-wait can't be combined");
	if (a->ask.timeout_ms >= 0 && o->no_wait)
		return cli_fail(error, "--timeout and --no-wait can't be combined: --timeout 0 "
		    "does not wait either, and leaves nothing pending");
	if (cli_ask_check(a, error) != 0)
		return -1;
	if (o->no_wait)
		a->ask.wait = LOCKQ_WAIT_NONE;
	if (!getwork_completes(o))
		return 0;
	o->done.complete = true;
	o->done.what.user = a->ask.user;
	o->done.what.task = a->ask.task;
	return disposition_loans_check(&o->done, error);
}

#define OPTION(member) offsetof(struct getwork_options, member)
#define ASK(member) OPTION(asking.member)

static const struct cli_option getwork_table[] = {
	CLI_ASK_WHAT(ASK),
	{ .help = "What is done before" },
	{ "complete", 0, "L[,L...]", "complete these loans of the task first, as in 12:7;\n"
	    "if one of them is refused, ask for nothing", loan_option_parse, OPTION(done.loans), 0,
	    0 },
	CLI_ASK_WAIT(ASK),
	{ "no-wait", 0, NULL, "as --timeout 0, but leave the request pending: see\n"
	    "checkwork", cli_parse_flag, OPTION(no_wait), 0, 0 },
	{ .help = "Afterwards" },
	{ "pipeline", 0, NULL, "show all that is yours by then, as checkwork does;\n"
	    "without it a line on a terminal tells how much", cli_parse_flag, OPTION(pipeline),
	    0, 0 },
	CLI_ASK_REFILL(ASK),
	{ .help = "Instead of asking" },
	{ "cancel", 0, "[ID|UUID]", "cancel this request of the user, or the pending one\n"
	    "(of the task that is named)", parse_cancel, 0, 0, 0 },
	CLI_OPTIONS_END
};

const struct cli_tool getwork_tool = {
	.name = "getwork",
	.synopsis = "[--user NAME] --task N[,N...] | --any\n"
	    " [--count N] [--uuid UUID] [--fresh]\n"
	    " [--complete L[,L...]] [--timeout SECONDS]\n"
	    " [--poll S,S,... [--tries N] | --no-wait]\n"
	    " [--pipeline] [--no-refill] [--json]\n"
	    "[--user NAME] --cancel [ID|UUID] [--task N] [--json]",
	.purpose = "Asks for the next loans of a task. One process at a time runs the task's\n"
	    "query. All users that ask meanwhile are served from its result. A task may keep\n"
	    "the rest of the result as a list for those that ask later. Ctrl-C cancels the\n"
	    "request. runwork runs a command for each loan.",
	.examples = "  getwork --task 7\n"
	    "  getwork --user oliver --task 7 --count 3 --timeout 60\n"
	    "  getwork --task 7 --poll 5,10,20 --tries 6 --json\n"
	    "  getwork --task 3,7 --count 2\n"
	    "  getwork --task 7 --uuid \"$uuid\" --json\n"
	    "  getwork --task 7 --complete 12:7,13:7 --count 2\n"
	    "  getwork --cancel 118\n",
	.exits = "  0  at least one loan is yours; the request is cancelled\n"
	    "  1  the task has no work for this user; there is nothing to cancel\n"
	    "  2  usage error\n"
	    "  3  still pending, cancelled on timeout, or expired: try again\n"
	    "  4  refused: the user or task is unknown, the task is disabled, it allows fewer\n"
	    "     loans, or the UUID can't be used again; with --complete: a loan was not\n"
	    "     yours any more, or on_complete refuses it\n"
	    CLI_EXITS_ERRORS
	    "  6  outcome unknown (connection lost at commit): see checkwork\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP: the request is cancelled\n",
	.leads = true,
	.options = getwork_table,
	.check = check,
};
