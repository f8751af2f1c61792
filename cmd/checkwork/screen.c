/* SPDX-License-Identifier: MIT */
#include "checkwork/screen.h"

#include <signal.h>
#include <stdlib.h>

int
checkwork_screen(const struct checkwork_options *o, struct lockq *q)
{
	struct checkwork_screen s = { .o = o, .looks = q, .page = CHECKWORK_PAGE_INIT };
	const struct screen_loop loop = { checkwork_draw_lines, checkwork_screen_look,
		checkwork_draw, checkwork_key, &s, &s.next_look, &s.ends };

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
