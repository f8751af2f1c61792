/* SPDX-License-Identifier: MIT */
/* disposition: says what became of loans: complete, return later, never; or renews their leases.
 * expired.c does --expire; what getwork --complete does, too, is in cli/dispose.h. */
#include "cli/dispose.h"
#include "disposition/tool.h"

struct disposition_options {
	struct cli_common common;
	struct disposition_loans dispose;
	struct disposition_expire expire;
};
#define DISPOSITION_DEFAULTS { CLI_COMMON_INIT, DISPOSITION_LOANS_DEFAULTS, \
	DISPOSITION_EXPIRE_DEFAULTS }

static int
check(void *options, struct cli_error *error)
{
	struct disposition_options *o = options;

	if (disposition_expire_check(&o->expire, disposition_loans_wanted(&o->dispose), error) != 0)
		return -1;
	return o->expire.wanted ? 0 : disposition_loans_check(&o->dispose, error);
}

#define DISPOSE(member) offsetof(struct disposition_options, dispose.member)
#define EXPIRE(member) offsetof(struct disposition_options, expire.member)

static const struct cli_option disposition_table[] = {
	{ .help = "Which loans" },
	{ "user", 'u', "NAME", "whose loans they are (default: LOCKQ_USER, else\n"
	    "lockq-user in an option file, else your login)",
	    cli_parse_utf8, DISPOSE(what.user), 0, 0 },
	{ "task", 't', "N", "the task's number (default: LOCKQ_TASK, else\n"
	    "lockq-task in an option file)", cli_parse_u32, DISPOSE(what.task), 1, UINT32_MAX },
	{ "loan", 'l', "L[,L...]", "the loans, as in 12 or, with the token that\n"
	    "getwork printed, 12:7; - reads standard input",
	    loan_option_parse, DISPOSE(loans), 0, 0 },
	{ "token", 0, "N", "the token, where one loan is named without it", cli_parse_u64,
	    DISPOSE(token), 1, UINT64_MAX },
	{ .help = "What became of them" },
	{ "complete", 0, NULL, "the work of this task is done for them; also after\n"
	    "the end of their leases, if nobody else has them", cli_parse_flag,
	    DISPOSE(complete), 0, 0 },
	{ "return-after", 0, "DURATION", "offer them again after 30s, 90m, 4h or 2d, at\n"
	    "most 72h; 0 means at once", cli_parse_duration, DISPOSE(return_after_s), 0,
	    LOCKQ_RETURN_AFTER_MAX },
	{ "not-me", 0, NULL, "with --return-after: offer them to others, but not\n"
	    "to this user for 30 days", cli_parse_flag, DISPOSE(not_me), 0, 0 },
	{ "not-me-for", 0, "DURATION", "the same for 30m, 4h or 90d, at most 366d",
	    cli_parse_duration, DISPOSE(not_me_for_s), 1, LOCKQ_NOT_ME_MAX },
	{ "never", 0, NULL, "never offer them again for this task", cli_parse_flag, DISPOSE(never),
	    0, 0 },
	{ "renew", 0, NULL, "the work goes on: start their leases again", cli_parse_flag,
	    DISPOSE(renew), 0, 0 },
	{ "note", 0, "TEXT", "why, in at most 512 characters", cli_parse_utf8, DISPOSE(what.note),
	    0, LOCKQ_NOTE_MAX },
	{ "uuid", 0, "UUID", "names the call: repeated, it answers as the first\n"
	    "time and changes nothing", cli_parse_uuid, DISPOSE(what.uuid), 0, 0 },
	{ "timeout", 0, "SECONDS", "give up where others hold a loan for longer\n(default: 30)",
	    cli_parse_seconds, DISPOSE(what.timeout_ms), 0, CLI_WAIT_MAX_S },
	{ .help = "For cron" },
	{ "expire", 0, NULL, "return loans whose lease has ended, expire\n"
	    "requests that nobody looks after", cli_parse_flag, EXPIRE(wanted),
	    0, 0 },
	{ "batch", 0, "N", "rows in one transaction (default: 500)", cli_parse_u32, EXPIRE(batch),
	    1, LOCKQ_BATCH_MAX },
	{ "purge-after", 0, "DURATION", "delete what ended longer ago, as in 90d; at least\n"
	    "1d (default: delete nothing)", cli_parse_duration, EXPIRE(purge_after_s),
	    LOCKQ_PURGE_AFTER_MIN, LOCKQ_PURGE_AFTER_MAX },
	CLI_OPTIONS_END
};

static const struct cli_tool disposition_tool = {
	.name = "disposition",
	.synopsis = "[--user NAME] --task N --loan L[,L...] [--token N]\n"
	    " --complete | --never | --renew | --return-after DURATION\n"
	    " [--not-me | --not-me-for DURATION] [--note TEXT]\n"
	    " [--uuid UUID] [--timeout SECONDS] [--json]\n"
	    "--expire [--batch N] [--purge-after DURATION] [--json]",
	.purpose = "Records what became of loans that are assigned to a user, or renews their\n"
	    "leases. Running the same command again does no harm. A loan that is refused\n"
	    "stays as it was, and the others are done. With --expire, for cron, it does\n"
	    "what is due because time has passed.",
	.examples = "  disposition --task 7 --loan 123 --complete\n"
	    "  disposition --user oliver --task 7 --loan 12:7,13:7 --complete\n"
	    "  disposition --task 7 --loan 123 --return-after 4h --note 'no answer'\n"
	    "  disposition --task 7 --loan 123 --return-after 0 --not-me\n"
	    "  checkwork --task 7 --json | jq -r .loan_id |\n"
	    "      disposition --task 7 --loan - --renew\n"
	    "  disposition --expire\n",
	.exits = "  0  done, or done before\n"
	    "  2  usage error\n"
	    "  3  another session holds a loan: nothing was changed, try again\n"
	    "  4  refused: the user or task is unknown, or a loan is not yours, its token is\n"
	    "     stale, its lease has run out, or the task's on_complete refuses it; or the\n"
	    "     UUID was used for something else\n"
	    "  5  no database, a failed query, the task's on_complete failed for a loan, or\n"
	    "     the output could not be written\n"
	    "  6  outcome unknown (connection lost at commit): run the same command again\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP\n",
	.options = disposition_table,
	.check = check,
};

int
main(int argc, char **argv)
{
	struct disposition_options o = DISPOSITION_DEFAULTS;

	cli_start(&disposition_tool, &o, argc, argv);
	cli_end(o.expire.wanted ? disposition_expire_run(&o.common, &o.expire) :
	    disposition_loans_run(&o.common, &o.dispose));
}
