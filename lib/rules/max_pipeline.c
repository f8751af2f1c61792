/* SPDX-License-Identifier: MIT */
/* Computes how many more loans a user may hold by task.max_pipeline, and writes the text of a
 * refusal. The cap is enforced elsewhere: getwork/request.c inserts no request where a user has no
 * room, and getwork/pending.c lowers each pending request to the room that is left, under the
 * task's lock. */
#include "rules/max_pipeline.h"

#include <inttypes.h>
#include <stdio.h>

#include "handle/error.h"
#include "handle/session.h"

static DB_QUERY(held_by_user, DB_ONE, "SELECT " LOANS_HELD("?", "?"));

uint32_t
max_pipeline_fit(uint64_t most, uint64_t held, uint32_t asked,
    char reason[MAX_PIPELINE_REASON_BYTES])
{
	uint64_t room = held < most ? most - held : 0;

	if (most == 0 || room >= asked)
		return asked;
	if (room > 0)
		snprintf(reason, MAX_PIPELINE_REASON_BYTES, "with these you have %" PRIu64 " of %"
		    PRIu64 " that this task allows", most, most);
	else
		snprintf(reason, MAX_PIPELINE_REASON_BYTES, "you have %" PRIu64 " of %" PRIu64
		    " that this task allows: dispose of some that checkwork shows", held, most);
	return (uint32_t)room;
}

enum db_rc
max_pipeline_refusal(struct lockq *q, const struct task *task, uint32_t user_id, int *refusal)
{
	char reason[MAX_PIPELINE_REASON_BYTES];
	uint64_t held = 0;
	enum db_rc rc = db_number(q->db, &held_by_user, DB_ARGS(db_u64(user_id),
	    db_u64(task->task_id)), &held);

	if (rc == DB_OK && max_pipeline_fit(task->max_pipeline, held, 1, reason) == 0)
		*refusal = error_refused(q, "task %u (\"%s\"): %s", task->task_id, task->name,
		    reason);
	return rc;
}
