/* SPDX-License-Identifier: MIT */
#include "getwork/tool.h"

#include <stdlib.h>

#include "cli/answer.h"

int
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
		cli_answer_print_cancelled(common->json, &answer, rc, status, complaint);
	}
	lockq_answer_clear(&answer);
	return status;
}
