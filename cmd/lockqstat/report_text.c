/* SPDX-License-Identifier: MIT */
#include "lockqstat/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/noun.h"
#include "cli/utf8.h"
#include "lockq.h"

void
report_name(FILE *out, const char *text)
{
	char *escaped = cli_escape(text);

	for (const char *c = escaped; *c != '\0'; c++) {
		switch (*c) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default: putc(*c, out);
		}
	}
	free(escaped);
}

const char *
report_loans(uint64_t n)
{
	static char text[6 * LOCKQ_NOUN_SIZE];
	FILE *out = fmemopen(text, sizeof(text), "w");

	if (out != NULL) {
		report_name(out, cli_loans(n));
		fclose(out);
		return text;
	}
	cli_out_of_memory();
}

const char *
report_loans_title(void)
{
	static char text[6 * LOCKQ_NOUN_SIZE];

	snprintf(text, sizeof(text), "%s", report_loans(2));
	if (text[0] >= 'a' && text[0] <= 'z')
		text[0] = (char)(text[0] - 'a' + 'A');
	return text;
}

struct cli_time
report_number(uint64_t number)
{
	struct cli_time grouped;
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			grouped.text[used++] = ',';
		grouped.text[used++] = digits[i];
	}
	grouped.text[used] = '\0';
	return grouped;
}

struct cli_time
report_ms(int64_t ms)
{
	struct cli_time none = { "-" };

	return ms < 0 ? none : cli_ms((uint64_t)ms);
}

/* The page is in English whatever the locale is, so strftime() names no month. */
static const char *const months[] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
};

struct cli_time
report_clock(time_t seconds)
{
	struct cli_time clock = { "" };
	struct tm then;

	if (localtime_r(&seconds, &then) != NULL)
		strftime(clock.text, CLI_TIME_SIZE, "%H:%M", &then);
	return clock;
}

struct cli_time
report_date(time_t seconds)
{
	struct cli_time date = { "" };
	struct tm then;

	if (localtime_r(&seconds, &then) != NULL)
		snprintf(date.text, CLI_TIME_SIZE, "%d %s", then.tm_mday,
		    months[then.tm_mon % 12]);
	return date;
}

struct cli_time
report_moment(time_t seconds)
{
	struct cli_time moment;

	snprintf(moment.text, CLI_TIME_SIZE, "%.20s %.20s", report_date(seconds).text,
	    report_clock(seconds).text);
	return moment;
}

struct cli_time
report_zone(time_t seconds)
{
	struct cli_time zone = { "" };
	struct tm then;
	char name[16] = "", offset[8] = "";

	if (localtime_r(&seconds, &then) == NULL)
		return zone;
	strftime(name, sizeof(name), "%Z", &then);
	strftime(offset, sizeof(offset), "%z", &then);
	if (strcmp(name, "UTC") == 0 || strlen(offset) != 5)
		snprintf(zone.text, CLI_TIME_SIZE, "%s", name);
	else
		snprintf(zone.text, CLI_TIME_SIZE, "%s (UTC%.3s:%s)", name, offset, offset + 3);
	return zone;
}

time_t
report_quarter(time_t since, size_t quarter)
{
	return since + (time_t)(quarter * LOCKQ_QUARTER_S);
}
