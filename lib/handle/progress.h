/* SPDX-License-Identifier: MIT */
/* Tells the caller's progress function how a wait goes, and hears whether the caller gives up. */
#ifndef LOCKQ_PROGRESS_H
#define LOCKQ_PROGRESS_H

#include "db/db.h"

/* A wait, for tick(): the fields of struct lockq_progress, and a connection to keep alive. */
struct ticking {
	struct lockq *q;
	enum lockq_phase phase;
	uint64_t since;            /* db_clock_ms() */
	const char *leader;        /* or NULL */
	uint64_t leader_ms;        /* how long the leader had led at @since, in milliseconds */
	uint64_t usual_ms;
	const char *detail;
	uint64_t rows;             /* done so far */
	struct db *keep_alive;     /* pinged meanwhile; or NULL */
	enum db_rc ping_rc;        /* what its last ping returned */
};
/* A db_tick_fn, with a struct ticking as @data. Not 0 when the caller gives up, or when the server
 * has not answered a ping on @keep_alive. */
int tick(void *data);
/* Sleeps for @ms milliseconds with a tick() every TICK_SLICE_MS. DB_ECANCELLED if that is not 0. */
LOCKQ_MUST_CHECK enum db_rc tick_sleep(struct ticking *ticking, uint64_t ms);

#endif
