/* SPDX-License-Identifier: MIT */
#include "checkwork/screen.h"

#include <stdlib.h>

#include "cli/pipeline.h"

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

void
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
