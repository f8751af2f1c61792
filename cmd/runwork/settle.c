/* SPDX-License-Identifier: MIT */
#include "runwork/tool.h"

#include <stdlib.h>

enum { TEMPFAIL = 75 }; /* EX_TEMPFAIL of sysexits.h */

void
runwork_note_status(struct runwork *w, int status)
{
	if (status > w->status)
		w->status = status;
}

/* A command may dispose of its loan itself, and so may have an earlier call with the same UUID. As
 * long as the loan's token is the same, nobody else has had it since. */
static bool
is_settled(const struct lockq_disposed_loan *loan, uint64_t token)
{
	return loan->what == LOCKQ_NOT_ASSIGNED && loan->token == token;
}

int
runwork_dispose(struct runwork *w, size_t first, size_t n, struct lockq_disposition *what,
    const struct command_end *end)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	const struct lockq_disposed_loan *loan = NULL;
	int rc, worst = CLI_EXIT_DONE, status;

	what->user = w->answer->user;
	what->task = w->answer->task;
	what->loans = &w->lease.refs[first];
	what->n_loans = n;
	rc = lockq_dispose(w->lease.q, what, &result);
	for (size_t i = 0; i < n; i++) {
		status = cli_exit_status(rc, 0);
		if (result.n_loans > 0) {
			loan = &result.loans[i];
			status = is_settled(loan, what->loans[i].token) ? CLI_EXIT_DONE :
			    cli_exit_status_of_loan(loan->what);
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

bool
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
	runwork_note_status(w, CLI_EXIT_BUSY);
	return end->exit != TEMPFAIL || status > CLI_EXIT_BUSY;
}
