/* SPDX-License-Identifier: MIT */
/* Cancels the request of a call that ends by Ctrl-C, by its timeout or by an error. Nobody waits
 * for the request any longer, and a leader that served it would assign loans that nobody works
 * on. cancel_own.c cancels the request of another call. */
#include "getwork/call.h"
#include "handle/bounds.h"
#include "handle/retry.h"

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
		/* A progress function that gives up ends the pause, not the cancelling. */
		if (wait_a_moment(c->q, LOCKQ_PHASE_CANCEL, db_error(c->q->db), try, 0,
		    &c->waiting) != DB_OK)
			db_backoff(try);
		rc = session_connect_in(c->q, patience_ms);
	}
}
