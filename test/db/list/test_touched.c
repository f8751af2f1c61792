/* SPDX-License-Identifier: MIT */
/* Loans that an application has touched are offered before the others of a kept list. */
#include "support.h"

static void
touch(unsigned int loan)
{
	sql("INSERT INTO task_touched (task_id, loan_id) VALUES (%d, %u)", TASK, loan);
}

static uint64_t
touched(void)
{
	return u64("SELECT COUNT(*) FROM task_touched WHERE task_id = %d", TASK);
}

static uint64_t
runs(void)
{
	return u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d AND query_ms IS NOT NULL",
	    TASK);
}

/* The user asks for as many loans as are named, and gets these from the list. */
static void
assert_gets(unsigned int user_no, const uint64_t *loans, uint32_t n)
{
	struct worker *w = ask_now(user_no, TASK, n);

	assert_string_equal(w->error, "");
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_string_equal(w->answer.how, "list");
	assert_int_equal(w->answer.n_loans, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(w->answer.loans[i].loan_id, loans[i]);
	assert_consistent(TASK);
}
#define ASSERT_GETS(user_no, ...) assert_gets(user_no, (const uint64_t[]){ __VA_ARGS__ }, \
	sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* Makes a list of the loans 2 to 10; user 0 has the first one. */
static void
fill(void)
{
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 10);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	assert_int_equal(runs(), 1);
}

/* guard: a loan that was touched is given next. It is not in the list, since the query has not seen
 * it. */
static void
a_new_loan(void **state)
{
	(void)state;
	fill();
	add_loan(TASK, 50, 99);
	touch(50);
	touch(50);
	ASSERT_GETS(1, 50, 2);
	ASSERT_GETS(2, 3);
	assert_int_equal(runs(), 1);
}

/* guard: a loan of the list that was touched is in it once. */
static void
a_loan_of_the_list(void **state)
{
	(void)state;
	fill();
	touch(7);
	touch(5);
	ASSERT_GETS(1, 7, 5, 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE task_id = %d", TASK), 6);
	ASSERT_GETS(2, 3, 4, 6);
	touch(9);
	ASSERT_GETS(3, 9, 8, 10);
	assert_int_equal(runs(), 1);
}

/* guard: once the loans that were touched are taken, takers begin elsewhere again where the first
 * loans are locked, and don't all want the first one that is free. */
static void
those_that_come_after_it(void **state)
{
	struct worker *w = worker_new(2, TASK, 1, -1);
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 400);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	touch(7);
	ASSERT_GETS(1, 7);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT SUM(loan_id > 0) FROM kept_loan WHERE task_id = %d"
	    " AND position < 1000000 + 130 FOR UPDATE", TASK);
	for (unsigned int i = 0; i < 32; i++) {
		worker_start(w);
		worker_join(w);
		assert_int_equal(w->rc, LOCKQ_OK);
	}
	assert_true(u64("SELECT MAX(loan_id) FROM work WHERE task_id = %d", TASK) > 132 + 31);
	assert_int_equal(runs(), 1);
}

/* The view is asked about a loan that was touched, too. */
static void
one_that_does_not_match(void **state)
{
	(void)state;
	fill();
	touch(77);
	ASSERT_GETS(1, 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE loan_id = 77"), 0);
}

/* guard: where the view can't tell, no loan is given that was touched. */
static void
one_that_nobody_can_check(void **state)
{
	(void)state;
	set_task(TASK, "cache_ttl = 60, use_unchecked = TRUE");
	add_loans(TASK, 6);
	make_heavy(TASK, 1500);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	touch(77);
	touch(6);
	ASSERT_GETS(1, 2);
	ASSERT_GETS(2, 3, 4, 5, 6);
}

/* The same where the view could tell when the list was made, and can't any more. */
static void
one_that_nobody_can_check_any_more(void **state)
{
	(void)state;
	set_task(TASK, "use_unchecked = TRUE");
	fill();
	make_heavy(TASK, 1500);
	touch(77);
	ASSERT_GETS(1, 2);
}

/* guard: those that somebody has are not in the way of one that is free. */
static void
many_that_somebody_has(void **state)
{
	(void)state;
	fill();
	for (unsigned int loan = 101; loan <= 164; loan++) {
		add_work(TASK, loan, 3, "assigned", 1);
		touch(loan);
	}
	add_loan(TASK, 50, 99);
	touch(50);
	ASSERT_GETS(1, 50, 2);
	assert_int_equal(touched(), 65);
}

/* One that somebody has waits until it is available. Nobody has to look at it again and again. */
static void
one_that_somebody_has(void **state)
{
	(void)state;
	fill();
	touch(1);
	ASSERT_GETS(1, 2);
	assert_int_equal(touched(), 1);
	sql("UPDATE work SET state = 'returned', available_at = NOW(6), lease_expires_at = NULL,"
	    " due_at = NULL, version = version + 1 WHERE task_id = %d AND loan_id = 1", TASK);
	sql("INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	    " request_id, available_at, at) SELECT task_id, loan_id, 'returned', user_id, 'x',"
	    " token, version, request_id, available_at, NOW(6) FROM work WHERE task_id = %d"
	    " AND loan_id = 1", TASK);
	ASSERT_GETS(2, 1);
	ASSERT_GETS(3, 3);
}

/* guard: whoever takes does not wait for an application that has touched a loan and has not
 * committed. */
static void
an_application_that_is_not_done(void **state)
{
	struct db *application = connect_as(OWNER_GROUP);

	(void)state;
	fill();
	assert_int_equal(db_begin(application), DB_OK);
	sql_on(application, "INSERT INTO task_touched (task_id, loan_id) VALUES (%d, 8)", TASK);
	touch(9);
	ASSERT_GETS(1, 9);
	assert_int_equal(db_commit(application), DB_OK);
	ASSERT_GETS(2, 8);
}

/* guard: whoever takes does not wait for one who puts touched loans into the list, nor for one who
 * has a loan locked that was touched. */
static void
what_others_hold(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	fill();
	touch(8);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT head FROM kept_list WHERE task_id = %d FOR UPDATE", TASK);
	ASSERT_GETS(1, 2);
	db_rollback(other);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM kept_loan WHERE task_id = %d"
	    " AND position = 1000006 FOR UPDATE", TASK);
	ASSERT_GETS(1, 3);
	db_rollback(other);
	ASSERT_GETS(1, 8);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE loan_id = 8"), 0);
}

/* Starts a call that leads, and holds it after its query. */
static struct worker *
leader_beside_the_list(void)
{
	struct worker *w = worker_new(4, TASK, 1, -1);

	w->ask.fresh = 1;
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "AS r FORCE INDEX (work_requested_line)", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	return w;
}

/* guard: a touched loan is put before the next list, too, if its query began earlier. Somebody has
 * put it before the old list, and could not take it. */
static void
a_list_that_has_not_seen_it(void **state)
{
	struct worker *leader;

	(void)state;
	fill();
	leader = leader_beside_the_list();
	add_loan(TASK, 50, 99);
	touch(50);
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " VALUES (%d, %u, 50, NOW(6) + INTERVAL 1 HOUR)", TASK, user_id(1));
	assert_int_equal(ask_now(1, TASK, 1)->answer.loans[0].loan_id, 2);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(runs(), 2);
	ASSERT_GETS(2, 50);
}

/* The next list has seen it by itself, and has it where its priority says. */
static void
a_list_that_has_seen_it(void **state)
{
	struct worker *leader;

	(void)state;
	fill();
	touch(9);
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " VALUES (%d, %u, 9, NOW(6) + INTERVAL 1 HOUR)", TASK, user_id(1));
	ASSERT_GETS(1, 2);
	leader = leader_beside_the_list();
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->answer.loans[0].loan_id, 3);
	ASSERT_GETS(2, 4);
	assert_int_equal(touched(), 0);
}

/* What was touched and given is forgotten with the next list, though its query has not seen it. */
static void
one_that_was_given(void **state)
{
	struct worker *leader;

	(void)state;
	fill();
	leader = leader_beside_the_list();
	touch(9);
	ASSERT_GETS(1, 9);
	assert_int_equal(touched(), 1);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	ASSERT_GETS(2, 3);
	assert_int_equal(touched(), 0);
}

/* Cron takes away what nobody could put before a list for an hour, and for longer than
 * cache_ttl. */
static void
what_cron_ends(void **state)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired done = LOCKQ_EXPIRED_INIT;
	struct worker *w = worker_new(5, TASK, 1, 0);

	(void)state;
	touch(1);
	touch(2);
	sql("UPDATE task_touched SET touched_at = touched_at - INTERVAL 61 MINUTE"
	    " WHERE task_id = %d AND loan_id = 2", TASK);
	worker_connect(w);
	assert_int_equal(lockq_expire(w->q, &what, &done), LOCKQ_OK);
	assert_int_equal(touched(), 1);
	assert_int_equal(u64("SELECT loan_id FROM task_touched WHERE task_id = %d", TASK), 1);
}

/* An application touches loans, some of them twice, while many ask. No loan is given twice, and
 * nobody waits. */
static void
a_race(void **state)
{
	struct worker *w[USERS];

	(void)state;
	fill();
	add_loans(TASK, 300);
	sql("DELETE FROM kept_list WHERE task_id = %d", TASK);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	for (unsigned int round = 0; round < 5; round++) {
		for (unsigned int i = 0; i < USERS; i++) {
			w[i] = worker_new(i, TASK, 3, 20000);
			worker_start(w[i]);
			touch(300 - 9 * round - i);
			touch(300 - 9 * round - i / 2);
		}
		for (unsigned int i = 0; i < USERS; i++) {
			worker_join(w[i]);
			assert_int_equal(w[i]->rc, LOCKQ_OK);
			assert_int_equal(w[i]->answer.n_loans, 3);
		}
		workers_end();
	}
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND version = 1", TASK),
	    2 + 5 * 3 * USERS);
	assert_int_equal(rounds_of(TASK), 2);
	assert_true(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND loan_id > 250",
	    TASK) > 9);
	assert_consistent(TASK);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_new_loan),
		DB_TEST(a_loan_of_the_list),
		DB_TEST(those_that_come_after_it),
		DB_TEST(one_that_does_not_match),
		DB_TEST(one_that_nobody_can_check),
		DB_TEST(one_that_nobody_can_check_any_more),
		DB_TEST(many_that_somebody_has),
		DB_TEST(one_that_somebody_has),
		DB_TEST(an_application_that_is_not_done),
		DB_TEST(what_others_hold),
		DB_TEST(a_list_that_has_not_seen_it),
		DB_TEST(a_list_that_has_seen_it),
		DB_TEST(one_that_was_given),
		DB_TEST(what_cron_ends),
		DB_TEST(a_race),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("touched", tests, suite_setup, suite_teardown);
}
