/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/watch.h"
#include "lockqstat/tool.h"

enum { RUNS_USUAL = 10 };

static int
parse_order(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	for (enum stat_order order = STAT_BY_TASK; order < STAT_ORDERS; order++) {
		if (strcmp(text, stat_order_name(order)) == 0) {
			*(enum stat_order *)target = order;
			return 0;
		}
	}
	return cli_fail(error, "--%s \"%s\" must be task, waiting, oldest, assigned, loans, wait, "
	    "query or failures", option->name, text);
}

static int
parse_metrics(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct lockqstat_metrics *metrics = target;

	metrics->wanted = true;
	metrics->path = text;
	return text != NULL && *text == '\0' ? cli_fail(error, "--%s needs a file's name, or none",
	    option->name) : 0;
}

static int
parse_report(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	*(const char **)target = text;
	return *text == '\0' ? cli_fail(error, "--%s needs a folder's name", option->name) : 0;
}

static bool
shows_tasks(const struct lockqstat_options *o)
{
	return o->task != 0 || o->order != STAT_BY_TASK || o->watch_ms != 0 || o->metrics.wanted ||
	    o->health || o->report != NULL || o->warning_s > 0 || o->critical_s > 0 ||
	    o->runs != LOCKQSTAT_RUNS_NOT_GIVEN;
}

static int
check(void *options, struct cli_error *error)
{
	struct lockqstat_options *o = options;
	bool json = o->common.json;

	if (lockqstat_follow_wanted(&o->follow))
		return lockqstat_follow_check(&o->follow, shows_tasks(o), error);
	if (o->common.look_timeout_ms < 0)
		o->common.look_timeout_ms = LOCKQ_LOOK_TIMEOUT_MS;
	if (o->metrics.wanted && (json || o->health))
		return cli_fail(error, "--metrics can't be combined with --json or --health");
	if (o->report != NULL && (json || o->health || o->metrics.wanted))
		return cli_fail(error, "--report can't be combined with --json, --health or "
		    "--metrics");
	if (o->watch_ms != 0 && (o->metrics.wanted || o->health || o->report != NULL))
		return cli_fail(error, "--watch can't be combined with --metrics, --health or "
		    "--report: call lockqstat again and again");
	if (!o->health && (o->warning_s > 0 || o->critical_s > 0))
		return cli_fail(error, "--warning and --critical need --health");
	if (o->runs != LOCKQSTAT_RUNS_NOT_GIVEN && o->task == 0)
		return cli_fail(error, "--runs needs --task");
	if (o->runs == LOCKQSTAT_RUNS_NOT_GIVEN)
		o->runs = RUNS_USUAL;
	if (o->warning_s > 0 && o->critical_s > 0 && o->warning_s > o->critical_s)
		return cli_fail(error, "--warning must not be above --critical");
	return 0;
}

#define OPTION(member) offsetof(struct lockqstat_options, member)
#define FOLLOW(member) OPTION(follow.member)

static const struct cli_option lockqstat_table[] = {
	{ .help = "What is shown" },
	{ "task", 't', "N", "only this task, and who led it last", cli_parse_u32, OPTION(task), 1,
	    UINT32_MAX },
	{ "runs", 0, "N", "with --task: how many leaders (default: 10)", cli_parse_u32,
	    OPTION(runs), 0, 10000 },
	{ "sort", 0, "WORD", "by task, waiting, oldest, assigned, loans, wait,\n"
	    "query or failures", parse_order, OPTION(order), 0, 0 },
	{ .help = "Again and again" },
	{ "watch", 0, "[SECONDS]", "show it anew each time, every 2 seconds or as many;\n"
	    "on a terminal keys sort and scroll: ? shows them",
	    watch_parse, OPTION(watch_ms), WATCH_LEAST_S, CLI_WAIT_MAX_S },
	{ .help = "For monitoring, and for managers" },
	{ "health", 0, NULL, "only what is wrong; the exit status says how bad\nit is",
	    cli_parse_flag, OPTION(health), 0, 0 },
	{ "warning", 0, "SECONDS", "with --health: a wait this long is a warning\n(default: 300)",
	    cli_parse_u32, OPTION(warning_s), 1, CLI_WAIT_MAX_S },
	{ "critical", 0, "SECONDS", "with --health: a wait this long is critical\n(default: 900)",
	    cli_parse_u32, OPTION(critical_s), 1, CLI_WAIT_MAX_S },
	{ "metrics", 0, "[FILE]", "figures in the text format of Prometheus; the file\n"
	    "is replaced as a whole", parse_metrics, OPTION(metrics), 0, 0 },
	{ "report", 0, "DIR", "the last 24 hours, in pictures: DIR/lockq.html",
	    parse_report, OPTION(report), 0, 0 },
	LOCKQSTAT_FOLLOW_OPTIONS(FOLLOW),
	CLI_TIMEOUT_ROWS(OPTION),
	CLI_WIDTH_ROWS(OPTION),
	CLI_OPTIONS_END
};

const struct cli_tool lockqstat_tool = {
	.name = "lockqstat",
	.synopsis = "[--task N [--runs N]] [--sort WORD]\n"
	    " [--json | --watch [SECONDS]]\n"
	    "--health [--task N] [--warning SECONDS]\n"
	    " [--critical SECONDS] [--json]\n"
	    "--metrics [FILE] [--task N]\n"
	    "--report DIR [--task N]\n"
	    "--follow CURSOR [--until-now] [--from-now] [--batch N]\n"
	    "--cursors | --drop-cursor CURSOR [--json]",
	.purpose = "Shows what is going on: who leads each task and since when, who waits, how\n"
	    "much is left of the list, what is assigned, how long requests and queries\n"
	    "took, and what is wrong. It takes no lock, and costs about the same however\n"
	    "large the tables are.",
	.examples = "  lockqstat\n"
	    "  lockqstat --watch --sort oldest\n"
	    "  lockqstat --task 7 --runs 20\n"
	    "  lockqstat --health --warning 120\n"
	    "  lockqstat --metrics /var/lib/prometheus/node-exporter/lockq.prom\n"
	    "  lockqstat --report /var/www/lockq\n"
	    "  lockqstat --follow warehouse | load-changes\n"
	    "  lockqstat --cursors\n",
	.exits = "  0  done; with --health: all is well\n"
	    "  1  there is no task, or no cursor; with --health: a warning\n"
	    "  2  usage error; with --health also: critical\n"
	    "  3  another session has locked a table: try again; with --health: the\n"
	    "     database could not be asked\n"
	    "  4  the task is unknown; there is no such cursor, or it was removed\n"
	    CLI_EXITS_ERRORS
	    "  6  with --drop-cursor: outcome unknown (connection lost): see --cursors\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP\n",
	.more_group = "lockq_follower",
	.options = lockqstat_table,
	.check = check,
};
