/* SPDX-License-Identifier: MIT */
/* Tables of options: parsing them, and printing them for --help. */
#ifndef LOCKQ_CMD_CLI_OPTIONS_H
#define LOCKQ_CMD_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/text.h"
#include "lockq.h"

struct cli_option;

/*
 * Reads @text (NULL for an option without an argument) into @target, the place in the tool's
 * options that @option->offset names. Returns 0, or -1 with @error.
 */
typedef int cli_parse_fn(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error);

/*
 * A row of a tool's option table. A row with help and no name is the heading of a group; a row with
 * neither ends the table: CLI_OPTIONS_END.
 */
struct cli_option {
	const char *name;      /* without the dashes */
	char letter;           /* 0: none */
	const char *argument;  /* its name in the help; NULL: takes none; "[ID]": one or none */
	const char *help;
	cli_parse_fn *parse;
	size_t offset;         /* of the target, in the tool's options */
	uint64_t min, max;     /* for the parsers that take a range */
};
#define CLI_OPTIONS_END { .name = NULL, .help = NULL }

/* The options that every tool has. The first member of a tool's options. */
struct cli_common {
	bool json;                           /* for scripts, in place of text for people */
	bool verbose;
	const char *log;                     /* a file, or "syslog"; NULL: none */
	const char *defaults_file;
	const char *group_suffix;
	const char *login_path;
	int64_t connect_timeout_ms;          /* 0: once; < 0: not given */
	struct lockq_connection connection;  /* complete after cli_start() */
	int64_t look_timeout_ms;             /* for lockq_look_timeout(); negative: not set */
	struct lockq *q;                     /* not connected; NULL: the tool has no user */
};
#define CLI_COMMON_INIT \
	{ false, false, NULL, NULL, NULL, NULL, -1, LOCKQ_CONNECTION_INIT, -1, NULL }

struct cli_tool {
	const char *name;
	const char *command;    /* of a program that has several: "user add"; NULL: it has none */
	const char *synopsis;   /* without these; each form on a line of its own, a line that
	                         * begins with a space continues the form above it */
	const char *purpose;    /* one or more lines */
	const char *examples;   /* lines, each indented by two spaces */
	const char *exits;      /* the same */
	const char *group;      /* option-file group beside [client]; NULL: lockq */
	const char *more_group; /* one more; NULL: none */
	const char *bare;       /* the option whose value may stand without it; NULL: none */
	bool bare_again;        /* more than once */
	const char *bare_next;  /* the same of the second one; NULL: there is none */
	size_t arguments;       /* the place of a char **, in the tool's options: a command with its
	                         * arguments follows the options; 0: none does */
	bool leads;             /* the tool may run a heavy query, at the place that
	                         * [lockq_query] names */
	const struct cli_option *options;  /* the tool's own; the common ones are added */
	/* checks the options that depend on each other, and sets those that were not given; runs
	 * after the option files were read. Returns 0, or -1 with @error */
	int (*check)(void *options, struct cli_error *error);
};

/* Rows of the tools that look; OPTION(member) is the offset of a member of a tool's options. */
#define CLI_TIMEOUT_ROWS(OPTION) \
	{ .help = "Patience" }, \
	{ "timeout", 0, "SECONDS", "give up where others lock a table for longer\n(default: 30)", \
	    cli_parse_seconds, OPTION(common.look_timeout_ms), 0, CLI_WAIT_MAX_S }
#define CLI_WIDTH_ROWS(OPTION) \
	{ .help = "Tables" }, \
	{ "width", 'w', "COLUMNS", "how wide a table may be (default: COLUMNS, else the\n" \
	    "terminal's width, 80 in a pipe; in a file as it is)", cli_parse_u32, OPTION(width), \
	    CLI_WIDTH_LEAST, CLI_WIDTH_MOST }

/* The lines of .exits that every tool shares. */
#define CLI_EXITS_ERRORS \
	"  5  no database, a failed query, or the output could not be written\n"

enum cli_parsed {
	CLI_PARSED_ERROR = -1,
	CLI_PARSED_RUN = 0,
	CLI_PARSED_HELP,
	CLI_PARSED_HELP_ALL,
	CLI_PARSED_VERSION
};

/* Parses without printing, exiting or reading files, and without tool->check(). @options begins
 * with a struct cli_common. */
LOCKQ_MUST_CHECK int cli_parse(const struct cli_tool *tool, void *options, int argc, char **argv,
    struct cli_error *error);

/* Prints the text of --help: the tool's own options, or all of them. */
void cli_help(FILE *out, const struct cli_tool *tool, bool all);

/* The login name (effective user), or NULL. Static. */
const char *cli_login_name(void);

/* Tells what the option files say of the user and the task; NULL and 0: nothing. @user is kept. */
void cli_set_defaults(const char *user, uint32_t task);

/* Where *@user is NULL, sets it to LOCKQ_USER, else to the option files' lockq-user, else to the
 * login name. 0, or -1 with @error where there is none of them, or the first that is set is no
 * name. */
LOCKQ_MUST_CHECK int cli_default_user(const char **user, struct cli_error *error);

/* Where *@task is 0, sets it to LOCKQ_TASK, else to the option files' lockq-task, if one is set.
 * 0, or -1 with @error where LOCKQ_TASK is no number of a task. */
LOCKQ_MUST_CHECK int cli_default_task(uint32_t *task, struct cli_error *error);

/* For where there is still no task. Returns -1 with @error. */
int cli_fail_no_task(struct cli_error *error);

#endif
