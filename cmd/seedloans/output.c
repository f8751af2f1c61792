/* SPDX-License-Identifier: MIT */
#include "seedloans/seed.h"

#include "cli/json.h"
#include "cli/program.h"
#include "cli/text.h"

static void
text_seeded(const struct seed_options *options, const struct seed_report *report)
{
	unsigned long long before = report->loans_before, loans = report->loans;
	unsigned long long documents = report->documents, rejected = report->rejected;

	if (before > 0)
		cli_line("before: %llu loan%s", before, cli_plural(before));
	if (options->loans > 0 || options->csv != NULL)
		cli_line("added: %llu loan%s with %llu document%s, %llu loans/s", loans,
		    cli_plural(loans), documents, cli_plural(documents),
		    (unsigned long long)report->loans_per_second);
	if (rejected > 0)
		cli_line("rejected: %llu row%s, see \"%s\"", rejected, cli_plural(rejected),
		    report->rejects);
	for (size_t i = 0; i < report->n_reasons; i++)
		cli_line("  %llu: %s", (unsigned long long)report->reasons[i].rows,
		    report->reasons[i].text);
	cli_line("in all: %llu loan%s, %llu users, %llu tasks, %s", before + loans,
	    cli_plural(before + loans), (unsigned long long)report->users,
	    (unsigned long long)report->tasks, cli_ms(report->ms).text);
	if (report->heavy_ms >= 0)
		cli_line("task 7's query takes %s%s", cli_ms((uint64_t)report->heavy_ms).text,
		    report->heavy_by_itself ? " without extra work, since so many loans match it" :
		    report->heavy_ms > options->heavy_ms + options->heavy_ms / 4 ?
		    ", since the server is busy now" : "");
}

static void
json_seeded(const struct seed_report *report)
{
	json_t *object = json_object(), *reasons = json_array();

	for (size_t i = 0; i < report->n_reasons; i++) {
		json_t *reason = json_object();

		cli_json_set(reason, "reason", cli_json_text(report->reasons[i].text));
		cli_json_set(reason, "rows", cli_json_number(report->reasons[i].rows));
		if (json_array_append_new(reasons, reason) != 0)
			cli_out_of_memory();
	}
	cli_json_set(object, "loans", cli_json_number(report->loans));
	cli_json_set(object, "loans_before", cli_json_number(report->loans_before));
	cli_json_set(object, "documents", cli_json_number(report->documents));
	cli_json_set(object, "users", cli_json_number(report->users));
	cli_json_set(object, "tasks", cli_json_number(report->tasks));
	cli_json_set(object, "rejected", cli_json_number(report->rejected));
	cli_json_set(object, "rejects_file",
	    report->rejects[0] != '\0' ? cli_json_text(report->rejects) : json_null());
	cli_json_set(object, "reasons", reasons);
	cli_json_set(object, "seconds", json_real((double)report->ms / 1000));
	cli_json_set(object, "loans_per_second", cli_json_number(report->loans_per_second));
	cli_json_set(object, "heavy_seconds", report->heavy_ms < 0 ? json_null() :
	    json_real((double)report->heavy_ms / 1000));
	cli_json_print(object);
}

void
seedloans_print(bool json, const struct seed_options *options, const struct seed_report *report)
{
	if (json)
		json_seeded(report);
	else
		text_seeded(options, report);
}
