/* SPDX-License-Identifier: MIT */
#include "checkwork_screen.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "cli_answer.h"
#include "cli_progress.h"
#include "cli_signals.h"
#include "disposition_message.h"
#include "getwork_message.h"
#include "getwork_refill.h"

enum { ESCAPE = 27, USUAL_RETURN_S = 4 * 3600 };
#define USUAL_RETURN "4h"

static const char more_keys[] =
	"arrows, j k, g G move  3m asks for 3  Esc cancels  Ctrl-L redraws";

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

	s->gives_up = false;
	if (s->acts != NULL)
		return true;
	rc = lockq_new(&q);
	if (rc == LOCKQ_OK)
		rc = lockq_read_options(q, &s->o->common.connection);
	if (rc == LOCKQ_OK) {
		lockq_on_progress(q, on_action, s);
		rc = lockq_connect(q, NULL);
	}
	if (rc == LOCKQ_OK)
		rc = lockq_query_at(q, &by_option_files);
	if (rc == LOCKQ_OK) {
		s->acts = q;
		return true;
	}
	checkwork_screen_say(s, cli_text("%s", rc == LOCKQ_CANCELLED ? "given up" :
	    cli_library_text(q, rc)));
	lockq_free(q);
	cli_forget_interrupt();
	return false;
}

/* Ctrl-C during an action ends the action only. */
static void
acted(struct checkwork_screen *s)
{
	cli_forget_interrupt();
	s->next_look = 0;
}

/* Says of the loan that @s is about what @what has. */
static void
dispose(struct checkwork_screen *s, enum lockq_disposition_kind kind, uint32_t return_after_s)
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
	if (result.n_loans == 1)
		checkwork_screen_say(s, rc == LOCKQ_OK ?
		    disposition_message_done(&result.loans[0], false) :
		    disposition_message_refused(&what, &result.loans[0], s->about.token));
	else
		checkwork_screen_say(s, cli_text("loan %llu: %s",
		    (unsigned long long)s->about.loan_id, rc == LOCKQ_CANCELLED ?
		    "given up, nothing was changed" : cli_library_text(s->acts, rc)));
	lockq_disposed_clear(&result);
	acted(s);
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
	text = getwork_message(ask, answer, rc, rc < 0 ? cli_library_text(s->acts, rc) :
	    lockq_error(s->acts));
	return text != NULL ? text : cli_text("request %llu is pending",
	    (unsigned long long)answer->request_id);
}

/* The task of the marked row; without one, the task that a getwork would ask for. */
static uint32_t
task_to_ask(const struct checkwork_screen *s)
{
	struct cli_error error;
	uint32_t task = s->o->task;

	if (s->page.pipeline.n_assignments > 0)
		return s->page.pipeline.assignments[s->marked].task;
	return cli_default_task(&task, &error) == 0 ? task : 0;
}

static void
ask_for_more(struct checkwork_screen *s, uint32_t count)
{
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	int rc;

	ask.user = s->o->user;
	ask.task = task_to_ask(s);
	ask.count = count;
	if (ask.task == 0) {
		checkwork_screen_say(s, cli_text("no loan is marked: with --task N, m asks for "
		    "loans of that task"));
		return;
	}
	if (!can_act(s))
		return;
	checkwork_screen_wait(s, "asking for work");
	rc = lockq_getwork(s->acts, &ask, &answer);
	checkwork_screen_say(s, answer_text(s, &ask, &answer, rc));
	if (!lockq_option_no_refill(s->acts))
		getwork_refill(&s->o->common, s->acts, ask.task);
	lockq_answer_clear(&answer);
	acted(s);
}

bool
checkwork_key_moves(struct checkwork_screen *s, int key)
{
	size_t n = s->page.pipeline.n_assignments;

	if (key == 'j' || key == KEY_DOWN)
		s->marked += s->marked + 1 < n;
	else if (key == 'k' || key == KEY_UP)
		s->marked -= s->marked > 0;
	else if (key == KEY_HOME || key == 'g')
		s->marked = 0;
	else if (key == KEY_END || key == 'G')
		s->marked = n > 0 ? n - 1 : 0;
	else
		return false;
	s->has_mark = n > 0;
	return true;
}

char *
checkwork_key_question(const struct checkwork_screen *s)
{
	unsigned long long id = s->about.loan_id;

	switch (s->asks) {
	case CHECKWORK_ASKS_TIME:
		return cli_text("return loan %llu, and offer it again after [" USUAL_RETURN "]: "
		    "%s_", id, s->typed);
	case CHECKWORK_ASKS_NEVER:
		return cli_text("never offer loan %llu again for task %u? y/n", id, s->about_task);
	case CHECKWORK_ASKS_NOTHING:
		break;
	}
	return s->typed[0] == '\0' ? NULL : cli_text("m asks for %s", s->typed);
}

static void
type(struct checkwork_screen *s, int key)
{
	size_t n = strlen(s->typed);

	if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n > 0)
		s->typed[n - 1] = '\0';
	else if (key > ' ' && key < 127 && n + 1 < sizeof(s->typed))
		s->typed[n] = (char)key;
}

static void
time_key(struct checkwork_screen *s, int key)
{
	static const struct cli_option option = { .name = "return-after",
		.max = LOCKQ_RETURN_AFTER_MAX };
	uint32_t seconds = USUAL_RETURN_S;
	struct cli_error error;
	int rc = 0;

	if (key != '\n' && key != '\r' && key != KEY_ENTER) {
		type(s, key);
		return;
	}
	if (s->typed[0] != '\0')
		rc = cli_parse_duration(&option, s->typed, &seconds, &error);
	s->asks = CHECKWORK_ASKS_NOTHING;
	if (rc == 0)
		dispose(s, LOCKQ_RETURN, seconds);
	else
		checkwork_screen_say(s, cli_text("\"%s\" is no time up to 72h, such as 30m, 4h or "
		    "2d; 0 is at once", s->typed));
	memset(s->typed, 0, sizeof(s->typed));
}

/* A key that answers the question on the line. */
static void
answer_key(struct checkwork_screen *s, int key)
{
	if (key == ESCAPE || (s->asks == CHECKWORK_ASKS_NEVER && key != 'y' && key != 'Y')) {
		s->asks = CHECKWORK_ASKS_NOTHING;
		memset(s->typed, 0, sizeof(s->typed));
	} else if (s->asks == CHECKWORK_ASKS_TIME) {
		time_key(s, key);
	} else {
		s->asks = CHECKWORK_ASKS_NOTHING;
		dispose(s, LOCKQ_NEVER, 0);
	}
}

/* A key that is about the marked loan, with the token that is on the screen. */
static void
act(struct checkwork_screen *s, int key)
{
	const struct lockq_assignment *a;

	if (!s->has_mark) {
		checkwork_screen_say(s, cli_text(s->page.pipeline.n_assignments > 0 ?
		    "no loan is marked: j or k marks one" : "there is no loan"));
		return;
	}
	a = &s->page.pipeline.assignments[s->marked];
	s->about_task = a->task;
	s->about = (struct lockq_loan_ref){ a->loan_id, a->token };
	if (key == 'c')
		dispose(s, LOCKQ_COMPLETE, 0);
	else if (key == 'e')
		dispose(s, LOCKQ_RENEW, 0);
	else
		s->asks = key == 'r' ? CHECKWORK_ASKS_TIME : CHECKWORK_ASKS_NEVER;
}

void
checkwork_key(struct checkwork_screen *s, int key)
{
	uint32_t count = (uint32_t)strtoul(s->typed, NULL, 10);

	if (s->asks != CHECKWORK_ASKS_NOTHING) {
		answer_key(s, key);
		return;
	}
	checkwork_screen_say(s, NULL);
	if (key >= '0' && key <= '9' && strlen(s->typed) < 4) {
		type(s, key);
		return;
	}
	memset(s->typed, 0, sizeof(s->typed));
	if (checkwork_key_moves(s, key))
		return;
	if (key == 'q')
		s->ends = true;
	else if (key == '?')
		checkwork_screen_say(s, cli_text("%s", more_keys));
	else if (key == 'm')
		ask_for_more(s, count > 0 ? count : 1);
	else if (key == 'c' || key == 'r' || key == 'n' || key == 'e')
		act(s, key);
}
