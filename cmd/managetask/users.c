/* SPDX-License-Identifier: MIT */
/* The commands of managetask for people. */
#include <stdlib.h>

#include "cli/json.h"
#include "cli/table.h"
#include "managetask/commands.h"

static int
check_users(void *options, struct cli_error *error)
{
	struct manage_options *o = options;

	if (o->users.n == 0)
		return cli_fail(error, "the user's name is missing");
	return manage_check_by(o, error);
}

static int
check_bind(void *options, struct cli_error *error)
{
	const struct manage_options *o = options;

	if ((o->account != NULL) == o->any_account)
		return cli_fail(error, "give --account with the MySQL account's name, or --any");
	return check_users(options, error);
}

static void
text_people(const struct lockq_people *people)
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

static int
list(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	struct lockq_people people = LOCKQ_PEOPLE_INIT;
	int rc = lockq_people(q, &people);

	(void)command;
	if (cli_has_answer(rc) && o->common.json)
		json_people(&people);
	else if (cli_has_answer(rc) && people.n_people > 0)
		text_people(&people);
	else if (cli_has_answer(rc))
		cli_line("nobody is known: managetask user add makes people known");
	lockq_people_clear(&people);
	return cli_looked(&o->common, q, rc);
}

/* Does it to each of those who are named, and goes on after one who can't be changed. */
static int
change(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	enum lockq_person_change what = (enum lockq_person_change)command->kind;
	int status = CLI_EXIT_DONE;

	for (size_t i = 0; i < o->users.n; i++) {
		const char *user = o->users.names[i];
		int rc = lockq_change_person(q, o->by, user, what, o->account, o->reason);

		if (rc != LOCKQ_OK)
			status = cli_report_library(&o->common, q, rc);
		else
			manage_say_done(o, "user", 0, user, command->done);
	}
	return status;
}

/* The same, and says which account may ask, after what the command says. */
static int
bind_user(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	struct manage_command said = *command;
	char *done = o->account == NULL ? cli_text("%sany MySQL account may ask", command->done) :
	    cli_text("%sonly the MySQL account \"%s\" may ask", command->done, o->account);
	int status;

	said.done = done;
	status = change(o, q, &said);
	free(done);
	return status;
}

static int
forget(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	uint64_t rows = 0;
	int rc = LOCKQ_OK, status = CLI_EXIT_DONE;
	size_t i;

	(void)command;
	cli_catch_signals("the same command goes on");
	for (i = 0; i < o->users.n && cli_caught() == 0; i++) {
		char *done;

		rc = lockq_forget_person(q, o->by, o->users.names[i], o->dry_run, o->reason, &rows);
		done = cli_text("%s in %llu %s of the history", o->dry_run ?
		    "would be forgotten" : "forgotten", (unsigned long long)rows,
		    rows == 1 ? "row" : "rows");
		if (rc == LOCKQ_OK)
			manage_say_done(o, "user", 0, o->users.names[i], done);
		else
			status = cli_report(&o->common, cli_exit_status(rc, cli_caught()), "%s",
			    rc == LOCKQ_CANCELLED ? "interrupted: the same command goes on" :
			    cli_library_text(q, rc));
		free(done);
	}
	/* A signal came too late to end one of them, and kept the next one from being begun. */
	if (i < o->users.n && rc != LOCKQ_CANCELLED)
		status = cli_report(&o->common, cli_exit_status(LOCKQ_CANCELLED, cli_caught()),
		    "%s", "interrupted: the same command goes on");
	return status;
}

#define USER { .help = "Who" }, { "user", 'u', "NAME", "the user; may be repeated", \
	manage_parse_user, MANAGE(users), 0, 64 }
#define ACCOUNT { "account", 0, "ACCOUNT", "the login name of the only MySQL account that may\n" \
	"ask for them", cli_parse_utf8, MANAGE(account), 0, 32 }

static const struct cli_option list_options[] = { CLI_OPTIONS_END };
static const struct cli_option add_options[] = { USER, ACCOUNT, MANAGE_BY, CLI_OPTIONS_END };
static const struct cli_option bind_options[] = { USER, ACCOUNT,
	{ "any", 0, NULL, "any account may ask for them", cli_parse_flag, MANAGE(any_account), 0,
	    0 }, MANAGE_BY, CLI_OPTIONS_END };
static const struct cli_option change_options[] = { USER, MANAGE_BY, CLI_OPTIONS_END };
static const struct cli_option forget_options[] = { USER,
	{ "dry-run", 0, NULL, "only say how much there is", cli_parse_flag, MANAGE(dry_run), 0, 0 },
	MANAGE_BY, CLI_OPTIONS_END };

#define TOOL MANAGE_TOOL, .bare = "user", .bare_again = true

static const struct cli_tool list_tool = {
	MANAGE_TOOL, .command = "user list", .options = list_options,
	.synopsis = "[--json]",
	.purpose = "Shows the people, and which MySQL account may ask for each of them.",
	.examples = "  managetask user list\n",
	.exits = MANAGE_EXITS_LOOK,
};
static const struct cli_tool add_tool = {
	TOOL, .command = "user add", .options = add_options, .check = check_users,
	.synopsis = "NAME... [--account ACCOUNT]\n [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Makes people known, so that they may ask for work.",
	.examples = "  managetask user add oliver tracy\n"
	    "  managetask user add amelia --account amelia\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool bind_tool = {
	TOOL, .command = "user bind", .options = bind_options, .check = check_bind,
	.synopsis = "NAME --account ACCOUNT\n"
	    " [--by NAME] [--reason TEXT] [--json]\n"
	    "NAME... --any [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Says which MySQL account may ask for somebody and dispose of the loans: one,\n"
	    "by its login name, or any.",
	.examples = "  managetask user bind oliver --account oliver\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool disable_tool = {
	TOOL, .command = "user disable", .options = change_options, .check = check_users,
	.synopsis = "NAME... [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Lets people ask no more, and cancels their pending requests. The loans that\n"
	    "they have stay theirs until they dispose of them.",
	.examples = "  managetask user disable oliver --reason 'on leave'\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool enable_tool = {
	TOOL, .command = "user enable", .options = change_options, .check = check_users,
	.synopsis = "NAME... [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Lets people ask again who were disabled.",
	.examples = "  managetask user enable oliver\n",
	.exits = MANAGE_EXITS_CHANGE,
};
static const struct cli_tool remove_tool = {
	TOOL, .command = "user remove", .options = change_options, .check = check_users,
	.synopsis = "NAME... [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Takes away people who have never asked for work. The history names all\n"
	    "others: disable them.",
	.examples = "  managetask user remove olivre --reason 'a slip of the pen'\n",
	.exits = MANAGE_EXITS_CHANGE,
};

static const struct cli_tool forget_tool = {
	TOOL, .command = "user forget", .options = forget_options, .check = check_users,
	.synopsis = "NAME... [--dry-run]\n [--by NAME] [--reason TEXT] [--json]",
	.purpose = "Takes people out of the history: the name and the MySQL account become a\n"
	    "pseudonym. Figures and history stay. It is refused while the user has loans or\n"
	    "pending requests. Notes, backups and the binary log are not changed.",
	.examples = "  managetask user forget oliver --dry-run\n",
	.exits = MANAGE_EXITS_CHANGE
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP: the same command goes on\n",
};

const struct manage_command manage_user_commands[] = {
	{ .tool = &list_tool, .run = list },
	{ &add_tool, bind_user, LOCKQ_PERSON_ADD, "added: " },
	{ &bind_tool, bind_user, LOCKQ_PERSON_BIND, "" },
	{ &disable_tool, change, LOCKQ_PERSON_DISABLE, "disabled" },
	{ &enable_tool, change, LOCKQ_PERSON_ENABLE, "enabled" },
	{ &remove_tool, change, LOCKQ_PERSON_REMOVE, "removed" },
	{ .tool = &forget_tool, .run = forget }, { .tool = NULL }
};
