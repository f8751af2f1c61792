/* SPDX-License-Identifier: MIT */
/* The server's times as people and scripts read them, and how long things took. */
#ifndef LOCKQ_CMD_CLI_TIMES_H
#define LOCKQ_CMD_CLI_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lockq.h"

/* Any of the formats below. A function's result lives to the end of the statement that calls it, so
 * its text may be an argument of another call. */
enum { CLI_TIME_SIZE = 48 };
struct cli_time {
	char text[CLI_TIME_SIZE];
};

/* Milliseconds of a clock that nobody sets. A signal handler may call it. */
uint64_t cli_clock_ms(void);

/* The library's UTC text as seconds since 1970. Returns 0, or -1 where it is no time. */
LOCKQ_MUST_CHECK int cli_time(time_t *seconds, const char *utc);

/*
 * UTC text in local time: "10:42" or, with @with_seconds, "10:42:03" where it is the day of @now,
 * else with the date before it; with the zone's name after it where clocks that were put back show
 * that time twice. It is "" where @utc is no time.
 */
struct cli_time cli_time_local(const char *utc, bool with_seconds, time_t now);

/* The same for the present time, without seconds and with them. */
struct cli_time cli_local(const char *utc);
struct cli_time cli_local_s(const char *utc);

/* The same for the end of something that began at @since, or that still lasts (NULL): with seconds
 * where less than 15 minutes lie between. */
struct cli_time cli_until(const char *utc, const char *since);

/* The present time, "10:42:03". */
struct cli_time cli_now(void);

/* UTC text as "2026-11-20T13:50:01.123456Z", "" where @utc is no time. */
struct cli_time cli_time_iso(const char *utc);

/* "47 s", "3 min 20 s", "3 h 12 min", "2 d 5 h". */
struct cli_time cli_age(uint64_t seconds);

/* "12 ms", "3.1 s", from ten seconds on as cli_age(). */
struct cli_time cli_ms(uint64_t ms);

#endif
