/* SPDX-License-Identifier: MIT */
/* Does the jobs of lockq_expire() a page at a time, in small transactions that wait for nobody and
 * delay nobody. A page that was committed is not found again, so a run may end anywhere. */
#include <stdlib.h>
#include <string.h>

#include "disposition/expire_batch.h"
#include "handle/bounds.h"
#include "handle/retry.h"

enum {
	UNDER_LOCK_MOST = 500, /* rows of a page under the task's lock: it must be free again before
	                        * lock_try() ends, after a second */
	ARGS_MOST = 4 + (1 + 2 + 3 + 4) + 1 /* of a find: its own, those of four keys, the size */
};

/* A job on its way from page to page. */
struct batch {
	struct expiring *e;
	const struct job *job;
	const char *limit;
	uint32_t size;        /* rows of a page */
	struct db_rows found; /* the page */
	bool last;            /* there is no page after it */
	struct text taken;    /* its rows that are to be locked, as JSON */
	uint64_t n_taken;
	uint32_t retries;     /* of the page's transaction */

	/* The last try of that transaction. */
	bool led;             /* somebody leads the task, so nothing was done */
	struct text plan;     /* the rows that were locked, as JSON */
	uint64_t n, n_leases; /* their number, and the number of those whose lease ends */
	uint64_t skipped;     /* rows that others hold */
};

enum db_rc
batch_ask(struct expiring *e, const struct db_query *query, const struct db_arg *args,
    size_t n_args, struct db_rows *rows)
{
	for (unsigned int try = 0;; try++) {
		enum db_rc rc = db_run(e->q->db, query, args, n_args, rows);

		if (retry_verdict(rc, false, try + 1, 0, 0) != AGAIN)
			return rc;
		if (tick(&e->ticking) != 0)
			return DB_ECANCELLED;
		e->q->operating.watch.retries++;
		db_backoff(try);
	}
}

/* Adds a row to a JSON array; a cell that is no number is a time, and goes in quotes. */
static void
add_row(struct text *json, const struct db_rows *rows, size_t row)
{
	const char *before = json->used == 0 ? "[[" : ",[";

	for (size_t column = 0; column < rows->n_columns; column++) {
		const char *cell = db_cell(rows, row, column);
		const char *quote = cell == NULL || cell[strspn(cell, "0123456789")] == '\0' ?
		    "" : "\"";

		text_add(json, "%s%s%s%s", before, quote, cell == NULL ? "null" : cell, quote);
		before = ",";
	}
	text_add(json, "]");
}

/* The key of the last row of the page before; for the first page, less than any. */
static struct db_arg
last_key(const struct batch *b, size_t key)
{
	const char *cell = db_cell(&b->found, b->found.n_rows - 1, key);

	if (b->job->by_time && key == 0)
		return db_text(cell == NULL ? "1000-01-01" : cell);
	return db_u64(cell == NULL ? 0 : strtoull(cell, NULL, 10));
}

/* Finds the next page, without a lock: make_plan() looks at the rows again. */
static enum db_rc
find(struct batch *b, const struct db_arg *own, size_t n_own)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db_arg args[ARGS_MOST];
	size_t n = n_own;
	enum db_rc rc;

	memcpy(args, own, n_own * sizeof(*own));
	/* first > ? OR (first = ? AND second > ?) OR … */
	for (size_t keys = 1; keys <= b->job->n_keys; keys++) {
		for (size_t key = 0; key < keys; key++)
			args[n++] = last_key(b, key);
	}
	args[n++] = db_u64(b->size);
	rc = batch_ask(b->e, &b->job->find, args, n, &rows);
	/* Only now, since the arguments point into it. */
	db_rows_clear(&b->found);
	b->found = rows;
	return rc;
}

/* Takes the rows of the page that the verdicts of its find do not leave out. */
static enum db_rc
choose(struct batch *b)
{
	size_t column = b->job->n_keys;

	text_clear(&b->taken);
	b->n_taken = 0;
	b->last = b->found.n_rows < b->size;
	for (size_t i = 0; i < b->found.n_rows; i++) {
		uint64_t verdict = db_cell_is_null(&b->found, i, column) ? VERDICT_TAKE :
		    db_cell_u64(&b->found, i, column);

		if (verdict == VERDICT_STOP) {
			b->last = true;
			break;
		}
		if (verdict == VERDICT_KEEP)
			b->e->done->kept_rows++;
		if (verdict == VERDICT_TAKE) {
			add_row(&b->taken, &b->found, i);
			b->n_taken++;
		}
	}
	text_add(&b->taken, "]");
	return b->taken.failed ? DB_ENOMEM : DB_OK;
}

static void
forget_plan(struct batch *b)
{
	text_clear(&b->plan);
	b->n = b->n_leases = b->skipped = 0;
	b->led = false;
}

/* Locks the rows that nobody else holds and that are still as they were found. They need not be in
 * key order, since a statement that waits for nobody can't be in a deadlock. */
static enum db_rc
make_plan(struct db *db, struct batch *b)
{
	const struct db_arg args[] = { db_text(b->taken.data), db_text(b->limit) };
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &b->job->lock, args, 2, &rows);

	b->n = rows.n_rows;
	for (size_t i = 0; i < rows.n_rows; i++) {
		add_row(&b->plan, &rows, i);
		if (b->job->lease_column > 0)
			b->n_leases += db_cell_u64(&rows, i, b->job->lease_column);
	}
	text_add(&b->plan, "]");
	/* The other rows are held, or have changed. */
	if (rc == DB_OK && b->n < b->n_taken) {
		rc = db_run(db, &b->job->look, args, 2, &rows);
		b->skipped = rows.n_rows > b->n ? rows.n_rows - b->n : 0;
	}
	db_rows_clear(&rows);
	return rc == DB_OK && b->plan.failed ? DB_ENOMEM : rc;
}

/* Takes the task's lock for a moment. A process that meets it sees no holder, and tries again. */
static DB_QUERY(hold_lock, DB_MAYBE,
    "SELECT 1 FROM task_lock WHERE task_id = ? FOR UPDATE SKIP LOCKED");

static enum db_rc
hold_task(struct db *db, struct batch *b)
{
	uint64_t held = 0;
	enum db_rc rc = db_number(db, &hold_lock, DB_ARGS(db_u64(b->e->task_id)), &held);

	b->led = rc == DB_OK && held == 0;
	return rc;
}

static enum db_rc
change(struct db *db, void *data)
{
	struct batch *b = data;
	enum db_rc rc = b->retries > 0 && tick(&b->e->ticking) != 0 ? DB_ECANCELLED : DB_OK;

	forget_plan(b);
	if (rc == DB_OK && b->job->under_lock)
		rc = hold_task(db, b);
	/* A leader expires requests itself. */
	if (rc != DB_OK || b->led)
		return rc;
	rc = make_plan(db, b);
	if (rc == DB_OK && b->n > 0 && b->job->log.sql != NULL)
		rc = db_change(db, &b->job->log, DB_ARGS(db_text(b->plan.data)), b->n);
	if (rc == DB_OK && b->n > 0)
		rc = db_change(db, &b->job->change, DB_ARGS(db_text(b->plan.data)), b->n);
	return rc;
}

static enum db_rc
do_page(struct batch *b, const struct db_arg *args, size_t n_args, uint64_t *counter)
{
	struct expiring *e = b->e;
	enum db_rc rc = find(b, args, n_args);

	if (rc == DB_OK)
		rc = choose(b);
	forget_plan(b);
	b->retries = 0;
	if (rc == DB_OK && b->n_taken > 0)
		rc = retry_transaction(e->q->db, change, b, &b->retries);
	if (rc != DB_OK)
		return rc;
	*counter += b->n - b->n_leases;
	e->done->leases += b->n_leases;
	e->done->skipped += b->skipped;
	e->ticking.rows += b->n;
	b->last = b->last || b->led;
	return DB_OK;
}

enum db_rc
batch_run(struct expiring *e, const struct job *job, uint64_t *counter, const char *limit,
    const struct db_arg *args, size_t n_args)
{
	struct batch b = { .e = e, .job = job, .limit = limit, .size = e->what->batch };
	enum db_rc rc = DB_OK;

	if (job->under_lock && b.size > UNDER_LOCK_MOST)
		b.size = UNDER_LOCK_MOST;
	while (rc == DB_OK && !b.last) {
		uint64_t begun = db_clock_ms(), took;

		rc = tick(&e->ticking) != 0 ? DB_ECANCELLED : do_page(&b, args, n_args, counter);
		/* Nobody waits for cron, so it leaves half of the time to others. */
		took = db_clock_ms() - begun;
		if (rc == DB_OK && !b.last)
			db_sleep_ms(took < PAUSE_MOST_MS ? (unsigned int)took : PAUSE_MOST_MS);
	}
	forget_plan(&b);
	text_clear(&b.taken);
	db_rows_clear(&b.found);
	return rc;
}
