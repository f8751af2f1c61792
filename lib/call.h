/* SPDX-License-Identifier: MIT */
/* One call of lockq_getwork(): shared by getwork.c, round.c, recover.c, cancel.c, finish.c and
 * refusal.c, and by nobody else. */
#ifndef LOCKQ_CALL_H
#define LOCKQ_CALL_H

#include "assign.h"
#include "session.h"
#include "wait.h"

/* Where a call is: the table at the top of getwork.c says what each step may become. */
enum step {
	ASK, LOOK, TRY, LEAD, GIVE, HAND_OVER, FOLLOW, REST,
	ANSWERED, PENDING, TIMED_OUT, REFUSED, CANCELLED, FAILED, UNKNOWN /* the ends */
};

struct call {
	struct lockq *q;
	const struct lockq_ask *ask;
	struct lockq_answer *answer; /* how our request stands; final when it is not pending */
	struct task task;
	struct request request;
	bool sent;                /* the request's INSERT was sent, whatever became of it */
	struct waiting waiting;
	struct leader leader;     /* whom we follow */
	unsigned int unled_waits; /* of a call that does not wait: the lock was held, nobody led */

	/* The round that we lead, from LEAD to HAND_OVER. */
	struct lead lead;
	struct list list;   /* in hand */
	struct run run;
	char reason[REASON_BYTES];

	/* Rounds that we led. */
	uint64_t led_epoch;       /* of the last one that we led to its end */
	uint64_t doubt_epoch;     /* of one whose commit was lost, if it was done */
	uint64_t query_ms;        /* of the last one */
	unsigned int rounds_in_vain; /* in a row: they ended no request */
	const char *obstacle;     /* to the last of them, for the progress function */

	/* What went wrong. */
	uint32_t retries;         /* transactions that were tried again */
	unsigned int tries;       /* errors in a row that were tried again … */
	uint64_t trouble_since;   /* … since then */
	bool in_doubt;            /* a commit was lost and is not resolved yet */
};

/* round.c: steps 4 to 6, with the lock held */
LOCKQ_MUST_CHECK enum db_rc round_find(struct call *c, enum step *step);
LOCKQ_MUST_CHECK enum db_rc round_give(struct call *c, enum step *step);
LOCKQ_MUST_CHECK enum db_rc round_hand_over(struct call *c, enum step *step);
void round_clear(struct call *c); /* the list in hand */

/* recover.c: after a failure of any step. DB_OK, and @step is where the call goes on; or what no
 * further try cures. */
LOCKQ_MUST_CHECK enum db_rc recover(struct call *c, enum db_rc failure, enum step *step);
/* All went well for so long: after some time earlier errors are not in a row with the next one. */
void recover_reset_tries(struct call *c, uint64_t quiet_ms);

/* cancel.c: ends the request, where it is this call's own, tried again for @patience_ms; @abandon:
 * first ends on the server what the lock connection has open */
LOCKQ_MUST_CHECK enum db_rc cancel(struct call *c, bool abandon, uint64_t patience_ms);

/* finish.c: the end of a call at @step, or with @failure: a public code */
LOCKQ_MUST_CHECK int finish(struct call *c, enum step step, enum db_rc failure);

/* refusal.c: public codes, their text in the handle's error: what needs no database to be refused,
 * LOCKQ_OK where that is nothing; and why nothing was recorded */
LOCKQ_MUST_CHECK int refuse_ask(struct lockq *q, const struct lockq_ask *ask);
LOCKQ_MUST_CHECK int refuse(struct call *c);
/* A refusal of an INSERT that was sent before: *@refused is false where the request is there. */
LOCKQ_MUST_CHECK enum db_rc refuse_in_doubt(struct call *c, bool *refused);
extern const char refusal_disabled[];

#endif
