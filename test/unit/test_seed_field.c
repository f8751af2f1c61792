/* SPDX-License-Identifier: MIT */
/* Reading the fields of a CSV file: dates, amounts, numbers, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "seedloans/field.h"
#include "cli/when.h"

struct sample {
	const char *text;
	const char *reading; /* NULL: the text is refused */
};

static void
test_dates(void **state)
{
	static const struct sample samples[] = {
		{ "2/28/1997", "1997-02-28 00:00:00" },
		{ "02/08/1997", "1997-02-08 00:00:00" },
		{ "1997-02-28", "1997-02-28 00:00:00" },
		{ "1997-02-28 23:59", "1997-02-28 23:59:00" },
		{ "1997-02-28 23:59:58", "1997-02-28 23:59:58" },
		{ "1997-02-28T23:59:58", "1997-02-28 23:59:58" },
		{ "12/31/1969 23:59:59", "1969-12-31 23:59:59" },
		{ "19970228", "1997-02-28 00:00:00" },
		{ "19970228T235958Z", NULL },
		{ "19970228T23:59:58Z", "1997-02-28 23:59:58" },
		{ "1997-02-28T23:59:58.123456Z", "1997-02-28 23:59:58" },
		{ "1997-02-28 23:59:58.5", "1997-02-28 23:59:58" },
		{ "1997-02-28 23:59Z", "1997-02-28 23:59:00" },
		{ "28-Feb-97", "1997-02-28 00:00:00" }, { "24-Jun-91", "1991-06-24 00:00:00" },
		{ "1-jan-30", "1930-01-01 00:00:00" }, { "1-JAN-29", "2029-01-01 00:00:00" },
		{ "7-Dec-2026 8:00 am", "2026-12-07 08:00:00" },
		{ "2/28/1997 12:05 AM", "1997-02-28 00:05:00" },
		{ "2/28/1997 12:05:06PM", "1997-02-28 12:05:06" },
		{ "2/28/1997 11:59:58.25 pm", "1997-02-28 23:59:58" },
		{ "2/28/1997 13:00 PM", NULL }, { "2/28/1997 0:30 AM", NULL },
		{ "2/28/1997 1:00 XM", NULL }, { "2/28/1997 1:00 A", NULL },
		{ "1997-02-28 23:59:58.", NULL }, { "1997-02-28 23:59.5", NULL },
		{ "1997-02-28 23:59:58+01:00", NULL }, { "1997-02-28 23:59:58Zx", NULL },
		{ "28-Feb-997", NULL }, { "28-Fab-97", NULL }, { "30-Feb-97", NULL },
		{ "19970229", NULL }, { "1997022", NULL }, { "199702281", NULL },
		{ "2000-02-29", "2000-02-29 00:00:00" },
		{ "2024-02-29", "2024-02-29 00:00:00" },
		{ "1900-01-01", "1900-01-01 00:00:00" },
		{ "2100-12-31", "2100-12-31 00:00:00" },
		{ "1900-02-29", NULL }, { "2023-02-29", NULL }, { "2023-04-31", NULL },
		{ "13/1/2000", NULL }, { "0/1/2000", NULL }, { "1/0/2000", NULL },
		{ "2000-00-01", NULL }, { "1/1/97", NULL },
		{ "1997-02-28 24:00", NULL }, { "1997-02-28 12:60", NULL },
		{ "1997-02-28 12:00:60", NULL }, { "1997-02-28 12", NULL },
		{ "1997-02-28 ", NULL }, { "1997-02-28x", NULL }, { "1899-12-31", NULL },
		{ "2101-01-01", NULL }, { "/", NULL }, { "", NULL }
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		char text[WHEN_BYTES] = "";
		int64_t when;

		if (when_parse(&when, samples[i].text))
			when_format(text, when);
		assert_string_equal(text, samples[i].reading != NULL ? samples[i].reading : "");
	}
}

/* For two centuries, each day is the day after the one before. */
static void
test_calendar_has_no_gaps(void **state)
{
	int64_t before = INT64_MIN, when;
	int year, month, day;

	(void)state;
	for (year = WHEN_FIRST_YEAR; year <= WHEN_LAST_YEAR; year++) {
		for (month = 1; month <= 12; month++) {
			for (day = 1; day <= 31; day++) {
				if (!when_make(&when, year, month, day, 0, 0, 0))
					continue;
				if (before != INT64_MIN)
					assert_true(when - before == 86400);
				before = when;
			}
		}
	}
}

static void
test_amounts(void **state)
{
	static const struct {
		const char *text;
		uint64_t cents;
		const char *fault;
	} samples[] = {
		{ "60000", 6000000, NULL }, { "$60,000.00", 6000000, NULL }, { "0", 0, NULL },
		{ "$ 1.5", 150, NULL }, { "1,234,567.89", 123456789, NULL }, { "0.01", 1, NULL },
		{ "007", 700, NULL }, { "999999999999.99", UINT64_C(99999999999999), NULL },
		{ "1000000000000", 0, "is too large" }, { "-1", 0, "is negative" },
		{ "(100.00)", 0, "is negative" }, { "1.234", 0, "has more than two decimals" },
		{ "12,34", 0, "is not an amount" }, { "1,2345", 0, "is not an amount" },
		{ "1234,567", 0, "is not an amount" }, { ",123", 0, "is not an amount" },
		{ "1,,234", 0, "is not an amount" }, { "1,234,", 0, "is not an amount" },
		{ ".50", 50, NULL }, { "$.5", 50, NULL }, { "60000.0000", 6000000, NULL },
		{ "1.00E+05", 10000000, NULL }, { "1e5", 10000000, NULL },
		{ "1.2345E+02", 12345, NULL }, { "125E-1", 1250, NULL }, { "0E+999", 0, NULL },
		{ "9.9999999999999E+11", UINT64_C(99999999999999), NULL },
		{ "1E+12", 0, "is too large" }, { "1E+999", 0, "is too large" },
		{ "1.2345E+01", 0, "has more than two decimals" },
		{ "1E-3", 0, "has more than two decimals" },
		{ "0.1000000000000000000000000", 10, NULL },
		{ "0.1000000000000000000000001", 0, "has more than two decimals" },
		{ "1E", 0, "is not an amount" }, { "1E+", 0, "is not an amount" },
		{ "1E+0005", 0, "is not an amount" }, { "1E5x", 0, "is not an amount" },
		{ ".", 0, "is not an amount" }, { ".E5", 0, "is not an amount" },
		{ "1.", 0, "is not an amount" }, { "$", 0, "is not an amount" },
		{ "12 EUR", 0, "is not an amount" }, { "1x", 0, "is not an amount" }
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		uint64_t cents = 0;
		const char *fault = field_read_amount(&cents, samples[i].text);

		assert_string_equal(fault != NULL ? fault : "",
		    samples[i].fault != NULL ? samples[i].fault : "");
		if (fault == NULL)
			assert_true(cents == samples[i].cents);
	}
}

static void
test_ids(void **state)
{
	uint64_t id = 0;

	(void)state;
	assert_null(field_read_id(&id, "18446744073709551615"));
	assert_true(id == UINT64_MAX);
	assert_null(field_read_id(&id, "007"));
	assert_true(id == 7);
	assert_string_equal(field_read_id(&id, "18446744073709551616"), "is too large");
	assert_string_equal(field_read_id(&id, "0"), "is 0");
	assert_string_equal(field_read_id(&id, "-1"), "is not a number");
	assert_string_equal(field_read_id(&id, "1.0"), "is not a number");
	assert_string_equal(field_read_id(&id, "1 2"), "is not a number");
	assert_string_equal(field_read_id(&id, "1.00E+05"), "may have lost digits: a spreadsheet "
	    "wrote it with an exponent");
}

static void
test_text(void **state)
{
	struct seed_loan loan = { 0 };
	char long_name[(LOAN_APPLICANT + 1) * 2 + 1];
	size_t i;

	(void)state;
	assert_null(field_read(&loan, FIELD_APPLICANT, "  Ann \t", 7));
	assert_string_equal(loan.applicant, "Ann");
	assert_string_equal(field_read(&loan, FIELD_APPLICANT, "   ", 3), "is missing");
	assert_null(field_read(&loan, FIELD_CITY, "", 0));
	assert_string_equal(loan.city, "");
	assert_string_equal(field_read(&loan, FIELD_APPLICANT, "a\0b", 3), "has a NUL byte in it");
	assert_string_equal(field_read(&loan, FIELD_STATE, "\x81\xff", 2), "is not valid UTF-8");
	assert_string_equal(field_read(&loan, FIELD_CITY, "K\xf6ln", 4), "is not in UTF-8 but "
	    "in an encoding such as Windows-1252");

	/* The length is counted in characters, as MySQL does for the column. */
	for (i = 0; i < sizeof(long_name) - 1; i++)
		long_name[i] = i % 2 == 0 ? '\xc3' : '\xab';
	long_name[i] = '\0';
	assert_null(field_read(&loan, FIELD_APPLICANT, long_name, (size_t)LOAN_APPLICANT * 2));
	assert_int_equal(strlen(loan.applicant), LOAN_APPLICANT * 2);
	assert_string_equal(field_read(&loan, FIELD_APPLICANT, long_name, sizeof(long_name) - 1),
	    "is too long");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_calendar_has_no_gaps),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_text)
	};

	return cmocka_run_group_tests_name("seed_field", tests, NULL, NULL);
}
