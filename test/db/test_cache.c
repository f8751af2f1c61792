/* SPDX-License-Identifier: MIT */
/* Step 4 without a query: a leader gives from the list that an earlier query left. */
#include <inttypes.h>
#include <string.h>

#include "support.h"

static uint64_t
runs(const char *how)
{
	return u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d AND how = '%s'", TASK, how);
}

static uint64_t
kept(void)
{
	return u64("SELECT COUNT(*) FROM task_candidate WHERE task_id = %d", TASK);
}

/* Makes a leader whose query finds @loans loans. The leader gets the first loan, and the rest is
 * kept. */
static void
fill(unsigned int loans)
{
	struct worker *w;

	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, loans);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.loans[0].loan_id, 1);
	assert_int_equal(runs("query"), 1);
	assert_int_equal(kept(), loans - 1);
}

static void
assert_got(unsigned int user_no, const uint64_t *loans, uint32_t n)
{
	struct worker *w = ask_now(user_no, TASK, n);

	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(w->answer.loans[i].loan_id, loans[i]);
}
#define ASSERT_GOT(user_no, ...) assert_got(user_no, (const uint64_t[]){ __VA_ARGS__ }, \
	sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void
exclude(unsigned int user_no, unsigned int from, unsigned int to)
{
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " SELECT task_id, %u, loan_id, NOW(6) + INTERVAL 1 HOUR FROM test_candidate"
	    " WHERE task_id = %d AND loan_id BETWEEN %u AND %u", user_id(user_no), TASK, from, to);
}

/* guard: no request gets less than it asks for from a part of a kept list. guard: a part of a kept
 * list that ends no request is not used again without a pause. Most of the list is excluded for
 * user 2, whose request is served by a query. */
static void
a_part_of_it_gives_no_part(void **state)
{
	struct worker *w;

	(void)state;
	fill(300);
	set_task(TASK, "max_count = 10");
	exclude(2, 2, 81);
	(void)add_request(TASK, 2, 10);
	w = ask_now(1, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.loans[0].loan_id, 2);
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id = %u",
	    TASK, user_id(2)), 10);
	assert_in_range(rounds_of(TASK), 2, 4);
}

/* guard: a leader reads as many more loans of a kept list as are excluded for its user. 80 loans
 * are excluded, and no query runs. */
static void
what_is_not_for_its_leader(void **state)
{
	struct worker *w;

	(void)state;
	fill(300);
	set_task(TASK, "max_count = 10");
	exclude(1, 2, 81);
	w = ask_now(1, TASK, 10);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 10);
	assert_int_equal(w->answer.loans[0].loan_id, 82);
	assert_int_equal(runs("query"), 1);
}

static void
what_is_left_is_given(void **state)
{
	struct worker *w;

	(void)state;
	fill(10);
	w = ask_now(1, TASK, 3);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 3);
	assert_int_equal(w->answer.loans[0].loan_id, 2);
	assert_int_equal(w->answer.loans[2].loan_id, 4);
	assert_true(w->answer.led);
	assert_true(w->answer.query_ms < 0);
	assert_int_equal(runs("query"), 1);
	assert_int_equal(runs("cache"), 1);
	assert_int_equal(u64("SELECT query_ms IS NULL AND candidates = 9 AND dropped = 0 AND"
	    " as_of = (SELECT MIN(as_of) FROM leader_run WHERE task_id = %d)"
	    " FROM leader_run WHERE task_id = %d AND how = 'cache'", TASK, TASK), 1);
	assert_int_equal(kept(), 6);
	ASSERT_GOT(2, 5, 6);
	assert_int_equal(runs("query"), 1);
}

/* With cache_ttl 0, the default, every leader runs the query. */
static void
by_default_nothing_is_kept(void **state)
{
	(void)state;
	add_loans(TASK, 5);
	ASSERT_GOT(0, 1);
	ASSERT_GOT(1, 2);
	assert_int_equal(runs("query"), 2);
	assert_int_equal(kept(), 0);
}

/* guard: a kept list is used for cache_ttl seconds. */
static void
it_runs_out(void **state)
{
	(void)state;
	fill(5);
	sql("UPDATE task_candidate SET kept_at = NOW(6) - INTERVAL 61 SECOND WHERE task_id = %d",
	    TASK);
	add_loan(TASK, 50, 0);
	ASSERT_GOT(1, 50);
	assert_int_equal(runs("query"), 2);
}

/* A kept list is not used once cache_ttl is 0. */
static void
it_is_switched_off(void **state)
{
	(void)state;
	fill(5);
	set_task(TASK, "cache_ttl = 0");
	add_loan(TASK, 50, 0);
	ASSERT_GOT(1, 50);
	assert_int_equal(runs("cache"), 0);
}

/* guard: a loan whose row of work changed since the query is left out of a kept list, and does not
 * count as a loan of that list. */
static void
what_changed_is_left_out(void **state)
{
	(void)state;
	fill(6);
	add_work(TASK, 2, 3, "completed", 1);
	add_work(TASK, 3, 3, "never", 1);
	ASSERT_GOT(1, 4, 5);
	add_work(TASK, 6, 3, "never", 1);
	add_loan(TASK, 50, 0);
	ASSERT_GOT(2, 50);
	assert_int_equal(runs("query"), 2);
	assert_int_equal(runs("cache"), 1);
	assert_int_equal(u64("SELECT dropped FROM leader_run WHERE task_id = %d AND how = 'cache'",
	    TASK), 2);
}

/* guard: a loan that is not due by the primary's clock is left out of a kept list. The clock of the
 * replica that was queried may be ahead. */
static void
what_is_not_due_is_left_out(void **state)
{
	(void)state;
	add_work(TASK, 2, 3, "returned", 1);
	fill(6);
	sql("UPDATE work SET available_at = NOW(6) + INTERVAL 1 HOUR WHERE task_id = %d", TASK);
	ASSERT_GOT(1, 3);
	assert_int_equal(runs("cache"), 1);
}

/* guard: a loan that the view no longer shows is left out of a kept list. */
static void
what_the_view_has_no_longer_is_left_out(void **state)
{
	(void)state;
	fill(6);
	sql("DELETE FROM test_candidate WHERE task_id = %d AND loan_id IN (2, 4)", TASK);
	ASSERT_GOT(1, 3, 5);
	assert_int_equal(runs("cache"), 1);
}

/* guard: a view that is too slow is not asked about a kept list, since asking it would mean the
 * heavy query. So a loan that the view no longer shows is still given. */
static void
a_heavy_view_is_not_asked(void **state)
{
	(void)state;
	fill(6);
	make_heavy(TASK, 4000);
	sql("DELETE FROM test_candidate WHERE task_id = %d AND loan_id = 2", TASK);
	ASSERT_GOT(1, 2);
	assert_int_equal(runs("cache"), 1);
}

/* guard: a kept list that is not enough for all pending requests is not used; the query runs. */
static void
too_little_is_not_used(void **state)
{
	(void)state;
	fill(3);
	(void)add_request(TASK, 2, 2);
	add_loan(TASK, 50, 0);
	add_loan(TASK, 51, 0);
	ASSERT_GOT(1, 2);
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_int_equal(runs("cache"), 0);
	assert_int_equal(runs("query"), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id = %u"
	    " AND loan_id IN (50, 51)", TASK, user_id(2)), 2);
}

/* A kept list never leads to "no work": when it is used up, the query runs. */
static void
it_never_says_no_work(void **state)
{
	struct worker *w;

	(void)state;
	fill(2);
	ASSERT_GOT(1, 2);
	assert_int_equal(runs("cache"), 1);
	assert_int_equal(kept(), 0);
	w = ask_now(2, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(runs("query"), 2);
}

/* guard: a list that was kept from one view is not used for another view. */
static void
another_view_begins_anew(void **state)
{
	(void)state;
	fill(5);
	make_task(OTHER_TASK + 1);
	add_loans(OTHER_TASK + 1, 5);
	add_loan(OTHER_TASK + 1, 77, 0);
	set_task(TASK, "candidates_view = 'test_view_%d'", OTHER_TASK + 1);
	ASSERT_GOT(1, 77);
}

/* guard: a list is of the view that was queried, even if the task names another one by then. */
static void
another_view_meanwhile_begins_anew(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0);

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 5);
	make_task(OTHER_TASK + 1);
	add_loans(OTHER_TASK + 1, 5);
	add_loan(OTHER_TASK + 1, 77, 0);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	set_task(TASK, "candidates_view = 'test_view_%d'", OTHER_TASK + 1);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(kept(), 4);
	ASSERT_GOT(1, 77);
}

/* guard: requests that a hint left pending are for a query on the primary. */
static void
after_a_list_that_left_some_the_query_runs(void **state)
{
	(void)state;
	fill(5);
	sql("UPDATE task_lock SET left_pending = 1 WHERE task_id = %d", TASK);
	add_loan(TASK, 50, 0);
	ASSERT_GOT(1, 50);
	assert_int_equal(runs("query"), 2);
}

/* If the kept list can't be read, the query runs. */
static void
what_can_not_be_read_is_queried(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, 0);

	(void)state;
	fill(5);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "FROM task_candidate", 1, 1, 1205);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.retries, 0);
	assert_int_equal(runs("query"), 2);
}

/* Loans leave the kept list in the transaction that gives them. After a retry, exactly the given
 * loans have left the list. */
static void
a_retry_keeps_what_it_gave_out_of_it(void **state)
{
	struct worker *w = worker_new(1, TASK, 2, 0);

	(void)state;
	fill(6);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "=COMMIT", 1, 1, 3101);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.retries, 1);
	assert_int_equal(kept(), 3);
	assert_int_equal(u64("SELECT COUNT(*) FROM task_candidate AS c JOIN work AS w"
	    " ON w.task_id = c.task_id AND w.loan_id = c.loan_id WHERE c.task_id = %d", TASK), 0);
}

/* Many users ask at once, five times. No loan is given twice, and no query runs. */
static void
a_race_for_what_is_left(void **state)
{
	struct worker *w[USERS];

	(void)state;
	fill(200);
	for (int round = 0; round < 5; round++) {
		for (unsigned int i = 0; i < USERS; i++) {
			w[i] = worker_new(i, TASK, 3, 20000);
			worker_start(w[i]);
		}
		for (unsigned int i = 0; i < USERS; i++) {
			worker_join(w[i]);
			assert_int_equal(w[i]->rc, LOCKQ_OK);
			assert_int_equal(w[i]->answer.n_loans, 3);
		}
		workers_end();
	}
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND version = 1", TASK),
	    1 + 5 * 3 * USERS);
	assert_int_equal(runs("query"), 1);
	assert_true(runs("cache") >= 5);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_part_of_it_gives_no_part),
		DB_TEST(what_is_not_for_its_leader),
		DB_TEST(what_is_left_is_given),
		DB_TEST(by_default_nothing_is_kept),
		DB_TEST(it_runs_out),
		DB_TEST(it_is_switched_off),
		DB_TEST(what_changed_is_left_out),
		DB_TEST(what_is_not_due_is_left_out),
		DB_TEST(what_the_view_has_no_longer_is_left_out),
		DB_TEST(a_heavy_view_is_not_asked),
		DB_TEST(too_little_is_not_used),
		DB_TEST(it_never_says_no_work),
		DB_TEST(another_view_begins_anew),
		DB_TEST(another_view_meanwhile_begins_anew),
		DB_TEST(after_a_list_that_left_some_the_query_runs),
		DB_TEST(what_can_not_be_read_is_queried),
		DB_TEST(a_retry_keeps_what_it_gave_out_of_it),
		DB_TEST(a_race_for_what_is_left),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("cache", tests, suite_setup, suite_teardown);
}
