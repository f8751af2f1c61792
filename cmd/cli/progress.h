/* SPDX-License-Identifier: MIT */
/* The line on standard error that shows progress. */
#ifndef LOCKQ_CMD_CLI_PROGRESS_H
#define LOCKQ_CMD_CLI_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

/* "[#####-----]", @width columns wide, filled in proportion; free() it. */
char *cli_bar(size_t width, uint64_t done, uint64_t total);

/*
 * Draws "@text [#####-----]" as one line over the last one on standard error, cut to the
 * terminal's width; no bar where @total is 0. Does nothing where progress is not shown. Takes @text.
 */
void cli_tick(const struct cli_common *common, uint64_t done, uint64_t total, char *text);

/* With --verbose, prints @text as a message if @phase is not the one of the last call. */
void cli_say_phase(const struct cli_common *common, int phase, const char *text);

/* The progress function of the tools for lockq_on_progress(); @data is the struct cli_common. */
int cli_on_progress(const struct lockq_progress *progress, void *data);

/* The text of that line, without the bar; free() it. */
char *cli_progress_text(const struct lockq_progress *progress);

#endif
