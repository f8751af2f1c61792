/* SPDX-License-Identifier: MIT */
#include "cli/when.h"

#include <string.h>
#include <strings.h>

/* Days since 1970-01-01, counted from 1 March so that leap days come last in their year. */
static int64_t
days_from_date(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	    day_of_year - 719468;
}

bool
when_make(int64_t *when, int year, int month, int day, int hour, int minute, int second)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	if (year < WHEN_FIRST_YEAR || year > WHEN_LAST_YEAR || month < 1 || month > 12 || day < 1 ||
	    day > days[month - 1] + (month == 2 && leap) || hour > 23 || minute > 59 ||
	    second > 59 || hour < 0 || minute < 0 || second < 0)
		return false;
	*when = ((days_from_date(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
	return true;
}

/* Reads @least to @most digits. */
static bool
digits(const char **text, int least, int most, int *number)
{
	int n = 0;

	*number = 0;
	while (n < most && **text >= '0' && **text <= '9') {
		*number = *number * 10 + (**text - '0');
		(*text)++;
		n++;
	}
	return n >= least;
}

static bool
letter(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

/* Reads the end of @text, an AM or a PM, in upper or lower case, with a blank before it or without.
 * It may be missing. */
static bool
half_day(const char **text, int *hour)
{
	const char *at = *text + (**text == ' ');
	bool noon = *at == 'P' || *at == 'p';

	if ((*at != 'A' && *at != 'a' && !noon) || (at[1] != 'M' && at[1] != 'm'))
		return true;
	if (*hour < 1 || *hour > 12)
		return false;
	*hour = *hour % 12 + (noon ? 12 : 0);
	*text = at + 2;
	return true;
}

static bool
parse_time(const char **text, int *hour, int *minute, int *second)
{
	if (!letter(text, ' ') && !letter(text, 'T'))
		return false;
	if (!digits(text, 1, 2, hour) || !letter(text, ':') || !digits(text, 2, 2, minute))
		return false;
	if (letter(text, ':')) {
		if (!digits(text, 2, 2, second))
			return false;
		if (letter(text, '.')) {
			size_t decimals = strspn(*text, "0123456789");

			if (decimals == 0)
				return false;
			*text += decimals;
		}
	}
	return letter(text, 'Z') || half_day(text, hour);
}

static bool
month_name(const char **text, int *month)
{
	static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";

	for (*month = 1; *month <= 12; ++*month) {
		if (strncasecmp(*text, names + (*month - 1) * 3, 3) == 0) {
			*text += 3;
			return true;
		}
	}
	return false;
}

/* Reads D-Mon-YYYY, or D-Mon-YY with the years that spreadsheets take two digits for. */
static bool
parse_named_month(const char **text, int *year, int *month, int *day)
{
	const char *start;

	if (!digits(text, 1, 2, day) || !letter(text, '-') || !month_name(text, month) ||
	    !letter(text, '-'))
		return false;
	start = *text;
	if (!digits(text, 2, 4, year) || *text - start == 3)
		return false;
	if (*text - start == 2)
		*year += *year < 30 ? 2000 : 1900;
	return true;
}

static bool
parse_date(const char **text, int *year, int *month, int *day)
{
	size_t number = strspn(*text, "0123456789");

	if (number == 8)
		return digits(text, 4, 4, year) && digits(text, 2, 2, month) &&
		    digits(text, 2, 2, day);
	if ((*text)[number] == '/')
		return digits(text, 1, 2, month) && letter(text, '/') && digits(text, 1, 2, day) &&
		    letter(text, '/') && digits(text, 4, 4, year);
	if (number <= 2)
		return parse_named_month(text, year, month, day);
	return digits(text, 4, 4, year) && letter(text, '-') && digits(text, 1, 2, month) &&
	    letter(text, '-') && digits(text, 1, 2, day);
}

bool
when_parse(int64_t *when, const char *text)
{
	int year, month, day, hour = 0, minute = 0, second = 0;

	if (!parse_date(&text, &year, &month, &day))
		return false;
	if (*text != '\0' && !parse_time(&text, &hour, &minute, &second))
		return false;
	return *text == '\0' && when_make(when, year, month, day, hour, minute, second);
}

/* snprintf() would take as long as making up the loan. */
static void
put_digits(char *out, unsigned int n, int64_t number)
{
	while (n > 0) {
		out[--n] = (char)('0' + number % 10);
		number /= 10;
	}
}

void
when_format(char out[WHEN_BYTES], int64_t when)
{
	int64_t days = when / 86400 - (when % 86400 < 0);
	int64_t second = when - days * 86400;
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t day_of_era = z - era * 146097;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
	    day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era -
	    (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t m = (5 * day_of_year + 2) / 153;
	int64_t month = m < 10 ? m + 3 : m - 9;

	memcpy(out, "0000-00-00 00:00:00", WHEN_BYTES);
	put_digits(out, 4, year_of_era + era * 400 + (month <= 2));
	put_digits(out + 5, 2, month);
	put_digits(out + 8, 2, day_of_year - (153 * m + 2) / 5 + 1);
	put_digits(out + 11, 2, second / 3600);
	put_digits(out + 14, 2, second / 60 % 60);
	put_digits(out + 17, 2, second % 60);
}
