/* SPDX-License-Identifier: MIT */
/* Small tables that people like to read. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct cli_table {
	const struct cli_column *columns;
	size_t n_columns;
	char **cells; /* row after row */
	size_t n_cells, capacity;
};

/* What a style draws with. */
struct pen {
	const char *line, *bar;
	const char *top[3], *middle[3], *bottom[3]; /* left, between, right */
};

static const struct pen pens[] = {
	[CLI_PLAIN] = { "-", "|", { "+", "+", "+" }, { "+", "+", "+" }, { "+", "+", "+" } },
	[CLI_BOXES] = { "─", "│",
	    { "┌", "┬", "┐" }, { "├", "┼", "┤" }, { "└", "┴", "┘" } },
};

struct cli_table *
cli_table_new(const struct cli_column *columns, size_t n_columns)
{
	struct cli_table *table = cli_alloc(sizeof(*table));

	*table = (struct cli_table){ columns, n_columns, NULL, 0, 0 };
	return table;
}

void
cli_table_free(struct cli_table *table)
{
	size_t i;

	if (table == NULL)
		return;
	for (i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void
cli_table_cell(struct cli_table *table, const char *format, ...)
{
	va_list arguments;
	char *raw;

	if (table->n_cells == table->capacity) {
		table->capacity = table->capacity == 0 ? 64 : table->capacity * 2;
		table->cells = cli_realloc(table->cells, table->capacity * sizeof(char *));
	}
	va_start(arguments, format);
	raw = cli_vtext(format, arguments);
	va_end(arguments);
	table->cells[table->n_cells++] = cli_escape(raw);
	free(raw);
}

static size_t
column_width(const struct cli_table *table, size_t column)
{
	size_t width = cli_width(table->columns[column].heading), i, cell;

	for (i = column; i < table->n_cells; i += table->n_columns) {
		cell = cli_width(table->cells[i]);
		if (cell > width)
			width = cell;
	}
	return width;
}

static void
repeat(FILE *out, const char *what, size_t times)
{
	while (times-- > 0)
		fputs(what, out);
}

static void
print_rule(FILE *out, const struct pen *pen, const char *const corners[3], const size_t *widths,
    size_t n_columns)
{
	size_t i;

	for (i = 0; i < n_columns; i++) {
		fputs(corners[i == 0 ? 0 : 1], out);
		repeat(out, pen->line, widths[i] + 2);
	}
	fprintf(out, "%s\n", corners[2]);
}

static void
print_cell(FILE *out, const struct pen *pen, const char *text, bool right, size_t width)
{
	size_t padding = width - cli_width(text);

	fprintf(out, "%s ", pen->bar);
	if (right)
		repeat(out, " ", padding);
	fputs(text, out);
	if (!right)
		repeat(out, " ", padding);
	fputc(' ', out);
}

void
cli_table_print(FILE *out, const struct cli_table *table, enum cli_style style)
{
	const struct pen *pen = &pens[style];
	size_t *widths = cli_alloc(table->n_columns * sizeof(*widths));
	size_t i, column;

	for (i = 0; i < table->n_columns; i++)
		widths[i] = column_width(table, i);
	print_rule(out, pen, pen->top, widths, table->n_columns);
	for (i = 0; i < table->n_columns; i++)
		print_cell(out, pen, table->columns[i].heading, table->columns[i].right, widths[i]);
	fprintf(out, "%s\n", pen->bar);
	print_rule(out, pen, pen->middle, widths, table->n_columns);
	for (i = 0, column = 0; i < table->n_cells; i++) {
		print_cell(out, pen, table->cells[i], table->columns[column].right, widths[column]);
		if (++column == table->n_columns) {
			fprintf(out, "%s\n", pen->bar);
			column = 0;
		}
	}
	print_rule(out, pen, pen->bottom, widths, table->n_columns);
	free(widths);
}
