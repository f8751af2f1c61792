/* SPDX-License-Identifier: MIT */
/* Step 1: recording a request, and cancelling it. */
#include <string.h>

#include "support.h"

static uint64_t
rows_of(unsigned int user_no)
{
	return u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND user_id = %u", TASK,
	    user_id(user_no));
}

static void
a_request_is_one_committed_row(void **state)
{
	struct worker *w = worker_connected(0, TASK, 3);
	struct inside_request request = inside_new_request(user(0));

	(void)state;
	assert_int_equal(inside_record(inside_lock_connection(w->q), TASK, 3, &request), DB_OK);
	assert_false(request.joined);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE request_id = %llu"
	    " AND uuid = '%s' AND user_id = %u AND task_id = %d AND asked = 3 AND requested = 3"
	    " AND assigned = 0 AND outcome = 'pending' AND pending = 1 AND epoch IS NULL",
	    (unsigned long long)request.request_id, request.uuid, user_id(0), TASK), 1);
	assert_int_equal(u64("SELECT account LIKE 'lockq\\_%%@%%' FROM work_requested"
	    " WHERE request_id = %llu", (unsigned long long)request.request_id), 1);
}

static void
the_same_uuid_is_one_request(void **state)
{
	struct worker *w = worker_connected(0, TASK, 1);
	struct inside_request request = inside_new_request(user(0)), again = request;

	(void)state;
	assert_int_equal(inside_record(inside_lock_connection(w->q), TASK, 1, &request), DB_OK);
	assert_int_equal(inside_record(inside_lock_connection(w->q), TASK, 1, &again), DB_OK);
	assert_int_equal(again.request_id, request.request_id);
	assert_false(again.joined);
	assert_int_equal(rows_of(0), 1);
}

/* guard: after a lost connection the same UUID is inserted again, so that no user asks twice. */
static void
a_lost_reply_is_found_by_uuid(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_cut(w->proxy, "INSERT INTO request_in", 1, CUT_AFTER);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	assert_false(w->answer.joined);
	assert_int_equal(rows_of(0), 1);
	assert_int_equal(proxy_count(w->proxy, "INSERT INTO request_in"), 2);
}

/* While the call makes its request anew, the task comes to allow one loan at most. */
static void
join_with_fewer_allowed(struct worker *w)
{
	proxy_hold(w->proxy, "INSERT INTO request_in", 2);
	worker_start(w);
	proxy_until_held(w->proxy);
	set_task(TASK, "max_count = 1");
	proxy_release(w->proxy);
	worker_join(w);
}

/* The INSERT of a request is lost (CUT_BEFORE), or its reply (CUT_AFTER). Before the INSERT is
 * repeated, the task's max_count falls below the request's count.
 * guard: a recorded request whose reply was lost is found, even if the task would refuse it by now.
 * guard: after a lost INSERT, a refused request takes its UUID, so that the INSERT can't come
 * late. */
static void
limits_that_change_meanwhile(enum proxy_cut cut)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_cut(w->proxy, "INSERT INTO request_in", 1, cut);
	join_with_fewer_allowed(w);
	if (cut == CUT_AFTER) {
		assert_int_equal(w->rc, LOCKQ_OK);
		assert_int_equal(w->answer.n_loans, 2);
	} else {
		assert_int_equal(w->rc, LOCKQ_EREFUSED);
		assert_non_null(strstr(w->error, "ask for 1 at most"));
		assert_string_equal(outcome_of(TASK, 0), "cancelled");
	}
	assert_int_equal(rows_of(0), 1);
}

static void
a_lost_reply_is_no_refusal(void **state)
{
	(void)state;
	limits_that_change_meanwhile(CUT_AFTER);
}

static void
a_lost_insert_may_be_refused(void **state)
{
	(void)state;
	limits_that_change_meanwhile(CUT_BEFORE);
}

/* The cancelled row has taken the UUID, and the reply is lost: the next try finds that row. It is
 * this call's own. */
static void
a_refusal_whose_reply_is_lost(void **state)
{
	static const char *const statements[] = {
		"'cancelled', NOW(6)", "SELECT r.request_id, r.uuid"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		struct worker *w = worker_new(0, TASK, 2, 0);

		set_task(TASK, "max_count = 2");
		add_loans(TASK, 3);
		w->proxy = proxy_new();
		proxy_cut(w->proxy, "INSERT INTO request_in", 1, CUT_BEFORE);
		proxy_cut(w->proxy, statements[i], 1, CUT_AFTER);
		join_with_fewer_allowed(w);
		assert_int_equal(w->rc, LOCKQ_EREFUSED);
		assert_non_null(strstr(w->error, "ask for 1 at most"));
		assert_int_equal(w->answer.request_id, 0);
		assert_string_equal(outcome_of(TASK, 0), "cancelled");
		assert_int_equal(rows_of(0), 1);
		start_again();
	}
}

static void
a_lost_insert_is_made_again(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_cut(w->proxy, "INSERT INTO request_in", 1, CUT_BEFORE);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(rows_of(0), 1);
}

static void
a_second_call_joins(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *first = ask_now(0, TASK, 3), *second;

	(void)state;
	assert_int_equal(first->rc, LOCKQ_BUSY);
	second = worker_new(0, TASK, 1, 300);
	worker_start(second);
	worker_join(second);
	assert_int_equal(second->rc, LOCKQ_BUSY);
	assert_true(second->answer.joined);
	assert_int_equal(second->answer.asked, 3);
	assert_string_equal(second->answer.uuid, first->answer.uuid);
	assert_int_equal(rows_of(0), 1);
	/* The call that joined can't cancel the request, though its time was up, too. */
	assert_string_equal(outcome_of(TASK, 0), "pending");
	db_rollback(leader.lock);
}

/* guard: a request that has just ended is not joined. */
static void
one_that_just_ended_is_not_joined(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);
	uint64_t old = add_request(TASK, 0, 1);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "SET seen_at =", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	sql("UPDATE work_requested SET outcome = 'empty', requested = 0 WHERE request_id = %llu",
	    (unsigned long long)old);
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_false(w->answer.joined);
	assert_int_equal(w->answer.assigned, 2);
	assert_int_not_equal(w->answer.request_id, old);
}

/* guard: touching a request changes its row, so that the request of a polling call may be joined. A
 * polling call sets seen_at to a time in the future. */
static void
one_that_polls_is_joined(void **state)
{
	struct worker *w;
	uint64_t old = add_request(TASK, 0, 1);

	(void)state;
	add_loans(TASK, 3);
	sql("UPDATE work_requested SET seen_at = NOW(6) + INTERVAL 60 SECOND"
	    " WHERE request_id = %llu", (unsigned long long)old);
	w = ask_now(0, TASK, 2);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_true(w->answer.joined);
	assert_int_equal(w->answer.request_id, old);
}

/* A request that has expired is not joined, and the call makes a new one. */
static void
an_expired_one_is_not_joined(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	(void)add_request(TASK, 0, 1);
	sql("UPDATE work_requested SET outcome = 'expired', requested = 0"
	    " WHERE task_id = %d", TASK);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_false(w->answer.joined);
	assert_int_equal(rows_of(0), 2);
}

/* guard: a requester's statements are autocommit, so that a duplicate key keeps no lock. In an open
 * transaction the duplicate key would keep locks that block other users' inserts. */
static void
a_duplicate_keeps_no_lock(void **state)
{
	struct worker *w = worker_connected(1, TASK, 1), *others[3];
	struct inside_request request = inside_new_request(user(1));
	struct inside_request again = inside_new_request(user(1));
	uint64_t start;

	(void)state;
	assert_int_equal(inside_record(inside_lock_connection(w->q), TASK, 1, &request), DB_OK);
	assert_int_equal(inside_record(inside_lock_connection(w->q), TASK, 1, &again), DB_OK);
	assert_true(again.joined);
	start = db_clock_ms();
	for (unsigned int i = 0; i < 3; i++) {
		struct inside_request other = inside_new_request(user(i == 1 ? 3 : i));

		others[i] = worker_connected(i, TASK, 1);
		assert_int_equal(inside_record(inside_lock_connection(others[i]->q), TASK, 1,
		    &other), DB_OK);
	}
	assert_true(db_clock_ms() - start < NO_LOCK_WAIT_MS);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 4);
}

/* guard: only a pending request is cancelled. A served one stays served. */
static void
a_served_one_is_not_cancelled(void **state)
{
	struct worker *w;
	struct inside_request request = { .user = user(0) };

	(void)state;
	add_loans(TASK, 3);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	request.request_id = w->answer.request_id;
	memcpy(request.uuid, w->answer.uuid, sizeof(request.uuid));
	assert_int_equal(inside_cancel(inside_lock_connection(w->q), TASK, 1, &request), DB_OK);
	assert_string_equal(outcome_of(TASK, 0), "served");
}

/* A follower's time is up while the leader writes. The follower is told what the leader gave, not
 * "cancelled". */
static void
a_cancel_waits_for_the_leaders_commit(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0), *follower = worker_new(1, TASK, 1, 1100);

	(void)state;
	add_loans(TASK, 3);
	leader->proxy = proxy_new();
	follower->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	worker_start(follower);
	until("SELECT COUNT(*) = 2 FROM work_requested WHERE task_id = %d", TASK);
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	proxy_release(leader->proxy);
	proxy_until_held(leader->proxy);
	while (proxy_count(follower->proxy, "SET outcome = 'cancelled'") == 0)
		db_sleep_ms(5);
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(follower);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(follower->rc, LOCKQ_OK);
	assert_int_equal(follower->answer.n_loans, 1);
	assert_string_equal(outcome_of(TASK, 1), "served");
}

static void
what_no_task_could_allow_is_a_usage_error(void **state)
{
	struct worker *none = ask_now(0, TASK, 0), *many = ask_now(0, TASK, LOCKQ_COUNT_MAX + 1);

	(void)state;
	assert_int_equal(none->rc, LOCKQ_EUSAGE);
	assert_int_equal(many->rc, LOCKQ_EUSAGE);
	assert_int_equal(rows_of(0), 0);
}

static void
what_the_task_forbids_is_refused(void **state)
{
	struct worker *unknown_task = ask_now(0, TASK_LAST, 1), *unknown_user, *over, *disabled;

	(void)state;
	assert_int_equal(unknown_task->rc, LOCKQ_EREFUSED);
	assert_non_null(strstr(unknown_task->error, "unknown"));
	unknown_user = worker_new(0, TASK, 1, 0);
	unknown_user->ask.user = "test_nobody";
	worker_start(unknown_user);
	worker_join(unknown_user);
	assert_int_equal(unknown_user->rc, LOCKQ_EREFUSED);
	over = ask_now(0, TASK, 11);
	assert_int_equal(over->rc, LOCKQ_EREFUSED);
	assert_int_equal(over->answer.status, LOCKQ_REFUSED);
	set_task(TASK, "enabled = 0");
	disabled = ask_now(0, TASK, 1);
	assert_int_equal(disabled->rc, LOCKQ_EREFUSED);
	assert_int_equal(rows_of(0), 0);
}

/* guard: a call that fails leaves no pending request behind. No loan arrives after the user was
 * told of the error. */
static void
an_error_leaves_no_pending_request(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, 0);

	(void)state;
	if (administrator() == NULL)
		skip();
	add_loans(TASK, 3);
	sql_on(administrator(), "REVOKE INSERT ON run_in FROM lockq_worker@lockq");
	worker_start(w);
	worker_join(w);
	sql_on(administrator(), "GRANT INSERT ON run_in TO lockq_worker@lockq");
	assert_int_equal(w->rc, LOCKQ_EDATABASE);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
}

/* guard: a request that can't be recorded, since its task is being changed, waits within its time.
 * Then nothing was asked for. */
static void
one_that_is_held_up_ends_in_time(void **state)
{
	struct db *manager = connect_as(OWNER_GROUP);
	struct worker *w;

	(void)state;
	assert_int_equal(db_begin(manager), DB_OK);
	sql_on(manager, "UPDATE task SET manager = 'changed' WHERE task_id = %d", TASK);
	w = worker_new(0, TASK, 1, 2000);
	worker_start(w);
	worker_join(w);
	db_rollback(manager);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_non_null(strstr(w->error, "is held by another session: nothing was asked for"));
	assert_in_range(w->ms, 2000, 6000);
	assert_int_equal(w->answer.request_id, 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_request_is_one_committed_row),
		DB_TEST(the_same_uuid_is_one_request),
		DB_TEST(a_lost_reply_is_found_by_uuid),
		DB_TEST(a_lost_reply_is_no_refusal),
		DB_TEST(a_lost_insert_may_be_refused),
		DB_TEST(a_refusal_whose_reply_is_lost),
		DB_TEST(a_lost_insert_is_made_again),
		DB_TEST(a_second_call_joins),
		DB_TEST(one_that_just_ended_is_not_joined),
		DB_TEST(one_that_polls_is_joined),
		DB_TEST(an_expired_one_is_not_joined),
		DB_TEST(a_duplicate_keeps_no_lock),
		DB_TEST(a_served_one_is_not_cancelled),
		DB_TEST(a_cancel_waits_for_the_leaders_commit),
		DB_TEST(what_no_task_could_allow_is_a_usage_error),
		DB_TEST(what_the_task_forbids_is_refused),
		DB_TEST(an_error_leaves_no_pending_request),
		DB_TEST(one_that_is_held_up_ends_in_time),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("request", tests, suite_setup, suite_teardown);
}
