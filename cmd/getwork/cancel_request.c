/* SPDX-License-Identifier: MIT */
#include "getwork/cancel_request.h"

#include <stdlib.h>

#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/noun.h"
#include "cli/program.h"
#include "cli/text.h"
#include "cli/values.h"

int
getwork_cancel_parse(const struct cli_option *option, const char *text, void *target,
    struct cli_error *error)
{
	struct getwork_cancel *cancel = target;

	cancel->given = true;
	return text == NULL ? 0 : cli_parse_request(option, text, &cancel->request, error);
}

int
getwork_cancel(const struct cli_common *common, struct lockq *q,
    const struct getwork_cancel *cancel, const char *user, uint32_t task)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int rc = lockq_cancel(q, user, task, cancel->request, &answer);
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
		if (complaint != NULL)
			cli_message("%s", complaint);
	}
	lockq_answer_clear(&answer);
	return status;
}
