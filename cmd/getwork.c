/* SPDX-License-Identifier: MIT */
/* getwork: asks for the next loans of a task. */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "cli.h"
#include "cli_json.h"
#include "cli_terminal.h"
#include "cli_times.h"
#include "cli_values.h"

enum {
	GAPS_MAX = 64,
	GAP_LONGEST = 3600,
	TIMEOUT_LONGEST = 365 * 24 * 3600
};

struct gaps {
	uint32_t seconds[GAPS_MAX];
	size_t n;
};

struct getwork_options {
	struct cli_common common;
	struct lockq_ask ask;
	struct gaps poll;
	bool no_wait;
};
#define GETWORK_DEFAULTS { CLI_COMMON_INIT, LOCKQ_ASK_INIT, { { 0 }, 0 }, false }

static int
parse_gaps(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct gaps *gaps = target;
	const char *from = text;
	uint64_t number = 0;
	size_t length;
	char *one;
	int rc;

	gaps->n = 0;
	for (;;) {
		length = strcspn(from, ",");
		one = cli_text("%.*s", (int)length, from);
		rc = cli_number(&number, one);
		free(one);
		if (rc != 0 || number < option->min || number > option->max || gaps->n == GAPS_MAX)
			return cli_fail(error, "--%s %s: must be up to %d gaps of %llu to %llu "
			    "seconds, as in 5,10,20", option->name, text, GAPS_MAX,
			    (unsigned long long)option->min, (unsigned long long)option->max);
		gaps->seconds[gaps->n++] = (uint32_t)number;
		if (from[length] == '\0')
			return 0;
		from += length + 1;
	}
}

static int
check(void *options, struct cli_error *error)
{
	struct getwork_options *o = options;

	if (o->ask.task == 0)
		return cli_fail(error, "--task is missing");
	if (o->poll.n > 0 && o->no_wait)
		return cli_fail(error, "--poll and --no-wait exclude each other");
	if (o->ask.timeout_ms >= 0 && o->no_wait)
		return cli_fail(error, "--timeout and --no-wait exclude each other: --timeout 0 "
		    "does not wait either, and leaves nothing pending");
	if (o->ask.user == NULL)
		o->ask.user = cli_login_name();
	if (o->ask.user == NULL)
		return cli_fail(error, "--user is missing, and your login has no name");
	if (o->no_wait)
		o->ask.wait = LOCKQ_WAIT_NONE;
	else if (o->poll.n > 0)
		o->ask.wait = LOCKQ_WAIT_POLL;
	o->ask.poll_s = o->poll.seconds;
	o->ask.n_poll = o->poll.n;
	return 0;
}

#define OPTION(member) offsetof(struct getwork_options, member)

static const struct cli_option getwork_table[] = {
	{ .help = "What to ask for" },
	{ "user", 'u', "NAME", "who asks (default: your login name)", cli_parse_utf8,
	    OPTION(ask.user), 0, 0 },
	{ "task", 't', "N", "the task's number", cli_parse_u32, OPTION(ask.task), 1, UINT32_MAX },
	{ "count", 'n', "N", "how many loans (default: 1)", cli_parse_u32, OPTION(ask.count), 1,
	    LOCKQ_COUNT_MAX },
	{ .help = "How to wait while somebody else's query runs" },
	{ "timeout", 0, "SECONDS", "give up after this long; 0: don't wait", cli_parse_seconds,
	    OPTION(ask.timeout_ms), 0, TIMEOUT_LONGEST },
	{ "poll", 0, "S,S,...", "disconnect, and look again after these gaps;\n"
	    "the last one repeats", parse_gaps, OPTION(poll), 1, GAP_LONGEST },
	{ "no-wait", 0, NULL, "leave the request pending and go; checkwork\n"
	    "shows its answer", cli_parse_flag, OPTION(no_wait), 0, 0 },
	CLI_OPTIONS_END
};

static const struct cli_tool getwork_tool = {
	.name = "getwork",
	.synopsis = "[--user NAME] --task N [--count N] [--timeout SECONDS]\n"
	    " [--poll S,S,... | --no-wait] [--json]",
	.purpose = "Asks for the next loans of a task. One process at a time runs the task's\n"
	    "query; all who ask meanwhile are served from its result. Ctrl-C cancels the\n"
	    "request.",
	.examples = "  getwork --task 7\n"
	    "  getwork --user oliver --task 7 --count 3 --timeout 60\n"
	    "  getwork --task 7 --poll 5,10,20 --json\n",
	.exits = "  0  at least one loan is yours\n"
	    "  1  the task has no work\n"
	    "  2  usage error\n"
	    "  3  still pending, cancelled on timeout, or expired: try again\n"
	    "  4  refused: unknown user or task, task disabled, more than it allows\n"
	    CLI_EXITS_ERRORS
	    "  6  outcome unknown (connection lost at commit): see checkwork\n"
	    "  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP: the request is cancelled\n",
	.leads = true,
	.options = getwork_table,
	.check = check,
};

/* "after 30 s", "at once". */
static char *
when_given_up(int64_t timeout_ms)
{
	char after[CLI_TIME_SIZE];

	if (timeout_ms <= 0)
		return cli_text("at once");
	if (timeout_ms % 1000 == 0)
		cli_age(after, (uint64_t)timeout_ms / 1000);
	else
		cli_ms(after, (uint64_t)timeout_ms);
	return cli_text("after %s", after);
}

static char *
gave_up(const struct lockq_answer *answer, int64_t timeout_ms)
{
	char *when = when_given_up(timeout_ms), *text;
	unsigned long long id = answer->request_id;

	if (answer->status == LOCKQ_STATUS_CANCELLED)
		text = cli_text("gave up %s: request %llu is cancelled, try again", when, id);
	else
		text = cli_text("gave up %s: request %llu stays pending, as it is another "
		    "getwork's: see checkwork --request %llu", when, id, id);
	free(when);
	return text;
}

/* Why a request that ended without loans is to be made again. */
static char *
try_again(const struct lockq_answer *answer, int rc, int64_t timeout_ms)
{
	unsigned long long id = answer->request_id;
	bool cancelled = answer->status == LOCKQ_STATUS_CANCELLED;

	if (id == 0)
		return cli_text("interrupted: nothing was asked for");
	if (rc == LOCKQ_CANCELLED && cancelled)
		return cli_text("interrupted: request %llu is cancelled", id);
	if (rc == LOCKQ_CANCELLED)
		return cli_text("interrupted: request %llu stays pending, as it is another "
		    "getwork's: see checkwork --request %llu", id, id);
	if (answer->status == LOCKQ_EXPIRED)
		return cli_text("request %llu has expired: nobody looked after it, try again", id);
	if (cancelled && answer->joined)
		return cli_text("request %llu was cancelled by who made it, try again", id);
	return gave_up(answer, timeout_ms);
}

/* What to say on standard error about @rc; NULL where the answer says it all. */
static char *
complaint(const struct getwork_options *o, struct lockq *q, const struct lockq_answer *answer,
    int rc)
{
	const char *text = cli_library_text(q, rc);

	if (rc == LOCKQ_EQUERY && answer->reason != NULL)
		return cli_text("task %u's query failed: %s", o->ask.task, answer->reason);
	if (rc == LOCKQ_EUNKNOWN)
		return cli_text("%s%s: checkwork --user %s shows what is yours",
		    strncmp(text, "outcome unknown", 15) == 0 ? "" : "outcome unknown: ", text,
		    o->ask.user);
	if (rc < 0)
		return cli_text("%s", text);
	if (rc == LOCKQ_CANCELLED || (rc == LOCKQ_BUSY && answer->status != LOCKQ_PENDING) ||
	    (rc == LOCKQ_BUSY && !o->no_wait))
		return try_again(answer, rc, o->ask.timeout_ms);
	return NULL;
}

static void
print_answer(const struct lockq_answer *answer, int rc)
{
	unsigned long long id = answer->request_id;
	char *text;

	if (answer->joined)
		cli_line("joined your earlier request %llu for %u %s", id, answer->asked,
		    answer->asked == 1 ? "loan" : "loans");
	if (rc == LOCKQ_OK) {
		cli_answer_loans(answer, true);
	} else if (rc == LOCKQ_NOTHING) {
		text = cli_answer_no_work(answer, time(NULL));
		cli_line("%s", text);
		free(text);
	} else if (rc == LOCKQ_BUSY && answer->status == LOCKQ_PENDING) {
		cli_line("request %llu is pending, %s%s: see checkwork --request %llu", id,
		    answer->leader != NULL ? answer->leader : "nobody",
		    answer->leader != NULL ? " leads" : " leads at the moment", id);
	}
}

static void
print_details(const struct lockq_answer *answer)
{
	char waited[CLI_TIME_SIZE];

	cli_ms(waited, answer->waited_ms);
	if (answer->request_id != 0)
		cli_message("request %llu (%s): %s after %s",
		    (unsigned long long)answer->request_id, answer->uuid,
		    lockq_status_name(answer->status), waited);
	if (answer->leader != NULL && answer->epoch != 0)
		cli_message("led by %s, epoch %llu", answer->leader,
		    (unsigned long long)answer->epoch);
	else if (answer->leader != NULL)
		cli_message("%s leads", answer->leader);
	if (answer->retries > 0)
		cli_message("%u %s tried again", answer->retries, answer->retries == 1 ?
		    "transaction was" : "transactions were");
}

/* The answer to standard output, complaints to standard error. Returns the exit status. */
static int
show(const struct getwork_options *o, struct lockq *q, struct lockq_answer *answer, int rc)
{
	int status = cli_exit_status(rc, cli_caught());
	char *text = complaint(o, q, answer, rc);
	bool answered = answer->user != NULL || rc == LOCKQ_EUNKNOWN || rc > 0;

	if (o->common.json && answered) {
		if (answer->user == NULL) {
			answer->user = cli_text("%s", o->ask.user);
			answer->task = o->ask.task;
			answer->asked = answer->requested = o->ask.count;
		}
		cli_json_print(cli_json_answer(answer, status, rc < 0 ? text : NULL));
	}
	if (text != NULL && (answered || !o->common.json))
		cli_message("%s", text);
	else if (text != NULL)
		cli_report(&o->common, status, "%s", text);
	else if (!o->common.json)
		print_answer(answer, rc);
	if (o->common.verbose)
		print_details(answer);
	free(text);
	return status;
}

int
main(int argc, char **argv)
{
	struct getwork_options o = GETWORK_DEFAULTS;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq *q = NULL;
	int rc;

	cli_start(&getwork_tool, &o, argc, argv);
	rc = cli_open(&q, &o.common);
	if (rc == LOCKQ_OK) {
		cli_catch_signals();
		rc = lockq_getwork(q, &o.ask, &answer);
	}
	rc = cli_finish(show(&o, q, &answer, rc), answer.n_loans == 0 ? NULL :
	    "the loans are assigned all the same, see checkwork");
	lockq_answer_clear(&answer);
	lockq_free(q);
	cli_end(rc);
}
