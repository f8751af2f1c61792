/* SPDX-License-Identifier: MIT */
#include "managetask/commands.h"

#include <string.h>

#include "cli/table.h"

const char *
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

void
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

void
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

void
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
