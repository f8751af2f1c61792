/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "checkwork/look.h"
#include "cli/table.h"

enum { COLUMNS_MOST = 9 };

/* Columns that only some histories need. */
struct shown {
	bool accounts; /* more than one database account took part */
	bool excluded;
	bool notes;
	bool managers; /* who have corrected an assignment, and the note says why */
};

static struct shown
what_to_show(const struct lockq_history *history)
{
	struct shown shown = { false, false, false, false };
	const struct lockq_event *e;
	size_t i;

	for (i = 0; i < history->n_events; i++) {
		e = &history->events[i];
		if (strcmp(e->account, history->events[0].account) != 0)
			shown.accounts = true;
		shown.excluded = shown.excluded || e->excluded_until[0] != '\0';
		shown.notes = shown.notes || e->note != NULL;
		shown.managers = shown.managers || e->manager != NULL;
	}
	return shown;
}

static size_t
make_columns(struct cli_column columns[COLUMNS_MOST], const struct shown *shown)
{
	size_t n = 0;

	columns[n++] = (struct cli_column){ "time", 0 };
	columns[n++] = (struct cli_column){ "event", 0 };
	columns[n++] = (struct cli_column){ "user", CLI_TEXT };
	columns[n++] = (struct cli_column){ "until", CLI_SPARE(1) };
	columns[n++] = (struct cli_column){ "token", CLI_RIGHT | CLI_SPARE(8) };
	if (shown->excluded)
		columns[n++] = (struct cli_column){ "excluded until", CLI_SPARE(7) };
	if (shown->accounts)
		columns[n++] = (struct cli_column){ "account", CLI_TEXT | CLI_SPARE(9) };
	if (shown->managers)
		columns[n++] = (struct cli_column){ "by manager", CLI_TEXT };
	if (shown->notes)
		columns[n++] = (struct cli_column){ "note", CLI_TEXT | CLI_SPARE(6) };
	return n;
}

/* The time until which the event holds: the end of the lease, or the time when the loan
 * is offered again. */
static void
add_until(struct cli_table *table, const struct lockq_event *e)
{
	bool held = strcmp(e->event, "assigned") == 0 || strcmp(e->event, "renewed") == 0;
	const char *utc = held ? e->lease_expires_at : e->available_at;
	struct cli_time until;

	/* these two only end something */
	if (strcmp(e->event, "expired") == 0 || strcmp(e->event, "available") == 0)
		utc = "";
	until = cli_local(utc);
	cli_table_cell(table, "%s", held && until.text[0] == '\0' ? "no limit" : until.text);
}

static void
add_row(struct cli_table *table, const struct lockq_event *e, const struct shown *shown)
{
	cli_table_cell(table, "%s", cli_local_s(e->at).text);
	cli_table_cell(table, "%s", e->event);
	cli_table_cell(table, "%s", e->user);
	add_until(table, e);
	cli_table_cell(table, "%llu", (unsigned long long)e->token);
	if (shown->excluded)
		cli_table_cell(table, "%s", cli_local(e->excluded_until).text);
	if (shown->accounts)
		cli_table_cell(table, "%s", e->account);
	if (shown->managers)
		cli_table_cell(table, "%s", e->manager != NULL ? e->manager : "");
	if (shown->notes)
		cli_table_cell(table, "%s", e->note != NULL ? e->note : "");
}

/* A loan's first change is version 1, and each change adds 1; "available" is no change. */
static bool
has_gaps(const struct lockq_history *history)
{
	uint64_t version = 0;
	bool gaps = false;
	size_t i;

	for (i = 0; i < history->n_events; i++) {
		bool change = strcmp(history->events[i].event, "available") != 0;

		gaps = gaps || history->events[i].version != version + change;
		version = history->events[i].version;
	}
	return gaps;
}

void
loan_history(uint32_t task, uint64_t loan_id, const struct lockq_history *history)
{
	struct shown shown = what_to_show(history);
	struct cli_column columns[COLUMNS_MOST];
	struct cli_table *table = cli_table_new(columns, make_columns(columns, &shown));
	size_t i;

	for (i = 0; i < history->n_events; i++)
		add_row(table, &history->events[i], &shown);
	cli_heading("Loan %llu %s task %u", (unsigned long long)loan_id, cli_dot(), task);
	cli_table_print(table);
	cli_line("%zu %s", history->n_events, history->n_events == 1 ? "event" : "events");
	if (has_gaps(history))
		cli_line("some events are missing: their rows of the log were purged");
}
