/* SPDX-License-Identifier: MIT */
/* How many loans of a task one user may hold, and which loans are excluded for a user. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static void
dispose(struct worker *by, enum lockq_disposition_kind kind, uint64_t loan_id, uint32_t not_me_s)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_loan_ref loan = { loan_id, 0 };

	what.user = by->ask.user;
	what.task = TASK;
	what.kind = kind;
	what.not_me_s = not_me_s;
	what.loans = &loan;
	what.n_loans = 1;
	if (lockq_dispose(by->q, &what, &result) != LOCKQ_OK)
		print_error("%s: %d %s\n", lockq_error(by->q), (int)result.loans[0].what,
		    result.loans[0].state);
	assert_int_equal(result.n_loans, 1);
	assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
	lockq_disposed_clear(&result);
}

static uint64_t
queries(void)
{
	return u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d", TASK);
}

/* Waits until the user's request is recorded. */
static void
until_pending(unsigned int user_no)
{
	until("SELECT COUNT(*) = 1 FROM work_requested WHERE task_id = %d AND user_id = %u"
	    " AND outcome = 'pending'", TASK, user_id(user_no));
}

/* A user who may hold 5 loans and holds 3 gets 2 and the reason. */
static void
a_request_is_trimmed(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 10);
	set_task(TASK, "max_pipeline = 5");
	w = ask_now(0, TASK, 3);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	w = ask_now(0, TASK, 3);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.status, LOCKQ_PARTIAL);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(w->answer.requested, 2);
	assert_string_equal(w->answer.reason, "with these you have 5 of 5 that this task "
	    "allows");
	/* Other users have room of their own. */
	assert_int_equal(ask_now(1, TASK, 5)->answer.n_loans, 5);
	assert_consistent(TASK);
}

static void
a_full_pipeline_is_refused_without_a_query(void **state)
{
	struct worker *w;
	uint64_t before;

	(void)state;
	add_loans(TASK, 10);
	add_loans(OTHER_TASK, 1);
	set_task(TASK, "max_pipeline = 2");
	assert_int_equal(ask_now(0, TASK, 2)->rc, LOCKQ_OK);
	before = queries();
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_EREFUSED);
	assert_int_equal(w->answer.status, LOCKQ_REFUSED);
	assert_non_null(strstr(w->error, "2 of 2"));
	assert_int_equal(queries(), before);
	/* The cap counts loans of one task only. */
	assert_int_equal(ask_now(0, OTHER_TASK, 1)->rc, LOCKQ_OK);
	/* A completed loan and an expired lease make room. */
	dispose(w, LOCKQ_COMPLETE, 1, 0);
	assert_int_equal(ask_now(0, TASK, 2)->answer.n_loans, 1);
	sql("UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6)"
	    " WHERE task_id = %d AND loan_id = 2", TASK);
	assert_int_equal(ask_now(0, TASK, 2)->answer.n_loans, 1);
	assert_consistent(TASK);
}

/* guard: a cap is counted under the task's lock. A user finds room and asks. During the query the
 * same user gets loans in another shell, which fill the cap, so the request is refused. */
static void
two_shells_do_not_pass_it_together(void **state)
{
	struct worker *slow = worker_new(0, TASK, 2, -1);

	(void)state;
	add_loans(TASK, 10);
	set_task(TASK, "max_pipeline = 3");
	slow->proxy = proxy_new();
	proxy_hold(slow->proxy, QUERY, 1);
	worker_start(slow);
	proxy_until_held(slow->proxy);
	for (uint64_t loan = 8; loan <= 10; loan++)
		add_work(TASK, loan, 0, "assigned", 1);
	proxy_release(slow->proxy);
	worker_join(slow);
	assert_int_equal(slow->rc, LOCKQ_EREFUSED);
	assert_int_equal(slow->answer.status, LOCKQ_REFUSED);
	assert_non_null(strstr(slow->error, "3 of 3"));
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 3);
}

/* The cap leaves user 1 room for one of two loans. User 2 asked next and is served in full. */
static void
others_in_the_line_are_served(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, -1), *full, *other;

	(void)state;
	add_loans(TASK, 10);
	set_task(TASK, "max_pipeline = 2");
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	full = worker_new(1, TASK, 2, -1);
	other = worker_new(2, TASK, 2, -1);
	worker_start(full);
	until_pending(1);
	worker_start(other);
	until_pending(2);
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(full);
	worker_join(other);
	assert_int_equal(full->answer.status, LOCKQ_PARTIAL);
	assert_int_equal(full->answer.n_loans, 1);
	assert_int_equal(other->answer.status, LOCKQ_SERVED);
	assert_int_equal(other->answer.n_loans, 2);
	assert_consistent(TASK);
}

/* guard: an account with the rights of a worker excludes nobody but by what the log says. */
static void
nobody_is_excluded_by_hand(void **state)
{
	struct db *by_hand = connect_as(APP_GROUP);

	(void)state;
	if (administrator() == NULL)
		skip();
	assert_int_not_equal(try_sql(by_hand, "INSERT INTO work_exclusion"
	    " VALUES (%d, 1, 1, '2999-01-01')", TASK), DB_OK);
	assert_int_equal(db_errno(by_hand), 1142);
	assert_int_not_equal(try_sql(by_hand, "INSERT INTO exclusion_in"
	    " VALUES (%d, 1, 1, '2999-01-01')", TASK), DB_OK);
	assert_int_equal(db_errno(by_hand), 1369);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_exclusion WHERE task_id = %d", TASK), 0);
}

/* guard: a loan that is excluded for a user is not given to that user. A user returns a loan and
 * excludes it. The loan is offered to other users at once. */
static void
who_returned_it_is_not_offered_it(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->answer.loans[0].loan_id, 1);
	dispose(w, LOCKQ_RETURN, 1, 3600);
	assert_int_equal(u64("SELECT e.until = l.excluded_until AND l.excluded_until = l.at"
	    " + INTERVAL 1 HOUR FROM work_exclusion AS e JOIN work_log AS l"
	    " USING (task_id, loan_id, user_id) WHERE e.task_id = %d AND l.event = 'returned'",
	    TASK), 1);
	w = ask_now(0, TASK, 2);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	assert_int_equal(w->answer.loans[0].loan_id, 2);
	assert_int_equal(w->answer.loans[1].loan_id, 3);
	w = ask_now(1, TASK, 1);
	assert_int_equal(w->answer.loans[0].loan_id, 1);
	/* The exclusion holds for one task. */
	add_loans(OTHER_TASK, 1);
	assert_int_equal(ask_now(0, OTHER_TASK, 1)->answer.n_loans, 1);
	assert_consistent(TASK);
}

/* Starts the leader and holds its query. It has read the task's row already. */
static void
hold_query(struct worker *leader)
{
	add_loans(TASK, 3);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
}

/* guard: a loan that is excluded for a user is not given to that user, even if the exclusion was
 * made after the leader had read the task's row. */
static void
who_returned_it_meanwhile_is_not_offered_it(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0);

	(void)state;
	hold_query(leader);
	add_work(TASK, 1, 0, "returned", 2);
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " VALUES (%d, %u, 1, NOW(6) + INTERVAL 1 HOUR)", TASK, user_id(0));
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.loans[0].loan_id, 2);
	assert_int_equal(leader->answer.excluded, 1);
}

/* A query that fails is why a request got nothing, also where its user had room for less. */
static void
a_failure_is_not_the_cap(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 10);
	set_task(TASK, "max_pipeline = 5");
	w = ask_now(0, TASK, 3);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	set_task(TASK, "candidates_view = 'test_no_such_view'");
	w = ask_now(0, TASK, 3);
	assert_int_equal(w->rc, LOCKQ_EQUERY);
	assert_non_null(strstr(w->answer.reason, "test_no_such_view"));
}

/* A cap that was set after the leader had read the task's row holds for its loans. */
static void
a_cap_that_is_set_meanwhile(void **state)
{
	struct worker *leader = worker_new(0, TASK, 2, 0);

	(void)state;
	hold_query(leader);
	set_task(TASK, "max_pipeline = 1");
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.n_loans, 1);
	assert_int_equal(leader->answer.status, LOCKQ_PARTIAL);
}

/* If all loans are excluded for a user, the answer is "nothing", and the request counts the
 * excluded loans. */
static void
nothing_for_you(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 2);
	w = ask_now(0, TASK, 2);
	dispose(w, LOCKQ_RETURN, 1, 3600);
	dispose(w, LOCKQ_RETURN, 2, 3600);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(w->answer.status, LOCKQ_EMPTY);
	assert_int_equal(u64("SELECT excluded FROM work_requested WHERE request_id = %" PRIu64,
	    w->answer.request_id), 2);
	assert_int_equal(ask_now(1, TASK, 2)->answer.n_loans, 2);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(u64("SELECT excluded FROM work_requested WHERE request_id = %" PRIu64,
	    w->answer.request_id), 0);
}

static void
an_exclusion_ends(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 1);
	w = ask_now(0, TASK, 1);
	dispose(w, LOCKQ_RETURN, 1, 3600);
	sql("UPDATE work_exclusion SET until = NOW(6) WHERE task_id = %d", TASK);
	assert_int_equal(ask_now(0, TASK, 1)->answer.n_loans, 1);
	/* Excluding the loan again may set a later time, never an earlier one. */
	dispose(w, LOCKQ_RETURN, 1, 7200);
	sql("UPDATE work SET state = 'assigned', available_at = NULL, due_at = NULL,"
	    " version = version + 1 WHERE task_id = %d", TASK);
	dispose(w, LOCKQ_RETURN, 1, 60);
	assert_int_equal(u64("SELECT until > NOW(6) + INTERVAL 1 HOUR FROM work_exclusion"
	    " WHERE task_id = %d", TASK), 1);
}

/* guard: a leader's list is longer by the excluded loans, or the leader queries again and again. */
static void
a_short_list_has_something_for_who_asked(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 12);
	set_task(TASK, "candidate_limit = 1, max_count = 3");
	w = ask_now(0, TASK, 3);
	for (uint64_t loan_id = 1; loan_id <= 3; loan_id++)
		dispose(w, LOCKQ_RETURN, loan_id, 3600);
	w = ask_now(0, TASK, 3);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 3);
	assert_int_equal(w->answer.loans[0].loan_id, 4);
	assert_int_equal(queries(), 2);
	assert_consistent(TASK);
}

/* The first three loans are excluded for the leader and are given to the user with the next
 * request. Loans that were given to the leader no longer count as ready for the next one. */
static void
the_others_get_what_he_does_not(void **state)
{
	struct worker *leader = worker_new(0, TASK, 3, -1), *next = worker_new(1, TASK, 3, -1);
	struct worker *w;

	(void)state;
	add_loans(TASK, 60);
	w = ask_now(0, TASK, 3);
	for (uint64_t loan_id = 1; loan_id <= 3; loan_id++)
		dispose(w, LOCKQ_RETURN, loan_id, 3600);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	worker_start(next);
	until_pending(1);
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(next);
	assert_int_equal(leader->answer.loans[0].loan_id, 4);
	assert_int_equal(leader->answer.loans[2].loan_id, 6);
	assert_int_equal(next->answer.n_loans, 3);
	assert_int_equal(next->answer.loans[0].loan_id, 1);
	assert_int_equal(next->answer.loans[2].loan_id, 3);
	assert_consistent(TASK);
}

/* guard: enough loans are checked for the requests and for the loans excluded for their users. The
 * first 90 of 100 loans are excluded. */
static void
far_down_the_list(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 100);
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " SELECT %d, %u, loan_id, NOW(6) + INTERVAL 1 HOUR FROM test_candidate"
	    " WHERE task_id = %d AND loan_id <= 90", TASK, user_id(0), TASK);
	w = ask_now(0, TASK, 3);
	assert_int_equal(w->answer.n_loans, 3);
	assert_int_equal(w->answer.loans[0].loan_id, 91);
	assert_int_equal(ask_now(1, TASK, 1)->answer.loans[0].loan_id, 1);
}

/* The reason does not name the cap if the cap did not matter, since there was no more work. */
static void
room_but_no_work(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	set_task(TASK, "max_pipeline = 4");
	assert_int_equal(ask_now(0, TASK, 2)->answer.n_loans, 2);
	w = ask_now(0, TASK, 5);
	assert_int_equal(w->answer.status, LOCKQ_PARTIAL);
	assert_int_equal(w->answer.n_loans, 1);
	assert_null(w->answer.reason);
	w = ask_now(0, TASK, 5);
	assert_int_equal(w->answer.status, LOCKQ_EMPTY);
	assert_null(w->answer.reason);
}

/* A cap that is lowered while the query runs holds for the loans of this round. */
static void
a_cap_that_is_lowered_meanwhile(void **state)
{
	struct worker *leader = worker_new(1, TASK, 1, -1), *full = worker_new(0, TASK, 2, -1);

	(void)state;
	add_loans(TASK, 10);
	set_task(TASK, "max_pipeline = 5");
	assert_int_equal(ask_now(0, TASK, 2)->rc, LOCKQ_OK);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	worker_start(full);
	until_pending(0);
	set_task(TASK, "max_pipeline = 2");
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(full);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(full->rc, LOCKQ_EREFUSED);
	assert_non_null(strstr(full->error, "2 of 2"));
}

/* The rest of a list that was cut short is excluded for the only pending user. The leader does not
 * hand over from it again and again. */
static void
no_hand_over_for_who_may_not_have_it(void **state)
{
	struct worker *leader = worker_new(1, TASK, 1, -1);

	(void)state;
	add_loans(TASK, 40);
	set_task(TASK, "candidate_limit = 20");
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " SELECT %d, %u, loan_id, NOW(6) + INTERVAL 1 HOUR FROM test_candidate"
	    " WHERE task_id = %d AND loan_id <= 30", TASK, user_id(0), TASK);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_BUSY);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_in_range(queries(), 1, 2);
	assert_int_equal(ask_now(0, TASK, 1)->answer.loans[0].loan_id, 31);
}

/* Most loans are excluded for each of the users. All users ask at the same time. */
static void
a_line_of_exclusions(void **state)
{
	struct worker *leader = worker_new(0, TASK, 10, -1), *all[USERS - 1];
	uint64_t expected = 0;

	(void)state;
	add_loans(TASK, 40);
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " SELECT %d, u.user_id, c.loan_id, NOW(6) + INTERVAL 1 HOUR"
	    " FROM app_user AS u JOIN test_candidate AS c ON c.task_id = %d"
	    " WHERE u.name LIKE 'test\\_%%' AND (c.loan_id + u.user_id) %% 3 <> 0", TASK, TASK);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	for (unsigned int i = 0; i < USERS - 1; i++) {
		all[i] = worker_new(i + 1, TASK, 4, -1);
		worker_start(all[i]);
		until_pending(i + 1);
	}
	proxy_release(leader->proxy);
	worker_join(leader);
	for (unsigned int i = 0; i < USERS - 1; i++) {
		worker_join(all[i]);
		expected += all[i]->answer.n_loans;
	}
	expected += leader->answer.n_loans;
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND state = 'assigned'",
	    TASK), expected);
	/* Nobody has an excluded loan, and nobody got too few while a loan for that user was
	 * left. */
	assert_int_equal(u64("SELECT COUNT(*) FROM work JOIN work_exclusion"
	    " USING (task_id, user_id, loan_id) WHERE task_id = %d", TASK), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested AS r JOIN test_candidate AS c"
	    " ON c.task_id = r.task_id LEFT JOIN work AS w ON w.task_id = c.task_id"
	    " AND w.loan_id = c.loan_id WHERE r.task_id = %d AND r.assigned < r.asked"
	    " AND w.loan_id IS NULL AND (c.loan_id + r.user_id) %% 3 = 0", TASK), 0);
	assert_consistent(TASK);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_request_is_trimmed),
		DB_TEST(a_full_pipeline_is_refused_without_a_query),
		DB_TEST(two_shells_do_not_pass_it_together),
		DB_TEST(others_in_the_line_are_served),
		DB_TEST(nobody_is_excluded_by_hand),
		DB_TEST(who_returned_it_is_not_offered_it),
		DB_TEST(who_returned_it_meanwhile_is_not_offered_it),
		DB_TEST(a_failure_is_not_the_cap),
		DB_TEST(a_cap_that_is_set_meanwhile),
		DB_TEST(nothing_for_you),
		DB_TEST(an_exclusion_ends),
		DB_TEST(a_short_list_has_something_for_who_asked),
		DB_TEST(the_others_get_what_he_does_not),
		DB_TEST(far_down_the_list),
		DB_TEST(room_but_no_work),
		DB_TEST(a_cap_that_is_lowered_meanwhile),
		DB_TEST(no_hand_over_for_who_may_not_have_it),
		DB_TEST(a_line_of_exclusions),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("caps", tests, suite_setup, suite_teardown);
}
