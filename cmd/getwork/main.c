/* SPDX-License-Identifier: MIT */
/* getwork: asks for the next loans of a task. tool.h says what the other files here do. */
#include <stdlib.h>
#include <sys/resource.h>

#include "getwork/tool.h"

enum { LAST_IN_LINE = 19 }; /* the nicest value */

/* A commit wakes hundreds of followers at once, and ending a process costs more than printing its
 * line. Without this, followers that are still to read their answer wait for processes that end:
 * the median of the figure "wake" doubles. A process that fills the list must not inherit it. */
static void
be_last_in_line(void)
{
	(void)setpriority(PRIO_PROCESS, 0, LAST_IN_LINE);
}

/* Prints the answer, and what is the user's then. A list that is due is filled meanwhile. */
static int
answered(const struct getwork_options *o, struct lockq *q, struct lockq_answer *answer, int rc)
{
	int status = cli_finish(cli_ask_show(&o->common, &o->asking, q, answer, rc),
	    answer->n_loans == 0 ? NULL :
	    "the loans are assigned to you nevertheless: see checkwork");

	cli_ask_fill_due(&o->common, &o->asking, q);
	be_last_in_line();
	if (ferror(stdout))
		return status;
	getwork_pipeline(o, q, rc);
	return cli_finish(status, NULL);
}

/* Asks, after what comes before. Returns the exit status. */
static int
ask(struct getwork_options *o, struct lockq *q)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	bool completes = getwork_completes(o), asked = true;
	int rc, status;

	if (!cli_ask_find(&o->common, &o->asking, q, &status))
		return cli_finish(status, NULL);
	cli_catch_signals(completes ? "loans may be completed all the same, and a request may "
	    "still get others: see checkwork" : "a request may stay pending and still get loans: "
	    "see checkwork");
	if (completes)
		asked = getwork_complete_and_ask(o, q, &answer, &rc, &status);
	else
		rc = cli_ask_for_loans(&o->common, &o->asking, q, &answer);
	if (asked) {
		cli_noun_read(&o->common, q, o->asking.ask.task);
		status = answered(o, q, &answer, rc);
	}
	lockq_answer_clear(&answer);
	return status;
}

int
main(int argc, char **argv)
{
	struct getwork_options o = GETWORK_DEFAULTS;
	struct lockq_answer none = LOCKQ_ANSWER_INIT;
	struct lockq *q = NULL;
	int rc, status;

	cli_start(&getwork_tool, &o, argc, argv);
	rc = cli_open(&q, &o.common);
	if (rc != LOCKQ_OK)
		status = answered(&o, q, &none, rc);
	else if (o.cancels)
		status = cli_finish(getwork_cancel(&o, q), NULL);
	else
		status = ask(&o, q);
	lockq_answer_clear(&none);
	free(o.done.loans.list);
	lockq_free(q);
	cli_end(status);
}
