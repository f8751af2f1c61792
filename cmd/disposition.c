/* SPDX-License-Identifier: MIT */
/* disposition: says what became of loans: complete, return later, never; or renews their leases. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_json.h"
#include "cli_terminal.h"
#include "cli_times.h"
#include "cli_values.h"
#include "expire.h"

enum {
	NOTE_LONGEST = 512,
	LOANS_MAX = 10000,
	LOAN_LONGEST = 64,        /* characters of LOAN:TOKEN, and more */
	NOT_ME_S = 30 * 24 * 3600 /* what a person can't do today is not done in a week */
};

/* The --loan options, one after the other. */
struct loans {
	struct lockq_loan_ref *list;
	size_t n, capacity;
	bool from_stdin;
};

struct disposition_options {
	struct cli_common common;
	struct lockq_disposition what;
	struct loans loans;
	uint64_t token;
	bool complete;
	bool never;
	bool renew;
	bool not_me;
	uint32_t return_after_s;
	uint32_t not_me_for_s;
	struct expire_options expire;
};
#define NOT_GIVEN UINT32_MAX
#define DISPOSITION_DEFAULTS { CLI_COMMON_INIT, LOCKQ_DISPOSITION_INIT, { NULL, 0, 0, false }, 0, \
	false, false, false, false, NOT_GIVEN, NOT_GIVEN, EXPIRE_DEFAULTS }

/* Reads "LOAN" or "LOAN:TOKEN"; tokens count from 1. */
static int
parse_ref(struct lockq_loan_ref *ref, const char *text)
{
	size_t length = strcspn(text, ":");
	char *loan = cli_text("%.*s", (int)length, text);
	int rc = cli_number(&ref->loan_id, loan);

	free(loan);
	ref->token = 0;
	if (rc == 0 && text[length] == ':') {
		rc = cli_number(&ref->token, text + length + 1);
		if (ref->token == 0)
			rc = -1;
	}
	return rc;
}

static int
add_loan(struct loans *loans, const struct lockq_loan_ref *ref, struct cli_error *error)
{
	size_t i;

	for (i = 0; i < loans->n; i++) {
		if (loans->list[i].loan_id == ref->loan_id)
			return cli_fail(error, "--loan: %llu is named twice",
			    (unsigned long long)ref->loan_id);
	}
	if (loans->n == LOANS_MAX)
		return cli_fail(error, "--loan: more than %d loans at once", LOANS_MAX);
	if (loans->n == loans->capacity) {
		loans->capacity = loans->capacity == 0 ? 16 : loans->capacity * 2;
		loans->list = cli_realloc(loans->list, loans->capacity * sizeof(*loans->list));
	}
	loans->list[loans->n++] = *ref;
	return 0;
}

static int
parse_loans(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct lockq_loan_ref ref = { 0, 0 };
	const char *from = text;
	struct loans *loans = target;
	size_t length;
	char *one;
	int rc;

	if (strcmp(text, "-") == 0) {
		loans->from_stdin = true;
		return 0;
	}
	for (;;) {
		length = strcspn(from, ",");
		one = cli_text("%.*s", (int)length, from);
		rc = parse_ref(&ref, one);
		if (rc != 0)
			cli_fail(error, "--%s %s: must be a loan, or loan:token, as in 12 or 12:7",
			    option->name, one);
		else
			rc = add_loan(loans, &ref, error);
		free(one);
		if (rc != 0 || from[length] == '\0')
			return rc;
		from += length + 1;
	}
}

/* --loan -: loans on standard input, with white space or commas between them. */
static int
read_loans(struct loans *loans, FILE *in, struct cli_error *error)
{
	char word[LOAN_LONGEST + 1] = "";
	struct lockq_loan_ref ref = { 0, 0 };
	size_t n = 0;
	int c;

	do {
		c = getc(in);
		if (c != EOF && strchr(" \t\r\n,", c) == NULL) {
			/* What is longer is no loan, nor what has a NUL. */
			if (n == LOAN_LONGEST)
				word[0] = '?';
			else
				word[n++] = c != '\0' ? (char)c : '?';
			continue;
		}
		word[n] = '\0';
		if (n > 0 && parse_ref(&ref, word) != 0)
			return cli_fail(error, "--loan -: '%s' on standard input: must be a loan, "
			    "or loan:token, as in 12 or 12:7", word);
		if (n > 0 && add_loan(loans, &ref, error) != 0)
			return -1;
		n = 0;
	} while (c != EOF);
	if (ferror(in))
		return cli_fail(error, "--loan -: standard input can't be read");
	return loans->n > 0 ? 0 : cli_fail(error, "--loan -: no loan on standard input");
}

static int
check_kind(struct disposition_options *o, struct cli_error *error)
{
	bool returned = o->return_after_s != NOT_GIVEN;
	int given = o->complete + o->never + o->renew + returned;

	if (given != 1)
		return cli_fail(error, "%s of --complete, --return-after, --never and --renew",
		    given == 0 ? "say one" : "only one");
	o->what.kind = o->complete ? LOCKQ_COMPLETE : o->never ? LOCKQ_NEVER :
	    o->renew ? LOCKQ_RENEW : LOCKQ_RETURN;
	o->what.return_after_s = returned ? o->return_after_s : 0;
	if ((o->not_me || o->not_me_for_s != NOT_GIVEN) && !returned)
		return cli_fail(error, "--not-me goes with --return-after");
	if (o->not_me_for_s != NOT_GIVEN)
		o->what.not_me_s = o->not_me_for_s;
	else if (o->not_me)
		o->what.not_me_s = NOT_ME_S;
	return 0;
}

/* Whether anything is said about loans. */
static bool
disposes(const struct disposition_options *o)
{
	return o->complete || o->never || o->renew || o->not_me ||
	    o->not_me_for_s != NOT_GIVEN || o->return_after_s != NOT_GIVEN || o->loans.n > 0 ||
	    o->loans.from_stdin ||
	    o->token != 0 || o->what.task != 0 || o->what.user != NULL || o->what.note != NULL;
}

static int
check(void *options, struct cli_error *error)
{
	struct disposition_options *o = options;

	if (expire_check(&o->expire, disposes(o), error) != 0)
		return -1;
	if (o->expire.wanted)
		return 0;
	if (o->what.task == 0)
		return cli_fail(error, "--task is missing");
	if (o->loans.n == 0 && !o->loans.from_stdin)
		return cli_fail(error, "--loan is missing");
	if (check_kind(o, error) != 0)
		return -1;
	if (o->loans.from_stdin && read_loans(&o->loans, stdin, error) != 0)
		return -1;
	if (o->token != 0 && (o->loans.n > 1 || o->loans.list[0].token != 0))
		return cli_fail(error, "--token goes with one loan: write --loan 12:7,13:7");
	if (o->token != 0)
		o->loans.list[0].token = o->token;
	if (o->what.user == NULL)
		o->what.user = cli_login_name();
	if (o->what.user == NULL)
		return cli_fail(error, "--user is missing, and your login has no name");
	o->what.loans = o->loans.list;
	o->what.n_loans = o->loans.n;
	return 0;
}

#define OPTION(member) offsetof(struct disposition_options, member)

static const struct cli_option disposition_table[] = {
	{ .help = "Which loans" },
	{ "user", 'u', "NAME", "whose they are (default: your login name)", cli_parse_utf8,
	    OPTION(what.user), 0, 0 },
	{ "task", 't', "N", "the task's number", cli_parse_u32, OPTION(what.task), 1, UINT32_MAX },
	{ "loan", 'l', "L[,L...]", "the loans; with a token, as in 12:7, only that\n"
	    "very assignment; -: read them from standard input",
	    parse_loans, OPTION(loans), 0, 0 },
	{ "token", 0, "N", "the token of a single loan", cli_parse_u64, OPTION(token), 1,
	    UINT64_MAX },
	{ .help = "What became of them" },
	{ "complete", 0, NULL, "the task is done for them", cli_parse_flag, OPTION(complete),
	    0, 0 },
	{ "return-after", 0, "DURATION", "offer them again after 30s, 90m, 4h, 2d; 0: at\n"
	    "once; 72h at most", cli_parse_duration, OPTION(return_after_s), 0,
	    LOCKQ_RETURN_AFTER_MAX },
	{ "not-me", 0, NULL, "with --return-after: offer them to others, not to\n"
	    "this user again for 30 days", cli_parse_flag, OPTION(not_me), 0, 0 },
	{ "not-me-for", 0, "DURATION", "the same for 30m, 4h, 90d; 366d at most",
	    cli_parse_duration, OPTION(not_me_for_s), 1, LOCKQ_NOT_ME_MAX },
	{ "never", 0, NULL, "never offer them again for this task", cli_parse_flag, OPTION(never),
	    0, 0 },
	{ "renew", 0, NULL, "still at work on them: their leases begin anew", cli_parse_flag,
	    OPTION(renew), 0, 0 },
	{ "note", 0, "TEXT", "why, up to 512 characters", cli_parse_utf8, OPTION(what.note), 0,
	    NOTE_LONGEST },
	EXPIRE_TABLE(OPTION(expire)),
	CLI_OPTIONS_END
};

static const struct cli_tool disposition_tool = {
	.name = "disposition",
	.synopsis = "[--user NAME] --task N --loan L[,L...] [--token N]\n"
	    " --complete | --return-after DURATION [--not-me] | --never | --renew\n"
	    " [--note TEXT] [--json]\n"
	    "--expire [--batch N] [--purge-after DURATION] [--json]",
	.purpose = "Says what became of loans that are assigned to a user, or that the user is\n"
	    "still at work on them. Saying the same again is fine. A loan that is refused\n"
	    "stays as it was; the others are done. Or, for cron, tidies up.",
	.examples = "  disposition --task 7 --loan 123 --complete\n"
	    "  disposition --user oliver --task 7 --loan 12:7,13:7 --complete\n"
	    "  disposition --task 7 --loan 123 --return-after 4h --note 'no answer'\n"
	    "  disposition --task 7 --loan 123 --return-after 0 --not-me\n"
	    "  checkwork --task 7 --json | jq -r .loan_id | disposition --task 7 --loan - --renew\n"
	    "  disposition --expire\n",
	.exits = "  0  done, or done before\n"
	    "  2  usage error\n"
	    "  4  refused: unknown user or task; a loan that is not yours, or no longer\n"
	    "  5  no database, the task's on_complete failed for a loan, or the output could\n"
	    "     not be written\n"
	    "  6  outcome unknown (connection lost at commit): say the same again\n",
	.options = disposition_table,
	.check = check,
};

static const char *
result_name(enum lockq_disposed what)
{
	static const char *const names[] = {
		[LOCKQ_DISPOSED] = "done",
		[LOCKQ_DISPOSED_ALREADY] = "already",
		[LOCKQ_NOT_ASSIGNED] = "not_assigned",
		[LOCKQ_NOT_YOURS] = "not_yours",
		[LOCKQ_STALE_TOKEN] = "stale_token",
		[LOCKQ_LEASE_OVER] = "lease_over",
		[LOCKQ_NOT_COMPLETED] = "not_completed",
	};

	return (size_t)what < sizeof(names) / sizeof(names[0]) ? names[what] : "unknown";
}

static void
print_json(const struct disposition_options *o, const struct lockq_disposed_loan *loan, int status)
{
	json_t *object = json_object();

	cli_json_set(object, "loan_id", cli_json_number(loan->loan_id));
	cli_json_set(object, "user", cli_json_text(o->what.user));
	cli_json_set(object, "task", cli_json_number(o->what.task));
	cli_json_set(object, "result", cli_json_text(result_name(loan->what)));
	cli_json_set(object, "state", loan->state[0] != '\0' ? cli_json_text(loan->state) :
	    json_null());
	cli_json_set(object, "holder", cli_json_text(loan->holder));
	cli_json_set(object, "token",
	    loan->state[0] != '\0' ? cli_json_number(loan->token) : json_null());
	cli_json_set(object, "since", cli_json_time(loan->since));
	cli_json_set(object, "available_at", cli_json_time(loan->available_at));
	cli_json_set(object, "lease_expires_at", cli_json_time(loan->lease_expires_at));
	cli_json_set(object, "excluded_until", cli_json_time(loan->excluded_until));
	cli_json_set(object, "reason", cli_json_text(loan->reason));
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
}

/* What was done, as in "already completed at 10:41". */
static const char *
deed(const struct lockq_disposed_loan *loan)
{
	return strcmp(loan->state, "never") == 0 ? "set to never" : loan->state;
}

static void
print_renewed(const struct lockq_disposed_loan *loan, time_t now)
{
	unsigned long long id = loan->loan_id;
	char until[CLI_TIME_SIZE];

	cli_time_local(until, loan->lease_expires_at, false, now);
	if (until[0] == '\0')
		cli_line("loan %llu: yours without a time limit: %s", id,
		    loan->what == LOCKQ_DISPOSED ? "noted" : "nothing to renew");
	else
		cli_line("loan %llu: renewed, yours until %s", id, until);
}

static void
print_excluded(const struct lockq_disposed_loan *loan, const char *from, time_t now)
{
	char until[CLI_TIME_SIZE];

	cli_time_local(until, loan->excluded_until, false, now);
	cli_line("loan %llu: returned, available to others from %s, to you not before %s",
	    (unsigned long long)loan->loan_id, from, until);
}

static void
print_done(const struct lockq_disposed_loan *loan, bool noted, time_t now)
{
	unsigned long long id = loan->loan_id;
	char since[CLI_TIME_SIZE], from[CLI_TIME_SIZE];
	const char *available;

	cli_time_local(since, loan->since, false, now);
	cli_time_local(from, loan->available_at, false, now);
	available = from[0] == '\0' ? "" : strcmp(loan->state, "returned") == 0 ?
	    ", available from " : ", not offered before ";
	if (strcmp(loan->state, "assigned") == 0)
		print_renewed(loan, now);
	else if (loan->excluded_until[0] != '\0')
		print_excluded(loan, from, now);
	else if (loan->what == LOCKQ_DISPOSED)
		cli_line("loan %llu: %s%s%s", id, deed(loan), available, from);
	else
		cli_line("loan %llu: already %s at %s%s%s%s", id, deed(loan), since, available,
		    from, noted ? ": the note stays as it was" : "");
}

/* Nobody holds it: who did what last, where that is known. */
static void
print_not_assigned(const struct lockq_disposed_loan *loan, uint32_t task, const char *since)
{
	unsigned long long id = loan->loan_id;
	const char *holder = loan->holder != NULL ? loan->holder : "somebody";

	if (loan->state[0] == '\0')
		cli_message("loan %llu is not assigned in task %u: see checkwork", id, task);
	else
		cli_message("loan %llu is not assigned in task %u: %s by %s at %s: see checkwork",
		    id, task, deed(loan), holder, since);
}

static void
print_stale(const struct disposition_options *o, const struct lockq_disposed_loan *loan,
    uint64_t given, const char *since)
{
	unsigned long long id = loan->loan_id, token = loan->token, old = given;
	const char *holder = loan->holder != NULL ? loan->holder : "somebody else";

	if (strcmp(loan->state, "assigned") != 0)
		cli_message("loan %llu: token %llu is stale: %s by %s at %s, under token %llu", id,
		    old, deed(loan), holder, since, token);
	else if (strcmp(holder, o->what.user) == 0)
		cli_message("loan %llu: token %llu is stale: it is yours anew since %s, under "
		    "token %llu: look at it again", id, old, since, token);
	else
		cli_message("loan %llu: token %llu is stale: reassigned to %s at %s", id, old,
		    holder, since);
}

static void
print_refused(const struct disposition_options *o, const struct lockq_disposed_loan *loan,
    uint64_t given, time_t now)
{
	unsigned long long id = loan->loan_id;
	const char *holder = loan->holder != NULL ? loan->holder : "somebody else";
	char since[CLI_TIME_SIZE], lease[CLI_TIME_SIZE];

	cli_time_local(since, loan->since, false, now);
	cli_time_local(lease, loan->lease_expires_at, false, now);
	switch (loan->what) {
	case LOCKQ_NOT_YOURS:
		cli_message("loan %llu is not yours: assigned to %s since %s", id, holder, since);
		break;
	case LOCKQ_STALE_TOKEN:
		print_stale(o, loan, given, since);
		break;
	case LOCKQ_LEASE_OVER:
		cli_message("loan %llu is no longer yours: its lease ran out at %s: ask again with "
		    "getwork", id, lease);
		break;
	case LOCKQ_NOT_COMPLETED:
		cli_message("loan %llu was not completed, it is still yours: %s", id, loan->reason);
		break;
	default:
		print_not_assigned(loan, o->what.task, since);
	}
}

static int
exit_of(enum lockq_disposed what)
{
	if (what == LOCKQ_NOT_COMPLETED)
		return CLI_EXIT_DATABASE;
	return what <= LOCKQ_DISPOSED_ALREADY ? CLI_EXIT_DONE : CLI_EXIT_REFUSED;
}

/* An answer a loan. Returns the exit status. */
static int
show(const struct disposition_options *o, struct lockq *q,
    const struct lockq_disposed_result *result, int rc)
{
	int status = cli_exit_status(rc, cli_caught());
	time_t now = time(NULL);
	int one;
	size_t i;

	if (result->n_loans == 0 && rc == LOCKQ_EUNKNOWN)
		return cli_report(&o->common, status, "%s: say the same again",
		    cli_library_text(q, rc));
	if (result->n_loans == 0)
		return cli_report_library(&o->common, q, rc);
	for (i = 0; i < result->n_loans; i++) {
		one = exit_of(result->loans[i].what);
		if (o->common.json)
			print_json(o, &result->loans[i], one);
		if (one != CLI_EXIT_DONE)
			print_refused(o, &result->loans[i], o->what.loans[i].token, now);
		else if (!o->common.json)
			print_done(&result->loans[i], o->what.note != NULL, now);
	}
	return status;
}

static void
print_details(const struct disposition_options *o, const struct lockq_disposed_result *result)
{
	size_t i;

	for (i = 0; i < result->n_loans; i++)
		cli_message("loan %llu, task %u: %s under token %llu",
		    (unsigned long long)result->loans[i].loan_id, o->what.task,
		    result_name(result->loans[i].what), (unsigned long long)result->loans[i].token);
}

int
main(int argc, char **argv)
{
	struct disposition_options o = DISPOSITION_DEFAULTS;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq *q = NULL;
	int rc;

	cli_start(&disposition_tool, &o, argc, argv);
	if (o.expire.wanted)
		return expire_run(&o.common, &o.expire);
	rc = cli_open(&q, &o.common);
	if (rc == LOCKQ_OK)
		rc = lockq_dispose(q, &o.what, &result);
	rc = cli_finish(show(&o, q, &result, rc), result.n_loans == 0 ? NULL :
	    "what was said is done all the same, see checkwork");
	if (o.common.verbose)
		print_details(&o, &result);
	lockq_disposed_clear(&result);
	free(o.loans.list);
	lockq_free(q);
	cli_end(rc);
}
