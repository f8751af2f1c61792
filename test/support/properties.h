/* SPDX-License-Identifier: MIT */
/* Judges what the library does in a schedule by the properties of test/model/lockq.pml, which have
 * their names here, too. A property that does not hold fails the test. */
#ifndef LOCKQ_TEST_PROPERTIES_H
#define LOCKQ_TEST_PROPERTIES_H

#include "schedule.h"
#include "support.h"

/* The text of a pause of the task. */
#define PAUSE "the figures of the month are being closed"

/* What can't be read from the database. */
struct scene {
	const struct schedule *schedule;
	const struct worker *callers[SCHEDULE_REQUESTERS]; /* who make the calls */
	bool dead[SCHEDULE_REQUESTERS];
	bool troubled;        /* a call was killed or cut off, or has given up */
	bool paused;
	uint64_t pause_epoch; /* the committed epoch as the pause began */
	int held_loan;        /* from 0 on, by a transaction of its user; -1: none */
	bool held_request[SCHEDULE_REQUESTERS]; /* by a cancel, so that leaders pass over it */
};

/* Begins, before the calls do. The scene stays the caller's, who changes it. */
void properties_begin(const struct scene *scene);
/* Before a leader's query: the requester that runs it. */
void properties_query(int requester);
/* After each step: looks at what is committed now. @committed: the step was a leader's COMMIT. */
void properties_step(bool committed);
/* When the calls are let go: no loan gets available from here on. */
void properties_rest(void);
/* When all calls have ended, or can't end. */
void properties_end(void);

#endif
