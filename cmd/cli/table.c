/* SPDX-License-Identifier: MIT */
/*
 * Small tables that people like to read. libsmartcols would not do: it draws no frame, cuts text
 * without a sign that something is missing, and leaves no column out, so that a narrow terminal
 * would break its lines.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/table.h"
#include "cli/utf8.h"

struct cli_table {
	const struct cli_column *columns;
	size_t n_columns;
	char **cells; /* row after row */
	size_t n_cells, capacity;
};

enum { TEXT_MIN = 12 }; /* a column of text is not made narrower */
#define LEFT_OUT SIZE_MAX

/* The characters of a style. */
struct pen {
	const char *line, *bar, *ellipsis;
	const char *top[3], *middle[3], *bottom[3]; /* left, between, right */
};

static const struct pen pens[] = {
	[CLI_PLAIN] = { "-", "|", "...", { "+", "+", "+" }, { "+", "+", "+" }, { "+", "+", "+" } },
	[CLI_BOXES] = { "─", "│", "…",
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
cli_table_add(struct cli_table *table, char *text)
{
	if (table->n_cells == table->capacity) {
		table->capacity = table->capacity == 0 ? 64 : table->capacity * 2;
		table->cells = cli_realloc(table->cells, table->capacity * sizeof(char *));
	}
	table->cells[table->n_cells++] = cli_escaped(text);
}

/* The width of a line; a column of LEFT_OUT adds nothing to it. */
static size_t
line_width(const struct cli_table *table, const size_t *widths)
{
	size_t width = 1, i;

	for (i = 0; i < table->n_columns; i++)
		width += widths[i] == LEFT_OUT ? 0 : widths[i] + 3;
	return width;
}

/* By how much a column may be made narrower. */
static size_t
slack(const struct cli_table *table, const size_t *widths, size_t column)
{
	bool text = (table->columns[column].is & CLI_TEXT) != 0 && widths[column] != LEFT_OUT;

	return text && widths[column] > TEXT_MIN ? widths[column] - TEXT_MIN : 0;
}

/* Makes the columns of text narrower by @excess in all, each in proportion to its slack. Where they
 * have less slack it changes nothing and returns false. */
static bool
shrink(const struct cli_table *table, size_t *widths, size_t excess)
{
	size_t all = 0, i, part, take;

	for (i = 0; i < table->n_columns; i++)
		all += slack(table, widths, i);
	if (all < excess)
		return false;
	for (i = 0; i < table->n_columns && excess > 0; i++) {
		part = slack(table, widths, i);
		if (part == 0)
			continue;
		take = excess * part / all;
		widths[i] -= take;
		excess -= take;
		all -= part;
	}
	return true;
}

/* Leaves out the column with the highest CLI_SPARE, of several the last. False: none is left. */
static bool
leave_one_out(const struct cli_table *table, size_t *widths)
{
	size_t i, worst = table->n_columns;

	for (i = 0; i < table->n_columns; i++) {
		if (widths[i] == LEFT_OUT || table->columns[i].is < CLI_SPARE(1))
			continue;
		if (worst == table->n_columns ||
		    table->columns[i].is / CLI_SPARE(1) >= table->columns[worst].is / CLI_SPARE(1))
			worst = i;
	}
	if (worst == table->n_columns)
		return false;
	widths[worst] = LEFT_OUT;
	return true;
}

static void
fit(const struct cli_table *table, size_t *widths, size_t columns)
{
	size_t i, all = 0, needed = line_width(table, widths);

	while (columns != 0 && needed > columns && !shrink(table, widths, needed - columns)) {
		if (!leave_one_out(table, widths)) {
			for (i = 0; i < table->n_columns; i++)
				all += slack(table, widths, i);
			(void)shrink(table, widths, all);
			return;
		}
		needed = line_width(table, widths);
	}
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
	const char *corner = corners[0];
	size_t i;

	for (i = 0; i < n_columns; i++) {
		if (widths[i] == LEFT_OUT)
			continue;
		fputs(corner, out);
		repeat(out, pen->line, widths[i] + 2);
		corner = corners[1];
	}
	fprintf(out, "%s\n", corners[2]);
}

static void
print_cell(FILE *out, const struct pen *pen, const char *text, bool right, size_t width)
{
	char *shown = cli_shorten(text, width, pen->ellipsis);
	size_t padding = width - cli_width(shown);

	fprintf(out, "%s ", pen->bar);
	if (right)
		repeat(out, " ", padding);
	fputs(shown, out);
	if (!right)
		repeat(out, " ", padding);
	fputc(' ', out);
	free(shown);
}

/* Prints the row that begins at @cell, or the headings where @cell is NULL. */
static void
print_row(FILE *out, const struct pen *pen, const struct cli_table *table, const size_t *widths,
    char *const *cell)
{
	size_t i;

	for (i = 0; i < table->n_columns; i++) {
		if (widths[i] != LEFT_OUT)
			print_cell(out, pen, cell != NULL ? cell[i] : table->columns[i].heading,
			    (table->columns[i].is & CLI_RIGHT) != 0, widths[i]);
	}
	fprintf(out, "%s\n", pen->bar);
}

static void
print_left_out(FILE *out, const struct cli_table *table, const size_t *widths)
{
	const char *between = "no room for ";
	size_t i;

	for (i = 0; i < table->n_columns; i++) {
		if (widths[i] != LEFT_OUT)
			continue;
		fprintf(out, "%s%s", between, table->columns[i].heading);
		between = ", ";
	}
	if (between[0] == ',')
		fputs(": --json has everything\n", out);
}

void
cli_table_fit(FILE *out, struct cli_table *table, enum cli_style style, size_t columns)
{
	const struct pen *pen = &pens[style];
	size_t *widths = cli_alloc(table->n_columns * sizeof(*widths));
	size_t i;

	for (i = 0; i < table->n_columns; i++) {
		widths[i] = cli_width(table->columns[i].heading);
		for (size_t cell = i; cell < table->n_cells; cell += table->n_columns) {
			size_t width = cli_width(table->cells[cell]);

			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
	fit(table, widths, columns);
	print_rule(out, pen, pen->top, widths, table->n_columns);
	print_row(out, pen, table, widths, NULL);
	print_rule(out, pen, pen->middle, widths, table->n_columns);
	for (i = 0; i + table->n_columns <= table->n_cells; i += table->n_columns)
		print_row(out, pen, table, widths, &table->cells[i]);
	print_rule(out, pen, pen->bottom, widths, table->n_columns);
	print_left_out(out, table, widths);
	free(widths);
	for (i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void
cli_table_print(struct cli_table *table)
{
	cli_table_fit(stdout, table, cli_stdout_style(), cli_table_width());
}
