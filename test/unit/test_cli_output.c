/* SPDX-License-Identifier: MIT */
/* Tables, JSON, progress, summaries, exit statuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>
#include <signal.h>

#include "cli/program.h"
#include "cli/answer.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/times.h"
#include "cli/utf8.h"
#include "cli/exit_status.h"

static char *
table_text(enum cli_style style)
{
	static const struct cli_column columns[] = { { "loan", true }, { "user", false } };
	struct cli_table *table = cli_table_new(columns, 2);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	cli_table_cell(table, "%d", 7);
	cli_table_cell(table, "J\xc3\xb6rg");
	cli_table_cell(table, "%d", 123456);
	cli_table_cell(table, "ev\x1b");
	cli_table_fit(out, table, style, 0);
	fclose(out);
	return text;
}

static void
draws_plain_tables(void **state)
{
	char *text = table_text(CLI_PLAIN);

	(void)state;
	assert_string_equal(text,
	    "+--------+--------+\n"
	    "|   loan | user   |\n"
	    "+--------+--------+\n"
	    "|      7 | J\xc3\xb6rg   |\n"
	    "| 123456 | ev\\x1b |\n"
	    "+--------+--------+\n");
	free(text);
}

static void
draws_boxes(void **state)
{
	char *text = table_text(CLI_BOXES);

	(void)state;
	assert_string_equal(text,
	    "┌────────┬────────┐\n"
	    "│   loan │ user   │\n"
	    "├────────┼────────┤\n"
	    "│      7 │ J\xc3\xb6rg   │\n"
	    "│ 123456 │ ev\\x1b │\n"
	    "└────────┴────────┘\n");
	free(text);
}

/* Returns a table that is fitted to @columns. One of its texts has a combining mark, which takes no
 * column, and one has wide characters. */
static char *
fitted(size_t columns, enum cli_style style)
{
	static const struct cli_column heads[] = {
		{ "loan", CLI_RIGHT }, { "token", CLI_RIGHT | CLI_SPARE(2) },
		{ "applicant", CLI_TEXT | CLI_SPARE(1) }, { "age", CLI_SPARE(2) },
		{ "note", CLI_TEXT },
	};
	struct cli_table *table = cli_table_new(heads, 5);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	cli_table_cell(table, "%d", 123456);
	cli_table_cell(table, "%d", 7);
	cli_table_cell(table, "e\xcc\x81lodie of the twenty");
	cli_table_cell(table, "3 min 12 s");
	cli_table_cell(table, "山田太郎さんに電話する、月曜日の朝九時に");
	cli_table_fit(out, table, style, columns);
	fclose(out);
	return text;
}

static void
assert_fitted(size_t columns, enum cli_style style, const char *expected)
{
	char *text = fitted(columns, style);

	assert_string_equal(text, expected);
	free(text);
}

static void
fits_tables(void **state)
{
	char *all, *top, *wide;
	size_t columns;

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	all = fitted(0, CLI_BOXES);
	top = cli_text("%.*s", (int)strcspn(all, "\n"), all);
	columns = cli_width(top);
	free(top);
	wide = fitted(columns, CLI_BOXES);
	assert_string_equal(wide, all);
	free(wide);
	free(all);
	assert_fitted(80, CLI_BOXES,
	    "┌────────┬───────┬───────────────────┬────────────┬────────────────────────────┐\n"
	    "│   loan │ token │ applicant         │ age        │ note                       │\n"
	    "├────────┼───────┼───────────────────┼────────────┼────────────────────────────┤\n"
	    "│ 123456 │     7 │ e\xcc\x81lodie of the tw… │ 3 min 12 s │ "
	    "山田太郎さんに電話する、…  │\n"
	    "└────────┴───────┴───────────────────┴────────────┴────────────────────────────┘\n");
	assert_fitted(56, CLI_PLAIN,
	    "+--------+-------+----------------+--------------------+\n"
	    "|   loan | token | applicant      | note               |\n"
	    "+--------+-------+----------------+--------------------+\n"
	    "| 123456 |     7 | e\xcc\x81lodie of t... | 山田太郎さんに...  |\n"
	    "+--------+-------+----------------+--------------------+\n"
	    "no room for age: --json has everything\n");
	assert_fitted(40, CLI_PLAIN,
	    "+--------+--------------+--------------+\n"
	    "|   loan | applicant    | note         |\n"
	    "+--------+--------------+--------------+\n"
	    "| 123456 | e\xcc\x81lodie of... | 山田太郎...  |\n"
	    "+--------+--------------+--------------+\n"
	    "no room for token, age: --json has everything\n");
	assert_fitted(28, CLI_PLAIN,
	    "+--------+-----------------+\n"
	    "|   loan | note            |\n"
	    "+--------+-----------------+\n"
	    "| 123456 | 山田太郎さん... |\n"
	    "+--------+-----------------+\n"
	    "no room for token, applicant, age: --json has everything\n");
	/* Numbers are never cut. */
	assert_fitted(1, CLI_PLAIN,
	    "+--------+--------------+\n"
	    "|   loan | note         |\n"
	    "+--------+--------------+\n"
	    "| 123456 | 山田太郎...  |\n"
	    "+--------+--------------+\n"
	    "no room for token, applicant, age: --json has everything\n");
	setlocale(LC_CTYPE, "C");
}

/* From the narrowest width of the table on, each line is as wide as the first, and no line is wider
 * than the terminal. */
static void
fits_every_width(void **state)
{
	size_t columns, length, width;
	char *text, *from, *line;

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (columns = 25; columns < 140; columns++) {
		text = fitted(columns, CLI_BOXES);
		width = 0;
		for (from = text; strncmp(from, "no room", 7) != 0 && *from != '\0';
		    from += length + 1) {
			length = strcspn(from, "\n");
			line = cli_text("%.*s", (int)length, from);
			if (width == 0)
				width = cli_width(line);
			assert_int_equal(cli_width(line), width);
			assert_true(width <= columns);
			free(line);
		}
		free(text);
	}
	setlocale(LC_CTYPE, "C");
}

static void
maps_exit_statuses(void **state)
{
	static const struct {
		int rc, signal, status;
	} cases[] = {
		{ LOCKQ_OK, 0, 0 }, { LOCKQ_OK, SIGINT, 0 }, { LOCKQ_NOTHING, 0, 1 },
		{ LOCKQ_EUSAGE, 0, 2 }, { LOCKQ_BUSY, 0, 3 }, { LOCKQ_EREFUSED, 0, 4 },
		{ LOCKQ_EDATABASE, 0, 5 }, { LOCKQ_EQUERY, 0, 5 }, { LOCKQ_ENOMEM, 0, 5 },
		{ LOCKQ_EUNKNOWN, 0, 6 }, { LOCKQ_CANCELLED, SIGINT, 130 },
		{ LOCKQ_CANCELLED, SIGTERM, 143 }, { LOCKQ_CANCELLED, SIGHUP, 129 },
		{ LOCKQ_CANCELLED, 0, 3 }, { -99, 0, 5 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(cli_exit_status(cases[i].rc, cases[i].signal), cases[i].status);
}

static struct lockq_answer
an_answer(void)
{
	static struct lockq_loan loans[] = {
		{ 12, 41, "2026-11-20 13:50:01.123456", { 0 } },
		{ UINT64_MAX, 41, "", { 0 } },
	};
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;

	answer.request_id = 118;
	memcpy(answer.uuid, "e588a6c2-e5a8-4d3f-8b3f-5a1f0c6c1b11", sizeof(answer.uuid));
	answer.user = (char *)(uintptr_t)"oliver";
	answer.task = 7;
	answer.task_name = (char *)(uintptr_t)"Verify \xff";
	answer.asked = 3;
	answer.requested = answer.assigned = 2;
	answer.status = LOCKQ_PARTIAL;
	answer.epoch = 41;
	answer.leader = (char *)(uintptr_t)"tracy";
	answer.waited_ms = 3100;
	answer.query_ms = 2900;
	memcpy(answer.as_of, "2026-11-20 13:49:58.000001", sizeof(answer.as_of));
	answer.how = (char *)(uintptr_t)"cache";
	answer.loans = loans;
	answer.n_loans = 2;
	return answer;
}

static void
prints_an_answer_as_json(void **state)
{
	struct lockq_answer answer = an_answer();
	char *line = cli_json_line(cli_json_answer(&answer, 0, NULL));

	(void)state;
	assert_string_equal(line,
	    "{\"request_id\":118,\"uuid\":\"e588a6c2-e5a8-4d3f-8b3f-5a1f0c6c1b11\","
	    "\"user\":\"oliver\",\"task\":7,\"task_name\":\"Verify \\\\xff\",\"asked\":3,"
	    "\"requested\":2,\"assigned\":2,\"status\":\"partial\",\"led\":false,\"joined\":false,"
	    "\"leader\":\"tracy\",\"epoch\":41,\"waited_ms\":3100,\"query_ms\":2900,"
	    "\"as_of\":\"2026-11-20T13:49:58.000001Z\",\"how\":\"cache\","
	    "\"source\":\"list\",\"checked\":null,\"reason\":null,"
	    "\"excluded\":0,"
	    "\"retries\":0,\"loans\":["
	    "{\"loan_id\":12,\"token\":41,\"lease_expires_at\":\"2026-11-20T13:50:01.123456Z\"},"
	    "{\"loan_id\":\"18446744073709551615\",\"token\":41,\"lease_expires_at\":null}],"
	    "\"exit\":0}");
	free(line);
}

static void
prints_an_error_as_json(void **state)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	char *line = cli_json_line(cli_json_answer(&answer, 6, "lost\x1b\x7f\xc2\x9b"));

	(void)state;
	assert_non_null(strstr(line, "\"query_ms\":null,\"as_of\":null,\"how\":null"));
	assert_non_null(strstr(line, "\"error\":\"lost\\u001B\\u007f\\u009B\",\"exit\":6}"));
	free(line);
}

static void
tells_the_source_in_json(void **state)
{
	static const struct {
		const char *how, *checked;
		uint32_t assigned;
		const char *text;
	} cases[] = {
		{ "list", "2026-11-20 13:50:10.000001", 2,
		    "\"source\":\"list\",\"checked\":\"2026-11-20T13:50:10.000001Z\"" },
		{ "list", NULL, 2, "\"source\":\"list\",\"checked\":null" },
		{ "query", "2026-11-20 13:50:10.000001", 2,
		    "\"source\":\"query\",\"checked\":\"2026-11-20T13:50:10.000001Z\"" },
		{ "hand-over", NULL, 2, "\"source\":\"query\",\"checked\":null" },
		{ NULL, NULL, 2, "\"source\":\"query\",\"checked\":null" },
		{ "query", NULL, 0, "\"source\":null,\"checked\":null" },
		{ NULL, NULL, 0, "\"source\":null,\"checked\":null" },
	};
	struct lockq_answer answer = an_answer();
	char *line;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		answer.how = (char *)(uintptr_t)cases[i].how;
		answer.checked = (char *)(uintptr_t)cases[i].checked;
		answer.assigned = cases[i].assigned;
		line = cli_json_line(cli_json_answer(&answer, 0, NULL));
		assert_non_null(strstr(line, cases[i].text));
		free(line);
	}
}

static void
sums_up_an_answer(void **state)
{
	struct lockq_answer answer = an_answer();
	char *text;

	(void)state;
	text = cli_answer_summary(&answer, true, "-");
	assert_string_equal(text, "2 of 3 loans for oliver: the list had no more - "
	    "served in 3.1 s by tracy's query (2.9 s) - request 118");
	free(text);
	answer.status = LOCKQ_SERVED;
	answer.asked = answer.assigned = 1;
	answer.led = 1;
	text = cli_answer_summary(&answer, true, "-");
	assert_string_equal(text, "1 of 1 loan for oliver - you led: the query took 2.9 s - "
	    "request 118");
	free(text);
	answer.led = 0;
	answer.query_ms = -1;
	text = cli_answer_summary(&answer, false, "-");
	assert_string_equal(text, "1 of 1 loan for oliver - served by tracy's list - request 118");
	free(text);
}

static void
tells_how_old_a_list_was(void **state)
{
	static const struct {
		const char *as_of, *checked, *leader;
		bool waited;
		const char *text;
	} cases[] = {
		{ "2001-02-03 04:05:06.900000", "2001-02-03 04:05:18.100000", "tracy", true,
		    "served in 3.1 s from tracy's list of 12 s ago" },
		{ "2001-02-03 04:05:06.900000", "2001-02-03 04:05:18.100000", "oliver", false,
		    "served from your list when it was 12 s old" },
		{ "2001-02-03 04:05:06.900000", "2001-02-03 04:05:18.100000", "tracy", false,
		    "served from tracy's list when it was 12 s old" },
		{ "2001-02-03 04:05:06.900000", NULL, "tracy", true,
		    "served in 3.1 s from tracy's list of 2001-02-03 04:05:06, unchecked" },
		{ "2001-02-03 04:05:06.900000", NULL, "tracy", false,
		    "served from tracy's list of 2001-02-03 04:05:06, unchecked" },
		{ "", "2001-02-03 04:05:18.100000", NULL, false, "served from a kept list" },
		{ "", NULL, NULL, false, "served from a kept list, unchecked" },
	};
	struct lockq_answer answer = an_answer();
	char *text, *expected;
	size_t i;

	(void)state;
	setenv("TZ", "UTC0", 1);
	tzset();
	answer.how = (char *)(uintptr_t)"list";
	answer.status = LOCKQ_SERVED;
	answer.asked = answer.assigned;
	answer.query_ms = -1;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(answer.as_of, sizeof(answer.as_of), "%s", cases[i].as_of);
		answer.checked = (char *)(uintptr_t)cases[i].checked;
		answer.leader = (char *)(uintptr_t)cases[i].leader;
		text = cli_answer_summary(&answer, cases[i].waited, "-");
		expected = cli_text("2 of 2 loans for oliver - %s - request 118", cases[i].text);
		assert_string_equal(text, expected);
		free(expected);
		free(text);
	}
}

static void
says_as_of_when_there_is_no_work(void **state)
{
	struct lockq_answer answer = an_answer();
	time_t now = 0;
	char *text;

	(void)state;
	setenv("TZ", "UTC0", 1);
	tzset();
	assert_int_equal(cli_time(&now, "2026-11-20 15:00:00"), 0);
	text = cli_answer_no_work(&answer, now);
	assert_string_equal(text, "no work for task 7 as of 13:49:58");
	free(text);
	answer.as_of[0] = '\0';
	text = cli_answer_no_work(&answer, now);
	assert_string_equal(text, "no work for task 7");
	free(text);
	answer.excluded = 1;
	text = cli_answer_no_work(&answer, now);
	assert_string_equal(text, "nothing for oliver in task 7: 1 loan is left, but it is "
	    "for other users");
	free(text);
	answer.excluded = 3;
	memcpy(answer.as_of, "2026-11-20 13:49:58.000001", sizeof(answer.as_of));
	text = cli_answer_no_work(&answer, now);
	assert_string_equal(text, "nothing for oliver in task 7 as of 13:49:58: 3 loans are left, "
	    "but they are for other users");
	free(text);
}

static void
says_where_a_request_stands(void **state)
{
	static const struct {
		uint64_t ahead;
		int64_t expected_ms;
		const char *text;
		uint32_t position;
		int nobody_leads;
	} cases[] = {
		{ 0, -1, "1st in line - the time to wait is not known", 1, 0 },
		{ 1, 0, "2nd in line, behind a request for 1 loan - expected at any moment", 2, 0 },
		{ 8, 39100, "3rd in line, behind requests for 8 loans - expected in about 40 s",
		    3, 0 },
		{ 8, 1, "4th in line, behind requests for 8 loans - expected in about 1 s", 4, 0 },
		{ 8, 190000, "11th in line, behind requests for 8 loans - "
		    "expected in about 3 min 10 s", 11, 0 },
		{ 9, 40000, "12th in line, behind requests for 9 loans - "
		    "the task's query usually takes about 40 s", 12, 1 },
		{ 9, -1, "21st in line, behind requests for 9 loans - "
		    "the time to wait is not known", 21, 1 },
		{ 400, 0, "113th in line, behind requests for 400 loans - expected at any moment",
		    113, 0 },
	};
	struct lockq_answer answer = an_answer();
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		answer.position = cases[i].position;
		answer.loans_ahead = cases[i].ahead;
		answer.expected_ms = cases[i].expected_ms;
		answer.nobody_leads = cases[i].nobody_leads;
		text = cli_answer_line(&answer, "-");
		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

static void
says_what_it_waits_for(void **state)
{
	struct lockq_progress progress = { LOCKQ_PHASE_WAIT, 900, "tracy", 2100, 2960, 0, 0, NULL,
		0 };
	char *text;

	(void)state;
	text = cli_progress_text(&progress);
	assert_string_equal(text, "waiting for \"tracy\"'s query: 2 s, usually 3.0 s");
	free(text);
	progress.leader = NULL;
	progress.usual_ms = 0;
	text = cli_progress_text(&progress);
	assert_string_equal(text, "waiting for another query: 0 s");
	free(text);
	progress.phase = LOCKQ_PHASE_QUERY;
	progress.phase_ms = 1500;
	text = cli_progress_text(&progress);
	assert_string_equal(text, "your query runs: 1 s");
	free(text);
	progress.phase = LOCKQ_PHASE_RETRY;
	progress.detail = "too many connections";
	text = cli_progress_text(&progress);
	assert_string_equal(text, "waiting: too many connections");
	free(text);
}

static void
draws_bars(void **state)
{
	static const struct {
		uint64_t done, total;
		const char *bar;
	} cases[] = {
		{ 0, 10, "[----------]" }, { 5, 10, "[#####-----]" }, { 99, 100, "[#########-]" },
		{ 10, 10, "[##########]" }, { 50, 10, "[##########]" },
	};
	char *bar;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bar = cli_bar(12, cases[i].done, cases[i].total);
		assert_string_equal(bar, cases[i].bar);
		free(bar);
	}
}

static void
test_folded_lines(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *lines;
	} samples[] = {
		{ "one two three", 0, "one two three" }, { "one two three", 13, "one two three" },
		{ "one two three", 12, "one two\nthree" }, { "one two three", 7, "one two\nthree" },
		{ "one two three", 6, "one\ntwo\nthree" },
		{ "much-too-long is", 4, "much-too-long\nis" },
		{ "is much-too-long", 4, "is\nmuch-too-long" },
		{ "long", 2, "long" }, { "", 1, "" },
		{ "ä ö ü", 3, "ä ö\nü" }, { "山田 山田", 5, "山田\n山田" }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		assert_non_null(out);
		cli_fold(out, samples[i].text, samples[i].columns);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(text, samples[i].lines);
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folded_lines),
		cmocka_unit_test(draws_plain_tables),
		cmocka_unit_test(draws_boxes),
		cmocka_unit_test(fits_tables),
		cmocka_unit_test(fits_every_width),
		cmocka_unit_test(maps_exit_statuses),
		cmocka_unit_test(prints_an_answer_as_json),
		cmocka_unit_test(prints_an_error_as_json),
		cmocka_unit_test(tells_the_source_in_json),
		cmocka_unit_test(sums_up_an_answer),
		cmocka_unit_test(tells_how_old_a_list_was),
		cmocka_unit_test(says_as_of_when_there_is_no_work),
		cmocka_unit_test(says_where_a_request_stands),
		cmocka_unit_test(says_what_it_waits_for),
		cmocka_unit_test(draws_bars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
