/* SPDX-License-Identifier: MIT */
/* checkwork: shows a user's current assignments, or how a request stands. Only looks. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum {
	WAIT_LONGEST = 365 * 24 * 3600,
	UUID_LENGTH = 36
};

struct checkwork_options {
	struct cli_common common;
	const char *user;
	uint32_t task;
	const char *request;
	int64_t wait_ms; /* negative: not given */
};
#define CHECKWORK_DEFAULTS { CLI_COMMON_INIT, NULL, 0, NULL, -1 }

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
check(void *options, struct cli_error *error)
{
	struct checkwork_options *o = options;

	if (o->request != NULL && (o->user != NULL || o->task != 0))
		return cli_fail(error, "--request excludes --user and --task");
	if (o->request == NULL && o->wait_ms >= 0)
		return cli_fail(error, "--wait goes with --request");
	if (o->user == NULL)
		o->user = cli_login_name();
	if (o->user == NULL && o->request == NULL)
		return cli_fail(error, "--user is missing, and your login has no name");
	return 0;
}

#define OPTION(member) offsetof(struct checkwork_options, member)

static const struct cli_option checkwork_table[] = {
	{ .help = "What is assigned" },
	{ "user", 'u', "NAME", "whose (default: your login name)", cli_parse_utf8, OPTION(user),
	    0, 0 },
	{ "task", 't', "N", "only this task", cli_parse_u32, OPTION(task), 1, UINT32_MAX },
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
	    "--request ID|UUID [--wait SECONDS] [--json]",
	.purpose = "Shows the loans that are assigned to a user, or how a request stands. It only\n"
	    "looks: it asks for nothing and changes nothing.",
	.examples = "  checkwork\n"
	    "  checkwork --user oliver --task 7\n"
	    "  checkwork --request 118 --wait 60\n",
	.exits = "  0  there are assignments; the request got loans\n"
	    "  1  an empty pipeline; the request found no work\n"
	    "  2  usage error\n"
	    "  3  the request is pending, cancelled or expired\n"
	    "  4  unknown user, task or request\n"
	    CLI_EXITS_ERRORS
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP\n",
	.options = checkwork_table,
	.check = check,
};

static void
print_request(const struct lockq_answer *answer, int rc)
{
	unsigned long long id = answer->request_id;
	const char *user = answer->user != NULL ? answer->user : "";
	char *text;

	if (rc == LOCKQ_OK) {
		cli_answer_loans(answer, false);
	} else if (rc == LOCKQ_NOTHING) {
		text = cli_answer_no_work(answer, time(NULL));
		cli_line("request %llu for %s: %s", id, user, text);
		free(text);
	} else if (answer->status != LOCKQ_PENDING) {
		cli_line("request %llu for %s, task %u: %s", id, user, answer->task,
		    lockq_status_name(answer->status));
	} else if (answer->leader != NULL) {
		cli_line("request %llu for %s, task %u: pending, %s leads", id, user, answer->task,
		    answer->leader);
	} else if (!answer->nobody_leads) {
		cli_line("request %llu for %s, task %u: pending", id, user, answer->task);
	} else {
		cli_line("request %llu for %s, task %u: pending, nobody leads: run getwork "
		    "--user %s --task %u to lead", id, user, answer->task, user, answer->task);
	}
}

static int
show_request(const struct checkwork_options *o, struct lockq *q, const struct lockq_answer *answer,
    int rc)
{
	int status = cli_exit_status(rc, cli_caught());

	if (answer->user == NULL)
		return cli_report_library(&o->common, q, rc);
	if (o->common.json)
		cli_json_print(cli_json_answer(answer, status,
		    rc < 0 ? cli_library_text(q, rc) : NULL));
	if (rc < 0)
		cli_message("%s", cli_library_text(q, rc));
	else if (!o->common.json)
		print_request(answer, rc);
	return status;
}

static void
print_assignments_json(const char *user, const struct lockq_pipeline *pipeline)
{
	const struct lockq_assignment *a;
	json_t *object;
	size_t i;

	for (i = 0; i < pipeline->n_assignments; i++) {
		a = &pipeline->assignments[i];
		object = json_object();
		cli_json_set(object, "user", cli_json_text(user));
		cli_json_set(object, "task", cli_json_number(a->task));
		cli_json_set(object, "task_name", cli_json_text(a->task_name));
		cli_json_set(object, "loan_id", cli_json_number(a->loan_id));
		cli_json_set(object, "token", cli_json_number(a->token));
		cli_json_set(object, "request_id", cli_json_number(a->request_id));
		cli_json_set(object, "assigned_at", cli_json_time(a->assigned_at));
		cli_json_set(object, "age_s", cli_json_number(a->age_s));
		cli_json_set(object, "lease_expires_at", cli_json_time(a->lease_expires_at));
		cli_json_set(object, "lease_expired", json_boolean(a->lease_expired));
		cli_json_print(object);
	}
}

static void
add_row(struct cli_table *table, const struct lockq_assignment *a, time_t now)
{
	char since[CLI_TIME_SIZE], age[CLI_TIME_SIZE], lease[CLI_TIME_SIZE];

	cli_time_local(since, a->assigned_at, false, now);
	cli_time_local(lease, a->lease_expires_at, false, now);
	cli_age(age, a->age_s);
	cli_table_cell(table, "%u %s", a->task, a->task_name != NULL ? a->task_name : "");
	cli_table_cell(table, "%llu", (unsigned long long)a->loan_id);
	cli_table_cell(table, "%llu", (unsigned long long)a->token);
	cli_table_cell(table, "%s", since);
	cli_table_cell(table, "%s", age);
	if (lease[0] == '\0')
		cli_table_cell(table, "no limit");
	else
		cli_table_cell(table, "%s%s", a->lease_expired ? "ran out " : "", lease);
}

static void
print_assignments(const char *user, const struct lockq_pipeline *pipeline)
{
	static const struct cli_column columns[] = {
		{ "task", false }, { "loan", true }, { "token", true }, { "assigned", false },
		{ "age", true }, { "lease until", false }
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	time_t now = time(NULL);
	size_t i;

	for (i = 0; i < pipeline->n_assignments; i++)
		add_row(table, &pipeline->assignments[i], now);
	cli_heading("Pipeline %s %s", cli_dot(), user);
	cli_table_print(stdout, table, cli_stdout_style());
	cli_line("%zu %s", pipeline->n_assignments,
	    pipeline->n_assignments == 1 ? "loan" : "loans");
	cli_table_free(table);
}

static int
show_pipeline(const struct checkwork_options *o, struct lockq *q,
    const struct lockq_pipeline *pipeline, int rc)
{
	if (rc < 0)
		return cli_report_library(&o->common, q, rc);
	if (o->common.json)
		print_assignments_json(o->user, pipeline);
	else if (pipeline->n_assignments > 0)
		print_assignments(o->user, pipeline);
	else if (o->task != 0)
		cli_line("nothing in %s's pipeline for task %u", o->user, o->task);
	else
		cli_line("nothing in %s's pipeline", o->user);
	return cli_exit_status(rc, cli_caught());
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
	else
		rc = look_at_pipeline(&o, q);
	rc = cli_finish(rc, NULL);
	lockq_free(q);
	return rc;
}
