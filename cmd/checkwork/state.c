/* SPDX-License-Identifier: MIT */
#include "checkwork/screen.h"

#include <stdlib.h>

#include <curses.h>

enum { ESCAPE = 27 };

void
checkwork_screen_say(struct checkwork_screen *s, char *message)
{
	free(s->message);
	s->message = message;
	s->look_failed = false;
}

/* Keeps the mark on its loan. If somebody else has ended that assignment, no row is marked: a key
 * that is pressed at this moment must not act on the next one. */
static void
mark_again(struct checkwork_screen *s, bool was_empty, uint32_t task, uint64_t loan_id)
{
	size_t n = s->page.pipeline.n_assignments, i = 0;
	const struct lockq_assignment *a = s->page.pipeline.assignments;
	bool own = task != 0 && s->about_task == task && s->about.loan_id == loan_id;

	while (i < n && (a[i].task != task || a[i].loan_id != loan_id))
		i++;
	if (i < n)
		s->marked = i;
	else if (s->marked >= n)
		s->marked = n > 0 ? n - 1 : 0;
	s->has_mark = n > 0 && (i < n || own || was_empty);
	if (task != 0 && i == n && !own)
		checkwork_screen_say(s, cli_text("%s %llu is no longer yours",
		    cli_loan(), (unsigned long long)loan_id));
}

void
checkwork_screen_look(void *data)
{
	struct checkwork_screen *s = data;
	uint32_t task = 0;
	uint64_t loan_id = 0;
	bool for_now, was_empty = s->page.pipeline.n_assignments == 0;
	int rc;

	if (s->has_mark) {
		task = s->page.pipeline.assignments[s->marked].task;
		loan_id = s->page.pipeline.assignments[s->marked].loan_id;
	}
	rc = checkwork_page_look(&s->page, s->looks, s->o->user, s->o->task);
	if (cli_has_answer(rc))
		cli_noun_of_pipeline(&s->o->common, s->looks, s->o->task, &s->page.pipeline);
	s->next_look = cli_clock_ms() + (uint64_t)s->o->watch_ms;
	for_now = rc == LOCKQ_BUSY || rc == LOCKQ_EDATABASE;
	/* It is not true any more once a look succeeds. */
	if (for_now || s->look_failed)
		checkwork_screen_say(s, for_now ? cli_text("%s", cli_library_text(s->looks, rc)) :
		    NULL);
	s->look_failed = for_now;
	if (rc < 0 && !for_now) {
		s->failure = rc;
		s->ends = true;
	}
	mark_again(s, was_empty, task, loan_id);
	checkwork_draw_lines(s);
}

bool
checkwork_screen_moves(struct checkwork_screen *s, int key)
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

void
checkwork_screen_wait(struct checkwork_screen *s, const char *text)
{
	for (int key = getch(); key != ERR; key = getch()) {
		if (key == ESCAPE)
			s->gives_up = true;
		else if (key == KEY_RESIZE)
			checkwork_draw_lines(s);
		else if (!checkwork_screen_moves(s, key))
			s->ignores = true;
	}
	s->doing = cli_text("%s%s  (Esc gives up)", s->ignores ? "not done: " : "", text);
	if (screen_resized())
		checkwork_draw_lines(s);
	if (cli_clock_ms() >= s->next_look)
		checkwork_screen_look(s);
	checkwork_draw(s);
	free(s->doing);
	s->doing = NULL;
}
