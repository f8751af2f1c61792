/* SPDX-License-Identifier: MIT */
#include "checkwork/task_table.h"

#include "cli/table.h"
#include "cli/terminal.h"

static void
add_row(struct cli_table *table, const struct lockq_task *task)
{
	cli_table_cell(table, "%u", task->task);
	cli_table_cell(table, "%s", task->task_name);
	cli_table_cell(table, "%s", !task->enabled ? "no" :
	    task->paused != NULL ? "paused" : "yes");
	cli_table_cell(table, "%s", task->manager != NULL ? task->manager : "-");
	cli_table_cell(table, "%u", task->max_count);
	cli_table_cell(table, "%llu", (unsigned long long)task->held);
	if (task->max_pipeline > 0)
		cli_table_cell(table, "%u", task->max_pipeline);
	else
		cli_table_cell(table, "no limit");
	cli_table_cell(table, "%llu", (unsigned long long)task->pending);
}

void
task_table(const char *user, const struct lockq_tasks *tasks)
{
	static const struct cli_column columns[] = {
		{ "task", CLI_RIGHT }, { "name", CLI_TEXT }, { "enabled", CLI_SPARE(3) },
		{ "manager", CLI_TEXT | CLI_SPARE(5) }, { "per request", CLI_RIGHT | CLI_SPARE(7) },
		{ "you hold", CLI_RIGHT }, { "at most", CLI_RIGHT | CLI_SPARE(6) },
		{ "pending", CLI_RIGHT | CLI_SPARE(1) },
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	size_t i;

	for (i = 0; i < tasks->n_tasks; i++)
		add_row(table, &tasks->tasks[i]);
	cli_heading("Tasks %s %s", cli_dot(), user);
	cli_table_print(stdout, table, cli_stdout_style());
	cli_line("%zu %s", tasks->n_tasks, tasks->n_tasks == 1 ? "task" : "tasks");
	cli_table_free(table);
}
