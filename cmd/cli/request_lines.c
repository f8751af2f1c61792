/* SPDX-License-Identifier: MIT */
#include "cli/pipeline.h"
#include "cli/program.h"

#include <stdlib.h>

/* What happens next, and what the user can do. */
static char *
prospect(const char *user, const struct lockq_request *r)
{
	char *word = cli_word(user), *text;

	if (r->unattended)
		text = cli_text(": it will expire, since nobody looks after it: getwork --user %s "
		    "--task %u takes it up", word, r->task);
	else if (r->paused != NULL)
		text = cli_text(": %s", r->paused);
	else if (r->leader != NULL)
		text = cli_text(": %s leads", r->leader);
	else if (r->nobody_leads)
		text = cli_text(": nobody leads: getwork --user %s --task %u joins it and leads",
		    word, r->task);
	else
		text = cli_text("%s", "");
	free(word);
	return text;
}

char *
request_line(const char *user, const struct lockq_request *r)
{
	char *next = prospect(user, r), *line;

	line = cli_text("request %llu for %u %s of task %u is pending since %s (%s)%s",
	    (unsigned long long)r->request_id, r->asked, r->asked == 1 ? "loan" : "loans", r->task,
	    cli_local(r->created_at).text, cli_age(r->age_s).text, next);
	free(next);
	return line;
}

void
request_lines(const char *user, const struct lockq_requests *requests)
{
	for (size_t i = 0; i < requests->n_requests; i++)
		cli_put_line(request_line(user, &requests->requests[i]));
}
