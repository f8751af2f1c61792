/* SPDX-License-Identifier: MIT */
#include "lockqstat/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lockqstat/report.h"

int
lockqstat_read(const struct lockqstat_options *o, struct lockq *q, uint32_t task,
    struct lockq_stats *stats, struct lockq_runs *runs)
{
	int rc = lockq_stats(q, task, stats);

	if (rc != LOCKQ_OK || task == 0)
		return rc;
	rc = lockq_runs(q, task, o->runs, runs);
	return rc == LOCKQ_NOTHING ? LOCKQ_OK : rc;
}

int
lockqstat_failed(const struct lockqstat_options *o, struct lockq *q, int rc)
{
	if (!o->health)
		return cli_report_library(&o->common, q, rc);
	(void)cli_report(&o->common, STAT_UNKNOWN, "%s", cli_library_text(q, rc));
	cli_report_detail(&o->common, q);
	return STAT_UNKNOWN;
}

/* Cursors are no task's, so one task's figures are without them. */
static int
write_metrics(const struct lockqstat_options *o, struct lockq *q, const struct lockq_stats *stats,
    uint64_t began)
{
	struct lockq_cursors cursors = LOCKQ_CURSORS_INIT;
	int rc = o->task == 0 ? lockq_cursors(q, &cursors) : LOCKQ_OK, failure = 0, status;
	uint64_t ms = cli_clock_ms() - began;

	if (rc != LOCKQ_OK && rc != LOCKQ_NOTHING)
		return cli_report_library(&o->common, q, rc);
	if (o->metrics.path == NULL)
		stat_metrics(stdout, stats, &cursors, ms);
	else
		failure = stat_metrics_file(o->metrics.path, stats, &cursors, ms);
	status = failure == 0 ? CLI_EXIT_DONE : cli_report(&o->common, CLI_EXIT_DATABASE,
	    "file \"%s\" can't be written: %s", o->metrics.path, strerror(failure));
	lockq_cursors_clear(&cursors);
	return status;
}

static int
write_report(const struct lockqstat_options *o, struct lockq *q, const struct lockq_stats *stats)
{
	struct lockq_day day = LOCKQ_DAY_INIT;
	char *path = cli_text("%s/lockq.html", o->report);
	int rc = lockq_day(q, o->task, &day), failure = 0, status;

	if (rc != LOCKQ_OK && rc != LOCKQ_NOTHING)
		status = cli_report_library(&o->common, q, rc);
	else if (mkdir(o->report, S_IRWXU | S_IRWXG | S_IRWXO) != 0 && errno != EEXIST)
		status = cli_report(&o->common, CLI_EXIT_DATABASE,
		    "folder \"%s\" can't be made: %s", o->report, strerror(errno));
	else {
		failure = report_file(path, stats, &day);
		status = failure == 0 ? CLI_EXIT_DONE : cli_report(&o->common, CLI_EXIT_DATABASE,
		    "file \"%s\" can't be written: %s", path, strerror(failure));
	}
	lockq_day_clear(&day);
	free(path);
	return status;
}

static int
say_health(const struct lockqstat_options *o, const struct lockq_stats *stats)
{
	struct stat_limits limits = STAT_LIMITS_USUAL;
	struct stat_health health;
	enum stat_level level;

	if (o->warning_s > 0)
		limits.warning_s = o->warning_s;
	if (o->critical_s > 0)
		limits.critical_s = o->critical_s;
	stat_health_look(&health, stats, &limits);
	lockqstat_output(o->common.json)->health(stats, &health);
	level = health.level;
	stat_health_clear(&health);
	return (int)level;
}

int
lockqstat_look(const struct lockqstat_options *o, struct lockq *q)
{
	struct lockq_stats stats = LOCKQ_STATS_INIT;
	struct lockq_runs runs = LOCKQ_RUNS_INIT;
	uint64_t began = cli_clock_ms();
	int rc = lockqstat_read(o, q, o->task, &stats, &runs), status;

	if (rc == LOCKQ_OK || rc == LOCKQ_NOTHING)
		stat_sort(&stats, o->order);
	if (rc != LOCKQ_OK && rc != LOCKQ_NOTHING)
		status = lockqstat_failed(o, q, rc);
	else if (o->health)
		status = say_health(o, &stats);
	else if (o->metrics.wanted)
		status = write_metrics(o, q, &stats, began);
	else if (o->report != NULL)
		status = write_report(o, q, &stats);
	else {
		lockqstat_output(o->common.json)->stats(&stats, o->order,
		    o->task != 0 ? &runs : NULL);
		status = cli_exit_status(rc, cli_caught());
	}
	lockq_stats_clear(&stats);
	lockq_runs_clear(&runs);
	return status;
}
