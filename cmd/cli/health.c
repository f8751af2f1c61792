/* SPDX-License-Identifier: MIT */
#include "cli/health.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"

const struct stat_limits STAT_LIMITS_USUAL = { 300, 900, false };

enum {
	NOBODY_LEADS_S = 30,    /* a follower leads within seconds of its leader's end */
	OVER_LIMIT_S = 60,      /* beyond max_query_s: to assign the loans, and to end the query */
	FAILED_IN_A_ROW = 3,
	UNTIDIED_S = 3600,      /* cron's disposition --expire runs each minute */
	FOUND_MANY = 100,       /* fewer may be all done by the next query */
	SLOWER = 4,             /* times as slow as the slowest of three queries before … */
	SLOW_MS = 1000,         /* … and nobody notices less */
	TRIES = 3,              /* calls without an answer; one alone may be a user's own limit */
	AHEAD_S = 5             /* clocks of one server agree better */
};

static const char *const levels[] = {
	[STAT_FINE] = "ok", [STAT_WARNING] = "warning", [STAT_CRITICAL] = "critical",
	[STAT_UNKNOWN] = "unknown"
};

const char *
stat_level_name(enum stat_level level)
{
	return levels[level];
}

char *
stat_finding_text(const struct stat_finding *finding)
{
	if (finding->task == 0)
		return cli_text("%s: %s", levels[finding->level], finding->text);
	return cli_text("%s: task %u: %s", levels[finding->level], finding->task, finding->text);
}

/* Takes @text. */
static void
found(struct stat_health *h, const struct lockq_stat *s, enum stat_level level, const char *code,
    char *text)
{
	h->findings = cli_realloc(h->findings, (h->n + 1) * sizeof(*h->findings));
	h->findings[h->n++] = (struct stat_finding){ s->task, level, code, text };
	if (level > h->level)
		h->level = level;
}

/* The same of what the check of the task may explain: elsewhere the text leads to the check, and in
 * the check to @remedy, which may be NULL. */
static void
found_by(struct stat_health *h, const struct lockq_stat *s, const struct stat_limits *limits,
    enum stat_level level, const char *code, char *text, const char *remedy)
{
	found(h, s, level, code, !limits->in_check ? cli_text("%s: see managetask check %u", text,
	    s->task) : cli_text("%s%s%s", text, remedy != NULL ? ": " : "",
	    remedy != NULL ? remedy : ""));
	free(text);
}

static void
look_at_waits(struct stat_health *h, const struct lockq_stat *s, const struct stat_limits *limits)
{
	enum stat_level level = s->oldest_s >= limits->critical_s ? STAT_CRITICAL : STAT_WARNING;
	struct cli_time age = cli_age(s->oldest_s);

	if (s->waiting == 0 || s->paused != NULL || !s->enabled)
		return;
	if (s->leader == NULL && s->held == NULL && s->oldest_s >= NOBODY_LEADS_S)
		found(h, s, STAT_CRITICAL, "nobody_leads", cli_text("%" PRIu64 " %s, the oldest "
		    "for %s, and nobody leads: the next getwork of any user serves them",
		    s->waiting, s->waiting == 1 ? "request waits" : "requests wait", age.text));
	else if (s->oldest_s >= limits->warning_s)
		found(h, s, level, "long_wait", cli_text("the oldest of %" PRIu64 " waiting %s has "
		    "waited for %s", s->waiting, s->waiting == 1 ? "request" : "requests",
		    age.text));
}

static void
look_at_leaders(struct stat_health *h, const struct lockq_stat *s,
    const struct stat_limits *limits)
{
	const char *unknown = "the reason is not known";
	const char *failed = s->failed[0] != '\0' ? s->failed : unknown;

	if (s->leader != NULL && s->leading_ms / 1000 > s->max_query_s + OVER_LIMIT_S)
		found(h, s, STAT_CRITICAL, "stuck_leader", cli_text("%s has led for %s, and "
		    "max_query_s is %" PRIu64 ": look for the process of this user", s->leader,
		    cli_age(s->leading_ms / 1000).text, s->max_query_s));
	if (s->failures_in_a_row >= FAILED_IN_A_ROW)
		found_by(h, s, limits, STAT_CRITICAL, "query_fails", cli_text("the last %" PRIu64
		    " leaders failed: %s", s->failures_in_a_row, failed), NULL);
	else if (s->failures_in_a_row > 0)
		found_by(h, s, limits, STAT_WARNING, "query_failed", cli_text("the last leader "
		    "failed: %s", failed), NULL);
	if (s->refill_failures > 0)
		found_by(h, s, limits, s->refill_failures >= FAILED_IN_A_ROW ? STAT_CRITICAL :
		    STAT_WARNING, "refill_fails", cli_text("the list could not be filled, %" PRIu64
		    " %s: %s", s->refill_failures, s->refill_failures == 1 ? "time" :
		    "times in a row", s->refill_reason != NULL ? s->refill_reason : unknown), NULL);
}

/* What the query finds, and how fast it is. */
static void
look_at_query(struct stat_health *h, const struct lockq_stat *s, const struct stat_limits *limits)
{
	if (s->found == 0 && s->found_before >= FOUND_MANY)
		found_by(h, s, limits, STAT_WARNING, "found_nothing", cli_text("the last query "
		    "found nothing, the one before found %" PRId64,
		    s->found_before), "look at the view");
	if (s->last_query_ms >= SLOW_MS && s->slowest_before_ms > 0 &&
	    s->last_query_ms >= SLOWER * s->slowest_before_ms)
		found_by(h, s, limits, STAT_WARNING, "slow_query", cli_text("the last query took "
		    "%s, and none of the three before took longer than %s",
		    cli_ms((uint64_t)s->last_query_ms).text,
		    cli_ms((uint64_t)s->slowest_before_ms).text),
		    "EXPLAIN ANALYZE of the view tells where");
	if (s->given_again > 0)
		found(h, s, STAT_WARNING, "given_again", cli_text("%" PRIu64 " of the last changes "
		    "gave a loan that was completed before: let on_complete change what the view "
		    "asks for, or set complete_hold", s->given_again));
}

/* Sessions that hold rows, and calls that nobody has served. */
static void
look_at_calls(struct stat_health *h, const struct lockq_stat *s, const struct stat_limits *limits)
{
	uint64_t answered = s->answers - s->answers_failed;
	/* Calls fail with their leader: where the last one has not, or a check has found the task
	 * well since, that is over. */
	uint64_t vain = s->failures_in_a_row > 0 ? s->answers_failed : 0;

	for (size_t i = 0; i < s->n_trouble; i++) {
		if (strcmp(s->trouble[i].operation, "getwork") == 0)
			vain += s->trouble[i].busy;
	}
	if (vain > 0 && answered == 0 && s->leader == NULL && s->enabled && s->paused == NULL)
		found_by(h, s, limits, vain >= TRIES ? STAT_CRITICAL : STAT_WARNING,
		    "nobody_served", cli_text("%" PRIu64 " %s failed or gave up in the last hour, "
		    "and nobody was served", vain, vain == 1 ? "call" : "calls"),
		    "lockqstat --task shows who led, and what came of it");
	if (s->held != NULL)
		found(h, s, STAT_CRITICAL, "held", cli_text("%s", s->held));
	if (s->held_rows != NULL)
		found(h, s, STAT_WARNING, "held_rows", cli_text("%s", s->held_rows));
}

/* What is wrong with the whole database. */
static void
look_at_all(struct stat_health *h, const struct lockq_stats *stats)
{
	struct lockq_stat none = { .task = 0 };

	if (stats->ahead_s >= AHEAD_S)
		found(h, &none, STAT_CRITICAL, "clock_back", cli_text("the newest change or list "
		    "is %s ahead of the server's clock, which was set back: see lockq-admin(7)",
		    cli_age(stats->ahead_s).text));
	if (stats->ahead_loan != 0)
		found(h, &none, STAT_CRITICAL, "log_ahead", cli_text("the log is ahead of the "
		    "table work for loan %" PRIu64 " of task %" PRIu64 ": see lockq-admin(7)",
		    stats->ahead_loan, stats->ahead_task));
}

static int
worst_first(const void *a, const void *b)
{
	const struct stat_finding *one = a, *other = b;

	if (one->level != other->level)
		return one->level > other->level ? -1 : 1;
	if (one->task != other->task)
		return one->task < other->task ? -1 : 1;
	return strcmp(one->code, other->code);
}

void
stat_health_look(struct stat_health *health, const struct lockq_stats *stats,
    const struct stat_limits *limits)
{
	*health = (struct stat_health){ NULL, 0, STAT_FINE };
	look_at_all(health, stats);
	for (size_t i = 0; i < stats->n_tasks; i++) {
		const struct lockq_stat *s = &stats->tasks[i];

		look_at_waits(health, s, limits);
		look_at_leaders(health, s, limits);
		look_at_query(health, s, limits);
		look_at_calls(health, s, limits);
		if (s->untidied_s >= UNTIDIED_S)
			found(health, s, STAT_WARNING, "no_cron", cli_text("what ended %s ago is "
			    "not logged yet: let cron run disposition --expire",
			    cli_age(s->untidied_s).text));
	}
	if (health->n > 0)
		qsort(health->findings, health->n, sizeof(*health->findings), worst_first);
}

void
stat_health_clear(struct stat_health *health)
{
	for (size_t i = 0; i < health->n; i++)
		free(health->findings[i].text);
	free(health->findings);
	*health = (struct stat_health){ NULL, 0, STAT_FINE };
}
