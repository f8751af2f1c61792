/* SPDX-License-Identifier: MIT */
/* Step 5: loans are checked under lock and given to requests in one transaction. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

/* Returns a leader whose heavy query is held before the server sees it. */
static struct worker *
leader_before_its_query(unsigned int user_no, uint32_t count)
{
	struct worker *w = worker_new(user_no, TASK, count, 0);

	w->proxy = proxy_new();
	proxy_hold(w->proxy, QUERY, 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	return w;
}

enum { PROMPTLY_MS = 4000 };

static void
go_on(struct worker *w)
{
	proxy_release(w->proxy);
	worker_join_within(w, PROMPTLY_MS);
}

static uint64_t
holder_of(uint64_t loan_id)
{
	return u64("SELECT COALESCE(MAX(user_id), 0) FROM work WHERE task_id = %d"
	    " AND loan_id = %" PRIu64, TASK, loan_id);
}

static uint64_t
pending(void)
{
	return u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND pending = 1", TASK);
}

static const char *
loans_of(unsigned int user_no)
{
	return text_of("SELECT GROUP_CONCAT(loan_id ORDER BY loan_id) FROM work"
	    " WHERE task_id = %d AND user_id = %u AND state = 'assigned'", TASK, user_id(user_no));
}

static void
first_come_first_served(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 9);
	leader = leader_before_its_query(0, 2);
	assert_int_equal(ask_now(2, TASK, 1)->rc, LOCKQ_BUSY);
	assert_int_equal(ask_now(1, TASK, 3)->rc, LOCKQ_BUSY);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_string_equal(loans_of(0), "1,2");
	assert_string_equal(loans_of(2), "3");
	assert_string_equal(loans_of(1), "4,5,6");
	assert_int_equal(rounds_of(TASK), 1);
	assert_int_equal(u64("SELECT requests = 3 AND loans = 6 AND candidates = 9 AND dropped = 0"
	    " AND how = 'query' AND retries = 0 FROM leader_run WHERE task_id = %d", TASK), 1);
}

static void
what_an_answer_says(void **state)
{
	struct worker *w;

	(void)state;
	set_task(TASK, "lease_minutes = 30");
	add_loans(TASK, 3);
	w = ask_now(0, TASK, 2);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	assert_int_equal(w->answer.asked, 2);
	assert_int_equal(w->answer.requested, 2);
	assert_int_equal(w->answer.assigned, 2);
	assert_true(w->answer.led);
	assert_int_equal(w->answer.epoch, 1);
	assert_string_equal(w->answer.user, user(0));
	assert_string_equal(w->answer.leader, user(0));
	assert_int_not_equal(w->answer.as_of[0], '\0');
	assert_true(w->answer.query_ms >= 0);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(w->answer.loans[0].token, 1);
	assert_int_equal(u64("SELECT '%s' = lease_expires_at AND lease_expires_at ="
	    " assigned_at + INTERVAL 30 MINUTE FROM work WHERE task_id = %d AND loan_id = 1",
	    w->answer.loans[0].lease_expires_at, TASK), 1);
}

static void
what_is_written(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 2);
	add_work(TASK, 2, 1, "returned", 6);
	w = ask_now(0, TASK, 2);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id = %u"
	    " AND state = 'assigned' AND token = loan_id AND request_id = %" PRIu64
	    " AND available_at IS NULL AND lease_expires_at IS NULL"
	    " AND version = IF(loan_id = 1, 1, 7)", TASK, user_id(0), w->answer.request_id), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log AS l JOIN work AS w"
	    " USING (task_id, loan_id, user_id, token, version, request_id)"
	    " WHERE task_id = %d AND l.event = 'assigned' AND l.at = w.assigned_at"
	    " AND l.account LIKE '%%@%%'", TASK), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE request_id = %" PRIu64
	    " AND outcome = 'served' AND assigned = 2 AND requested = 2 AND epoch = 1"
	    " AND served_at IS NOT NULL AND pending IS NULL", w->answer.request_id), 1);
}

static void
not_enough_is_partial(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 2);
	w = ask_now(0, TASK, 5);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.status, LOCKQ_PARTIAL);
	assert_int_equal(w->answer.asked, 5);
	assert_int_equal(w->answer.requested, 2);
	assert_int_equal(w->answer.assigned, 2);
}

static void
nothing_is_empty_as_of_the_query(void **state)
{
	struct worker *w = ask_now(0, TASK, 5);

	(void)state;
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(w->answer.status, LOCKQ_EMPTY);
	assert_int_equal(w->answer.requested, 0);
	assert_int_equal(u64("SELECT '%s' BETWEEN NOW(6) - INTERVAL 20 SECOND AND NOW(6)",
	    w->answer.as_of), 1);
}

/* 30 users ask while a leader's query runs for one request. The leader serves all of them in its
 * round, each with all loans that it asked for. */
static void
many_more_than_before_the_query(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 300);
	leader = leader_after_its_query(0, 1);
	many_ask_for_five();
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND outcome = 'served' AND epoch = 1", TASK), 31);
	assert_int_equal(u64("SELECT candidates FROM leader_run WHERE task_id = %d", TASK), 300);
	assert_int_equal(rounds_of(TASK), 1);
	forget_the_many();
}

/* A leader's answer agrees with what another call reads of the same request. */
static void
a_leaders_answer_is_what_the_tables_say(void **state)
{
	struct lockq_answer a, b = LOCKQ_ANSWER_INIT;
	struct worker *w;
	char request[24];

	(void)state;
	for (uint32_t loans = 2; loans <= 3; loans++) {
		clear_fixture();
		make_task(TASK);
		add_loans(TASK, loans);
		w = ask_now(0, TASK, 3);
		a = w->answer;
		assert_int_equal(a.status, loans == 3 ? LOCKQ_SERVED : LOCKQ_PARTIAL);
		snprintf(request, sizeof(request), "%llu", (unsigned long long)a.request_id);
		assert_int_equal(lockq_request_look(w->q, request, 0, &b), LOCKQ_OK);
		assert_int_equal(a.status, b.status);
		assert_int_equal(a.asked, b.asked);
		assert_int_equal(a.requested, b.requested);
		assert_int_equal(a.assigned, b.assigned);
		assert_int_equal(a.excluded, b.excluded);
		assert_int_equal(a.epoch, b.epoch);
		assert_int_equal(a.query_ms, b.query_ms);
		assert_int_equal(a.task, b.task);
		assert_string_equal(a.as_of, b.as_of);
		assert_string_equal(a.how, "query");
		assert_string_equal(a.how, b.how);
		assert_string_equal(a.uuid, b.uuid);
		assert_string_equal(a.user, b.user);
		assert_string_equal(a.task_name, b.task_name);
		assert_string_equal(a.leader, b.leader);
		assert_ptr_equal(a.reason, b.reason);
		assert_int_equal(a.n_loans, b.n_loans);
		for (size_t i = 0; i < a.n_loans; i++) {
			assert_int_equal(a.loans[i].loan_id, b.loans[i].loan_id);
			assert_int_equal(a.loans[i].token, b.loans[i].token);
			assert_string_equal(a.loans[i].lease_expires_at,
			    b.loans[i].lease_expires_at);
		}
	}
	lockq_answer_clear(&b);
}

/* guard: a list that was cut short does not tell that nothing is left. The second user finds no
 * loan in the list, so its request stays pending and is served by the next query. */
static void
a_cut_list_says_nothing_of_the_rest(void **state)
{
	struct worker *leader, *next;

	(void)state;
	set_task(TASK, "max_count = 1, candidate_limit = 1");
	add_loans(TASK, 2);
	leader = leader_before_its_query(0, 1);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 1), "pending");
	next = ask_now(1, TASK, 1);
	assert_int_equal(next->rc, LOCKQ_OK);
	assert_true(next->answer.joined);
	assert_int_equal(holder_of(2), user_id(1));
}

/* guard: a list that lost candidates does not tell that nothing is left. Another user has taken the
 * leader's only candidate, and marked it, so the leader queries again and answers "nothing" as of
 * its second query. */
static void
after_a_drop_nothing_is_not_known(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 1);
	leader = leader_after_its_query(0, 1);
	add_work(TASK, 1, 1, "never", 1);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_NOTHING);
	assert_int_equal(leader->answer.epoch, 2);
	assert_int_equal(u64("SELECT dropped FROM leader_run WHERE task_id = %d AND epoch = 1",
	    TASK), 1);
	assert_int_equal(holder_of(1), user_id(1));
}

/* guard: what somebody else has by now leaves no doubt that there is no work. guard: but a lease
 * that is over does. */
static void
what_somebody_has_is_no_doubt(void **state)
{
	(void)state;
	for (unsigned int over = 0; over <= 1; over++) {
		struct worker *leader;

		clear_fixture();
		make_task(TASK);
		add_loans(TASK, 2);
		add_work(TASK, 1, 1, "returned", 2);
		leader = leader_after_its_query(0, 2);
		sql("UPDATE work SET state = 'assigned', version = 3, lease_expires_at ="
		    " NOW(6) + INTERVAL %d SECOND WHERE task_id = %d AND loan_id = 1",
		    over ? -1 : 60, TASK);
		add_work(TASK, 2, 2, "assigned", 1);
		go_on(leader);
		assert_int_equal(leader->rc, over ? LOCKQ_OK : LOCKQ_NOTHING);
		assert_int_equal(leader->answer.epoch, 1 + over);
		assert_int_equal(u64("SELECT dropped FROM leader_run WHERE task_id = %d"
		    " AND epoch = 1", TASK), 2);
	}
}

/* A leader that does not wait has lost its only candidate. Its request stays pending. */
static void
after_a_drop_who_does_not_wait_stays_pending(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 1);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "AS r FORCE INDEX (work_requested_line)", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	add_work(TASK, 1, 1, "never", 1);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_BUSY);
	assert_string_equal(outcome_of(TASK, 0), "pending");
	assert_int_equal(rounds_of(TASK), 1);
}

/* guard: a candidate is dropped unless the version of its row is what the query saw. After the
 * query the loan was given out and completed. It is available, but it must not go out again. */
static void
completed_since_the_query_is_dropped(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 2);
	add_work(TASK, 1, 1, "returned", 2);
	leader = leader_after_its_query(0, 1);
	sql("UPDATE work SET state = 'completed', version = 4 WHERE task_id = %d AND loan_id = 1",
	    TASK);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.epoch, 1);
	assert_int_equal(leader->answer.retries, 0);
	assert_int_equal(leader->answer.loans[0].loan_id, 2);
	assert_int_equal(u64("SELECT version FROM work WHERE task_id = %d AND loan_id = 1", TASK),
	    4);
	assert_int_equal(u64("SELECT dropped FROM leader_run WHERE task_id = %d", TASK), 1);
}

/* guard: a candidate without a row is dropped if a row has appeared since the query. */
static void
appeared_since_the_query_is_dropped(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 2);
	leader = leader_after_its_query(0, 1);
	add_work(TASK, 1, 1, "completed", 2);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.epoch, 1);
	assert_int_equal(leader->answer.retries, 0);
	assert_int_equal(leader->answer.loans[0].loan_id, 2);
}

/* guard: a row that another transaction holds is not waited for; its loan is dropped. */
static void
a_held_row_is_not_waited_for(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader;

	(void)state;
	add_loans(TASK, 2);
	add_work(TASK, 1, 1, "completed", 2);
	leader = leader_after_its_query(0, 1);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 1"
	    " FOR UPDATE", TASK);
	go_on(leader);
	db_rollback(other);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.loans[0].loan_id, 2);
}

/* guard: a row that another transaction holds is not taken for absent. The row appeared after the
 * query. */
static void
a_held_row_is_not_taken_for_absent(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader;

	(void)state;
	add_loans(TASK, 2);
	leader = leader_after_its_query(0, 1);
	add_work(TASK, 1, 1, "assigned", 1);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 1"
	    " FOR UPDATE", TASK);
	go_on(leader);
	db_rollback(other);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.loans[0].loan_id, 2);
	assert_int_equal(leader->answer.retries, 0);
}

/* guard: an insert that another transaction has not committed is not waited for. */
static void
a_row_that_is_being_inserted_is_not_waited_for(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader;

	(void)state;
	add_loans(TASK, 2);
	leader = leader_after_its_query(0, 1);
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "INSERT INTO work (task_id, loan_id, user_id, state, token, version,"
	    " request_id, assigned_at, changed_at)"
	    " VALUES (%d, 1, %u, 'assigned', 1, 1, 1, NOW(6), NOW(6))", TASK, user_id(1));
	go_on(leader);
	db_rollback(other);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.loans[0].loan_id, 2);
	assert_int_equal(leader->answer.retries, 0);
}

/* guard: the pending requests are read after the query. A request that was made during the query is
 * served by the same round. */
static void
who_comes_during_the_query_is_served_with_it(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 5);
	leader = leader_before_its_query(0, 1);
	assert_int_equal(ask_now(1, TASK, 2)->rc, LOCKQ_BUSY);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND epoch = 1"
	    " AND outcome = 'served'", TASK), 2);
	assert_int_equal(rounds_of(TASK), 1);
}

/* guard: the leader looks for late requests once more before COMMIT. A request that was made while
 * loans were written is served by the same round. */
static void
who_comes_while_loans_are_written_is_served_too(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 5);
	leader = worker_new(0, TASK, 1, 0);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "outcome VARCHAR(16) PATH", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	assert_int_equal(ask_now(1, TASK, 2)->rc, LOCKQ_BUSY);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND epoch = 1"
	    " AND outcome = 'served'", TASK), 2);
	assert_int_equal(rounds_of(TASK), 1);
	assert_string_equal(loans_of(1), "2,3");
}

/* guard: the isolation is READ COMMITTED. Under REPEATABLE READ the leader's gap locks would block
 * the other user's INSERT. */
static void
a_leader_that_writes_does_not_block_requests(void **state)
{
	struct worker *leader, *other;

	(void)state;
	add_loans(TASK, 5);
	leader = worker_new(1, TASK, 1, 0);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	other = worker_new(0, TASK, 1, PATIENCE_MS);
	other->proxy = proxy_new();
	worker_start(other);
	/* The other call sends this statement once its INSERT has gone through. */
	for (uint64_t start = db_clock_ms();
	    proxy_count(other->proxy, "SELECT l.holder") == 0;) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(5);
	}
	go_on(leader);
	worker_join(other);
	assert_int_equal(other->rc, LOCKQ_OK);
}

/* Also where the server sets something else for each new session. */
static void
the_session_is_pinned(void **state)
{
	struct worker *w;

	(void)state;
	if (administrator() != NULL)
		sql_on(administrator(), "SET GLOBAL init_connect = 'SET NAMES latin1'");
	w = worker_connected(0, TASK, 1);
	if (administrator() != NULL)
		sql_on(administrator(), "SET GLOBAL init_connect = ''");
	assert_int_equal(u64_on(inside_lock_connection(w->q),
	    "SELECT @@transaction_isolation = 'READ-COMMITTED'"
	    " AND @@autocommit = 1 AND @@time_zone = '+00:00' AND @@max_execution_time = 0"
	    " AND @@innodb_lock_wait_timeout = %d AND @@wait_timeout = %d"
	    " AND @@net_write_timeout = %d AND @@character_set_client = 'utf8mb4'"
	    " AND @@character_set_results = 'utf8mb4'"
	    " AND FIND_IN_SET('STRICT_TRANS_TABLES', @@sql_mode) > 0", DB_BRIEF_WAIT_S,
	    DB_WAIT_TIMEOUT_S, DB_WAIT_TIMEOUT_S), 1);
}

/* guard: the pending requests are read FOR UPDATE SKIP LOCKED. Another transaction cancels a
 * request while a leader leads: the leader neither serves that request nor waits for it. */
static void
a_request_that_is_being_cancelled_is_passed_over(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	uint64_t id = add_request(TASK, 1, 1);
	struct worker *leader;

	(void)state;
	add_loans(TASK, 5);
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "UPDATE work_requested SET outcome = 'cancelled', requested = 0"
	    " WHERE request_id = %" PRIu64,
	    id);
	leader = ask_within(0, TASK, 1, PROMPTLY_MS);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(db_commit(other), DB_OK);
	assert_string_equal(outcome_of(TASK, 1), "cancelled");
	assert_string_equal(loans_of(1), "NULL");
}

/* guard: users who left get no loans. A request that was seen 62 s ago expires with a request_ttl
 * of 60 s; one that was seen 55 s ago is served. */
static void
who_left_gets_nothing(void **state)
{
	uint64_t id = add_request(TASK, 1, 1);
	struct worker *leader;

	(void)state;
	add_loans(TASK, 5);
	set_task(TASK, "request_ttl = 60");
	sql("UPDATE work_requested SET seen_at = NOW(6) - INTERVAL 62 SECOND"
	    " WHERE request_id = %" PRIu64, id);
	(void)add_request(TASK, 2, 1);
	sql("UPDATE work_requested SET seen_at = NOW(6) - INTERVAL 55 SECOND"
	    " WHERE request_id = %" PRIu64, request_of(TASK, 2));
	leader = ask_now(0, TASK, 1);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 1), "expired");
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_string_equal(loans_of(1), "NULL");
	assert_int_equal(u64("SELECT epoch FROM work_requested WHERE request_id = %" PRIu64, id),
	    1);
}

/* guard: the leader's own request does not expire, however long its query takes. */
static void
the_leaders_own_request_does_not_expire(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 5);
	set_task(TASK, "request_ttl = 60");
	leader = leader_after_its_query(0, 1);
	sql("UPDATE work_requested SET seen_at = NOW(6) - INTERVAL 1 HOUR WHERE task_id = %d",
	    TASK);
	go_on(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.assigned, 1);
}

static void
a_clock_that_stepped_back_expires_nobody(void **state)
{
	(void)state;
	add_loans(TASK, 5);
	(void)add_request(TASK, 1, 1);
	sql("UPDATE work_requested SET seen_at = NOW(6) + INTERVAL 5 SECOND WHERE task_id = %d",
	    TASK);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 1), "served");
}

static void
a_lease_that_ran_out_goes_out_again(void **state)
{
	struct worker *w;

	(void)state;
	set_task(TASK, "lease_minutes = 5");
	add_loans(TASK, 1);
	add_work(TASK, 1, 1, "assigned", 1);
	sql("UPDATE work SET token = 9, lease_expires_at = NOW(6) - INTERVAL 1 SECOND"
	    " WHERE task_id = %d", TASK);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(holder_of(1), user_id(0));
	assert_int_equal(u64("SELECT version FROM work WHERE task_id = %d", TASK), 3);
	/* The expiry and the assignment are logged in this order. guard: a token is above every
	 * earlier one of its loan. */
	assert_string_equal(text_of("SELECT GROUP_CONCAT(event, ':', user_id = %u, ':', token, ':',"
	    " version ORDER BY log_id) FROM work_log WHERE task_id = %d", user_id(1), TASK),
	    "expired:1:9:2,assigned:0:10:3");
}

/* guard: loans are never written by an upsert. Another user gets the loan after the leader's check
 * and keeps it; the leader gets another loan. */
static void
a_row_is_never_overwritten(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 2);
	leader = worker_new(0, TASK, 1, 0);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "CALL work_opens", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	add_work(TASK, 1, 1, "assigned", 1);
	go_on(leader);
	assert_int_equal(holder_of(1), user_id(1));
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.n_loans, 1);
	assert_int_equal(leader->answer.loans[0].loan_id, 2);
	assert_true(leader->answer.retries > 0);
}

/* guard: affected rows must equal the plan. A list with a loan twice would give the loan to two
 * users, so the transaction fails. */
static void
what_is_changed_must_be_what_was_planned(void **state)
{
	struct worker *w = worker_connected(0, TASK, 1);
	struct inside_request request = inside_new_request(user(0));
	struct inside_round *round = inside_round_new(w->q, TASK);
	struct inside_holder holder;
	bool leads = false;

	(void)state;
	add_work(TASK, 1, 1, "completed", 5);
	(void)add_request(TASK, 1, 1);
	assert_int_equal(inside_record(inside_lock_connection(w->q), TASK, 1, &request), DB_OK);
	assert_int_equal(inside_try(round, &request, &leads, &holder), DB_OK);
	assert_true(leads);
	assert_int_equal(inside_give_twice(round, &request, 1, 5), DB_ERETRY);
	inside_round_free(round);
	db_rollback(inside_lock_connection(w->q));
	assert_int_equal(pending(), 2);
	assert_int_equal(u64("SELECT version FROM work WHERE task_id = %d", TASK), 5);
}

/* guard: after a deadlock the transaction is tried again as a whole, with the same list. The heavy
 * query runs once. */
static void
a_deadlock_is_tried_again(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader;

	(void)state;
	add_loans(TASK, 3);
	leader = worker_new(0, TASK, 1, 0);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "CALL work_opens", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	/* The server ends the transaction that changed fewer rows, so @other changes many. @other
	 * holds the row that the leader waits for, then waits for the leader. */
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "UPDATE test_number SET n = n + 1000000 ORDER BY n DESC");
	sql_on(other, "INSERT INTO work (task_id, loan_id, user_id, state, token, version,"
	    " request_id, assigned_at, changed_at)"
	    " VALUES (%d, 1, %u, 'assigned', 1, 1, 1, NOW(6), NOW(6))", TASK, user_id(1));
	proxy_release(leader->proxy);
	db_sleep_ms(300);
	(void)u64_on(other, "SELECT epoch FROM task_lock WHERE task_id = %d FOR UPDATE", TASK);
	db_rollback(other);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.n_loans, 1);
	assert_int_equal(proxy_count(leader->proxy, QUERY), 1);
	assert_int_equal(rounds_of(TASK), 1);
	assert_true(u64("SELECT retries FROM leader_run WHERE task_id = %d", TASK) > 0);
}

/* guard: a loan that a round gave leaves the list only after the commit. A lock wait runs out after
 * all loans were written: the next try gives the same loans, without another query. */
static void
a_retry_after_assigning_has_the_whole_list(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader;

	(void)state;
	add_loans(TASK, 2);
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "INSERT INTO leader_run (task_id, epoch, user, how, started_at, ended_at)"
	    " VALUES (%d, 1, 'x', 'query', NOW(6), NOW(6))", TASK);
	leader = worker_new(0, TASK, 2, 0);
	leader->proxy = proxy_new();
	worker_start(leader);
	/* @other holds the row of leader_run until the leader's lock wait is over. */
	while (proxy_count(leader->proxy, "=ROLLBACK") == 0 && !leader->done)
		db_sleep_ms(10);
	db_rollback(other);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.n_loans, 2);
	assert_int_equal(leader->answer.loans[0].loan_id, 1);
	assert_int_equal(proxy_count(leader->proxy, QUERY), 1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(first_come_first_served),
		DB_TEST(what_an_answer_says),
		DB_TEST(what_is_written),
		DB_TEST(not_enough_is_partial),
		DB_TEST(nothing_is_empty_as_of_the_query),
		DB_TEST(many_more_than_before_the_query),
		DB_TEST(a_leaders_answer_is_what_the_tables_say),
		DB_TEST(a_cut_list_says_nothing_of_the_rest),
		DB_TEST(after_a_drop_nothing_is_not_known),
		DB_TEST(what_somebody_has_is_no_doubt),
		DB_TEST(after_a_drop_who_does_not_wait_stays_pending),
		DB_TEST(completed_since_the_query_is_dropped),
		DB_TEST(appeared_since_the_query_is_dropped),
		DB_TEST(a_held_row_is_not_waited_for),
		DB_TEST(a_held_row_is_not_taken_for_absent),
		DB_TEST(a_row_that_is_being_inserted_is_not_waited_for),
		DB_TEST(who_comes_during_the_query_is_served_with_it),
		DB_TEST(who_comes_while_loans_are_written_is_served_too),
		DB_TEST(a_leader_that_writes_does_not_block_requests),
		DB_TEST(the_session_is_pinned),
		DB_TEST(a_request_that_is_being_cancelled_is_passed_over),
		DB_TEST(who_left_gets_nothing),
		DB_TEST(the_leaders_own_request_does_not_expire),
		DB_TEST(a_clock_that_stepped_back_expires_nobody),
		DB_TEST(a_lease_that_ran_out_goes_out_again),
		DB_TEST(a_row_is_never_overwritten),
		DB_TEST(what_is_changed_must_be_what_was_planned),
		DB_TEST(a_deadlock_is_tried_again),
		DB_TEST(a_retry_after_assigning_has_the_whole_list),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("assign", tests, suite_setup, suite_teardown);
}
