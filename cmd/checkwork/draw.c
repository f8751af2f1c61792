/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "checkwork/screen.h"
#include "cli/pipeline.h"
#include "cli/screen.h"
#include "cli/utf8.h"

void
checkwork_page_clear(struct checkwork_page *page)
{
	lines_clear(&page->lines);
	free(page->row_of);
	page->row_of = NULL;
	lockq_pipeline_clear(&page->pipeline);
	lockq_requests_clear(&page->requests);
}

/* The requests first, as for the page without a screen: one that is served meanwhile is shown as
 * pending, and its loans, too. */
int
checkwork_page_look(struct checkwork_page *page, struct lockq *q, const char *user, uint32_t task)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	struct lockq_requests requests = LOCKQ_REQUESTS_INIT;
	int rc = lockq_requests(q, user, task, &requests);

	if (cli_has_answer(rc))
		rc = lockq_pipeline(q, user, task, &pipeline);
	if (cli_has_answer(rc)) {
		lockq_pipeline_clear(&page->pipeline);
		lockq_requests_clear(&page->requests);
		page->pipeline = pipeline;
		page->requests = requests;
	} else {
		lockq_pipeline_clear(&pipeline);
		lockq_requests_clear(&requests);
	}
	return rc;
}

static void
add_tables(struct checkwork_page *page, size_t width, enum cli_style style)
{
	const struct lockq_pipeline *pipeline = &page->pipeline;
	size_t n = 0, first;

	page->row_of = cli_alloc((pipeline->n_assignments + 1) * sizeof(*page->row_of));
	for (size_t from = 0; from < pipeline->n_assignments; from += n) {
		char *table = checkwork_table_part(pipeline, from, width, style, &n, &first);

		for (size_t i = 0; i < n; i++)
			page->row_of[from + i] = page->lines.n + first + i;
		lines_add_table(&page->lines, table);
	}
}

static void
checkwork_page_draw(struct checkwork_page *page, const char *user, size_t width,
    enum cli_style style)
{
	size_t n = page->pipeline.n_assignments, over = 0;

	lines_clear(&page->lines);
	free(page->row_of);
	add_tables(page, width, style);
	for (size_t i = 0; i < n; i++)
		over += page->pipeline.assignments[i].lease_expired != 0;
	if (n == 0)
		lines_add(&page->lines, page->requests.n_requests > 0 ?
		    cli_text("%s's pipeline has no %s yet", user, cli_loan()) :
		    cli_text("%s's pipeline is empty", user));
	else
		lines_add(&page->lines, cli_text("%zu %s", n, cli_loans(n)));
	if (over > 0)
		lines_add(&page->lines, cli_text("%zu %s run out: %s %s may go to another user at "
		    "any moment", over, over == 1 ? "lease has" : "leases have",
		    over == 1 ? "that" : "those", cli_loans(over)));
	if (page->pipeline.detail_fault != NULL)
		lines_add(&page->lines, cli_text("a task's own columns are missing: %s",
		    page->pipeline.detail_fault));
	for (size_t i = 0; i < page->requests.n_requests; i++)
		lines_add(&page->lines, request_line(user, &page->requests.requests[i]));
}

static const char keys[] =
	"c complete  r return  n never  e renew  m more  q quit  ? more keys";

/* Scrolls so that the marked row is seen, and with the first or the last row what is around it. */
static void
scroll_to_mark(struct checkwork_screen *s, size_t height)
{
	size_t n = s->page.pipeline.n_assignments, end = s->page.lines.n - 1;
	size_t row = n > 0 ? s->page.row_of[s->marked] : 0;
	size_t first = s->marked > 0 ? row : 0, last = s->marked + 1 < n ? row : end;
	size_t most = end + 1 > height ? end + 1 - height : 0;

	/* The terminal has become larger, or the page shorter. */
	if (s->top > most)
		s->top = most;
	if (last >= s->top + height)
		s->top = last - height + 1;
	if (first < s->top && last < first + height)
		s->top = first;
	if (row < s->top)
		s->top = row;
}

/* The text that @s asks for an answer with; NULL: it asks nothing. */
static char *
question_text(const struct checkwork_screen *s)
{
	unsigned long long id = s->about.loan_id;

	switch (s->asks) {
	case CHECKWORK_ASKS_TIME:
		return cli_text("return %s %llu, and offer it again after [" CHECKWORK_RETURN "]: "
		    "%s_", cli_loan(), id, s->typed);
	case CHECKWORK_ASKS_NEVER:
		return cli_text("never offer %s %llu again for task %u? y/n", cli_loan(), id,
		    s->about_task);
	case CHECKWORK_ASKS_DONE:
		return cli_text("complete %s %llu? y/n", cli_loan(), id);
	case CHECKWORK_ASKS_NOTHING:
		break;
	}
	return s->typed[0] == '\0' ? NULL : cli_text("m asks for %s", s->typed);
}

void
checkwork_draw(void *data)
{
	struct checkwork_screen *s = data;
	size_t height = LINES > 3 ? (size_t)LINES - 2 : 1, n = s->page.lines.n;
	size_t marked = s->has_mark ? s->page.row_of[s->marked] : n;
	char *question = question_text(s);
	const char *text = question != NULL ? question : s->doing != NULL ? s->doing :
	    s->message != NULL ? s->message : keys;
	char *escaped = cli_escape(text);
	char *title = cli_text("Pipeline %s %s", cli_dot(), s->o->user);

	erase();
	screen_heading(title, s->o->watch_ms);
	free(title);
	if (n > 0)
		scroll_to_mark(s, height);
	for (size_t i = 0; i < height && s->top + i < n; i++)
		screen_put((int)i + 1, 0, s->page.lines.text[s->top + i],
		    s->top + i == marked ? A_REVERSE : A_NORMAL);
	move(LINES - 1, 0);
	clrtoeol(); /* a terminal of one or two lines has something else there */
	screen_put(LINES - 1, 0, escaped, text == keys ? A_NORMAL : screen_bold());
	refresh();
	free(escaped);
	free(question);
}

void
checkwork_draw_lines(void *data)
{
	struct checkwork_screen *s = data;
	size_t most = COLS > CLI_WIDTH_LEAST ? (size_t)COLS : CLI_WIDTH_LEAST;
	size_t width = cli_table_width();

	checkwork_page_draw(&s->page, s->o->user, width < most ? width : most, cli_stdout_style());
}
