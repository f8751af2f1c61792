/* SPDX-License-Identifier: MIT */
/* What expire.c has for batch.c to do: rows of one kind are found by a plain read, a page at a
 * time, then locked by primary key, looked at again, and changed. One transaction a page. What a
 * statement selects goes to the next one as JSON, an array for each row, and gets its names there.
 */
#ifndef LOCKQ_EXPIRE_BATCH_H
#define LOCKQ_EXPIRE_BATCH_H

#include "progress.h"
#include "session.h"

/* One kind of row. */
struct job {
	struct db_query find;   /* takes arguments of its own, what the page before ended with,
	                         * the size of a page; selects what it is ordered by … */
	size_t n_keys;          /* … which are so many columns, and perhaps a verdict */
	bool by_time;           /* the first of them is a time, the others are numbers */
	struct db_query lock;   /* the same columns, of what still is as it was found; takes the
	                         * rows, and the time before which they lie */
	size_t lease_column;    /* where it selects whether a lease ends; 0: none does */
	struct db_query look;   /* the same without a lock */
	struct db_query change; /* takes the rows that were locked, and changes just these */
	struct db_query log;    /* writes a row for each; .sql NULL: there is none */
	bool under_lock;        /* only who holds the task's lock may do it */
};
enum batch_verdict {
	VERDICT_LEAVE,
	VERDICT_TAKE,
	VERDICT_STOP            /* from here on all are young */
};

/* The rows that a statement takes, as table j: @numbers are JOB_NUMBER()s with commas between them,
 * each with its name and its place in what the statement before has selected. */
#define JOB_ROWS(numbers) "JSON_TABLE(?, '$[*]' COLUMNS (" numbers ")) AS j"
#define JOB_NUMBER(name, place) name " BIGINT UNSIGNED PATH '$[" #place "]'"
/* Of the rows in @join, a table called @alias and j, those that still are so; for the lock also not
 * those that others hold. */
#define JOB_SELECT(columns, join, still) "SELECT " columns " FROM " join " WHERE " still
#define JOB_READS(name, columns, alias, join, still) \
	.lock = { "lock_" name, JOB_SELECT(columns, join, still) \
	    " FOR UPDATE OF " alias " SKIP LOCKED", DB_MANY }, \
	.look = { "look_" name, JOB_SELECT(columns, join, still), DB_MANY }
#define JOB_DELETES(name, columns, alias, join, still) \
	JOB_READS(name, columns, alias, join, still), \
	.change = { "delete_" name, "DELETE " alias " FROM " join, DB_NO_ROWS }

/* One call of lockq_expire(). */
struct expiring {
	struct lockq *q;
	const struct lockq_expire *what;
	struct lockq_expired *done;
	struct ticking ticking;
	char began[TIME_BYTES];  /* by the server: what is due later is for the next time */
	char cutoff[TIME_BYTES]; /* what ended before it is purged */
	uint32_t task_id;        /* of jobs that go from task to task */
};

/* One statement by itself, tried again where another session changes the table just then. */
LOCKQ_MUST_CHECK enum db_rc batch_ask(struct expiring *e, const struct db_query *query,
    const struct db_arg *args, size_t n_args, struct db_rows *rows);
/* All of a job, page by page, for rows before @limit; @args are those of its find. DB_ECANCELLED
 * between two pages. A page is added to @counter, and the leases that it ends to theirs, once its
 * COMMIT was answered: where that was lost, the page is done, or the next run finds it. */
LOCKQ_MUST_CHECK enum db_rc batch_run(struct expiring *e, const struct job *job, uint64_t *counter,
    const char *limit, const struct db_arg *args, size_t n_args);

#endif
