/* SPDX-License-Identifier: MIT */
/* A user's loans and requests as lines of text, for a screen. */
#ifndef LOCKQ_CMD_CHECKWORK_PAGE_H
#define LOCKQ_CMD_CHECKWORK_PAGE_H

#include <stddef.h>

#include "cli/lines.h"
#include "cli/terminal.h"
#include "lockq.h"

struct checkwork_page {
	struct lockq_pipeline pipeline;
	struct lockq_requests requests;
	struct lines lines;
	size_t *row_of;  /* the line of each assignment of the pipeline */
};
#define CHECKWORK_PAGE_INIT { LOCKQ_PIPELINE_INIT, LOCKQ_REQUESTS_INIT, LINES_INIT, NULL }

/* Reads the loans and the requests of @user, for all tasks if @task is 0. Returns what the library
 * returns; after a failure, and with LOCKQ_BUSY, the page is as before. */
LOCKQ_MUST_CHECK int checkwork_page_look(struct checkwork_page *page, struct lockq *q,
    const char *user, uint32_t task);

/* Makes the lines, no wider than @width. */
void checkwork_page_draw(struct checkwork_page *page, const char *user, size_t width,
    enum cli_style style);

void checkwork_page_clear(struct checkwork_page *page);

#endif
