/* SPDX-License-Identifier: MIT */
/* Small tables that people like to read. */
#ifndef LOCKQ_CMD_CLI_TABLE_H
#define LOCKQ_CMD_CLI_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "cli/terminal.h"
#include "cli/text.h"

/* Flags of a column. */
#define CLI_RIGHT 1u           /* aligned right: numbers */
#define CLI_TEXT 2u            /* may be cut where the line is too short; the others never are */
#define CLI_SPARE(n) (4u * (n)) /* may be left out where cutting won't do: the highest n first */

struct cli_column {
	const char *heading;   /* escaped, where it is not the program's own */
	unsigned int is;
};

struct cli_table;

/* @columns stays the caller's; release with cli_table_free(). */
struct cli_table *cli_table_new(const struct cli_column *columns, size_t n_columns);
void cli_table_free(struct cli_table *table);

/* Adds the next cell, row by row; it is escaped here. */
void cli_table_cell(struct cli_table *table, const char *format, ...) CLI_PRINTF(2, 3);

/* Prints the table. On standard output it fits the terminal. */
void cli_table_print(FILE *out, const struct cli_table *table, enum cli_style style);

/* Prints it no wider than @columns; 0 stands for any width. Text is cut first, then columns are
 * left out, and a line below the table names them. */
void cli_table_fit(FILE *out, const struct cli_table *table, enum cli_style style, size_t columns);

#endif
