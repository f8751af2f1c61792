/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/times.h"
#include "cli/when.h"

enum {
	MINUTE = 60,
	HOUR = 60 * MINUTE,
	DAY = 24 * HOUR,
	SHORT = 15 * MINUTE /* seconds matter for less */
};

/* Whether @utc is a time such as "2026-11-20 13:50:01", with a fraction or without. */
static bool
is_time(const char *utc)
{
	static const char form[] = "0000-00-00 00:00:00";
	size_t i;

	if (utc == NULL || strlen(utc) < sizeof(form) - 1)
		return false;
	for (i = 0; i < sizeof(form) - 1; i++) {
		if (form[i] == '0' ? utc[i] < '0' || utc[i] > '9' : utc[i] != form[i])
			return false;
	}
	utc += sizeof(form) - 1;
	return utc[0] == '\0' ||
	    (utc[0] == '.' && utc[1 + strspn(utc + 1, "0123456789")] == '\0');
}

uint64_t
cli_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int
cli_time(time_t *seconds, const char *utc)
{
	char whole[WHEN_BYTES];
	int64_t when;

	if (!is_time(utc))
		return -1;
	snprintf(whole, sizeof(whole), "%s", utc); /* without its fraction */
	if (!when_parse(&when, whole))
		return -1;
	*seconds = (time_t)when;
	return 0;
}

/* Whether the clocks show @then, the local time of @seconds, at a second moment as well, because
 * they were put back between the two. */
static bool
comes_twice(time_t seconds, const struct tm *then)
{
	static const int apart[] = { -HOUR, -HOUR / 2, HOUR / 2, HOUR };
	struct tm other;
	time_t at;
	size_t i;

	for (i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		at = seconds + apart[i];
		if (localtime_r(&at, &other) != NULL && other.tm_yday == then->tm_yday &&
		    other.tm_hour == then->tm_hour && other.tm_min == then->tm_min)
			return true;
	}
	return false;
}

struct cli_time
cli_time_local(const char *utc, bool with_seconds, time_t now)
{
	struct cli_time local = { "" };
	struct tm then, today;
	time_t seconds;
	size_t length;
	bool same_day;

	if (cli_time(&seconds, utc) != 0 || localtime_r(&seconds, &then) == NULL ||
	    localtime_r(&now, &today) == NULL)
		return local;
	same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
	length = strftime(local.text, CLI_TIME_SIZE, same_day ?
	    (with_seconds ? "%H:%M:%S" : "%H:%M") :
	    (with_seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M"), &then);
	if (length > 0 && comes_twice(seconds, &then))
		strftime(local.text + length, CLI_TIME_SIZE - length, " %Z", &then);
	return local;
}

struct cli_time
cli_local(const char *utc)
{
	return cli_time_local(utc, false, time(NULL));
}

struct cli_time
cli_local_s(const char *utc)
{
	return cli_time_local(utc, true, time(NULL));
}

struct cli_time
cli_until(const char *utc, const char *since)
{
	time_t now = time(NULL), from = now, end;
	bool is_short;

	if (since != NULL && cli_time(&from, since) != 0)
		from = now;
	is_short = cli_time(&end, utc) == 0 && end > from - SHORT && end < from + SHORT;
	return cli_time_local(utc, is_short, now);
}

struct cli_time
cli_now(void)
{
	struct cli_time now = { "" };
	time_t seconds = time(NULL);
	struct tm local;

	if (localtime_r(&seconds, &local) != NULL)
		strftime(now.text, CLI_TIME_SIZE, "%H:%M:%S", &local);
	return now;
}

struct cli_time
cli_time_iso(const char *utc)
{
	struct cli_time iso = { "" };

	if (is_time(utc))
		snprintf(iso.text, CLI_TIME_SIZE, "%.10sT%.15sZ", utc, utc + 11);
	return iso;
}

struct cli_time
cli_age(uint64_t seconds)
{
	unsigned long long s = seconds;
	struct cli_time age;

	if (s < MINUTE)
		snprintf(age.text, CLI_TIME_SIZE, "%llu s", s);
	else if (s < HOUR)
		snprintf(age.text, CLI_TIME_SIZE, "%llu min %llu s", s / MINUTE, s % MINUTE);
	else if (s < DAY)
		snprintf(age.text, CLI_TIME_SIZE, "%llu h %llu min", s / HOUR, s % HOUR / MINUTE);
	else
		snprintf(age.text, CLI_TIME_SIZE, "%llu d %llu h", s / DAY, s % DAY / HOUR);
	return age;
}

struct cli_time
cli_ms(uint64_t ms)
{
	uint64_t tenths = ms / 100 + (ms % 100 >= 50);
	struct cli_time took;

	if (tenths >= 100)
		return cli_age(ms / 1000 + (ms % 1000 >= 500));
	if (ms < 1000)
		snprintf(took.text, CLI_TIME_SIZE, "%u ms", (unsigned int)ms);
	else
		snprintf(took.text, CLI_TIME_SIZE, "%u.%u s", (unsigned int)(tenths / 10),
		    (unsigned int)(tenths % 10));
	return took;
}
