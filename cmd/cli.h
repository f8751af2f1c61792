/* SPDX-License-Identifier: MIT */
/*
 * A tool's life: start, connection, messages, end. A tool's main calls
 * cli_start(), cli_open(), the library, a function of its output, and cli_finish(). The rooms cli_*
 * are options, tables, JSON and progress; there is no SQL and no queue logic in any of them.
 *
 * Everything printed for people passes cli_escape(), so that text from the database or the command
 * line can't drive a terminal.
 */
#ifndef LOCKQ_CLI_H
#define LOCKQ_CLI_H

#include "cli_options.h"
#include "cli_text.h"
#include "lockq.h"

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

#endif
