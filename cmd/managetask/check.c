/* SPDX-License-Identifier: MIT */
/* The command "check", and the check that comes before a task is made or changed. */
#include "managetask/commands.h"

static int
check(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	struct lockq_findings findings = LOCKQ_FINDINGS_INIT;
	struct lockq_check what = LOCKQ_CHECK_INIT;
	int rc, status;

	(void)command;
	cli_catch_signals("nothing was changed");
	what.task = o->task;
	rc = lockq_check_task(q, &what, &findings);
	if (rc != LOCKQ_OK) {
		status = rc == LOCKQ_CANCELLED ? cli_report(&o->common, cli_exit_status(rc,
		    cli_caught()), "interrupted") : cli_report_library(&o->common, q, rc);
	} else {
		status = findings.n_faults > 0 ? CLI_EXIT_REFUSED : CLI_EXIT_DONE;
		manage_output(o->common.json)->findings(o->task, &findings, status);
	}
	lockq_findings_clear(&findings);
	return status;
}

int
manage_precheck(const struct manage_options *o, struct lockq *q, bool adds,
    struct lockq_findings *findings)
{
	struct lockq_check what = LOCKQ_CHECK_INIT;
	size_t refuses = 0;
	int rc;

	what.task = adds ? 0 : o->task;
	what.quick = 1;
	what.settings = o->settings.list;
	what.n_settings = o->settings.n;
	rc = lockq_check_task(q, &what, findings);
	if (rc != LOCKQ_OK)
		return cli_report_library(&o->common, q, rc);
	for (size_t i = 0; i < findings->n_findings; i++) {
		const struct lockq_finding *f = &findings->findings[i];

		if (f->is_grant != 0 || f->severity == LOCKQ_NOTE)
			continue;
		cli_message("%s: %s%s%s", manage_severity(f->severity), f->text,
		    f->mend != NULL ? ": " : "", f->mend != NULL ? f->mend : "");
		refuses += f->severity == LOCKQ_FAULT;
	}
	if (refuses == 0)
		return CLI_EXIT_DONE;
	return cli_report(&o->common, CLI_EXIT_REFUSED, "the task was not %s: mend %s, or say "
	    "--unchecked", adds ? "added" : "changed", refuses == 1 ? "that fault" :
	    "those faults");
}

int
manage_rights(const struct manage_options *o, struct lockq *q, uint32_t task,
    const struct lockq_findings *findings)
{
	size_t granted = 0;
	int rc = o->grants ? lockq_grant(q, findings, &granted) : LOCKQ_OK;

	manage_output(o->common.json)->rights(task, findings, granted);
	return rc == LOCKQ_OK ? CLI_EXIT_DONE : cli_report_library(&o->common, q, rc);
}

static const struct cli_option check_options[] = { { .help = "Which task" }, MANAGE_TASK,
	CLI_OPTIONS_END };

static const struct cli_tool check_tool = {
	MANAGE_TOOL, .command = "check", .options = check_options, .check = manage_check_task,
	.bare = "task", .leads = true,
	.synopsis = "N [--json]",
	.purpose = "Tells whether a task works: its views, its procedure, the rights of each\n"
	    "role, its limits, and lockq's own statements. Runs the query once, as a leader\n"
	    "does, and shows how long it takes and what it finds. Each fault is followed by\n"
	    "the line of SQL, or the command, that mends it. Nothing is changed, and nobody\n"
	    "waits.",
	.examples = "  managetask check 7\n"
	    "  managetask check 7 --json | jq -r 'select(.severity == \"fault\") | .mend'\n",
	.exits = "  0  no faults; there may be warnings\n"
	    "  2  usage error\n"
	    "  3  another session has locked a table: try again\n"
	    "  4  there are faults, or the task is unknown\n"
	    CLI_EXITS_ERRORS
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP\n",
};

const struct manage_command manage_check_commands[] = {
	{ .tool = &check_tool, .run = check }, { .tool = NULL }
};
