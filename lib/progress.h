/* SPDX-License-Identifier: MIT */
/* From the waits of the database layer to the caller's function. */
#ifndef LOCKQ_PROGRESS_H
#define LOCKQ_PROGRESS_H

#include "db.h"

struct ticking {
	struct lockq *q;
	enum lockq_phase phase;
	uint64_t since;            /* db_clock_ms() */
	const char *leader;
	uint64_t leader_ms;        /* at @since */
	uint64_t usual_ms;
	const char *detail;
	uint64_t rows;             /* done so far */
	struct db *keep_alive;     /* pinged meanwhile; or NULL */
	enum db_rc ping_rc;
};
/* A db_tick_fn, @data a struct ticking. Not 0 when the caller gives up or @keep_alive is gone. */
int tick(void *data);
/* Sleeps in slices. DB_ECANCELLED when the caller gives up. */
LOCKQ_MUST_CHECK enum db_rc tick_sleep(struct ticking *ticking, uint64_t ms);

#endif
