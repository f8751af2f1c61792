/* SPDX-License-Identifier: MIT */
/* How expire.c describes a kind of row, and how expire_batch.c does it. A plain read finds a page
 * of rows; then one transaction locks them by primary key, looks at them again and changes them.
 * The rows that a statement selects go to the next one as JSON, an array for each row; JOB_ROWS
 * names the columns that it takes. */
#ifndef LOCKQ_EXPIRE_BATCH_H
#define LOCKQ_EXPIRE_BATCH_H

#include "handle/progress.h"
#include "handle/session.h"

/* One kind of row, and what is done with it. */
struct job {
	struct db_query find;   /* selects @n_keys columns, in their order, and perhaps a verdict;
	                         * takes arguments of its own, the keys of the last row of the
	                         * page before, and the size of a page */
	size_t n_keys;
	bool by_time;           /* the first key is a time; all others are numbers */
	struct db_query lock;   /* locks the rows that are still as they were found, and selects
	                         * the same columns; takes the rows, and the limit of batch_run() */
	size_t lease_column;    /* its column that tells whether a lease ends; 0: there is none */
	struct db_query look;   /* @lock without the locks, to count rows that others hold */
	struct db_query log;    /* takes the rows that were locked, and writes a row of work_log for
	                         * each, before @change; .sql NULL: none */
	struct db_query change; /* takes the rows that were locked, and must change all of them */
	bool under_lock;        /* only a process with the task's lock may do it */
};
enum batch_verdict {
	VERDICT_LEAVE,
	VERDICT_TAKE,
	VERDICT_STOP,           /* this row and all after it are too young */
	VERDICT_KEEP            /* a reader of the change feed has not passed it: it is counted */
};

/* The rows that a statement takes, as table j. @numbers are JOB_NUMBER()s with commas between them,
 * each a column's name and its place in the rows. */
#define JOB_ROWS(numbers) "JSON_TABLE(?, '$[*]' COLUMNS (" numbers ")) AS j"
#define JOB_NUMBER(name, place) name " BIGINT UNSIGNED PATH '$[" #place "]'"
/* Selects the rows of @join, which has j and a table called @alias, that are @still as they were
 * found. The lock passes over rows that others hold. */
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
	char began[TIME_BYTES];  /* by the server's clock; rows due later are for the next run */
	char cutoff[TIME_BYTES]; /* rows that ended before it are purged */
	uint32_t task_id;        /* the task of a job that is done for each task */
};

/* Runs one statement, and tries it again where retry_verdict() says AGAIN, for example after an
 * ALTER of its table. */
LOCKQ_MUST_CHECK enum db_rc batch_ask(struct expiring *e, const struct db_query *query,
    const struct db_arg *args, size_t n_args, struct db_rows *rows);
/* Does a job page by page, for the rows before @limit, a time; @args are the find's own. After the
 * COMMIT of a page was answered, its rows are added to *@counter, and those whose lease ended to
 * @e->done->leases. A page whose COMMIT was lost is done, or the next run finds its rows.
 * DB_ECANCELLED between two pages. Holds no lock on return. */
LOCKQ_MUST_CHECK enum db_rc batch_run(struct expiring *e, const struct job *job, uint64_t *counter,
    const char *limit, const struct db_arg *args, size_t n_args);

#endif
