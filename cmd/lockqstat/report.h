/* SPDX-License-Identifier: MIT */
/*
 * lockqstat --report: the last day as a page of HTML that needs nothing else. report.c writes the
 * page, report_task.c the section of a task, report_svg.c its pictures, report_text.c numbers and
 * times, report_style.c has the CSS.
 */
#ifndef LOCKQ_CMD_LOCKQSTAT_REPORT_H
#define LOCKQ_CMD_LOCKQSTAT_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "cli/times.h"
#include "lockqstat/tool.h"

/* Writes @path: a summary of @stats in their order, then each task of @day in which something has
 * gone on, with the noun that @q has for its loans. Returns 0, or an errno. */
LOCKQ_MUST_CHECK int report_file(const char *path, const struct lockq_stats *stats,
    const struct lockq_day *day, const struct cli_common *common, struct lockq *q);

/* --- report_style.c --- */

/* The page's CSS: its colours in the light and in the dark, on a phone, on paper. */
extern const char report_style[];

/*
 * --- report_svg.c ---
 *
 * The pictures of the report: each one the day from left to right, in quarters of an hour. All are
 * equally wide, so that a column of them shares its times. They have no colours of their own: the
 * page's style has one for each class, and another one for a dark screen.
 */

/* A task on the day that begins at @since. */
struct report_task {
	FILE *out;
	const struct lockq_day_task *day;
	time_t since;
};

typedef uint64_t report_value_fn(const struct lockq_quarter *q);

/* A lane: bars of one figure, with its own scale. */
struct report_lane {
	const char *name;
	report_value_fn *value;
	const char *unit;    /* of its scale; "" for a number */
	const char *style;   /* the class of the bars */
};

/* How long requests waited: from the half to the longest one, on a scale of powers of ten. */
void svg_waits(const struct report_task *t);
/* A dot for each heavy query, a cross for each leader that failed. */
void svg_queries(const struct report_task *t);
/* Loans from the list below, those of leaders above. */
void svg_loans(const struct report_task *t);
/* One lane below the other. */
void svg_lanes(const struct report_task *t, const char *what, const struct report_lane *lanes,
    size_t n);
/* The users who led; the one who led longest comes first. */
void svg_leaders(const struct report_task *t);

/* --- report_task.c: one task, its figures of the day, its pictures, each with a table --- */

/* The section of a task in which something has gone on; @health is of all tasks. */
void report_task(const struct report_task *t, const struct lockq_stat *stat,
    const struct stat_health *health);

/* What is wrong with a task, or with 0 with all of them. */
void report_findings(FILE *out, const struct lockq_stats *stats, const struct stat_health *health,
    uint32_t task);

/* How bad it is, as a word with a sign before it. */
void report_level(FILE *out, enum stat_level level);
enum stat_level report_level_of(const struct stat_health *health, uint32_t task);

/*
 * --- report_text.c ---
 *
 * What the report says, as text of HTML: names, numbers, times. No number here has a point that
 * depends on the locale.
 */

/* Text from the database, in an element or in an attribute in quotes: it can be no markup. */
void report_name(FILE *out, const char *text);

/* What people call @n loans of the task whose section is written; and the same of several as the
 * begin of a title. Each is there until its next call. */
const char *report_loans(uint64_t n);
const char *report_loans_title(void);

/* "12,345" */
struct cli_time report_number(uint64_t number);

/* "12 ms" as cli_ms(); a dash for none, which is negative. */
struct cli_time report_ms(int64_t ms);

/* "10:15", "25 Nov", and both as "25 Nov 10:15", by the machine's clock. */
struct cli_time report_clock(time_t seconds);
struct cli_time report_date(time_t seconds);
struct cli_time report_moment(time_t seconds);

/* "UTC", "CET (UTC+01:00)": the zone of the machine's clock at that time. */
struct cli_time report_zone(time_t seconds);

/* The beginning of a quarter of the day that begins at @since. */
time_t report_quarter(time_t since, size_t quarter);

#endif
