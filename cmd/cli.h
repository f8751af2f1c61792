/* SPDX-License-Identifier: MIT */
/*
 * The tools' one door to the user: options, messages, tables, JSON, progress, exit statuses.
 * No SQL and no queue logic here. A tool's main calls cli_start(), cli_open(), the library, a print
 * function of its own, and returns cli_finish().
 *
 * Everything printed for people passes cli_escape(), so that text from the database or the command
 * line can't drive a terminal.
 */
#ifndef LOCKQ_CLI_H
#define LOCKQ_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <jansson.h>

#include "lockq.h"

#if defined(__GNUC__)
#define CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define CLI_NORETURN __attribute__((noreturn))
#else
#define CLI_PRINTF(text, first)
#define CLI_NORETURN
#endif

/*
 * What a process ends with; 130, 143 and 129 are 128 + the signal. An answer that could not be
 * written to standard output ends with CLI_EXIT_DATABASE, whatever the library said: a script that
 * did not get the loans must not go on as if it had.
 */
enum cli_exit {
	CLI_EXIT_DONE = 0,
	CLI_EXIT_NOTHING = 1,
	CLI_EXIT_USAGE = 2,
	CLI_EXIT_BUSY = 3,
	CLI_EXIT_REFUSED = 4,
	CLI_EXIT_DATABASE = 5,
	CLI_EXIT_UNKNOWN = 6
};

/* ---- errors of parsing: returned, not printed, so that tests can look at them ---- */

struct cli_error {
	char text[512];
};

/* Formats @error as it came (escaped when it is printed). Returns -1, for return cli_fail(…). */
int cli_fail(struct cli_error *error, const char *format, ...) CLI_PRINTF(2, 3);

/* ---- options (options.c) ---- */

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
	const char *argument;  /* its name in the help; NULL: takes none */
	const char *help;
	cli_parse_fn *parse;
	size_t offset;         /* of the target, in the tool's options */
	uint64_t min, max;     /* for the parsers that take a range */
};
#define CLI_OPTIONS_END { .name = NULL, .help = NULL }

cli_parse_fn cli_parse_flag;     /* bool: set to true */
cli_parse_fn cli_parse_text;     /* const char *: the argument itself, any bytes */
cli_parse_fn cli_parse_utf8;     /* const char *: valid UTF-8, up to max characters (0: any) */
cli_parse_fn cli_parse_u32;      /* uint32_t: a decimal number from min to max */
cli_parse_fn cli_parse_u64;      /* uint64_t: the same */
cli_parse_fn cli_parse_seconds;  /* int64_t: seconds with decimals, stored as milliseconds */
cli_parse_fn cli_parse_duration; /* uint32_t: 4h, 90m, 2d, 30s, 0; stored as seconds */

/* A decimal number and nothing else: no sign, no space. Returns 0, or -1. */
LOCKQ_MUST_CHECK int cli_number(uint64_t *number, const char *text);

/* What every tool has. The first member of a tool's options. */
struct cli_common {
	bool json;
	bool verbose;
	const char *defaults_file;
	const char *group_suffix;
	const char *login_path;
	struct lockq_connection connection;  /* complete after cli_start() */
	bool queries_elsewhere;              /* the tool leads, and there is a [lockq_query] */
	struct lockq_connection query;       /* … which says so much */
};
#define CLI_COMMON_INIT { false, false, NULL, NULL, NULL, LOCKQ_CONNECTION_INIT, false, \
	LOCKQ_CONNECTION_INIT }

struct cli_tool {
	const char *name;
	const char *synopsis;   /* what follows the name; each form on a line of its own, a line
	                         * that begins with a space goes on with the form before */
	const char *purpose;    /* one or more lines */
	const char *examples;   /* lines, each indented by two spaces */
	const char *exits;      /* the same */
	const char *group;      /* option-file group beside [client]; NULL: lockq */
	bool leads;             /* may run a heavy query: where [lockq_query] says */
	const struct cli_option *options;  /* the tool's own; the common ones are added */
	/* what the table can't say: what is missing, what excludes what. Returns 0, or -1. */
	int (*check)(void *options, struct cli_error *error);
};

/* The lines of .exits that every tool shares. */
#define CLI_EXITS_ERRORS \
	"  5  no database, a failed query, or the output could not be written\n"

enum cli_parsed {
	CLI_PARSED_ERROR = -1,
	CLI_PARSED_RUN = 0,
	CLI_PARSED_HELP,
	CLI_PARSED_VERSION
};

/* Parses without printing, exiting or reading files. @options begins with a struct cli_common. */
LOCKQ_MUST_CHECK int cli_parse(const struct cli_tool *tool, void *options, int argc, char **argv,
    struct cli_error *error);

/* Writes what --help says. */
void cli_help(FILE *out, const struct cli_tool *tool);

/* The login name (effective user), or NULL. Static. */
const char *cli_login_name(void);

/*
 * Fills @common->connection from the options: LOCKQ_DEFAULTS_FILE, the option file's readability,
 * and, for --login-path and --defaults-group-suffix, what my_print_defaults says. @group as in
 * struct cli_tool. Returns 0, or -1 with @error. What it allocates lives as long as the process.
 */
LOCKQ_MUST_CHECK int cli_connection(struct cli_common *common, const char *group,
    struct cli_error *error);

/*
 * Fills @common->query from the group [lockq_query] of the option files, where it is there and sets
 * anything; after cli_connection(). Likewise.
 */
LOCKQ_MUST_CHECK int cli_query_connection(struct cli_common *common, struct cli_error *error);

/* ---- a tool's life (cli.c) ---- */

/*
 * The first call of a main: locale, descriptors, options. Returns when there is something to do;
 * --help, --version and usage errors end the process here.
 */
void cli_start(const struct cli_tool *tool, void *options, int argc, char **argv);

/*
 * A connected handle. Returns what lockq_connect() does; *@q may be set on an error too: for
 * lockq_error(), and for lockq_free().
 */
LOCKQ_MUST_CHECK int cli_open(struct lockq **q, struct cli_common *common);

/*
 * From here on SIGINT, SIGTERM and SIGHUP only set a flag, and cli_on_progress() makes a waiting
 * call of the library give up. Before, they end the process as usual. A second signal a second
 * later ends it at once.
 */
void cli_catch_signals(void);

/* The signal that was caught, or 0. */
int cli_caught(void);

/* Maps what the library returned, and the signal caught, to an exit status. */
int cli_exit_status(int rc, int signal);

/*
 * The last call of a main: flushes standard output. Returns @status, or CLI_EXIT_DATABASE with a
 * message when it could not be written; @consequence (or NULL) says what that means: "the loans
 * are assigned all the same, see checkwork".
 */
LOCKQ_MUST_CHECK int cli_finish(int status, const char *consequence);

/* The last call of a main, after cli_finish() and when all connections are closed. */
void cli_end(int status) CLI_NORETURN;

/* "getwork: …" on standard error: one line, escaped. */
void cli_message(const char *format, ...) CLI_PRINTF(1, 2);

/*
 * The same, and with --json {"error": …, "exit": …} on standard output. Returns @status, for
 * return cli_report(…).
 */
int cli_report(const struct cli_common *common, int status, const char *format, ...)
    CLI_PRINTF(3, 4);

/* The library's last error; where it has none, or @q is NULL, a word for @rc. */
const char *cli_library_text(struct lockq *q, int rc);

/* cli_report() with that text and the exit status of @rc. */
int cli_report_library(const struct cli_common *common, struct lockq *q, int rc);

/* cli_report() with CLI_EXIT_USAGE and a second line "try 'getwork --help'"; ends the process. */
CLI_NORETURN void cli_usage(const struct cli_common *common, const char *format, ...)
    CLI_PRINTF(2, 3);

/* ---- text (text.c) ---- */

/* Ends the process; what was committed stays so. */
CLI_NORETURN void cli_out_of_memory(void);

/* Memory or the end of the process. */
void *cli_alloc(size_t size);
void *cli_realloc(void *old, size_t size);

/* A formatted string; free() it. cli_vtext() the same with a va_list. */
char *cli_text(const char *format, ...) CLI_PRINTF(1, 2);
char *cli_vtext(const char *format, va_list arguments) CLI_PRINTF(1, 0);

/* How many characters @text has in its @size bytes; -1 where they are not valid UTF-8. */
long cli_utf8_length(const char *text, size_t size);

/* Columns that @text takes on a terminal. */
size_t cli_width(const char *text);

/*
 * A copy fit for a terminal: control characters as \n, \x1b or \u0085, bytes that are not UTF-8 as
 * \xff, bidirectional overrides as \u202e; free() it. NULL gives "".
 */
char *cli_escape(const char *text);

/* A copy that is valid UTF-8: only bytes that are not are escaped; free() it. */
char *cli_valid_utf8(const char *text);

/* A copy cut to @width columns; free() it. */
char *cli_cut(const char *text, size_t width);

/* The same, ending with @ellipsis where something was cut off, and that has room; free() it. */
char *cli_shorten(const char *text, size_t width, const char *ellipsis);

/* Room for any of the formats below. */
enum { CLI_TIME_SIZE = 48 };

/* The library's UTC text as seconds since 1970. Returns 0, or -1 where it is no time. */
LOCKQ_MUST_CHECK int cli_time(time_t *seconds, const char *utc);

/*
 * UTC text in local time: "10:42" or, with @with_seconds, "10:42:03" where it is the day of @now,
 * else with the date before it; with the zone's name after it where clocks that were put back show
 * that time twice. @text receives "" where @utc is no time.
 */
void cli_time_local(char text[CLI_TIME_SIZE], const char *utc, bool with_seconds, time_t now);

/* UTC text as "2026-11-20T13:50:01.123456Z", "" where @utc is no time. */
void cli_time_iso(char text[CLI_TIME_SIZE], const char *utc);

/* "47 s", "3 min 20 s", "3 h 12 min", "2 d 5 h". */
void cli_age(char text[CLI_TIME_SIZE], uint64_t seconds);

/* "12 ms", "3.1 s", from ten seconds on as cli_age(). */
void cli_ms(char text[CLI_TIME_SIZE], uint64_t ms);

/* ---- tables (table.c) ---- */

/* What a column is, or'ed together; true and false will do for right and left. */
#define CLI_RIGHT 1u           /* aligned so: numbers */
#define CLI_TEXT 2u            /* may be cut where a line is too short; numbers and times are not */
#define CLI_SPARE(n) (4u * (n)) /* may be left out where that is not enough: the highest n first */

struct cli_column {
	const char *heading;   /* escaped, where it is not the program's own */
	unsigned int is;
};

struct cli_table;

/* @columns stays the caller's; release with cli_table_free(). */
struct cli_table *cli_table_new(const struct cli_column *columns, size_t n_columns);
void cli_table_free(struct cli_table *table);

/* The next cell, row by row; escaped here. */
void cli_table_cell(struct cli_table *table, const char *format, ...) CLI_PRINTF(2, 3);

enum cli_style {
	CLI_PLAIN = 0,      /* ASCII */
	CLI_BOXES = 1       /* box drawing */
};
/* On standard output it fits the terminal. */
void cli_table_print(FILE *out, const struct cli_table *table, enum cli_style style);

/* No wider than @columns, 0 for any width: text is cut, then columns are left out, which a line
 * after the table says. */
void cli_table_fit(FILE *out, const struct cli_table *table, enum cli_style style, size_t columns);

/* ---- terminals and progress (progress.c) ---- */

/* Whether the locale's characters are UTF-8. */
bool cli_utf8_locale(void);

/* CLI_BOXES where standard output is a terminal of a UTF-8 locale. */
enum cli_style cli_stdout_style(void);

/* How wide standard output is: as the terminal says, or COLUMNS; 0 where it is no terminal. */
size_t cli_stdout_columns(void);

/* Whether standard output is a terminal that may be coloured: NO_COLOR, TERM=dumb. */
bool cli_stdout_bold(void);

/* What stands between two facts on a line of standard output: "·", or "-" in plain style. */
const char *cli_dot(void);

/* A line of its own on standard output, bold where that is fine; escaped. */
void cli_heading(const char *format, ...) CLI_PRINTF(1, 2);

/* A line on standard output, escaped. */
void cli_line(const char *format, ...) CLI_PRINTF(1, 2);

/* Whether progress is shown: standard error is a terminal, and not --json. */
bool cli_progress_shown(const struct cli_common *common);

/* "[#####-----]" with @width columns in all, filled in proportion; free() it. */
char *cli_bar(size_t width, uint64_t done, uint64_t total);

/*
 * Draws "@text [#####-----]" as one line over the last one on standard error, cut to the
 * terminal's width; no bar where @total is 0. Does nothing where progress is not shown.
 */
void cli_tick(const struct cli_common *common, uint64_t done, uint64_t total, const char *format,
    ...) CLI_PRINTF(4, 5);

/* Erases the line of cli_tick(); cli_message() and the others do it by themselves. */
void cli_tick_end(void);

/* The progress function of the tools for lockq_on_progress(); @data is the struct cli_common. */
int cli_on_progress(const struct lockq_progress *progress, void *data);

/* The words of that line, without the bar; free() it. */
char *cli_progress_text(const struct lockq_progress *progress);

/* ---- answers of a request, for getwork and checkwork (answer.c) ---- */

/* Heading, loans and summary on standard output; @waited: say how long this call took. */
void cli_answer_loans(const struct lockq_answer *answer, bool waited);

/*
 * "3 of 3 loans for oliver · served in 3.1 s by tracy's query (2.9 s) · request 118"; free() it.
 * @dot stands between the facts.
 */
char *cli_answer_summary(const struct lockq_answer *answer, bool waited, const char *dot);

/*
 * "no work for task 7 as of 10:42:03", or "nothing for oliver in task 7 as of 10:42:03: 3 loans are
 * left, but they were returned with --not-me"; free() it.
 */
char *cli_answer_no_work(const struct lockq_answer *answer, time_t now);

/* "3rd in line, 8 loans asked before it · in about 40 s", of a pending request; free() it. */
char *cli_answer_line(const struct lockq_answer *answer, const char *dot);

/* ---- what checkwork shows besides (pipeline.c, history.c) ---- */

/* A table, or one for each task where tasks have details of their own; and what to do about it. */
void cli_pipeline(const char *user, const struct lockq_pipeline *pipeline);

/* An object for each assignment. */
void cli_pipeline_json(const char *user, const struct lockq_pipeline *pipeline);

/* Who had @loan_id when in @task, and an object for each event. */
void cli_history(uint32_t task, uint64_t loan_id, const struct lockq_history *history);
void cli_history_json(uint32_t task, uint64_t loan_id, const struct lockq_history *history);

/* ---- JSON (json.c) ---- */

/* Text or null; bytes that are not UTF-8 are escaped first. */
json_t *cli_json_text(const char *text);

/* A number; above 2^53 - 1, which not every reader of JSON keeps exactly, its decimal text. */
json_t *cli_json_number(uint64_t number);

/* The library's UTC text in ISO 8601, or null where it is "". */
json_t *cli_json_time(const char *utc);

/* Adds @value to @object and gives up the caller's reference to it. */
void cli_json_set(json_t *object, const char *key, json_t *value);

/* The object of a request for getwork and checkwork; @error may be NULL. */
json_t *cli_json_answer(const struct lockq_answer *answer, int status, const char *error);

/* @object as one line of ASCII; free() it. Gives up the caller's reference. */
char *cli_json_line(json_t *object);

/* The same on standard output. */
void cli_json_print(json_t *object);

#endif
