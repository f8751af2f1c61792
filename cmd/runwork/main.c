/* SPDX-License-Identifier: MIT */
/* runwork: asks for loans, and runs a command for each of them. tool.h says what the other files
 * here do. */
#include <stdio.h>
#include <stdlib.h>

#include "runwork/tool.h"

/* Asks, and works on the loans. A list that is due is filled meanwhile. Returns the exit status. */
static int
ask(struct runwork_options *o, struct lockq *q)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int rc, status;

	if (!cli_ask_find(&o->common, &o->asking, q, &status))
		return status;
	cli_catch_signals("a request may stay pending and still get loans: see checkwork");
	rc = cli_ask_for_loans(&o->common, &o->asking, q, &answer);
	cli_noun_read(&o->common, q, o->asking.ask.task);
	status = cli_ask_show(&o->common, &o->asking, q, &answer, rc);
	(void)fflush(stdout); /* before the process that fills the list is made */
	cli_ask_fill_due(&o->common, &o->asking, q);
	if (answer.n_loans > 0)
		status = runwork_loans(o, q, &answer);
	lockq_answer_clear(&answer);
	return status;
}

int
main(int argc, char **argv)
{
	struct runwork_options o = RUNWORK_DEFAULTS;
	struct lockq *q = NULL;
	char *text;
	int rc, status, failure;

	cli_start(&runwork_tool, &o, argc, argv);
	command_note_files();
	/* Before anything is asked for, this finds out whether there is a command to run. */
	failure = command_look(o.command[0]);
	if (failure != 0) {
		text = runwork_no_command_text(o.command[0], failure);
		status = cli_report(&o.common, runwork_no_command(failure),
		    "%s: nothing was asked for", text);
		free(text);
	} else {
		rc = cli_open(&q, &o.common);
		status = rc == LOCKQ_OK ? ask(&o, q) : cli_report_library(&o.common, q, rc);
	}
	status = cli_finish(status, NULL);
	lockq_free(o.common.q);
	cli_end(status);
}
