/* SPDX-License-Identifier: MIT */
/* A call's request is cancelled: by Ctrl-C, by its timeout, after an error. Nobody waits any
 * longer, so nothing may arrive later behind the user's back. A leader may be serving the request
 * this moment: then the statement waits for its commit and changes nothing. */
#include "bounds.h"
#include "call.h"
#include "retry.h"

enum db_rc
cancel(struct call *c, bool abandon, uint64_t patience_ms)
{
	uint64_t end = db_clock_ms() + patience_ms;
	enum db_rc rc = abandon ? session_abandon(c->q) : DB_OK;

	if (!c->sent || c->request.joined)
		return rc;
	for (unsigned int try = 0;; try++) {
		if (rc == DB_OK)
			rc = db_set_lock_wait(c->q->db, CANCEL_WAIT_S);
		if (rc == DB_OK)
			rc = request_cancel(c->q->db, c->task.task_id, c->ask->count,
			    &c->request);
		if (!retry_cures(rc) || db_clock_ms() >= end)
			return rc;
		/* Who gives up now is told, but not asked. */
		if (wait_a_moment(c->q, LOCKQ_PHASE_CANCEL, db_error(c->q->db), try, 0,
		    &c->waiting) != DB_OK)
			db_backoff(try);
		rc = session_connect(c->q);
	}
}
