/* SPDX-License-Identifier: MIT */
/* refill: fills the lists that tasks keep, behind the backs of those who take loans from them.
 * lists.c fills them, and prints what came of it. */
#include "refill/tool.h"

enum { GAP_LONGEST_S = 3600 };

static int
check(void *options, struct cli_error *error)
{
	struct refill_options *o = options;

	if (o->every_ms >= 0 && !o->watch)
		return cli_fail(error, "--every needs --watch");
	if (o->every_ms == 0)
		return cli_fail(error, "--every 0 would never rest: give it a second or more");
	if (o->every_ms < 0)
		o->every_ms = REFILL_EVERY_MS;
	if (o->watch)
		o->due = true;
	if (!o->due && cli_default_task(&o->task, error) != 0)
		return -1;
	if (!o->due && o->task == 0)
		return cli_fail(error, "there is nothing to fill: give --task, --due or --watch");
	return 0;
}

#define OPTION(member) offsetof(struct refill_options, member)

static const struct cli_option refill_table[] = {
	{ .help = "Which lists" },
	{ "task", 't', "N", "the list of this task; alone: also if it is not due\n"
	    "(default: LOCKQ_TASK, else lockq-task in an option\n"
	    "file; with --due and --watch: all tasks)",
	    cli_parse_u32, OPTION(task), 1, UINT32_MAX },
	{ "due", 0, NULL, "lists that are due, and that nobody has tried so\n"
	    "lately that it is too soon", cli_parse_flag, OPTION(due), 0, 0 },
	{ "watch", 0, NULL, "the same again and again, until a signal ends it",
	    cli_parse_flag, OPTION(watch), 0, 0 },
	{ "every", 0, "SECONDS", "between two looks of --watch (default: 5)", cli_parse_seconds,
	    OPTION(every_ms), 0, GAP_LONGEST_S },
	CLI_OPTIONS_END
};

static const struct cli_tool refill_tool = {
	.name = "refill",
	.synopsis = "--task N [--json]\n"
	    "--due [--task N] [--json]\n"
	    "--watch [--every SECONDS] [--task N] [--json]",
	.purpose = "Runs a task's query and keeps its result as the list from which getwork\n"
	    "takes loans, while people go on taking from the list before it. getwork starts\n"
	    "this by itself when a list is due, unless that is switched off. --task alone\n"
	    "fills a list before anybody has asked.",
	.examples = "  refill --task 7\n"
	    "  refill --due\n"
	    "  refill --watch --every 10 --json\n",
	.exits = "  0  done, or there is nothing to do: with --due and --watch also if no list\n"
	    "     is due, or another process leads the task or has it locked\n"
	    "  2  usage error\n"
	    "  3  another process leads the task, or has it locked\n"
	    "  4  refused: the task is unknown, disabled, or keeps no list\n"
	    CLI_EXITS_ERRORS
	    "  6  outcome unknown (connection lost at commit): the next run finds out\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP: the old list stays\n",
	.leads = true,
	.options = refill_table,
	.check = check,
};

int
main(int argc, char **argv)
{
	struct refill_options o = REFILL_DEFAULTS;
	struct lockq *q = NULL;
	int rc;

	cli_start(&refill_tool, &o, argc, argv);
	rc = cli_open(&q, &o.common);
	if (rc != LOCKQ_OK) {
		rc = cli_report_library(&o.common, q, rc);
	} else {
		cli_catch_signals("a list that is not complete is not kept: the old one stays");
		rc = o.watch ? refill_watch(&o, q) : refill_lists(&o, q);
	}
	rc = cli_finish(rc, "lists that were filled stay");
	lockq_free(q);
	cli_end(rc);
}
