/* SPDX-License-Identifier: MIT */
/* Work for cron, a page at a time: small transactions that wait for nobody and for which nobody
 * waits. What was committed stays done and is not found again, so it may end anywhere. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "expire.h"

/* One at a time on a server. Two servers know nothing of each other's names: there the rows' locks
 * are what counts. Hashed, because a name ends at 64 characters. */
#define EXPIRE_LOCK_NAME "CONCAT('lockq-expire:', LEFT(SHA2(DATABASE(), 256), 40))"

static const struct db_query claim_expire = {
	"claim_expire",
	"SELECT GET_LOCK(" EXPIRE_LOCK_NAME ", ?), NOW(6), NOW(6) - INTERVAL ? SECOND",
	DB_ONE
};

static const struct db_query unclaim_expire = {
	"unclaim_expire", "SELECT RELEASE_LOCK(" EXPIRE_LOCK_NAME ")", DB_ONE
};

/* As for a leader, but held for a moment: who meets the lock sees no holder, and tries again. */
static const struct db_query hold_lock = {
	"hold_lock",
	"SELECT epoch FROM task_lock WHERE task_id = ? FOR UPDATE SKIP LOCKED",
	DB_MAYBE
};

/* Who meets a lock without a holder tries again for a second: it must be free before. */
enum { PAUSE_MOST_MS = 100, UNDER_LOCK_MOST = 500, PURGE_WAITS_S = 60 };

static int
claim(struct expiring *e, unsigned int wait_s)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(e->q->lock, &claim_expire,
	    DB_ARGS(db_u64(wait_s), db_u64(e->what->purge_after_s)), &rows);

	if (rc == DB_OK && db_cell_is_null(&rows, 0, 0))
		rc = db_refuse(e->q->lock, "%s: the server could not say who has the lock",
		    claim_expire.name);
	if (rc == DB_OK && db_cell_u64(&rows, 0, 0) == 0)
		rc = LOCK_BUSY;
	/* What becomes due while it runs is not for it, or it might never end. */
	if (rc == DB_OK) {
		copy_cell(e->began, sizeof(e->began), &rows, 0, 1);
		copy_cell(e->cutoff, sizeof(e->cutoff), &rows, 0, 2);
	}
	db_rows_clear(&rows);
	return rc;
}

int
batch_begin(struct expiring *e)
{
	int rc;

	e->batch.keys = calloc(e->what->batch, sizeof(*e->batch.keys));
	if (e->batch.keys == NULL)
		return DB_ENOMEM;
	rc = claim(e, 0);
	/* A purge is asked for once a night, and must not lose against who comes each minute. */
	for (unsigned int s = 0; rc == LOCK_BUSY && e->what->purge_after_s > 0 && s < PURGE_WAITS_S;
	    s++)
		rc = tick(&e->ticking) != 0 ? DB_ECANCELLED : claim(e, 1);
	return rc;
}

void
batch_end(struct expiring *e)
{
	struct db_rows rows = { 0, 0, NULL, NULL };

	/* A connection that is lost has given it back. */
	if (e->began[0] != '\0' && !db_lost(e->q->lock) &&
	    db_run(e->q->lock, &unclaim_expire, DB_NO_ARGS, &rows) != DB_OK)
		handle_disconnect(e->q);
	db_rows_clear(&rows);
	text_clear(&e->batch.plan);
	free(e->batch.keys);
	e->batch.keys = NULL;
}

static int
compare_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	return (x->c > y->c) - (x->c < y->c);
}

static struct key
key_of(const struct db_rows *rows, size_t row)
{
	return (struct key){ db_cell_u64(rows, row, 0), db_cell_u64(rows, row, 1),
		db_cell_u64(rows, row, 2), db_cell_u64(rows, row, 3) };
}

static void
add_key(struct text *json, size_t i, const struct key *key)
{
	text_add(json, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i == 0 ? "[" : ",",
	    key->a, key->b, key->c, key->d);
}

/* Without a lock and without a transaction: whatever comes of it is looked at again. */
static int
find(struct expiring *e, const struct job *job)
{
	struct batch *b = &e->batch;
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = job->find(e, &rows);

	b->n_keys = 0;
	b->to = b->from;
	b->last = rows.n_rows < e->size;
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows && i < e->size; i++) {
		uint64_t verdict = db_cell_u64(&rows, i, 3);

		if (verdict == VERDICT_STOP) {
			b->last = true;
			break;
		}
		b->to.key = key_of(&rows, i);
		copy_cell(b->to.at, sizeof(b->to.at), &rows, i, 4);
		if (verdict == VERDICT_TAKE)
			b->keys[b->n_keys++] = b->to.key;
	}
	db_rows_clear(&rows);
	/* In the order in which everybody locks. */
	if (b->n_keys > 0)
		qsort(b->keys, b->n_keys, sizeof(*b->keys), compare_key);
	return rc;
}

/* Locks what nobody else holds and what still is as it was found: that is the plan. */
static int
make_plan(struct db *db, struct expiring *e, const struct job *job, const char *found)
{
	struct batch *b = &e->batch;
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &job->lock, DB_ARGS(db_text(found), db_text(e->limit)), &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		struct key key = key_of(&rows, i);

		add_key(&b->plan, i, &key);
		b->n++;
		b->n_d += key.d;
	}
	if (b->n > 0)
		text_add(&b->plan, "]");
	/* The others are held, or are no longer what they were. */
	if (rc == DB_OK && b->n < b->n_keys) {
		rc = db_run(db, &job->look, DB_ARGS(db_text(found), db_text(e->limit)), &rows);
		b->skipped = rc == DB_OK && rows.n_rows > b->n ? rows.n_rows - b->n : 0;
	}
	db_rows_clear(&rows);
	return rc == DB_OK && b->plan.failed ? DB_ENOMEM : rc;
}

static void
forget_plan(struct batch *b)
{
	text_clear(&b->plan);
	b->n = b->n_d = b->skipped = 0;
	b->led = false;
}

static int
hold_task(struct db *db, struct expiring *e)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &hold_lock, DB_ARGS(db_u64(e->task_id)), &rows);

	e->batch.led = rc == DB_OK && rows.n_rows == 0;
	db_rows_clear(&rows);
	return rc;
}

struct in_transaction {
	struct expiring *e;
	const struct job *job;
	const char *found;
	bool again;
};

static int
change(struct db *db, void *data)
{
	struct in_transaction *t = data;
	struct batch *b = &t->e->batch;
	int rc = t->again && tick(&t->e->ticking) != 0 ? DB_ECANCELLED : DB_OK;

	t->again = true;
	forget_plan(b);
	if (rc == DB_OK && t->job->under_lock)
		rc = hold_task(db, t->e);
	/* Who leads does the same, and more. */
	if (rc != DB_OK || b->led)
		return rc;
	rc = make_plan(db, t->e, t->job, t->found);
	if (rc == DB_OK && b->n > 0)
		rc = db_change(db, &t->job->change, DB_ARGS(db_text(b->plan.data)), b->n);
	if (rc == DB_OK && b->n > 0 && t->job->log.sql != NULL)
		rc = db_change(db, &t->job->log, DB_ARGS(db_text(b->plan.data)), b->n);
	return rc;
}

static void
count(struct expiring *e, const struct job *job)
{
	struct batch *b = &e->batch;
	char *done = (char *)e->done;

	*(uint64_t *)(void *)(done + job->counter) += b->n - b->n_d;
	*(uint64_t *)(void *)(done + job->counter_d) += b->n_d;
	e->done->skipped += b->skipped;
	e->ticking.rows += b->n;
	forget_plan(b);
}

/* One page. */
static int
step(struct expiring *e, const struct job *job)
{
	struct batch *b = &e->batch;
	struct text found = { NULL, 0, 0, false };
	struct in_transaction t = { e, job, NULL, false };
	int rc;

	rc = find(e, job);
	for (size_t i = 0; rc == DB_OK && i < b->n_keys; i++)
		add_key(&found, i, &b->keys[i]);
	text_add(&found, "]");
	t.found = found.data;
	if (rc == DB_OK && found.failed)
		rc = DB_ENOMEM;
	if (rc == DB_OK && b->n_keys > 0)
		rc = db_transaction(e->q->lock, change, &t, NULL);
	text_clear(&found);
	if (rc != DB_OK)
		return rc;
	b->last = b->last || b->led;
	count(e, job);
	b->from = b->to;
	return DB_OK;
}

int
batch_ask(struct expiring *e, const struct db_query *query, const struct db_arg *args,
    size_t n_args, struct db_rows *rows)
{
	int rc = DB_OK;

	for (unsigned int try = 0; try < DB_TRIES; try++) {
		rc = db_run(e->q->lock, query, args, n_args, rows);
		if (rc != DB_ELOCKWAIT && rc != DB_ERETRY)
			break;
		if (tick(&e->ticking) != 0)
			return DB_ECANCELLED;
		db_backoff(try);
	}
	return rc;
}

int
batch_run(struct expiring *e, const struct job *job, const char *limit)
{
	static const struct cursor start = { "1000-01-01", { 0, 0, 0, 0 } };
	int rc = DB_OK;

	e->limit = limit;
	e->size = job->under_lock && e->what->batch > UNDER_LOCK_MOST ? UNDER_LOCK_MOST :
	    e->what->batch;
	e->batch.from = start;
	e->batch.last = false;
	while (rc == DB_OK && !e->batch.last) {
		uint64_t begun = db_clock_ms(), took;

		rc = tick(&e->ticking) != 0 ? DB_ECANCELLED : step(e, job);
		/* Nobody waits for what it does, so it leaves half of the time to others. */
		took = db_clock_ms() - begun;
		if (rc == DB_OK && !e->batch.last)
			db_sleep_ms(took < PAUSE_MOST_MS ? (unsigned int)took : PAUSE_MOST_MS);
	}
	return rc;
}
