/* SPDX-License-Identifier: MIT */
#include "checkwork/screen.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>

enum { ESCAPE = 27 };

static const char more_keys[] =
	"arrows, j k, g G move  3m asks for 3  Esc cancels  Ctrl-L redraws";

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
	uint32_t seconds = CHECKWORK_RETURN_S;
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
		checkwork_dispose(s, LOCKQ_RETURN, seconds);
	else
		checkwork_screen_say(s, cli_text("not done: \"%s\" is no time up to 72h, such as "
		    "30m, 4h or 2d; 0 is at once", s->typed));
	memset(s->typed, 0, sizeof(s->typed));
}

/* Says that what a key was to do was not done. */
static void
say_not_done(struct checkwork_screen *s, const char *why)
{
	checkwork_screen_say(s, cli_text("not done: %s", why));
}

/* A key that answers the question on the line. */
static void
answer_key(struct checkwork_screen *s, int key)
{
	enum checkwork_asks asked = s->asks;
	bool yes = key == 'y' || key == 'Y';

	if (key != ESCAPE && asked == CHECKWORK_ASKS_TIME) {
		time_key(s, key);
		return;
	}
	s->asks = CHECKWORK_ASKS_NOTHING;
	memset(s->typed, 0, sizeof(s->typed));
	if (yes)
		checkwork_dispose(s, asked == CHECKWORK_ASKS_DONE ? LOCKQ_COMPLETE : LOCKQ_NEVER,
		    0);
	else if (key != 'n' && key != 'N' && key != ESCAPE)
		say_not_done(s, "only y does it");
}

/* A key that is about the marked loan, with the token that is on the screen. */
static void
act(struct checkwork_screen *s, int key)
{
	const struct lockq_assignment *a;

	if (!s->has_mark) {
		char *why = s->page.pipeline.n_assignments > 0 ?
		    cli_text("no %s is marked: j or k marks one", cli_loan()) :
		    cli_text("there is no %s", cli_loan());

		say_not_done(s, why);
		free(why);
		return;
	}
	a = &s->page.pipeline.assignments[s->marked];
	s->about_task = a->task;
	s->about = (struct lockq_loan_ref){ a->loan_id, a->token };
	if (key == 'e')
		checkwork_dispose(s, LOCKQ_RENEW, 0);
	else
		s->asks = key == 'c' ? CHECKWORK_ASKS_DONE : key == 'r' ? CHECKWORK_ASKS_TIME :
		    CHECKWORK_ASKS_NEVER;
}

void
checkwork_key(void *data, int key)
{
	struct checkwork_screen *s = data;
	uint32_t count = (uint32_t)strtoul(s->typed, NULL, 10);

	if (key == KEY_RESIZE || key == 'L' - '@') {
		if (key == KEY_RESIZE)
			checkwork_draw_lines(s);
		else
			clearok(curscr, TRUE);
		return;
	}
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
	if (checkwork_screen_moves(s, key))
		return;
	if (key == 'q')
		s->ends = true;
	else if (key == '?')
		checkwork_screen_say(s, cli_text("%s", more_keys));
	else if (key == 'm')
		checkwork_ask(s, count > 0 ? count : 1);
	else if (key == 'c' || key == 'r' || key == 'n' || key == 'e')
		act(s, key);
	else if (key != ESCAPE)
		say_not_done(s, "that key does nothing here: ? shows the keys");
}
