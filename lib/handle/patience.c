/* SPDX-License-Identifier: MIT */
/* The wait of calls that only look. They read without row locks, but a table that another session
 * has locked, or is to alter, keeps them waiting. So each try ends after a second. */
#include "handle/patience.h"

#include "handle/error.h"
#include "handle/progress.h"
#include "handle/session.h"

void
patience_renew(struct patience *p)
{
	p->since = db_clock_ms();
	p->deadline = p->since + (p->q->look_timeout_ms < 0 ? LOCKQ_LOOK_TIMEOUT_MS :
	    (uint64_t)p->q->look_timeout_ms);
	p->held[0] = '\0';
}

enum db_rc
patience_ready(const struct patience *p)
{
	return db_set_lock_wait(p->q->db, DB_BRIEF_WAIT_S);
}

uint64_t
patience_left(const struct patience *p)
{
	uint64_t now = db_clock_ms(), least = (uint64_t)DB_BRIEF_WAIT_S * 1000;

	return p->deadline > now + least ? p->deadline - now : least;
}

static const char *
what_is_held(const struct patience *p)
{
	return p->held[0] != '\0' ? p->held :
	    "another session has locked a table that is to be read";
}

/* False where the caller gives up. */
static bool
say_waiting(struct patience *p)
{
	struct ticking ticking = {
		.q = p->q, .phase = LOCKQ_PHASE_RETRY, .since = p->since,
		.detail = what_is_held(p)
	};

	return tick(&ticking) == 0;
}

/* After DB_ELOCKWAIT: whether to try again. *@rc is DB_ECANCELLED where the caller gives up. */
static bool
wait_for_table(struct patience *p, enum db_rc *rc)
{
	bool named = p->held[0] != '\0', goes_on = true;

	error_set_detail(p->q, p->q->db);
	if (!named)
		goes_on = say_waiting(p);
	/* This takes a second, too. */
	if (goes_on && p->q->look_timeout_ms != 0 && (!named || db_clock_ms() < p->deadline))
		held_table(p->q->db, p->held);
	if (goes_on && db_clock_ms() >= p->deadline)
		return false;
	goes_on = goes_on && say_waiting(p);
	if (!goes_on)
		*rc = DB_ECANCELLED;
	return goes_on;
}

/* @role is what an account needs for this look, or NULL: what it is. */
static int
look_patiently(struct lockq *q, const char *role, look_fn *look, void *data)
{
	struct patience patience = { .q = q };
	int code = LOCKQ_OK;
	enum db_rc rc = session_ready(q);

	error_clear(q);
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	if (role != NULL)
		db_set_role(q->db, role);
	patience_renew(&patience);
	do {
		/* What an earlier try has found, which a lock has cut short, says nothing of this
		 * one. */
		code = LOCKQ_OK;
		rc = patience_ready(&patience);
		if (rc == DB_OK)
			rc = look(&patience, data, &code);
	} while (rc == DB_ELOCKWAIT && wait_for_table(&patience, &rc));
	if (rc == DB_ELOCKWAIT)
		code = error_busy(q, "%s: try again later", what_is_held(&patience));
	else if (rc != DB_OK)
		code = error_from_db(q, q->db, rc);
	if (role != NULL)
		db_set_role(q->db, "lockq_worker");
	return code;
}

int
patience_look(struct lockq *q, look_fn *look, void *data)
{
	operation_begin(q, OPERATION_LOOK, NULL, 0);
	return operation_end(q, 0, look_patiently(q, NULL, look, data));
}

int
patience_look_as_viewer(struct lockq *q, look_fn *look, void *data)
{
	operation_begin(q, OPERATION_LOOK, NULL, 0);
	return operation_end(q, 0, look_patiently(q, "lockq_viewer", look, data));
}
