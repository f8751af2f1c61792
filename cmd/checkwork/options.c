/* SPDX-License-Identifier: MIT */
#include "checkwork/tool.h"

#include <string.h>

#include "cli/watch.h"

static int
parse_choices(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	static const char *const words[] = {
		[LOCKQ_CHOICE_USERS] = "users", [LOCKQ_CHOICE_TASKS] = "tasks",
		[LOCKQ_CHOICE_LOANS] = "loans", [LOCKQ_CHOICE_REQUESTS] = "requests"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*(int *)target = (int)i;
			return 0;
		}
	}
	return cli_fail(error, "--%s \"%s\" must be users, tasks, loans or requests", option->name,
	    text);
}

/* Sets the user and the task if loans are to be listed and they were not given. @others: an option
 * was given that goes with none of them. */
static int
check_choices(struct checkwork_options *o, bool others, struct cli_error *error)
{
	bool loans = o->choices.kind == LOCKQ_CHOICE_LOANS;

	if (o->choices.kind < 0)
		return cli_fail(error, "--begins needs --choices");
	if (others || (!loans && (o->user != NULL || o->task != 0)))
		return cli_fail(error, "--choices can be combined with --begins only, and with "
		    "loans also with --user and --task");
	if (!loans)
		return 0;
	if (cli_default_user(&o->user, error) != 0 || cli_default_task(&o->task, error) != 0)
		return -1;
	return o->task == 0 ? cli_fail_no_task(error) : 0;
}

static int
check(void *options, struct cli_error *error)
{
	struct checkwork_options *o = options;

	if (o->common.look_timeout_ms < 0)
		o->common.look_timeout_ms = LOCKQ_LOOK_TIMEOUT_MS;
	if (checkwork_choices_wanted(&o->choices))
		return check_choices(o, o->loan.given || o->request != NULL || o->pending ||
		    o->tasks || o->watch_ms != 0 || o->common.json, error);
	if (o->watch_ms != 0 && (o->request != NULL || o->common.json))
		return cli_fail(error, o->request != NULL ? "--watch can't be combined with "
		    "--request: --wait waits for its answer" : "--watch can't be combined with "
		    "--json: call checkwork again and again");
	if (o->tasks && (o->task != 0 || o->pending || o->loan.given || o->request != NULL))
		return cli_fail(error, "--tasks can't be combined with --task, --pending, --loan "
		    "or --request");
	if (o->pending && (o->loan.given || o->request != NULL))
		return cli_fail(error, "--pending can't be combined with --loan or --request");
	if (o->loan.given && (o->user != NULL || o->request != NULL))
		return cli_fail(error, "--loan can't be combined with --user or --request");
	if (o->loan.given && cli_default_task(&o->task, error) != 0)
		return -1;
	if (o->request != NULL && (o->user != NULL || o->task != 0))
		return cli_fail(error, "--request can't be combined with --user or --task");
	if (o->request == NULL && o->wait_ms >= 0)
		return cli_fail(error, "--wait needs --request");
	if (o->request == NULL && !o->loan.given)
		return cli_default_user(&o->user, error);
	return 0;
}

#define OPTION(member) offsetof(struct checkwork_options, member)

static const struct cli_option checkwork_table[] = {
	{ .help = "What is assigned" },
	{ "user", 'u', "NAME", "whose loans (default: LOCKQ_USER, else lockq-user\n"
	    "in an option file, else your login)", cli_parse_utf8, OPTION(user), 0, 0 },
	{ "task", 't', "N", "only this task", cli_parse_u32, OPTION(task), 1, UINT32_MAX },
	{ "pending", 0, NULL, "the pending requests alone, without the loans", cli_parse_flag,
	    OPTION(pending), 0, 0 },
	{ .help = "Which tasks there are" },
	{ "tasks", 0, NULL, "all tasks, and how the user stands in each", cli_parse_flag,
	    OPTION(tasks), 0, 0 },
	{ .help = "Who had a loan when" },
	{ "loan", 'l', "L", "what happened to this loan, in --task or in all of\n"
	    "them", cli_parse_loan, OPTION(loan), 0, 0 },
	{ .help = "How a request stands" },
	{ "request", 'r', "ID|UUID", "the request, as getwork named it", cli_parse_request,
	    OPTION(request), 0, 0 },
	{ "wait", 0, "SECONDS", "while it is pending, wait this long for its answer",
	    cli_parse_seconds, OPTION(wait_ms), 0, CLI_WAIT_MAX_S },
	{ .help = "What may be typed, a line each" },
	{ "choices", 0, "WHAT", "users, tasks, loans of a user in a task, or\n"
	    "requests that are pending", parse_choices, OPTION(choices.kind), 0, 0 },
	{ "begins", 0, "TEXT", "only those that begin with it", cli_parse_utf8,
	    OPTION(choices.begins), 0, 0 },
	CLI_TIMEOUT_ROWS(OPTION),
	{ .help = "Again and again" },
	{ "watch", 0, "[SECONDS]", "show it anew each time, every 2 seconds or as many;\n"
	    "on a terminal keys act on your loans: ? shows them",
	    watch_parse, OPTION(watch_ms), WATCH_LEAST_S, CLI_WAIT_MAX_S },
	CLI_WIDTH_ROWS(OPTION),
	CLI_OPTIONS_END
};

const struct cli_tool checkwork_tool = {
	.name = "checkwork",
	.synopsis = "[--user NAME] [--task N] [--pending]\n"
	    " [--json | --watch [SECONDS]]\n"
	    "--tasks [--user NAME] [--json | --watch [SECONDS]]\n"
	    "--loan L [--task N] [--json | --watch [SECONDS]]\n"
	    "--request ID|UUID [--wait SECONDS] [--json]\n"
	    "--choices WHAT [--begins TEXT] [--user NAME] [--task N]",
	.purpose = "Shows the loans that are assigned to a user and the user's pending requests,\n"
	    "which tasks there are, who had a loan when, or how a request stands. It asks\n"
	    "for no loans and never leads, but for the keys of --watch. A look at a pending\n"
	    "request by --request keeps it from expiring.",
	.examples = "  checkwork\n"
	    "  checkwork --watch\n"
	    "  checkwork --user oliver --task 7\n"
	    "  checkwork --pending\n"
	    "  checkwork --tasks --watch 5\n"
	    "  checkwork --loan 4711 --task 7\n"
	    "  checkwork --request 118 --wait 60\n",
	.exits = "  0  there are assignments; with --pending: a request is pending; there are\n"
	    "     tasks; the loan has records; the request got loans; there are choices\n"
	    "  1  the pipeline is empty, also where a request is pending; with --pending:\n"
	    "     none is pending; there are no tasks; the loan has no record; the request\n"
	    "     found no work; there are no choices\n"
	    "  2  usage error\n"
	    "  3  the request is pending, cancelled or expired; or another session locks a\n"
	    "     table: try again\n"
	    "  4  the user, the task or the request is unknown, or the request was refused\n"
	    CLI_EXITS_ERRORS
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP\n",
	.leads = true,
	.options = checkwork_table,
	.check = check,
};
