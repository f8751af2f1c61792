/* SPDX-License-Identifier: MIT */
/* The options of runwork, and where its command begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "../support/line.h"
#include "runwork/tool.h"

static int
parse(struct runwork_options *o, const char *line, struct cli_error *error)
{
	*o = (struct runwork_options)RUNWORK_DEFAULTS;
	return parse_words(&runwork_tool, o, line, error);
}

static int
parse_only(const char *line, struct cli_error *error)
{
	struct runwork_options o;

	return parse(&o, line, error);
}

/* What stands behind the command's name is the command's, options of the same name, too. */
static void
finds_the_command(void **state)
{
	static const char *const lines[] = {
		"--task 7 -- ./verify --json -n 3", "--task 7 ./verify --json -n 3"
	};
	struct runwork_options o;
	struct cli_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(parse(&o, lines[i], &error), 0);
		assert_string_equal(o.command[0], "./verify");
		assert_string_equal(o.command[1], "--json");
		assert_string_equal(o.command[2], "-n");
		assert_string_equal(o.command[3], "3");
		assert_null(o.command[4]);
		assert_false(o.common.json);
		assert_int_equal(o.asking.ask.count, 1);
	}
	assert_int_equal(parse(&o, "--task 7 -- -x -- y", &error), 0);
	assert_string_equal(o.command[0], "-x");
	assert_string_equal(o.command[1], "--");
}

static void
names_each_request(void **state)
{
	static const char uuid[] = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
	struct runwork_options o, other;
	struct cli_error error;
	char line[128];

	(void)state;
	assert_int_equal(parse(&o, "--task 7 true", &error), 0);
	assert_int_equal(parse(&other, "--task 7 true", &error), 0);
	assert_int_equal(strlen(o.uuid), strlen(uuid));
	assert_string_not_equal(o.uuid, other.uuid);
	snprintf(line, sizeof(line), "--task 7 --uuid %s true", uuid);
	assert_int_equal(parse(&o, line, &error), 0);
	assert_string_equal(o.asking.ask.uuid, uuid);
	assert_int_equal(parse(&o, "--tasks 3,7 true", &error), 0);
	assert_null(o.asking.ask.uuid);
	assert_true(o.asking.tasks.unshared);
}

static void
has_usual_values(void **state)
{
	struct runwork_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "--task 7 true", &error), 0);
	assert_int_equal(o.retry_after_s, 3600);
	assert_int_equal(o.give_up_after, 3);
	assert_int_equal(parse(&o, "--task 7 --retry-after 0 --give-up-after 1 true", &error), 0);
	assert_int_equal(o.retry_after_s, 0);
	assert_int_equal(o.give_up_after, 1);
}

static void
refuses_bad_arguments(void **state)
{
	static const struct bad bad[] = {
		{ "--task 7", "a command is missing, as in runwork --task 7 -- ./verify" },
		{ "--task 7 --", "a command is missing, as in runwork --task 7 -- ./verify" },
		{ "true", "--task is missing: give it, or set LOCKQ_TASK, or lockq-task in an "
		    "option file" },
		{ "--task 7 --retry-after 73h true", "--retry-after \"73h\" must be from 0 to "
		    "72h" },
		{ "--task 7 --give-up-after 0 true", "--give-up-after \"0\" must be a number "
		    "from 1 to 1000" },
		{ "--task 7 --any true", "--any and --task can't be combined" },
		{ "--task 7 --tries 2 true", "--tries goes with --poll: --timeout limits other "
		    "waits" },
		{ "--task 7 --no-wait true", "option \"--no-wait\" is unknown" },
		{ "--task 7 --complete 12 true", "option \"--complete\" is unknown" },
	};

	(void)state;
	refuse_lines(parse_only, bad, sizeof(bad) / sizeof(bad[0]));
}

static void
looks_for_a_command(void **state)
{
	(void)state;
	assert_int_equal(command_look("sh"), 0);
	assert_int_equal(command_look("/bin/sh"), 0);
	assert_int_equal(command_look("no-such-command"), ENOENT);
	assert_int_equal(command_look("/bin/sh/no"), ENOENT);
	assert_int_equal(command_look(""), ENOENT);
	assert_int_equal(command_look("/bin"), EACCES);
	assert_int_equal(command_look("/etc/passwd"), EACCES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_command),
		cmocka_unit_test(names_each_request),
		cmocka_unit_test(has_usual_values),
		cmocka_unit_test(refuses_bad_arguments),
		cmocka_unit_test(looks_for_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
