/* SPDX-License-Identifier: MIT */
/* The cap: how many loans of a task a user may hold, task.max_pipeline. */
#ifndef LOCKQ_MAX_PIPELINE_H
#define LOCKQ_MAX_PIPELINE_H

#include "task.h"

/* How many loans a user holds of a task, for statements. */
#define LOANS_HELD(user_id, task_id) \
	"(SELECT COUNT(*) FROM work AS w FORCE INDEX (work_pipeline)" \
	"  WHERE w.user_id = " user_id " AND w.task_id = " task_id " AND w.state = 'assigned'" \
	"    AND COALESCE(w.lease_expires_at > NOW(6), TRUE))"

/* What a user is told whose pipeline has no room, or not enough, for what was asked. */
enum { MAX_PIPELINE_REASON_BYTES = 160 };

/* How many of @asked loans fit where a user may hold @most, 0 for any number, and holds @held; a
 * @reason where that is less than @asked. */
uint32_t max_pipeline_fit(uint64_t most, uint64_t held, uint32_t asked,
    char reason[MAX_PIPELINE_REASON_BYTES]);
/* LOCKQ_OK where the user has room for a loan; else a public code, with its text. */
LOCKQ_MUST_CHECK int max_pipeline_refusal(struct lockq *q, const struct task *task,
    uint32_t user_id);

#endif
