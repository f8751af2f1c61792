/* SPDX-License-Identifier: MIT */
/* The server's times as people and scripts read them, and how long things took. */
#ifndef LOCKQ_CMD_CLI_TIMES_H
#define LOCKQ_CMD_CLI_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lockq.h"

/* Room for any of the formats below. */
enum { CLI_TIME_SIZE = 48 };

/* Milliseconds of a clock that nobody sets. A signal handler may call it. */
uint64_t cli_clock_ms(void);

/* The library's UTC text as seconds since 1970. Returns 0, or -1 where it is no time. */
LOCKQ_MUST_CHECK int cli_time(time_t *seconds, const char *utc);

/*
 * UTC text in local time: "10:42" or, with @with_seconds, "10:42:03" where it is the day of @now,
 * else with the date before it; with the zone's name after it where clocks that were put back show
 * that time twice. @text receives "" where @utc is no time.
 */
void cli_time_local(char text[CLI_TIME_SIZE], const char *utc, bool with_seconds, time_t now);

/* UTC text as "2026-11-20T13:50:01.123456Z", "" where @utc is no time. */
void cli_time_iso(char text[CLI_TIME_SIZE], const char *utc);

/* "47 s", "3 min 20 s", "3 h 12 min", "2 d 5 h". */
void cli_age(char text[CLI_TIME_SIZE], uint64_t seconds);

/* "12 ms", "3.1 s", from ten seconds on as cli_age(). */
void cli_ms(char text[CLI_TIME_SIZE], uint64_t ms);

#endif
