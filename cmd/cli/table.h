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

/* @columns stays the caller's. One of the functions that print the table frees it. */
struct cli_table *cli_table_new(const struct cli_column *columns, size_t n_columns);

/* Adds the next cell, row by row; it is escaped here. Takes @text. */
void cli_table_add(struct cli_table *table, char *text);
#define cli_table_cell(table, ...) cli_table_add((table), cli_text(__VA_ARGS__))

/* Prints the table on standard output, where it fits the terminal, and frees it. */
void cli_table_print(struct cli_table *table);

/* Prints it no wider than @columns; 0 stands for any width. Text is cut first, then columns are
 * left out, and a line below the table names them. Frees it. */
void cli_table_fit(FILE *out, struct cli_table *table, enum cli_style style, size_t columns);

#endif
