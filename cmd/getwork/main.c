/* SPDX-License-Identifier: MIT */
/* getwork: asks for the next loans of a task, completes others before, or cancels the request.
 * tool.h says what the other files here do. */
#include <stdlib.h>
#include <sys/resource.h>

#include "cli/answer.h"
#include "getwork/tool.h"

/* Cancels the request, and prints what came of it. Returns the exit status. */
static int
getwork_cancel(const struct getwork_options *o, struct lockq *q)
{
	const struct cli_common *common = &o->common;
	const char *user = o->asking.ask.user;
	uint32_t task = o->asking.ask.task;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int rc = lockq_cancel(q, user, task, o->request, &answer);
	int status = cli_exit_status(rc, 0);
	const char *complaint = rc < 0 || rc == LOCKQ_BUSY ? cli_library_text(q, rc) : NULL;

	if (rc == LOCKQ_NOTHING && answer.request_id == 0) {
		char *word = cli_word(user);
		char *where = task != 0 ? cli_text(" for task %u", task) : cli_text("%s", "");

		status = cli_report(common, status, "user \"%s\" has no pending request%s: "
		    "checkwork --user %s shows the loans", user, where, word);
		free(where);
		free(word);
	} else if (answer.user == NULL) {
		status = cli_report_library(common, q, rc);
	} else {
		cli_noun_read(common, q, answer.task);
		cli_answer_print(common, q, &answer, true, rc, status, complaint);
	}
	lockq_answer_clear(&answer);
	return status;
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

enum { LAST_IN_LINE = 19 }; /* the nicest value */

/* Prints the answer, and what is the user's then. A list that is due is filled meanwhile. */
static int
answered(const struct getwork_options *o, struct lockq *q, struct lockq_answer *answer, int rc)
{
	int status = cli_finish(cli_ask_show(&o->common, &o->asking, q, answer, rc),
	    answer->n_loans == 0 ? NULL :
	    "the loans are assigned to you nevertheless: see checkwork");

	cli_ask_fill_due(&o->common, &o->asking, q);
	/* A commit wakes hundreds of followers at once, and ending a process costs more than
	 * printing its line. Without this, followers that are still to read their answer wait for
	 * processes that end: the median of the figure "wake" doubles. A process that fills the
	 * list must not inherit it. */
	(void)setpriority(PRIO_PROCESS, 0, LAST_IN_LINE);
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
	struct lockq_disposed_result done = LOCKQ_DISPOSED_RESULT_INIT;
	bool completes = getwork_completes(o), asked = true;
	int rc, status;

	if (!cli_ask_find(&o->common, &o->asking, q, &status))
		return cli_finish(status, NULL);
	cli_catch_signals(completes ? "loans may be completed all the same, and a request may "
	    "still get others: see checkwork" : "a request may stay pending and still get loans: "
	    "see checkwork");
	if (completes) {
		cli_watch_overtime(q, o->asking.no_refill);
		rc = lockq_dispose_and_ask(q, &o->done.what, &done, &o->asking.ask, &answer);
		cli_end_behind(q);
		asked = show_completed(o, q, rc, &done, &answer, &status);
		lockq_disposed_clear(&done);
	} else {
		rc = cli_ask_for_loans(&o->common, &o->asking, q, &answer);
	}
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
