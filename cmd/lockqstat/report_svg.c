/* SPDX-License-Identifier: MIT */
#include "lockqstat/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/utf8.h"

/* Lengths are in tenths of the picture's units: whole numbers, since printf() writes a fraction as
 * the locale does. */
enum {
	LENGTH_SIZE = 32,
	WIDTH = 3600,
	LEFT = 480,             /* of the plot; its labels are left of it */
	QUARTER_WIDTH = 32,
	RIGHT = LEFT + LOCKQ_QUARTERS * QUARTER_WIDTH,
	TOP = 90,
	PLOT_HEIGHT = 1560,
	FOOT = 190,             /* the times below the plot */
	BAR_WIDTH = 25,
	LANE_HEIGHT = 235,
	LANE_GAP = 180,         /* its name stands in it */
	ROW_HEIGHT = 210,       /* of a leader */
	LEADERS_MOST = 8,
	NAME_COLUMNS = 15
};

/* "12.5": a length. */
static const char *
length(char text[LENGTH_SIZE], int64_t tenths)
{
	snprintf(text, LENGTH_SIZE, "%" PRId64 ".%d", tenths / 10, (int)(tenths % 10));
	return text;
}
#define LENGTH(tenths) length((char[LENGTH_SIZE]){ "" }, (tenths))

static void
begin(FILE *out, int64_t height, const char *label)
{
	fprintf(out, "<svg role=\"img\" viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\" "
	    "aria-label=\"%s\">\n", LENGTH(WIDTH), LENGTH(height), LENGTH(WIDTH), LENGTH(height),
	    label);
}

static void
line(FILE *out, const char *style, int64_t x1, int64_t y1, int64_t x2, int64_t y2)
{
	fprintf(out, "<path class=\"%s\" d=\"M%s %sL%s %s\"/>\n", style, LENGTH(x1), LENGTH(y1),
	    LENGTH(x2), LENGTH(y2));
}

static void
bar(FILE *out, const char *style, int64_t x, int64_t y, int64_t width, int64_t height)
{
	fprintf(out, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", style,
	    LENGTH(x), LENGTH(y), LENGTH(width), LENGTH(height));
}

static void
label(FILE *out, const char *style, int64_t x, int64_t y, const char *text)
{
	fprintf(out, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", style, LENGTH(x),
	    LENGTH(y), text);
}

static int64_t
quarter_x(size_t quarter)
{
	return LEFT + (int64_t)quarter * QUARTER_WIDTH;
}

/* The times below the plot, every six hours of the local clock; midnight has its date instead. */
static void
times(const struct report_task *t, int64_t top, int64_t bottom)
{
	for (size_t i = 0; i <= LOCKQ_QUARTERS; i++) {
		time_t at = report_quarter(t->since, i);
		int64_t x = quarter_x(i);
		struct tm then;

		if (localtime_r(&at, &then) == NULL || then.tm_min != 0 || then.tm_hour % 3 != 0)
			continue;
		if (then.tm_hour % 6 != 0) {
			line(t->out, "grid", x, bottom, x, bottom + 30);
			continue;
		}
		line(t->out, then.tm_hour == 0 ? "midnight" : "grid", x, top, x, bottom + 50);
		label(t->out, x < LEFT + 150 ? "first" : x > RIGHT - 150 ? "last" : "time", x,
		    bottom + 165, (then.tm_hour == 0 ? report_date(at) : report_clock(at)).text);
	}
}

/* Begins a picture with a plot of its full height. Takes @label. */
static void
begin_plot(const struct report_task *t, char *label)
{
	begin(t->out, TOP + PLOT_HEIGHT + FOOT, label);
	free(label);
	times(t, TOP, TOP + PLOT_HEIGHT);
}

/* --- scales --- */

/* From 0 to a round number, in steps of 1, 2 or 5 times a power of ten. */
struct scale {
	uint64_t step, top;
	uint64_t unit;       /* of the labels: 1000 for seconds where values are milliseconds */
	const char *name;    /* of the unit */
};

static struct scale
scale_of(uint64_t most, uint64_t unit, const char *name, uint64_t steps)
{
	uint64_t ten = 1, in_unit = most / unit + (most % unit > 0), step;

	while (ten * 10 * steps < in_unit)
		ten *= 10;
	for (step = ten; step * steps < in_unit; step = step == ten ? 2 * ten : step == 2 * ten ?
	    5 * ten : 10 * ten)
		;
	step *= unit;
	return (struct scale){ step, most == 0 ? step : (most + step - 1) / step * step, unit,
		name };
}

static struct scale
scale_of_ms(uint64_t most, uint64_t steps)
{
	return most <= 3000 ? scale_of(most, 1, " ms", steps) :
	    most <= 180000 ? scale_of(most, 1000, " s", steps) :
	    most <= 3 * 3600000 ? scale_of(most, 60000, " min", steps) :
	    scale_of(most, 3600000, " h", steps);
}

static int64_t
height_of(const struct scale *scale, uint64_t value, int64_t height)
{
	return value >= scale->top ? height : (int64_t)(value * (uint64_t)height / scale->top);
}

static void
scale_label(FILE *out, const struct scale *scale, uint64_t value, int64_t y)
{
	char text[2 * CLI_TIME_SIZE];

	snprintf(text, sizeof(text), "%s%s", report_number(value / scale->unit).text,
	    value > 0 ? scale->name : "");
	label(out, "value", LEFT - 60, y, text);
}

static void
axis(FILE *out, const struct scale *scale)
{
	for (uint64_t value = 0; value <= scale->top; value += scale->step) {
		int64_t y = TOP + PLOT_HEIGHT - height_of(scale, value, PLOT_HEIGHT);

		line(out, value == 0 ? "base" : "grid", LEFT, y, RIGHT, y);
		scale_label(out, scale, value, y + 38);
	}
}

/* A scale of powers of ten, from 1 ms on; the labels are at round times. */
static const struct round_time {
	uint64_t ms;
	const char *name;
} round_times[] = {
	{ 1, "1 ms" }, { 10, "10 ms" }, { 100, "100 ms" }, { 1000, "1 s" }, { 10000, "10 s" },
	{ 60000, "1 min" }, { 600000, "10 min" }, { 3600000, "1 h" }, { 36000000, "10 h" },
	{ 360000000, "100 h" }
};
enum { ROUND_TIMES = sizeof(round_times) / sizeof(round_times[0]) };

struct log_scale {
	size_t least, most; /* of round_times */
};

/* The logarithm to base 2, in 1024ths; straight lines between powers of two. */
static int64_t
log_of(uint64_t ms)
{
	int64_t whole = 0;
	uint64_t power = 1;

	while (power <= ms / 2) {
		power *= 2;
		whole++;
	}
	return whole * 1024 + (ms > power ? (int64_t)((ms - power) * 1024 / power) : 0);
}

static int64_t
log_y(const struct log_scale *scale, int64_t ms)
{
	int64_t least = log_of(round_times[scale->least].ms);
	int64_t most = log_of(round_times[scale->most].ms);
	int64_t at = log_of(ms < 1 ? 1 : (uint64_t)ms);

	at = at < least ? least : at > most ? most : at;
	return TOP + PLOT_HEIGHT - (at - least) * PLOT_HEIGHT / (most - least);
}

static struct log_scale
log_scale_of(int64_t least, int64_t most)
{
	struct log_scale scale = { 0, 1 };

	while (scale.least + 2 < ROUND_TIMES &&
	    (int64_t)round_times[scale.least + 1].ms <= least)
		scale.least++;
	scale.most = scale.least + 1;
	while (scale.most + 1 < ROUND_TIMES && (int64_t)round_times[scale.most].ms < most)
		scale.most++;
	return scale;
}

/* --- what the pointer shows --- */

/* The element of a quarter: a title, and an area as high as the plot that shows it. Takes
 * @title. */
static void
begin_quarter(const struct report_task *t, size_t i, int64_t top, int64_t height, char *title)
{
	fprintf(t->out, "<g><title>%s to %s: %s</title>\n",
	    report_clock(report_quarter(t->since, i)).text,
	    report_clock(report_quarter(t->since, i + 1)).text, title);
	bar(t->out, "hit", quarter_x(i), top, QUARTER_WIDTH, height);
	free(title);
}

/* --- waits --- */

static void
wait_of(const struct report_task *t, size_t i, const struct log_scale *scale)
{
	const struct lockq_quarter *q = &t->day->quarters[i];
	int64_t x = quarter_x(i) + QUARTER_WIDTH / 2;
	int64_t half = log_y(scale, q->wait_p50_ms), nearly = log_y(scale, q->wait_p95_ms);

	begin_quarter(t, i, TOP, PLOT_HEIGHT, cli_text("half waited %s or less, 95 of 100 %s or "
	    "less, the longest %s (%" PRIu64 " %s)", report_ms(q->wait_p50_ms).text,
	    report_ms(q->wait_p95_ms).text, report_ms(q->wait_max_ms).text, q->answers,
	    q->answers == 1 ? "answer" : "answers"));
	line(t->out, "longest", x, nearly, x, log_y(scale, q->wait_max_ms));
	line(t->out, "most", x, half + 6, x, nearly - 6);
	fprintf(t->out, "<circle class=\"half\" cx=\"%s\" cy=\"%s\" r=\"1.7\"/></g>\n", LENGTH(x),
	    LENGTH(half));
}

void
svg_waits(const struct report_task *t)
{
	const struct lockq_quarter *q = t->day->quarters;
	struct log_scale scale;
	int64_t least = t->day->whole.wait_max_ms;

	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		if (q[i].answers > 0 && q[i].wait_p50_ms < least)
			least = q[i].wait_p50_ms;
	}
	scale = log_scale_of(least, t->day->whole.wait_max_ms);
	begin_plot(t, cli_text("How long requests waited over the day: half of them %s or less, "
	    "the longest %s. The figures are in the table below.",
	    report_ms(t->day->whole.wait_p50_ms).text, report_ms(t->day->whole.wait_max_ms).text));
	for (size_t i = scale.least; i <= scale.most; i++) {
		int64_t y = log_y(&scale, (int64_t)round_times[i].ms);

		line(t->out, i == scale.least ? "base" : "grid", LEFT, y, RIGHT, y);
		label(t->out, "value", LEFT - 60, y + 38, round_times[i].name);
	}
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		if (q[i].answers > 0)
			wait_of(t, i, &scale);
	}
	fputs("</svg>\n", t->out);
}

/* --- queries --- */

static void
query_of(const struct report_task *t, const struct lockq_day_query *q, const struct scale *scale)
{
	int64_t x = LEFT + (int64_t)(q->since_ms * QUARTER_WIDTH / (LOCKQ_QUARTER_S * 1000));
	int64_t y = TOP + PLOT_HEIGHT - height_of(scale, q->ms, PLOT_HEIGHT);

	fprintf(t->out, "<g><title>%s: %s of ",
	    report_clock(t->since + (time_t)(q->since_ms / 1000)).text,
	    report_ms((int64_t)q->ms).text);
	report_name(t->out, q->user);
	if (q->failed) {
		fputs(", failed: ", t->out);
		report_name(t->out, q->reason != NULL ? q->reason : "the reason is not known");
		fprintf(t->out, "</title><path class=\"failed\" d=\"M%s %sl6 6m0 -6l-6 6\"/></g>\n",
		    LENGTH(x - 30), LENGTH(y - 30));
		return;
	}
	fprintf(t->out, ", found %" PRIu64 " %s</title><circle class=\"query\" cx=\"%s\" cy=\"%s\" "
	    "r=\"2.2\"/></g>\n", q->candidates, report_loans(q->candidates), LENGTH(x), LENGTH(y));
}

void
svg_queries(const struct report_task *t)
{
	const struct lockq_day_task *day = t->day;
	struct scale scale;
	uint64_t most = 0;

	for (size_t i = 0; i < day->n_queries; i++) {
		if (day->queries[i].ms > most)
			most = day->queries[i].ms;
	}
	scale = scale_of_ms(most, 5);
	begin_plot(t, cli_text("What each heavy query took over the day: %" PRIu64 " %s, and %"
	    PRIu64 " %s that failed. The figures are in the table below.", day->whole.queries,
	    day->whole.queries == 1 ? "query" : "queries", day->whole.failures,
	    day->whole.failures == 1 ? "leader" : "leaders"));
	axis(t->out, &scale);
	/* Failures come last, so that no dot hides one. */
	for (size_t i = 0; i < 2 * day->n_queries; i++) {
		const struct lockq_day_query *q = &day->queries[i % day->n_queries];

		if ((i >= day->n_queries) == (q->failed != 0))
			query_of(t, q, &scale);
	}
	fputs("</svg>\n", t->out);
}

/* --- loans --- */

static void
loans_of(const struct report_task *t, size_t i, const struct scale *scale)
{
	const struct lockq_quarter *q = &t->day->quarters[i];
	int64_t x = quarter_x(i) + (QUARTER_WIDTH - BAR_WIDTH) / 2, bottom = TOP + PLOT_HEIGHT;
	int64_t listed = height_of(scale, q->loans_listed, PLOT_HEIGHT);
	int64_t all = height_of(scale, q->loans_listed + q->loans_led, PLOT_HEIGHT);

	begin_quarter(t, i, TOP, PLOT_HEIGHT, cli_text("%" PRIu64 " %s from the list, %" PRIu64
	    " from leaders", q->loans_listed, report_loans(q->loans_listed), q->loans_led));
	if (listed > 0)
		bar(t->out, "listed", x, bottom - listed, BAR_WIDTH, listed);
	if (all > listed)
		bar(t->out, "led", x, bottom - all, BAR_WIDTH, all - listed);
	fputs("</g>\n", t->out);
}

void
svg_loans(const struct report_task *t)
{
	const struct lockq_quarter *q = t->day->quarters;
	struct scale scale;
	uint64_t most = 0;

	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		if (q[i].loans_listed + q[i].loans_led > most)
			most = q[i].loans_listed + q[i].loans_led;
	}
	scale = scale_of(most, 1, "", 5);
	begin_plot(t, cli_text("%s that were given in each quarter of an hour: %" PRIu64 " from "
	    "the list and %" PRIu64 " from leaders. The figures are in the table below.",
	    report_loans_title(), t->day->whole.loans_listed, t->day->whole.loans_led));
	axis(t->out, &scale);
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		if (q[i].loans_listed + q[i].loans_led > 0)
			loans_of(t, i, &scale);
	}
	fputs("</svg>\n", t->out);
}

/* --- lanes --- */

static void
draw_lane(const struct report_task *t, const struct report_lane *lane, int64_t top)
{
	const struct lockq_quarter *q = t->day->quarters;
	int64_t bottom = top + LANE_HEIGHT;
	struct scale scale;
	uint64_t most = 0;

	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		if (lane->value(&q[i]) > most)
			most = lane->value(&q[i]);
	}
	scale = *lane->unit != '\0' ? scale_of_ms(most * 1000, 1) : scale_of(most, 1, "", 1);
	label(t->out, "lane", LEFT, top - 45, lane->name);
	line(t->out, "grid", LEFT, top, RIGHT, top);
	if (most > 0)
		scale_label(t->out, &scale, scale.top, top + 38);
	for (size_t i = 0; i < LOCKQ_QUARTERS; i++) {
		uint64_t value = lane->value(&q[i]);
		int64_t height = height_of(&scale, *lane->unit != '\0' ? value * 1000 : value,
		    LANE_HEIGHT);

		if (value == 0)
			continue;
		height = height < 10 ? 10 : height;
		begin_quarter(t, i, top, LANE_HEIGHT, cli_text("%s: %" PRIu64 "%s", lane->name,
		    value, lane->unit));
		bar(t->out, lane->style, quarter_x(i) + (QUARTER_WIDTH - BAR_WIDTH) / 2,
		    bottom - height, BAR_WIDTH, height);
		fputs("</g>\n", t->out);
	}
	line(t->out, "base", LEFT, bottom, RIGHT, bottom);
}

void
svg_lanes(const struct report_task *t, const char *what, const struct report_lane *lanes, size_t n)
{
	int64_t bottom = (int64_t)n * (LANE_HEIGHT + LANE_GAP);

	begin(t->out, bottom + FOOT, what);
	times(t, LANE_GAP, bottom);
	for (size_t i = 0; i < n; i++)
		draw_lane(t, &lanes[i], LANE_GAP + (int64_t)i * (LANE_HEIGHT + LANE_GAP));
	fputs("</svg>\n", t->out);
}

/* --- leaders --- */

static void
draw_leader(FILE *out, const struct lockq_day_leader *l, const struct scale *scale, size_t row)
{
	enum { NAMES = 1080, BARS = 1150 };
	int64_t y = TOP + (int64_t)row * ROW_HEIGHT, width = height_of(scale, l->led_ms, BARS);
	char *cut = cli_shorten(l->user, NAME_COLUMNS, "…"), *text;
	struct cli_time took = report_ms((int64_t)l->led_ms);

	fputs("<g><title>", out);
	report_name(out, l->user);
	fprintf(out, ": led %" PRIu64 " %s, %s altogether, %" PRIu64 " failed, gave %" PRIu64
	    " %s</title>\n<text class=\"who\" x=\"%s\" y=\"%s\">", l->led,
	    l->led == 1 ? "time" : "times", took.text, l->failures, l->loans,
	    report_loans(l->loans), LENGTH(NAMES - 60),
	    LENGTH(y + 120));
	report_name(out, cut);
	fputs("</text>\n", out);
	bar(out, "listed", NAMES, y + 20, width < 10 ? 10 : width, ROW_HEIGHT - 80);
	text = cli_text("%" PRIu64 " × · %s", l->led, took.text);
	label(out, "first", NAMES + width + 60, y + 120, text);
	free(text);
	fputs("</g>\n", out);
	free(cut);
}

void
svg_leaders(const struct report_task *t)
{
	const struct lockq_day_task *day = t->day;
	struct lockq_day_leader others = { .user = (char[]){ "all others" } };
	size_t shown = day->n_leaders > LEADERS_MOST ? LEADERS_MOST - 1 : day->n_leaders;
	struct scale scale;

	for (size_t i = shown; i < day->n_leaders; i++) {
		others.led += day->leaders[i].led;
		others.led_ms += day->leaders[i].led_ms;
		others.failures += day->leaders[i].failures;
		others.loans += day->leaders[i].loans;
	}
	scale.top = others.led_ms > day->leaders[0].led_ms ? others.led_ms : day->leaders[0].led_ms;
	scale.top = scale.top == 0 ? 1 : scale.top;
	begin(t->out, TOP + ROW_HEIGHT * (int64_t)(shown + (shown < day->n_leaders)),
	    "Who led, how often, and for how long altogether. The figures are in the table below.");
	for (size_t i = 0; i < shown; i++)
		draw_leader(t->out, &day->leaders[i], &scale, i);
	if (shown < day->n_leaders)
		draw_leader(t->out, &others, &scale, shown);
	fputs("</svg>\n", t->out);
}
