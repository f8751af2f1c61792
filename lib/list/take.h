/* SPDX-License-Identifier: MIT */
/* Takes loans from a task's kept list, without the task's lock: peek, check, pop. */
#ifndef LOCKQ_TAKE_H
#define LOCKQ_TAKE_H

#include "handle/session.h"
#include "list/ask_view.h"
#include "list/kept.h"

/* Who gets the loans. */
struct taker {
	uint32_t user_id;
	uint32_t count;
	uint64_t excluded;    /* loans that are not offered to this user */
	uint64_t request_id;  /* a pending request; 0: a new one is made, */
	const char *uuid;     /* with this UUID */
	unsigned int tries;   /* where others are faster, or hold what this needs */
	uint32_t *spare;      /* changes with how many take beside this one, for the next call */
};

enum take_result {
	TAKE_GIVEN,    /* the request has ended */
	TAKE_NONE,     /* the list has nothing for this user, or is not used any more */
	TAKE_OVER,     /* there is a newer list */
	TAKE_UNKNOWN,  /* the view can't say in time whether the loans still match */
	TAKE_REFUSED,  /* there is no such user or task, or no room in the pipeline */
	TAKE_ENDED     /* the pending request has ended meanwhile, or was not taken before */
};

struct taken {
	enum take_result result;
	uint64_t request_id;
	bool sent;            /* the request may have been made */
	bool others_wait;     /* after TAKE_GIVEN: requests of the task are pending */
	struct db_rows rows;  /* after TAKE_GIVEN: the answer, from column TAKEN_ANSWER on */
};
enum { TAKEN_ANSWER = 3 };

/* What a try has read: the front of a list, or a part that begins near it. */
struct front {
	uint32_t place[CHECK_MOST];   /* the positions of the loans of @check */
	struct check check;           /* the loans that the user may have */
	struct text stale;            /* the positions of loans that must not be given, as JSON */
	char seen_at[TIME_BYTES];     /* when the peek began, so before the check */
	uint32_t gone;                /* how many of the list's first ones are gone, if known */
	bool all;                     /* the list has no more behind it */
	bool left_out;                /* loans that are not for the user */
};

/* Takes up to @who->count loans from the front of @kept, which @task was read with, and ends the
 * request with them; the caller clears @taken->rows. Where many take at once, each begins elsewhere
 * among the first loans. Fewer than asked for are taken only where the list has no more for the
 * user.
 * DB_EDUPLICATE where there is a request with the UUID. The statements that give are one
 * transaction of the server's own. It locks rows of kept_loan and work with SKIP LOCKED, and waits
 * only where another session has locked the task or the user. */
LOCKQ_MUST_CHECK enum db_rc take_loans(struct db *db, const struct task *task,
    const struct kept *kept, const struct taker *who, struct taken *taken);

/* The same in two parts, for a call that disposes of loans in between, and once: where it gives
 * nothing, the call asks as usual. The first peeks and checks; *@found is false where there is
 * nothing to pop, and the caller clears @front->stale. The second pops, as the last part of the
 * transaction on @db, which it commits, whatever becomes of the request; after an error that is
 * rolled back. */
LOCKQ_MUST_CHECK enum db_rc take_find(struct db *db, const struct task *task,
    const struct kept *kept, const struct taker *who, struct front *front, bool *found);
LOCKQ_MUST_CHECK enum db_rc take_found(struct db *db, const struct task *task,
    const struct kept *kept, const struct taker *who, const struct front *front,
    struct taken *taken);

#endif
