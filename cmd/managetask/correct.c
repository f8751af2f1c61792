/* SPDX-License-Identifier: MIT */
/* The commands of managetask that correct assignments and requests. */
#include <stdlib.h>

#include "cli/answer.h"
#include "cli/dispose.h"
#include "cli/json.h"
#include "cli/noun.h"
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

	bool named = o->loans.n > 0 || o->loans.from_stdin;

	if (o->all && (named || o->from == NULL))
		return cli_fail(error, named ? "--all can't be combined with --loan" :
		    "--all needs --from");
	if (!o->all && manage_check_task(o, error) != 0)
		return -1;
	if (!o->all && !named)
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
	const char *noun = cli_loan();
	unsigned long long id = loan->loan_id;
	bool already = loan->what == LOCKQ_DISPOSED_ALREADY, row = loan->state[0] != '\0';
	char *stands = disposition_standing(loan);

	if (what->kind == LOCKQ_NOT_URGENT && already)
		cli_line("%s %llu: not urgent%s%s", noun, id, row ? ": " : "", row ? stands : "");
	else if (what->kind == LOCKQ_NOT_URGENT)
		cli_line("%s %llu: comes in its turn", noun, id);
	else
		cli_line("%s %llu: is offered next%s, if the view of task %u shows it%s%s", noun,
		    id, already ? " already" : "", what->task, row ? ": " : "", row ? stands : "");
	free(stands);
}

static void
print_done(const struct lockq_correction *what, const struct lockq_disposed_loan *loan)
{
	const char *noun = cli_loan();
	unsigned long long id = loan->loan_id, token = loan->token;
	bool already = loan->what == LOCKQ_DISPOSED_ALREADY;
	struct cli_time since = cli_local(loan->since);
	struct cli_time until = cli_until(loan->lease_expires_at, NULL);

	if (what->kind == LOCKQ_URGENT || what->kind == LOCKQ_NOT_URGENT)
		print_urgent(what, loan);
	else if (what->kind == LOCKQ_RELEASE && already)
		cli_line("%s %llu: already released at %s", noun, id, since.text);
	else if (what->kind == LOCKQ_RELEASE)
		cli_line("%s %llu: released, %s has it no longer", noun, id, loan->holder);
	else if (already)
		cli_line("%s %llu: already given to %s at %s, with token %llu", noun, id,
		    loan->holder, since.text, token);
	else
		cli_line("%s %llu: %s has it %s, with token %llu%s%s", noun, id, loan->holder,
		    what->kind == LOCKQ_UNDO ? "again" : "now", token,
		    until.text[0] != '\0' ? ", until " : "", until.text);
}

static void
print_refused(const struct lockq_correction *what,
    const struct lockq_disposed_loan *loan, uint64_t given)
{
	const char *noun = cli_loan();
	unsigned long long id = loan->loan_id, token = given;
	char *stands = disposition_standing(loan);
	struct cli_time until = cli_until(loan->excluded_until, NULL);

	switch (loan->what) {
	case LOCKQ_NOT_YOURS:
		if (what->kind == LOCKQ_UNDO)
			cli_message("%s %llu is %s: there is nothing to take back", noun, id,
			    stands);
		else if (what->kind == LOCKQ_URGENT)
			cli_message("%s %llu was not put first: %s", noun, id, stands);
		else
			cli_message("%s %llu is not one of user \"%s\": %s", noun, id, what->from,
			    stands);
		break;
	case LOCKQ_STALE_TOKEN:
		cli_message("%s %llu: token %llu is stale: %s, with token %llu", noun, id, token,
		    stands, (unsigned long long)loan->token);
		break;
	case LOCKQ_LEASE_OVER:
		cli_message("%s %llu is nobody's: the lease of user \"%s\" ran out at %s", noun, id,
		    loan->holder, cli_until(loan->lease_expires_at, NULL).text);
		break;
	case LOCKQ_NOT_COMPLETED:
	case LOCKQ_NOT_ALLOWED:
		cli_message("%s %llu was not %s: %s%s%s", noun, id, what->kind == LOCKQ_UNDO ?
		    "given back" : what->kind == LOCKQ_URGENT ? "put first" : "reassigned",
		    loan->reason, until.text[0] != '\0' ? ", until " : "", until.text);
		break;
	case LOCKQ_NOT_ASSIGNED:
		if (loan->state[0] == '\0')
			cli_message("%s %llu was never assigned in task %u", noun, id, what->task);
		else
			cli_message("%s %llu is not assigned in task %u: %s", noun, id, what->task,
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

/* *@goes_on: each loan has a result. Else the same would be said of those of another task. */
static int
correct_these(const struct manage_options *o, struct lockq *q,
    const struct manage_command *command, uint32_t task, const struct loan_option *loans,
    bool *goes_on)
{
	struct lockq_correction what = LOCKQ_CORRECTION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	int rc, status;

	what.manager = o->by;
	what.task = task;
	what.kind = o->withdraws ? LOCKQ_NOT_URGENT : (enum lockq_correction_kind)command->kind;
	what.from = o->from;
	what.to = o->to;
	what.reason = o->reason;
	what.loans = loans->list;
	what.n_loans = loans->n;
	cli_noun_read(&o->common, q, task);
	rc = lockq_correct(q, &what, &result);
	status = show(o, q, &what, &result, rc);
	*goes_on = result.n_loans > 0;
	lockq_disposed_clear(&result);
	return status;
}

/* The loans of one task from *@i on, as many as one correction may have; *@i is moved past them. A
 * loan whose lease is over is nobody's. */
static struct loan_option
next_loans(const struct lockq_pipeline *pipeline, size_t *i)
{
	struct loan_option loans = LOAN_OPTION_EMPTY;
	uint32_t task = pipeline->assignments[*i].task;

	loans.list = cli_alloc(pipeline->n_assignments * sizeof(*loans.list));
	for (; *i < pipeline->n_assignments && loans.n < LOCKQ_DISPOSE_MAX; ++*i) {
		const struct lockq_assignment *a = &pipeline->assignments[*i];

		if (a->task != task)
			break;
		if (a->lease_expired == 0)
			loans.list[loans.n++] = (struct lockq_loan_ref){ a->loan_id, a->token };
	}
	return loans;
}

/* All loans that --from has: those of each task in a transaction of their own. */
static int
correct_all(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	int rc = lockq_pipeline(q, o->from, o->task, &pipeline), status = CLI_EXIT_DONE;
	bool any = false, goes_on = true;

	for (size_t i = 0; rc == LOCKQ_OK && goes_on && i < pipeline.n_assignments; ) {
		uint32_t task = pipeline.assignments[i].task;
		struct loan_option loans = next_loans(&pipeline, &i);
		int one = CLI_EXIT_DONE;

		if (loans.n > 0 && o->task == 0 && !o->common.json)
			cli_line("task %u:", task);
		if (loans.n > 0)
			one = correct_these(o, q, command, task, &loans, &goes_on);
		any = any || loans.n > 0;
		status = status == CLI_EXIT_DONE ? one : status;
		free(loans.list);
	}
	lockq_pipeline_clear(&pipeline);
	if (rc == LOCKQ_OK && any)
		return status;
	if (cli_has_answer(rc))
		cli_noun_read(&o->common, q, o->task);
	if (cli_has_answer(rc) && !o->common.json)
		cli_line("%s has no %s", o->from, cli_loans(0));
	return cli_has_answer(rc) ? CLI_EXIT_NOTHING : cli_report_library(&o->common, q, rc);
}

static int
correct(const struct manage_options *o, struct lockq *q, const struct manage_command *command)
{
	bool goes_on = false;
	int status;

	if (o->all)
		return correct_all(o, q, command);
	status = correct_these(o, q, command, o->task, &o->loans, &goes_on);
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
		cli_answer_print(&o->common, q, &answer, true, rc, status, complaint);
	lockq_answer_clear(&answer);
	return status;
}

/* --- their options --- */

#define LOANS { .help = "Which loans" }, MANAGE_TASK, \
	{ "loan", 'l', "L[,L...]", "the loans, as in 12 or, with the assignment's token,\n" \
	    "12:7; - reads standard input", loan_option_parse, MANAGE(loans), 0, 0 }
#define FROM(help) { "from", 0, "USER", help, cli_parse_utf8, MANAGE(from), 0, 64 }, \
	{ "all", 0, NULL, "all loans that --from has, of --task or of every task", cli_parse_flag, \
	    MANAGE(all), 0, 0 }

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

#define EXITS_ELSE \
	"  2  usage error\n" \
	"  3  another session holds what is to be changed: try again\n" \
	"  4  refused: the reason says why, and how a loan stands now\n" \
	CLI_EXITS_ERRORS \
	"  6  outcome unknown (connection lost meanwhile): run the same command again\n"
#define EXITS_DONE "  0  done, or done before by the same manager\n"
#define EXITS EXITS_DONE EXITS_ELSE
#define EXITS_ALL EXITS_DONE "  1  with --all: the user has no loans\n" EXITS_ELSE

static const struct cli_tool release_tool = {
	MANAGE_TOOL, .command = "release", .options = release_options, .check = check_loans,
	.bare = "task",
	.synopsis = "--task N --loan L[,L...] [--from USER] --reason TEXT\n"
	    " [--by NAME] [--json]\n"
	    "--from USER --all [--task N] --reason TEXT\n"
	    " [--by NAME] [--json]",
	.purpose = "Puts loans back into the line: whoever has them has them no longer, and the\n"
	    "task's next query, or its next list, offers them again. A loan that is refused\n"
	    "stays as it was, and the others are done.",
	.examples = "  managetask release --task 7 --loan 12,13 --reason 'not for today'\n"
	    "  managetask release --from oliver --all --reason 'oliver is ill'\n",
	.exits = EXITS_ALL,
};
static const struct cli_tool reassign_tool = {
	MANAGE_TOOL, .command = "reassign", .options = reassign_options, .check = check_reassign,
	.bare = "task",
	.synopsis = "--task N --loan L[,L...] --from USER --to USER\n"
	    " --reason TEXT [--by NAME] [--json]\n"
	    "--from USER --to USER --all [--task N]\n"
	    " --reason TEXT [--by NAME] [--json]",
	.purpose = "Gives loans that somebody has to somebody else, with a lease that begins\n"
	    "anew, up to the task's max_pipeline.",
	.examples = "  managetask reassign --task 7 --loan 12 --from oliver --to tracy \\\n"
	    "      --reason 'tracy knows the customer'\n"
	    "  managetask reassign --from oliver --to tracy --all --reason 'oliver is ill'\n",
	.exits = EXITS_ALL,
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
