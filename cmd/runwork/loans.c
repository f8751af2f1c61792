/* SPDX-License-Identifier: MIT */
#include "runwork/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEMPFAIL = 75 }; /* EX_TEMPFAIL of sysexits.h */

static void
runwork_note_status(struct runwork *w, int status)
{
	if (status > w->status)
		w->status = status;
}

/* Says of @n loans from @first on what @what has; @end is how the command of the only one ended.
 * Returns the worst of their exit statuses. */
static int
runwork_dispose(struct runwork *w, size_t first, size_t n, struct lockq_disposition *what,
    const struct command_end *end)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	const struct lockq_disposed_loan *loan = NULL;
	int rc, worst = CLI_EXIT_DONE, status;

	w->disposed_before = false;
	what->user = w->answer->user;
	what->task = w->answer->task;
	what->loans = &w->lease.refs[first];
	what->n_loans = n;
	rc = lockq_dispose(w->lease.q, what, &result);
	for (size_t i = 0; i < n; i++) {
		status = cli_exit_status(rc, 0);
		if (result.n_loans > 0) {
			loan = &result.loans[i];
			/* A command may dispose of its loan itself, and so may have an earlier call
			 * with the same UUID. As long as the loan's token is the same, nobody else
			 * has had it since. */
			w->disposed_before = loan->what == LOCKQ_NOT_ASSIGNED &&
			    loan->token == what->loans[i].token && loan->manager == NULL;
			status = w->disposed_before ? CLI_EXIT_DONE :
			    cli_exit_status_of_loan(loan->what);
			if (what->kind == LOCKQ_RETURN && !w->disposed_before)
				runwork_note_status(w, CLI_EXIT_BUSY);
		}
		runwork_print(w->o->common.json, what, i, loan, end, status,
		    cli_library_text(w->lease.q, rc));
		worst = status > worst ? status : worst;
	}
	w->away = result.n_loans == 0 && rc < 0;
	lockq_disposed_clear(&result);
	runwork_note_status(w, worst);
	return worst;
}

/* Disposes of a loan as its command has ended. Returns whether that is a failure. */
static bool
runwork_settle(struct runwork *w, size_t i, const struct command_end *end)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	char *note;
	int status;

	if (end->exit == 0) {
		what.kind = LOCKQ_COMPLETE;
		return runwork_dispose(w, i, 1, &what, end) > CLI_EXIT_BUSY;
	}
	note = runwork_note(end);
	what.kind = LOCKQ_RETURN;
	what.return_after_s = end->exit == TEMPFAIL ? w->o->retry_after_s : 0;
	what.note = note;
	status = runwork_dispose(w, i, 1, &what, end);
	free(note);
	return !w->disposed_before && (end->exit != TEMPFAIL || status > CLI_EXIT_BUSY);
}

static void
set_environment(const char *name, char *value)
{
	if (setenv(name, value, 1) != 0)
		cli_out_of_memory();
	free(value);
}

static void
describe(const struct runwork *w, size_t i)
{
	const struct lockq_loan_ref *loan = &w->lease.refs[i];

	set_environment("LOCKQ_LOAN", cli_text("%llu", (unsigned long long)loan->loan_id));
	set_environment("LOCKQ_TOKEN", cli_text("%llu", (unsigned long long)loan->token));
	set_environment("LOCKQ_TASK", cli_text("%u", w->answer->task));
	set_environment("LOCKQ_USER", cli_text("%s", w->answer->user));
	set_environment("LOCKQ_REQUEST", cli_text("%llu",
	    (unsigned long long)w->answer->request_id));
	set_environment("LOCKQ_LEASE_EXPIRES_AT", cli_text("%s",
	    cli_time_iso(w->lease.loans[i].until).text));
}

int
runwork_no_command(int failure)
{
	return failure == ENOENT ? RUNWORK_NOT_FOUND : RUNWORK_CANT_RUN;
}

/* Nothing is run for a loan of a repeated answer where nobody can tell whether it still is the
 * user's. */
static void
run(struct runwork *w, size_t i, struct command_end *end)
{
	struct command command;
	char *text;
	int rc;

	if (w->answer->repeated && (w->lease.renew_at == 0 || w->lease.away)) {
		runwork_lease_renew(&w->lease, i);
		if (w->lease.loans[i].gone || w->lease.away)
			return;
	}
	describe(w, i);
	fflush(stdout); /* what the command prints comes after it */
	rc = command_start(&command, w->o->command);
	/* It was there before the loans were asked for. The next loan would not fare better. */
	if (rc != 0) {
		text = runwork_no_command_text(w->o->command[0], rc);
		cli_message("%s: the loans are returned", text);
		free(text);
		runwork_note_status(w, runwork_no_command(rc));
	}
	while (rc == 0 && !command_wait(&command, w->lease.renew_at)) {
		runwork_lease_renew(&w->lease, i);
		if (w->lease.loans[i].taken)
			command_stop(&command);
	}
	if (rc == 0 && command.wants_terminal)
		cli_message("the command was ended, since it has used the terminal, as for a "
		    "password: it has none");
	*end = command.end;
}

/* Of a loan that is gone nothing is said but why: a renewal is refused for the same reason. */
static void
work_on(struct runwork *w, size_t i)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct command_end end = COMMAND_NOT_BEGUN;

	what.kind = LOCKQ_RENEW;
	if (!w->lease.loans[i].gone)
		run(w, i, &end);
	if (w->lease.loans[i].gone)
		(void)runwork_dispose(w, i, 1, &what, &end);
	else if (runwork_settle(w, i, &end))
		w->failures++;
	else
		w->failures = 0;
}

static void
return_rest(struct runwork *w, size_t first)
{
	static const struct command_end not_begun = COMMAND_NOT_BEGUN;
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	size_t n = w->lease.n - first;

	if (w->failures >= w->o->give_up_after && cli_caught() == 0 &&
	    w->status < RUNWORK_CANT_RUN) {
		cli_message("gave up after %u %s%s", w->failures, w->failures == 1 ? "failure" :
		    "failures in a row", n > 0 ? ": the other loans are returned" : "");
		runwork_note_status(w, CLI_EXIT_DATABASE);
	}
	if (n == 0)
		return;
	what.kind = LOCKQ_RETURN;
	what.note = "not begun";
	(void)runwork_dispose(w, first, n, &what, &not_begun);
}

int
runwork_loans(const struct runwork_options *o, struct lockq *q, const struct lockq_answer *answer)
{
	struct runwork w = { .o = o, .answer = answer };
	size_t i = 0;

	cli_catch_signals("loans that are not done stay assigned to you: see checkwork");
	/* The tools' progress function ends calls after a signal, but loans are returned then. */
	lockq_on_progress(q, NULL, NULL);
	runwork_lease_begin(&w.lease, q, answer);
	for (; i < w.lease.n && cli_caught() == 0 && w.failures < o->give_up_after && !w.away &&
	    w.status < RUNWORK_CANT_RUN; i++)
		work_on(&w, i);
	return_rest(&w, i);
	runwork_lease_clear(&w.lease);
	return cli_caught() != 0 && w.status < CLI_EXIT_DATABASE ?
	    cli_exit_status(LOCKQ_CANCELLED, cli_caught()) : w.status;
}
