/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/utf8.h"
#include "cli/values.h"

enum {
	FIRST_LONG = 256, /* above every letter */
	PASSWORD = FIRST_LONG - 1,
	N_TABLES = 4,
	HELP_LEFT_MAX = 26 /* a longer option has a line of its own */
};

static cli_parse_fn parse_ssl_mode;

#define COMMON(member) offsetof(struct cli_common, member)

/* Of a tool that uses the library. */
static const struct cli_option *
log_options(const struct cli_tool *tool)
{
	static const struct cli_option log[] = {
		{ .help = "Log" },
		{ "log", 0, "FILE|syslog", "add a JSON line for each call and each failure\n"
		    "(default: LOCKQ_LOG, else none)", cli_parse_text, COMMON(log), 0, 0 },
		CLI_OPTIONS_END
	};
	static const struct cli_option none[] = { CLI_OPTIONS_END };

	return tool->group == NULL ? log : none;
}

static const struct cli_option connection_options[] = {
	{ .help = "Connection" },
	{ "defaults-file", 0, "FILE", "read this option file, not LOCKQ_DEFAULTS_FILE\n"
	    "and not MySQL's usual ones", cli_parse_text, COMMON(defaults_file), 0, 0 },
	{ "defaults-group-suffix", 0, "SUFFIX", "also read the groups with this suffix",
	    cli_parse_text, COMMON(group_suffix), 0, 0 },
	{ "login-path", 0, "NAME", "what mysql_config_editor saved as NAME", cli_parse_text,
	    COMMON(login_path), 0, 0 },
	{ "host", 0, "HOST", "the database's host", cli_parse_text, COMMON(connection.host), 0, 0 },
	{ "port", 0, "PORT", "its port", cli_parse_u32, COMMON(connection.port), 1, 65535 },
	{ "socket", 0, "PATH", "its socket, on this machine", cli_parse_text,
	    COMMON(connection.socket), 0, 0 },
	{ "db-user", 0, "ACCOUNT", "the database account; its password belongs in an\noption file",
	    cli_parse_text, COMMON(connection.user), 0, 0 },
	{ "database", 0, "NAME", "the database (default: lockq)", cli_parse_text,
	    COMMON(connection.database), 0, 0 },
	{ "ssl-mode", 0, "MODE", "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or\nVERIFY_IDENTITY",
	    parse_ssl_mode, COMMON(connection.ssl_mode), 0, 0 },
	{ "connect-timeout", 0, "SECONDS", "try for this long to reach the server; 0: once\n"
	    "(default: 2)", cli_parse_seconds, COMMON(connect_timeout_ms), 0, CLI_WAIT_MAX_S },
	CLI_OPTIONS_END
};

static const struct cli_option output_options[] = {
	{ .help = "Output" },
	{ "json", 'j', NULL, "one JSON object per line on standard output", cli_parse_flag,
	    COMMON(json), 0, 0 },
	{ "verbose", 'v', NULL, "print more, on standard error", cli_parse_flag, COMMON(verbose),
	    0, 0 },
	{ "help", 'h', "[all]", "show this help; with all: all options", NULL, 0, 0, 0 },
	{ "version", 'V', NULL, "show the version", NULL, 0, 0, 0 },
	CLI_OPTIONS_END
};

static int
parse_ssl_mode(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	static const char *const modes[] = { "DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA",
		"VERIFY_IDENTITY" };
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcasecmp(text, modes[i]) == 0) {
			*(const char **)target = modes[i];
			return 0;
		}
	}
	return cli_fail(error, "--%s \"%s\" must be DISABLED, PREFERRED, REQUIRED, VERIFY_CA "
	    "or VERIFY_IDENTITY", option->name, text);
}

const char *
cli_login_name(void)
{
	static char name[256];
	const struct passwd *entry = getpwuid(geteuid());

	if (entry == NULL)
		return NULL;
	snprintf(name, sizeof(name), "%s", entry->pw_name);
	return name;
}

/* What the option files say, else NULL and 0. */
static const char *file_user;
static uint32_t file_task;

void
cli_set_defaults(const char *user, uint32_t task)
{
	file_user = user;
	file_task = task;
}

int
cli_default_user(const char **user, struct cli_error *error)
{
	const char *name = getenv("LOCKQ_USER");
	bool in_environment = name != NULL && name[0] != '\0';

	if (*user != NULL)
		return 0;
	if (!in_environment)
		name = file_user;
	if (name != NULL && cli_utf8_length(name, strlen(name)) < 0)
		return cli_fail(error, "%s must be valid UTF-8", in_environment ? "LOCKQ_USER" :
		    "lockq-user in an option file");
	*user = name != NULL ? name : cli_login_name();
	if (*user == NULL)
		return cli_fail(error, "--user is missing, and your login has no name");
	return 0;
}

int
cli_default_task(uint32_t *task, struct cli_error *error)
{
	const char *text = getenv("LOCKQ_TASK");
	uint64_t number = 0;

	if (*task != 0)
		return 0;
	*task = file_task;
	if (text == NULL || text[0] == '\0')
		return 0;
	if (cli_number(&number, text) != 0 || number < 1 || number > UINT32_MAX)
		return cli_fail(error, "LOCKQ_TASK \"%s\" must be the number of a task", text);
	*task = (uint32_t)number;
	return 0;
}

int
cli_fail_no_task(struct cli_error *error)
{
	return cli_fail(error, "--task is missing: give it, or set LOCKQ_TASK, or lockq-task in an "
	    "option file");
}

/* The arguments of getopt_long(), made from a tool's table and the common ones. */
struct grammar {
	struct option *longs;               /* ends with a row of zeros */
	const struct cli_option **rows;     /* of longs; NULL for --password */
	size_t n;
	char *shorts;
};

/* The letter of such an option, if it has one, takes none. */
static bool
takes_one_or_none(const struct cli_option *row)
{
	return row->argument != NULL && row->argument[0] == '[';
}

static void
grammar_add(struct grammar *g, const struct cli_option *row)
{
	size_t letters = strlen(g->shorts);
	int has_argument = row->argument == NULL ? no_argument :
	    takes_one_or_none(row) ? optional_argument : required_argument;

	g->longs[g->n] = (struct option){ row->name, has_argument, NULL, FIRST_LONG + (int)g->n };
	g->rows[g->n++] = row;
	if (row->letter == 0)
		return;
	g->shorts[letters++] = row->letter;
	if (has_argument == required_argument)
		g->shorts[letters++] = ':';
	g->shorts[letters] = '\0';
}

static size_t
table_length(const struct cli_option *table)
{
	size_t n = 0;

	while (table[n].name != NULL || table[n].help != NULL)
		n++;
	return n;
}

static void
grammar_make(struct grammar *g, const struct cli_tool *tool)
{
	const struct cli_option *tables[N_TABLES] = { tool->options, log_options(tool),
	    connection_options, output_options }, *row;
	size_t most = 2, i;

	for (i = 0; i < N_TABLES; i++)
		most += table_length(tables[i]);
	g->longs = cli_alloc(most * sizeof(*g->longs));
	g->rows = cli_alloc(most * sizeof(*g->rows));
	/* "+" stops at the first argument that is no option. */
	g->shorts = cli_text("%s%*s", tool->arguments != 0 ? "+:" : ":", (int)(2 * most), "");
	g->shorts[strcspn(g->shorts, " ")] = '\0';
	g->n = 0;
	for (i = 0; i < N_TABLES; i++) {
		for (row = tables[i]; row->name != NULL || row->help != NULL; row++) {
			if (row->name != NULL)
				grammar_add(g, row);
		}
	}
	/* --help does not show it; it is known only to be refused with the reason */
	g->longs[g->n] = (struct option){ "password", optional_argument, NULL, PASSWORD };
	g->rows[g->n++] = NULL;
	g->longs[g->n] = (struct option){ NULL, 0, NULL, 0 };
}

/* The row that getopt_long() means with @value. */
static const struct cli_option *
grammar_row(const struct grammar *g, int value)
{
	size_t i;

	if (value >= FIRST_LONG)
		return g->rows[value - FIRST_LONG];
	for (i = 0; i < g->n; i++) {
		if (g->rows[i] != NULL && g->rows[i]->letter == value)
			return g->rows[i];
	}
	return NULL;
}

enum { LONGEST_NAME = 40, NEAR = 2 };

/* How many letters have to be changed, added or left out to make @b of the first @n bytes of @a. */
static size_t
distance(const char *a, size_t n, const char *b)
{
	size_t row[LONGEST_NAME + 1], length = strlen(b);

	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 0; i < n; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < length; j++) {
			size_t changed = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = (row[j] < diagonal ? row[j] : diagonal) + 1;
			if (changed < row[j + 1])
				row[j + 1] = changed;
		}
	}
	return row[length];
}

/* The option's name that somebody may have meant by @name, or NULL. */
static const char *
nearest(const struct grammar *g, const char *name, size_t length)
{
	const char *found = NULL;
	size_t least = NEAR + 1;

	for (size_t i = 0; i < g->n && length <= LONGEST_NAME; i++) {
		size_t n = g->rows[i] != NULL && strlen(g->longs[i].name) <= LONGEST_NAME ?
		    distance(name, length, g->longs[i].name) : least;

		/* Of a short name two letters are most of it. */
		if (n < least && n < length) {
			least = n;
			found = g->longs[i].name;
		}
	}
	return found;
}

/* Says why getopt_long() refused @argument. */
static int
explain(const struct grammar *g, const char *argument, struct cli_error *error)
{
	size_t length, i, matches = 0;
	const char *name, *meant;

	/* Within letters such as "-xy", getopt_long() has not gone on to the next argument, and
	 * @argument is the one before. */
	if (optopt != 0 && optopt < PASSWORD)
		return cli_fail(error, "option \"-%c\" is unknown", optopt);
	if (optopt >= FIRST_LONG)
		return cli_fail(error, "--%s takes no value", grammar_row(g, optopt)->name);
	name = argument + 2;
	length = strcspn(name, "=");
	for (i = 0; i < g->n; i++)
		matches += strncmp(g->longs[i].name, name, length) == 0;
	if (matches > 1)
		return cli_fail(error, "option \"--%.*s\" is the beginning of several options",
		    (int)length, name);
	meant = nearest(g, name, length);
	return cli_fail(error, "option \"--%.*s\" is unknown%s%s%s", (int)length, name,
	    meant != NULL ? ": did you mean --" : "", meant != NULL ? meant : "",
	    meant != NULL ? "?" : "");
}

/* Takes one option. Returns a CLI_PARSED_ value. */
static int
parse_one(const struct grammar *g, int value, void *options, const char *argument,
    struct cli_error *error)
{
	const struct cli_option *row;

	if (value == '?')
		return explain(g, argument, error);
	if (value == PASSWORD)
		return cli_fail(error, "a password can't be given on the command line: put it in "
		    "an option file, under [client]");
	if (value == ':') {
		row = grammar_row(g, optopt);
		return cli_fail(error, "--%s needs a value: --%s %s", row->name, row->name,
		    row->argument);
	}
	row = grammar_row(g, value);
	if (row->parse != NULL)
		return row->parse(row, optarg, (char *)options + row->offset, error);
	if (row->letter != 'h')
		return CLI_PARSED_VERSION;
	if (optarg != NULL && strcmp(optarg, "all") != 0)
		return cli_fail(error, "--help \"%s\" must be all, or nothing", optarg);
	return optarg != NULL ? CLI_PARSED_HELP_ALL : CLI_PARSED_HELP;
}

/* Takes an argument that stands without its option. */
static int
parse_bare(const struct cli_tool *tool, void *options, const char *text, int place,
    struct cli_error *error)
{
	const struct cli_option *row = tool->options;
	const char *name = place == 0 || tool->bare_again ? tool->bare :
	    place == 1 ? tool->bare_next : NULL;

	if (name == NULL)
		return cli_fail(error, "argument \"%s\" is not expected", text);
	while (row->name == NULL || strcmp(row->name, name) != 0)
		row++;
	return row->parse(row, text, (char *)options + row->offset, error);
}

int
cli_parse(const struct cli_tool *tool, void *options, int argc, char **argv,
    struct cli_error *error)
{
	struct grammar g;
	const struct cli_option *row;
	int rc = CLI_PARSED_RUN, value;

	grammar_make(&g, tool);
	opterr = 0;
	optind = 0; /* tests parse more than once in a process */
	while (rc == CLI_PARSED_RUN) {
		value = getopt_long(argc, argv, g.shorts, g.longs, NULL);
		if (value == -1)
			break;
		/* getopt_long() takes the value of an option that may have none only after "=".
		 * Here the next argument is the value, too, unless it is an option. */
		row = value >= FIRST_LONG ? grammar_row(&g, value) : NULL;
		if (row != NULL && takes_one_or_none(row) && optarg == NULL && optind < argc &&
		    argv[optind][0] != '-')
			optarg = argv[optind++];
		rc = parse_one(&g, value, options, argv[optind - 1], error);
	}
	free(g.longs);
	free(g.rows);
	free(g.shorts);
	if (tool->arguments != 0) {
		*(char ***)(void *)((char *)options + tool->arguments) = &argv[optind];
		return rc;
	}
	for (int i = optind; rc == CLI_PARSED_RUN && i < argc; i++)
		rc = parse_bare(tool, options, argv[i], i - optind, error);
	return rc;
}

static char *
help_left(const struct cli_option *row)
{
	const char *space = row->argument != NULL ? " " : "";
	const char *argument = row->argument != NULL ? row->argument : "";

	if (row->letter == 0)
		return cli_text("      --%s%s%s", row->name, space, argument);
	return cli_text("  -%c, --%s%s%s", row->letter, row->name, space, argument);
}

static int
help_width(const struct cli_option *table, int width)
{
	const struct cli_option *row;
	char *left;
	int length;

	for (row = table; row->name != NULL || row->help != NULL; row++) {
		if (row->name == NULL)
			continue;
		left = help_left(row);
		length = (int)strlen(left);
		free(left);
		if (length > width && length <= HELP_LEFT_MAX)
			width = length;
	}
	return width;
}

static void
help_row(FILE *out, const struct cli_option *row, int width)
{
	char *left = help_left(row);
	const char *line = row->help;
	size_t length;

	if ((int)strlen(left) > width)
		fprintf(out, "%s\n%*s  ", left, width, "");
	else
		fprintf(out, "%-*s  ", width, left);
	free(left);
	for (;;) {
		length = strcspn(line, "\n");
		fprintf(out, "%.*s\n", (int)length, line);
		if (line[length] == '\0')
			break;
		fprintf(out, "%*s  ", width, "");
		line += length + 1;
	}
}

static void
help_table(FILE *out, const struct cli_option *table, int width)
{
	const struct cli_option *row;

	for (row = table; row->name != NULL || row->help != NULL; row++) {
		if (row->name == NULL)
			fprintf(out, "\n%s:\n", row->help);
		else
			help_row(out, row, width);
	}
}

/* Each form of the synopsis begins with the program's name. A line that begins with a space
 * continues the form above it. */
static void
help_synopsis(FILE *out, const struct cli_tool *tool)
{
	const char *form = tool->synopsis, *command = tool->command != NULL ? tool->command : "";
	const char *space = tool->command != NULL ? " " : "";
	int indent = (int)(strlen(tool->name) + strlen(space) + strlen(command)) + 7;
	size_t length;

	for (; *form != '\0'; form += length + (form[length] == '\n')) {
		length = strcspn(form, "\n");
		if (form[0] == ' ')
			fprintf(out, "%*s%.*s\n", indent, "", (int)length, form);
		else
			fprintf(out, "%s %s%s%s %.*s\n", form == tool->synopsis ? "Usage:" :
			    "      ", tool->name, space, command, (int)length, form);
	}
}

void
cli_help(FILE *out, const struct cli_tool *tool, bool all)
{
	int width = help_width(output_options, help_width(tool->options, 0));

	if (all)
		width = help_width(connection_options, help_width(log_options(tool), width));
	help_synopsis(out, tool);
	fprintf(out, "\n%s\n", tool->purpose);
	help_table(out, tool->options, width);
	if (all) {
		help_table(out, log_options(tool), width);
		help_table(out, connection_options, width);
	}
	help_table(out, output_options, width);
	if (!all)
		fprintf(out, "\nOptions for the connection%s: --help=all, or lockq-options(5)\n",
		    log_options(tool)->help != NULL ? " and the log" : "");
	fprintf(out, "\nExamples:\n%s\nExit status:\n%s", tool->examples, tool->exits);
}
