/* SPDX-License-Identifier: MIT */
/* Step 6: after it freed the lock, the leader serves requests that came after its last look. */
#include <inttypes.h>

#include "support.h"

enum { LAST_TRY = 4 }; /* HAND_OVER_TRIES of bounds.h */

/* Returns a leader that has looked for the last time and is held before its commit. */
static struct worker *
leader_about_to_commit(unsigned int user_no, uint32_t count)
{
	struct worker *w = worker_new(user_no, TASK, count, 0);

	w->proxy = proxy_new();
	proxy_hold(w->proxy, "SET holder = NULL", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	return w;
}

static void
go_on(struct worker *w)
{
	proxy_release(w->proxy);
	worker_join(w);
}

/* guard: the leader looks again after it freed the lock. A call that does not wait was told "busy";
 * its request is served from what is left of the list. */
static void
who_was_told_busy_is_served(void **state)
{
	struct worker *leader, *late;

	(void)state;
	add_loans(TASK, 5);
	leader = leader_about_to_commit(0, 2);
	late = ask_now(1, TASK, 2);
	assert_int_equal(late->rc, LOCKQ_BUSY);
	assert_string_equal(late->answer.leader, user(0));
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_true(leader->answer.led);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_string_equal(text_of("SELECT GROUP_CONCAT(loan_id ORDER BY loan_id) FROM work"
	    " WHERE task_id = %d AND user_id = %u", TASK, user_id(1)), "3,4");
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d AND epoch = 2"
	    " AND how = 'hand-over' AND query_ms IS NULL AND requests = 1 AND loans = 2"
	    " AND user = '%s'", TASK, user(0)), 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND token = 2", TASK),
	    2);
	assert_int_equal(rounds_of(TASK), 2);
	assert_int_equal(proxy_count(leader->proxy, QUERY), 1);
}

/* A request comes during a hand-over. The leader hands over again. */
static void
it_goes_on_until_nobody_is_pending(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 5);
	leader = leader_about_to_commit(0, 1);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	proxy_release(leader->proxy);
	proxy_until_held(leader->proxy);
	assert_int_equal(ask_now(2, TASK, 1)->rc, LOCKQ_BUSY);
	go_on(leader);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_int_equal(rounds_of(TASK), 3);
}

/* guard: a hand-over never says "no work", since its list is older than the request. */
static void
it_never_says_no_work(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 2);
	leader = leader_about_to_commit(0, 1);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	assert_int_equal(ask_now(2, TASK, 1)->rc, LOCKQ_BUSY);
	go_on(leader);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_string_equal(outcome_of(TASK, 2), "pending");
}

static void
an_empty_list_hands_nothing_over(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 1);
	leader = leader_about_to_commit(0, 1);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	go_on(leader);
	assert_string_equal(outcome_of(TASK, 1), "pending");
	assert_int_equal(rounds_of(TASK), 1);
}

/* guard: a hand-over stops when another call has led, since its list is stale then. */
static void
it_stops_when_someone_else_has_led(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0), *other;

	(void)state;
	add_loans(TASK, 5);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "SELECT EXISTS", 2);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	other = ask_now(1, TASK, 1);
	assert_int_equal(other->rc, LOCKQ_OK);
	assert_int_equal(other->answer.epoch, 2);
	(void)add_request(TASK, 2, 1);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 2), "pending");
	assert_int_equal(epoch_of(TASK), 2);
}

/* The loans of a hand-over are checked like any other candidates. */
static void
what_changed_since_is_not_handed_over(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 3);
	leader = leader_about_to_commit(0, 1);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	add_work(TASK, 2, 3, "completed", 4);
	go_on(leader);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_int_equal(u64("SELECT loan_id FROM work WHERE task_id = %d AND user_id = %u", TASK,
	    user_id(1)), 3);
}

/* Another session holds the leader's own request until the COMMIT of the round. The hand-over ends
 * the request, so the call has led. */
static void
its_own_request_may_be_served_by_it(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader = worker_new(0, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 5);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT request_id FROM work_requested WHERE request_id = %" PRIu64
	    " FOR UPDATE", request_of(TASK, 0));
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	proxy_release(leader->proxy);
	proxy_until_held(leader->proxy);
	db_rollback(other);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.n_loans, 1);
	assert_int_equal(leader->answer.epoch, 2);
	assert_true(leader->answer.led);
	assert_int_equal(proxy_count(leader->proxy, QUERY), 1);
}

/* The tries before the last one are in vain, since another session holds the request that is
 * pending. @older: the one that comes then has an older number. */
static void
serves_who_comes_during_the_last_try(bool older)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader;
	uint64_t number;

	add_loans(TASK, 5);
	leader = leader_about_to_commit(0, 1);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	number = request_of(TASK, 1);
	if (older)
		sql("UPDATE work_requested SET request_id = request_id + 1 WHERE request_id = %"
		    PRIu64, number);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT request_id FROM work_requested WHERE request_id = %" PRIu64
	    " FOR UPDATE", request_of(TASK, 1));
	proxy_hold(leader->proxy, "SET holder = NULL", LAST_TRY);
	proxy_release(leader->proxy);
	proxy_until_held(leader->proxy);
	assert_int_equal(ask_now(2, TASK, 1)->rc, LOCKQ_BUSY);
	if (older)
		sql("UPDATE work_requested SET request_id = %" PRIu64 " WHERE request_id = %"
		    PRIu64, number, request_of(TASK, 2));
	go_on(leader);
	assert_string_equal(outcome_of(TASK, 2), "served");
	db_rollback(other);
}

/* guard: a request that comes during the last try of a hand-over has tries of its own */
static void
who_comes_during_the_last_try_is_served(void **state)
{
	(void)state;
	serves_who_comes_during_the_last_try(false);
}

/* guard: the numbers of requests are not in the order of their commits */
static void
so_is_one_whose_number_is_older(void **state)
{
	(void)state;
	serves_who_comes_during_the_last_try(true);
}

/* guard: a hand-over that fails is tried again. The leader's own answer is committed already. */
static void
a_lost_hand_over_goes_on(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 5);
	leader = leader_about_to_commit(0, 2);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	proxy_cut(leader->proxy, "SELECT EXISTS", 2, CUT_BEFORE);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.n_loans, 2);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 3);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(who_was_told_busy_is_served),
		DB_TEST(it_goes_on_until_nobody_is_pending),
		DB_TEST(it_never_says_no_work),
		DB_TEST(an_empty_list_hands_nothing_over),
		DB_TEST(it_stops_when_someone_else_has_led),
		DB_TEST(what_changed_since_is_not_handed_over),
		DB_TEST(its_own_request_may_be_served_by_it),
		DB_TEST(who_comes_during_the_last_try_is_served),
		DB_TEST(so_is_one_whose_number_is_older),
		DB_TEST(a_lost_hand_over_goes_on),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("hand-over", tests, suite_setup, suite_teardown);
}
