/* SPDX-License-Identifier: MIT */
#include "getwork/tool.h"

bool
getwork_completes(const struct getwork_options *o)
{
	return o->done.loans.n > 0 || o->done.loans.from_stdin;
}

/* Prints what came of --complete, of a call that ended with @rc. Returns false where nothing was
 * asked for, and *@status is the exit status. */
static bool
show_completed(const struct getwork_options *o, struct lockq *q, int rc,
    const struct lockq_disposed_result *done, const struct lockq_answer *answer, int *status)
{
	bool recorded, asked = done->asked != 0;

	*status = disposition_loans_show(&o->common, &o->done, q, asked ? LOCKQ_OK : rc,
	    asked ? "" : answer->uuid, done, &recorded);
	if (asked && o->common.verbose)
		cli_message(answer->one_commit ? "the next %s were given in the same commit" :
		    "the next %s were asked for after that commit", cli_loans(2));
	if (asked)
		return true;
	if (answer->uuid[0] != '\0')
		cli_message("the next %s may have been given, too: that command gives them, or "
		    "asks for them now", cli_loans(2));
	else if (rc == LOCKQ_CANCELLED && done->n_loans > 0)
		cli_message("interrupted: nothing was asked for");
	else
		cli_message("nothing was asked for, since --complete comes first");
	*status = cli_finish(*status, recorded ?
	    "loans were completed nevertheless: see checkwork" : NULL);
	return false;
}

bool
getwork_complete_and_ask(const struct getwork_options *o, struct lockq *q,
    struct lockq_answer *answer, int *rc, int *status)
{
	struct lockq_disposed_result done = LOCKQ_DISPOSED_RESULT_INIT;
	bool asked;

	*rc = lockq_dispose_and_ask(q, &o->done.what, &done, &o->asking.ask, answer);
	asked = show_completed(o, q, *rc, &done, answer, status);
	lockq_disposed_clear(&done);
	return asked;
}
