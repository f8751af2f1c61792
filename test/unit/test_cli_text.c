/* SPDX-License-Identifier: MIT */
/* Escaping, UTF-8, times and ages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>

#include "cli/text.h"
#include "cli/times.h"
#include "cli/utf8.h"

static const char zone[] = "CET-1CEST,M3.5.0,M10.5.0/3";
static const char new_york[] = "EST5EDT,M3.2.0,M11.1.0";

static void
escapes_what_drives_a_terminal(void **state)
{
	static const char *const cases[][2] = {
		{ "oliver", "oliver" },
		{ "", "" },
		{ "J\xc3\xb6rg", "J\xc3\xb6rg" },
		{ "\xe2\x82\xac \xf0\x9f\x8f\xa0", "\xe2\x82\xac \xf0\x9f\x8f\xa0" },
		{ "a\nb\tc\rd", "a\\nb\\tc\\rd" },
		{ "\x1b[31mred", "\\x1b[31mred" },
		{ "\x01\x7f", "\\x01\\x7f" },
		{ "\xc2\x85", "\\u0085" },
		{ "\xc2\x9b" "2J", "\\u009b2J" },
		{ "\xe2\x80\xae", "\\u202e" },
		{ "\xe2\x81\xa6", "\\u2066" },
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "\xc3", "\\xc3" },
		{ "\xc0\xaf", "\\xc0\\xaf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "C:\\tmp", "C:\\tmp" },
	};
	char *escaped;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		escaped = cli_escape(cases[i][0]);
		assert_string_equal(escaped, cases[i][1]);
		free(escaped);
	}
	escaped = cli_escape(NULL);
	assert_string_equal(escaped, "");
	free(escaped);
}

static void
keeps_valid_utf8_in_json(void **state)
{
	char *valid = cli_valid_utf8("\xc3\xb6\x1b\xff");

	(void)state;
	assert_string_equal(valid, "\xc3\xb6\x1b\\xff");
	free(valid);
}

static void
counts_characters(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		long length;
	} cases[] = {
		{ "", 0, 0 }, { "Zo\xc3\xab", 4, 3 }, { "\xf0\x9f\x92\xb0", 4, 1 },
		{ "a\0b", 3, 3 },
		{ "\xc3", 1, -1 },             /* cut off */
		{ "\xc3\xab", 1, -1 },
		{ "\xc0\xaf", 2, -1 },         /* longer than needed */
		{ "\xe0\x80\xaf", 3, -1 },
		{ "\xed\xa0\x80", 3, -1 },     /* a surrogate */
		{ "\xf4\x90\x80\x80", 4, -1 }, /* beyond U+10FFFF */
		{ "B\xff", 2, -1 }, { "\x80", 1, -1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(cli_utf8_length(cases[i].text, cases[i].size), cases[i].length);
}

static void
cuts_between_characters(void **state)
{
	static const char *const expected[] = { "", "J", "J\xc3\xb6", "J\xc3\xb6r" };
	char *cut;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		cut = cli_cut("J\xc3\xb6rg", i);
		assert_string_equal(cut, expected[i]);
		free(cut);
	}
}

/* Wide characters take two columns, and combining marks none. The C locale knows neither, so the
 * program has its own table. */
static void
counts_columns(void **state)
{
	static const struct {
		const char *text;
		size_t width;
	} cases[] = {
		{ "", 0 }, { "abc", 3 }, { "山田", 4 }, { "a山b", 4 }, { "e\xcc\x81", 1 },
		{ "한글", 4 }, { "ｱ", 1 }, { "Ａ", 2 }, { "\xf0\x9f\x8f\xa0", 2 }, { "\xff", 1 },
		{ "а́б", 2 }, { "\xe2\x80\x8b", 0 },
	};
	static const char *const locales[] = { "C", "C.UTF-8" };
	size_t i, n;

	(void)state;
	for (n = 0; n < sizeof(locales) / sizeof(locales[0]); n++) {
		assert_non_null(setlocale(LC_CTYPE, locales[n]));
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			if (cli_width(cases[i].text) != cases[i].width)
				print_error("%s in %s\n", cases[i].text, locales[n]);
			assert_int_equal(cli_width(cases[i].text), cases[i].width);
		}
	}
	setlocale(LC_CTYPE, "C");
}

static void
shortens_text(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		const char *ellipsis, *shortened;
	} cases[] = {
		{ "oliver", 6, "...", "oliver" }, { "oliver", 5, "...", "ol..." },
		{ "oliver", 3, "...", "oli" }, { "oliver", 0, "...", "" },
		{ "oliver", 5, "…", "oliv…" },
		/* A wide character is left out if only half of it fits. A mark stays with its
		 * letter. */
		{ "山田太郎", 8, "…", "山田太郎" }, { "山田太郎", 7, "…", "山田太…" },
		{ "山田太郎", 6, "…", "山田…" }, { "e\xcc\x81" "abc", 3, "…", "e\xcc\x81" "a…" },
		{ "e\xcc\x81" "abc", 2, "…", "e\xcc\x81…" },
	};
	char *shortened;
	size_t i;

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		shortened = cli_shorten(cases[i].text, cases[i].width, cases[i].ellipsis);
		assert_string_equal(shortened, cases[i].shortened);
		free(shortened);
	}
	setlocale(LC_CTYPE, "C");
}

static void
reads_the_servers_times(void **state)
{
	time_t seconds = 0;

	(void)state;
	assert_int_equal(cli_time(&seconds, "1970-01-01 00:00:00"), 0);
	assert_int_equal(seconds, 0);
	assert_int_equal(cli_time(&seconds, "2026-11-20 13:50:01.123456"), 0);
	assert_int_equal(seconds, 1795182601);
	assert_int_equal(cli_time(&seconds, "2024-02-29 23:59:59.9"), 0);
	assert_int_equal(seconds, 1709251199);
	assert_int_equal(cli_time(&seconds, ""), -1);
	assert_int_equal(cli_time(&seconds, NULL), -1);
	assert_int_equal(cli_time(&seconds, "2026-11-20"), -1);
	assert_int_equal(cli_time(&seconds, "2026-11-20T13:50:01"), -1);
}

static void
shows_local_times(void **state)
{
	time_t now = 0;

	(void)state;
	setenv("TZ", zone, 1);
	tzset();
	assert_int_equal(cli_time(&now, "2026-07-01 10:00:00"), 0);
	assert_string_equal(cli_time_local("2026-07-01 08:42:03.999999", false, now).text, "10:42");
	assert_string_equal(cli_time_local("2026-07-01 08:42:03.999999", true, now).text,
	    "10:42:03");
	/* It is the next day in this time zone, though not in UTC. The second time is in winter. */
	assert_string_equal(cli_time_local("2026-07-01 22:30:00", false, now).text,
	    "2026-07-02 00:30");
	assert_string_equal(cli_time_local("2026-12-31 23:30:00", true, now).text,
	    "2027-01-01 00:30:00");
	assert_string_equal(cli_time_local("", false, now).text, "");
	/* What ends soon after its begin ends at a second. */
	assert_string_equal(cli_until("2026-07-01 08:42:03", "2026-07-01 08:28:00").text +
	    strlen("2026-07-01 "), "10:42:03");
	assert_string_equal(cli_until("2026-07-01 08:42:03", "2026-07-01 08:27:00").text +
	    strlen("2026-07-01 "), "10:42");
	assert_string_equal(cli_until("2026-07-01 08:42:03", NULL).text, "2026-07-01 10:42");
	assert_string_equal(cli_until("", NULL).text, "");
}

/* Clocks are put forward and back. A time that comes twice on that day is shown with its zone. */
static void
shows_times_when_clocks_change(void **state)
{
	static const struct {
		const char *zone, *utc, *now, *text;
	} cases[] = {
		{ zone, "2026-10-24 23:59:59", "2026-10-25 12:00:00", "01:59" },
		{ zone, "2026-10-25 00:00:00", "2026-10-25 12:00:00", "02:00 CEST" },
		{ zone, "2026-10-25 00:59:59", "2026-10-25 12:00:00", "02:59 CEST" },
		{ zone, "2026-10-25 01:00:00", "2026-10-25 12:00:00", "02:00 CET" },
		{ zone, "2026-10-25 01:30:00", "2026-10-26 12:00:00", "2026-10-25 02:30 CET" },
		{ zone, "2026-10-25 02:00:00", "2026-10-25 12:00:00", "03:00" },
		{ zone, "2026-03-29 00:59:59", "2026-03-29 12:00:00", "01:59" },
		{ zone, "2026-03-29 01:00:00", "2026-03-29 12:00:00", "03:00" },
		/* This day has 25 hours, and its end is the same day still. */
		{ zone, "2026-10-24 22:00:00", "2026-10-25 22:59:59", "00:00" },
		{ zone, "2026-10-24 22:00:00", "2026-10-25 23:00:00", "2026-10-25 00:00" },
		{ new_york, "2026-11-01 05:30:00", "2026-11-01 12:00:00", "01:30 EDT" },
		{ new_york, "2026-11-01 06:30:00", "2026-11-01 12:00:00", "01:30 EST" },
		{ new_york, "2026-11-01 07:00:00", "2026-11-01 12:00:00", "02:00" },
		/* This zone changes its clocks by half an hour. */
		{ "LHST-10:30LHDT-11,M10.1.0,M4.1.0", "2026-04-04 14:45:00",
		    "2026-04-05 02:00:00", "01:45 LHDT" },
		{ "UTC0", "2026-10-25 01:00:00", "2026-10-25 12:00:00", "01:00" },
	};
	time_t now = 0;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("TZ", cases[i].zone, 1);
		tzset();
		assert_int_equal(cli_time(&now, cases[i].now), 0);
		assert_string_equal(cli_time_local(cases[i].utc, false, now).text, cases[i].text);
	}
}

static void
shows_iso_times(void **state)
{

	(void)state;
	assert_string_equal(cli_time_iso("2026-11-20 13:50:01.123456").text,
	    "2026-11-20T13:50:01.123456Z");
	assert_string_equal(cli_time_iso("2026-11-20 13:50:01").text, "2026-11-20T13:50:01Z");
	assert_string_equal(cli_time_iso("").text, "");
	assert_string_equal(cli_time_iso("2026-11-20 13:50:01.12\x1b" "6").text, "");
	assert_string_equal(cli_time_iso("2026-11-20 13:50:01Z").text, "");
}

static void
shows_ages(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} cases[] = {
		{ 0, "0 s" }, { 59, "59 s" }, { 60, "1 min 0 s" }, { 3599, "59 min 59 s" },
		{ 3600, "1 h 0 min" }, { 11520, "3 h 12 min" }, { 86400, "1 d 0 h" },
		{ 190800, "2 d 5 h" }, { UINT64_MAX, "213503982334601 d 7 h" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(cli_age(cases[i].seconds).text, cases[i].text);
	}
}

static void
shows_milliseconds(void **state)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} cases[] = {
		{ 0, "0 ms" }, { 999, "999 ms" }, { 1000, "1.0 s" }, { 2949, "2.9 s" },
		{ 2950, "3.0 s" }, { 9949, "9.9 s" }, { 9950, "10 s" }, { 59499, "59 s" },
		{ 59500, "1 min 0 s" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(cli_ms(cases[i].ms).text, cases[i].text);
	}
}

static void
quotes_names_and_words(void **state)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{ "oliver", "oliver" }, { "o.b_1@x-y", "o.b_1@x-y" }, { "", "''" },
		{ "O'Brien", "'O'\\''Brien'" }, { "a b", "'a b'" }, { "$(id)", "'$(id)'" },
		{ "''", "''\\'''\\'''" }, { "-é", "'-é'" }, { "a;b\n", "'a;b\n'" },
	};
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = cli_word(cases[i].text);
		assert_string_equal(text, cases[i].word);
		free(text);
	}
	text = cli_quoted("O Brien", "nobody");
	assert_string_equal(text, "\"O Brien\"");
	free(text);
	text = cli_quoted(NULL, "nobody");
	assert_string_equal(text, "nobody");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_names_and_words),
		cmocka_unit_test(escapes_what_drives_a_terminal),
		cmocka_unit_test(keeps_valid_utf8_in_json),
		cmocka_unit_test(counts_characters),
		cmocka_unit_test(cuts_between_characters),
		cmocka_unit_test(counts_columns),
		cmocka_unit_test(shortens_text),
		cmocka_unit_test(reads_the_servers_times),
		cmocka_unit_test(shows_local_times),
		cmocka_unit_test(shows_times_when_clocks_change),
		cmocka_unit_test(shows_iso_times),
		cmocka_unit_test(shows_ages),
		cmocka_unit_test(shows_milliseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
