/* SPDX-License-Identifier: MIT */
/* The pictures of the report: each one the day from left to right, in quarters of an hour. All are
 * equally wide, so that a column of them shares its times. They have no colours of their own: the
 * page's style has one for each class, and another one for a dark screen. */
#ifndef LOCKQ_CMD_LOCKQSTAT_REPORT_SVG_H
#define LOCKQ_CMD_LOCKQSTAT_REPORT_SVG_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "lockq.h"

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

#endif
