/* SPDX-License-Identifier: MIT */
#include "managetask/commands.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/table.h"

static const char *
manage_setting(const struct lockq_definition *task, const char *name)
{
	for (size_t i = 0; i < task->n_settings; i++) {
		if (strcmp(task->settings[i].name, name) == 0)
			return task->settings[i].value;
	}
	return NULL;
}

static const char *
or_dash(const char *text)
{
	return text != NULL ? text : "-";
}

static void
manage_table(const struct lockq_definitions *tasks)
{
	static const struct cli_column columns[] = {
		{ "task", CLI_RIGHT }, { "name", CLI_TEXT }, { "enabled", CLI_SPARE(1) },
		{ "manager", CLI_TEXT | CLI_SPARE(2) },
		{ "candidates view", CLI_TEXT | CLI_SPARE(3) },
		{ "per request", CLI_RIGHT | CLI_SPARE(5) },
		{ "lease", CLI_RIGHT | CLI_SPARE(6) }, { "list", CLI_RIGHT | CLI_SPARE(4) },
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; i < tasks->n_tasks; i++) {
		const struct lockq_definition *t = &tasks->tasks[i];
		const char *lease = manage_setting(t, "lease_minutes");
		const char *ttl = manage_setting(t, "cache_ttl");
		const char *yes = manage_setting(t, "enabled");
		bool keeps = ttl != NULL && strcmp(ttl, "0") != 0;
		bool enabled = yes != NULL && strcmp(yes, "yes") == 0;

		cli_table_cell(table, "%u", t->task);
		cli_table_cell(table, "%s", or_dash(manage_setting(t, "name")));
		cli_table_cell(table, "%s", t->paused != NULL && enabled ? "paused" :
		    enabled ? "yes" : "no");
		cli_table_cell(table, "%s", or_dash(manage_setting(t, "manager")));
		cli_table_cell(table, "%s", or_dash(manage_setting(t, "candidates_view")));
		cli_table_cell(table, "%s", or_dash(manage_setting(t, "max_count")));
		cli_table_cell(table, "%s%s", or_dash(lease), lease != NULL ? " min" : "");
		cli_table_cell(table, "%s%s", keeps ? ttl : "-", keeps ? " s" : "");
	}
	cli_table_print(table);
	cli_line("%zu %s", tasks->n_tasks, tasks->n_tasks == 1 ? "task" : "tasks");
}

static void
manage_table_of_task(const struct lockq_definition *task)
{
	static const struct cli_column columns[] = { { "setting", 0 }, { "value", CLI_TEXT } };
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; i < task->n_settings; i++) {
		cli_table_cell(table, "%s", task->settings[i].name);
		cli_table_cell(table, "%s", task->settings[i].value != NULL ?
		    task->settings[i].value : "none");
	}
	cli_heading("Task %u %s %s", task->task, cli_dot(), or_dash(manage_setting(task, "name")));
	cli_table_print(table);
	if (task->urgent > 0)
		cli_line("%llu urgent %s to be given first", (unsigned long long)task->urgent,
		    task->urgent == 1 ? "loan waits" : "loans wait");
	if (task->paused != NULL)
		cli_line("paused by %s since %s: %s", or_dash(task->paused_by),
		    cli_local(task->paused_at).text, task->paused);
}

static void
manage_table_of_people(const struct lockq_people *people)
{
	static const struct cli_column columns[] = {
		{ "user", CLI_TEXT }, { "MySQL account", CLI_TEXT }, { "may ask", 0 },
		{ "holds", CLI_RIGHT | CLI_SPARE(1) }, { "pending", CLI_RIGHT | CLI_SPARE(2) },
		{ "since", CLI_SPARE(3) },
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	size_t any = 0;

	for (size_t i = 0; i < people->n_people; i++) {
		const struct lockq_person *p = &people->people[i];

		cli_table_cell(table, "%s", p->user);
		cli_table_cell(table, "%s", p->account != NULL ? p->account : "any");
		cli_table_cell(table, "%s", p->enabled ? "yes" : "no");
		cli_table_cell(table, "%llu", (unsigned long long)p->held);
		cli_table_cell(table, "%llu", (unsigned long long)p->pending);
		cli_table_cell(table, "%s", cli_local(p->created_at).text);
		any += p->account == NULL && p->enabled;
	}
	cli_table_print(table);
	cli_line("%zu %s", people->n_people, people->n_people == 1 ? "user" : "users");
	if (any > 0)
		cli_line("any account may ask for %zu of them: managetask user bind NAME "
		    "--account ACCOUNT names the only one", any);
}

const char *
manage_severity(enum lockq_severity severity)
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

static const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
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
	    rows, plural(rows), loans, plural(loans), checked ? " " : "", checked ? cli_dot() : "",
	    checked ? " check " : "", checked ? cli_ms((uint64_t)f->check_ms).text : "",
	    f->pushed_down < 0 ? "" : f->pushed_down != 0 ? ", pushed down" : ", not pushed down");
}

static void
manage_findings(uint32_t task, const struct lockq_findings *findings, int status)
{
	unsigned long long faults = findings->n_faults, warnings = findings->n_warnings;

	(void)status;
	cli_heading("Task %u %s %s", task, cli_dot(), findings->name != NULL ? findings->name :
	    "-");
	print_figures(findings);
	print_of(findings, LOCKQ_FAULT, "faults:");
	print_of(findings, LOCKQ_WARNING, "warnings:");
	print_of(findings, LOCKQ_NOTE, "notes:");
	if (faults == 0 && warnings == 0)
		cli_line("task %u: nothing to mend", task);
	else
		cli_line("task %u: %llu fault%s, %llu warning%s", task, faults, plural(faults),
		    warnings, plural(warnings));
}

static void
manage_missing_rights(uint32_t task, const struct lockq_findings *findings, size_t granted)
{
	size_t n = 0;

	(void)task;
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

/* A column of the table task as JSON: these are texts, and these are flags; the others are
 * numbers. */
static json_t *
json_setting(const struct lockq_setting *setting)
{
	static const char *const texts[] = { "name", "manager", "candidates_view", "on_complete",
		"on_undo", "detail_view", "check_view", "share", "noun" };
	static const char *const flags[] = { "enabled", "view_repeats", "use_unchecked" };

	if (setting->value == NULL)
		return json_null();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(setting->name, texts[i]) == 0)
			return cli_json_text(setting->value);
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(setting->name, flags[i]) == 0)
			return json_boolean(strcmp(setting->value, "yes") == 0);
	}
	return cli_json_number(strtoull(setting->value, NULL, 10));
}

static void
json_definitions(const struct lockq_definitions *tasks, bool one)
{
	(void)one;
	for (size_t i = 0; i < tasks->n_tasks; i++) {
		const struct lockq_definition *t = &tasks->tasks[i];
		json_t *object = json_object();

		cli_json_set(object, "task", cli_json_number(t->task));
		for (size_t n = 0; n < t->n_settings; n++)
			cli_json_set(object, t->settings[n].name, json_setting(&t->settings[n]));
		cli_json_set(object, "paused", cli_json_text(t->paused));
		cli_json_set(object, "paused_by", cli_json_text(t->paused_by));
		cli_json_set(object, "paused_at", cli_json_time(t->paused_at));
		cli_json_set(object, "urgent", cli_json_number(t->urgent));
		cli_json_print(object);
	}
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
json_people(const struct lockq_people *people)
{
	for (size_t i = 0; i < people->n_people; i++) {
		const struct lockq_person *p = &people->people[i];
		json_t *object = json_object();

		cli_json_set(object, "user", cli_json_text(p->user));
		cli_json_set(object, "account", cli_json_text(p->account));
		cli_json_set(object, "enabled", json_boolean(p->enabled));
		cli_json_set(object, "held", cli_json_number(p->held));
		cli_json_set(object, "pending", cli_json_number(p->pending));
		cli_json_set(object, "created_at", cli_json_time(p->created_at));
		cli_json_print(object);
	}
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
json_managed(const char *what, uint32_t task, const char *user, const char *done)
{
	json_t *object = json_object();

	(void)what;
	cli_json_set(object, "task", task != 0 ? cli_json_number(task) : json_null());
	cli_json_set(object, "user", cli_json_text(user));
	cli_json_set(object, "done", cli_json_text(done));
	cli_json_print(object);
}

static void
text_corrected(const struct lockq_correction *what, const struct lockq_disposed_loan *loan,
    int status)
{
	if (status == CLI_EXIT_DONE)
		correct_message_done(what, loan);
}

static void
json_corrected(const struct lockq_correction *what, const struct lockq_disposed_loan *loan,
    int status)
{
	bool has_row = loan->state[0] != '\0';
	json_t *object = json_object();

	cli_json_set(object, "loan_id", cli_json_number(loan->loan_id));
	cli_json_set(object, "task", cli_json_number(what->task));
	cli_json_set(object, "manager", cli_json_text(what->manager));
	cli_json_set(object, "result", cli_json_text(correct_message_result(loan->what)));
	cli_json_set(object, "state", has_row ? cli_json_text(loan->state) : json_null());
	cli_json_set(object, "holder", cli_json_text(loan->holder));
	cli_json_set(object, "token", has_row ? cli_json_number(loan->token) : json_null());
	cli_json_set(object, "since", cli_json_time(loan->since));
	cli_json_set(object, "available_at", cli_json_time(loan->available_at));
	cli_json_set(object, "lease_expires_at", cli_json_time(loan->lease_expires_at));
	cli_json_set(object, "excluded_until", cli_json_time(loan->excluded_until));
	cli_json_set(object, "reason", cli_json_text(loan->reason));
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
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
	cli_json_set(object, "severity", cli_json_text(manage_severity(f->severity)));
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

const struct manage_output *
manage_output(bool json)
{
	static const struct manage_output as_text = {
		text_definitions, text_people, text_managed, text_corrected, manage_findings,
		manage_missing_rights
	};
	static const struct manage_output as_json = {
		json_definitions, json_people, json_managed, json_corrected, json_findings,
		json_rights
	};

	return json ? &as_json : &as_text;
}
