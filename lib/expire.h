/* SPDX-License-Identifier: MIT */
/* What expire.c and purge.c have for batch.c to do: rows found by a plain read, a page at a time,
 * then locked by primary key, looked at again, and changed. One transaction a page. */
#ifndef LOCKQ_EXPIRE_H
#define LOCKQ_EXPIRE_H

#include "internal.h"

/* A row's primary key, as far as its table has one, the rest 0; as it is locked, d is what else the
 * change has to know. */
struct key {
	uint64_t a, b, c, d;
};

/* What follows is looked for beyond this. */
struct cursor {
	char at[TIME_BYTES]; /* where the index begins with a time */
	struct key key;
};

/* Of a row that was found. */
enum verdict {
	VERDICT_LEAVE,
	VERDICT_TAKE,
	VERDICT_STOP         /* from here on all are young */
};

struct expiring;

/* One kind of row. Statements take the keys as JSON, [[a,b,c,d],…], and, but for the changes, the
 * time before which the row must lie. */
struct job {
	/* a, b, c, a verdict, and the time for the cursor, in the order of the cursor */
	int (*find)(struct expiring *e, struct db_rows *rows);
	struct db_query lock;   /* a, b, c, d; passes over what others hold */
	struct db_query look;   /* the same without a lock */
	struct db_query change; /* changes just these rows */
	struct db_query log;    /* writes a row for each; .sql NULL: there is none */
	bool under_lock;        /* only who holds the task's lock may do it */
	size_t counter;         /* in struct lockq_expired … */
	size_t counter_d;       /* … and where d is 1 */
};
#define JOB_KEYS \
	"JSON_TABLE(?, '$[*]' COLUMNS (a BIGINT UNSIGNED PATH '$[0]'," \
	"                              b BIGINT UNSIGNED PATH '$[1]'," \
	"                              c BIGINT UNSIGNED PATH '$[2]'," \
	"                              d BIGINT UNSIGNED PATH '$[3]')) AS j"
#define JOB_COUNTER(member) offsetof(struct lockq_expired, member)
/* The two ways to read the rows that @sql selects from a table called @alias. */
#define JOB_READS(name, sql, alias) \
	.lock = { "lock_" name, sql " FOR UPDATE OF " alias " SKIP LOCKED", DB_MANY }, \
	.look = { "look_" name, sql, DB_MANY }

/* A page of a job. */
struct batch {
	struct cursor from, to;
	struct key *keys;     /* what was found, room for a whole page */
	size_t n_keys;
	bool last;            /* there is no page behind it */
	struct text plan;     /* JSON of the rows that are ours to change */
	uint64_t n, n_d;      /* how many they are, how many of them with d = 1 */
	uint64_t skipped;
	bool led;             /* somebody leads the task */
};

/* One call of lockq_expire(). */
struct expiring {
	struct lockq *q;
	const struct lockq_expire *what;
	struct lockq_expired *done;
	struct ticking ticking;
	char began[TIME_BYTES];  /* by the server: what is due later is for the next time */
	char cutoff[TIME_BYTES]; /* what ended before it is purged */
	const char *limit;       /* one of the two, or a task's own */
	uint32_t size;           /* rows of a page */
	uint32_t task_id;        /* of jobs that go from task to task */
	struct batch batch;
};

/* Takes the name of who expires on this server; LOCK_BUSY where another one has it. */
LOCKQ_MUST_CHECK int batch_begin(struct expiring *e);
void batch_end(struct expiring *e);
/* One statement by itself, tried again where another session changes the table just then. */
LOCKQ_MUST_CHECK int batch_ask(struct expiring *e, const struct db_query *query,
    const struct db_arg *args, size_t n_args, struct db_rows *rows);
/* All of a job, page by page. DB_ECANCELLED between two pages. A page counts once its COMMIT was
 * answered: where that was lost, the page is either done or found by the next run. */
LOCKQ_MUST_CHECK int batch_run(struct expiring *e, const struct job *job, const char *limit);

/* purge.c */
LOCKQ_MUST_CHECK int purge(struct expiring *e);
/* Whether the account may: said at once, not only when there is something to purge. */
LOCKQ_MUST_CHECK int purge_allowed(struct expiring *e);

#endif
