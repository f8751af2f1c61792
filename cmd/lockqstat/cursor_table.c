/* SPDX-License-Identifier: MIT */
#include "lockqstat/cursor_table.h"

#include <time.h>

#include "cli/table.h"
#include "cli/times.h"

void
cursor_table(const struct lockq_cursors *cursors)
{
	static const struct cli_column columns[] = {
		{ "cursor", 0 }, { "behind", CLI_RIGHT }, { "next change", CLI_RIGHT },
		{ "position", CLI_RIGHT | CLI_SPARE(1) }, { "moved", CLI_SPARE(2) },
		{ "made", CLI_SPARE(4) }, { "by", CLI_TEXT | CLI_SPARE(3) },
	};
	struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	char age[CLI_TIME_SIZE] = "", moved[CLI_TIME_SIZE], made[CLI_TIME_SIZE];
	time_t now = time(NULL);
	size_t i;

	for (i = 0; i < cursors->n_cursors; i++) {
		const struct lockq_cursor *c = &cursors->cursors[i];

		if (c->age_s >= 0)
			cli_age(age, (uint64_t)c->age_s);
		cli_time_local(moved, c->moved_at, false, now);
		cli_time_local(made, c->made_at, false, now);
		cli_table_cell(table, "%s", c->cursor);
		cli_table_cell(table, "%llu", (unsigned long long)c->lag);
		cli_table_cell(table, "%s", c->age_s >= 0 ? age : "none");
		cli_table_cell(table, "%llu", (unsigned long long)c->position);
		cli_table_cell(table, "%s", moved[0] != '\0' ? moved : "never");
		cli_table_cell(table, "%s", made);
		cli_table_cell(table, "%s", c->account);
	}
	cli_table_print(stdout, table, cli_stdout_style());
	cli_line("%zu %s", cursors->n_cursors, cursors->n_cursors == 1 ? "cursor" : "cursors");
	cli_table_free(table);
}
