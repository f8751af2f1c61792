/* SPDX-License-Identifier: MIT */
#include "managetask/commands.h"

#include <stdbool.h>
#include <string.h>

const char *
manage_severity(enum lockq_severity severity)
{
	switch (severity) {
	case LOCKQ_FAULT:
		return "fault";
	case LOCKQ_WARNING:
		return "warning";
	case LOCKQ_NOTE:
		break;
	}
	return "note";
}

static const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Lines of SQL end as the mysql client wants them. */
static void
print_mend(const char *mend, const char *indent)
{
	bool command = strncmp(mend, "managetask ", strlen("managetask ")) == 0;

	cli_line("%s%s%s", indent, mend, command ? "" : ";");
}

static void
print_of(const struct lockq_findings *findings, enum lockq_severity severity, const char *heading)
{
	bool begun = false;

	for (size_t i = 0; i < findings->n_findings; i++) {
		const struct lockq_finding *f = &findings->findings[i];

		if (f->severity != severity)
			continue;
		if (!begun)
			cli_line("%s", heading);
		begun = true;
		cli_line("  %s", f->text);
		if (f->mend != NULL)
			print_mend(f->mend, "    ");
	}
}

/* How long the query took, what it found, and what the check of a kept loan costs. */
static void
print_figures(const struct lockq_findings *f)
{
	unsigned long long rows = f->rows, loans = f->loans;
	bool checked = f->check_ms >= 0;

	if (f->query_ms < 0) {
		cli_line("the query was not run to its end");
		return;
	}
	cli_line("query %s %s %s%llu row%s, %llu loan%s%s%s%s%s%s",
	    cli_ms((uint64_t)f->query_ms).text, cli_dot(), f->complete != 0 ? "" : "more than ",
	    rows, plural(rows), loans, plural(loans), checked ? " " : "", checked ? cli_dot() : "",
	    checked ? " check " : "", checked ? cli_ms((uint64_t)f->check_ms).text : "",
	    f->pushed_down < 0 ? "" : f->pushed_down != 0 ? ", pushed down" : ", not pushed down");
}

void
manage_findings(uint32_t task, const struct lockq_findings *findings, int status)
{
	unsigned long long faults = findings->n_faults, warnings = findings->n_warnings;

	(void)status;
	cli_heading("Task %u %s %s", task, cli_dot(), findings->name != NULL ? findings->name :
	    "-");
	print_figures(findings);
	print_of(findings, LOCKQ_FAULT, "faults:");
	print_of(findings, LOCKQ_WARNING, "warnings:");
	print_of(findings, LOCKQ_NOTE, "notes:");
	if (faults == 0 && warnings == 0)
		cli_line("task %u: nothing to mend", task);
	else
		cli_line("task %u: %llu fault%s, %llu warning%s", task, faults, plural(faults),
		    warnings, plural(warnings));
}

void
manage_missing_rights(uint32_t task, const struct lockq_findings *findings, size_t granted)
{
	size_t n = 0;

	(void)task;
	for (size_t i = 0; i < findings->n_findings; i++) {
		const struct lockq_finding *f = &findings->findings[i];

		if (f->is_grant == 0 || f->mend == NULL)
			continue;
		if (n == 0 && granted > 0)
			cli_line("these rights were missing, and are granted now:");
		else if (n == granted)
			cli_line("these rights are missing: run this, or give --grant:");
		print_mend(f->mend, "  ");
		n++;
	}
}
