/* SPDX-License-Identifier: MIT */
/*
 * Measures how many requests a server serves. Each thread has a handle of its own. Prints one JSON
 * object.
 *
 *   throughput work FIRST TASKS THREADS COUNT SECONDS   getwork, for COUNT loans each, on the tasks
 *                                from FIRST on in turn, by the users race-1, race-2 …
 *   throughput asks FIRST TASKS N [COUNT]   N requests for COUNT loans (1), one after the other
 *   throughput commits THREADS SECONDS   INSERT statements, each its own transaction
 *
 * SECONDS may have decimals. The server's own counters tell what it had to do for that.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "db/db.h"
#include "inside.h"

enum { THREADS_MAX = 500, WARM_UP_MS = 500 /* for each second that counts */ };

/* Counters of the server, in the order in which it shows them. */
enum counter { PREPARES, CONNECTIONS, QUESTIONS, COUNTERS };

struct samples {
	double *ms;
	size_t n, size;
};

struct worker {
	pthread_t thread;
	struct lockq *q;
	struct db *db;
	struct samples took;
	uint64_t *loans;     /* each loan that it was given: task << 40 | loan */
	size_t n_loans, loans_size;
	uint64_t requests, partial, empty, errors;
	uint32_t task, count;
	char user[32];
	char error[256];
};

static struct worker workers[THREADS_MAX];
static volatile int phase;  /* 0 warm-up, 1 counted, 2 over */

static const struct db_query bare_insert = {
	"bare_insert", "INSERT INTO bench_commit (worker, n) VALUES (?, ?)", DB_NO_ROWS
};

static const struct db_query read_counters = {
	"read_counters",
	"SHOW GLOBAL STATUS"
	" WHERE Variable_name IN ('Com_stmt_prepare', 'Connections', 'Questions')",
	DB_MANY
};

static void
die(const char *what, const char *text)
{
	fprintf(stderr, "throughput: %s: %s\n", what, text);
	exit(5);
}

static struct lockq_connection
where_is(void)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;

	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	return where;
}

static void *
grow(void *list, size_t n, size_t *size, size_t each)
{
	if (n < *size)
		return list;
	*size = *size == 0 ? 1024 : *size * 2;
	list = realloc(list, *size * each);
	if (list == NULL)
		die("memory", "none left");
	return list;
}

static void
add_sample(struct samples *samples, double ms)
{
	samples->ms = grow(samples->ms, samples->n, &samples->size, sizeof(*samples->ms));
	samples->ms[samples->n++] = ms;
}

static void
add_loans(struct worker *w, const struct lockq_answer *answer)
{
	for (size_t i = 0; i < answer->n_loans; i++) {
		w->loans = grow(w->loans, w->n_loans, &w->loans_size, sizeof(*w->loans));
		w->loans[w->n_loans++] = (uint64_t)w->task << 40 | answer->loans[i].loan_id;
	}
}

static void *
get_work(void *data)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	struct worker *w = data;

	ask.user = w->user;
	ask.task = w->task;
	ask.count = w->count;
	while (phase < 2) {
		double start = now_ms();
		int counted = phase, rc = lockq_getwork(w->q, &ask, &answer);

		/* Loans of the warm-up can be duplicates, too. */
		add_loans(w, &answer);
		if (rc < 0) {
			w->errors++;
			snprintf(w->error, sizeof(w->error), "%s", lockq_error(w->q));
		}
		if (counted != 1 || phase != 1)
			continue;
		w->requests++;
		w->partial += answer.status == LOCKQ_PARTIAL;
		w->empty += rc == LOCKQ_NOTHING;
		add_sample(&w->took, now_ms() - start);
	}
	lockq_answer_clear(&answer);
	return NULL;
}

/* Asks @n_tasks in turn. The first request to each task is not counted, because it connects. */
static void
ask_in_turn(struct worker *w, uint32_t first, uint32_t n_tasks, uint64_t n)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_ask ask = LOCKQ_ASK_INIT;

	ask.user = w->user;
	ask.count = w->count;
	for (uint64_t i = 0; i < n + n_tasks; i++) {
		double start = now_ms();

		ask.task = w->task = first + (uint32_t)(i % n_tasks);
		if (lockq_getwork(w->q, &ask, &answer) < 0)
			die("getwork", lockq_error(w->q));
		add_loans(w, &answer);
		if (i < n_tasks)
			continue;
		w->requests++;
		w->empty += answer.status == LOCKQ_EMPTY;
		add_sample(&w->took, now_ms() - start);
	}
	lockq_answer_clear(&answer);
}

static void *
commit_bare(void *data)
{
	struct worker *w = data;

	for (uint64_t n = 0; phase < 2; n++) {
		double start = now_ms();
		int counted = phase, rc = db_run(w->db, &bare_insert, DB_ARGS(
		    db_u64((uint64_t)(w - workers)), db_u64(n)), NULL);

		if (rc != DB_OK)
			die("insert", db_error(w->db));
		if (counted != 1 || phase != 1)
			continue;
		w->requests++;
		add_sample(&w->took, now_ms() - start);
	}
	return NULL;
}

static void
open_worker(struct worker *w, size_t i, bool bare)
{
	struct lockq_connection where = where_is();

	snprintf(w->user, sizeof(w->user), "race-%zu", i + 1);
	if (bare) {
		if (where_connect(&w->db, &where) != DB_OK)
			die("connect", db_error(w->db));
	} else if (lockq_new(&w->q) != LOCKQ_OK || lockq_connect(w->q, &where) != LOCKQ_OK) {
		die("connect", w->q != NULL ? lockq_error(w->q) : "memory");
	}
}

/* Reads the server's counters on a new connection, because the server ends one that is idle for
 * long. */
static void
count(uint64_t counters[COUNTERS])
{
	struct lockq_connection where = where_is();
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db *db = NULL;

	if (where_connect(&db, &where) != DB_OK)
		die("connect", db_error(db));
	if (db_run(db, &read_counters, DB_NO_ARGS, &rows) != DB_OK || rows.n_rows != COUNTERS)
		die("counters", db_error(db));
	for (size_t i = 0; i < COUNTERS; i++)
		counters[i] = db_cell_u64(&rows, i, 1);
	db_rows_clear(&rows);
	db_close(db);
}

static int
compare_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double
percentile(const struct samples *all, double p)
{
	size_t i = (size_t)((double)all->n * p / 100);

	return all->n == 0 ? 0 : all->ms[i < all->n ? i : all->n - 1];
}

/* No loan is given back, so each loan is given at most once per task. */
static uint64_t
count_duplicates(size_t n_threads, uint64_t *n_loans)
{
	uint64_t *all = NULL, duplicates = 0;
	size_t n = 0, size = 0;

	for (size_t i = 0; i < n_threads; i++) {
		for (size_t k = 0; k < workers[i].n_loans; k++) {
			all = grow(all, n, &size, sizeof(*all));
			all[n++] = workers[i].loans[k];
		}
	}
	if (n > 0)
		qsort(all, n, sizeof(*all), compare_u64);
	for (size_t i = 1; i < n; i++)
		duplicates += all[i] == all[i - 1];
	free(all);
	*n_loans = n;
	return duplicates;
}

static void
report(size_t n_threads, double seconds, const uint64_t before[COUNTERS],
    const uint64_t after[COUNTERS])
{
	struct worker sum = { .requests = 0 };
	uint64_t given = 0, counted_loans = 0, duplicates = count_duplicates(n_threads, &given);
	double requests;

	for (size_t i = 0; i < n_threads; i++) {
		const struct worker *w = &workers[i];

		sum.requests += w->requests;
		sum.partial += w->partial;
		sum.empty += w->empty;
		sum.errors += w->errors;
		for (size_t k = 0; k < w->took.n; k++)
			add_sample(&sum.took, w->took.ms[k]);
		if (w->error[0] != '\0')
			fprintf(stderr, "throughput: %s: %s\n", w->user, w->error);
	}
	counted_loans = (sum.requests - sum.empty) * workers[0].count;
	if (sum.took.n > 0)
		qsort(sum.took.ms, sum.took.n, sizeof(*sum.took.ms), compare_double);
	requests = sum.requests > 0 ? (double)sum.requests : 1;
	printf("{\"requests_per_s\":%.1f,\"loans_per_s\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
	    "\"statements_per_request\":%.2f,\"prepares_per_request\":%.2f,"
	    "\"connections_per_request\":%.3f,\"requests\":%" PRIu64 ",\"partial\":%" PRIu64
	    ",\"empty\":%" PRIu64 ",\"given\":%" PRIu64 ",\"duplicates\":%" PRIu64
	    ",\"errors\":%" PRIu64 "}\n",
	    (double)sum.requests / seconds, (double)counted_loans / seconds,
	    percentile(&sum.took, 50), percentile(&sum.took, 99),
	    (double)(after[QUESTIONS] - before[QUESTIONS]) / requests,
	    (double)(after[PREPARES] - before[PREPARES]) / requests,
	    (double)(after[CONNECTIONS] - before[CONNECTIONS]) / requests,
	    sum.requests, sum.partial, sum.empty, given, duplicates, sum.errors);
	free(sum.took.ms);
}

static int
usage(void)
{
	fprintf(stderr, "usage: throughput work FIRST TASKS THREADS COUNT SECONDS | "
	    "asks FIRST TASKS N [COUNT] | commits THREADS SECONDS, THREADS up to %d\n",
	    THREADS_MAX);
	return 2;
}

static void
start_workers(size_t n, bool bare, const unsigned long *a)
{
	for (size_t i = 0; i < n; i++) {
		open_worker(&workers[i], i, bare);
		workers[i].task = (uint32_t)(bare ? 0 : a[0] + i % a[1]);
		workers[i].count = (uint32_t)a[3];
		if (pthread_create(&workers[i].thread, NULL, bare ? commit_bare : get_work,
		    &workers[i]) != 0)
			die("start", "no more threads to be had");
	}
}

static void
run_threads(size_t n, double seconds)
{
	uint64_t before[COUNTERS], after[COUNTERS];
	double start, took;

	/* In this time the first query of each task runs and its list is kept. */
	db_sleep_ms((unsigned int)(seconds * WARM_UP_MS));
	count(before);
	start = now_ms();
	phase = 1;
	db_sleep_ms((unsigned int)(seconds * 1000));
	phase = 2;
	took = (now_ms() - start) / 1000;
	count(after);
	for (size_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	report(n, took, before, after);
}

static void
run_in_turn(const unsigned long *a)
{
	uint64_t before[COUNTERS], after[COUNTERS];
	double start;

	open_worker(&workers[0], 0, false);
	workers[0].count = (uint32_t)a[3];
	count(before);
	start = now_ms();
	ask_in_turn(&workers[0], (uint32_t)a[0], (uint32_t)a[1], a[2]);
	count(after);
	report(1, (now_ms() - start) / 1000, before, after);
}

int
main(int argc, char **argv)
{
	bool bare = argc == 4 && strcmp(argv[1], "commits") == 0;
	bool in_turn = (argc == 5 || argc == 6) && strcmp(argv[1], "asks") == 0;
	bool work = argc == 7 && strcmp(argv[1], "work") == 0;
	unsigned long a[5] = { 0 };
	double seconds = strtod(argv[argc - 1], NULL);
	size_t n;

	for (int i = 2; i < argc && i < 7; i++)
		a[i - 2] = strtoul(argv[i], NULL, 10);
	if (argc == 5)
		a[3] = 1;
	n = bare ? a[0] : in_turn ? 1 : a[2];
	if ((!bare && !in_turn && !work) || n < 1 || n > THREADS_MAX || (!bare && a[1] < 1) ||
	    (!in_turn && seconds <= 0))
		return usage();
	if (lockq_library_init() != LOCKQ_OK)
		die("library", "can't be used");
	if (in_turn) {
		run_in_turn(a);
	} else {
		start_workers(n, bare, a);
		run_threads(n, seconds);
	}
	for (size_t i = 0; i < n; i++) {
		lockq_free(workers[i].q);
		db_close(workers[i].db);
		free(workers[i].took.ms);
		free(workers[i].loans);
	}
	return 0;
}
