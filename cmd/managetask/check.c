/* SPDX-License-Identifier: MIT */
/* The command "check", and the check that comes before a task is made or changed. */
#include <stdlib.h>
#include <string.h>

#include "cli/health.h"
#include "cli/json.h"
#include "managetask/commands.h"

static const char *
severity_name(enum lockq_severity severity)
{
	switch (severity) {
	case LOCKQ_FAULT:
		return "fault";
	case LOCKQ_WARNING:
		return "warning";
	case LOCKQ_NOTE:
		break;
	}
	return "note";
}

/* Lines of SQL end as the mysql client wants them. */
static void
print_mend(const char *mend, const char *indent)
{
	bool command = strncmp(mend, "managetask ", strlen("managetask ")) == 0;

	cli_line("%s%s%s", indent, mend, command ? "" : ";");
}

static void
print_of(const struct lockq_findings *findings, enum lockq_severity severity, const char *heading)
{
	bool begun = false;

	for (size_t i = 0; i < findings->n_findings; i++) {
		const struct lockq_finding *f = &findings->findings[i];

		if (f->severity != severity)
			continue;
		if (!begun)
			cli_line("%s", heading);
		begun = true;
		cli_line("  %s", f->text);
		if (f->mend != NULL)
			print_mend(f->mend, "    ");
	}
}

/* How long the query took, what it found, and what the check of a kept loan costs. */
static void
print_figures(const struct lockq_findings *f)
{
	unsigned long long rows = f->rows, loans = f->loans;
	bool checked = f->check_ms >= 0;

	if (f->query_ms < 0) {
		cli_line("the query was not run to its end");
		return;
	}
	cli_line("query %s %s %s%llu row%s, %llu loan%s%s%s%s%s%s",
	    cli_ms((uint64_t)f->query_ms).text, cli_dot(), f->complete != 0 ? "" : "more than ",
	    rows, cli_plural(rows), loans, cli_plural(loans), checked ? " " : "",
	    checked ? cli_dot() : "",
	    checked ? " check " : "", checked ? cli_ms((uint64_t)f->check_ms).text : "",
	    f->pushed_down < 0 ? "" : f->pushed_down != 0 ? ", pushed down" : ", not pushed down");
}

static void
text_findings(uint32_t task, const struct lockq_findings *findings)
{
	unsigned long long faults = findings->n_faults, warnings = findings->n_warnings;

	cli_heading("Task %u %s %s", task, cli_dot(), findings->name != NULL ? findings->name :
	    "-");
	print_figures(findings);
	print_of(findings, LOCKQ_FAULT, "faults:");
	print_of(findings, LOCKQ_WARNING, "warnings:");
	print_of(findings, LOCKQ_NOTE, "notes:");
	if (faults == 0 && warnings == 0)
		cli_line("task %u: nothing to mend", task);
	else
		cli_line("task %u: %llu fault%s, %llu warning%s", task, faults, cli_plural(faults),
		    warnings, cli_plural(warnings));
}

static void
text_rights(const struct lockq_findings *findings, size_t granted)
{
	size_t n = 0;

	for (size_t i = 0; i < findings->n_findings; i++) {
		const struct lockq_finding *f = &findings->findings[i];

		if (f->is_grant == 0 || f->mend == NULL)
			continue;
		if (n == 0 && granted > 0)
			cli_line("these rights were missing, and are granted now:");
		else if (n == granted)
			cli_line("these rights are missing: run this, or give --grant:");
		print_mend(f->mend, "  ");
		n++;
	}
}

static json_t *
json_known(int64_t number)
{
	return number >= 0 ? cli_json_number((uint64_t)number) : json_null();
}

static void
json_finding(uint32_t task, const struct lockq_finding *f)
{
	json_t *object = json_object();

	cli_json_set(object, "task", cli_json_number(task));
	cli_json_set(object, "severity", cli_json_text(severity_name(f->severity)));
	cli_json_set(object, "code", cli_json_text(f->code));
	cli_json_set(object, "about", cli_json_text(f->about));
	cli_json_set(object, "text", cli_json_text(f->text));
	cli_json_set(object, "mend", cli_json_text(f->mend));
	cli_json_set(object, "is_grant", json_boolean(f->is_grant != 0));
	cli_json_print(object);
}

static void
json_findings(uint32_t task, const struct lockq_findings *findings, int status)
{
	json_t *object = json_object();
	bool ran = findings->query_ms >= 0;

	for (size_t i = 0; i < findings->n_findings; i++)
		json_finding(task, &findings->findings[i]);
	cli_json_set(object, "task", cli_json_number(task));
	cli_json_set(object, "name", cli_json_text(findings->name));
	cli_json_set(object, "faults", cli_json_number(findings->n_faults));
	cli_json_set(object, "warnings", cli_json_number(findings->n_warnings));
	cli_json_set(object, "query_ms", json_known(findings->query_ms));
	cli_json_set(object, "rows", ran ? cli_json_number(findings->rows) : json_null());
	cli_json_set(object, "loans", ran ? cli_json_number(findings->loans) : json_null());
	cli_json_set(object, "complete", ran ? json_boolean(findings->complete != 0) : json_null());
	cli_json_set(object, "rows_read", json_known(findings->rows_read));
	cli_json_set(object, "check_ms", json_known(findings->check_ms));
	cli_json_set(object, "check_rows_read", json_known(findings->check_rows_read));
	cli_json_set(object, "pushed_down", findings->pushed_down >= 0 ?
	    json_boolean(findings->pushed_down != 0) : json_null());
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
}

static void
json_rights(uint32_t task, const struct lockq_findings *findings, size_t granted)
{
	for (size_t i = 0, n = 0; i < findings->n_findings; i++) {
		const struct lockq_finding *f = &findings->findings[i];
		json_t *object;

		if (f->is_grant == 0 || f->mend == NULL)
			continue;
		object = json_object();
		cli_json_set(object, "task", cli_json_number(task));
		cli_json_set(object, "grant", cli_json_text(f->mend));
		cli_json_set(object, "granted", json_boolean(n++ < granted));
		cli_json_print(object);
	}
}

/* What runs now is no fault of the task, and may be what people complain of. */
static void
add_health(struct lockq_findings *all, const struct stat_health *health)
{
	size_t n = all->n_faults + all->n_warnings;

	all->findings = cli_realloc(all->findings, (all->n_findings + health->n) *
	    sizeof(*all->findings));
	memmove(all->findings + n + health->n, all->findings + n, (all->n_findings - n) *
	    sizeof(*all->findings));
	for (size_t i = 0; i < health->n; i++) {
		struct lockq_finding *f = &all->findings[n + i];

		*f = (struct lockq_finding){ .severity = LOCKQ_WARNING,
			.text = cli_text("%s", health->findings[i].text) };
		snprintf(f->code, sizeof(f->code), "%s", health->findings[i].code);
		snprintf(f->about, sizeof(f->about), "lockq");
	}
	all->n_findings += health->n;
	all->n_warnings += health->n;
}

/* Adds what lockqstat --health finds of the task. */
static void
look_at_health(const struct manage_options *o, struct lockq *q, struct lockq_findings *findings)
{
	struct stat_limits limits = STAT_LIMITS_USUAL;
	struct lockq_stats stats = LOCKQ_STATS_INIT;
	struct stat_health health;
	int rc = lockq_stats(q, o->task, &stats);

	limits.in_check = true;
	if (rc == LOCKQ_OK) {
		stat_health_look(&health, &stats, &limits);
		if (health.n > 0)
			add_health(findings, &health);
		stat_health_clear(&health);
	} else {
		cli_message("what lockqstat --health finds can't be read: %s",
		    cli_library_text(q, rc));
	}
	lockq_stats_clear(&stats);
}

static int
check(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	struct lockq_findings findings = LOCKQ_FINDINGS_INIT;
	struct lockq_check what = LOCKQ_CHECK_INIT;
	int rc, status;

	(void)command;
	cli_catch_signals("nothing was changed");
	what.task = o->task;
	what.manager = o->by;
	rc = lockq_check_task(q, &what, &findings);
	if (rc == LOCKQ_OK)
		look_at_health(o, q, &findings);
	if (rc != LOCKQ_OK) {
		status = rc == LOCKQ_CANCELLED ? cli_report(&o->common, cli_exit_status(rc,
		    cli_caught()), "interrupted") : cli_report_library(&o->common, q, rc);
	} else {
		status = findings.n_faults > 0 ? CLI_EXIT_REFUSED : CLI_EXIT_DONE;
		if (o->common.json)
			json_findings(o->task, &findings, status);
		else
			text_findings(o->task, &findings);
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
		cli_message("%s: %s%s%s", severity_name(f->severity), f->text,
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

	if (o->common.json)
		json_rights(task, findings, granted);
	else
		text_rights(findings, granted);
	return rc == LOCKQ_OK ? CLI_EXIT_DONE : cli_report_library(&o->common, q, rc);
}

static int
check_task_and_name(void *options, struct cli_error *error)
{
	struct manage_options *o = options;
	struct cli_error unnamed;

	if (manage_check_task(options, error) != 0)
		return -1;
	/* To look needs no name. Where the check has something to note, it says that it can't. */
	if (manage_check_by(options, &unnamed) != 0)
		o->by = "";
	return 0;
}

static const struct cli_option check_options[] = { { .help = "Which task" }, MANAGE_TASK,
	MANAGE_BY_NAME, CLI_OPTIONS_END };

static const struct cli_tool check_tool = {
	MANAGE_TOOL, .command = "check", .options = check_options, .check = check_task_and_name,
	.bare = "task", .leads = true,
	.synopsis = "N [--by NAME] [--json]",
	.purpose = "Tells whether a task works: its views, its procedure, the rights of each\n"
	    "role, its limits, and lockq's own statements. Runs the query once, as a leader\n"
	    "does, and shows how long it takes and what it finds. Each fault is followed by\n"
	    "the line of SQL, or the command, that mends it. What lockqstat --health finds\n"
	    "of the task is among the warnings. Nothing is changed, and nobody waits. Only\n"
	    "where the last leader failed and there is no fault now, the log notes that: the\n"
	    "failure is no warning any more.",
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
