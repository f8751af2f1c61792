/* SPDX-License-Identifier: MIT */
/* The cap on the loans of a task that a user may hold, task.max_pipeline. */
#ifndef LOCKQ_MAX_PIPELINE_H
#define LOCKQ_MAX_PIPELINE_H

#include "rules/task.h"

/* The text for a user whose pipeline has no room, or not enough. */
enum { MAX_PIPELINE_REASON_BYTES = 160 };

/* Returns how many of @asked loans fit where a user holds @held and may hold @most, 0 for any
 * number. If that is less than @asked, it writes the text to @reason. */
uint32_t max_pipeline_fit(uint64_t most, uint64_t held, uint32_t asked,
    char reason[MAX_PIPELINE_REASON_BYTES]);
/* Tells whether a request was not inserted because the user has no room for a loan: *@refusal is
 * then the public code, and the handle's error has its text; else *@refusal stays as it was. */
LOCKQ_MUST_CHECK enum db_rc max_pipeline_refusal(struct lockq *q, const struct task *task,
    uint32_t user_id, int *refusal);

#endif
