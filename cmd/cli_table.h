/* SPDX-License-Identifier: MIT */
/* Small tables that people like to read. */
#ifndef LOCKQ_CMD_CLI_TABLE_H
#define LOCKQ_CMD_CLI_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "cli_terminal.h"
#include "cli_text.h"

/* What a column is, or'ed together; true and false will do for right and left. */
#define CLI_RIGHT 1u           /* aligned so: numbers */
#define CLI_TEXT 2u            /* may be cut where a line is too short; numbers and times are not */
#define CLI_SPARE(n) (4u * (n)) /* may be left out where that is not enough: the highest n first */

struct cli_column {
	const char *heading;   /* escaped, where it is not the program's own */
	unsigned int is;
};

struct cli_table;

/* @columns stays the caller's; release with cli_table_free(). */
struct cli_table *cli_table_new(const struct cli_column *columns, size_t n_columns);
void cli_table_free(struct cli_table *table);

/* The next cell, row by row; escaped here. */
void cli_table_cell(struct cli_table *table, const char *format, ...) CLI_PRINTF(2, 3);

/* On standard output it fits the terminal. */
void cli_table_print(FILE *out, const struct cli_table *table, enum cli_style style);

/* No wider than @columns, 0 for any width: text is cut, then columns are left out, which a line
 * after the table says. */
void cli_table_fit(FILE *out, const struct cli_table *table, enum cli_style style, size_t columns);

#endif
