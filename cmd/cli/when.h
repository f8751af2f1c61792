/* SPDX-License-Identifier: MIT */
/* Dates of the calendar, without time zones: seconds since 1970-01-01 00:00:00. */
#ifndef LOCKQ_CMD_CLI_WHEN_H
#define LOCKQ_CMD_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

enum { WHEN_BYTES = 20, WHEN_FIRST_YEAR = 1900, WHEN_LAST_YEAR = 2100 };

/* False where there is no such day or second, or the year is out of the range above. */
bool when_make(int64_t *when, int year, int month, int day, int hour, int minute, int second);
/* M/D/YYYY, YYYY-MM-DD, YYYYMMDD, D-Mon-YYYY or D-Mon-YY (30 to 99: 1930 to 1999), and after a
 * space or a T HH:MM or HH:MM:SS, the latter with a fraction, which is dropped. AM, PM or Z may
 * follow. */
bool when_parse(int64_t *when, const char *text);
/* "2026-11-20 13:50:01" */
void when_format(char out[WHEN_BYTES], int64_t when);

#endif
