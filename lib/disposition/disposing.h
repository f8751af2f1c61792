/* SPDX-License-Identifier: MIT */
/* The state of one call of lockq_dispose(), and of a manager's undo, and what the files of this
 * folder do for it. */
#ifndef LOCKQ_DISPOSING_H
#define LOCKQ_DISPOSING_H

#include "db/db_text.h"
#include "handle/held.h"
#include "rules/outcome_state.h"

/* For a row l of the log, of a return: whether it has the times that this call asks for. They count
 * from l.at, or from when the row was written, if the clock had been set back by then: FROM_NOW in
 * token.c. */
#define HAS_THE_TIMES \
	"(l.available_at = l.at + INTERVAL @lockq_after SECOND" \
	" OR (l.at > l.logged_at + INTERVAL 1 MINUTE" \
	"     AND l.available_at - INTERVAL @lockq_after SECOND" \
	"         BETWEEN l.logged_at - INTERVAL 1 MINUTE AND l.logged_at))" \
	" AND l.excluded_until <=> l.at + INTERVAL @lockq_not_me SECOND"

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
	bool repeats;            /* the log has some of the loans with @uuid */
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

/* token.c: whether a user, with this token and lease, may change a loan, and the change. */

/* Whether it may be said after the end of the lease, as long as nobody else has been given the
 * loan: work that is done is done, and a return only says when the loan is offered again. A renewal
 * gives the user one more loan. It is late only where the task has no max_pipeline, since a
 * disposition locks nothing that this counts. */
#define MAY_BE_LATE \
	"(@lockq_event IN ('completed', 'returned')" \
	" OR (@lockq_event = 'renewed' AND me.enabled AND t.max_pipeline IS NULL))"

/* The columns of lock_loans in token.c, and of loans_then in repeated.c. DONE_BEFORE: the log has
 * the loan with the call's UUID. */
enum {
	LOAN, ME, IN_TASK, ON_COMPLETE, HOLDER, MINE, STATE, TOKEN, IS_CURRENT, SINCE, AVAILABLE,
	LEASE, TIMELY, LATE_NOW, LATE_SINCE, SAME, NEW_SINCE, NEW_AVAILABLE, NEW_LEASE,
	NEW_EXCLUDED, DONE_BEFORE, OTHER_ACCOUNT, NO_COLUMN
};

/* Makes @d->places, which the caller frees. *@twice is true where a loan is named twice. */
LOCKQ_MUST_CHECK enum db_rc token_sort(struct disposing *d, bool *twice);
/* The loans whose places change, or @all of them, as JSON for a statement, each with its token. The
 * caller clears it. */
struct text token_json(const struct disposing *d, bool all);
/* Locks the rows of work in key order, and sets each loan's result and whether it changes; or
 * @d->repeats where the call was made before. @rows are for token_change(), and the caller clears
 * them. */
LOCKQ_MUST_CHECK enum db_rc token_judge(struct db *db, struct disposing *d, struct db_rows *rows);
/* Changes those loans: writes the log, then work. */
LOCKQ_MUST_CHECK enum db_rc token_change(struct db *db, struct disposing *d,
    const struct db_rows *rows);
/* Returns why the loan of the row is not to be changed. */
enum lockq_disposed token_refusal(const struct disposing *d, const struct db_rows *rows,
    size_t row);
/* Fills the result from the row, with the new values where it @changes. */
LOCKQ_MUST_CHECK enum db_rc token_fill(const struct disposing *d, struct lockq_disposed_loan *loan,
    const struct db_rows *rows, size_t row, bool changes);
/* The statement that locks them, for check/audit_plan.c. */
extern const struct db_query lock_loans;

/* repeated.c: answers a disposition that was made before. */

/* Fills the results from the log, which has rows of the call's UUID for some of the loans. Sets
 * @d->uuid_taken where these are of another call: another user's, or with other parameters. */
LOCKQ_MUST_CHECK enum db_rc repeated_answer(struct db *db, struct disposing *d);

/* on_complete.c: the calls of the procedure task.on_complete, and of task.on_undo by the same
 * rules. */

/* The user variable @lockq_ids has all loan_ids, each with so many digits. @lockq_user is the user,
 * or, with @d->undoes, @lockq_users is a JSON array of them. */
enum { ON_COMPLETE_ID_DIGITS = 20 };
struct text on_complete_ids(const struct disposing *d);
/* Calls the procedure for each loan whose place says so, in the transaction that has locked
 * them. A loan for which it fails is not changed. DB_EFAIL with @d->refused and @d->reason where
 * no loan may be changed. DB_ELOST with @d->silent after a procedure that gave no answer. */
LOCKQ_MUST_CHECK enum db_rc on_complete_all(struct db *db, struct disposing *d);
/* To be called once that transaction is over, with what became of it, @rc. After a silent procedure
 * it connects anew. If the server is still the same, or the procedure was silent before, it does
 * not end: that is DB_EFAIL with @d->refused. If it is another server, or none, the connection was
 * lost. Else returns @rc. */
LOCKQ_MUST_CHECK enum db_rc on_complete_silent(struct disposing *d, enum db_rc rc);
/* After that transaction was rolled back: sets the results of loans that would have been
 * completed. */
LOCKQ_MUST_CHECK enum db_rc on_complete_refused(struct disposing *d);

/* held_loan.c */

/* Writes to @text which of the loans @lockq_loans of the task @task_id, also @lockq_task, another
 * session has locked, and by which session, where this account may see that: "loan 12 is held by
 * clerk@host, connection 123"; or "" where none is. Locks the others for a moment, in a transaction
 * of its own, so it must not be called in one. What fails here is not told: it is only for a
 * message. */
void held_loan(struct db *db, uint32_t task_id, char text[HELD_BYTES]);

#endif
