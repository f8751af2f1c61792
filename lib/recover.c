/* SPDX-License-Identifier: MIT */
/* After a failure: again, reconnect, find out, give up. The own row tells a call what became of it,
 * so whatever was open is given up first, and nothing is guessed. */
#include "bounds.h"
#include "call.h"
#include "error.h"
#include "retry.h"

void
recover_reset_tries(struct call *c, uint64_t quiet_ms)
{
	if (quiet_ms > TRIES_FORGOTTEN_MS)
		c->tries = 0;
}

static enum verdict
verdict_of(struct call *c, enum db_rc failure)
{
	uint64_t now = db_clock_ms();
	unsigned int tries = c->tries++;

	if (tries == 0)
		c->trouble_since = now;
	return retry_verdict(failure, db_is_behind(c->q->db), tries, now - c->trouble_since,
	    now < c->waiting.deadline ? PATIENCE_MS : 0);
}

/* A fresh connection, also where this one lives: whatever it had open is undone. */
static enum db_rc
connect_and_find_out(struct call *c)
{
	bool pending = false;
	enum db_rc rc = session_connect(c->q);

	if (rc == DB_OK && c->in_doubt) {
		rc = request_status_locked(c->q->db, &c->request, &pending);
		c->in_doubt = rc != DB_OK;
	}
	return rc;
}

enum db_rc
recover(struct call *c, enum db_rc failure, enum step *step)
{
	enum db_rc rc = failure;

	round_clear(c);
	for (;;) {
		enum verdict verdict = verdict_of(c, rc);

		c->in_doubt = c->in_doubt || rc == DB_EINDOUBT;
		if (verdict == GIVE_UP)
			break;
		c->retries++;
		if (db_error(session_failed(c->q))[0] != '\0')
			error_set(c->q, "%s", db_error(session_failed(c->q)));
		/* What is open is rolled back before the wait, or nobody could lead meanwhile. */
		session_disconnect(c->q);
		rc = wait_a_moment(c->q, LOCKQ_PHASE_RETRY, c->q->error, c->tries, 0,
		    &c->waiting);
		if (rc == DB_OK)
			rc = connect_and_find_out(c);
		if (rc == DB_OK) {
			/* Until it is recorded there is nothing to look at. */
			if (*step != ASK)
				*step = LOOK;
			return DB_OK;
		}
	}
	return c->in_doubt && rc != DB_ECANCELLED ? DB_EINDOUBT : rc;
}
