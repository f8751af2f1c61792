/* SPDX-License-Identifier: MIT */
/* lockq_refill(): a list is filled anew behind people's backs. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { PROGRAMS = 8 };

static struct lockq_refilled refilled;

static uint64_t
runs(void)
{
	return u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d AND query_ms IS NOT NULL",
	    TASK);
}

/* A list of the loans 2 to 10; the first one was given. Its query began @age seconds ago. */
static void
fill(unsigned int age)
{
	struct worker *w;

	set_task(TASK, "cache_ttl = 60, refresh_after = 30");
	add_loans(TASK, 10);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	sql("UPDATE kept_list SET as_of = NOW(6) - INTERVAL %u SECOND WHERE task_id = %d", age,
	    TASK);
}

static int
refill(struct proxy *proxy, int only_due)
{
	struct worker *w = worker_new(5, TASK, 1, 0);

	w->proxy = proxy;
	worker_connect(w);
	w->rc = lockq_refill(w->q, TASK, only_due, &refilled);
	snprintf(w->error, sizeof(w->error), "%s", lockq_error(w->q));
	return w->rc;
}

static void
a_list_that_is_due(void **state)
{
	struct worker *w;

	(void)state;
	fill(31);
	add_loan(TASK, 50, 0);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	assert_int_equal(refilled.epoch, 2);
	assert_int_equal(refilled.loans, 10);
	assert_int_equal(refilled.requests, 0);
	assert_true(refilled.query_ms >= 0);
	assert_string_equal(refilled.as_of, text_of("SELECT as_of FROM kept_list WHERE task_id = %d"
	    " AND epoch = 2", TASK));
	assert_string_equal(text_of("SELECT user FROM leader_run WHERE task_id = %d AND epoch = 2",
	    TASK), "(refill)");
	w = ask_now(1, TASK, 2);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.loans[0].loan_id, 50);
	assert_int_equal(w->answer.loans[1].loan_id, 2);
	assert_int_equal(w->answer.epoch, 2);
	assert_int_equal(runs(), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE epoch = 1"), 0);
	assert_consistent(TASK);
}

static void
a_list_that_is_not_due(void **state)
{
	(void)state;
	fill(29);
	assert_int_equal(refill(NULL, 1), LOCKQ_NOTHING);
	assert_int_equal(runs(), 1);
	assert_int_equal(refill(NULL, 0), LOCKQ_OK);
	assert_int_equal(runs(), 2);
}

/* What is left lasts for less than two queries. Of 20 loans 15 were taken in 10 seconds, the query
 * takes 4. */
static void
a_list_that_will_not_last(void **state)
{
	(void)state;
	fill(10);
	sql("UPDATE kept_list SET length = 20, head = 5, query_ms = 4000 WHERE task_id = %d", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_NOTHING);
	sql("UPDATE kept_list SET taken_per_h = 3600 * 2 WHERE task_id = %d", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	sql("UPDATE kept_list SET length = 20, head = 15, query_ms = 4000, taken_per_h = 0,"
	    " as_of = NOW(6) - INTERVAL 10 SECOND WHERE task_id = %d", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	/* The next query begins no sooner after the last one's end than that one took. */
	sql("UPDATE kept_list SET length = 20, head = 15, query_ms = 4000, taken_per_h = 0,"
	    " as_of = NOW(6) - INTERVAL 7 SECOND WHERE task_id = %d", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_NOTHING);
}

/* A list is no longer than twice what is taken until the next one, but 1,000 at least. */
static void
how_long_it_gets(void **state)
{
	(void)state;
	set_task(TASK, "candidate_limit = 30000");
	fill(31);
	sql("INSERT INTO test_candidate (task_id, loan_id, priority)"
	    " SELECT %d, 100 + n, 9 FROM (SELECT ROW_NUMBER() OVER () AS n"
	    "   FROM information_schema.columns AS a JOIN information_schema.tables AS b"
	    "  LIMIT 25000) AS t", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	assert_int_equal(refilled.loans, 1000);
	assert_int_equal(u64("SELECT complete FROM kept_list WHERE task_id = %d ORDER BY epoch DESC"
	    " LIMIT 1", TASK), 0);
	/* 3,100 in 31 seconds, and the next list in 30. */
	sql("UPDATE kept_list SET head = 3100, as_of = NOW(6) - INTERVAL 31 SECOND"
	    " WHERE task_id = %d AND epoch = 2", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	assert_in_range(refilled.loans, 4000, 6100);
	sql("UPDATE kept_list SET head = 60000, as_of = NOW(6) - INTERVAL 31 SECOND"
	    " WHERE task_id = %d AND epoch = 3", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	assert_int_equal(refilled.loans, 20000);
}

/* guard: a task that nobody has asked for lately is not refilled. */
static void
nobody_asks(void **state)
{
	(void)state;
	fill(31);
	sql("UPDATE work_requested SET created_at = NOW(6) - INTERVAL 61 SECOND"
	    " WHERE task_id = %d", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_NOTHING);
	assert_int_equal(runs(), 1);
}

struct program {
	struct worker *w;
	pthread_t thread;
	struct lockq_refilled refilled;
};

static void *
run(void *data)
{
	struct program *p = data;

	p->w->rc = lockq_refill(p->w->q, TASK, 1, &p->refilled);
	return NULL;
}

/* Starts the program, and holds it at the first statement with the text. */
static void
hold_at(struct program *p, const char *text)
{
	p->w->proxy = proxy_new();
	proxy_hold(p->w->proxy, text, 1);
	worker_connect(p->w);
	assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
	proxy_until_held(p->w->proxy);
}

static void
release(struct program *p)
{
	proxy_release(p->w->proxy);
	assert_int_equal(pthread_join(p->thread, NULL), 0);
}

/* guard: whether a list is due is looked at again under the lock. This program has found it due,
 * and gets the lock when another one has filled it. */
static void
somebody_was_faster(void **state)
{
	struct program late = { .w = worker_new(5, TASK, 1, 0) };

	(void)state;
	fill(31);
	hold_at(&late, "SELECT l.holder");
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	release(&late);
	assert_int_equal(late.w->rc, LOCKQ_NOTHING);
	assert_int_equal(runs(), 2);
	assert_consistent(TASK);
}

/* Of many programs that find it due at once, one runs the query. */
static void
many_find_it_due(void **state)
{
	struct program p[PROGRAMS];
	int done = 0;

	(void)state;
	fill(31);
	for (int i = 0; i < PROGRAMS; i++) {
		p[i].w = worker_new(5, TASK, 1, 0);
		worker_connect(p[i].w);
		assert_int_equal(pthread_create(&p[i].thread, NULL, run, &p[i]), 0);
	}
	for (int i = 0; i < PROGRAMS; i++)
		assert_int_equal(pthread_join(p[i].thread, NULL), 0);
	for (int i = 0; i < PROGRAMS; i++) {
		assert_in_range(p[i].w->rc, LOCKQ_OK, LOCKQ_BUSY);
		done += p[i].w->rc == LOCKQ_OK;
	}
	assert_int_equal(done, 1);
	assert_int_equal(runs(), 2);
	assert_consistent(TASK);
}

/* Requests that are pending get their loans before the list. */
static void
the_line_comes_first(void **state)
{
	(void)state;
	fill(31);
	(void)add_request(TASK, 2, 2);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	assert_int_equal(refilled.requests, 1);
	assert_int_equal(refilled.loans, 7);
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_consistent(TASK);
}

/* guard: while filling the list fails, people are served from the old one, and are told. */
static void
one_that_fails(void **state)
{
	struct worker *w;

	(void)state;
	fill(31);
	set_task(TASK, "check_view = 'test_view_%d'", OTHER_TASK);
	set_view(OTHER_TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d",
	    TASK);
	set_view(TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d"
	    " UNION ALL SELECT NULL, NULL", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_EQUERY);
	assert_int_equal(u64("SELECT failures FROM task_refill WHERE task_id = %d", TASK), 1);
	w = ask_now(1, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_string_equal(w->answer.how, "list");
	assert_non_null(w->answer.refill_failed);
	assert_non_null(strstr(w->answer.refill_failed, "has a NULL loan_id"));
	set_view(TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	w = ask_now(1, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_null(w->answer.refill_failed);
	assert_int_equal(u64("SELECT failures FROM task_refill WHERE task_id = %d", TASK), 0);
}

/* guard: whoever leaves a new list, the failure of before does not count any more. The list runs
 * out while refills fail, the manager mends the view, and a getwork leads. */
static void
one_that_failed_before(void **state)
{
	(void)state;
	fill(31);
	set_view(TASK, "SELECT NULL AS loan_id, NULL AS priority");
	assert_int_equal(refill(NULL, 1), LOCKQ_EQUERY);
	set_view(TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d", TASK);
	sql("UPDATE kept_list SET as_of = as_of - INTERVAL 31 SECOND WHERE task_id = %d", TASK);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT failures = 0 AND reason IS NULL FROM task_refill"
	    " WHERE task_id = %d", TASK), 1);
}

/* guard: a refill that loses its connection has failed, too. */
static void
one_that_loses_its_connection(void **state)
{
	struct proxy *proxy = proxy_new();

	(void)state;
	fill(31);
	proxy_cut(proxy, "CALL list_begins", 1, CUT_BEFORE);
	assert_int_equal(refill(proxy, 1), LOCKQ_EDATABASE);
	assert_int_equal(u64("SELECT failures = 1 AND reason > '' FROM task_refill"
	    " WHERE task_id = %d", TASK), 1);
}

/* guard: whoever could not take once tries again while a refill leads, and does not wait for it.
 * The view can't tell the first time. */
static void
nobody_waits_for_it(void **state)
{
	struct program p = { .w = worker_new(5, TASK, 1, 0) };
	struct worker *w = worker_new(1, TASK, 1, 8000);

	(void)state;
	fill(31);
	hold_at(&p, ASK_VIEW);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, ASK_VIEW, 1, 1, 3024);
	worker_start(w);
	worker_join(w);
	release(&p);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_string_equal(w->answer.how, "list");
	assert_int_equal(p.w->rc, LOCKQ_OK);
	assert_int_equal(runs(), 2);
	assert_consistent(TASK);
}

/* guard: a task that never had a list gets its first one from whoever looks for those that are
 * due. */
static void
the_first_list(void **state)
{
	struct worker *w = worker_new(5, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 10);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	set_task(TASK, "cache_ttl = 60");
	worker_connect(w);
	assert_int_equal(lockq_refill_due(w->q, TASK), 1);
	assert_int_equal(lockq_refill_due(w->q, TASK), 0);
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	assert_int_equal(refilled.loans, 9);
}

/* Where nobody could take from a list, none is kept, and the refill says so. */
static void
one_that_nobody_could_take_from(void **state)
{
	struct worker *w = worker_new(5, TASK, 1, 0);

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 10);
	make_heavy(TASK, 1500);
	worker_connect(w);
	assert_int_equal(lockq_refill(w->q, TASK, 0, &refilled), LOCKQ_EQUERY);
	assert_non_null(strstr(lockq_error(w->q), "can't tell in 250 ms whether some loans match"
	    ": so no list is kept: name a check_view"));
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_list WHERE task_id = %d", TASK), 0);
}

/* guard: a list is written in the lock's transaction. The refill loses its lock before its COMMIT,
 * and goes on when another one has filled the list under the same epoch. */
static void
one_that_loses_the_lock(void **state)
{
	struct program p = { .w = worker_new(5, TASK, 1, 0) };
	struct worker *w;
	uint64_t written;
	int rc;

	(void)state;
	fill(31);
	hold_at(&p, "SET holder = NULL");
	proxy_drop(p.w->proxy);
	until_free(TASK);
	written = u64("SELECT COUNT(*) FROM kept_loan WHERE task_id = %d AND epoch <> 1", TASK);
	sql("DELETE FROM test_candidate WHERE task_id = %d AND loan_id IN (2, 3)", TASK);
	rc = refill(NULL, 0);
	release(&p);
	assert_int_equal(written, 0);
	assert_int_equal(rc, LOCKQ_OK);
	assert_int_equal(refilled.epoch, 2);
	assert_int_equal(p.w->rc, LOCKQ_EDATABASE);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE task_id = %d", TASK), 7);
	w = ask_now(1, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.epoch, 2);
	assert_int_equal(w->answer.loans[0].loan_id, 4);
	assert_consistent(TASK);
}

/* guard: a refill whose COMMIT is in doubt cleans nothing, and does not count as failed. */
static void
one_whose_commit_is_in_doubt(void **state)
{
	(void)state;
	for (unsigned int after = 0; after <= 1; after++) {
		struct proxy *proxy = proxy_new();
		struct worker *w;

		clear_fixture();
		make_task(TASK);
		fill(31);
		proxy_cut(proxy, "=COMMIT", 1, after ? CUT_AFTER : CUT_BEFORE);
		assert_int_equal(refill(proxy, 1), LOCKQ_EUNKNOWN);
		until_free(TASK);
		assert_int_equal(u64("SELECT SUM(failures) FROM task_refill WHERE task_id = %d",
		    TASK), 0);
		w = ask_now(1, TASK, 1);
		assert_int_equal(w->rc, LOCKQ_OK);
		assert_string_equal(w->answer.how, "list");
		assert_int_equal(w->answer.epoch, 1 + after);
		assert_consistent(TASK);
	}
}

/* guard: where a forgotten session has the lock, nobody fills the list, and people are told. */
static void
nobody_leads(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *w;

	(void)state;
	fill(31);
	set_task(TASK, "cache_ttl = 3600");
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT epoch FROM task_lock WHERE task_id = %d FOR UPDATE", TASK);
	assert_int_equal(refill(NULL, 1), LOCKQ_BUSY);
	assert_int_equal(u64("SELECT SUM(failures) FROM task_refill WHERE task_id = %d", TASK), 0);
	w = ask_now(1, TASK, 1);
	assert_string_equal(w->answer.how, "list");
	assert_non_null(w->answer.refill_failed);
	assert_non_null(strstr(w->answer.refill_failed, "nobody leads it"));
	db_rollback(other);
}

/* guard: taking away an old list waits for nobody who has a row of it. guard: nor does a leader
 * that writes a list wait for who reads when it is due. */
static void
old_rows_that_are_held(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	uint64_t waits;

	(void)state;
	fill(31);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT COUNT(position) FROM kept_loan WHERE task_id = %d"
	    " AND loan_id = 5 FOR UPDATE", TASK);
	sql("UPDATE task_refill SET failures = 1 WHERE task_id = %d", TASK);
	(void)u64_on(other, "SELECT failures FROM task_refill WHERE task_id = %d FOR SHARE", TASK);
	waits = lock_waits();
	assert_int_equal(refill(NULL, 1), LOCKQ_OK);
	assert_int_equal(lock_waits(), waits);
	db_rollback(other);
	assert_in_range(u64("SELECT COUNT(*) FROM kept_loan WHERE task_id = %d AND epoch = 1",
	    TASK), 1, 9);
}

/* guard: of many programs that take from a list which is due, one is told to fill it. */
static void
one_of_many_is_told(void **state)
{
	struct worker *w[3];
	int told = 0;

	(void)state;
	fill(31);
	for (unsigned int i = 0; i < 3; i++) {
		w[i] = ask_now(i + 1, TASK, 1);
		assert_int_equal(w[i]->rc, LOCKQ_OK);
	}
	for (unsigned int i = 0; i < 3; i++)
		told += lockq_refill_due(w[i]->q, 0);
	assert_int_equal(told, 1);
	assert_int_equal(lockq_refill_due(w[0]->q, 0), 0);
	sql("UPDATE task_refill SET tried_at = NOW(6) - INTERVAL 11 SECOND WHERE task_id = %d",
	    TASK);
	w[0] = ask_now(4, TASK, 1);
	assert_int_equal(lockq_refill_due(w[0]->q, 0), 1);
	/* After two failures the pause is four times as long. */
	sql("UPDATE task_refill SET tried_at = NOW(6) - INTERVAL 39 SECOND, failures = 2"
	    " WHERE task_id = %d", TASK);
	w[0] = ask_now(4, TASK, 1);
	assert_int_equal(lockq_refill_due(w[0]->q, 0), 0);
}

/* guard: a call that took nothing from a list says of none that it is due. This one makes a new
 * list itself; a process beside it would find nothing to do, and the next one would be too soon. */
static void
a_list_that_is_too_old(void **state)
{
	struct worker *w;

	(void)state;
	fill(61);
	w = ask_now(1, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(runs(), 2);
	assert_int_equal(lockq_refill_due(w->q, 0), 0);
	sql("UPDATE kept_list SET as_of = as_of - INTERVAL 31 SECOND WHERE task_id = %d", TASK);
	w = ask_now(2, TASK, 1);
	assert_string_equal(w->answer.how, "list");
	assert_int_equal(lockq_refill_due(w->q, 0), 1);
}

static void
which_are_due(void **state)
{
	struct lockq_due due = LOCKQ_DUE_INIT;
	struct worker *w = worker_new(5, TASK, 1, 0);

	(void)state;
	worker_connect(w);
	fill(29);
	assert_int_equal(lockq_due(w->q, &due), LOCKQ_NOTHING);
	sql("UPDATE kept_list SET as_of = NOW(6) - INTERVAL 31 SECOND WHERE task_id = %d", TASK);
	assert_int_equal(lockq_due(w->q, &due), LOCKQ_OK);
	assert_int_equal(due.n_tasks, 1);
	assert_int_equal(due.tasks[0], TASK);
	assert_int_equal(lockq_refill_due(w->q, TASK), 1);
	assert_int_equal(lockq_refill_due(w->q, TASK), 0);
	lockq_due_clear(&due);
	assert_null(due.tasks);
}

static void
refusals(void **state)
{
	struct worker *w = worker_new(5, TASK, 1, 0);

	(void)state;
	assert_int_equal(refill(NULL, 0), LOCKQ_EREFUSED);
	set_task(TASK, "cache_ttl = 60, enabled = FALSE");
	assert_int_equal(refill(NULL, 0), LOCKQ_EREFUSED);
	worker_connect(w);
	assert_int_equal(lockq_refill(w->q, 999999, 0, &refilled), LOCKQ_EREFUSED);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_list_that_is_due),
		DB_TEST(a_list_that_is_not_due),
		DB_TEST(a_list_that_will_not_last),
		DB_TEST(how_long_it_gets),
		DB_TEST(nobody_asks),
		DB_TEST(somebody_was_faster),
		DB_TEST(many_find_it_due),
		DB_TEST(the_line_comes_first),
		DB_TEST(one_that_fails),
		DB_TEST(one_that_nobody_could_take_from),
		DB_TEST(one_that_loses_the_lock),
		DB_TEST(one_whose_commit_is_in_doubt),
		DB_TEST(nobody_leads),
		DB_TEST(old_rows_that_are_held),
		DB_TEST(one_of_many_is_told),
		DB_TEST(a_list_that_is_too_old),
		DB_TEST(one_that_failed_before),
		DB_TEST(one_that_loses_its_connection),
		DB_TEST(nobody_waits_for_it),
		DB_TEST(the_first_list),
		DB_TEST(which_are_due),
		DB_TEST(refusals),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("refill", tests, suite_setup, suite_teardown);
}
