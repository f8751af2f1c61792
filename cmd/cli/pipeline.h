/* SPDX-License-Identifier: MIT */
/* A user's assignments and pending requests, for checkwork and getwork --pipeline. pipeline.c
 * prints them, pipeline_table.c makes the tables. */
#ifndef LOCKQ_CMD_CLI_PIPELINE_H
#define LOCKQ_CMD_CLI_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/terminal.h"
#include "lockq.h"

/* Prints both, of @task or, where it is 0, of every task. */
void cli_pipeline_print(bool json, const char *user, uint32_t task,
    const struct lockq_pipeline *pipeline, const struct lockq_requests *requests);

/*
 * Prints one table, or one for each task where a task has details of its own; then what to do about
 * leases that ran out or soon will. @pipeline has at least one assignment.
 */
void checkwork_table(const char *user, const struct lockq_pipeline *pipeline);

/* Prints a table of the loans of an answer. The tasks' own columns and the notes are in @pipeline,
 * which may be NULL; the column of tokens is left out unless @tokens. */
void cli_pipeline_answer(const struct lockq_answer *answer, const struct lockq_pipeline *pipeline,
    bool tokens);

/*
 * One of these tables as text, with its heading; free() it. It begins with assignment @from, and is
 * no wider than @width. *@n is set to how many assignments it has, *@first_row to the line of the
 * first one, from 0: each has one line.
 */
char *checkwork_table_part(const struct lockq_pipeline *pipeline, size_t from, size_t width,
    enum cli_style style, size_t *n, size_t *first_row);

/* Prints a line for each request. */
void request_lines(const char *user, const struct lockq_requests *requests);

/*
 * "request 118 for 3 loans of task 7 is pending since 10:42 (3 min 20 s): tracy leads"; free() it.
 */
char *request_line(const char *user, const struct lockq_request *request);

#endif
