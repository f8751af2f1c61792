/* SPDX-License-Identifier: MIT */
/* What the commands of managetask share. Each command is a struct cli_tool with options of its own,
 * which all point into one struct manage_options, and a function that does it. */
#ifndef LOCKQ_CMD_MANAGETASK_COMMANDS_H
#define LOCKQ_CMD_MANAGETASK_COMMANDS_H

#include "cli/loan_option.h"
#include "cli/program.h"

enum { MANAGE_MOST = 64 };

/* The settings that the command line names. */
struct manage_settings {
	struct lockq_setting list[MANAGE_MOST];
	size_t n;
};

/* The people that it names. */
struct manage_names {
	const char *names[MANAGE_MOST];
	size_t n;
};

struct manage_options {
	struct cli_common common;
	const char *by;       /* the manager */
	const char *reason;
	uint32_t task;
	struct manage_settings settings;
	struct manage_names users;
	const char *account;
	bool any_account;
	bool dry_run;
	struct loan_option loans;
	const char *from, *to;
	bool all;             /* all loans that "from" has */
	bool withdraws;       /* the loans are not urgent any more */
	const char *request;
	bool unchecked;       /* the task is not checked before it is made or changed */
	bool grants;          /* rights that are missing are granted */
};
#define MANAGE_DEFAULTS { CLI_COMMON_INIT, NULL, NULL, 0, { { { NULL, NULL } }, 0 }, \
	{ { NULL }, 0 }, NULL, false, false, LOAN_OPTION_EMPTY, NULL, NULL, false, false, NULL, \
	false, false }

#define MANAGE(member) offsetof(struct manage_options, member)

cli_parse_fn manage_parse_setting; /* struct manage_settings: adds the option's column */
cli_parse_fn manage_parse_user;    /* struct manage_names: adds a name */

/* Rows that several commands have. */
#define MANAGE_TASK { "task", 't', "N", "the task's number", cli_parse_u32, MANAGE(task), 1, \
	UINT32_MAX }
#define MANAGE_BY_NAME \
	{ .help = "Who does it" }, \
	{ "by", 0, "NAME", "the manager, for the log (default: LOCKQ_USER,\n" \
	    "else lockq-user in an option file, else your login)", cli_parse_utf8, MANAGE(by), 0, \
	    64 }
#define MANAGE_BY \
	MANAGE_BY_NAME, \
	{ "reason", 0, "TEXT", "why, for the log", cli_parse_utf8, MANAGE(reason), 0, \
	    LOCKQ_NOTE_MAX }

/* What each command's tool has. */
#define MANAGE_TOOL .name = "managetask", .more_group = "lockq_manager"

/* A command: the tool that parses its options, and what does it and returns the exit status. The
 * last two tell commands apart that one function does. */
struct manage_command {
	const struct cli_tool *tool;
	int (*run)(const struct manage_options *o, struct lockq *q,
	    const struct manage_command *command);
	int kind;
	const char *done; /* what is said then */
};

/* Of tasks.c, check.c, users.c and correct.c; each list ends with a row of NULLs. */
extern const struct manage_command manage_task_commands[], manage_check_commands[],
    manage_user_commands[], manage_correct_commands[];

/* check.c, for add and set. The first checks the task as it is going to be, quickly;
 * @findings are the caller's to clear. Returns CLI_EXIT_DONE where it may be made, else says why
 * not. The second says which rights are missing, or grants them; it returns the exit status. */
LOCKQ_MUST_CHECK int manage_precheck(const struct manage_options *o, struct lockq *q, bool adds,
    struct lockq_findings *findings);
LOCKQ_MUST_CHECK int manage_rights(const struct manage_options *o, struct lockq *q, uint32_t task,
    const struct lockq_findings *findings);

/* Completes the manager's name; checks that a task is named. @options is a struct manage_options,
 * as for the check of a tool. 0, or -1 with @error. */
LOCKQ_MUST_CHECK int manage_check_by(void *options, struct cli_error *error);
LOCKQ_MUST_CHECK int manage_check_task(void *options, struct cli_error *error);

#define MANAGE_EXITS_CHANGE \
	"  0  done\n" \
	"  2  usage error\n" \
	"  3  another session holds what is to be changed: try again\n" \
	"  4  refused: the reason says why\n" \
	CLI_EXITS_ERRORS \
	"  6  outcome unknown (connection lost meanwhile): look whether it was done\n"
#define MANAGE_EXITS_LOOK \
	"  0  done\n" \
	"  1  there is none\n" \
	"  2  usage error\n" \
	"  3  another session has locked a table: try again\n" \
	"  4  refused: the task is unknown\n" \
	CLI_EXITS_ERRORS

/* Prints what a manager has @done to a "task" or a "user", which @what tells: the number or the
 * name. */
void manage_say_done(const struct manage_options *o, const char *what, uint32_t task,
    const char *user, const char *done);

#endif
