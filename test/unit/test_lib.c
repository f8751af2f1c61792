/* SPDX-License-Identifier: MIT */
/* Functions of the library that need no server: identifiers, texts and names; and the header's
 * constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inside.h"
#include "handle/retry.h"
#include "db/db_text.h"

static void
identifiers_are_quoted(void **state)
{
	static const char *const cases[][2] = {
		{ "candidates", "`candidates`" },
		{ "a", "`a`" },
		{ "_A9$", "`_A9$`" },
		{ "9lives", "`9lives`" },
		{ "lockq.candidates", "`lockq`.`candidates`" },
		{ "select", "`select`" }
	};
	char out[64 * 4 + 8];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(db_quote_identifier(out, sizeof(out), cases[i][0]), DB_OK);
		assert_string_equal(out, cases[i][1]);
	}
}

static void
errors_are_one_line(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		const char *line;
	} cases[] = {
		{ "", 1, "" }, { "a b", 4, "a b" }, { "a\nb\tc\r\x1b[31m\x7f", 64,
		    "a\\nb\\tc\\r\\x1b[31m\\x7f" },
		{ "a\nbcd", 6, "a\\nbc" }, { "a\n", 4, "a\\n" }, { "a\n", 3, "a" },
		{ "ab\x1b", 6, "ab" }, { "\n\n\n", 6, "\\n\\n" }, { "\xc3\xa9", 3, "\xc3\xa9" },
	};
	struct lockq_connection connection = LOCKQ_CONNECTION_INIT;
	struct lockq *q = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = malloc(cases[i].size);

		assert_non_null(text);
		snprintf(text, cases[i].size, "%s", cases[i].text);
		text_make_one_line(text, cases[i].size);
		assert_string_equal(text, cases[i].line);
		free(text);
	}
	assert_int_equal(lockq_new(&q), LOCKQ_OK);
	connection.defaults_file = "/no\nsuch\x1b" "file";
	assert_int_equal(lockq_read_options(q, &connection), LOCKQ_EUSAGE);
	assert_string_equal(lockq_error(q), "the option file \"/no\\nsuch\\x1bfile\" can't be "
	    "read: No such file or directory");
	lockq_free(q);
}

/* guard: an identifier is letters, digits, _ and $. There may be one dot. */
static void
what_is_no_identifier_is_refused(void **state)
{
	static const char *const names[] = {
		"", ".", "a.", ".a", "a..b", "a.b.c", "a b", "a`b", "a'b", "a\"b", "a;b", "a-b",
		"a/*", "a\\b", "a\nb", "(SELECT 1)", "caf\xc3\xa9", "a@b"
	};
	char out[64 * 4 + 8];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(db_quote_identifier(out, sizeof(out), names[i]), DB_EFAIL);
}

/* A name that the server has told may have any characters. */
static void
any_name_is_quoted(void **state)
{
	char out[16];

	(void)state;
	assert_int_equal(db_quote_name(out, sizeof(out), "bank-2"), DB_OK);
	assert_string_equal(out, "`bank-2`");
	assert_int_equal(db_quote_name(out, sizeof(out), "a`b.c"), DB_OK);
	assert_string_equal(out, "`a``b.c`");
	for (size_t size = 0; size < sizeof("`a``b.c`") + 1; size++)
		assert_int_equal(db_quote_name(out, size, "a`b.c"), DB_EFAIL);
}

static void
an_identifier_has_64_characters_at_most(void **state)
{
	char name[131], out[64 * 4 + 8];

	(void)state;
	memset(name, 'x', sizeof(name));
	name[64] = '\0';
	assert_int_equal(db_quote_identifier(out, sizeof(out), name), DB_OK);
	name[64] = 'x';
	name[65] = '\0';
	assert_int_equal(db_quote_identifier(out, sizeof(out), name), DB_EFAIL);
	name[65] = 'x';
	name[64] = '.';
	name[129] = '\0';
	assert_int_equal(db_quote_identifier(out, sizeof(out), name), DB_OK);
	assert_int_equal(strlen(out), 64 + 64 + 5);
	/* A buffer that is too small is an error and is not overrun. */
	assert_int_equal(db_quote_identifier(out, 100, name), DB_EFAIL);
}

static void
a_text_grows(void **state)
{
	struct text text = { NULL, 0, 0, false };
	char expected[16];

	(void)state;
	for (int i = 0; i < 10000; i++)
		text_add(&text, "%s%d", i == 0 ? "[" : ",", i);
	text_add(&text, "]");
	assert_false(text.failed);
	assert_int_equal(text.used, strlen(text.data));
	assert_int_equal(strncmp(text.data, "[0,1,2,3", 8), 0);
	snprintf(expected, sizeof(expected), ",%d]", 9999);
	assert_string_equal(text.data + text.used - strlen(expected), expected);
	text_clear(&text);
	assert_null(text.data);
	assert_int_equal(text.used, 0);
	text_clear(&text);
}

static void
a_text_takes_the_largest_numbers(void **state)
{
	struct text text = { NULL, 0, 0, false };

	(void)state;
	text_add(&text, "[%llu]", (unsigned long long)UINT64_MAX);
	assert_string_equal(text.data, "[18446744073709551615]");
	text_clear(&text);
}

static void
cells_are_read(void **state)
{
	char one[] = "18446744073709551615", two[] = "12";
	char umlauts[] = "aü", whole[] = "ü";
	char *cells[] = { one, NULL, two, NULL, umlauts, whole };
	struct db_rows rows = { 3, 2, cells, NULL };
	char out[4], short_one[3];

	(void)state;
	assert_true(db_cell_u64(&rows, 0, 0) == UINT64_MAX);
	assert_int_equal(db_cell_u64(&rows, 0, 1), 0);
	assert_true(db_cell_is_null(&rows, 0, 1));
	assert_int_equal(db_cell_u64(&rows, 1, 0), 12);
	copy_cell(out, sizeof(out), &rows, 0, 0);
	assert_string_equal(out, "184");
	copy_cell(out, sizeof(out), &rows, 1, 1);
	assert_string_equal(out, "");
	copy_cell(out, sizeof(out), &rows, 2, 0);
	assert_string_equal(out, "aü");
	copy_cell(short_one, sizeof(short_one), &rows, 2, 0);
	assert_string_equal(short_one, "a");
	copy_cell(short_one, sizeof(short_one), &rows, 2, 1);
	assert_string_equal(short_one, "ü");
	copy_cell(short_one, 1, &rows, 2, 1);
	assert_string_equal(short_one, "");
}

static void
copies_are_replaced(void **state)
{
	char *copy = NULL;

	(void)state;
	assert_int_equal(copy_text(&copy, "one"), DB_OK);
	assert_int_equal(copy_text(&copy, "two"), DB_OK);
	assert_string_equal(copy, "two");
	assert_int_equal(copy_text(&copy, NULL), DB_OK);
	assert_null(copy);
}

/* The words are those of work_requested.outcome, and stand in the order of the enum. */
static void
each_status_has_its_word(void **state)
{
	static const char *const words[] = {
		"pending", "served", "partial", "empty", "cancelled", "expired", "failed",
		"refused", "unknown"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_string_equal(lockq_status_name((enum lockq_status)i), words[i]);
	assert_string_equal(lockq_status_name((enum lockq_status)99), "unknown");
	assert_string_equal(lockq_status_name((enum lockq_status)-1), "unknown");
}

/* These numbers are compiled into programs and written in scripts. */
static void
constants_stay(void **state)
{
	(void)state;
	assert_string_equal(lockq_version(), LOCKQ_VERSION);
	assert_int_equal(LOCKQ_OK, 0);
	assert_int_equal(LOCKQ_NOTHING, 1);
	assert_int_equal(LOCKQ_BUSY, 2);
	assert_int_equal(LOCKQ_CANCELLED, 3);
	assert_int_equal(LOCKQ_EUSAGE, -1);
	assert_int_equal(LOCKQ_EREFUSED, -2);
	assert_int_equal(LOCKQ_EDATABASE, -3);
	assert_int_equal(LOCKQ_EQUERY, -4);
	assert_int_equal(LOCKQ_EUNKNOWN, -5);
	assert_int_equal(LOCKQ_ENOMEM, -6);
	assert_int_equal(LOCKQ_RETURN_AFTER_MAX, 72 * 3600);
	assert_int_equal(LOCKQ_COUNT_MAX, 1000);
	assert_int_equal(LOCKQ_DISPOSE_MAX, 10000);
	assert_int_equal(LOCKQ_NOTE_MAX, 512);
}

/* A lock wait ends before wait_timeout ends an idle connection. A call that finds out what became
 * of a commit waits longer than the old connection can live, and the client reads for longer than
 * that. */
static void
time_limits_line_up(void **state)
{
	(void)state;
	assert_true(DB_LOCK_WAIT_S < DB_WAIT_TIMEOUT_S);
	assert_true(DB_WAIT_TIMEOUT_S < DB_RESOLVE_WAIT_S);
	assert_true(DB_RESOLVE_WAIT_S < DB_READ_TIMEOUT_S);
}

static void
only_some_errors_are_tried_again(void **state)
{
	(void)state;
	assert_true(retry_cures(DB_ERETRY));
	assert_true(retry_cures(DB_ELOCKWAIT));
	assert_true(retry_cures(DB_ECROWDED));
	assert_true(retry_cures(DB_ELOST));
	assert_false(retry_cures(DB_OK));
	assert_false(retry_cures(DB_EFAIL));
	assert_false(retry_cures(DB_EINDOUBT));
	assert_false(retry_cures(DB_ECANCELLED));
	assert_false(retry_cures(DB_EDUPLICATE));
	assert_int_equal(retry_verdict(DB_ERETRY, false, 0, 0, 0), AGAIN);
	assert_int_equal(retry_verdict(DB_ELOST, false, 0, 0, 0), RECONNECT);
	assert_int_equal(retry_verdict(DB_EINDOUBT, false, 0, 0, 0), FIND_OUT);
	/* An error that may not come again is tried a few times. A lost connection is tried again
	 * for as long as the caller's patience lasts. */
	assert_int_equal(retry_verdict(DB_ERETRY, false, DB_TRIES, 1, 1000), GIVE_UP);
	assert_int_equal(retry_verdict(DB_ERETRY, true, DB_TRIES, 1, 1000), AGAIN);
	assert_int_equal(retry_verdict(DB_ELOST, false, DB_TRIES, 1, 1000), RECONNECT);
	assert_int_equal(retry_verdict(DB_ELOST, false, DB_TRIES, 1000, 1000), GIVE_UP);
	assert_int_equal(retry_verdict(DB_EMOVED, false, DB_TRIES, 1, 1000), RECONNECT);
	assert_int_equal(retry_verdict(DB_EMOVED, false, DB_TRIES, 1000, 1000), GIVE_UP);
}

static void
a_backoff_grows_and_ends(void **state)
{
	uint64_t start = db_clock_ms();

	(void)state;
	db_backoff(0);
	assert_in_range(db_clock_ms() - start, 9, 200);
	start = db_clock_ms();
	db_backoff(3);
	assert_in_range(db_clock_ms() - start, 79, 500);
	start = db_clock_ms();
	db_backoff(4000000000u);
	assert_in_range(db_clock_ms() - start, 499, 1500);
}

static void
each_uuid_is_another(void **state)
{
	struct inside_request one = inside_new_request("a"), two = inside_new_request("a");

	(void)state;
	assert_int_equal(strlen(one.uuid), 36);
	assert_string_not_equal(one.uuid, two.uuid);
	assert_int_equal(strspn(one.uuid, "0123456789abcdef-"), 36);
}

/* Release functions take NULL, and what was released before. */
static void
releasing_nothing_is_fine(void **state)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	struct lockq_requests requests = LOCKQ_REQUESTS_INIT;
	struct lockq_tasks tasks = LOCKQ_TASKS_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq *q = NULL;

	(void)state;
	lockq_answer_clear(NULL);
	lockq_answer_clear(&answer);
	assert_int_equal(answer.query_ms, -1);
	lockq_pipeline_clear(NULL);
	lockq_pipeline_clear(&pipeline);
	lockq_requests_clear(NULL);
	lockq_requests_clear(&requests);
	lockq_tasks_clear(NULL);
	lockq_tasks_clear(&tasks);
	lockq_disposed_clear(NULL);
	lockq_disposed_clear(&result);
	lockq_free(NULL);
	assert_int_equal(lockq_new(&q), LOCKQ_OK);
	assert_string_equal(lockq_error(q), "");
	lockq_free(q);
	db_close(NULL);
	assert_true(db_lost(NULL));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identifiers_are_quoted),
		cmocka_unit_test(errors_are_one_line),
		cmocka_unit_test(what_is_no_identifier_is_refused),
		cmocka_unit_test(any_name_is_quoted),
		cmocka_unit_test(an_identifier_has_64_characters_at_most),
		cmocka_unit_test(a_text_grows),
		cmocka_unit_test(a_text_takes_the_largest_numbers),
		cmocka_unit_test(cells_are_read),
		cmocka_unit_test(copies_are_replaced),
		cmocka_unit_test(each_status_has_its_word),
		cmocka_unit_test(constants_stay),
		cmocka_unit_test(time_limits_line_up),
		cmocka_unit_test(only_some_errors_are_tried_again),
		cmocka_unit_test(a_backoff_grows_and_ends),
		cmocka_unit_test(each_uuid_is_another),
		cmocka_unit_test(releasing_nothing_is_fine),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("lib", tests, NULL, NULL);
}
