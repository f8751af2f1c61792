/* SPDX-License-Identifier: MIT */
/* The commands of managetask for tasks. */
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/noun.h"
#include "cli/table.h"
#include "managetask/commands.h"

static int
check_task(void *options, struct cli_error *error)
{
	struct manage_options *o = options;

	if (cli_default_task(&o->task, error) != 0)
		return -1;
	return manage_check_task(o, error);
}

/* What an option file or the environment says of the task is for one's daily work: a change names
 * it. */
static int
check_change(void *options, struct cli_error *error)
{
	return manage_check_task(options, error) != 0 ? -1 : manage_check_by(options, error);
}

static int
check_set(void *options, struct cli_error *error)
{
	const struct manage_options *o = options;

	if (o->settings.n == 0)
		return cli_fail(error, "there is nothing to set: name what is to change, as in "
		    "--max-count 5");
	return check_change(options, error);
}

static int
check_pause(void *options, struct cli_error *error)
{
	const struct manage_options *o = options;

	if (o->reason == NULL || o->reason[0] == '\0')
		return cli_fail(error, "--reason is missing: people who wait are told it");
	return check_change(options, error);
}

/* --- what the commands do --- */

enum { PAUSES, DISABLES, ENABLES, ADDS, SETS };

static const char *
setting_of(const struct lockq_definition *task, const char *name)
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
text_tasks(const struct lockq_definitions *tasks)
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
		const char *lease = setting_of(t, "lease_minutes");
		const char *ttl = setting_of(t, "cache_ttl");
		const char *yes = setting_of(t, "enabled");
		bool keeps = ttl != NULL && strcmp(ttl, "0") != 0;
		bool enabled = yes != NULL && strcmp(yes, "yes") == 0;

		cli_table_cell(table, "%u", t->task);
		cli_table_cell(table, "%s", or_dash(setting_of(t, "name")));
		cli_table_cell(table, "%s", t->paused != NULL && enabled ? "paused" :
		    enabled ? "yes" : "no");
		cli_table_cell(table, "%s", or_dash(setting_of(t, "manager")));
		cli_table_cell(table, "%s", or_dash(setting_of(t, "candidates_view")));
		cli_table_cell(table, "%s", or_dash(setting_of(t, "max_count")));
		cli_table_cell(table, "%s%s", or_dash(lease), lease != NULL ? " min" : "");
		cli_table_cell(table, "%s%s", keeps ? ttl : "-", keeps ? " s" : "");
	}
	cli_table_print(table);
	cli_line("%zu %s", tasks->n_tasks, tasks->n_tasks == 1 ? "task" : "tasks");
}

/* Settings that have a unit, and those that hardly any task needs. */
static const struct {
	const char *name, *unit;
	bool expert;
} kinds[] = {
	{ "lease_minutes", " min", false }, { "complete_hold", " s", false },
	{ "not_again", " h", false }, { "cache_ttl", " s", false },
	{ "max_query_s", " s", true }, { "candidate_limit", "", true },
	{ "request_ttl", " s", true }, { "refresh_after", " s", true },
	{ "check_view", "", true }, { "use_unchecked", "", true }, { "view_repeats", "", true },
};

static void
print_settings(const struct lockq_definition *task, bool expert)
{
	static const struct cli_column columns[] = { { "setting", 0 }, { "value", CLI_TEXT } };
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; i < task->n_settings; i++) {
		const char *value = task->settings[i].value, *unit = "";
		bool is_expert = false;

		for (size_t n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
			if (strcmp(task->settings[i].name, kinds[n].name) == 0) {
				unit = kinds[n].unit;
				is_expert = kinds[n].expert;
			}
		}
		if (is_expert != expert)
			continue;
		cli_table_cell(table, "%s", task->settings[i].name);
		cli_table_cell(table, "%s%s", value != NULL ? value : "none",
		    value != NULL ? unit : "");
	}
	cli_table_print(table);
}

static void
text_task(const struct lockq_definition *task)
{
	const char *noun = setting_of(task, "noun");

	cli_heading("Task %u %s %s", task->task, cli_dot(), or_dash(setting_of(task, "name")));
	print_settings(task, false);
	cli_line("expert settings, which hardly any task needs:");
	print_settings(task, true);
	if (noun != NULL)
		cli_noun_set(noun);
	if (task->urgent > 0)
		cli_line("%llu urgent %s %s to be given first", (unsigned long long)task->urgent,
		    cli_loans(task->urgent), task->urgent == 1 ? "waits" : "wait");
	if (task->paused != NULL)
		cli_line("paused by %s since %s: %s", or_dash(task->paused_by),
		    cli_local(task->paused_at).text, task->paused);
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
json_definitions(const struct lockq_definitions *tasks)
{
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

static int
show(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	struct lockq_definitions tasks = LOCKQ_DEFINITIONS_INIT;
	int rc = lockq_definitions(q, o->task, &tasks);

	(void)command;
	if (cli_has_answer(rc) && o->common.json)
		json_definitions(&tasks);
	else if (cli_has_answer(rc) && tasks.n_tasks == 0)
		cli_line("there are no tasks: managetask add makes one");
	else if (cli_has_answer(rc) && o->task != 0)
		text_task(&tasks.tasks[0]);
	else if (cli_has_answer(rc))
		text_tasks(&tasks);
	lockq_definitions_clear(&tasks);
	return cli_looked(&o->common, q, rc);
}

/* Makes or changes the task, and says @done of it. *@task is its number; NULL: not wanted. */
static int
define(const struct manage_options *o, struct lockq *q, const struct manage_settings *settings,
    bool adds, const char *done, uint32_t *task)
{
	struct lockq_define what = LOCKQ_DEFINE_INIT;
	uint32_t number = 0;
	int rc;

	what.manager = o->by;
	what.task = o->task;
	what.adds = adds;
	what.settings = settings->list;
	what.n_settings = settings->n;
	what.reason = o->reason;
	rc = lockq_define(q, &what, &number);
	if (rc != LOCKQ_OK)
		return cli_report_library(&o->common, q, rc);
	manage_say_done(o, "task", number, NULL, done);
	if (task != NULL)
		*task = number;
	return CLI_EXIT_DONE;
}

/* Checks the task as it is going to be, defines it, and sees to the rights. */
static int
define_checked(const struct manage_options *o, struct lockq *q,
    const struct manage_command *command)
{
	struct lockq_findings findings = LOCKQ_FINDINGS_INIT;
	bool adds = command->kind == ADDS;
	uint32_t task = o->task;
	int status = o->unchecked ? CLI_EXIT_DONE : manage_precheck(o, q, adds, &findings);

	if (status == CLI_EXIT_DONE)
		status = define(o, q, &o->settings, adds, command->done, &task);
	if (status == CLI_EXIT_DONE)
		status = manage_rights(o, q, task, &findings);
	lockq_findings_clear(&findings);
	return status;
}

static int
switch_task(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	const struct manage_settings settings[] = {
		[PAUSES] = { { { "paused", o->reason } }, 1 },
		[DISABLES] = { { { "enabled", "no" } }, 1 },
		[ENABLES] = { { { "enabled", "yes" }, { "paused", NULL } }, 2 },
	};

	return define(o, q, &settings[command->kind], false, command->done, NULL);
}

static int
remove_task(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	int rc;

	cli_catch_signals("the rest of the task is removed by the same command");
	rc = lockq_remove_task(q, o->by, o->task, o->reason);
	if (rc != LOCKQ_OK)
		return cli_report(&o->common, cli_exit_status(rc, cli_caught()), "%s",
		    rc == LOCKQ_CANCELLED ? "interrupted: the same command goes on" :
		    cli_library_text(q, rc));
	manage_say_done(o, "task", o->task, NULL, command->done);
	return CLI_EXIT_DONE;
}

/* --- their options --- */

#define SETTING(option, argument, help) \
	{ option, 0, argument, help, manage_parse_setting, MANAGE(settings), 0, 0 }

#define SETTINGS \
	{ .help = "The task; none takes a value back" }, \
	SETTING("name", "TEXT", "what people call it"), \
	SETTING("manager", "NAME", "who answers for it"), \
	SETTING("candidates-view", "VIEW", "the view with loan_id and priority, the smallest\n" \
	    "first"), \
	SETTING("on-complete", "PROCEDURE", "changes your data when a loan is completed"), \
	SETTING("on-undo", "PROCEDURE", "takes that back, for managetask undo"), \
	SETTING("detail-view", "VIEW", "what checkwork shows beside a loan"), \
	SETTING("noun", "NOUN", "what people call a loan: ticket, or entry/entries\n" \
	    "(default: none, loan)"), \
	SETTING("any-place", "N", "its place among the tasks of getwork --any\n" \
	    "(default: none, not among them)"), \
	SETTING("enabled", "yes|no", "whether people may ask for it"), \
	{ .help = "Limits" }, \
	SETTING("max-count", "N", "loans of one request, up to 1000 (default: 5)"), \
	SETTING("max-pipeline", "N", "loans that one user may hold (default: none)"), \
	SETTING("lease-minutes", "N", "time for a loan (default: none, no limit)"), \
	SETTING("share", "HOW", "order, evenly or least: who gets loans that are not\n" \
	    "enough for all who ask at once (default: order)"), \
	SETTING("not-same-user-as", "N", "no loan to a user who has it in task N, or\n" \
	    "completed it there (default: none)"), \
	SETTING("not-again", "HOURS", "no loan to a user who completed it within so\n" \
	    "many hours (default: none)"), \
	SETTING("complete-hold", "SECONDS", "a completed loan is not offered before\n" \
	    "(default: 0)"), \
	{ .help = "A kept list" }, \
	SETTING("cache-ttl", "SECONDS", "for so long a list is used (default: 0, no list)"), \
	{ .help = "Expert settings, which hardly any task needs" }, \
	SETTING("max-query-s", "SECONDS", "longest time for the heavy query (default: 300)"), \
	SETTING("candidate-limit", "N", "rows that a query fetches (default: 10000)"), \
	SETTING("request-ttl", "SECONDS", "a request that nobody looks after ends\n" \
	    "(default: 600)"), \
	SETTING("refresh-after", "SECONDS", "age at which it is filled again (default: none,\n" \
	    "which is half of cache-ttl)"), \
	SETTING("check-view", "VIEW", "a light view that tells whether a loan still\n" \
	    "matches"), \
	SETTING("use-unchecked", "yes|no", "give loans also where it can't tell in time"), \
	SETTING("view-repeats", "yes|no", "candidates-view shows a loan in several rows")

#define CHECKING \
	{ .help = "The check" }, \
	{ "grant", 0, NULL, "grant the roles the rights that are missing", \
	    cli_parse_flag, MANAGE(grants), 0, 0 }, \
	{ "unchecked", 0, NULL, "don't check whether the task can work", cli_parse_flag, \
	    MANAGE(unchecked), 0, 0 }

static const struct cli_option list_options[] = { CLI_OPTIONS_END };
static const struct cli_option task_options[] = { { .help = "Which task" }, MANAGE_TASK,
	CLI_OPTIONS_END };
static const struct cli_option change_options[] = { { .help = "Which task" }, MANAGE_TASK,
	MANAGE_BY, CLI_OPTIONS_END };
static const struct cli_option settings_options[] = { { .help = "Which task" }, MANAGE_TASK,
	SETTINGS, CHECKING, MANAGE_BY, CLI_OPTIONS_END };

static const struct cli_tool list_tool = {
	MANAGE_TOOL, .command = "list", .options = list_options,
	.synopsis = "[--json]",
	.purpose = "Shows all tasks.",
	.examples = "  managetask list\n",
	.exits = MANAGE_EXITS_LOOK,
};
static const struct cli_tool show_tool = {
	MANAGE_TOOL, .command = "show", .options = task_options, .check = check_task,
	.bare = "task",
	.synopsis = "N [--json]",
	.purpose = "Shows how a task is defined.",
	.examples = "  managetask show 7\n",
	.exits = MANAGE_EXITS_LOOK,
};
static const struct cli_tool add_tool = {
	MANAGE_TOOL, .command = "add", .options = settings_options, .check = manage_check_by,
	.bare = "task",
	.synopsis = "[N] --name TEXT --candidates-view VIEW\n"
	    " [--on-complete PROCEDURE] [OTHER SETTINGS]\n"
	    " [--grant] [--unchecked] [--by NAME] [--reason TEXT]\n"
	    " [--json]",
	.purpose = "Makes a task. Without a number it gets the next one that no task ever had.\n"
	    "lockq-schema(5) tells what the view and the procedure have to be. The task is\n"
	    "checked first, without its query, and not made where it can't work. Rights\n"
	    "that are missing are shown as the lines of SQL that grant them.",
	.examples = "  managetask add --name 'Check the deed' --candidates-view deeds_to_check \\\n"
	    "      --on-complete deed_is_checked --max-count 10 --lease-minutes 60\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool set_tool = {
	MANAGE_TOOL, .command = "set", .options = settings_options, .check = check_set,
	.bare = "task",
	.synopsis = "N SETTINGS [--grant] [--unchecked]\n"
	    " [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Changes a task. Whoever leads it just now goes on as it was. What is to be\n"
	    "set is checked first, as for \"managetask add\".",
	.examples = "  managetask set 7 --max-count 10 --lease-minutes none\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool pause_tool = {
	MANAGE_TOOL, .command = "pause", .options = change_options, .check = check_pause,
	.bare = "task",
	.synopsis = "N --reason TEXT [--by NAME] [--json]",
	.purpose = "Gives no loans of a task for now. Requests stay pending, their users are told\n"
	    "the reason, and nobody runs the query. A query that runs already is the last\n"
	    "one, and its loans are given. \"managetask enable\" lets the task go on.",
	.examples = "  managetask pause 7 --reason 'the bank is closed until Monday'\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool disable_tool = {
	MANAGE_TOOL, .command = "disable", .options = change_options, .check = check_change,
	.bare = "task",
	.synopsis = "N [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Ends a task: whoever asks for it is refused, and so are requests that are\n"
	    "pending. Loans that people have stay theirs.",
	.examples = "  managetask disable 7\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool enable_tool = {
	MANAGE_TOOL, .command = "enable", .options = change_options, .check = check_change,
	.bare = "task",
	.synopsis = "N [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Lets a task go on that was disabled or paused.",
	.examples = "  managetask enable 7\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool remove_tool = {
	MANAGE_TOOL, .command = "remove", .options = change_options, .check = check_change,
	.bare = "task",
	.synopsis = "N [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Takes a task away, with its requests and what became of its loans. The log\n"
	    "stays. It is refused while loans of the task are assigned, and has to be\n"
	    "repeated where requests have ended within the last minute.",
	.examples = "  managetask remove 7 --reason 'replaced by task 12'\n",
	.exits = MANAGE_EXITS_CHANGE
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP: the same command goes on\n",
};

const struct manage_command manage_task_commands[] = {
	{ .tool = &list_tool, .run = show }, { .tool = &show_tool, .run = show },
	{ &add_tool, define_checked, ADDS, "added" },
	{ &set_tool, define_checked, SETS, "changed" },
	{ &pause_tool, switch_task, PAUSES, "paused" },
	{ &disable_tool, switch_task, DISABLES, "disabled" },
	{ &enable_tool, switch_task, ENABLES, "enabled" },
	{ .tool = &remove_tool, .run = remove_task, .done = "removed" }, { .tool = NULL }
};
