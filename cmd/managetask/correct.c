/* SPDX-License-Identifier: MIT */
/* The commands of managetask that correct assignments and requests. */
#include <stdlib.h>

#include "cli/answer.h"
#include "cli/dispose.h"
#include "cli/json.h"
#include "managetask/commands.h"

static int
check_reason(struct manage_options *o, struct cli_error *error)
{
	if (o->reason == NULL || o->reason[0] == '\0')
		return cli_fail(error, "--reason is missing: the log tells it");
	return manage_check_by(o, error);
}

static int
check_loans(void *options, struct cli_error *error)
{
	struct manage_options *o = options;

	if (manage_check_task(o, error) != 0)
		return -1;
	if (o->loans.n == 0 && !o->loans.from_stdin)
		return cli_fail(error, "--loan is missing");
	/* What is withdrawn needs none. */
	if ((o->withdraws ? manage_check_by(o, error) : check_reason(o, error)) != 0)
		return -1;
	return o->loans.from_stdin ? loan_option_read(&o->loans, stdin, error) : 0;
}

static int
check_reassign(void *options, struct cli_error *error)
{
	const struct manage_options *o = options;

	if (o->from == NULL || o->to == NULL)
		return cli_fail(error, "%s is missing", o->from == NULL ? "--from" : "--to");
	return check_loans(options, error);
}

static int
check_cancel(void *options, struct cli_error *error)
{
	struct manage_options *o = options;

	if (o->request == NULL)
		return cli_fail(error, "the request's number or UUID is missing");
	return check_reason(o, error);
}

/* A loan that nobody has yet has no row to tell of. */
static void
print_urgent(const struct lockq_correction *what, const struct lockq_disposed_loan *loan)
{
	unsigned long long id = loan->loan_id;
	bool already = loan->what == LOCKQ_DISPOSED_ALREADY, row = loan->state[0] != '\0';
	char *stands = disposition_standing(loan);

	if (what->kind == LOCKQ_NOT_URGENT && already)
		cli_line("loan %llu: not urgent%s%s", id, row ? ": " : "", row ? stands : "");
	else if (what->kind == LOCKQ_NOT_URGENT)
		cli_line("loan %llu: comes in its turn", id);
	else
		cli_line("loan %llu: is offered next%s, if the view of task %u shows it%s%s", id,
		    already ? " already" : "", what->task, row ? ": " : "", row ? stands : "");
	free(stands);
}

static void
print_done(const struct lockq_correction *what, const struct lockq_disposed_loan *loan)
{
	unsigned long long id = loan->loan_id, token = loan->token;
	bool already = loan->what == LOCKQ_DISPOSED_ALREADY;
	struct cli_time since = cli_local(loan->since), until = cli_local(loan->lease_expires_at);

	if (what->kind == LOCKQ_URGENT || what->kind == LOCKQ_NOT_URGENT)
		print_urgent(what, loan);
	else if (what->kind == LOCKQ_RELEASE && already)
		cli_line("loan %llu: already released at %s", id, since.text);
	else if (what->kind == LOCKQ_RELEASE)
		cli_line("loan %llu: released, %s has it no longer", id, loan->holder);
	else if (already)
		cli_line("loan %llu: already given to %s at %s, with token %llu", id, loan->holder,
		    since.text, token);
	else
		cli_line("loan %llu: %s has it %s, with token %llu%s%s", id, loan->holder,
		    what->kind == LOCKQ_UNDO ? "again" : "now", token,
		    until.text[0] != '\0' ? ", until " : "", until.text);
}

static void
print_refused(const struct lockq_correction *what,
    const struct lockq_disposed_loan *loan, uint64_t given)
{
	unsigned long long id = loan->loan_id, token = given;
	char *stands = disposition_standing(loan);
	struct cli_time until = cli_local(loan->excluded_until);

	switch (loan->what) {
	case LOCKQ_NOT_YOURS:
		if (what->kind == LOCKQ_UNDO)
			cli_message("loan %llu is %s: there is nothing to take back", id, stands);
		else if (what->kind == LOCKQ_URGENT)
			cli_message("loan %llu was not put first: %s", id, stands);
		else
			cli_message("loan %llu is not one of user \"%s\": %s", id, what->from,
			    stands);
		break;
	case LOCKQ_STALE_TOKEN:
		cli_message("loan %llu: token %llu is stale: %s, with token %llu", id, token,
		    stands, (unsigned long long)loan->token);
		break;
	case LOCKQ_LEASE_OVER:
		cli_message("loan %llu is nobody's: the lease of user \"%s\" ran out at %s", id,
		    loan->holder, cli_local(loan->lease_expires_at).text);
		break;
	case LOCKQ_NOT_COMPLETED:
	case LOCKQ_NOT_ALLOWED:
		cli_message("loan %llu was not %s: %s%s%s", id, what->kind == LOCKQ_UNDO ?
		    "given back" : what->kind == LOCKQ_URGENT ? "put first" : "reassigned",
		    loan->reason, until.text[0] != '\0' ? ", until " : "", until.text);
		break;
	case LOCKQ_NOT_ASSIGNED:
		if (loan->state[0] == '\0')
			cli_message("loan %llu was never assigned in task %u", id, what->task);
		else
			cli_message("loan %llu is not assigned in task %u: %s", id, what->task,
			    stands);
		break;
	case LOCKQ_DISPOSED:
	case LOCKQ_DISPOSED_ALREADY:
		break;
	}
	free(stands);
}

static void
json_corrected(const struct lockq_correction *what, const struct lockq_disposed_loan *loan,
    int status)
{
	json_t *object = json_object();

	cli_json_set(object, "loan_id", cli_json_number(loan->loan_id));
	cli_json_set(object, "task", cli_json_number(what->task));
	cli_json_set(object, "manager", cli_json_text(what->manager));
	cli_json_set(object, "result", cli_json_text(
	    loan->what == LOCKQ_NOT_COMPLETED ? "not_undone" : disposition_result(loan->what)));
	disposed_loan_set(object, loan);
	cli_json_set(object, "reason", cli_json_text(loan->reason));
	cli_json_set(object, "exit", json_integer(status));
	cli_json_print(object);
}

/* Prints a line for each loan. Returns the exit status. */
static int
show(const struct manage_options *o, struct lockq *q, const struct lockq_correction *what,
    const struct lockq_disposed_result *result, int rc)
{
	if (result->n_loans == 0)
		return cli_report_library(&o->common, q, rc);
	for (size_t i = 0; i < result->n_loans; i++) {
		const struct lockq_disposed_loan *loan = &result->loans[i];
		int one = cli_exit_status_of_loan(loan->what);

		if (o->common.json)
			json_corrected(what, loan, one);
		else if (one == CLI_EXIT_DONE)
			print_done(what, loan);
		if (one != CLI_EXIT_DONE)
			print_refused(what, loan, what->loans[i].token);
	}
	return cli_exit_status(rc, cli_caught());
}

static int
correct(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	struct lockq_correction what = LOCKQ_CORRECTION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	int rc, status;

	what.manager = o->by;
	what.task = o->task;
	what.kind = o->withdraws ? LOCKQ_NOT_URGENT : (enum lockq_correction_kind)command->kind;
	what.from = o->from;
	what.to = o->to;
	what.reason = o->reason;
	what.loans = o->loans.list;
	what.n_loans = o->loans.n;
	rc = lockq_correct(q, &what, &result);
	status = show(o, q, &what, &result, rc);
	lockq_disposed_clear(&result);
	free(o->loans.list);
	return status;
}

static int
cancel(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int rc = lockq_cancel_for(q, o->by, o->request, o->reason, &answer);
	int status = cli_exit_status(rc, cli_caught());
	const char *complaint = rc != LOCKQ_OK ? cli_library_text(q, rc) : NULL;

	(void)command;
	if (answer.user == NULL)
		status = cli_report_library(&o->common, q, rc);
	else
		cli_answer_print(o->common.json, &answer, true, rc, status, complaint);
	lockq_answer_clear(&answer);
	return status;
}

/* --- their options --- */

#define LOANS { .help = "Which loans" }, MANAGE_TASK, \
	{ "loan", 'l', "L[,L...]", "the loans, as in 12 or, with the assignment's token,\n" \
	    "12:7; - reads standard input", loan_option_parse, MANAGE(loans), 0, 0 }
#define FROM(help) { "from", 0, "USER", help, cli_parse_utf8, MANAGE(from), 0, 64 }

static const struct cli_option release_options[] = { LOANS,
	FROM("only loans that this user has (default: whoever)"), MANAGE_BY, CLI_OPTIONS_END };
static const struct cli_option reassign_options[] = { LOANS, FROM("who has them"),
	{ "to", 0, "USER", "who is to have them", cli_parse_utf8, MANAGE(to), 0, 64 }, MANAGE_BY,
	CLI_OPTIONS_END };
static const struct cli_option undo_options[] = { LOANS, MANAGE_BY, CLI_OPTIONS_END };
static const struct cli_option urgent_options[] = { LOANS,
	{ "withdraw", 0, NULL, "they come in their turn again", cli_parse_flag,
	    MANAGE(withdraws), 0, 0 }, MANAGE_BY, CLI_OPTIONS_END };
static const struct cli_option cancel_options[] = { { .help = "Which request" },
	{ "request", 'r', "ID|UUID", "the request, of any user", cli_parse_request,
	    MANAGE(request), 0, 0 }, MANAGE_BY, CLI_OPTIONS_END };

#define EXITS \
	"  0  done, or done before by the same manager\n" \
	"  2  usage error\n" \
	"  3  another session holds what is to be changed: try again\n" \
	"  4  refused: the reason says why, and how a loan stands now\n" \
	CLI_EXITS_ERRORS \
	"  6  outcome unknown (connection lost meanwhile): run the same command again\n"

static const struct cli_tool release_tool = {
	MANAGE_TOOL, .command = "release", .options = release_options, .check = check_loans,
	.bare = "task",
	.synopsis = "--task N --loan L[,L...] [--from USER] --reason TEXT\n"
	    " [--by NAME] [--json]",
	.purpose = "Puts loans back into the line: whoever has them has them no longer, and they\n"
	    "are offered again at once. A loan that is refused stays as it was, and the\n"
	    "others are done.",
	.examples = "  managetask release --task 7 --loan 12,13 --reason 'oliver is ill'\n"
	    "  checkwork --user oliver --task 7 --json | jq -r .loan_id |\n"
	    "      managetask release --task 7 --loan - --reason 'oliver is ill'\n",
	.exits = EXITS,
};
static const struct cli_tool reassign_tool = {
	MANAGE_TOOL, .command = "reassign", .options = reassign_options, .check = check_reassign,
	.bare = "task",
	.synopsis = "--task N --loan L[,L...] --from USER --to USER\n"
	    " --reason TEXT [--by NAME] [--json]",
	.purpose = "Gives loans that somebody has to somebody else, with a lease that begins\n"
	    "anew, up to the task's max_pipeline.",
	.examples = "  managetask reassign --task 7 --loan 12 --from oliver --to tracy \\\n"
	    "      --reason 'tracy knows the customer'\n",
	.exits = EXITS,
};
static const struct cli_tool undo_tool = {
	MANAGE_TOOL, .command = "undo", .options = undo_options, .check = check_loans,
	.bare = "task",
	.synopsis = "--task N --loan L[,L...] --reason TEXT [--by NAME]\n [--json]",
	.purpose = "Takes back what was said last of loans, as long as nobody has them again: the\n"
	    "users who disposed of them have them once more, with leases that begin anew.\n"
	    "Where the task's on_complete has changed other data, its on_undo is called.",
	.examples = "  managetask undo --task 7 --loan 12 --reason 'it was loan 21'\n",
	.exits = "  0  done, or done before by the same manager\n"
	    "  2  usage error\n"
	    "  3  another session holds what is to be changed: try again\n"
	    "  4  refused: the reason says why, and how a loan stands now\n"
	    "  5  no database, a failed query, the task's on_undo failed for a loan, or the\n"
	    "     output could not be written\n"
	    "  6  outcome unknown (connection lost meanwhile): run the same command again\n",
};
static const struct cli_tool urgent_tool = {
	MANAGE_TOOL, .command = "urgent", .options = urgent_options, .check = check_loans,
	.bare = "task", .bare_next = "loan",
	.synopsis = "N L[,L...] --reason TEXT [--by NAME] [--json]\n"
	    "N L[,L...] --withdraw [--by NAME] [--json]",
	.purpose = "Has loans of a task offered before all others, if its view shows them, until\n"
	    "somebody gets them, for 7 days at most. Those that the view puts first come\n"
	    "first. A loan that somebody holds is refused.",
	.examples = "  managetask urgent 7 12,13 --reason 'the customer is waiting'\n"
	    "  managetask urgent 7 12 --withdraw\n",
	.exits = EXITS,
};
static const struct cli_tool cancel_tool = {
	MANAGE_TOOL, .command = "cancel", .options = cancel_options, .check = check_cancel,
	.bare = "request",
	.synopsis = "ID|UUID --reason TEXT [--by NAME] [--json]",
	.purpose = "Cancels somebody's pending request. Whoever waits for it is told the reason.",
	.examples = "  managetask cancel 4711 --reason 'asked for the wrong task'\n",
	.exits = EXITS,
};

const struct manage_command manage_correct_commands[] = {
	{ .tool = &release_tool, .run = correct, .kind = LOCKQ_RELEASE },
	{ .tool = &reassign_tool, .run = correct, .kind = LOCKQ_REASSIGN },
	{ .tool = &undo_tool, .run = correct, .kind = LOCKQ_UNDO },
	{ .tool = &urgent_tool, .run = correct, .kind = LOCKQ_URGENT },
	{ .tool = &cancel_tool, .run = cancel }, { .tool = NULL }
};
