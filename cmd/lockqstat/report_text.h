/* SPDX-License-Identifier: MIT */
/* What the report says, as text of HTML: names, numbers, times. No number here has a point that
 * depends on the locale. */
#ifndef LOCKQ_CMD_LOCKQSTAT_REPORT_TEXT_H
#define LOCKQ_CMD_LOCKQSTAT_REPORT_TEXT_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "cli/times.h"

/* Text from the database, in an element or in an attribute in quotes: it can be no markup. */
void report_name(FILE *out, const char *text);

/* "12,345" */
void report_number(char text[CLI_TIME_SIZE], uint64_t number);

/* "12 ms" as cli_ms(); a dash for none, which is negative. */
void report_ms(char text[CLI_TIME_SIZE], int64_t ms);

/* "10:15", "25 Nov", and both as "25 Nov 10:15", by the machine's clock. */
void report_clock(char text[CLI_TIME_SIZE], time_t seconds);
void report_date(char text[CLI_TIME_SIZE], time_t seconds);
void report_moment(char text[CLI_TIME_SIZE], time_t seconds);

/* "UTC", "CET (UTC+01:00)": the zone of the machine's clock at that time. */
void report_zone(char text[CLI_TIME_SIZE], time_t seconds);

/* The beginning of a quarter of the day that begins at @since. */
time_t report_quarter(time_t since, size_t quarter);

#endif
