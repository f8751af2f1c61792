/* SPDX-License-Identifier: MIT */
/* checkwork: shows a user's current assignments, who had a loan when, or how a request stands. Only
 * looks. */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "cli.h"
#include "cli_json.h"
#include "cli_terminal.h"
#include "cli_values.h"
#include "history.h"
#include "pipeline.h"

enum {
	WAIT_LONGEST = 365 * 24 * 3600,
	UUID_LENGTH = 36
};

struct checkwork_options {
	struct cli_common common;
	const char *user;
	uint32_t task;
	struct loan_option {
		bool given;
		uint64_t id;
	} loan;
	const char *request;
	int64_t wait_ms; /* negative: not given */
};
#define CHECKWORK_DEFAULTS { CLI_COMMON_INIT, NULL, 0, { false, 0 }, NULL, -1 }

static bool
is_uuid(const char *text)
{
	size_t i;

	if (strlen(text) != UUID_LENGTH)
		return false;
	for (i = 0; i < UUID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : strchr("0123456789abcdefABCDEF", text[i]) == NULL)
			return false;
	}
	return true;
}

static int
parse_request(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	uint64_t number = 0;

	if (!is_uuid(text) && (cli_number(&number, text) != 0 || number == 0))
		return cli_fail(error, "--%s %s: must be a request's number or its UUID",
		    option->name, text);
	*(const char **)target = text;
	return 0;
}

static int
parse_loan(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct loan_option *loan = target;

	if (cli_number(&loan->id, text) != 0)
		return cli_fail(error, "--%s %s: must be a loan's number", option->name, text);
	loan->given = true;
	return 0;
}

static int
check(void *options, struct cli_error *error)
{
	struct checkwork_options *o = options;

	if (o->loan.given && (o->user != NULL || o->request != NULL))
		return cli_fail(error, "--loan excludes --user and --request");
	if (o->loan.given && o->task == 0)
		return cli_fail(error, "--loan goes with --task");
	if (o->request != NULL && (o->user != NULL || o->task != 0))
		return cli_fail(error, "--request excludes --user and --task");
	if (o->request == NULL && o->wait_ms >= 0)
		return cli_fail(error, "--wait goes with --request");
	if (o->user == NULL)
		o->user = cli_login_name();
	if (o->user == NULL && o->request == NULL && !o->loan.given)
		return cli_fail(error, "--user is missing, and your login has no name");
	return 0;
}

#define OPTION(member) offsetof(struct checkwork_options, member)

static const struct cli_option checkwork_table[] = {
	{ .help = "What is assigned" },
	{ "user", 'u', "NAME", "whose (default: your login name)", cli_parse_utf8, OPTION(user),
	    0, 0 },
	{ "task", 't', "N", "only this task", cli_parse_u32, OPTION(task), 1, UINT32_MAX },
	{ .help = "Who had a loan when" },
	{ "loan", 'l', "L", "what happened to this loan in the task that --task\nnames", parse_loan,
	    OPTION(loan), 0, 0 },
	{ .help = "How a request stands" },
	{ "request", 'r', "ID|UUID", "the request, as getwork named it", parse_request,
	    OPTION(request), 0, 0 },
	{ "wait", 0, "SECONDS", "while it is pending, wait this long for its answer",
	    cli_parse_seconds, OPTION(wait_ms), 0, WAIT_LONGEST },
	CLI_OPTIONS_END
};

static const struct cli_tool checkwork_tool = {
	.name = "checkwork",
	.synopsis = "[--user NAME] [--task N] [--json]\n"
	    "--loan L --task N [--json]\n"
	    "--request ID|UUID [--wait SECONDS] [--json]",
	.purpose = "Shows the loans that are assigned to a user, who had a loan when, or how a\n"
	    "request stands. It only looks: it asks for nothing and changes nothing.",
	.examples = "  checkwork\n"
	    "  checkwork --user oliver --task 7\n"
	    "  checkwork --loan 4711 --task 7\n"
	    "  checkwork --request 118 --wait 60\n",
	.exits = "  0  there are assignments; the loan is known; the request got loans\n"
	    "  1  an empty pipeline; an unknown loan; the request found no work\n"
	    "  2  usage error\n"
	    "  3  the request is pending, cancelled or expired\n"
	    "  4  unknown user, task or request\n"
	    CLI_EXITS_ERRORS
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP\n",
	.options = checkwork_table,
	.check = check,
};

static void
print_pending(const struct lockq_answer *answer)
{
	unsigned long long id = answer->request_id;
	char *line = cli_answer_line(answer, cli_dot());

	if (answer->leader != NULL)
		cli_line("request %llu for %s, task %u: pending, %s leads", id, answer->user,
		    answer->task, answer->leader);
	else if (!answer->nobody_leads)
		cli_line("request %llu for %s, task %u: pending", id, answer->user, answer->task);
	else
		cli_line("request %llu for %s, task %u: pending, nobody leads: run getwork "
		    "--user %s --task %u to lead", id, answer->user, answer->task,
		    answer->user, answer->task);
	if (answer->position > 0)
		cli_line("%s", line);
	free(line);
}

static void
print_request(const struct lockq_answer *answer, int rc)
{
	unsigned long long id = answer->request_id;
	char *text;

	if (rc == LOCKQ_OK) {
		cli_answer_loans(answer, false);
	} else if (rc == LOCKQ_NOTHING) {
		text = cli_answer_no_work(answer, time(NULL));
		cli_line("request %llu%s%s: %s", id, answer->excluded == 0 ? " for " : "",
		    answer->excluded == 0 ? answer->user : "", text);
		free(text);
	} else if (answer->status != LOCKQ_PENDING) {
		cli_line("request %llu for %s, task %u: %s", id, answer->user, answer->task,
		    lockq_status_name(answer->status));
	} else {
		print_pending(answer);
	}
}

/* Only who looks asks for these. */
static json_t *
request_object(const struct lockq_answer *answer, int status, const char *error)
{
	json_t *object = cli_json_answer(answer, status, error);
	bool placed = answer->position > 0;

	cli_json_set(object, "nobody_leads", json_boolean(answer->nobody_leads));
	cli_json_set(object, "position",
	    placed ? cli_json_number(answer->position) : json_null());
	cli_json_set(object, "loans_ahead",
	    placed ? cli_json_number(answer->loans_ahead) : json_null());
	cli_json_set(object, "expected_ms",
	    answer->expected_ms < 0 ? json_null() : json_integer(answer->expected_ms));
	return object;
}

static int
show_request(const struct checkwork_options *o, struct lockq *q, const struct lockq_answer *answer,
    int rc)
{
	int status = cli_exit_status(rc, cli_caught());

	if (answer->user == NULL)
		return cli_report_library(&o->common, q, rc);
	if (o->common.json)
		cli_json_print(request_object(answer, status,
		    rc < 0 ? cli_library_text(q, rc) : NULL));
	if (rc < 0)
		cli_message("%s", cli_library_text(q, rc));
	else if (!o->common.json)
		print_request(answer, rc);
	return status;
}

static void
print_empty(const struct checkwork_options *o)
{
	if (o->task != 0)
		cli_line("nothing in %s's pipeline for task %u: getwork --user %s --task %u asks "
		    "for work", o->user, o->task, o->user, o->task);
	else
		cli_line("nothing in %s's pipeline: getwork --user %s --task N asks for work",
		    o->user, o->user);
}

static int
show_pipeline(const struct checkwork_options *o, struct lockq *q,
    const struct lockq_pipeline *pipeline, int rc)
{
	if (rc < 0)
		return cli_report_library(&o->common, q, rc);
	if (o->common.json)
		cli_pipeline_json(o->user, pipeline);
	else if (pipeline->n_assignments > 0)
		cli_pipeline(o->user, pipeline);
	else
		print_empty(o);
	if (pipeline->detail_fault != NULL)
		cli_message("without details: %s", pipeline->detail_fault);
	return cli_exit_status(rc, cli_caught());
}

static int
show_history(const struct checkwork_options *o, struct lockq *q,
    const struct lockq_history *history, int rc)
{
	if (rc < 0)
		return cli_report_library(&o->common, q, rc);
	if (o->common.json)
		cli_history_json(o->task, o->loan.id, history);
	else if (history->n_events > 0)
		cli_history(o->task, o->loan.id, history);
	else
		cli_line("nothing is known of loan %llu in task %u",
		    (unsigned long long)o->loan.id, o->task);
	return cli_exit_status(rc, cli_caught());
}

static int
look_at_history(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_history history = LOCKQ_HISTORY_INIT;
	int rc = lockq_history(q, o->task, o->loan.id, &history);

	rc = show_history(o, q, &history, rc);
	lockq_history_clear(&history);
	return rc;
}

static int
look_at_request(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int64_t wait_ms = o->wait_ms > 0 ? o->wait_ms : 0;
	int rc = lockq_request_look(q, o->request, wait_ms, &answer);

	rc = show_request(o, q, &answer, rc);
	lockq_answer_clear(&answer);
	return rc;
}

static int
look_at_pipeline(const struct checkwork_options *o, struct lockq *q)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	int rc = lockq_pipeline(q, o->user, o->task, &pipeline);

	rc = show_pipeline(o, q, &pipeline, rc);
	lockq_pipeline_clear(&pipeline);
	return rc;
}

int
main(int argc, char **argv)
{
	struct checkwork_options o = CHECKWORK_DEFAULTS;
	struct lockq *q = NULL;
	int rc;

	cli_start(&checkwork_tool, &o, argc, argv);
	rc = cli_open(&q, &o.common);
	if (rc == LOCKQ_OK && o.wait_ms > 0)
		cli_catch_signals();
	if (rc != LOCKQ_OK)
		rc = cli_report_library(&o.common, q, rc);
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
