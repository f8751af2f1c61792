/* SPDX-License-Identifier: MIT */
/* The state of one call of lockq_getwork(), and the functions that the call consists of. Only
 * the files of its steps and disposition/dispose_and_ask.c include this. */
#ifndef LOCKQ_CALL_H
#define LOCKQ_CALL_H

#include "getwork/assign.h"
#include "getwork/wait.h"
#include "handle/held.h"
#include "handle/session.h"
#include "list/kept.h"
#include "list/take.h"

/* Where a call is. The table at the top of getwork.c says what each step may become. */
enum step {
	TAKE, ASK, LOOK, TRY, LEAD, GIVE, HAND_OVER, FOLLOW, REST,
	ANSWERED, PENDING, TIMED_OUT, REFUSED, CANCELLED, FAILED, UNKNOWN /* the ends */
};

struct call {
	struct lockq *q;
	const struct lockq_ask *ask;
	struct lockq_answer *answer; /* how the call's request stands; LOCKQ_PENDING: not final */
	uint64_t since;           /* when the call began; db_clock_ms() */
	struct task task;
	struct request request;
	bool sent;                /* the request's INSERT was sent, whatever became of it */
	struct namesake namesake; /* the request that had the UUID which the caller has chosen */
	struct waiting waiting;
	bool refills;             /* this is lockq_refill(): there is no request, */
	bool only_due;            /* and no query unless the list is due */
	bool has_kept;            /* this call has left a list, */
	uint64_t kept_loans;      /* of so many loans */
	char as_of[TIME_BYTES];   /* when its query began */
	bool keeps;               /* the task keeps a list, from which the call may take */
	bool may_serve;           /* there is one, and it may have something for the call, */
	uint64_t kept_tried;      /* unless it has this epoch; 0: none */
	struct leader leader;     /* the one that this call follows */
	unsigned int unled_waits; /* of a call that does not wait: a session that serves nobody had
	                           * the lock */

	/* The round that this call leads, from LEAD to HAND_OVER. */
	struct lead lead;
	struct list list;         /* what is left to give */
	struct run run;
	char reason[REASON_BYTES]; /* @run's reason or note */

	/* The rounds that this call has led. */
	uint64_t led_first;       /* the last one whose COMMIT was answered, */
	uint64_t led_last;        /* and the last of its hand-overs */
	uint64_t doubt_epoch;     /* of one whose COMMIT was lost */
	uint64_t query_ms;        /* of the last one, in milliseconds */
	bool needs_long_list;     /* a short one was not enough, so nothing was given from it */
	unsigned int rounds_in_vain; /* in a row: they ended no request */
	const char *obstacle;     /* to the last of them, for the progress function */

	/* Failures. */
	uint32_t retries;         /* transactions that were tried again */
	unsigned int tries;       /* failures in a row that were tried again */
	uint64_t trouble_since;   /* the first of them; db_clock_ms() */
	uint64_t trouble_last;    /* the last one */
	unsigned int troubles;    /* that were over when the next one began */
	char held[HELD_BYTES];    /* what the call waited for before it led, in words, or "" */
	uint64_t held_seen;       /* when it was last looked who has the lock and leads nobody */
	bool fails_over;          /* a connection was lost, so the primary may be another server */
	bool in_doubt;            /* a COMMIT was lost, and whether it was done is not known yet */
};

/* Counts that something is tried again. */
static inline void
call_again(struct call *c)
{
	c->retries++;
	c->q->operating.watch.retries++;
}

/* getwork.c: begins a call, without the database, and goes through its steps from @step on. @ready
 * is what has come of the session: after a failure it is looked for as later in the call. Both
 * return a public code, with its text in the handle's error; with another one than LOCKQ_OK the
 * first has begun nothing. */
LOCKQ_MUST_CHECK int call_begin(struct call *c, struct lockq *q, const struct lockq_ask *ask,
    struct lockq_answer *answer);
LOCKQ_MUST_CHECK int call_run(struct call *c, enum step step, enum db_rc ready);

/* What a call takes from the list with. */
struct taking {
	struct kept kept;
	struct taker who;
	struct taken taken;
};

/* from_list.c: the step TAKE. */
LOCKQ_MUST_CHECK enum db_rc from_list(struct call *c, enum step *step);
/* The same in two parts, for a call that disposes of loans first: reads the list, unless the call
 * may not take from it, and *@may is false; and, after loans were given, reads the answer. */
LOCKQ_MUST_CHECK enum db_rc from_list_look(struct call *c, struct taking *taking, bool *may);
LOCKQ_MUST_CHECK enum db_rc from_list_given(struct call *c, struct taking *taking);
/* Whether a pop that failed may have given loans. A lost connection leaves that open. After another
 * error it has given none, unless what failed is the reading of the answer, after the COMMIT. */
LOCKQ_MUST_CHECK bool from_list_may_have_given(struct call *c, enum db_rc failure);

/* round.c: steps 4 to 6. Each is called with the step's name in *@step and sets it to the next one.
 * round_find() and round_give() are called with the task's lock; round_give() releases it, and
 * round_hand_over() takes it again for requests that came late, and never fails. */
LOCKQ_MUST_CHECK enum db_rc round_find(struct call *c, enum step *step);
LOCKQ_MUST_CHECK enum db_rc round_give(struct call *c, enum step *step);
LOCKQ_MUST_CHECK enum db_rc round_hand_over(struct call *c, enum step *step);

/* recover.c: judges the @failure of any step, ends what the connections have open, and connects
 * again where that may help. DB_OK, and *@step is where the call goes on; else the error to report,
 * DB_EINDOUBT where a lost COMMIT could not be found out. */
LOCKQ_MUST_CHECK enum db_rc recover(struct call *c, enum db_rc failure, enum step *step);

/* cancel.c: cancels the call's own request, and leaves one that it has joined. Failures are tried
 * again for @patience_ms. With @abandon it first kills what the lock connection has open on the
 * server. A leader that is serving the request is waited for; its answer then stands. */
LOCKQ_MUST_CHECK enum db_rc cancel(struct call *c, bool abandon, uint64_t patience_ms);

/* finish.c: reads how the request stands now, unless that is known, on a new connection if need
 * be. */
LOCKQ_MUST_CHECK enum db_rc finish_read(struct call *c);
/* Ends a call at @step, or with @failure. Cancels the request where nobody waits any
 * more, and reads the answer. Returns the public code, with its text in the handle's error. */
LOCKQ_MUST_CHECK int finish(struct call *c, enum step step, enum db_rc failure);

/* refusal.c: each returns a public code, with its text in the handle's error. The first judges
 * what needs no database, and returns LOCKQ_OK where nothing is wrong; the second says why no
 * request was recorded, or why the UUID that the caller has chosen can't be used. */
LOCKQ_MUST_CHECK int refuse_ask(struct lockq *q, const struct lockq_ask *ask);
LOCKQ_MUST_CHECK int refuse(struct call *c);
/* Whether the call may not go on with its namesake: that is somebody else's, or of another call, or
 * it ended without loans before this call (@earlier). */
bool refuse_namesake(const struct call *c, bool earlier);
/* After an INSERT that was sent a second time and inserted nothing. *@refused is false where the
 * first one was done; else the request's UUID is taken, so that the first one can't come late. */
LOCKQ_MUST_CHECK enum db_rc refuse_in_doubt(struct call *c, bool *refused);
/* Sets *@refusal, with its text, where this account may not ask for the user. */
LOCKQ_MUST_CHECK enum db_rc refuse_account(struct lockq *q, const char *user, uint32_t user_id,
    int *refusal);
extern const char refusal_disabled[];

#endif
