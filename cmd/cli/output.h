/* SPDX-License-Identifier: MIT */
/*
 * How an answer reaches standard output: as text for people or as JSON for scripts, one table of
 * functions each. The option --json chooses the table, and nothing after that asks which it is. An
 * error is a message on standard error in both cases, which the tool prints itself.
 */
#ifndef LOCKQ_CMD_CLI_OUTPUT_H
#define LOCKQ_CMD_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockq.h"
#include "lockqstat/table.h"

struct command_end;
struct seed_options;
struct seed_report;
struct stat_health;

struct output {
	bool ticks; /* progress may be shown on a terminal */

	/* Says that there is no answer, because of @text. */
	void (*error)(const char *text, int status);

	/* getwork's request; @complaint is the tool's message about it on standard error, or
	 * NULL. */
	void (*answer)(const struct lockq_answer *answer, int rc, int status,
	    const char *complaint);

	/* What came of getwork --cancel; the same parameters. */
	void (*cancelled)(const struct lockq_answer *answer, int rc, int status,
	    const char *complaint);

	/* checkwork's look at a request; the same parameters. */
	void (*request)(const struct lockq_answer *answer, int rc, int status,
	    const char *complaint);

	/* @task is 0 for every task. */
	void (*pipeline)(const char *user, uint32_t task, const struct lockq_pipeline *pipeline,
	    const struct lockq_requests *requests);
	void (*requests)(const char *user, uint32_t task, const struct lockq_requests *requests);
	void (*tasks)(const char *user, const struct lockq_tasks *tasks);
	void (*history)(uint32_t task, uint64_t loan_id, const struct lockq_history *history);

	/* One of the loans that @what names; @status is the exit status for it alone. */
	void (*disposed)(const struct lockq_disposition *what,
	    const struct lockq_disposed_loan *loan, int status);

	/* Loan @i of those that @what names, after the command of getwork --exec has ended as
	 * @end says; @loan is NULL where the disposition failed, and @error is why. */
	void (*executed)(const struct lockq_disposition *what, size_t i,
	    const struct lockq_disposed_loan *loan, const struct command_end *end, int status,
	    const char *error);

	/* The work of disposition --expire, which ended with @rc; @error is the library's, or
	 * NULL. */
	void (*expired)(const struct lockq_expired *done, int rc, int status, const char *error);

	/* What came of filling the list of @task, which ended with @rc; @reason is why it was not
	 * filled, or NULL. */
	void (*refilled)(uint32_t task, const struct lockq_refilled *result, int rc, int status,
	    const char *reason);

	/* No list is due; @task is 0 for every task. */
	void (*none_due)(uint32_t task);

	/* How tasks are defined; one of them with all settings. */
	void (*definitions)(const struct lockq_definitions *tasks, bool one);
	void (*people)(const struct lockq_people *people);

	/* What a manager has @done to a "task" or a "user", which @what tells: the number or the
	 * name. */
	void (*managed)(const char *what, uint32_t task, const char *user, const char *done);

	/* One of the loans that a manager corrects; @status is the exit status for it alone. */
	void (*corrected)(const struct lockq_correction *what,
	    const struct lockq_disposed_loan *loan, int status);
	/* What a check of the task has found. */
	void (*findings)(uint32_t task, const struct lockq_findings *findings, int status);
	/* The rights that were missing; the first @granted of them are granted now. */
	void (*rights)(uint32_t task, const struct lockq_findings *findings, size_t granted);

	/* How tasks stand, sorted by @order; @runs are those of the one task that there is, or
	 * NULL. */
	void (*stats)(const struct lockq_stats *stats, enum stat_order order,
	    const struct lockq_runs *runs);
	/* What is wrong with them. */
	void (*health)(const struct lockq_stats *stats, const struct stat_health *health);
	/* The places of the readers of the change feed; and the one that was removed. */
	void (*cursors)(const struct lockq_cursors *cursors);
	void (*dropped)(const char *cursor);

	void (*seeded)(const struct seed_options *options, const struct seed_report *report);
};

extern const struct output output_text, output_json;

#endif
