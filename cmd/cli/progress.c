/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/noun.h"
#include "cli/program.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/times.h"
#include "cli/utf8.h"

enum {
	BAR_MIN = 8,
	BAR_MAX = 32,
	SILENT_MS = 10000 /* what waits for longer says why, also to a script */
};

/* Whether progress is shown: standard error is a terminal, and not --json. */
static bool
is_shown(const struct cli_common *common)
{
	return !common->json && isatty(STDERR_FILENO);
}

char *
cli_bar(size_t width, uint64_t done, uint64_t total)
{
	size_t inner = width > 2 ? width - 2 : 0, filled = inner, i;
	char *bar = cli_alloc(inner + 3);

	if (done < total)
		filled = (size_t)((double)done / (double)total * (double)inner);
	bar[0] = '[';
	for (i = 0; i < inner; i++)
		bar[i + 1] = i < filled ? '#' : '-';
	bar[inner + 1] = ']';
	bar[inner + 2] = '\0';
	return bar;
}

void
cli_tick(const struct cli_common *common, uint64_t done, uint64_t total, char *text)
{
	size_t columns = cli_columns(STDERR_FILENO), room;
	char *escaped = cli_escaped(text), *bar, *line;

	if (is_shown(common)) {
		/* A line as wide as the terminal would scroll, and so would one with ^C after
		 * it. */
		columns = columns > BAR_MIN ? columns - 3 : columns - 1;
		room = columns > cli_width(escaped) + 1 ? columns - cli_width(escaped) - 1 : 0;
		if (total == 0 || room < BAR_MIN) {
			line = cli_cut(escaped, columns);
		} else {
			bar = cli_bar(room < BAR_MAX ? room : BAR_MAX, done, total);
			line = cli_text("%s %s", escaped, bar);
			free(bar);
		}
		cli_draw_tick(line);
		free(line);
	}
	free(escaped);
}

/* How long the query has run: another leader's began before this process waited for it. */
static uint64_t
elapsed_ms(const struct lockq_progress *progress)
{
	return progress->leader != NULL && progress->phase == LOCKQ_PHASE_WAIT ?
	    progress->leader_ms : progress->phase_ms;
}

static char *
query_text(const struct lockq_progress *progress)
{
	struct cli_time elapsed = cli_age(elapsed_ms(progress) / 1000);
	struct cli_time usual = cli_ms(progress->usual_ms);
	bool known = progress->usual_ms > 0;
	char *whose, *text;

	if (progress->phase != LOCKQ_PHASE_WAIT)
		return cli_text("your query runs: %s%s%s", elapsed.text, known ? ", usually " : "",
		    known ? usual.text : "");
	whose = cli_quoted(progress->leader, "another");
	text = cli_text("waiting for %s%s query: %s%s%s", whose,
	    progress->leader != NULL ? "'s" : "", elapsed.text, known ? ", usually " : "",
	    known ? usual.text : "");
	free(whose);
	return text;
}

char *
cli_progress_text(const struct lockq_progress *progress)
{
	switch (progress->phase) {
	case LOCKQ_PHASE_RETRY:
		return cli_text("waiting%s%s", progress->detail != NULL ? ": " : "",
		    progress->detail != NULL ? progress->detail : "");
	case LOCKQ_PHASE_CANCEL:
		return cli_text("trying again to cancel the request: %s", progress->detail != NULL ?
		    progress->detail : "");
	case LOCKQ_PHASE_EXPIRE:
		return cli_text("tidying up: %llu %s, %s", (unsigned long long)progress->rows,
		    progress->rows == 1 ? "row" : "rows", cli_age(progress->phase_ms / 1000).text);
	case LOCKQ_PHASE_DISPOSE:
		return cli_text("disposing of the %s: %s", cli_loans(2),
		    cli_age(progress->phase_ms / 1000).text);
	case LOCKQ_PHASE_FOLLOW:
		return cli_text("%s", progress->detail != NULL ? progress->detail :
		    "nothing to deliver");
	case LOCKQ_PHASE_QUERY:
	case LOCKQ_PHASE_WAIT:
	case LOCKQ_PHASE_CHECK:
		break;
	}
	return query_text(progress);
}

void
cli_say_phase(const struct cli_common *common, int phase, const char *text)
{
	static int said = -1;

	if (!common->verbose || said == phase)
		return;
	said = phase;
	cli_message("%s", text);
}

/* Whether a program that shows no progress has waited for so long that it has to say why, once. */
static bool
is_owed(const struct cli_common *common, const struct lockq_progress *progress)
{
	static uint64_t since;
	static bool said;
	bool waits = progress->phase == LOCKQ_PHASE_WAIT || progress->phase == LOCKQ_PHASE_RETRY;

	if (!waits || said || common->verbose || is_shown(common))
		return false;
	if (since == 0)
		since = cli_clock_ms();
	said = cli_clock_ms() - since >= SILENT_MS;
	return said;
}

int
cli_on_progress(const struct lockq_progress *progress, void *data)
{
	static uint64_t said; /* the request that was joined */
	const struct cli_common *common = data;
	uint64_t usual = 0;
	char *text;
	bool owed;

	if (cli_caught() != 0 && progress->phase != LOCKQ_PHASE_CANCEL)
		return 1;
	owed = is_owed(common, progress);
	if (!common->verbose && !owed && !is_shown(common))
		return 0;
	text = cli_progress_text(progress);
	if (owed)
		cli_message("%s", text);
	cli_say_phase(common, (int)progress->phase, text);
	/* Said at once, since that request may be for another number of loans. */
	if (is_shown(common) && progress->joined_request != 0 && progress->joined_request != said) {
		said = progress->joined_request;
		cli_message("joined your earlier request %llu, for %u %s", (unsigned long long)said,
		    progress->joined_asked, progress->joined_asked == 1 ? "loan" : "loans");
	}
	if (progress->phase == LOCKQ_PHASE_QUERY || progress->phase == LOCKQ_PHASE_WAIT ||
	    progress->phase == LOCKQ_PHASE_CHECK)
		usual = progress->usual_ms;
	cli_tick(common, elapsed_ms(progress), usual, text);
	return 0;
}
