/* SPDX-License-Identifier: MIT */
#include "lockqstat/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

void
report_number(char text[CLI_TIME_SIZE], uint64_t number)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
}

void
report_ms(char text[CLI_TIME_SIZE], int64_t ms)
{
	if (ms < 0)
		snprintf(text, CLI_TIME_SIZE, "-");
	else
		cli_ms(text, (uint64_t)ms);
}

/* The page is in English whatever the locale is, so strftime() names no month. */
static const char *const months[] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
};

void
report_clock(char text[CLI_TIME_SIZE], time_t seconds)
{
	struct tm then;

	text[0] = '\0';
	if (localtime_r(&seconds, &then) != NULL)
		strftime(text, CLI_TIME_SIZE, "%H:%M", &then);
}

void
report_date(char text[CLI_TIME_SIZE], time_t seconds)
{
	struct tm then;

	text[0] = '\0';
	if (localtime_r(&seconds, &then) != NULL)
		snprintf(text, CLI_TIME_SIZE, "%d %s", then.tm_mday, months[then.tm_mon % 12]);
}

void
report_moment(char text[CLI_TIME_SIZE], time_t seconds)
{
	char clock[CLI_TIME_SIZE], date[CLI_TIME_SIZE];

	report_clock(clock, seconds);
	report_date(date, seconds);
	snprintf(text, CLI_TIME_SIZE, "%.20s %.20s", date, clock);
}

void
report_zone(char text[CLI_TIME_SIZE], time_t seconds)
{
	struct tm then;
	char name[16] = "", offset[8] = "";

	text[0] = '\0';
	if (localtime_r(&seconds, &then) == NULL)
		return;
	strftime(name, sizeof(name), "%Z", &then);
	strftime(offset, sizeof(offset), "%z", &then);
	if (strcmp(name, "UTC") == 0 || strlen(offset) != 5)
		snprintf(text, CLI_TIME_SIZE, "%s", name);
	else
		snprintf(text, CLI_TIME_SIZE, "%s (UTC%.3s:%s)", name, offset, offset + 3);
}

time_t
report_quarter(time_t since, size_t quarter)
{
	return since + (time_t)(quarter * LOCKQ_QUARTER_S);
}
