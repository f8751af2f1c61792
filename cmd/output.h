/* SPDX-License-Identifier: MIT */
/*
 * How an answer reaches standard output: as text for people or as JSON for scripts, one table of
 * functions each. The option --json chooses the table, and nothing after that asks which it is.
 * What goes wrong is a message on standard error in both cases, which the tool writes itself.
 */
#ifndef LOCKQ_CMD_OUTPUT_H
#define LOCKQ_CMD_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "lockq.h"

struct seed_options;
struct seed_report;

struct output {
	bool ticks; /* a line on a terminal may say how far a call is */

	/* There is no answer, because of @text. */
	void (*error)(const char *text, int status);

	/* getwork's request; @complaint is what the tool says on standard error about it, or
	 * NULL. */
	void (*answer)(const struct lockq_answer *answer, int rc, int status,
	    const char *complaint);

	/* checkwork's look at a request; likewise. */
	void (*request)(const struct lockq_answer *answer, int rc, int status,
	    const char *complaint);

	/* @task is 0 for every task. */
	void (*pipeline)(const char *user, uint32_t task, const struct lockq_pipeline *pipeline);
	void (*history)(uint32_t task, uint64_t loan_id, const struct lockq_history *history);

	/* One of the loans that @what names, with the exit status that it alone would have. */
	void (*disposed)(const struct lockq_disposition *what,
	    const struct lockq_disposed_loan *loan, int status);

	/* What was done until @rc; @error is the library's, or NULL. */
	void (*expired)(const struct lockq_expired *done, int rc, int status, const char *error);

	void (*seeded)(const struct seed_options *options, const struct seed_report *report);
};

extern const struct output output_text, output_json;

#endif
