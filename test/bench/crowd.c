/* SPDX-License-Identifier: MIT */
/*
 * Prints how many milliseconds threads wait. Each thread has a connection of its own.
 *
 *   crowd wake TASK PREFIX N   the user PREFIX-1 leads and N others follow: from the leader's
 *                              COMMIT until each follower has its answer
 *   crowd bare TASK N          N threads only wait for a row lock: from the COMMIT that releases it
 *                              until each thread goes on
 *   crowd freed TASK PID       from kill -9 of the leader PID until its lock is free
 *
 * For wake the time of the COMMIT is leader_run.ended_at, which the server writes in the statement
 * before. So server and crowd must have the same clock.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "db/db.h"
#include "inside.h"

enum { CROWD_MAX = 1000, SETTLE_MS = 1500, POLL_US = 500, PATIENCE_MS = 60000 };

struct person {
	struct lockq *q;  /* wake */
	struct db *db;    /* bare */
	pthread_t thread;
	uint64_t done_us;
	struct lockq_answer answer;
	uint32_t task;
	int rc;
	char name[64];
};

static const struct db_query commit_time = {
	"commit_time",
	"SELECT CAST(UNIX_TIMESTAMP(ended_at) * 1000000 AS UNSIGNED)"
	"  FROM leader_run"
	" WHERE task_id = ? AND epoch = ?",
	DB_ONE
};

static const struct db_query wait_for_row = {
	"wait_for_row", "SELECT task_id FROM wake_in WHERE task_id = ? FOR SHARE", DB_ONE
};

static const struct db_query keep_row = {
	"keep_row", "SELECT task_id FROM wake_in WHERE task_id = ? FOR UPDATE", DB_ONE
};

/* A leader's COMMIT writes to disk, so the bare one must have something to write, too. */
static const struct db_query write_something = {
	"write_something", "UPDATE lead_in SET since = ? WHERE task_id = ?", DB_NO_ROWS
};

static const struct db_query try_lock = {
	"try_lock", "SELECT epoch FROM task_lock WHERE task_id = ? FOR UPDATE SKIP LOCKED", DB_MAYBE
};

static struct lockq_connection
where_is(void)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;

	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	return where;
}

static int
complain(const char *what, const char *text)
{
	fprintf(stderr, "crowd: %s: %s\n", what, text);
	return -1;
}

static int
query_u64(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args,
    uint64_t *number, size_t *n_rows)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, query, args, n_args, &rows);

	*number = rc == DB_OK ? db_cell_u64(&rows, 0, 0) : 0;
	*n_rows = rows.n_rows;
	db_rows_clear(&rows);
	return rc == DB_OK ? 0 : complain(query->name, db_error(db));
}

static void
print_since(const struct person *people, size_t n, uint64_t start_us)
{
	for (size_t i = 0; i < n; i++)
		printf("%.3f\n", ((double)people[i].done_us - (double)start_us) / 1000);
}

static size_t
start(struct person *people, size_t n, void *(*run)(void *))
{
	size_t started = 0;

	while (started < n &&
	    pthread_create(&people[started].thread, NULL, run, &people[started]) == 0)
		started++;
	return started;
}

static int
join(struct person *people, size_t started, size_t n)
{
	for (size_t i = 0; i < started; i++)
		pthread_join(people[i].thread, NULL);
	return started == n ? 0 : complain("start", "no more threads to be had");
}

/* --- with lockq --- */

static void *
get_work(void *data)
{
	struct person *p = data;
	struct lockq_ask ask = LOCKQ_ASK_INIT;

	ask.user = p->name;
	ask.task = p->task;
	p->rc = lockq_getwork(p->q, &ask, &p->answer);
	p->done_us = now_us();
	return NULL;
}

static int
open_person(struct person *p, const char *prefix, size_t i, uint32_t task)
{
	struct lockq_connection where = where_is();
	int rc = lockq_new(&p->q);

	snprintf(p->name, sizeof(p->name), "%s-%zu", prefix, i + 1);
	p->answer = (struct lockq_answer)LOCKQ_ANSWER_INIT;
	p->task = task;
	if (rc == LOCKQ_OK)
		rc = lockq_connect(p->q, &where);
	return rc == LOCKQ_OK ? 0 : complain(p->name, p->q != NULL ? lockq_error(p->q) : "memory");
}

static int
until_led(struct db *db, uint32_t task)
{
	struct inside_holder holder = { .held = false };

	for (int ms = 0; ms < PATIENCE_MS && !holder.held; ms++) {
		if (inside_holder(db, task, &holder) != DB_OK)
			return complain("holder", db_error(db));
		db_sleep_ms(1);
	}
	return holder.held ? 0 : complain("holder", "nobody leads");
}

/* A follower that another leader served was not woken by this COMMIT. */
static int
check_answers(const struct person *people, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (people[i].rc != LOCKQ_OK)
			return complain(people[i].name, lockq_error(people[i].q));
		if (people[i].answer.epoch != people[0].answer.epoch)
			return complain(people[i].name, "came too late for the query: make it "
			    "heavier");
	}
	return 0;
}

static int
wake(struct db *db, uint32_t task, const char *prefix, struct person *people, size_t n)
{
	uint64_t start_us = 0;
	size_t started, rows;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i <= n; i++)
		rc = open_person(&people[i], prefix, i, task);
	if (rc == 0) {
		started = start(people, 1, get_work);
		rc = started == 1 ? until_led(db, task) : 0;
		if (rc == 0)
			started += start(people + 1, n, get_work);
		if (join(people, started, n + 1) != 0)
			rc = -1;
	}
	if (rc == 0)
		rc = check_answers(people, n + 1);
	if (rc == 0)
		rc = query_u64(db, &commit_time, DB_ARGS(db_u64(task),
		    db_u64(people[0].answer.epoch)), &start_us, &rows);
	if (rc == 0)
		print_since(people + 1, n, start_us);
	for (size_t i = 0; i <= n; i++) {
		lockq_answer_clear(&people[i].answer);
		lockq_free(people[i].q);
	}
	return rc;
}

/* --- without --- */

static void *
wait_bare(void *data)
{
	struct person *p = data;
	uint64_t id;
	size_t rows;

	p->rc = query_u64(p->db, &wait_for_row, DB_ARGS(db_u64(p->task)), &id, &rows);
	p->done_us = now_us();
	return NULL;
}

static int
open_bare(struct person *p, uint32_t task)
{
	struct lockq_connection where = where_is();
	int rc = where_connect(&p->db, &where);

	p->task = task;
	if (rc == DB_OK)
		rc = db_set_lock_wait(p->db, PATIENCE_MS / 1000);
	return rc == DB_OK ? 0 : complain("connect", db_error(p->db));
}

static int
keep(struct db *db, uint32_t task)
{
	uint64_t id;
	size_t rows;
	int rc = db_begin(db);

	if (rc == DB_OK)
		rc = query_u64(db, &keep_row, DB_ARGS(db_u64(task)), &id, &rows);
	for (int i = 0; rc == DB_OK && i < 2; i++)
		rc = db_run(db, &write_something, DB_ARGS(i == 0 ? db_text("2000-01-01") :
		    db_null(), db_u64(task)), NULL);
	return rc == DB_OK ? 0 : complain("keep", db_error(db));
}

static int
bare(struct db *db, uint32_t task, struct person *people, size_t n)
{
	uint64_t start_us = 0;
	size_t started;
	int rc = keep(db, task);

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = open_bare(&people[i], task);
	if (rc == 0) {
		started = start(people, n, wait_bare);
		db_sleep_ms(SETTLE_MS);
		start_us = now_us();
		if (db_commit(db) != DB_OK)
			rc = complain("commit", db_error(db));
		if (join(people, started, n) != 0)
			rc = -1;
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = people[i].rc;
	if (rc == 0)
		print_since(people, n, start_us);
	for (size_t i = 0; i < n; i++)
		db_close(people[i].db);
	return rc;
}

/* --- a leader that dies --- */

static int
freed(struct db *db, uint32_t task, pid_t leader)
{
	static const struct timespec poll_gap = { .tv_nsec = POLL_US * 1000 };
	uint64_t start_us, epoch;
	size_t rows = 0;
	int rc = until_led(db, task);

	start_us = now_us();
	if (rc == 0 && kill(leader, SIGKILL) != 0)
		rc = complain("kill", "no such process");
	while (rc == 0 && rows == 0) {
		rc = db_begin(db);
		if (rc == 0)
			rc = query_u64(db, &try_lock, DB_ARGS(db_u64(task)), &epoch, &rows);
		if (rc == 0 && rows > 0)
			printf("%.3f\n", (double)(now_us() - start_us) / 1000);
		db_rollback(db);
		if (rc == 0 && now_us() - start_us > (uint64_t)PATIENCE_MS * 1000)
			rc = complain("lock", "not to be had");
		(void)nanosleep(&poll_gap, NULL);
	}
	return rc;
}

static int
usage(void)
{
	fprintf(stderr, "usage: crowd wake TASK PREFIX N | bare TASK N | freed TASK PID, "
	    "N up to %d\n", CROWD_MAX);
	return 2;
}

int
main(int argc, char **argv)
{
	static struct person people[CROWD_MAX + 1];
	struct lockq_connection where = where_is();
	const char *mode = argc >= 4 ? argv[1] : "";
	uint32_t task = argc >= 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	unsigned long n = argc >= 4 ? strtoul(argv[argc - 1], NULL, 10) : 0;
	bool known = (strcmp(mode, "wake") == 0 && argc == 5) ||
	    ((strcmp(mode, "bare") == 0 || strcmp(mode, "freed") == 0) && argc == 4);
	struct db *db = NULL;
	int rc = -1;

	if (!known || n < 1 || (mode[0] != 'f' && n > CROWD_MAX))
		return usage();
	if (lockq_library_init() != LOCKQ_OK || where_connect(&db, &where) != DB_OK)
		(void)complain("connect", db_error(db));
	else if (mode[0] == 'w')
		rc = wake(db, task, argv[3], people, n);
	else if (mode[0] == 'b')
		rc = bare(db, task, people, n);
	else
		rc = freed(db, task, (pid_t)n);
	db_close(db);
	return rc == 0 ? 0 : 5;
}
