/* SPDX-License-Identifier: MIT */
/* How requests of one moment share loans that are not enough for all of them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { PEOPLE = 5, EACH = 5 };

/* Users 0 to 4 ask for five loans each, in this order, and the last one leads. */
static void
all_ask(void)
{
	for (unsigned int i = 0; i + 1 < PEOPLE; i++)
		(void)add_request(TASK, i, EACH);
	(void)ask_now(PEOPLE - 1, TASK, EACH);
}

static void
assert_got(const uint32_t got[PEOPLE])
{
	for (unsigned int i = 0; i < PEOPLE; i++)
		assert_int_equal(u64("SELECT assigned FROM work_requested WHERE request_id ="
		    " %" PRIu64, request_of(TASK, i)), got[i]);
}
#define GOT(...) (const uint32_t[PEOPLE]){ __VA_ARGS__ }

static void
in_order(void **state)
{
	(void)state;
	add_loans(TASK, 10);
	all_ask();
	assert_got(GOT(5, 5, 0, 0, 0));
	assert_consistent(TASK);
	assert_string_equal(outcome_of(TASK, 2), "empty");
}

static void
evenly(void **state)
{
	(void)state;
	set_task(TASK, "share = 'evenly'");
	add_loans(TASK, 10);
	all_ask();
	assert_got(GOT(2, 2, 2, 2, 2));
	assert_consistent(TASK);
	assert_string_equal(outcome_of(TASK, 0), "partial");
	assert_string_equal(outcome_of(TASK, 4), "partial");
}

static void
what_does_not_come_out_even_goes_in_order(void **state)
{
	(void)state;
	set_task(TASK, "share = 'evenly'");
	add_loans(TASK, 8);
	all_ask();
	assert_got(GOT(2, 2, 2, 1, 1));
}

static void
what_is_enough_for_all_is_given(void **state)
{
	(void)state;
	set_task(TASK, "share = 'evenly'");
	add_loans(TASK, 30);
	all_ask();
	assert_got(GOT(5, 5, 5, 5, 5));
	assert_string_equal(outcome_of(TASK, 4), "served");
}

/* Somebody who wants little leaves the rest to the others. */
static void
nobody_gets_more_than_is_asked_for(void **state)
{
	(void)state;
	set_task(TASK, "share = 'evenly'");
	add_loans(TASK, 10);
	(void)add_request(TASK, 0, 1);
	for (unsigned int i = 1; i + 1 < PEOPLE; i++)
		(void)add_request(TASK, i, EACH);
	(void)ask_now(PEOPLE - 1, TASK, EACH);
	assert_got(GOT(1, 3, 2, 2, 2));
}

/* User 0 holds three, user 1 one. */
static void
to_whoever_holds_least(void **state)
{
	(void)state;
	set_task(TASK, "share = 'least'");
	add_loans(TASK, 10);
	for (uint64_t loan = 101; loan <= 104; loan++)
		add_work(TASK, loan, loan <= 103 ? 0 : 1, "assigned", 1);
	all_ask();
	assert_got(GOT(0, 2, 3, 3, 2));
}

/* A share of which a user may have nothing goes to the others. */
static void
what_one_may_not_have_goes_to_others(void **state)
{
	(void)state;
	set_task(TASK, "share = 'evenly'");
	add_loans(TASK, 10);
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " SELECT task_id, %u, loan_id, NOW(6) + INTERVAL 1 HOUR FROM test_candidate"
	    " WHERE task_id = %d", user_id(1), TASK);
	all_ask();
	assert_got(GOT(4, 0, 2, 2, 2));
	assert_int_equal(u64("SELECT excluded FROM work_requested WHERE request_id = %" PRIu64,
	    request_of(TASK, 1)), 0);
}

static void
max_pipeline_counts(void **state)
{
	(void)state;
	set_task(TASK, "share = 'evenly', max_pipeline = 1");
	add_loans(TASK, 4);
	all_ask();
	assert_got(GOT(1, 1, 1, 1, 0));
}

/* A task that shares keeps no list, and takes from none. */
static void
no_list_is_kept(void **state)
{
	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 10);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE task_id = %d", TASK), 9);
	set_task(TASK, "share = 'evenly'");
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
	assert_int_equal(rounds_of(TASK), 2);
	assert_int_equal(u64("SELECT MAX(epoch) FROM kept_list WHERE task_id = %d", TASK), 1);
}

/* guard: at the pop, too, a list counts only while those who asked first get all. */
static void
a_task_that_shares_since_the_peek(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, -1);

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 10);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "CALL list_serves", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	set_task(TASK, "share = 'least'");
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(rounds_of(TASK), 2);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(in_order),
		DB_TEST(evenly),
		DB_TEST(what_does_not_come_out_even_goes_in_order),
		DB_TEST(what_is_enough_for_all_is_given),
		DB_TEST(nobody_gets_more_than_is_asked_for),
		DB_TEST(to_whoever_holds_least),
		DB_TEST(what_one_may_not_have_goes_to_others),
		DB_TEST(max_pipeline_counts),
		DB_TEST(no_list_is_kept),
		DB_TEST(a_task_that_shares_since_the_peek),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("share", tests, suite_setup, suite_teardown);
}
