/* SPDX-License-Identifier: MIT */
/* The options of getwork: every good form and every bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/line.h"
#include "getwork/tool.h"

static int
parse(struct getwork_options *o, const char *line, struct cli_error *error)
{
	*o = (struct getwork_options)GETWORK_DEFAULTS;
	return parse_words(&getwork_tool, o, line, error);
}

static int
parse_only(const char *line, struct cli_error *error)
{
	struct getwork_options o;

	return parse(&o, line, error);
}

static void
parses_what_is_asked(void **state)
{
	struct getwork_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "--user oliver --task 7 --count 3 --timeout 1.5", &error), 0);
	assert_string_equal(o.asking.ask.user, "oliver");
	assert_int_equal(o.asking.ask.task, 7);
	assert_int_equal(o.asking.ask.count, 3);
	assert_int_equal(o.asking.ask.wait, LOCKQ_WAIT_BLOCKING);
	assert_int_equal(o.asking.ask.timeout_ms, 1500);
	assert_int_equal(parse(&o, "-t7 -n1000 --tim=0 -j", &error), 0);
	assert_int_equal(o.asking.ask.count, LOCKQ_COUNT_MAX);
	assert_int_equal(o.asking.ask.timeout_ms, 0);
	assert_true(o.common.json);
	assert_int_equal(parse(&o, "--task 7", &error), 0);
	assert_false(o.common.json);
	assert_int_equal(o.asking.ask.count, 1);
	assert_true(o.asking.ask.timeout_ms < 0);
	assert_string_equal(o.asking.ask.user, cli_login_name());
	assert_null(o.asking.ask.uuid);
	assert_int_equal(parse(&o, "--task 7 --uuid 3F2504E0-4f89-41d3-9a0c-0305e82c3301", &error),
	    0);
	assert_string_equal(o.asking.ask.uuid, "3F2504E0-4f89-41d3-9a0c-0305e82c3301");
	assert_int_equal(o.asking.ask.fresh, 0);
	assert_int_equal(parse(&o, "--task 7 --fresh --no-wait", &error), 0);
	assert_int_equal(o.asking.ask.fresh, 1);
}

/* The command line counts more than the environment, and that more than an option file. */
static void
takes_the_user_and_the_task_that_count_most(void **state)
{
	static const struct bad bad[] = {
		{ "", "lockq-user in an option file must be valid UTF-8" },
	};
	struct getwork_options o;
	struct cli_error error;

	(void)state;
	cli_set_defaults("tracy", 8);
	assert_int_equal(parse(&o, "", &error), 0);
	assert_string_equal(o.asking.ask.user, "tracy");
	assert_int_equal(o.asking.ask.task, 8);
	setenv("LOCKQ_USER", "amelia", 1);
	setenv("LOCKQ_TASK", "9", 1);
	assert_int_equal(parse(&o, "", &error), 0);
	assert_string_equal(o.asking.ask.user, "amelia");
	assert_int_equal(o.asking.ask.task, 9);
	assert_int_equal(parse(&o, "--user oliver --task 7", &error), 0);
	assert_string_equal(o.asking.ask.user, "oliver");
	assert_int_equal(o.asking.ask.task, 7);
	setenv("LOCKQ_USER", "", 1);
	setenv("LOCKQ_TASK", "", 1);
	assert_int_equal(parse(&o, "", &error), 0);
	assert_string_equal(o.asking.ask.user, "tracy");
	assert_int_equal(o.asking.ask.task, 8);
	unsetenv("LOCKQ_USER");
	unsetenv("LOCKQ_TASK");
	cli_set_defaults("\xff", 8);
	refuse_lines(parse_only, bad, sizeof(bad) / sizeof(bad[0]));
	cli_set_defaults(NULL, 0);
}

static void
parses_ways_to_wait(void **state)
{
	struct getwork_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "--task 7 --poll 5,10,3600", &error), 0);
	assert_int_equal(o.asking.ask.wait, LOCKQ_WAIT_POLL);
	assert_int_equal(o.asking.ask.n_poll, 3);
	assert_ptr_equal(o.asking.ask.poll_s, o.asking.poll.seconds);
	assert_int_equal(o.asking.ask.poll_s[0], 5);
	assert_int_equal(o.asking.ask.poll_s[2], 3600);
	assert_int_equal(o.asking.ask.poll_tries, 0);
	assert_int_equal(parse(&o, "--task 7 --poll 5 --tries 4294967295", &error), 0);
	assert_int_equal(o.asking.ask.poll_tries, UINT32_MAX);
	assert_int_equal(parse(&o, "--task 7 --no-wait", &error), 0);
	assert_int_equal(o.asking.ask.wait, LOCKQ_WAIT_NONE);
}

static void
parses_what_is_cancelled(void **state)
{
	struct getwork_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "--cancel 118 --user oliver", &error), 0);
	assert_true(o.cancels);
	assert_string_equal(o.request, "118");
	assert_string_equal(o.asking.ask.user, "oliver");
	assert_int_equal(o.asking.ask.task, 0);
	assert_int_equal(parse(&o, "--cancel=118", &error), 0);
	assert_string_equal(o.request, "118");
	assert_int_equal(parse(&o, "--cancel 3f2504e0-4f89-41d3-9a0c-0305e82c3301 -j", &error), 0);
	assert_true(o.common.json);
	assert_int_equal(parse(&o, "--cancel --task 7", &error), 0);
	assert_null(o.request);
	assert_int_equal(o.asking.ask.task, 7);
	assert_int_equal(parse(&o, "-t 7 --cancel", &error), 0);
	assert_true(o.cancels);
}

static void
parses_connection_options(void **state)
{
	struct getwork_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "-t 7 --host db --port 3307 --socket /s --db-user u "
	    "--database d --ssl-mode verify_ca --defaults-file f --login-path l "
	    "--defaults-group-suffix _x", &error), 0);
	assert_string_equal(o.common.connection.host, "db");
	assert_int_equal(o.common.connection.port, 3307);
	assert_string_equal(o.common.connection.socket, "/s");
	assert_string_equal(o.common.connection.user, "u");
	assert_string_equal(o.common.connection.database, "d");
	assert_string_equal(o.common.connection.ssl_mode, "VERIFY_CA");
	assert_string_equal(o.common.defaults_file, "f");
	assert_string_equal(o.common.login_path, "l");
	assert_string_equal(o.common.group_suffix, "_x");
}

static void
refuses_bad_values(void **state)
{
	static const struct bad bad[] = {
		{ "--task 7 --count 0", "--count \"0\" must be a number from 1 to 1000" },
		{ "--task 7 --count -1", "--count \"-1\" must be a number from 1 to 1000" },
		{ "--task 7 --count 1001", "--count \"1001\" must be a number from 1 to 1000" },
		{ "--task 7 --count 18446744073709551617",
		    "--count \"18446744073709551617\" must be a number from 1 to 1000" },
		{ "--task 7 --count 3x", "--count \"3x\" must be a number from 1 to 1000" },
		{ "--task 7 --count=", "--count \"\" must be a number from 1 to 1000" },
		{ "--task 7 --count 0x3", "--count \"0x3\" must be a number from 1 to 1000" },
		{ "--task 0", "--task \"0\" must be a number from 1 to 4294967295" },
		{ "--task 4294967296",
		    "--task \"4294967296\" must be a number from 1 to 4294967295" },
		{ "--task x", "--task \"x\" must be a number from 1 to 4294967295" },
		{ "--task 7 --timeout -1",
		    "--timeout \"-1\" must be a number of seconds from 0 to 31536000" },
		{ "--task 7 --timeout 1e3",
		    "--timeout \"1e3\" must be a number of seconds from 0 to 31536000" },
		{ "--task 7 --timeout 1.",
		    "--timeout \"1.\" must be a number of seconds from 0 to 31536000" },
		{ "--task 7 --timeout inf",
		    "--timeout \"inf\" must be a number of seconds from 0 to 31536000" },
		{ "--task 7 --timeout 31536001",
		    "--timeout \"31536001\" must be a number of seconds from 0 to 31536000" },
		{ "--task 7 --port 65536", "--port \"65536\" must be a number from 1 to 65535" },
		{ "--task 7 --uuid 118", "--uuid \"118\" must be a UUID, as uuidgen makes them" },
		{ "--task 7 --uuid=", "--uuid \"\" must be a UUID, as uuidgen makes them" },
		{ "--task 7 --user \xff", "--user must be valid UTF-8" },
		{ "--task 7 --ssl-mode on", "--ssl-mode \"on\" must be DISABLED, PREFERRED, "
		    "REQUIRED, VERIFY_CA or VERIFY_IDENTITY" },
	};

	(void)state;
	refuse_lines(parse_only, bad, sizeof(bad) / sizeof(bad[0]));
}

static void
refuses_bad_gaps(void **state)
{
	static const char *const bad[] = { "0", "5,", ",5", "5,,5", "3601", "5;6", "-5", "5,x" };
	struct getwork_options o;
	struct cli_error error;
	char line[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "--task 7 --poll %s", bad[i]);
		assert_int_equal(parse(&o, line, &error), CLI_PARSED_ERROR);
		assert_non_null(strstr(error.text,
		    "must be up to 64 numbers of seconds from 1 to 3600"));
	}
}

static void
bounds_the_number_of_gaps(void **state)
{
	char line[16 + 2 * (CLI_GAPS_MAX + 1)] = "-t 7 --poll 1";
	struct getwork_options o;
	struct cli_error error;
	size_t i, length = strlen(line);

	(void)state;
	for (i = 1; i < CLI_GAPS_MAX; i++, length += 2)
		memcpy(line + length, ",1", 3);
	assert_int_equal(parse(&o, line, &error), 0);
	assert_int_equal(o.asking.ask.n_poll, CLI_GAPS_MAX);
	memcpy(line + length, ",1", 3);
	assert_int_equal(parse(&o, line, &error), CLI_PARSED_ERROR);
}

static void
refuses_bad_arguments(void **state)
{
	static const struct bad bad[] = {
		{ "", "--task is missing: give it, or set LOCKQ_TASK, or "
		    "lockq-task in an option file" },
		{ "--task 7 --poll 5 --no-wait", "--poll and --no-wait can't be combined" },
		{ "--task 7 --tries 5", "--tries goes with --poll: --timeout limits other waits" },
		{ "--task 7 --poll 5 --tries 0", "--tries \"0\" must be a number from 1 to "
		    "4294967295" },
		{ "--cancel 118 --task 7", "--cancel 118 can't be combined with --task" },
		{ "--cancel 0", "--cancel \"0\" must be a request's number or its UUID" },
		{ "--cancel=", "--cancel \"\" must be a request's number or its UUID" },
		{ "--cancel 118 119", "argument \"119\" is not expected" },
		{ "--cancel --task 7 --count 1", "--cancel can only be combined with --user, "
		    "--task and the options for connection and output" },
		{ "--cancel 118 --no-wait", "--cancel can only be combined with --user, "
		    "--task and the options for connection and output" },
		{ "--cancel --fresh", "--cancel can only be combined with --user, "
		    "--task and the options for connection and output" },
		{ "--task 7 --fresh=1", "--fresh takes no value" },
		{ "--task 7 loan", "argument \"loan\" is not expected" },
		{ "--task 7 -- --json", "argument \"--json\" is not expected" },
		{ "--task 7 --bogus=1", "option \"--bogus\" is unknown" },
		{ "--task 7 --cuont=1", "option \"--cuont\" is unknown: did you mean --count?" },
		{ "--taks 7", "option \"--taks\" is unknown: did you mean --tasks?" },
		{ "--tsk 7", "option \"--tsk\" is unknown: did you mean --task?" },
		{ "--task 7 --no-wiat",
		    "option \"--no-wiat\" is unknown: did you mean --no-wait?" },
		{ "--task 7 --xy", "option \"--xy\" is unknown" },
		{ "--task 7 -x", "option \"-x\" is unknown" },
		{ "--task 7 --no-wait=1", "--no-wait takes no value" },
		{ "--task 7 --p 1", "option \"--p\" is the beginning of several options" },
		{ "--task", "--task needs a value: --task N[,N...]" },
		{ "-t", "--task needs a value: --task N[,N...]" },
	};

	(void)state;
	refuse_lines(parse_only, bad, sizeof(bad) / sizeof(bad[0]));
}

/* The unknown letter is not the last one of its argument, and the argument before is short, in
 * memory of its own: the sanitizer sees a read beyond its end. */
static void
names_a_letter_among_others(void **state)
{
	struct getwork_options o = GETWORK_DEFAULTS;
	char name[] = "getwork", letters[] = "-xy", *short_one = strdup("7");
	char *argv[] = { name, short_one, letters, NULL };
	struct cli_error error;

	(void)state;
	assert_non_null(short_one);
	assert_int_equal(cli_parse(&getwork_tool, &o, 3, argv, &error), CLI_PARSED_ERROR);
	assert_string_equal(error.text, "option \"-x\" is unknown");
	free(short_one);
}

static void
refuses_passwords(void **state)
{
	static const char *const lines[] = { "--password", "--password=x", "--password x",
		"--pass=x", "--task 7 --password=x --help" };
	struct getwork_options o;
	struct cli_error error;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(parse(&o, lines[i], &error), CLI_PARSED_ERROR);
		assert_string_equal(error.text, "a password can't be given on the command "
		    "line: put it in an option file, under [client]");
	}
}

static void
knows_help_and_version(void **state)
{
	struct getwork_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "--help", &error), CLI_PARSED_HELP);
	assert_int_equal(parse(&o, "-h --task x", &error), CLI_PARSED_HELP);
	assert_int_equal(parse(&o, "--help=all", &error), CLI_PARSED_HELP_ALL);
	assert_int_equal(parse(&o, "--help all", &error), CLI_PARSED_HELP_ALL);
	assert_int_equal(parse(&o, "--help=some", &error), CLI_PARSED_ERROR);
	assert_string_equal(error.text, "--help \"some\" must be all, or nothing");
	assert_int_equal(parse(&o, "--version", &error), CLI_PARSED_VERSION);
	assert_int_equal(parse(&o, "-V", &error), CLI_PARSED_VERSION);
}

/* The text of --help, or of --help=all. The caller frees it. */
static char *
help_text(bool all)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	cli_help(out, &getwork_tool, all);
	fclose(out);
	return text;
}

static void
helps_with_every_option(void **state)
{
	static const char *const words[] = { "--user", "--task", "--count", "--uuid", "--fresh",
		"--timeout", "--cancel", "--poll", "--tries", "--no-wait", "--defaults-file",
		"--defaults-group-suffix", "--login-path", "--host", "--port", "--socket",
		"--db-user", "--database",
		"--ssl-mode", "--json", "--verbose", "--help", "--version", "Usage: getwork ",
		"Examples:", "Exit status:", "130" };
	char *text = help_text(true);

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_non_null(strstr(text, words[i]));
	assert_null(strstr(text, "password="));
	free(text);
}

static void
helps_with_its_own_options_first(void **state)
{
	static const char *const words[] = { "--user", "--count", "--json", "--help [all]",
		"\nOptions for the connection and the log: --help=all, or lockq-options(5)\n" };
	char *text = help_text(false);

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_non_null(strstr(text, words[i]));
	assert_null(strstr(text, "--host"));
	assert_null(strstr(text, "--log"));
	free(text);
}

static void
complains_with_the_next_step(void **state)
{
	struct getwork_options o = GETWORK_DEFAULTS;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	static const struct {
		int rc;
		enum lockq_status status;
		int joined;
		const char *text;
	} cases[] = {
		{ LOCKQ_BUSY, LOCKQ_STATUS_CANCELLED, 0,
		    "gave up after 30 s: request 118 is cancelled: try again" },
		{ LOCKQ_BUSY, LOCKQ_PENDING, 1, "gave up after 30 s: request 118 stays pending, "
		    "since another process made it: see checkwork --request 118" },
		{ LOCKQ_BUSY, LOCKQ_EXPIRED, 0,
		    "request 118 has expired, since no process waited for it: try again" },
		{ LOCKQ_CANCELLED, LOCKQ_STATUS_CANCELLED, 0,
		    "interrupted: request 118 is cancelled" },
		{ LOCKQ_CANCELLED, LOCKQ_PENDING, 1,
		    "interrupted: request 118 stays pending, since another process "
		    "made it: see checkwork --request 118" },
	};
	char *text;
	size_t i;

	(void)state;
	o.asking.ask.timeout_ms = 30000;
	answer.request_id = 118;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		answer.status = cases[i].status;
		answer.joined = cases[i].joined;
		text = cli_ask_message(&o.asking.ask, &answer, cases[i].rc, "");
		assert_non_null(text);
		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

static void
complains_about_failures(void **state)
{
	struct getwork_options o = GETWORK_DEFAULTS;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	char *text;

	(void)state;
	o.asking.ask.user = "oliver";
	o.asking.ask.task = 7;
	answer.reason = (char *)(uintptr_t)"no such view";
	text = cli_ask_message(&o.asking.ask, &answer, LOCKQ_EQUERY, "");
	assert_string_equal(text, "task 7's query failed: no such view");
	free(text);
	text = cli_ask_message(&o.asking.ask, &answer, LOCKQ_EUNKNOWN, "outcome unknown: lost");
	assert_string_equal(text, "outcome unknown: lost: checkwork --user oliver shows what is "
	    "yours");
	free(text);
	o.asking.ask.wait = LOCKQ_WAIT_NONE;
	assert_null(cli_ask_message(&o.asking.ask, &answer, LOCKQ_BUSY, ""));
	text = cli_ask_message(&o.asking.ask, &answer, LOCKQ_BUSY, "nothing was asked for");
	assert_string_equal(text, "nothing was asked for");
	free(text);
	assert_null(cli_ask_message(&o.asking.ask, &answer, LOCKQ_OK, ""));
	assert_null(cli_ask_message(&o.asking.ask, &answer, LOCKQ_NOTHING, ""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_what_is_asked),
		cmocka_unit_test(takes_the_user_and_the_task_that_count_most),
		cmocka_unit_test(parses_ways_to_wait),
		cmocka_unit_test(parses_what_is_cancelled),
		cmocka_unit_test(parses_connection_options),
		cmocka_unit_test(refuses_bad_values),
		cmocka_unit_test(refuses_bad_gaps),
		cmocka_unit_test(bounds_the_number_of_gaps),
		cmocka_unit_test(refuses_bad_arguments),
		cmocka_unit_test(names_a_letter_among_others),
		cmocka_unit_test(refuses_passwords),
		cmocka_unit_test(knows_help_and_version),
		cmocka_unit_test(helps_with_every_option),
		cmocka_unit_test(helps_with_its_own_options_first),
		cmocka_unit_test(complains_with_the_next_step),
		cmocka_unit_test(complains_about_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
