/* SPDX-License-Identifier: MIT */
#include "checkwork/screen.h"

#include <curses.h>
#include <signal.h>
#include <stdlib.h>

#include "cli/screen.h"

static void
take_key(struct checkwork_screen *s, int key)
{
	if (key == KEY_RESIZE)
		checkwork_draw_lines(s);
	else if (key == 'L' - '@')
		clearok(curscr, TRUE);
	else
		checkwork_key(s, key);
}

static void
on_resize(void *data)
{
	checkwork_draw_lines(data);
}

static void
on_look(void *data)
{
	checkwork_screen_look(data);
}

static void
on_draw(void *data)
{
	checkwork_draw(data, NULL);
}

static void
on_key(void *data, int key)
{
	take_key(data, key);
}

int
checkwork_screen(const struct checkwork_options *o, struct lockq *q)
{
	struct checkwork_screen s = { .o = o, .looks = q, .page = CHECKWORK_PAGE_INIT };
	const struct screen_loop loop = { on_resize, on_look, on_draw, on_key, &s, &s.next_look,
		&s.ends };

	if (!screen_open())
		return cli_report(&o->common, CLI_EXIT_DATABASE, "the terminal can't be used");
	signal(SIGCHLD, SIG_IGN); /* of the processes that fill lists */
	screen_look_with(q, o->common.look_timeout_ms);
	screen_run(&loop);
	screen_close();
	checkwork_page_clear(&s.page);
	free(s.message);
	lockq_free(s.acts);
	if (cli_caught() != 0)
		return cli_exit_status(LOCKQ_CANCELLED, cli_caught());
	return s.failure < 0 ? cli_report_library(&o->common, q, s.failure) : CLI_EXIT_DONE;
}
