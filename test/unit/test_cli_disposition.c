/* SPDX-License-Identifier: MIT */
/* The options of disposition: every good form and every bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The options' table is static in the program, so the test includes the file with its main(). */
int tool_main(int argc, char **argv);
#define main tool_main
#include "../../cmd/disposition/main.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

#include "../support/line.h"

static int
parse(struct disposition_options *o, const char *line, struct cli_error *error)
{
	*o = (struct disposition_options)DISPOSITION_DEFAULTS;
	return parse_words(&disposition_tool, o, line, error);
}

static int
parse_only(const char *line, struct cli_error *error)
{
	struct disposition_options o;

	return parse(&o, line, error);
}

static void
parses_loans(void **state)
{
	struct disposition_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "-u oliver -t 7 --loan 12:7,13 --loan 14:9 --complete",
	    &error), 0);
	assert_int_equal(o.dispose.what.kind, LOCKQ_COMPLETE);
	assert_int_equal(o.dispose.what.n_loans, 3);
	assert_int_equal(o.dispose.what.loans[0].loan_id, 12);
	assert_int_equal(o.dispose.what.loans[0].token, 7);
	assert_int_equal(o.dispose.what.loans[1].token, 0);
	assert_int_equal(o.dispose.what.loans[2].loan_id, 14);
	free(o.dispose.loans.list);
	assert_int_equal(parse(&o, "-t 7 -l 18446744073709551615 --token 9 --never", &error), 0);
	assert_int_equal(o.dispose.what.kind, LOCKQ_NEVER);
	assert_true(o.dispose.what.loans[0].loan_id == UINT64_MAX);
	assert_int_equal(o.dispose.what.loans[0].token, 9);
	free(o.dispose.loans.list);
}

static void
parses_durations(void **state)
{
	static const struct {
		const char *text;
		uint32_t seconds;
	} cases[] = {
		{ "0", 0 }, { "0s", 0 }, { "30s", 30 }, { "90m", 5400 }, { "4h", 14400 },
		{ "72h", 259200 }, { "3d", 259200 }, { "259200s", 259200 },
	};
	struct disposition_options o;
	struct cli_error error;
	char line[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line), "-t 7 -l 12 --return-after %s", cases[i].text);
		assert_int_equal(parse(&o, line, &error), 0);
		assert_int_equal(o.dispose.what.kind, LOCKQ_RETURN);
		assert_int_equal(o.dispose.what.return_after_s, cases[i].seconds);
		free(o.dispose.loans.list);
	}
}

static void
parses_who_is_left_out(void **state)
{
	struct disposition_options o;
	struct cli_error error;

	(void)state;
	assert_int_equal(parse(&o, "-t 7 -l 12 --return-after 0", &error), 0);
	assert_int_equal(o.dispose.what.not_me_s, 0);
	free(o.dispose.loans.list);
	assert_int_equal(parse(&o, "-t 7 -l 12 --return-after 0 --not-me", &error), 0);
	assert_int_equal(o.dispose.what.not_me_s, 30 * 24 * 3600);
	free(o.dispose.loans.list);
	assert_int_equal(parse(&o, "-t 7 -l 12 --return-after 1h --not-me-for 366d", &error), 0);
	assert_int_equal(o.dispose.what.not_me_s, LOCKQ_NOT_ME_MAX);
	free(o.dispose.loans.list);
	assert_int_equal(parse(&o, "-t 7 -l 12 --renew", &error), 0);
	assert_int_equal(o.dispose.what.kind, LOCKQ_RENEW);
	free(o.dispose.loans.list);
}

static void
refuses_bad_durations(void **state)
{
	static const char as_in[] = "must be a duration such as 30s, 90m, 4h or 2d";
	static const char range[] = "must be from 0 to 72h";
	static const char unit[] = "needs a unit: s, m, h or d, as in ";
	static const char *const cases[][2] = {
		{ "73h", range }, { "4d", range }, { "259201s", range }, { "4321m", range },
		{ "18446744073709551615d", range }, { "99999999999999999999h", range },
		{ "4", unit }, { "72", unit }, { "99999999999999999999", unit },
		{ "-4h", as_in }, { "h", as_in }, { "4x", as_in }, { "4hh", as_in },
		{ "1.5h", as_in }, { "+4h", as_in },
	};
	struct disposition_options o;
	struct cli_error error;
	char line[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line), "-t 7 --return-after %s", cases[i][0]);
		assert_int_equal(parse(&o, line, &error), CLI_PARSED_ERROR);
		assert_non_null(strstr(error.text, cases[i][1]));
	}
}

static void
refuses_bad_lines(void **state)
{
	static const struct bad bad[] = {
		{ "-t 7 --complete", "--loan is missing" },
		{ "-t 7 --loan= --complete",
		    "--loan \"\" must be a loan, or a loan with its token, "
		    "as in 12 or 12:7" },
		{ "-t 7 --loan 12: --complete",
		    "--loan \"12:\" must be a loan, or a loan with its token, "
		    "as in 12 or 12:7" },
		{ "-t 7 --loan 12:0 --complete",
		    "--loan \"12:0\" must be a loan, or a loan with its token, "
		    "as in 12 or 12:7" },
		{ "-t 7 --loan -12 --complete",
		    "--loan \"-12\" must be a loan, or a loan with its token, "
		    "as in 12 or 12:7" },
		{ "-t 7 -l 18446744073709551616 --never", "--loan \"18446744073709551616\" must "
		    "be a loan, or a loan with its token, as in 12 or 12:7" },
	};

	(void)state;
	refuse_lines(parse_only, bad, sizeof(bad) / sizeof(bad[0]));
}

/* These lines fail after a loan was read. The caller has to free the list of loans. */
static void
refuses_bad_combinations(void **state)
{
	static const struct bad bad[] = {
		{ "-l 12 --complete", "--task is missing: give it, or set LOCKQ_TASK, or "
		    "lockq-task in an option file" },
		{ "-t 7 -l 12",
		    "one of --complete, --return-after, --never and --renew is missing" },
		{ "-t 7 -l 12 --complete --never",
		    "only one of --complete, --return-after, --never and --renew may be given" },
		{ "-t 7 -l 12 --complete --return-after 0",
		    "only one of --complete, --return-after, --never and --renew may be given" },
		{ "-t 7 -l 12,13,12:4 --complete", "--loan: loan 12 is named twice" },
		{ "-t 7 -l 12 -l 12 --complete", "--loan: loan 12 is named twice" },
		{ "-t 7 -l 12,13 --token 5 --complete",
		    "--token is for one loan that is named without a token: for several, "
		    "write --loan 12:7,13:8" },
		{ "-t 7 -l 12:5 --token 5 --complete",
		    "--token is for one loan that is named without a token: for several, "
		    "write --loan 12:7,13:8" },
		{ "-t 7 -l 12 --token 0 --never", "--token \"0\" must be a number from 1 on" },
		{ "-t 7 -l 12 --complete --renew",
		    "only one of --complete, --return-after, --never and --renew may be given" },
		{ "-t 7 -l 12 --complete --not-me",
		    "--not-me and --not-me-for need --return-after" },
		{ "-t 7 -l 12 --renew --not-me-for 4h",
		    "--not-me and --not-me-for need --return-after" },
		{ "-t 7 -l 12 --return-after 0 --not-me-for 0",
		    "--not-me-for \"0\" must be from 1s to 366d" },
		{ "-t 7 -l 12 --return-after 0 --not-me-for 367d",
		    "--not-me-for \"367d\" must be from 1s to 366d" },
		{ "-t 7 -l 12 --complete --note \xc3", "--note must be valid UTF-8" },
	};
	struct disposition_options o;
	struct cli_error error;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(&o, bad[i].line, &error), CLI_PARSED_ERROR);
		assert_string_equal(error.text, bad[i].error);
		free(o.dispose.loans.list);
	}
}

static void
bounds_notes_by_characters(void **state)
{
	struct disposition_options o;
	struct cli_error error;
	char note[2 * 513 + 1], line[1200];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(note) - 1; i++)
		note[i] = i % 2 == 0 ? '\xc3' : '\xb6';
	note[sizeof(note) - 1] = '\0';
	snprintf(line, sizeof(line), "-t 7 -l 12 --never --note %s", note + 2);
	assert_int_equal(parse(&o, line, &error), 0);
	assert_int_equal(strlen(o.dispose.what.note), 1024);
	free(o.dispose.loans.list);
	snprintf(line, sizeof(line), "-t 7 --never --note %s", note);
	assert_int_equal(parse(&o, line, &error), CLI_PARSED_ERROR);
	assert_string_equal(error.text, "--note has 513 characters: 512 are allowed");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_loans),
		cmocka_unit_test(parses_durations),
		cmocka_unit_test(parses_who_is_left_out),
		cmocka_unit_test(refuses_bad_durations),
		cmocka_unit_test(refuses_bad_lines),
		cmocka_unit_test(refuses_bad_combinations),
		cmocka_unit_test(bounds_notes_by_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
