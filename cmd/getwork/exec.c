/* SPDX-License-Identifier: MIT */
#include "getwork/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit_status.h"
#include "cli/program.h"
#include "cli/signals.h"
#include "cli/times.h"
#include "getwork/settle.h"

static void
set_environment(const char *name, char *value)
{
	if (setenv(name, value, 1) != 0)
		cli_out_of_memory();
	free(value);
}

static void
describe(const struct getwork_work *w, size_t i)
{
	const struct lockq_loan_ref *loan = &w->lease.refs[i];
	char until[CLI_TIME_SIZE];

	cli_time_iso(until, w->lease.loans[i].until);
	set_environment("LOCKQ_LOAN", cli_text("%llu", (unsigned long long)loan->loan_id));
	set_environment("LOCKQ_TOKEN", cli_text("%llu", (unsigned long long)loan->token));
	set_environment("LOCKQ_TASK", cli_text("%u", w->answer->task));
	set_environment("LOCKQ_USER", cli_text("%s", w->answer->user));
	set_environment("LOCKQ_REQUEST", cli_text("%llu",
	    (unsigned long long)w->answer->request_id));
	set_environment("LOCKQ_LEASE_EXPIRES_AT", cli_text("%s", until));
}

static void
run(struct getwork_work *w, size_t i, struct command_end *end)
{
	struct command command;
	int rc;

	describe(w, i);
	fflush(stdout); /* what the command prints comes after it */
	rc = command_start(&command, w->o->command);
	if (rc != 0)
		cli_message("/bin/sh can't be started: %s", strerror(rc));
	while (rc == 0 && !command_wait(&command, w->lease.renew_at)) {
		getwork_lease_renew(&w->lease, i);
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
work_on(struct getwork_work *w, size_t i)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct command_end end = COMMAND_NOT_BEGUN;

	what.kind = LOCKQ_RENEW;
	if (!w->lease.loans[i].gone)
		run(w, i, &end);
	if (w->lease.loans[i].gone)
		(void)getwork_dispose(w, i, 1, &what, &end);
	else if (getwork_settle(w, i, &end))
		w->failures++;
	else
		w->failures = 0;
}

static bool
goes_on(const struct getwork_work *w)
{
	return cli_caught() == 0 && w->failures < w->o->give_up_after && !w->away;
}

static void
return_rest(struct getwork_work *w, size_t first)
{
	static const struct command_end not_begun = COMMAND_NOT_BEGUN;
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	size_t n = w->lease.n - first;

	if (w->failures >= w->o->give_up_after && cli_caught() == 0) {
		cli_message("gave up after %u %s%s", w->failures, w->failures == 1 ? "failure" :
		    "failures in a row", n > 0 ? ": the other loans are returned" : "");
		getwork_note_status(w, CLI_EXIT_DATABASE);
	}
	if (n == 0)
		return;
	what.kind = LOCKQ_RETURN;
	what.note = "not begun";
	(void)getwork_dispose(w, first, n, &what, &not_begun);
	getwork_note_status(w, CLI_EXIT_BUSY);
}

int
getwork_exec_run(const struct getwork_exec *o, const struct cli_common *common, struct lockq *q,
    const struct lockq_answer *answer)
{
	struct getwork_work w = { .o = o, .common = common, .answer = answer };
	size_t i = 0;

	cli_catch_signals("loans that are not done stay assigned to you: see checkwork");
	/* The tools' progress function ends calls after a signal, but loans are returned then. */
	lockq_on_progress(q, NULL, NULL);
	getwork_lease_begin(&w.lease, q, answer);
	for (; i < w.lease.n && goes_on(&w); i++)
		work_on(&w, i);
	return_rest(&w, i);
	getwork_lease_clear(&w.lease);
	return cli_caught() != 0 && w.status < CLI_EXIT_DATABASE ?
	    cli_exit_status(LOCKQ_CANCELLED, cli_caught()) : w.status;
}
