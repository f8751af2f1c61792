/* SPDX-License-Identifier: MIT */
#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "cli/utf8.h"

/* Takes @line. */
static void
add(struct lines *lines, char *line)
{
	lines->text = cli_realloc(lines->text, (lines->n + 1) * sizeof(*lines->text));
	lines->text[lines->n++] = line;
}

void
lines_add(struct lines *lines, char *text)
{
	add(lines, cli_escaped(text));
}

void
lines_add_table(struct lines *lines, char *table)
{
	char *from = table, *end;

	for (end = strchr(from, '\n'); end != NULL; end = strchr(from, '\n')) {
		*end = '\0';
		add(lines, cli_text("%s", from));
		from = end + 1;
	}
	free(table);
}

void
lines_clear(struct lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->text[i]);
	free(lines->text);
	*lines = (struct lines)LINES_INIT;
}
