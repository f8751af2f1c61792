/* SPDX-License-Identifier: MIT */
/* While a taker, a refill or a leader is stopped at a statement, others take from the kept list and
 * wait for nothing. No statement of theirs waits for a row lock, no query runs, and they have their
 * loans while the process is still stopped. How long they took is printed, and not judged. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "support.h"

enum { LOANS = 60, STATEMENTS = 80 };
enum who { TAKER, REFILL, LEADER };

/* How often those who take have led. The process that is stopped may just commit its round. */
static uint64_t
runs(void)
{
	return u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d AND user IN ('%s', '%s')",
	    TASK, user(1), user(2));
}

/* A list, and a loan that an application has touched: the next one who takes puts it first. */
static void
fill(void)
{
	start_again();
	set_task(TASK, "cache_ttl = 600, max_pipeline = 50");
	add_loans(TASK, LOANS);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	sql("INSERT INTO task_touched (task_id, loan_id) VALUES (%d, %d)", TASK, LOANS);
}

/* Takes as getwork does, which then looks whether it is to fill the list. */
static uint64_t
take(unsigned int user_no)
{
	struct worker *w = ask_now(user_no, TASK, 2);

	(void)lockq_refill_due(w->q, TASK);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_string_equal(w->answer.how, "list");
	assert_int_equal(w->answer.n_loans, 2);
	return w->ms;
}

/* Two others take, while @pid is stopped. Returns how long the slower one took. */
static uint64_t
others_take(int pid)
{
	uint64_t rounds = runs(), waits = lock_waits();
	uint64_t first = take(1), second = take(2);

	assert_false(worker_has_exited(pid));
	assert_int_equal(runs(), rounds);
	assert_int_equal(lock_waits(), waits);
	return first > second ? first : second;
}

/* Starts the process and stops it at its statement @nth. Returns false if it has fewer. */
static bool
stop_at(struct worker *w, enum who who, unsigned int nth)
{
	w->proxy = proxy_new();
	w->refills = who == REFILL;
	w->ask.fresh = who == LEADER;
	proxy_hold(w->proxy, "", nth);
	(void)worker_fork(w);
	while (!proxy_is_holding(w->proxy) && !worker_has_exited(w->pid))
		db_sleep_ms(1);
	if (!proxy_is_holding(w->proxy))
		return false;
	assert_int_equal(kill(w->pid, SIGSTOP), 0);
	assert_true(worker_until_stopped(w->pid));
	return true;
}

/* Stops it at each of its statements, before the server gets the statement or as it gets it. */
static void
at_every_statement(enum who who, unsigned int least)
{
	uint64_t usual, slowest = 0;
	bool held = true;
	unsigned int nth = 0;

	fill();
	usual = take(1);
	while (held) {
		struct worker *w;

		assert_true(++nth < STATEMENTS);
		fill();
		/* Whoever leaves a list takes this back. */
		sql("UPDATE task_refill SET failures = 1 WHERE task_id = %d", TASK);
		w = worker_new(3, TASK, 2, -1);
		held = stop_at(w, who, nth);
		if (held) {
			uint64_t ms;

			if (nth % 2 == 0)
				proxy_release(w->proxy);
			ms = others_take(w->pid);
			slowest = ms > slowest ? ms : slowest;
			assert_int_equal(kill(w->pid, SIGCONT), 0);
			proxy_release(w->proxy);
		}
		assert_int_equal(worker_reap(w->pid), LOCKQ_OK);
		assert_consistent(TASK);
	}
	assert_true(nth > least);
	printf("# stopped at %u statements: a take beside it took %" PRIu64 " ms at most,"
	    " without it %" PRIu64 " ms\n", nth - 1, slowest, usual);
}

static void
a_taker_is_stopped(void **state)
{
	(void)state;
	at_every_statement(TAKER, 6);
}

static void
a_refill_is_stopped(void **state)
{
	(void)state;
	at_every_statement(REFILL, 20);
}

static void
a_leader_is_stopped(void **state)
{
	(void)state;
	at_every_statement(LEADER, 20);
}

/* Each refill is killed, at one statement after the other. The list is used until it is empty. */
static void
each_refill_is_killed(void **state)
{
	(void)state;
	fill();
	for (unsigned int nth = 4; nth <= 20; nth++) {
		struct worker *w = worker_new(3, TASK, 1, -1);
		uint64_t waits;

		assert_true(stop_at(w, REFILL, nth));
		assert_int_equal(kill(w->pid, SIGKILL), 0);
		(void)worker_reap(w->pid);
		proxy_drop(w->proxy);
		proxy_until_left(w->proxy);
		waits = lock_waits();
		(void)take(nth % 2 + 1);
		assert_int_equal(lock_waits(), waits);
	}
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_list WHERE task_id = %d", TASK), 1);
	assert_consistent(TASK);
}

/* Each refill fails. Everybody is served from the old list, and told, until cache_ttl. */
static void
each_refill_fails(void **state)
{
	struct lockq_refilled refilled;
	struct worker *w;

	(void)state;
	fill();
	set_task(TASK, "refresh_after = 100, check_view = 'test_view_%d'", OTHER_TASK);
	set_view(OTHER_TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d",
	    TASK);
	set_view(TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d"
	    " UNION ALL SELECT NULL, NULL", TASK);
	for (unsigned int age = 101; age < 600; age += 166) {
		sql("UPDATE kept_list SET as_of = NOW(6) - INTERVAL %u SECOND WHERE task_id = %d",
		    age, TASK);
		w = worker_new(3, TASK, 1, 0);
		worker_connect(w);
		assert_int_equal(lockq_refill(w->q, TASK, 1, &refilled), LOCKQ_EQUERY);
		for (unsigned int user_no = 1; user_no <= 2; user_no++) {
			w = ask_now(user_no, TASK, 2);
			assert_int_equal(w->rc, LOCKQ_OK);
			assert_string_equal(w->answer.how, "list");
			assert_non_null(w->answer.refill_failed);
		}
	}
	sql("UPDATE kept_list SET as_of = NOW(6) - INTERVAL 601 SECOND WHERE task_id = %d", TASK);
	assert_int_equal(ask_now(1, TASK, 2)->rc, LOCKQ_EQUERY);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_taker_is_stopped),
		DB_TEST(a_refill_is_stopped),
		DB_TEST(a_leader_is_stopped),
		DB_TEST(each_refill_is_killed),
		DB_TEST(each_refill_fails),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("stopped", tests, suite_setup, suite_teardown);
}
