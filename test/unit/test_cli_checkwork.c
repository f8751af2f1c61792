/* SPDX-License-Identifier: MIT */
/* The options of checkwork: every good form and every bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/line.h"
#include "checkwork/tool.h"

static int
parse(struct checkwork_options *o, const char *line, struct cli_error *error)
{
	*o = (struct checkwork_options)CHECKWORK_DEFAULTS;
	return parse_words(&checkwork_tool, o, line, error);
}

static int
parse_only(const char *line, struct cli_error *error)
{
	struct checkwork_options o;

	return parse(&o, line, error);
}

static void
parses_good_lines(void **state)
{
	struct checkwork_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "--user oliver --task 7", &error), 0);
	assert_string_equal(o.user, "oliver");
	assert_int_equal(o.task, 7);
	assert_int_equal(parse(&o, "", &error), 0);
	assert_string_equal(o.user, cli_login_name());
	assert_null(o.request);
	assert_false(o.pending || o.tasks);
	assert_int_equal(parse(&o, "--tasks -u oliver", &error), 0);
	assert_true(o.tasks);
	assert_int_equal(parse(&o, "--pending --task 7 -u oliver", &error), 0);
	assert_true(o.pending);
	assert_int_equal(parse(&o, "--request 118 --wait 0.25", &error), 0);
	assert_string_equal(o.request, "118");
	assert_int_equal(o.wait_ms, 250);
	assert_int_equal(parse(&o, "-r e588A6C2-e5a8-4d3f-8b3f-5a1f0c6c1b11", &error), 0);
	assert_false(o.loan.given);
	assert_int_equal(parse(&o, "--loan 18446744073709551615 -t 7", &error), 0);
	assert_true(o.loan.given);
	assert_true(o.loan.id == UINT64_MAX);
	assert_int_equal(o.task, 7);
	assert_int_equal(parse(&o, "-l 0 -t 7", &error), 0);
	assert_true(o.loan.given);
}

static void
refuses_bad_lines(void **state)
{
	static const char only[] = "--choices can be combined with --begins only, and with loans "
	    "also with --user and --task";
	static const struct bad bad[] = {
		{ "--request 118 --task 7", "--request can't be combined with --user or --task" },
		{ "--request 118 --user tracy",
		    "--request can't be combined with --user or --task" },
		{ "--pending --request 118",
		    "--pending can't be combined with --loan or --request" },
		{ "--loan 12 --task 7 --pending",
		    "--pending can't be combined with --loan or --request" },
		{ "--tasks --task 7",
		    "--tasks can't be combined with --task, --pending, --loan or --request" },
		{ "--tasks --pending",
		    "--tasks can't be combined with --task, --pending, --loan or --request" },
		{ "--tasks --request 118",
		    "--tasks can't be combined with --task, --pending, --loan or --request" },
		{ "--tasks --task 7 --loan 12",
		    "--tasks can't be combined with --task, --pending, --loan or --request" },
		{ "--wait 3", "--wait needs --request" },
		{ "--request x", "--request \"x\" must be a request's number or its UUID" },
		{ "--request 0", "--request \"0\" must be a request's number or its UUID" },
		{ "--request -5", "--request \"-5\" must be a request's number or its UUID" },
		{ "--request e588a6c2-e5a8-4d3f-8b3f-5a1f0c6c1b1g",
		    "--request \"e588a6c2-e5a8-4d3f-8b3f-5a1f0c6c1b1g\" must be a request's number "
		    "or its UUID" },
		{ "--request 118 --wait x",
		    "--wait \"x\" must be a number of seconds from 0 to 31536000" },
		{ "--loan 12 --user tracy --task 7",
		    "--loan can't be combined with --user or --request" },
		{ "--loan 12 --request 118", "--loan can't be combined with --user or --request" },
		{ "--loan 12:7 --task 7", "--loan \"12:7\" must be a loan's number" },
		{ "--loan -1 --task 7", "--loan \"-1\" must be a loan's number" },
		{ "--loan 18446744073709551616 --task 7",
		    "--loan \"18446744073709551616\" must be a loan's number" },
		{ "--loan 12 --task 7 --wait 3", "--wait needs --request" },
		{ "--begins x", "--begins needs --choices" },
		{ "--choices all", "--choices \"all\" must be users, tasks, loans or requests" },
		{ "--choices users --task 7", only },
		{ "--choices loans --task 7 --json", only },
		{ "--choices loans --loan 7", only },
		{ "--choices loans --user tracy", "--task is missing: give it, or set LOCKQ_TASK, "
		    "or lockq-task in an option file" },
		{ "118", "argument \"118\" is not expected" },
	};

	(void)state;
	refuse_lines(parse_only, bad, sizeof(bad) / sizeof(bad[0]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_good_lines),
		cmocka_unit_test(refuses_bad_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
