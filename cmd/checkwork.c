/* SPDX-License-Identifier: MIT */
/* checkwork: shows a user's current assignments, who had a loan when, or how a request stands. */
#include "checkwork_choices.h"
#include "cli.h"
#include "cli_signals.h"
#include "cli_terminal.h"
#include "cli_values.h"
#include "exit_status.h"
#include "output.h"

struct checkwork_options {
	struct cli_common common;
	const char *user;
	uint32_t task;
	struct cli_loan loan;
	const char *request;
	int64_t wait_ms; /* negative: not given */
	uint32_t width;  /* 0: not given */
	struct checkwork_choices choices;
};
#define CHECKWORK_DEFAULTS { CLI_COMMON_INIT, NULL, 0, { false, 0 }, NULL, -1, 0, \
	CHECKWORK_CHOICES_DEFAULTS }

static int
check(void *options, struct cli_error *error)
{
	struct checkwork_options *o = options;

	if (checkwork_choices_wanted(&o->choices))
		return checkwork_choices_check(&o->choices, &o->user, &o->task, o->loan.given ||
		    o->request != NULL || o->common.out == &output_json, error);
	if (o->loan.given && (o->user != NULL || o->request != NULL))
		return cli_fail(error, "--loan can't be combined with --user or --request");
	if (o->loan.given && cli_default_task(&o->task, error) != 0)
		return -1;
	if (o->loan.given && o->task == 0)
		return cli_fail(error, "--loan needs --task, or LOCKQ_TASK, or lockq-task in an "
		    "option file");
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
	{ .help = "Who had a loan when" },
	{ "loan", 'l', "L", "what happened to this loan in the task", cli_parse_loan, OPTION(loan),
	    0, 0 },
	{ .help = "How a request stands" },
	{ "request", 'r', "ID|UUID", "the request, as getwork named it", cli_parse_request,
	    OPTION(request), 0, 0 },
	{ "wait", 0, "SECONDS", "while it is pending, wait this long for its answer",
	    cli_parse_seconds, OPTION(wait_ms), 0, CLI_WAIT_MAX_S },
	{ .help = "What may be typed, a line each" },
	{ "choices", 0, "WHAT", "users, tasks, loans of a user in a task, or\n"
	    "requests that are pending", checkwork_choices_parse, OPTION(choices.kind), 0, 0 },
	{ "begins", 0, "TEXT", "only those that begin with it", cli_parse_utf8,
	    OPTION(choices.begins), 0, 0 },
	{ .help = "Tables" },
	{ "width", 'w', "COLUMNS", "how wide a table may be (default: COLUMNS or the\n"
	    "terminal; into a file or a pipe: as wide as it is)", cli_parse_u32,
	    OPTION(width), CLI_WIDTH_LEAST, CLI_WIDTH_MOST },
	CLI_OPTIONS_END
};

static const struct cli_tool checkwork_tool = {
	.name = "checkwork",
	.synopsis = "[--user NAME] [--task N] [--json]\n"
	    "--loan L --task N [--json]\n"
	    "--request ID|UUID [--wait SECONDS] [--json]\n"
	    "--choices WHAT [--begins TEXT] [--user NAME] [--task N]",
	.purpose = "Shows the loans that are assigned to a user, who had a loan when, or how a\n"
	    "request stands. It asks for no loans and never leads. A look at a pending\n"
	    "request keeps it from expiring.",
	.examples = "  checkwork\n"
	    "  checkwork --user oliver --task 7\n"
	    "  checkwork --loan 4711 --task 7\n"
	    "  checkwork --request 118 --wait 60\n",
	.exits = "  0  there are assignments; the loan has records; the request got loans; there\n"
	    "     are choices\n"
	    "  1  the pipeline is empty; the loan has no record; the request found no work;\n"
	    "     there are no choices\n"
	    "  2  usage error\n"
	    "  3  the request is pending, cancelled or expired\n"
	    "  4  the user, the task or the request is unknown, or the request was refused\n"
	    CLI_EXITS_ERRORS
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP\n",
	.options = checkwork_table,
	.check = check,
};

static int
look_at_request(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int rc = lockq_request_look(q, o->request, o->wait_ms > 0 ? o->wait_ms : 0, &answer);
	const char *complaint = rc < 0 ? cli_library_text(q, rc) : NULL;
	int status = cli_exit_status(rc, cli_caught());

	if (answer.user == NULL) {
		status = cli_report_library(&o->common, q, rc);
	} else {
		o->common.out->request(&answer, rc, status, complaint);
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

	if (rc >= 0)
		o->common.out->history(o->task, o->loan.id, &history);
	lockq_history_clear(&history);
	return rc < 0 ? cli_report_library(&o->common, q, rc) : cli_exit_status(rc, cli_caught());
}

static int
look_at_pipeline(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	int rc = lockq_pipeline(q, o->user, o->task, &pipeline);

	if (rc >= 0) {
		o->common.out->pipeline(o->user, o->task, &pipeline);
		if (pipeline.detail_fault != NULL)
			cli_message("a task's own columns are missing: %s", pipeline.detail_fault);
	}
	lockq_pipeline_clear(&pipeline);
	return rc < 0 ? cli_report_library(&o->common, q, rc) : cli_exit_status(rc, cli_caught());
}

int
main(int argc, char **argv)
{
	struct checkwork_options o = CHECKWORK_DEFAULTS;
	struct lockq *q = NULL;
	int rc;

	cli_start(&checkwork_tool, &o, argc, argv);
	cli_set_width(o.width);
	rc = cli_open(&q, &o.common);
	if (rc == LOCKQ_OK && o.wait_ms > 0)
		cli_catch_signals(NULL);
	if (rc != LOCKQ_OK)
		rc = cli_report_library(&o.common, q, rc);
	else if (checkwork_choices_wanted(&o.choices))
		rc = checkwork_choices_run(&o.choices, &o.common, q, o.user, o.task);
	else if (o.request != NULL)
		rc = look_at_request(&o, q);
	else if (o.loan.given)
		rc = look_at_history(&o, q);
	else
		rc = look_at_pipeline(&o, q);
	rc = cli_finish(rc, NULL);
	lockq_free(q);
	cli_end(rc);
}
