/* SPDX-License-Identifier: MIT */
/* Urgent loans are given before all others, from a kept list and without one. */
#include "support.h"

static void
urge(unsigned int loan)
{
	sql("INSERT INTO task_touched (task_id, loan_id, urgent) VALUES (%d, %u, TRUE)", TASK,
	    loan);
}

static uint64_t
touched(void)
{
	return u64("SELECT COUNT(*) FROM task_touched WHERE task_id = %d", TASK);
}

/* The user may not have the loan, so whoever asks for the user puts it first and leaves it. */
static void
exclude(unsigned int user_no, unsigned int loan)
{
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " VALUES (%d, %u, %u, NOW(6) + INTERVAL 1 HOUR)", TASK, user_id(user_no), loan);
}

/* The user returns the loan at once. */
static void
give_back(unsigned int user_no, unsigned int loan)
{
	sql("INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	    " request_id, available_at, at) SELECT task_id, loan_id, 'returned', user_id, 'x',"
	    " token, version + 1, request_id, NOW(6), NOW(6) FROM work WHERE task_id = %d"
	    " AND loan_id = %u AND user_id = %u", TASK, loan, user_id(user_no));
	sql("CALL work_moves(%d, '[[%u]]')", TASK, loan);
}

/* A manager says that the loan is urgent, or is not any more. */
static enum lockq_disposed
correct(enum lockq_correction_kind kind, uint64_t loan)
{
	const struct lockq_loan_ref ref = { loan, 0 };
	struct lockq_correction what = LOCKQ_CORRECTION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	enum lockq_disposed became;
	struct lockq *q = handle_of_owner();

	what.manager = "marcus";
	what.task = TASK;
	what.kind = kind;
	what.reason = kind == LOCKQ_URGENT ? "the customer waits" : NULL;
	what.loans = &ref;
	what.n_loans = 1;
	(void)!lockq_correct(q, &what, &result);
	assert_int_equal(result.n_loans, 1);
	became = result.loans[0].what;
	lockq_disposed_clear(&result);
	lockq_free(q);
	return became;
}

static void
assert_gets(unsigned int user_no, const char *how, const uint64_t *loans, uint32_t n)
{
	struct worker *w = ask_now(user_no, TASK, n);

	assert_string_equal(w->error, "");
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_string_equal(w->answer.how, how);
	assert_int_equal(w->answer.n_loans, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(w->answer.loans[i].loan_id, loans[i]);
	assert_consistent(TASK);
}
#define ASSERT_GETS(user_no, how, ...) assert_gets(user_no, how, (const uint64_t[]){ \
	__VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* Makes a list of the loans 2 to 10; user 0 has the first one. */
static void
fill(void)
{
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 10);
	ASSERT_GETS(0, "query", 1);
}

/* guard: a leader gives urgent loans first, in the order of the view. */
static void
without_a_list(void **state)
{
	(void)state;
	add_loans(TASK, 10);
	urge(9);
	urge(77);
	urge(6);
	urge(9);
	ASSERT_GETS(1, "query", 6, 9, 1);
	ASSERT_GETS(2, "query", 2);
}

/* guard: an urgent loan that LIMIT has cut off is given, too. */
static void
behind_the_limit(void **state)
{
	(void)state;
	set_task(TASK, "candidate_limit = 20");
	add_loans(TASK, 300);
	urge(250);
	urge(7);
	urge(240);
	urge(777);
	ASSERT_GETS(1, "query", 7, 240, 250, 1);
	/* A short list is cut, too. */
	set_task(TASK, "candidate_limit = 10000");
	add_round(TASK, "query", 1);
	urge(260);
	ASSERT_GETS(1, "query", 260, 2);
}

/* Where the view can't tell in time, the list stays as it is. */
static void
behind_the_limit_of_a_heavy_view(void **state)
{
	(void)state;
	set_task(TASK, "candidate_limit = 20");
	add_loans(TASK, 300);
	make_heavy(TASK, 400);
	urge(250);
	urge(7);
	ASSERT_GETS(1, "query", 7, 1);
}

/* guard: an urgent loan was given once, and then comes in its turn. */
static void
until_it_was_given(void **state)
{
	(void)state;
	add_loans(TASK, 10);
	urge(9);
	ASSERT_GETS(1, "query", 9);
	give_back(1, 9);
	ASSERT_GETS(2, "query", 1);
	urge(9);
	ASSERT_GETS(3, "query", 9);
}

/* guard: in a kept list urgent loans come before the others that were touched, and before the
 * first one; in the order of the list, and those that it does not have after these. */
static void
before_a_list(void **state)
{
	(void)state;
	fill();
	sql("INSERT INTO task_touched (task_id, loan_id) VALUES (%d, 8)", TASK);
	ASSERT_GETS(1, "list", 8);
	sql("INSERT INTO task_touched (task_id, loan_id) VALUES (%d, 10)", TASK);
	add_loan(TASK, 50, 99);
	urge(50);
	urge(7);
	urge(5);
	ASSERT_GETS(2, "list", 5, 7, 50, 10, 2);
	urge(9);
	ASSERT_GETS(3, "list", 9, 3);
	assert_int_equal(rounds_of(TASK), 1);
}

/* A loan that was touched, and put before the list, becomes urgent. */
static void
one_that_was_touched(void **state)
{
	(void)state;
	fill();
	exclude(1, 9);
	sql("INSERT INTO task_touched (task_id, loan_id) VALUES (%d, 9), (%d, 8)", TASK, TASK);
	exclude(1, 8);
	ASSERT_GETS(1, "list", 2);
	urge(8);
	ASSERT_GETS(2, "list", 8, 9);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE task_id = %d", TASK), 6);
}

/* guard: each new list has an urgent loan first, until it was given. */
static void
before_each_list(void **state)
{
	struct worker *leader = worker_new(4, TASK, 1, -1);

	(void)state;
	fill();
	urge(9);
	exclude(1, 9);
	exclude(4, 9);
	ASSERT_GETS(1, "list", 2);
	leader->ask.fresh = 1;
	worker_start(leader);
	worker_join(leader);
	assert_int_equal(leader->answer.loans[0].loan_id, 3);
	ASSERT_GETS(1, "list", 4);
	assert_int_equal(u64("SELECT position FROM kept_loan WHERE task_id = %d AND loan_id = 9"
	    " ORDER BY epoch DESC LIMIT 1", TASK), 0);
	ASSERT_GETS(2, "list", 9, 5);
	assert_int_equal(rounds_of(TASK), 2);
}

/* One that somebody has waits until it is available, and longer than one that was only touched. */
static void
one_that_somebody_has(void **state)
{
	(void)state;
	fill();
	urge(1);
	ASSERT_GETS(1, "list", 2);
	give_back(0, 1);
	ASSERT_GETS(2, "list", 1);
	give_back(2, 1);
	ASSERT_GETS(3, "list", 3);
}

/* guard: a loan that is not urgent any more does not come first, and is not lost. */
static void
one_that_is_withdrawn(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	fill();
	assert_int_equal(correct(LOCKQ_URGENT, 9), LOCKQ_DISPOSED);
	assert_int_equal(correct(LOCKQ_URGENT, 9), LOCKQ_DISPOSED_ALREADY);
	exclude(1, 9);
	ASSERT_GETS(1, "list", 2);
	assert_int_equal(correct(LOCKQ_NOT_URGENT, 9), LOCKQ_DISPOSED);
	assert_int_equal(correct(LOCKQ_NOT_URGENT, 9), LOCKQ_DISPOSED_ALREADY);
	ASSERT_GETS(2, "list", 3);
	/* One that somebody is about to give stays where it is. */
	assert_int_equal(correct(LOCKQ_URGENT, 8), LOCKQ_DISPOSED);
	exclude(1, 8);
	ASSERT_GETS(1, "list", 4);
	assert_int_equal(db_begin(other), DB_OK);
	assert_int_equal(u64_on(other, "SELECT loan_id FROM kept_loan WHERE task_id = %d"
	    " AND position = 1 FOR UPDATE", TASK), 8);
	assert_int_equal(correct(LOCKQ_NOT_URGENT, 8), LOCKQ_DISPOSED);
	db_rollback(other);
	ASSERT_GETS(3, "list", 8, 5, 6, 7, 10, 9);
	assert_int_equal(rounds_of(TASK), 1);
}

/* guard: a list of an earlier schema has touched loans where the urgent ones go. */
static void
a_list_of_before(void **state)
{
	(void)state;
	fill();
	sql("UPDATE kept_loan SET position = 0 WHERE task_id = %d AND loan_id = 9", TASK);
	sql("UPDATE kept_list SET touched = 1 WHERE task_id = %d", TASK);
	urge(8);
	sql("INSERT INTO task_touched (task_id, loan_id) VALUES (%d, 10)", TASK);
	ASSERT_GETS(1, "list", 9, 8, 10, 2);
	urge(7);
	ASSERT_GETS(2, "list", 7, 3);
}

/* guard: cron leaves urgent loans for 7 days, and takes away those that were given. */
static void
what_cron_ends(void **state)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired done = LOCKQ_EXPIRED_INIT;
	struct worker *w = worker_new(5, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 10);
	urge(1);
	urge(2);
	urge(3);
	ASSERT_GETS(1, "query", 1);
	sql("UPDATE task_touched SET touched_at = touched_at - INTERVAL IF(loan_id = 2, 6, 8) DAY"
	    " WHERE task_id = %d AND loan_id > 1", TASK);
	worker_connect(w);
	assert_int_equal(lockq_expire(w->q, &what, &done), LOCKQ_OK);
	assert_int_equal(touched(), 1);
	assert_int_equal(u64("SELECT loan_id FROM task_touched WHERE task_id = %d", TASK), 2);
	ASSERT_GETS(2, "query", 2, 3);
}

/* Loans become urgent while many ask. No loan is given twice, nobody waits for another query, and
 * all urgent loans are given. */
static void
a_race(void **state)
{
	struct worker *w[USERS];

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 300);
	ASSERT_GETS(0, "query", 1);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < USERS; i++) {
			w[i] = worker_new(i, TASK, 3, 20000);
			worker_start(w[i]);
			urge(300 - USERS * round - i);
			urge(300 - USERS * round - i / 2);
		}
		for (unsigned int i = 0; i < USERS; i++) {
			worker_join(w[i]);
			assert_int_equal(w[i]->rc, LOCKQ_OK);
			assert_int_equal(w[i]->answer.n_loans, 3);
		}
		workers_end();
	}
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(ask_now(i, TASK, 3)->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND version = 1", TASK),
	    1 + 3 * 3 * USERS + 9);
	assert_int_equal(rounds_of(TASK), 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND loan_id > %d", TASK,
	    300 - 3 * USERS), 3 * USERS);
	assert_consistent(TASK);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(without_a_list),
		DB_TEST(behind_the_limit),
		DB_TEST(behind_the_limit_of_a_heavy_view),
		DB_TEST(until_it_was_given),
		DB_TEST(before_a_list),
		DB_TEST(one_that_was_touched),
		DB_TEST(before_each_list),
		DB_TEST(one_that_somebody_has),
		DB_TEST(one_that_is_withdrawn),
		DB_TEST(a_list_of_before),
		DB_TEST(what_cron_ends),
		DB_TEST(a_race),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("urgent", tests, suite_setup, suite_teardown);
}
