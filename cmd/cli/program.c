/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/signals.h"
#include "cli/terminal.h"

static const struct cli_tool *tool_running;

/*
 * A socket gets the lowest free descriptor: where standard output is closed, the answer would be
 * written to the database's socket. A closed descriptor is opened here, in the wrong direction, so
 * that using it still fails and the failure is noticed.
 */
static void
hold_descriptors(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

/* Whether the command line has --json, also after the option at which parsing failed. */
static bool
asks_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "-j") == 0)
			return true;
	}
	return false;
}

/* Reads the option files of a tool that has a user, before the tool's check: they may name the user
 * and the task. The handle has what they say for cli_open(). */
static void
read_options(struct cli_common *common)
{
	int rc = lockq_new(&common->q);

	/* A shell starts a script's background jobs with SIGINT ignored. When Ctrl-C ends the
	 * script, nobody is left to take the loans: this process has to end, too. It may end at
	 * once until cli_catch_signals(), since nothing has been asked for. */
	signal(SIGINT, SIG_DFL);
	if (rc == LOCKQ_OK)
		rc = lockq_read_options(common->q, &common->connection);
	if (common->q != NULL && lockq_warning(common->q)[0] != '\0')
		cli_message("%s", lockq_warning(common->q));
	if (rc != LOCKQ_OK) {
		rc = cli_report_library(common, common->q, rc);
		lockq_free(common->q);
		exit(cli_finish(rc, NULL));
	}
	cli_set_defaults(lockq_option_user(common->q), lockq_option_task(common->q));
}

void
cli_start(const struct cli_tool *tool, void *options, int argc, char **argv)
{
	struct cli_common *common = options;
	struct cli_error error = { "" };
	int rc;

	tool_running = tool;
	cli_messages_of(tool->name);
	common->connection.program = tool->name;
	common->connection.more_group = tool->more_group;
	setlocale(LC_CTYPE, "");
	hold_descriptors();
	signal(SIGPIPE, SIG_IGN);
	/* If SIGCHLD was ignored at the start, waitpid() can't tell how my_print_defaults ended. */
	signal(SIGCHLD, SIG_DFL);
	rc = cli_parse(tool, options, argc, argv, &error);
	if (rc == CLI_PARSED_HELP || rc == CLI_PARSED_HELP_ALL) {
		cli_help(stdout, tool, rc == CLI_PARSED_HELP_ALL);
		exit(cli_finish(CLI_EXIT_DONE, NULL));
	}
	if (rc == CLI_PARSED_VERSION) {
		printf("%s (lockq) %s\n", tool->name, lockq_version());
		exit(cli_finish(CLI_EXIT_DONE, NULL));
	}
	if (rc == CLI_PARSED_RUN)
		rc = cli_connection(common, tool->group, &error);
	if (rc == CLI_PARSED_RUN && tool->group == NULL) {
		read_options(common);
		rc = cli_log_check(common, &error);
	}
	if (rc == CLI_PARSED_RUN && tool->check != NULL)
		rc = tool->check(options, &error);
	if (rc != CLI_PARSED_RUN) {
		common->json = common->json || asks_json(argc, argv);
		cli_report(common, CLI_EXIT_USAGE, "%s", error.text);
		fprintf(stderr, "try '%s%s%s --help'\n", tool->name,
		    tool->command != NULL ? " " : "", tool->command != NULL ? tool->command : "");
		lockq_free(common->q);
		exit(CLI_EXIT_USAGE);
	}
}

int
cli_open(struct lockq **q, struct cli_common *common)
{
	static const struct lockq_connection by_option_files = LOCKQ_CONNECTION_INIT;
	int rc;

	cli_log(common, common->q);
	lockq_on_progress(common->q, cli_on_progress, common);
	lockq_look_timeout(common->q, common->look_timeout_ms);
	rc = lockq_connect(common->q, NULL);
	*q = common->q;
	if (rc == LOCKQ_OK && tool_running->leads)
		rc = lockq_query_at(*q, &by_option_files);
	return rc;
}

int
cli_finish(int status, const char *consequence)
{
	int failed, why;

	cli_tick_end();
	failed = ferror(stdout);
	errno = 0;
	failed = fflush(stdout) != 0 || failed;
	why = errno;
	if (!failed)
		return status;
	cli_message("standard output can't be written%s%s%s%s", why != 0 ? ": " : "",
	    why != 0 ? strerror(why) : "", consequence != NULL ? ": " : "",
	    consequence != NULL ? consequence : "");
	return CLI_EXIT_DATABASE;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOOKS_FOR_LEAKS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LOOKS_FOR_LEAKS 1
#endif

/* _exit() skips the handlers of exit(): the clean-up of libraries takes as long as the answer. */
void
cli_end(int status)
{
#ifdef LOOKS_FOR_LEAKS
	exit(status);
#else
	_exit(status);
#endif
}

int
cli_report_text(const struct cli_common *common, int status, char *text)
{
	json_t *object;

	cli_message("%s", text);
	if (common->json) {
		object = json_object();
		cli_json_set(object, "error", cli_json_text(text));
		cli_json_set(object, "exit", json_integer(status));
		cli_json_print(object);
	}
	free(text);
	return status;
}

const char *
cli_library_text(struct lockq *q, int rc)
{
	const char *text = q != NULL ? lockq_error(q) : "";

	if (text[0] != '\0')
		return text;
	return rc == LOCKQ_ENOMEM ? "out of memory" : "the database gave no reason";
}

void
cli_report_detail(const struct cli_common *common, struct lockq *q)
{
	if (common->verbose && q != NULL && lockq_error_detail(q)[0] != '\0')
		cli_message("%s", lockq_error_detail(q));
}

int
cli_report_library(const struct cli_common *common, struct lockq *q, int rc)
{
	int status = cli_report(common, cli_exit_status(rc, cli_caught()), "%s",
	    cli_library_text(q, rc));

	cli_report_detail(common, q);
	return status;
}

bool
cli_has_answer(int rc)
{
	return rc == LOCKQ_OK || rc == LOCKQ_NOTHING;
}

int
cli_looked(const struct cli_common *common, struct lockq *q, int rc)
{
	return rc < 0 || rc == LOCKQ_BUSY ? cli_report_library(common, q, rc) :
	    cli_exit_status(rc, cli_caught());
}
