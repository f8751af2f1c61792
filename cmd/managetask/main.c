/* SPDX-License-Identifier: MIT */
/* managetask: for managers, who define tasks, know the people, and correct mistakes. The commands
 * are in tasks.c, check.c, users.c and correct.c; options.c has what they share. */
#include "managetask/commands.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_option no_options[] = { CLI_OPTIONS_END };

static int
no_command(void *options, struct cli_error *error)
{
	(void)options;
	return cli_fail(error, "a command is missing, as in managetask list");
}

static const struct cli_tool managetask_tool = {
	MANAGE_TOOL,
	.synopsis = "COMMAND [OPTIONS]\n"
	    "COMMAND --help",
	.purpose = "Defines tasks, and knows the people who work on them. Each change is logged\n"
	    "with the name of the manager who made it. The commands are:\n"
	    "\n"
	    "  list           shows all tasks\n"
	    "  show N         shows how a task is defined\n"
	    "  check N        tells whether a task works, and how to mend it\n"
	    "  add [N]        makes a task\n"
	    "  set N          changes a task\n"
	    "  pause N        gives no loans of it for now: who asks, waits\n"
	    "  disable N      ends it: who asks, is refused\n"
	    "  enable N       ends either\n"
	    "  remove N       takes it away with its rows; the history stays\n"
	    "  user list      shows the people\n"
	    "  user add       makes people known\n"
	    "  user bind      lets one MySQL account ask for somebody, and no other\n"
	    "  user disable   lets somebody ask no more\n"
	    "  user enable    lets somebody ask again\n"
	    "  user remove    takes away somebody who has never asked\n"
	    "  user forget    takes somebody's name out of the history\n"
	    "  release        puts a loan back into the line\n"
	    "  reassign       gives somebody's loan to somebody else\n"
	    "  undo           takes back what somebody has said of a loan\n"
	    "  urgent N       has a loan offered before all others\n"
	    "  cancel ID      cancels somebody's pending request",
	.examples = "  managetask add --name 'Check the deed' --candidates-view deeds_to_check\n"
	    "  managetask user add oliver tracy\n"
	    "  managetask pause 7 --reason 'the bank is closed'\n",
	.exits = "  0  done\n"
	    "  1  there is none\n"
	    "  2  usage error\n"
	    "  3  another session holds what is to be changed or read: try again\n"
	    "  4  refused: the reason says why\n"
	    CLI_EXITS_ERRORS
	    "  6  outcome unknown (connection lost meanwhile): look whether it was done\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP\n",
	.options = no_options,
	.check = no_command,
};

/* How many words the command has if the arguments begin with it; 0: they don't. */
static int
matches(const char *command, int argc, char **argv)
{
	const char *space = strchr(command, ' ');
	size_t length = space != NULL ? (size_t)(space - command) : strlen(command);

	if (argc < 2 || strlen(argv[1]) != length || strncmp(argv[1], command, length) != 0)
		return 0;
	if (space == NULL)
		return 1;
	return argc > 2 && strcmp(argv[2], space + 1) == 0 ? 2 : 0;
}

static const struct manage_command *
find(int argc, char **argv, int *words)
{
	static const struct manage_command *const lists[] = {
		manage_task_commands, manage_check_commands, manage_user_commands,
		manage_correct_commands
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const struct manage_command *c = lists[i]; c->tool != NULL; c++) {
			*words = matches(c->tool->command, argc, argv);
			if (*words > 0)
				return c;
		}
	}
	return NULL;
}

static const char *unknown;

static int
unknown_command(void *options, struct cli_error *error)
{
	(void)options;
	return strcmp(unknown, "user") == 0 ?
	    cli_fail(error, "command \"user\" needs a second word, as in managetask user list") :
	    cli_fail(error, "command \"%s\" is unknown", unknown);
}

/* The options of a command that is unknown are unknown, too, but for the one that says how an error
 * is to be printed. Returns how many arguments are left. */
static int
keep_json(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "-j") == 0) {
			argv[1] = argv[i];
			return 2;
		}
	}
	return 1;
}

/* The arguments don't begin with a command: --help, --version, or a mistake. */
static void
without_command(struct manage_options *o, int argc, char **argv)
{
	struct cli_tool tool = managetask_tool;

	if (argc > 1 && argv[1][0] != '-') {
		unknown = argc > 2 && strcmp(argv[1], "user") == 0 && argv[2][0] != '-' ?
		    cli_text("user %s", argv[2]) : argv[1];
		tool.check = unknown_command;
		argc = keep_json(argc, argv);
	}
	cli_start(&tool, o, argc, argv);
	exit(EXIT_FAILURE); /* not reached: the check fails */
}

int
main(int argc, char **argv)
{
	struct manage_options o = MANAGE_DEFAULTS;
	struct lockq *q = NULL;
	int words = 0, rc;
	const struct manage_command *command = find(argc, argv, &words);

	if (command == NULL)
		without_command(&o, argc, argv);
	cli_start(command->tool, &o, argc - words, argv + words);
	rc = cli_open(&q, &o.common);
	rc = rc == LOCKQ_OK ? command->run(&o, q, command) : cli_report_library(&o.common, q, rc);
	rc = cli_finish(rc, "what was changed is changed nevertheless");
	lockq_free(q);
	cli_end(rc);
}
