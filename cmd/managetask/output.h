/* SPDX-License-Identifier: MIT */
/* What managetask prints, as text for people or as JSON: a table of functions each; and the parts
 * of the text. */
#ifndef LOCKQ_CMD_MANAGETASK_OUTPUT_H
#define LOCKQ_CMD_MANAGETASK_OUTPUT_H

#include <stdbool.h>

#include "lockq.h"

struct manage_output {
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
};

const struct manage_output *manage_output(bool json);

/* --- findings.c --- */

/* "fault", "warning" or "note". */
const char *manage_severity(enum lockq_severity severity);

void manage_findings(uint32_t task, const struct lockq_findings *findings, int status);
void manage_missing_rights(uint32_t task, const struct lockq_findings *findings, size_t granted);

/* --- tables.c --- */

/* All tasks, one a row; or, of one task, a row for each setting. */
void manage_table(const struct lockq_definitions *tasks);
void manage_table_of_task(const struct lockq_definition *task);

void manage_table_of_people(const struct lockq_people *people);

/* The value of a setting, or NULL. */
const char *manage_setting(const struct lockq_definition *task, const char *name);

/* --- correct_message.c --- */

/* The word for JSON. */
const char *correct_message_result(enum lockq_disposed what);

/* Prints a line for a loan that is corrected, or was before, on standard output. */
void correct_message_done(const struct lockq_correction *what,
    const struct lockq_disposed_loan *loan);

/* Says on standard error why a loan was not corrected; @given is the token that was named, or 0. */
void correct_message_refused(const struct lockq_correction *what,
    const struct lockq_disposed_loan *loan, uint64_t given);

#endif
