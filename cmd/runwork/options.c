/* SPDX-License-Identifier: MIT */
#include "runwork/tool.h"

enum { RETRY_AFTER_S = 3600, GIVE_UP_AFTER = 3 };

/* A request with a UUID does not join another process's, and so no two processes work on the same
 * loans. */
static int
check(void *options, struct cli_error *error)
{
	struct runwork_options *o = options;

	if (o->command[0] == NULL)
		return cli_fail(error, "a command is missing, as in runwork --task 7 -- ./verify");
	if (cli_ask_check(&o->asking, error) != 0)
		return -1;
	if (o->retry_after_s == UINT32_MAX)
		o->retry_after_s = RETRY_AFTER_S;
	if (o->give_up_after == 0)
		o->give_up_after = GIVE_UP_AFTER;
	o->asking.tasks.unshared = true;
	if (!cli_ask_several(&o->asking) && o->asking.ask.uuid == NULL) {
		cli_new_uuid(o->uuid);
		o->asking.ask.uuid = o->uuid;
	}
	return 0;
}

#define OPTION(member) offsetof(struct runwork_options, member)
#define ASK(member) OPTION(asking.member)

static const struct cli_option runwork_table[] = {
	CLI_ASK_WHAT(ASK),
	CLI_ASK_WAIT(ASK),
	{ .help = "How the command ends" },
	{ "retry-after", 0, "DURATION", "after exit 75, offer the loan again after this time\n"
	    "(default: 1h)", cli_parse_duration, OPTION(retry_after_s), 0,
	    LOCKQ_RETURN_AFTER_MAX },
	{ "give-up-after", 0, "N", "end after so many failures in a row, and return the\n"
	    "other loans (default: 3)", cli_parse_u32, OPTION(give_up_after), 1,
	    LOCKQ_COUNT_MAX },
	{ .help = "Afterwards" },
	CLI_ASK_REFILL(ASK),
	CLI_OPTIONS_END
};

const struct cli_tool runwork_tool = {
	.name = "runwork",
	.synopsis = "[--user NAME] --task N[,N...] | --any\n"
	    " [--count N] [--uuid UUID] [--fresh]\n"
	    " [--timeout SECONDS] [--poll S,S,... [--tries N]]\n"
	    " [--retry-after DURATION] [--give-up-after N]\n"
	    " [--no-refill] [--json] [--] COMMAND [ARGUMENT...]",
	.purpose = "Asks for the next loans of a task, as getwork does, and runs a command for\n"
	    "each of them, one after the other. The loan's number is in LOCKQ_LOAN. If the\n"
	    "command exits with 0, the loan is completed; with 75, it is returned for later;\n"
	    "with anything else, it is returned at once. Leases are renewed meanwhile.",
	.examples = "  runwork --task 7 -- ./verify\n"
	    "  runwork --task 7 --count 5 -- sh -c './verify \"$LOCKQ_LOAN\"'\n"
	    "  runwork --any --count 20 --retry-after 4h --json -- ./verify --strict\n",
	.exits = "  0  all loans are completed\n"
	    "  1  the task has no work for this user\n"
	    "  2  usage error\n"
	    "  3  loans were returned; or the request is cancelled on timeout or expired: try\n"
	    "     again\n"
	    "  4  refused: the user or task is unknown, the task is disabled, it allows fewer\n"
	    "     loans, or the UUID can't be used again; or a loan was not yours any more,\n"
	    "     or on_complete refuses it\n"
	    "  5  no database, a failed query, or the output could not be written; or too\n"
	    "     many failures in a row\n"
	    "  6  outcome unknown (connection lost at commit): see checkwork\n"
	    "  126, 127  the command can't be run, or is not found: no loan is kept\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP: the loans that are not done\n"
	    "     are returned\n",
	.leads = true,
	.arguments = OPTION(command),
	.options = runwork_table,
	.check = check,
};
