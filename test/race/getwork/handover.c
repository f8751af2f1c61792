/* SPDX-License-Identifier: MIT */
/*
 * handover TASK PREFIX LATE ROUNDS: in each round the user PREFIX-1 asks, and LATE other users ask
 * without waiting, at random moments around the commit of the first. Each user has a thread and a
 * handle. When all calls of a round have ended, the program counts how the late users' requests
 * ended. At the end it prints a line "name count" for each of these:
 *
 *   served    the call led, or was served by a leader at that moment
 *   busy      the call was told that somebody leads. Of these requests
 *   taken       were served by a round with a query,
 *   handed      were served by a hand-over,
 *   left        stayed pending
 *   other     anything else, which is an error
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "db/db.h"
#include "inside.h"

/* A user and its call in each round. */
struct caller {
	char user[64];
	struct lockq *q;
	struct lockq_ask ask;
	struct lockq_answer answer;
	pthread_t thread;
	uint64_t start_us;
	uint64_t epoch;    /* the epoch that served the request in the end */
	int rc;
};

struct counts {
	unsigned int served, busy, taken, handed, left, other;
};

enum { FIRST_US = 10000, STEP_US = 200, SPREAD_US = 4000 };

enum { CALLERS_MAX = 16, GIVE_BACK_EVERY = 50 };

static const struct db_query how_it_ended = {
	"how_it_ended",
	"SELECT r.outcome, l.how, r.epoch"
	"  FROM work_requested AS r"
	"  LEFT JOIN leader_run AS l"
	"    ON l.task_id = r.task_id AND l.epoch = r.epoch"
	" WHERE r.request_id = ?",
	DB_ONE
};

static const struct db_query take_back = {
	"take_back",
	"UPDATE work_requested SET outcome = 'cancelled' WHERE request_id = ? AND pending = 1",
	DB_NO_ROWS
};

/* Marsaglia's xorshift. The numbers must spread, but may be predictable. */
static uint32_t
spread(uint32_t below)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x % below;
}

static void *
call(void *data)
{
	struct caller *c = data;

	sleep_until(c->start_us);
	c->rc = lockq_getwork(c->q, &c->ask, &c->answer);
	return NULL;
}

/* Starts all calls and waits until all have ended. */
static int
run_round(struct caller *callers, size_t n, uint64_t offset_us)
{
	uint64_t start_us = now_us();
	size_t started = 0;

	for (size_t i = 0; i < n; i++)
		callers[i].start_us = start_us + (i > 0 ? offset_us + spread(SPREAD_US) : 0);
	while (started < n &&
	    pthread_create(&callers[started].thread, NULL, call, &callers[started]) == 0)
		started++;
	for (size_t i = 0; i < started; i++)
		pthread_join(callers[i].thread, NULL);
	return started == n ? 0 : -1;
}

/* Counts a request whose call was told "busy". All calls of the round have ended. */
static int
count_busy(struct db *db, struct caller *c, struct counts *counts)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db_arg request_id = db_u64(c->answer.request_id);
	int rc = db_run(db, &how_it_ended, DB_ARGS(request_id), &rows);

	if (rc != DB_OK)
		return rc;
	counts->busy++;
	c->epoch = db_cell_u64(&rows, 0, 2);
	if (strcmp(db_cell(&rows, 0, 0), "pending") == 0) {
		counts->left++;
		rc = db_run(db, &take_back, DB_ARGS(request_id), NULL);
	} else if (strcmp(db_cell(&rows, 0, 0), "served") != 0) {
		counts->other++;
	} else if (strcmp(db_cell(&rows, 0, 1), "hand-over") == 0) {
		counts->handed++;
	} else {
		counts->taken++;
	}
	db_rows_clear(&rows);
	return rc;
}

static int
count(struct db *db, struct caller *callers, size_t n, struct counts *counts)
{
	int rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < n; i++) {
		struct caller *c = &callers[i];

		c->epoch = c->answer.epoch;
		if (i > 0 && c->rc == LOCKQ_BUSY) {
			rc = count_busy(db, c, counts);
		} else if (c->rc != LOCKQ_OK) {
			fprintf(stderr, "handover: %s: %d %s\n", c->user, c->rc,
			    lockq_error(c->q));
			counts->other++;
		} else if (i > 0) {
			counts->served++;
		}
	}
	return rc;
}

/* Late users come sooner in the next round if another round served them, and later if the first
 * user's round did. So they stay near the moment between the two, whatever else the machine
 * does. */
static uint64_t
steer(const struct caller *callers, size_t n, uint64_t offset_us)
{
	for (size_t i = 1; i < n; i++) {
		if (callers[i].epoch == callers[0].epoch)
			offset_us += STEP_US;
		else if (offset_us >= STEP_US)
			offset_us -= STEP_US;
	}
	return offset_us;
}

/* Disposes of all loans of a user, or a long race would need more and more loans. */
static int
give_back(struct caller *c)
{
	struct lockq_disposition all = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	struct lockq_loan_ref *loans = NULL;
	int rc = lockq_pipeline(c->q, c->user, c->ask.task, &pipeline);

	if (rc == LOCKQ_OK) {
		loans = calloc(pipeline.n_assignments, sizeof(*loans));
		rc = loans != NULL ? LOCKQ_OK : LOCKQ_ENOMEM;
	}
	for (size_t i = 0; rc == LOCKQ_OK && i < pipeline.n_assignments; i++) {
		loans[i].loan_id = pipeline.assignments[i].loan_id;
		loans[i].token = pipeline.assignments[i].token;
	}
	if (rc == LOCKQ_OK) {
		all.user = c->user;
		all.task = c->ask.task;
		all.kind = LOCKQ_RETURN;
		all.loans = loans;
		all.n_loans = pipeline.n_assignments;
		rc = lockq_dispose(c->q, &all, &result);
	}
	lockq_disposed_clear(&result);
	lockq_pipeline_clear(&pipeline);
	free(loans);
	return rc == LOCKQ_NOTHING ? LOCKQ_OK : rc;
}

static int
all_give_back(struct caller *callers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (give_back(&callers[i]) != LOCKQ_OK) {
			fprintf(stderr, "handover: %s\n", lockq_error(callers[i].q));
			return DB_EFAIL;
		}
	}
	return DB_OK;
}

static int
race(struct db *db, struct caller *callers, size_t n, unsigned long rounds)
{
	struct counts counts = { 0 };
	uint64_t offset_us = FIRST_US;
	int rc = DB_OK;

	for (unsigned long i = 0; rc == DB_OK && i < rounds; i++) {
		if (run_round(callers, n, offset_us) != 0) {
			fprintf(stderr, "handover: no thread to be had\n");
			return DB_ENOMEM;
		}
		rc = count(db, callers, n, &counts);
		offset_us = steer(callers, n, offset_us);
		if (rc == DB_OK && i % GIVE_BACK_EVERY == GIVE_BACK_EVERY - 1)
			rc = all_give_back(callers, n);
	}
	printf("served %u\nbusy %u\ntaken %u\nhanded %u\nleft %u\nother %u\n", counts.served,
	    counts.busy, counts.taken, counts.handed, counts.left, counts.other);
	return rc;
}

static int
open_caller(struct caller *c, const struct lockq_connection *where, const char *prefix, size_t i,
    uint32_t task)
{
	int rc;

	*c = (struct caller){ .ask = LOCKQ_ASK_INIT, .answer = LOCKQ_ANSWER_INIT };
	snprintf(c->user, sizeof(c->user), "%s-%zu", prefix, i + 1);
	c->ask.user = c->user;
	c->ask.task = task;
	c->ask.wait = i > 0 ? LOCKQ_WAIT_NONE : LOCKQ_WAIT_BLOCKING;
	rc = lockq_new(&c->q);
	if (rc == LOCKQ_OK)
		rc = lockq_connect(c->q, where);
	if (rc != LOCKQ_OK)
		fprintf(stderr, "handover: %s\n", c->q != NULL ? lockq_error(c->q) : "no memory");
	return rc;
}

int
main(int argc, char **argv)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	static struct caller callers[CALLERS_MAX];
	struct db *db = NULL;
	size_t n = argc == 5 ? strtoul(argv[3], NULL, 10) + 1 : 0;
	int rc;

	if (n < 2 || n > CALLERS_MAX) {
		fprintf(stderr, "usage: handover TASK PREFIX LATE ROUNDS, with 1 to %d LATE\n",
		    CALLERS_MAX - 1);
		return 2;
	}
	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	rc = lockq_library_init();
	for (size_t i = 0; rc == LOCKQ_OK && i < n; i++)
		rc = open_caller(&callers[i], &where, argv[2], i,
		    (uint32_t)strtoul(argv[1], NULL, 10));
	if (rc == LOCKQ_OK) {
		rc = where_connect(&db, &where);
		if (rc == DB_OK)
			rc = race(db, callers, n, strtoul(argv[4], NULL, 10));
		if (rc != DB_OK)
			fprintf(stderr, "handover: %s\n", db_error(db));
		db_close(db);
	}
	for (size_t i = 0; i < n; i++) {
		lockq_answer_clear(&callers[i].answer);
		lockq_free(callers[i].q);
	}
	return rc == LOCKQ_OK ? 0 : 5;
}
