/* SPDX-License-Identifier: MIT */
/* Step 4: after a light query a leader asks for a short list. Nobody notices, but by the time. */
#include <inttypes.h>

#include "support.h"

/* Of a task with a max_count of 10. */
enum { SHORT = 2 * 10 + 64 };

/* User 0 asks for ten loans, and the query finds @n. */
static void
expect_a_list_of(unsigned int n)
{
	assert_int_equal(ask_now(0, TASK, 10)->answer.n_loans, 10);
	assert_int_equal(u64("SELECT candidates FROM leader_run WHERE task_id = %d"
	    " AND how = 'query' ORDER BY epoch DESC LIMIT 1", TASK), n);
}

/* guard: only if the last query took less than 100 ms, a leader asks for a short list.
 * guard: a query that failed says nothing of the next one. */
static void
after_a_light_query(void **state)
{
	(void)state;
	add_loans(TASK, 300);
	expect_a_list_of(300);
	add_round(TASK, "query", 99);
	add_round(TASK, "query", 100);
	expect_a_list_of(290);
	add_round(TASK, "failed", 0);
	add_round(TASK, "query", 100);
	add_round(TASK, "failed", 0);
	expect_a_list_of(280);
	add_round(TASK, "query", 99);
	add_round(TASK, "hand-over", -1);
	expect_a_list_of(SHORT);
}

/* guard: a list that will be kept is a long one. */
static void
what_is_kept_is_long(void **state)
{
	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 300);
	add_round(TASK, "query", 1);
	expect_a_list_of(300);
}

/* guard: no list is longer than candidate_limit.
 * guard: a list that candidate_limit cuts is no short one. A request that can't be served from it
 * does not stop the requests after it. */
static void
within_the_limit(void **state)
{
	(void)state;
	set_task(TASK, "candidate_limit = 20");
	add_loans(TASK, 40);
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " SELECT %d, %u, loan_id, NOW(6) + INTERVAL 1 HOUR FROM test_candidate"
	    "  WHERE task_id = %d AND loan_id <= 30", TASK, user_id(1), TASK);
	(void)add_request(TASK, 1, 5);
	add_round(TASK, "query", 1);
	expect_a_list_of(20);
	assert_string_equal(outcome_of(TASK, 1), "pending");
}

/* guard: a short list is longer by the loans that are excluded for its leader's user. */
static void
what_is_excluded_is_added(void **state)
{
	(void)state;
	add_loans(TASK, 300);
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " SELECT %d, %u, loan_id, NOW(6) + INTERVAL 1 HOUR FROM test_candidate"
	    "  WHERE task_id = %d AND loan_id <= 100", TASK, user_id(0), TASK);
	add_round(TASK, "query", 1);
	expect_a_list_of(SHORT + 100);
	assert_int_equal(rounds_of(TASK), 2);
}

/* guard: a short list that has all loans of the view is as good as a long one. */
static void
it_may_have_all(void **state)
{
	static const enum lockq_status statuses[] = { LOCKQ_PARTIAL, LOCKQ_EMPTY };

	(void)state;
	add_loans(TASK, 3);
	for (size_t i = 0; i < 2; i++) {
		struct worker *w = worker_new(0, TASK, 5, 0);

		add_round(TASK, "query", 1);
		w->proxy = proxy_new();
		worker_start(w);
		worker_join(w);
		assert_int_equal(w->answer.status, statuses[i]);
		assert_int_equal(proxy_count(w->proxy, QUERY), 1);
	}
}

/* guard: a short list that is not enough for all pending requests is not given from. The same call
 * asks for a long one. 30 users ask while the query runs. */
static void
more_ask_than_it_has_for(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 300);
	add_round(TASK, "query", 1);
	leader = leader_after_its_query(0, 1);
	many_ask_for_five();
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_true(leader->answer.led);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND outcome = 'served' AND assigned = asked AND epoch = 2", TASK), 31);
	assert_int_equal(proxy_count(leader->proxy, QUERY), 2);
	assert_int_equal(rounds_of(TASK), 2);
	forget_the_many();
}

/* guard: after a short list the same call asks for a long one, also if it does not wait. Another
 * session holds all loans of the short list. */
static void
others_hold_all_of_it(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *w;

	(void)state;
	add_loans(TASK, 300);
	add_round(TASK, "query", 1);
	for (unsigned int loan = 1; loan <= 100; loan++)
		add_work(TASK, loan, 1, "completed", 2);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT COUNT(*) FROM (SELECT loan_id FROM work WHERE task_id = %d"
	    " AND loan_id <= 100 FOR UPDATE) AS held", TASK);
	w = ask_now(0, TASK, 1);
	db_rollback(other);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_true(w->answer.led);
	assert_int_equal(w->answer.loans[0].loan_id, 101);
}

/* guard: from what is left of a short list no request gets a part of what it asked for. The call
 * asks for five loans while the leader commits, and four are left. */
static void
it_hands_no_part_over(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 300);
	add_round(TASK, "query", 1);
	leader = leader_after_its_query(0, 1);
	(void)add_request(TASK, 1, SHORT - 5);
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	proxy_release(leader->proxy);
	proxy_until_held(leader->proxy);
	assert_int_equal(ask_now(2, TASK, 5)->rc, LOCKQ_BUSY);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_string_equal(outcome_of(TASK, 2), "pending");
	assert_int_equal(ask_now(2, TASK, 5)->answer.n_loans, 5);
}

/* guard: where a view shows its loans so often that a short list is too short, a long list comes
 * next, and not the statement that reads all of the view. */
static void
a_view_that_repeats_its_loans(void **state)
{
	(void)state;
	for (unsigned int loan = 1; loan <= 20; loan++) {
		for (unsigned int again = 0; again < 12; again++)
			add_loan(TASK, loan, loan);
	}
	add_round(TASK, "query", 1);
	assert_int_equal(ask_now(0, TASK, 10)->answer.n_loans, 10);
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d"
	    " AND reason LIKE '%%view_repeats%%'", TASK), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(after_a_light_query),
		DB_TEST(what_is_kept_is_long),
		DB_TEST(within_the_limit),
		DB_TEST(what_is_excluded_is_added),
		DB_TEST(it_may_have_all),
		DB_TEST(more_ask_than_it_has_for),
		DB_TEST(others_hold_all_of_it),
		DB_TEST(it_hands_no_part_over),
		DB_TEST(a_view_that_repeats_its_loans),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("short list", tests, suite_setup, suite_teardown);
}
