/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "checkwork/screen.h"
#include "cli/answer.h"
#include "cli/ask.h"
#include "cli/dispose.h"

static int
on_action(const struct lockq_progress *progress, void *data)
{
	struct checkwork_screen *s = data;
	char *text = cli_progress_text(progress);

	if (progress->phase != LOCKQ_PHASE_CANCEL)
		checkwork_screen_wait(s, text);
	free(text);
	return (s->gives_up || cli_caught() != 0) && progress->phase != LOCKQ_PHASE_CANCEL;
}

/* Connects a second time, so that the screen goes on looking while an action waits. */
static bool
can_act(struct checkwork_screen *s)
{
	static const struct lockq_connection by_option_files = LOCKQ_CONNECTION_INIT;
	struct lockq *q = NULL;
	int rc;

	s->gives_up = s->ignores = false;
	if (s->acts != NULL)
		return true;
	rc = lockq_new(&q);
	if (rc == LOCKQ_OK)
		rc = lockq_read_options(q, &s->o->common.connection);
	if (rc == LOCKQ_OK) {
		cli_log(&s->o->common, q);
		lockq_on_progress(q, on_action, s);
		rc = lockq_connect(q, NULL);
	}
	if (rc == LOCKQ_OK)
		rc = lockq_query_at(q, &by_option_files);
	if (rc == LOCKQ_OK) {
		s->acts = q;
		return true;
	}
	checkwork_screen_say(s, cli_text("not done: %s", rc == LOCKQ_CANCELLED ? "given up" :
	    cli_library_text(q, rc)));
	lockq_free(q);
	cli_forget_interrupt();
	return false;
}

/* Frees @why. */
static void
say_refused(struct checkwork_screen *s, char *why)
{
	checkwork_screen_say(s, cli_text("not done: %s", why));
	free(why);
}

void
checkwork_dispose(struct checkwork_screen *s, enum lockq_disposition_kind kind,
    uint32_t return_after_s)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	int rc;

	if (!can_act(s))
		return;
	what.user = s->o->user;
	what.task = s->about_task;
	what.kind = kind;
	what.return_after_s = return_after_s;
	what.loans = &s->about;
	what.n_loans = 1;
	rc = lockq_dispose(s->acts, &what, &result);
	if (result.n_loans == 1 && rc == LOCKQ_OK)
		checkwork_screen_say(s, disposition_message_done(&result.loans[0], false));
	else if (result.n_loans == 1)
		say_refused(s, disposition_message_refused(&what, &result.loans[0],
		    s->about.token));
	else
		checkwork_screen_say(s, cli_text("%s%s %llu: %s",
		    rc == LOCKQ_EUNKNOWN ? "" : "not done: ", cli_loan(),
		    (unsigned long long)s->about.loan_id, rc == LOCKQ_CANCELLED ?
		    "given up, nothing was changed" : cli_library_text(s->acts, rc)));
	lockq_disposed_clear(&result);
	cli_forget_interrupt(); /* Ctrl-C during an action ends the action only */
	s->next_look = 0;
}

static char *
answer_text(struct checkwork_screen *s, const struct lockq_ask *ask,
    const struct lockq_answer *answer, int rc)
{
	char *text;

	if (rc == LOCKQ_OK)
		return cli_answer_summary(answer, true, cli_dot());
	if (rc == LOCKQ_NOTHING)
		return cli_answer_no_work(answer, time(NULL));
	text = cli_ask_message(ask, answer, rc, rc < 0 ? cli_library_text(s->acts, rc) :
	    lockq_error(s->acts));
	return text != NULL ? text : cli_text("request %llu is pending",
	    (unsigned long long)answer->request_id);
}

void
checkwork_ask(struct checkwork_screen *s, uint32_t count)
{
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct cli_error error;
	bool marked = s->page.pipeline.n_assignments > 0;
	int rc;

	ask.user = s->o->user;
	/* The task of the marked row; without one, the task that a getwork would ask for. */
	ask.task = marked ? s->page.pipeline.assignments[s->marked].task : s->o->task;
	ask.count = count;
	if (cli_default_task(&ask.task, &error) != 0 || ask.task == 0) {
		checkwork_screen_say(s, cli_text("not done: no %s is marked: with --task N, m "
		    "asks for %s of that task", cli_loan(), cli_loans(2)));
		return;
	}
	if (!can_act(s))
		return;
	checkwork_screen_wait(s, "asking for work");
	rc = lockq_getwork(s->acts, &ask, &answer);
	checkwork_screen_say(s, answer_text(s, &ask, &answer, rc));
	cli_fill_due(&s->o->common, s->acts, ask.task);
	lockq_answer_clear(&answer);
	cli_forget_interrupt();
	s->next_look = 0;
}
