/* SPDX-License-Identifier: MIT */
/* Calls the caller's progress function during waits, and keeps the lock connection alive. */
#include "handle/progress.h"

#include "handle/session.h"

int
tick(void *data)
{
	struct ticking *t = data;
	uint64_t now = db_clock_ms(), passed = now - t->since;
	struct lockq_progress progress = {
		.phase = t->phase, .phase_ms = passed, .leader = t->leader,
		.leader_ms = t->leader_ms + passed, .usual_ms = t->usual_ms, .detail = t->detail,
		.rows = t->rows
	};
	const struct request *asking = t->q->asking;

	if (asking != NULL && asking->joined) {
		progress.joined_request = asking->request_id;
		progress.joined_asked = asking->asked;
	}
	if (t->keep_alive != NULL) {
		t->ping_rc = db_keep_alive(t->keep_alive);
		if (t->ping_rc != DB_OK)
			return 1;
	}
	/* All that asked meanwhile count on the query, so it must not end with the call. */
	if (t->phase == LOCKQ_PHASE_QUERY && t->q->overtime != NULL && !t->q->overtime_told &&
	    t->q->overtime_at != 0 && now >= t->q->overtime_at && session_led_elsewhere(t->q))
		return 1;
	return t->q->progress != NULL ? t->q->progress(&progress, t->q->progress_data) : 0;
}

enum db_rc
tick_sleep(struct ticking *ticking, uint64_t ms)
{
	uint64_t end = db_clock_ms() + ms;

	for (;;) {
		uint64_t now = db_clock_ms();

		if (tick(ticking) != 0)
			return ticking->ping_rc != DB_OK ? ticking->ping_rc : DB_ECANCELLED;
		if (now >= end)
			return DB_OK;
		db_sleep_ms(end - now < TICK_SLICE_MS ? (unsigned int)(end - now) : TICK_SLICE_MS);
	}
}
