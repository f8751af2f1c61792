/* SPDX-License-Identifier: MIT */
/*
 * The frame of a program: its main calls cli_start(), cli_open(), the library, its own functions
 * that print, cli_finish() and cli_end(). This header brings those of the options and their values,
 * the exit statuses, the noun, the signals, the terminal, texts and times.
 *
 * The other files of this folder, from those that tools call to those that all of them call:
 *   ask, ask_tasks, fill_due                  asking for loans, filling a list that is due
 *   dispose                                   saying what became of them
 *   pipeline, pipeline_table                  what a user has
 *   answer                                    a request's answer
 *   watch, screen, lines                      --watch
 *   noun, progress, table, json               what people call a loan, progress, tables, JSON
 *   options, values, loan_option              the command line
 *   terminal, signals, times, when            lines and messages, Ctrl-C, times, dates
 *   exit_status, utf8, text                   statuses, characters, memory
 *
 * Everything printed for people passes cli_escape(), so that text from the database or the command
 * line can't drive a terminal.
 */
#ifndef LOCKQ_CMD_CLI_PROGRAM_H
#define LOCKQ_CMD_CLI_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "cli/exit_status.h"
#include "cli/noun.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/times.h"
#include "cli/values.h"
#include "lockq.h"

/*
 * The first call of a main: sets the locale, parses the options, reads the option files and checks
 * the options. With --help, --version, a usage error or an option file that can't be used it ends
 * the process.
 */
void cli_start(const struct cli_tool *tool, void *options, int argc, char **argv);

/*
 * Connects the handle that has read the option files. Returns what lockq_connect() returns. The
 * caller frees *@q with lockq_free(), also after an error.
 */
LOCKQ_MUST_CHECK int cli_open(struct lockq **q, struct cli_common *common);

/*
 * Flushes standard output. Returns @status, or CLI_EXIT_DATABASE with a message where the output
 * could not be written. @consequence, or NULL, ends that message: "the loans are assigned to you
 * nevertheless: see checkwork".
 */
LOCKQ_MUST_CHECK int cli_finish(int status, const char *consequence);

/* The last call of a main, after cli_finish(), when all connections are closed. */
void cli_end(int status) CLI_NORETURN;

/*
 * Prints the message @text, and with --json {"error": …, "exit": …} on standard output. Takes
 * @text; returns @status, for return cli_report(…), which makes it of a format and its arguments.
 */
int cli_report_text(const struct cli_common *common, int status, char *text);
#define cli_report(common, status, ...) \
	cli_report_text((common), (status), cli_text(__VA_ARGS__))

/* The library's last error; where it has none, or @q is NULL, a text for @rc. */
const char *cli_library_text(struct lockq *q, int rc);

/* With --verbose prints what operators want to know of the library's last error. */
void cli_report_detail(const struct cli_common *common, struct lockq *q);

/* cli_report() with that text and the exit status of @rc. */
int cli_report_library(const struct cli_common *common, struct lockq *q, int rc);

/* Whether a look that ended with @rc has an answer to print: LOCKQ_BUSY is a table that stays
 * locked. */
bool cli_has_answer(int rc);

/* The exit status of a look, after its answer was printed; without an answer, says why. */
int cli_looked(const struct cli_common *common, struct lockq *q, int rc);

/* --- connection.c: where the database is, as the command line and the environment say --- */

/*
 * Completes @common->connection by LOCKQ_DEFAULTS_FILE and by what my_print_defaults prints of the
 * login path. @group as in struct cli_tool. Returns 0, or -1 with @error. Its texts live as long as
 * the process.
 */
LOCKQ_MUST_CHECK int cli_connection(struct cli_common *common, const char *group,
    struct cli_error *error);

/* --- log.c: --log, a JSON line for each call of the library and for each failed statement --- */

/* Sets @common->log to LOCKQ_LOG where it is not given, and looks whether the file can be written.
 * 0, or -1 with @error. */
LOCKQ_MUST_CHECK int cli_log_check(struct cli_common *common, struct cli_error *error);

/* Logs what @q does from now on, if that is wanted. @common stays as long as @q. */
void cli_log(const struct cli_common *common, struct lockq *q);

/* --- progress.c: the line on standard error that shows progress --- */

/* "[#####-----]", @width columns wide, filled in proportion; free() it. */
char *cli_bar(size_t width, uint64_t done, uint64_t total);

/*
 * Draws "@text [#####-----]" as one line over the last one on standard error, cut to the
 * terminal's width; no bar where @total is 0. Does nothing where progress is not shown. Takes
 * @text.
 */
void cli_tick(const struct cli_common *common, uint64_t done, uint64_t total, char *text);

/* With --verbose, prints @text as a message if @phase is not the one of the last call. */
void cli_say_phase(const struct cli_common *common, int phase, const char *text);

/* The progress function of the tools for lockq_on_progress(); @data is the struct cli_common. */
int cli_on_progress(const struct lockq_progress *progress, void *data);

/* The text of that line, without the bar; free() it. */
char *cli_progress_text(const struct lockq_progress *progress);

#endif
