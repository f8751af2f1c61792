/* SPDX-License-Identifier: MIT */
/* The state of one call of lockq_dispose(), and of a manager's undo. Only disposition.c, token.c,
 * repeated.c, manage/correct.c, on_complete.c and dispose_and_ask.c include this. */
#ifndef LOCKQ_DISPOSING_H
#define LOCKQ_DISPOSING_H

#include "db/db_text.h"
#include "handle/held.h"
#include "rules/outcome_state.h"

/* A loan of the call. The rows of a statement are in the order of loan_id. */
struct place {
	uint64_t loan_id;
	size_t index;   /* in the caller's list */
	bool changes;   /* its row is to be changed */
	bool calls;     /* the task's procedure is called for it before that */
};

enum { ACCOUNT_BYTES = 4 * 32 + 1 }; /* of the name that a MySQL account has without its host */

/* What else is done in the transaction of a disposition whose loans are all done. It commits it, or
 * rolls it back where it fails. */
struct last_part {
	enum db_rc (*run)(struct db *db, void *data); /* DB_EINDOUBT: it failed, and may have
	                                               * committed */
	void *data;
	bool was_done; /* out: after a failure of @run, its transaction proved to be committed */
};

/* The transaction may be tried again. Then all from @user_known on is set anew. */
struct disposing {
	struct lockq *q;
	const struct lockq_disposition *what;
	enum state state;                     /* the one that @what leads to */
	struct lockq_disposed_loan *results;  /* in the caller's order */
	struct place *places;                 /* in the order of loan_id */
	size_t n;
	struct last_part *last;               /* or NULL */
	char uuid[UUID_BYTES];   /* written to the log, where a lost commit is found by it */
	bool fails_over;         /* a connection was lost, perhaps that to a primary of before */
	bool in_doubt;           /* a lost COMMIT may have been done */
	unsigned int attempt;    /* for db_count_attempt() */
	uint64_t deadline;       /* db_clock_ms() until which it waits for other sessions */
	char held[HELD_BYTES];   /* what it waits for, in words, or "" */
	bool user_known, task_known;
	bool procedure_waits;    /* on_complete waits for another session, and @held says so */
	bool uuid_taken;         /* another call has used @uuid */
	char other_account[ACCOUNT_BYTES]; /* the only one that may ask for the user, or "" */
	uint64_t n_change;       /* loans whose rows are to be changed */
	const char *on_complete; /* the task's procedure, or NULL */
	bool undoes;             /* that is its on_undo, and each loan has a user of its own */
	bool refused;            /* on_complete can't be called, or has ended the transaction */
	bool silent;             /* on_complete gave no answer: see on_complete_silent() */
	unsigned int silences;   /* how often it was so */
	char reason[REASON_BYTES]; /* why @refused */
};

/* The result of the loan in row @row. */
static inline struct lockq_disposed_loan *
disposing_result(const struct disposing *d, size_t row)
{
	return &d->results[d->places[row].index];
}

/* The loan that the return code is about: one whose procedure failed, else one that was refused;
 * NULL: there is none. */
static inline const struct lockq_disposed_loan *
disposing_worst(const struct lockq_disposed_result *result)
{
	const struct lockq_disposed_loan *worst = NULL;

	for (size_t i = 0; i < result->n_loans; i++) {
		const struct lockq_disposed_loan *loan = &result->loans[i];

		if (loan->what == LOCKQ_NOT_COMPLETED || (loan->what > LOCKQ_DISPOSED_ALREADY &&
		    (worst == NULL || worst->what != LOCKQ_NOT_COMPLETED)))
			worst = loan;
	}
	return worst;
}

/* disposition.c: whether the caller gives up what follows the disposition. */
LOCKQ_MUST_CHECK bool disposing_gives_up(struct lockq *q);
/* lockq_dispose(), with a last part or NULL. */
LOCKQ_MUST_CHECK int dispose(struct lockq *q, const struct lockq_disposition *disposition,
    struct last_part *last, struct lockq_disposed_result *result);

#endif
