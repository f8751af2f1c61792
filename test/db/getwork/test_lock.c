/* SPDX-License-Identifier: MIT */
/* Steps 2 and 3: which call leads, and what a locked row means. */
#include <string.h>

#include "support.h"

/* A call that has recorded its request and tried the lock, and does nothing else. */
struct tried {
	struct worker *worker;
	struct inside_round *round;
	struct inside_holder holder;
	bool leads;
};

static struct inside_request
recorded(struct worker *w)
{
	struct inside_request request = inside_new_request(w->ask.user);

	assert_int_equal(inside_record(inside_lock_connection(w->q), w->ask.task, w->ask.count,
	    &request), DB_OK);
	return request;
}

static struct tried
try_lock(struct worker *w)
{
	struct inside_request request = recorded(w);
	struct tried tried = { .worker = w, .round = inside_round_new(w->q, w->ask.task) };

	assert_non_null(tried.round);
	assert_int_equal(inside_try(tried.round, &request, &tried.leads, &tried.holder), DB_OK);
	return tried;
}

static void
a_free_lock_is_taken(void **state)
{
	struct tried t = try_lock(worker_connected(0, TASK, 1));
	struct inside_holder holder;

	(void)state;
	assert_true(t.leads);
	assert_int_equal(inside_epoch(t.round), epoch_of(TASK) + 1);
	assert_int_equal(inside_holder(owner(), TASK, &holder), DB_OK);
	assert_true(holder.held);
	assert_string_equal(holder.name, user(0));
	/* guard: holder is cleared before COMMIT. */
	assert_int_equal(inside_commit(t.round), DB_OK);
	assert_int_equal(u64("SELECT epoch FROM task_lock WHERE task_id = %d AND holder IS NULL"
	    " AND since IS NULL", TASK), inside_epoch(t.round));
	inside_round_free(t.round);
}

/* guard: the holder is read with a dirty read. A task is "busy" if it has a holder. */
static void
a_led_task_is_busy(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *w = worker_new(0, TASK, 1, 0);
	struct tried t;

	(void)state;
	w->proxy = proxy_new();
	worker_connect(w);
	db_sleep_ms(30);
	t = try_lock(w);
	assert_false(t.leads);
	assert_true(t.holder.held);
	assert_int_equal(proxy_count(w->proxy, "SELECT l.holder"), 1);
	assert_string_equal(t.holder.name, "by hand");
	assert_in_range(t.holder.ms, 30, 5000);
	db_rollback(leader.lock);
	inside_round_free(t.round);
}

/* guard: a task without its row in task_lock is not busy: it gets its row. Its epoch goes on where
 * leader_run has ended. */
static void
a_missing_row_is_made(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	sql("DELETE FROM task_lock WHERE task_id = %d", TASK);
	sql("DELETE FROM task_wake WHERE task_id = %d", TASK);
	sql("INSERT INTO leader_run (task_id, epoch, user, how, started_at, ended_at)"
	    " VALUES (%d, 41, 'x', 'query', NOW(6), NOW(6))", TASK);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.epoch, 42);
	assert_int_equal(u64("SELECT COUNT(*) FROM task_wake WHERE task_id = %d", TASK), 1);
}

/* The place of a new task's row is held, as by a manager's own locking read. */
static void
a_row_that_can_not_be_made_is_waited_for(void **state)
{
	struct db *manager = connect_as(OWNER_GROUP);
	struct worker *w = worker_new(0, TASK, 1, 1000);

	(void)state;
	add_loans(TASK, 3);
	sql("DELETE FROM task_lock WHERE task_id = %d", TASK);
	sql_on(manager, "SET SESSION transaction_isolation = 'REPEATABLE-READ'");
	assert_int_equal(db_begin(manager), DB_OK);
	assert_int_equal(u64_on(manager, "SELECT COUNT(*) FROM (SELECT epoch FROM task_lock"
	    " WHERE task_id = %d FOR UPDATE) AS gap", TASK), 0);
	worker_start(w);
	worker_join(w);
	db_rollback(manager);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
}

/* guard: a name in a committed row is nobody's. A worker's raw SQL has left it there. */
static void
a_committed_holder_leads_nobody(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	sql("UPDATE task_lock SET epoch = epoch + 1, holder = 'nobody', since = NOW(6),"
	    " wakes = TRUE WHERE task_id = %d", TASK);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_true(w->answer.led);
	assert_int_equal(u64("SELECT COUNT(*) FROM task_lock WHERE task_id = %d"
	    " AND holder IS NOT NULL", TASK), 0);
}

/* guard: an epoch is above those of all rounds that are noted, or the task could not be led. */
static void
a_round_that_never_was_stops_nobody(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	sql("INSERT INTO leader_run (task_id, epoch, user, how, started_at, ended_at)"
	    " VALUES (%d, 41, 'x', 'query', NOW(6), NOW(6))", TASK);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.epoch, 42);
	assert_int_equal(epoch_of(TASK), 42);
}

/* guard: a locked row without a holder is not taken for a leader. The row is locked for a moment
 * only, by a session that would not serve this call. So a call that does not wait tries again. */
static void
a_momentary_lock_is_tried_again(void **state)
{
	struct db *moment = connect_as(OWNER_GROUP);
	struct worker *w = worker_new(0, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	assert_int_equal(db_begin(moment), DB_OK);
	(void)u64_on(moment, "SELECT epoch FROM task_lock WHERE task_id = %d FOR UPDATE", TASK);
	worker_start(w);
	while (proxy_count(w->proxy, "SELECT l.holder") < 2 && !w->done)
		db_sleep_ms(1);
	db_rollback(moment);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_true(w->answer.led);
}

/* guard: while the lock is tried again, the call looks at its own row, and finds that it was
 * served. */
static void
served_during_a_momentary_lock(void **state)
{
	struct db *moment = connect_as(OWNER_GROUP);
	struct worker *w = worker_new(0, TASK, 1, 0);

	(void)state;
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "SELECT l.holder", 2);
	assert_int_equal(db_begin(moment), DB_OK);
	(void)u64_on(moment, "SELECT epoch FROM task_lock WHERE task_id = %d FOR UPDATE", TASK);
	worker_start(w);
	proxy_until_held(w->proxy);
	sql("UPDATE work_requested SET outcome = 'empty', requested = 0, epoch = 7"
	    " WHERE task_id = %d", TASK);
	proxy_release(w->proxy);
	worker_join(w);
	db_rollback(moment);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(proxy_count(w->proxy, "SELECT l.holder"), 2);
	assert_int_equal(rounds_of(TASK), 0);
}

/* guard: a call looks at its own row before it leads. A round that ended just now has served it, so
 * the call must not run the heavy query. */
static void
served_before_the_lock_does_not_lead(void **state)
{
	struct worker *late = worker_new(0, TASK, 1, 0), *leader;

	(void)state;
	add_loans(TASK, 3);
	late->proxy = proxy_new();
	proxy_hold(late->proxy, "SELECT epoch, NOW(6)", 1);
	worker_start(late);
	proxy_until_held(late->proxy);
	leader = ask_now(1, TASK, 1);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 0), "served");
	proxy_release(late->proxy);
	worker_join(late);
	assert_int_equal(late->rc, LOCKQ_OK);
	assert_false(late->answer.led);
	assert_int_equal(rounds_of(TASK), 1);
	assert_int_equal(epoch_of(TASK), 1);
}

/* guard: a leader that can't have the wake row leads without it. A session holds the row of
 * task_wake, and the leader waits a second for it. */
static void
a_stuck_wake_row_does_not_stop_a_leader(void **state)
{
	struct leader_by_hand stuck = lead_by_hand(TASK, false, true);
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_in_range(w->ms, 900, 3000);
	db_rollback(stuck.wake);
}

/* A leader's epoch counts only once it is committed. The epoch of a leader that was cut off is used
 * again. */
static void
an_aborted_epoch_is_used_again(void **state)
{
	struct worker *first = worker_new(0, TASK, 1, 0), *second;

	(void)state;
	add_loans(TASK, 3);
	(void)ask_now(1, TASK, 1);
	first->proxy = proxy_new();
	proxy_hold(first->proxy, QUERY, 1);
	worker_start(first);
	proxy_until_held(first->proxy);
	assert_int_equal(u64("SELECT COUNT(*) FROM task_lock WHERE task_id = %d AND epoch = 1",
	    TASK), 1);
	/* The first call reconnects after its connections are cut, but it gives up, so the second
	 * call leads. */
	first->give_up = true;
	proxy_drop(first->proxy);
	worker_join(first);
	second = ask_now(2, TASK, 1);
	assert_int_equal(second->rc, LOCKQ_OK);
	assert_int_equal(second->answer.epoch, 2);
}

/* guard: the request is not read in the lock's transaction. That transaction would hold the
 * metadata lock of work_requested during the heavy query, and a waiting ALTER would stall every
 * INSERT. */
static void
an_alter_does_not_stall_requests(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0), *other;
	struct worker *waits = worker_new(2, TASK, 1, -1);
	struct db *db = connect_as(OWNER_GROUP);

	(void)state;
	add_loans(TASK, 3);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	/* A follower that waits for the leader's commit does not stall the ALTER either. */
	worker_start(waits);
	until_waiting_for("task_wake", 1);
	sql_on(db, "SET SESSION lock_wait_timeout = 1");
	assert_int_equal(try_sql(db, "ALTER TABLE work_requested COMMENT 'altered'"), DB_OK);
	assert_int_equal(try_sql(db, "ALTER TABLE work_requested COMMENT ''"), DB_OK);
	other = ask_now(1, TASK, 1);
	assert_int_equal(other->rc, LOCKQ_BUSY);
	assert_true(other->ms < NO_LOCK_WAIT_MS);
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(waits);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 1), "served");
}

/* guard: nothing references task_lock. A reference would make the INSERT of a request wait for the
 * row that the leader holds, for the whole heavy query. */
static void
a_request_is_recorded_while_somebody_leads(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *w = worker_connected(0, TASK, 1);
	uint64_t start = db_clock_ms();

	(void)state;
	(void)recorded(w);
	assert_true(db_clock_ms() - start < NO_LOCK_WAIT_MS);
	db_rollback(leader.lock);
}

static void
nothing_references_the_rows_of_the_lock(void **state)
{
	(void)state;
	assert_int_equal(u64("SELECT COUNT(*) FROM information_schema.key_column_usage"
	    " WHERE table_schema = DATABASE()"
	    " AND referenced_table_name IN ('task_lock', 'task_wake')"), 0);
}

/* guard: making a new task's rows locks nothing that other tasks' leaders write, in a manager's
 * open transaction too. The new task has the highest number, so a gap lock behind the last row
 * would hit all leaders. */
static void
a_new_task_stops_no_leader(void **state)
{
	struct db *manager = connect_as(OWNER_GROUP);
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	sql_on(manager, "SET SESSION transaction_isolation = 'REPEATABLE-READ'");
	assert_int_equal(db_begin(manager), DB_OK);
	sql_on(manager, "INSERT INTO task (task_id, name, candidates_view)"
	    " VALUES (4000000000, 'new', 'test_view_%d')", TASK);
	sql_on(manager, "CALL task_rows(4000000000)");
	if (administrator() != NULL)
		assert_int_equal(u64_on(administrator(), "SELECT COUNT(*)"
		    " FROM performance_schema.data_locks WHERE object_name = 'leader_run'"), 0);
	w = ask_now(0, TASK, 1);
	db_rollback(manager);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.retries, 0);
}

/* guard: locks are taken in the lock order: task_lock, task_wake, work_requested, work,
 * work_log. New rows of `work`, which nobody can have locked, come after those of the log. */
static void
locks_are_taken_in_order(void **state)
{
	static const char *const order[] = {
		"SELECT epoch, NOW(6)", "FROM wake_in WHERE task_id = ? FOR UPDATE",
		"SET epoch = ?", QUERY,
		"AS r FORCE INDEX (work_requested_line)", "FOR UPDATE OF w SKIP LOCKED",
		"'assigned', j.user_id, r.account", "CALL work_opens", "CALL work_moves",
		"SET holder = NULL", "=COMMIT"
	};
	struct worker *w = worker_new(0, TASK, 2, 0);
	size_t last = 0;

	(void)state;
	add_loans(TASK, 3);
	add_work(TASK, 1, 1, "completed", 3);
	w->proxy = proxy_new();
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		size_t position = proxy_position(w->proxy, order[i], 1);

		if (position == SIZE_MAX || position < last)
			print_error("%s\n", order[i]);
		assert_true(position != SIZE_MAX);
		assert_true(position >= last);
		last = position;
	}
	/* The heavy query runs on another connection than the lock's. */
	assert_int_not_equal(proxy_connection(w->proxy, proxy_position(w->proxy, order[3], 1)),
	    proxy_connection(w->proxy, proxy_position(w->proxy, order[0], 1)));
}

/* guard: the request is not read in the lock's transaction where no second connection can be
 * had, either. An ALTER would wait for the query, and requests for the ALTER. */
static void
an_alter_beside_a_leader_with_one_connection(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, -1);
	struct db *alters = connect_as(OWNER_GROUP);
	int rc;

	(void)state;
	add_loans(TASK, 3);
	leader->proxy = proxy_new();
	worker_connect(leader);
	proxy_crowd(leader->proxy, true);
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	sql_on(alters, "SET SESSION lock_wait_timeout = 1");
	rc = try_sql(alters, "ALTER TABLE work_requested COMMENT = 'altered'");
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(rc, DB_OK);
	assert_int_equal(try_sql(alters, "ALTER TABLE work_requested COMMENT = ''"), DB_OK);
	assert_int_equal(rounds_of(TASK), 1);
	assert_int_equal(epoch_of(TASK), 1);
}

/* guard: followers take no shared lock on task_lock. They only try the lock, and read the row
 * without a lock. */
static void
a_follower_shares_nothing_of_the_lock(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *w = worker_new(0, TASK, 1, 1300);

	(void)state;
	w->proxy = proxy_new();
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_true(proxy_count(w->proxy, "task_lock") > 0);
	assert_int_equal(proxy_count(w->proxy, "task_lock"),
	    proxy_count(w->proxy, "FOR UPDATE SKIP LOCKED") +
	    proxy_count(w->proxy, "SELECT l.holder") +
	    proxy_count(w->proxy, "SELECT epoch FROM task_lock WHERE task_id = ?") +
	    proxy_count(w->proxy, "r.outcome, l.epoch"));
	db_rollback(leader.lock);
}

static uint64_t
rows_read(struct db *db)
{
	return u64_on(db, "SELECT SUM(variable_value) FROM performance_schema.session_status"
	    " WHERE variable_name LIKE 'Handler\\_read%%'");
}

/* guard: whoever leads reads the last epoch of the task's rounds and lists, and not all of them. */
static void
the_rounds_before_cost_nothing(void **state)
{
	struct db *db = connect_as(OWNER_GROUP);
	uint64_t reads;

	(void)state;
	sql("INSERT INTO leader_run (task_id, epoch, user, how, started_at, ended_at)"
	    " SELECT %d, n + 1, 'before', 'query', NOW(6), NOW(6) FROM test_number"
	    " WHERE n < 900", TASK);
	sql("UPDATE task_lock SET epoch = 900 WHERE task_id = %d", TASK);
	reads = rows_read(db);
	sql_on(db, "UPDATE lead_in SET epoch = 901, holder = 'test' WHERE task_id = %d", TASK);
	assert_in_range(rows_read(db) - reads, 1, 500);
}

/* For lockq_on_overtime(): as if another process led on. */
static int
leave(const int *sockets, size_t n_sockets, void *data)
{
	(void)sockets;
	(void)n_sockets;
	(void)data;
	return 1;
}

/* A session that leads nobody has the lock, and lets it go. The call leads then, and its time ends
 * during its query: that it was held up before is no reason. */
static void
what_held_it_up_is_over_when_it_leads(void **state)
{
	struct db *holder = connect_as(OWNER_GROUP);
	struct worker *w = worker_new(0, TASK, 1, 5000);

	(void)state;
	add_loans(TASK, 1);
	w->proxy = proxy_new();
	worker_connect(w);
	lockq_on_overtime(w->q, leave, NULL);
	assert_int_equal(db_begin(holder), DB_OK);
	(void)u64_on(holder, "SELECT epoch FROM task_lock WHERE task_id = %d FOR UPDATE", TASK);
	proxy_hold(w->proxy, "=EXECUTE lockq_started USING @lockq_p0, @lockq_p1", 1);
	worker_start(w);
	worker_until_paused(w);
	assert_false(w->done);
	db_rollback(holder);
	proxy_until_held(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_string_equal(w->error, "");
	assert_int_equal(w->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_null(w->answer.reason);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_free_lock_is_taken),
		DB_TEST(a_led_task_is_busy),
		DB_TEST(a_missing_row_is_made),
		DB_TEST(a_row_that_can_not_be_made_is_waited_for),
		DB_TEST(a_committed_holder_leads_nobody),
		DB_TEST(a_round_that_never_was_stops_nobody),
		DB_TEST(a_momentary_lock_is_tried_again),
		DB_TEST(served_during_a_momentary_lock),
		DB_TEST(served_before_the_lock_does_not_lead),
		DB_TEST(a_stuck_wake_row_does_not_stop_a_leader),
		DB_TEST(an_aborted_epoch_is_used_again),
		DB_TEST(an_alter_does_not_stall_requests),
		DB_TEST(a_request_is_recorded_while_somebody_leads),
		DB_TEST(nothing_references_the_rows_of_the_lock),
		DB_TEST(a_new_task_stops_no_leader),
		DB_TEST(locks_are_taken_in_order),
		DB_TEST(an_alter_beside_a_leader_with_one_connection),
		DB_TEST(a_follower_shares_nothing_of_the_lock),
		DB_TEST(the_rounds_before_cost_nothing),
		DB_TEST(what_held_it_up_is_over_when_it_leads),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("lock", tests, suite_setup, suite_teardown);
}
