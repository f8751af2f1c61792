/* SPDX-License-Identifier: MIT */
/* Lost connections, processes that are killed or stopped, and commits in doubt. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "support.h"

enum { HEAVY_MS = 6000, LONG_S = 31 /* more than PATIENCE_MS of lib/handle/bounds.h */,
	SHUT_DOWN = 1053 };

static uint64_t
log_rows(void)
{
	return u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK);
}

static void
assert_served_once(const struct worker *w)
{
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(log_rows(), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 1);
}

/* The commit was done and its answer was lost. The call finds this in its own row. */
static void
a_commit_whose_answer_is_lost(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_cut(w->proxy, "=COMMIT", 1, CUT_AFTER);
	worker_start(w);
	worker_join(w);
	assert_served_once(w);
	assert_int_equal(rounds_of(TASK), 1);
	assert_int_equal(w->answer.epoch, 1);
}

/* The commit was never done, so the call does everything again. */
static void
a_commit_that_never_came(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_cut(w->proxy, "=COMMIT", 1, CUT_BEFORE);
	worker_start(w);
	worker_join(w);
	assert_served_once(w);
	assert_int_equal(rounds_of(TASK), 1);
}

/* Waits until the call waits for its request's row. Without the guard the call leads again instead,
 * and the test's assertions have to say so. */
static void
until_it_waits_or_begins_again(const struct worker *w)
{
	uint64_t start = db_clock_ms();

	while (waiting_for("work_requested") == 0 && !w->done &&
	    proxy_count(w->proxy, "SELECT l.holder") == 1) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(1);
	}
}

/* guard: a commit in doubt is read with a lock, since the old connection may still be committing. A
 * plain read that finds nothing proves nothing. */
static void
a_commit_that_comes_late(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_hold_and_cut(w->proxy, "=COMMIT", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	until_it_waits_or_begins_again(w);
	/* Nothing is begun again until the outcome is known. */
	db_sleep_ms(500);
	assert_int_equal(proxy_count(w->proxy, "SELECT epoch, NOW(6)"), 1);
	assert_int_equal(proxy_count(w->proxy, "SELECT l.holder"), 1);
	assert_false(w->done);
	proxy_release(w->proxy);
	worker_join(w);
	assert_served_once(w);
	assert_int_equal(rounds_of(TASK), 1);
}

/* The connection is gone before the call, and for a moment there is no other one. */
static void
a_connection_lost_before_the_call(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_refuse(w->proxy);
	proxy_drop(w->proxy);
	worker_start(w);
	db_sleep_ms(500);
	assert_false(w->done);
	proxy_accept(w->proxy);
	worker_join(w);
	assert_served_once(w);
}

static void
a_server_that_is_full_before_the_call(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_crowd(w->proxy, true);
	proxy_drop(w->proxy);
	worker_start(w);
	proxy_until_crowded(w->proxy, 2);
	assert_false(w->done);
	proxy_crowd(w->proxy, false);
	worker_join(w);
	assert_served_once(w);
}

/* What the call before has set for its waits does not hold for this one. */
static void
the_lock_wait_of_an_earlier_call(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	worker_connect(w);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->answer.led, 1);
	assert_int_equal(proxy_count(w->proxy, "SET SESSION innodb_lock_wait_timeout = 1,"), 0);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(proxy_count(w->proxy, "SET SESSION innodb_lock_wait_timeout = 1,"), 1);
	assert_true(proxy_position(w->proxy, "SET SESSION innodb_lock_wait_timeout = 1,", 1) <
	    proxy_position(w->proxy, "INSERT INTO request_in", 2));
}

/* The outcome can't be found out, so the call reports that it is unknown. */
static void
a_commit_that_nobody_can_tell_of(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 1000);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "=COMMIT", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	proxy_refuse(w->proxy);
	proxy_drop(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_EUNKNOWN);
	assert_int_equal(w->answer.status, LOCKQ_STATUS_UNKNOWN);
	assert_int_not_equal(w->answer.request_id, 0);
	assert_non_null(strstr(w->error, "outcome unknown"));
}

/* The connection is lost at another statement. Nothing was written, and the call does everything
 * again. */
static void
a_connection_lost_at_any_statement(void **state)
{
	static const char *const statements[] = {
		"r.outcome, l.epoch", "=START TRANSACTION", "SELECT epoch, NOW(6)",
		"SET epoch = ?", "FROM wake_in WHERE task_id = ? FOR UPDATE",
		"AS r FORCE INDEX (work_requested_line)", "CALL work_opens",
		"outcome VARCHAR(16) PATH", "INSERT INTO run_in", "SET holder = NULL"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		for (int after = 0; after < 2; after++) {
			struct worker *w = worker_new(0, TASK, 2, 0);

			clear_fixture();
			make_task(TASK);
			add_loans(TASK, 5);
			w->proxy = proxy_new();
			proxy_cut(w->proxy, statements[i], 1, after ? CUT_AFTER : CUT_BEFORE);
			worker_start(w);
			worker_join(w);
			if (w->rc != LOCKQ_OK)
				print_error("%s: %s\n", statements[i], w->error);
			assert_served_once(w);
			proxies_end();
			workers_end();
		}
	}
}

/* guard: a call that does not wait does not take its own lost session for a leader. The server has
 * not ended that session yet, so the dirty read shows the call's own round. */
static void
its_own_lost_round_is_no_leader(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);
	uint64_t start = db_clock_ms();

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_hold_and_cut(w->proxy, "AS r FORCE INDEX (work_requested_line)", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	/* The first attempt, the one after the loss, and one more. */
	while (!w->done && proxy_count(w->proxy, "SELECT l.holder") < 3) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(1);
	}
	proxy_release(w->proxy);
	worker_join(w);
	assert_served_once(w);
}

/* Returns when the session has ended. A statement that comes before that may still be answered. */
static void
end_session(struct db *killer, struct db *session)
{
	uint64_t id = db_connection_id(session);

	sql_on(killer, "KILL %" PRIu64, id);
	until_on(administrator(), "SELECT COUNT(*) = 0 FROM information_schema.processlist"
	    " WHERE id = %" PRIu64, id);
}

/* guard: a handle's connection is checked before each use, since wait_timeout or a KILL may have
 * ended it. */
static void
an_idle_handle_connects_again(void **state)
{
	struct db *killer = connect_as(worker_group());
	struct worker *w = worker_connected(0, TASK, 2);
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;

	(void)state;
	add_loans(TASK, 8);
	for (int i = 0; i < 2; i++) {
		end_session(killer, inside_lock_connection(w->q));
		worker_start(w);
		worker_join(w);
		assert_int_equal(w->rc, LOCKQ_OK);
	}
	/* The query connection of an earlier call may have ended, too. */
	end_session(killer, inside_query_connection(w->q));
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT how = 'query' FROM leader_run WHERE task_id = %d"
	    " AND epoch = 3", TASK), 1);
	/* The second look changes nothing in its session before it asks. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(lockq_pipeline(w->q, user(0), TASK, &pipeline), LOCKQ_OK);
		lockq_pipeline_clear(&pipeline);
		end_session(killer, inside_lock_connection(w->q));
	}
	assert_int_equal(lockq_pipeline(w->q, user(0), TASK, &pipeline), LOCKQ_OK);
	lockq_pipeline_clear(&pipeline);
}

static uint64_t
refusals(void)
{
	return u64_on(administrator(), "SELECT variable_value FROM"
	    " performance_schema.global_status WHERE variable_name = 'Locked_connects'");
}

/* guard: a server that refuses a handle which it took before goes down, or is on its way up again,
 * so the call looks for it as if it were away. */
static void
a_server_that_refuses_for_a_moment(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);
	uint64_t before;

	(void)state;
	if (administrator() == NULL)
		skip();
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "SELECT epoch, NOW(6)", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	before = refusals();
	sql_on(administrator(), "ALTER USER lockq_app@localhost ACCOUNT LOCK");
	proxy_drop(w->proxy);
	while (refusals() == before && !w->done)
		db_sleep_ms(2);
	sql_on(administrator(), "ALTER USER lockq_app@localhost ACCOUNT UNLOCK");
	worker_join(w);
	assert_served_once(w);
}

/* guard: a connection of another server is never ended, and neither is a connection of a server
 * that was restarted. Connection numbers begin anew there, so the number may belong to another
 * client. */
static void
only_its_own_given_up_connection_is_ended(void **state)
{
	struct db *victim = connect_as(worker_group()), *killer = connect_as(worker_group());

	(void)state;
	assert_int_equal(inside_end_given_up(killer, victim, INSIDE_OTHER_SERVER), DB_OK);
	assert_int_equal(db_ping(victim), DB_OK);
	assert_int_equal(inside_end_given_up(killer, victim, INSIDE_SERVER_RESTARTED), DB_OK);
	assert_int_equal(db_ping(victim), DB_OK);
	assert_int_equal(inside_end_given_up(killer, victim, INSIDE_SAME), DB_OK);
	assert_int_equal(db_ping(victim), DB_ELOST);
}

static void
a_follower_whose_connection_is_lost_goes_on(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0), *waits = worker_new(1, TASK, 1, 15000);

	(void)state;
	add_loans(TASK, 5);
	leader->proxy = proxy_new();
	waits->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	worker_start(waits);
	while (proxy_count(waits->proxy, QUERY) == 0)
		db_sleep_ms(2);
	proxy_drop(waits->proxy);
	while (proxy_count(waits->proxy, QUERY) == 1 && !waits->done)
		db_sleep_ms(2);
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_int_equal(waits->answer.epoch, leader->answer.epoch);
	assert_int_equal(rounds_of(TASK), 1);
}

/* guard: the heavy query has its own connection. The lock connection is idle, so the server notices
 * at once that the process died. Else the lock would be held until the query ends. */
static void
a_killed_leader_frees_the_lock_at_once(void **state)
{
	struct db *watcher = connect_as(worker_group());
	struct worker *w = worker_new(0, TASK, 1, 0), *next;
	uint64_t start, orphan;
	int pid;

	(void)state;
	add_loans(TASK, 3);
	make_task(TASK + 2);
	add_loans(TASK + 2, 3);
	make_heavy(TASK, HEAVY_MS);
	pid = worker_fork(w);
	until("SELECT COALESCE(IS_USED_LOCK(%s), 0) > 0", query_lock_name(TASK));
	orphan = u64("SELECT IS_USED_LOCK(%s)", query_lock_name(TASK));
	until_on(watcher, "SELECT COUNT(*) = 1 FROM information_schema.processlist WHERE id = %"
	    PRIu64 " AND state = 'executing' AND info LIKE '%%test\\_view\\_%%'", orphan);
	/* The next leader's query must be a quick one. */
	set_task(TASK, "candidates_view = 'test_view_%d'", TASK + 2);
	kill(pid, SIGKILL);
	start = db_clock_ms();
	assert_int_equal(worker_reap(pid), -1);
	until_free(TASK);
	assert_true(db_clock_ms() - start < HEAVY_MS / 3);
	/* The dead leader's query still runs. The next leader ends it and serves both requests. */
	assert_int_equal(u64("SELECT IS_USED_LOCK(%s)", query_lock_name(TASK)), orphan);
	next = worker_new(1, TASK, 1, 0);
	worker_start(next);
	worker_join(next);
	assert_int_equal(u64_on(watcher, "SELECT COUNT(*) FROM information_schema.processlist"
	    " WHERE id = %" PRIu64, orphan), 0);
	assert_int_equal(next->rc, LOCKQ_OK);
	assert_int_equal(next->answer.epoch, 1);
	assert_string_equal(outcome_of(TASK, 0), "served");
}

/* guard: wait_timeout is short. A stopped leader loses its lock, writes nothing when it wakes up,
 * and reports what its own row says. guard: the lock connection is pinged during the query. A
 * leader that is not stopped keeps its lock.
 * A handle that was idle for longer than wait_timeout connects again. All three are tested in one
 * wait. */
static void
a_stopped_leader_loses_its_lock(void **state)
{
	struct worker *idle = worker_connected(3, OTHER_TASK + 1, 1);
	struct worker *stopped = worker_new(0, TASK, 1, 0);
	struct worker *alive = worker_new(1, OTHER_TASK, 1, 0);
	struct db *gate = connect_as(OWNER_GROUP);
	struct worker *next;
	uint64_t start;
	int pid;

	(void)state;
	add_loans(TASK, 3);
	add_loans(OTHER_TASK, 3);
	make_task(OTHER_TASK + 1);
	add_loans(OTHER_TASK + 1, 3);
	stopped->proxy = proxy_new();
	proxy_hold(stopped->proxy, QUERY, 1);
	pid = worker_fork(stopped);
	proxy_until_held(stopped->proxy);
	kill(pid, SIGSTOP);
	start = db_clock_ms();
	/* The query waits for this name on the server, and uses no processor time. */
	assert_int_equal(u64_on(gate, "SELECT GET_LOCK('lockq-test-gate', 0)"), 1);
	set_view(OTHER_TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d"
	    " AND GET_LOCK('lockq-test-gate', 60) = 1", OTHER_TASK);
	alive->proxy = proxy_new();
	worker_start(alive);
	until_free(TASK);
	assert_in_range(db_clock_ms() - start, 5000, 2 * PATIENCE_MS);
	next = ask_now(2, TASK, 1);
	assert_int_equal(next->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 0), "served");
	kill(pid, SIGCONT);
	proxy_release(stopped->proxy);
	assert_int_equal(worker_reap(pid), LOCKQ_OK);
	assert_int_equal(log_rows(), 2);
	assert_int_equal(rounds_of(TASK), 1);

	while (db_clock_ms() - start < 1000 * DB_WAIT_TIMEOUT_S + 1500)
		db_sleep_ms(50);
	assert_int_equal(u64_on(gate, "SELECT RELEASE_LOCK('lockq-test-gate')"), 1);
	worker_join(alive);
	assert_int_equal(alive->rc, LOCKQ_OK);
	assert_int_equal(proxy_count(alive->proxy, QUERY), 1);
	assert_int_equal(alive->answer.epoch, 1);

	worker_start(idle);
	worker_join(idle);
	assert_int_equal(idle->rc, LOCKQ_OK);
}

/* guard: the session lives through a rest that is longer than the server keeps an idle one. It
 * rests for as long as the query took, since another session holds the only loan. */
static void
a_rest_keeps_its_session(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, -1);
	struct db *other = connect_as(OWNER_GROUP);
	size_t pings;

	(void)state;
	add_loan(TASK, 1, 1);
	add_work(TASK, 1, 5, "returned", 3);
	make_slow(TASK, DB_PING_EVERY_S + 1);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d FOR UPDATE", TASK);
	w->proxy = proxy_new();
	worker_start(w);
	until("SELECT COUNT(*) > 0 FROM leader_run WHERE task_id = %d", TASK);
	pings = proxy_count(w->proxy, "DO 0");
	while (proxy_count(w->proxy, "DO 0") == pings && !w->done)
		db_sleep_ms(2);
	assert_int_equal(proxy_count(w->proxy, QUERY), 1);
	db_rollback(other);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 1);
}

/* guard: failures before a long query do not count as those after it. The second query is short. */
static void
a_trouble_that_is_over(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, -1);

	(void)state;
	add_loans(TASK, 5);
	make_slow(TASK, LONG_S);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "left_pending  FROM task_lock", 1, DB_TRIES, SHUT_DOWN);
	proxy_hold_and_cut(w->proxy, "SET holder = NULL", 1);
	worker_start(w);
	until_led(TASK);
	db_sleep_ms(LONG_S * 1000);
	proxy_until_held(w->proxy);
	make_slow(TASK, 0);
	proxy_release(w->proxy);
	worker_join(w);
	assert_served_once(w);
	assert_int_equal(proxy_count(w->proxy, QUERY), 2);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_commit_whose_answer_is_lost),
		DB_TEST(a_commit_that_never_came),
		DB_TEST(a_commit_that_comes_late),
		DB_TEST(a_connection_lost_before_the_call),
		DB_TEST(a_server_that_is_full_before_the_call),
		DB_TEST(the_lock_wait_of_an_earlier_call),
		DB_TEST(a_commit_that_nobody_can_tell_of),
		DB_TEST(a_connection_lost_at_any_statement),
		DB_TEST(its_own_lost_round_is_no_leader),
		DB_TEST(an_idle_handle_connects_again),
		DB_TEST(a_server_that_refuses_for_a_moment),
		DB_TEST(only_its_own_given_up_connection_is_ended),
		DB_TEST(a_follower_whose_connection_is_lost_goes_on),
		DB_TEST(a_killed_leader_frees_the_lock_at_once),
		DB_TEST(a_stopped_leader_loses_its_lock),
		DB_TEST(a_rest_keeps_its_session),
		DB_TEST(a_trouble_that_is_over),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("lost", tests, suite_setup, suite_teardown);
}
