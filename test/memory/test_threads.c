/* SPDX-License-Identifier: MIT */
/* Several handles in several threads: people ask, dispose of loans and look, all at once, while
 * handles are made and closed, a list is filled, and cron's work is done. It is built with the
 * thread sanitizer for threads.t, and for valgrind.t, which needs its forged faults only. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { ROUNDS = 12, LOANS = 400 };

struct thread {
	unsigned int user_no;
	struct lockq_connection where;
	struct lockq *q;
	int code;               /* of the last call that has failed; or 0 */
	unsigned int given;     /* loans */
	char error[1024];
	pthread_t thread;
};

/* Assertions belong to the main thread, so a thread only notes what went wrong. */
static bool
went(struct thread *t, int code)
{
	if (code >= 0)
		return true;
	t->code = code;
	snprintf(t->error, sizeof(t->error), "%s", lockq_error(t->q));
	return false;
}

static bool
connect_handle(struct thread *t)
{
	t->code = lockq_new(&t->q);
	return t->code == LOCKQ_OK && went(t, lockq_connect(t->q, &t->where));
}

enum { AT_ONCE = 2 };

static struct lockq_disposition
complete_all(const struct thread *t, const struct lockq_answer *answer,
    struct lockq_loan_ref loans[AT_ONCE])
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;

	what.user = user(t->user_no);
	what.task = TASK;
	what.loans = loans;
	what.n_loans = answer->n_loans;
	for (size_t i = 0; i < answer->n_loans; i++)
		loans[i] = (struct lockq_loan_ref){ answer->loans[i].loan_id,
			answer->loans[i].token };
	return what;
}

static struct lockq_ask
ask_of(const struct thread *t)
{
	struct lockq_ask ask = LOCKQ_ASK_INIT;

	ask.user = user(t->user_no);
	ask.task = TASK;
	ask.count = AT_ONCE;
	ask.timeout_ms = PATIENCE_MS;
	return ask;
}

/* Asks, looks at the request, completes the loans. */
static bool
one_round(struct thread *t)
{
	struct lockq_ask ask = ask_of(t);
	struct lockq_answer answer = LOCKQ_ANSWER_INIT, again = LOCKQ_ANSWER_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_loan_ref loans[AT_ONCE];
	struct lockq_disposition what;
	bool goes_on;

	goes_on = went(t, lockq_getwork(t->q, &ask, &answer));
	t->given += (unsigned int)answer.n_loans;
	if (goes_on)
		goes_on = went(t, lockq_request_look(t->q, answer.uuid, 0, &again));
	what = complete_all(t, &answer, loans);
	if (goes_on && answer.n_loans > 0)
		goes_on = went(t, lockq_dispose(t->q, &what, &result));
	lockq_disposed_clear(&result);
	lockq_answer_clear(&answer);
	lockq_answer_clear(&again);
	return goes_on;
}

static void *
work(void *data)
{
	struct thread *t = data;

	for (int i = 0; i < ROUNDS && (t->q != NULL || connect_handle(t)); i++) {
		if (!one_round(t))
			break;
	}
	return NULL;
}

/* The same in one commit each: completes what it has, and asks for the next loans. */
static void *
go_on(void *data)
{
	struct thread *t = data;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_ask ask = ask_of(t);
	bool goes_on = connect_handle(t) && went(t, lockq_getwork(t->q, &ask, &answer));

	for (int i = 1; goes_on; i++) {
		struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
		struct lockq_loan_ref loans[AT_ONCE];
		struct lockq_disposition what = complete_all(t, &answer, loans);
		int code = i < ROUNDS ?
		    lockq_dispose_and_ask(t->q, &what, &result, &ask, &answer) :
		    lockq_dispose(t->q, &what, &result);

		t->given += (unsigned int)what.n_loans;
		goes_on = went(t, code) && i < ROUNDS;
		lockq_disposed_clear(&result);
	}
	lockq_answer_clear(&answer);
	return NULL;
}

/* What cron does. */
static void *
sweep(void *data)
{
	struct thread *t = data;
	const struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired expired;

	for (int i = 0; i < ROUNDS && (t->q != NULL || connect_handle(t)); i++) {
		if (!went(t, lockq_expire(t->q, &what, &expired)))
			break;
	}
	return NULL;
}

/* Makes a handle, looks at everything, and closes it. */
static void *
look(void *data)
{
	struct thread *t = data;

	for (int i = 0; i < ROUNDS && connect_handle(t); i++) {
		struct lockq_tasks tasks = LOCKQ_TASKS_INIT;
		struct lockq_stats stats = LOCKQ_STATS_INIT;
		struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
		bool goes_on = went(t, lockq_tasks(t->q, user(0), &tasks)) &&
		    went(t, lockq_pipeline(t->q, user(0), TASK, &pipeline)) &&
		    went(t, lockq_stats(t->q, 0, &stats));

		lockq_tasks_clear(&tasks);
		lockq_pipeline_clear(&pipeline);
		lockq_stats_clear(&stats);
		lockq_free(t->q);
		t->q = NULL;
		if (!goes_on)
			break;
	}
	return NULL;
}

static void *
refill(void *data)
{
	struct thread *t = data;
	struct lockq_refilled refilled;

	for (int i = 0; i < ROUNDS && (t->q != NULL || connect_handle(t)); i++) {
		if (!went(t, lockq_refill(t->q, TASK, 0, &refilled)))
			break;
	}
	return NULL;
}

static void
many_handles(void **state)
{
	static void *(*const what[])(void *) = { work, work, go_on, look, look, refill, sweep };
	enum { THREADS = sizeof(what) / sizeof(what[0]) };
	static struct thread threads[THREADS];
	unsigned int given = 0;

	(void)state;
	add_loans(TASK, LOANS);
	set_task(TASK, "cache_ttl = 60, complete_hold = 3600");
	for (unsigned int i = 0; i < THREADS; i++) {
		threads[i].user_no = i;
		threads[i].where = what[i] == sweep ? where_is(OWNER_GROUP) : worker_where();
		assert_int_equal(pthread_create(&threads[i].thread, NULL, what[i], &threads[i]),
		    0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		if (threads[i].code != LOCKQ_OK)
			print_error("thread %u: %s\n", i, threads[i].error);
		assert_int_equal(threads[i].code, LOCKQ_OK);
		given += threads[i].given;
		lockq_free(threads[i].q);
	}
	assert_int_equal(given, 3 * 2 * ROUNDS);
	assert_int_equal(u64("SELECT COUNT(DISTINCT loan_id) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed'", TASK), given);
	assert_consistent(TASK);
}

/* Faults of the test itself, by the name in LOCKQ_FORGED, each of which its tool must notice. */
static int shared;

static void *
write_shared(void *data)
{
	(void)data;
	shared++;
	return NULL;
}

static void
race(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_shared, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void
forged(void **state)
{
	const char *what = getenv("LOCKQ_FORGED");
	char *volatile memory;

	(void)state;
	if (what == NULL)
		skip();
	memory = malloc(8);
	assert_non_null(memory);
	if (strcmp(what, "race") == 0)
		race();
	else if (strcmp(what, "unset") == 0 && memory[0] == 1)
		print_message("# it was 1\n");
	else if (strcmp(what, "beyond") == 0)
		memory[8] = 1;
	else if (strcmp(what, "leak") == 0)
		return;
	free(memory);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(many_handles),
		DB_TEST(forged),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("threads", tests, suite_setup, suite_teardown);
}
