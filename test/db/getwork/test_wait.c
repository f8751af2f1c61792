/* SPDX-License-Identifier: MIT */
/* Step 7: followers wait for the leader's commit, and lead when nobody leads. */
#include <stdio.h>
#include <string.h>

#include "support.h"

/* A follower that is not woken looks again after 20 s, which is later than this. */
enum { NEXT_LOOK_MS = 15000 };

static void
until_it_sent_its_query(struct worker *w)
{
	uint64_t start = db_clock_ms();

	while (proxy_count(w->proxy, QUERY) == 0) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(2);
	}
}

/* Waits until @w waits for the leader, and @n followers in all. Two guards keep followers from
 * task_lock, and without these guards the test's own assertions must fail, not this wait. */
static void
until_waiting(struct worker *w, unsigned int n)
{
	uint64_t start = db_clock_ms();

	until_it_sent_its_query(w);
	while (waiting_for("task_wake") + waiting_for("task_lock") < n) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(2);
	}
}

static struct worker *
follower(unsigned int user_no, int64_t timeout_ms)
{
	struct worker *w = worker_new(user_no, TASK, 1, timeout_ms);

	w->proxy = proxy_new();
	worker_start(w);
	return w;
}

static struct worker *
held_leader(unsigned int user_no)
{
	struct worker *w = worker_new(user_no, TASK, 1, 0);

	w->proxy = proxy_new();
	proxy_hold(w->proxy, QUERY, 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	return w;
}

/* The commit wakes a follower that waits with FOR SHARE, before its next look. */
static void
a_follower_wakes_with_the_commit(void **state)
{
	struct worker *leader = held_leader(0), *waits;
	uint64_t freed;

	(void)state;
	add_loans(TASK, 3);
	waits = follower(1, -1);
	until_waiting(waits, 1);
	/* The library would take a short wait for none, so this wait has to be a longer one. */
	db_sleep_ms(300);
	proxy_release(leader->proxy);
	worker_join(leader);
	freed = db_clock_ms();
	worker_join(waits);
	assert_true(db_clock_ms() - freed < NEXT_LOOK_MS);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_false(waits->answer.led);
	assert_string_equal(waits->answer.leader, user(0));
	assert_int_equal(waits->answer.epoch, leader->answer.epoch);
	assert_int_equal(rounds_of(TASK), 1);
}

/* guard: a follower waits on task_wake, whose row wakes the follower, not on task_lock. */
static void
the_wake_row_wakes(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *waits = follower(1, -1);
	size_t before;
	uint64_t start;

	(void)state;
	until_waiting(waits, 1);
	before = proxy_total(waits->proxy);
	/* The follower sends nothing while it waits. */
	db_sleep_ms(200);
	assert_int_equal(proxy_total(waits->proxy), before);
	start = db_clock_ms();
	db_rollback(leader.wake);
	while (proxy_total(waits->proxy) == before) {
		assert_true(db_clock_ms() - start < NEXT_LOOK_MS);
		db_sleep_ms(1);
	}
	db_rollback(leader.lock);
	worker_join(waits);
}

/* guard: followers take no shared lock on task_lock, where it would look like a leader. */
static void
nobody_shares_the_lock_row(void **state)
{
	struct worker *waits;

	(void)state;
	if (administrator() == NULL)
		skip();
	(void)lead_by_hand(TASK, true, true);
	waits = follower(1, 3000);
	until_waiting(waits, 1);
	assert_int_equal(u64_on(administrator(), "SELECT COUNT(*)"
	    " FROM performance_schema.data_locks WHERE object_schema = DATABASE()"
	    " AND object_name = 'task_lock' AND lock_type = 'RECORD' AND lock_mode LIKE 'S%%'"), 0);
	assert_int_equal(u64_on(administrator(), "SELECT COUNT(*)"
	    " FROM performance_schema.data_locks WHERE object_schema = DATABASE()"
	    " AND object_name = 'task_wake' AND lock_mode LIKE 'S%%'"
	    " AND lock_status = 'WAITING'"), 1);
	waits->give_up = true;
	worker_join(waits);
}

/* The wait runs out: the request is cancelled, and no loan arrives later. */
static void
a_timeout_cancels(void **state)
{
	struct worker *waits;

	(void)state;
	(void)lead_by_hand(TASK, true, true);
	waits = follower(1, 1300);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_BUSY);
	assert_int_equal(waits->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_in_range(waits->answer.waited_ms, 1200, NEXT_LOOK_MS);
	assert_string_equal(outcome_of(TASK, 1), "cancelled");
}

static void
giving_up_cancels(void **state)
{
	struct worker *waits;
	uint64_t start;

	(void)state;
	(void)lead_by_hand(TASK, true, true);
	waits = follower(1, -1);
	until_waiting(waits, 1);
	start = db_clock_ms();
	waits->give_up = true;
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_CANCELLED);
	assert_true(db_clock_ms() - start < NEXT_LOOK_MS);
	assert_string_equal(outcome_of(TASK, 1), "cancelled");
	/* guard: a call that gives up ends its wait on the server. */
	if (administrator() != NULL)
		assert_int_equal(u64_on(administrator(), "SELECT COUNT(*)"
		    " FROM performance_schema.data_locks WHERE object_schema = DATABASE()"
		    " AND object_name = 'task_wake' AND lock_status = 'WAITING'"), 0);
}

/* User 1 starts to ask, and looks every second, @tries times at most; 0: without end. */
static struct worker *
poller(int64_t timeout_ms, uint64_t tries)
{
	static const uint32_t gaps[] = { 1 };
	struct worker *waits = worker_new(1, TASK, 1, timeout_ms);

	waits->proxy = proxy_new();
	waits->ask.wait = LOCKQ_WAIT_POLL;
	waits->ask.poll_s = gaps;
	waits->ask.n_poll = 1;
	waits->ask.poll_tries = tries;
	worker_start(waits);
	return waits;
}

/* A polling follower has no connection between its looks. */
static void
polling_needs_no_connection(void **state)
{
	struct worker *leader = held_leader(0), *waits;

	(void)state;
	add_loans(TASK, 3);
	waits = poller(15000, 0);
	until("SELECT COUNT(*) = 2 FROM work_requested WHERE task_id = %d", TASK);
	proxy_until_left(waits->proxy);
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_false(waits->answer.led);
	assert_int_equal(proxy_count(waits->proxy, QUERY), 0);
	/* The call asked on one connection and looked on another one. */
	assert_int_not_equal(proxy_connection(waits->proxy, 0),
	    proxy_connection(waits->proxy, proxy_total(waits->proxy) - 1));
}

/* A polling call gives up after its last look, which leads where nobody else does. Its request is
 * cancelled. */
static void
polling_gives_up_after_the_last_look(void **state)
{
	struct worker *leader = held_leader(0), *waits;

	(void)state;
	add_loans(TASK, 3);
	waits = poller(-1, 2);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_BUSY);
	assert_int_equal(waits->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_in_range(waits->answer.waited_ms, 2000, 20000);
	/* The first look at the lock, and one after each wait. */
	assert_int_equal(proxy_count(waits->proxy, "SELECT l.holder"), 3);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE user_id = %u", user_id(1)), 0);
	waits->ask.wait = LOCKQ_WAIT_BLOCKING;
	assert_int_equal(lockq_getwork(waits->q, &waits->ask, &waits->answer), LOCKQ_EUSAGE);
}

/* On a full server, too: a look that finds no free session is one. */
static void
polling_gives_up_on_a_full_server(void **state)
{
	struct worker *leader = held_leader(0), *waits;

	(void)state;
	add_loans(TASK, 3);
	waits = poller(-1, 2);
	until("SELECT COUNT(*) = 2 FROM work_requested WHERE task_id = %d", TASK);
	proxy_crowd(waits->proxy, true);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_EDATABASE);
	assert_non_null(strstr(waits->error, "may still be pending"));
	proxy_release(leader->proxy);
	worker_join(leader);
}

/* guard: a polling follower is patient with a full server. It looks later and does not give up. */
static void
polling_is_patient_with_a_full_server(void **state)
{
	struct worker *leader = held_leader(0), *waits;

	(void)state;
	add_loans(TASK, 3);
	waits = poller(15000, 0);
	until("SELECT COUNT(*) = 2 FROM work_requested WHERE task_id = %d", TASK);
	proxy_crowd(waits->proxy, true);
	db_sleep_ms(2300);
	assert_false(waits->done);
	proxy_release(leader->proxy);
	worker_join(leader);
	proxy_crowd(waits->proxy, false);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_int_equal(waits->answer.epoch, leader->answer.epoch);
}

/* guard: a follower that wakes and is still pending leads. Its leader has left without serving
 * it. */
static void
a_woken_follower_takes_over(void **state)
{
	struct worker *leader = held_leader(0), *waits;
	uint64_t start;

	(void)state;
	add_loans(TASK, 3);
	waits = follower(1, -1);
	until_waiting(waits, 1);
	leader->give_up = true;
	start = db_clock_ms();
	proxy_drop(leader->proxy);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_true(waits->answer.led);
	assert_true(db_clock_ms() - start < NEXT_LOOK_MS);
	worker_join(leader);
}

/* The leader's connection is killed, and a follower leads. The leader's call goes on and is
 * served. */
static void
a_killed_leader_is_replaced(void **state)
{
	struct db *killer = connect_as(worker_group());
	struct worker *leader = worker_new(0, TASK, 1, 15000), *waits;
	uint64_t lock_id;

	(void)state;
	add_loans(TASK, 3);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	lock_id = db_connection_id(inside_lock_connection(leader->q));
	waits = follower(1, 15000);
	until_waiting(waits, 1);
	sql_on(killer, "KILL %llu", (unsigned long long)lock_id);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_true(waits->answer.led);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(leader->answer.n_loans, 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK), 2);
	assert_int_equal(u64("SELECT COUNT(DISTINCT loan_id) FROM work WHERE task_id = %d", TASK),
	    2);
}

/* guard: a call whose waits end at once backs off. The leader has no wake row, so nothing blocks,
 * and a loop would send thousands of statements a second. */
static void
a_wait_that_is_none_backs_off(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, false);
	struct worker *waits = follower(1, 2500);

	(void)state;
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_BUSY);
	print_message("# %zu statements in 2.5 s\n", proxy_total(waits->proxy));
	assert_true(proxy_total(waits->proxy) < 400);
	db_rollback(leader.lock);
}

/* guard: max_execution_time is not set on the lock connection, where it would end a FOR SHARE
 * wait. */
static void
a_wait_has_no_time_limit_but_its_own(void **state)
{
	struct leader_by_hand leader;
	struct worker *waits;

	(void)state;
	add_loans(TASK, 3);
	leader = lead_by_hand(TASK, true, true);
	waits = follower(1, 15000);
	until_waiting(waits, 1);
	db_sleep_ms(1500);
	assert_int_equal(proxy_count(waits->proxy, QUERY), 1);
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
}

/* guard: a request whose owner waits does not expire, even if request_ttl is short. */
static void
who_waits_does_not_expire(void **state)
{
	struct worker *leader, *waits;

	(void)state;
	add_loans(TASK, 3);
	set_task(TASK, "request_ttl = 2");
	leader = held_leader(0);
	waits = follower(1, 15000);
	until_waiting(waits, 1);
	db_sleep_ms(4500);
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(waits);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_int_equal(waits->answer.epoch, leader->answer.epoch);
}

/* guard: a call that waited for long leads by the task's settings of now. */
static void
a_task_that_was_disabled_meanwhile_is_refused(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *waits = follower(1, 9000);

	(void)state;
	add_loans(TASK, 3);
	until_waiting(waits, 1);
	set_task(TASK, "enabled = 0");
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_EREFUSED);
	assert_string_equal(outcome_of(TASK, 1), "refused");
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 0);
}

/* guard: followers wait on the row only where the leader says that it holds the row. A session that
 * was forgotten in a transaction holds the row, shared or not. The followers neither send many
 * statements nor wait for that session. */
static void
a_forgotten_lock_on_the_wake_row(void **state)
{
	static const char *const modes[] = { "SHARE", "UPDATE" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct db *forgotten = connect_as(OWNER_GROUP);
		struct worker *leader, *waits;
		uint64_t freed;

		add_loans(TASK, 3);
		assert_int_equal(db_begin(forgotten), DB_OK);
		(void)u64_on(forgotten, "SELECT task_id FROM task_wake WHERE task_id = %d FOR %s",
		    TASK, modes[i]);
		leader = held_leader(0);
		waits = worker_new(1, TASK, 1, -1);
		waits->proxy = proxy_new();
		worker_start(waits);
		until("SELECT COUNT(*) = 2 FROM work_requested WHERE task_id = %d", TASK);
		db_sleep_ms(3000);
		print_message("# FOR %s: %zu statements in 3 s\n", modes[i],
		    proxy_total(waits->proxy));
		assert_true(proxy_total(waits->proxy) < 80);
		assert_int_equal(proxy_count(waits->proxy, QUERY), 0);
		proxy_release(leader->proxy);
		worker_join(leader);
		freed = db_clock_ms();
		worker_join(waits);
		assert_true(db_clock_ms() - freed < NEXT_LOOK_MS);
		assert_int_equal(waits->answer.epoch, leader->answer.epoch);
		start_again();
	}
}

/* guard: a call whose wait ran out while a leader leads does not try the lock. So a long wait needs
 * few statements. */
static void
a_long_wait_costs_little(void **state)
{
	struct worker *waits;
	size_t before;

	(void)state;
	(void)lead_by_hand(TASK, true, true);
	set_task(TASK, "request_ttl = 3");
	waits = follower(1, 15000);
	until_waiting(waits, 1);
	before = proxy_total(waits->proxy);
	db_sleep_ms(4500);
	/* Each of the four slices of a second needs a look at its own row, two at the leader, of
	 * which one is dirty, and the wait. */
	print_message("# %zu statements in 4 waits\n", proxy_total(waits->proxy) - before);
	assert_true(proxy_total(waits->proxy) - before <= 4 * 6 + 6);
	assert_int_equal(proxy_count(waits->proxy, "START TRANSACTION"), 0);
	waits->give_up = true;
	worker_join(waits);
}

/* guard: a wait ends even if the server's answer never comes, and so does a statement of a leader's
 * lock connection. Both calls go on with new connections. */
static void
a_server_that_is_silent(void **state)
{
	struct worker *waits = worker_new(1, TASK, 1, -1);
	struct worker *leads = worker_new(0, OTHER_TASK, 1, -1);
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct db *gate = connect_as(OWNER_GROUP), *seeing = connect_as(worker_group());

	(void)state;
	add_loans(TASK, 3);
	add_loans(OTHER_TASK, 3);
	set_task(TASK, "request_ttl = 3");
	waits->proxy = proxy_new();
	worker_start(waits);
	assert_int_equal(u64_on(gate, "SELECT GET_LOCK('lockq-test-gate', 0)"), 1);
	set_view(OTHER_TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d"
	    " AND GET_LOCK('lockq-test-gate', 60) = 1", OTHER_TASK);
	leads->proxy = proxy_new();
	worker_start(leads);
	until_waiting(waits, 1);
	until_it_sent_its_query(leads);
	/* Its query runs, and waits for the gate's name. */
	until_on(seeing, "SELECT COUNT(*) = 1 FROM information_schema.processlist"
	    " WHERE state = 'User lock'");
	proxy_silence(waits->proxy);
	proxy_silence(leads->proxy);
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
	/* The leader's first query still runs on the server; the second one ends it. */
	assert_int_equal(u64_on(gate, "SELECT RELEASE_LOCK('lockq-test-gate')"), 1);
	worker_join(leads);
	assert_int_equal(leads->rc, LOCKQ_OK);
	assert_int_equal(leads->answer.epoch, 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id IN (%d, %d)", TASK,
	    OTHER_TASK), 2);
}

/* guard: a call that joined a request goes on when the maker of the request gives up. */
static void
who_joined_asks_anew(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *maker = follower(1, -1), *joiner;

	(void)state;
	add_loans(TASK, 3);
	until_waiting(maker, 1);
	joiner = worker_new(1, TASK, 2, -1);
	joiner->proxy = proxy_new();
	worker_start(joiner);
	until_waiting(joiner, 2);
	maker->give_up = true;
	worker_join(maker);
	assert_int_equal(maker->rc, LOCKQ_CANCELLED);
	until("SELECT COUNT(*) = 2 FROM work_requested WHERE task_id = %d", TASK);
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	worker_join(joiner);
	assert_int_equal(joiner->rc, LOCKQ_OK);
	assert_false(joiner->answer.joined);
	assert_int_equal(joiner->answer.n_loans, 2);
	assert_int_not_equal(joiner->answer.request_id, maker->answer.request_id);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK), 2);
}

/* guard: a statement that could not be prepared is not executed. PREPARE fails, for example, while
 * the table is being altered. */
static void
a_wait_that_is_not_prepared(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *waits = worker_new(1, TASK, 1, -1);

	(void)state;
	add_loans(TASK, 3);
	waits->proxy = proxy_new();
	proxy_fail(waits->proxy, "PREPARE lockq_started", 1, 1, 1205);
	worker_start(waits);
	until_it_sent_its_query(waits);
	assert_int_equal(proxy_count(waits->proxy, "PREPARE lockq_started"), 2);
	until_waiting(waits, 1);
	assert_false(waits->done);
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
}

/* Many followers wake at once. One of them leads for all. */
static void
when_many_wake_one_leads(void **state)
{
	struct leader_by_hand leader;
	struct worker *waits[24];
	uint64_t led = 0;

	(void)state;
	add_loans(TASK, 100);
	make_task(OTHER_TASK + 1);
	for (unsigned int i = 0; i < 24; i++)
		sql("INSERT INTO app_user (name) VALUES ('test_many_%u')", i);
	leader = lead_by_hand(TASK, true, true);
	for (unsigned int i = 0; i < 24; i++) {
		static char names[24][16];

		snprintf(names[i], sizeof(names[i]), "test_many_%u", i);
		waits[i] = worker_new(0, TASK, 1, 15000);
		waits[i]->ask.user = names[i];
		worker_start(waits[i]);
	}
	until("SELECT COUNT(*) = 24 FROM work_requested WHERE task_id = %d", TASK);
	until_waiting_for("task_wake", 24);
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	for (unsigned int i = 0; i < 24; i++) {
		worker_join(waits[i]);
		assert_int_equal(waits[i]->rc, LOCKQ_OK);
		led += (uint64_t)waits[i]->answer.led;
	}
	assert_int_equal(led, 1);
	assert_int_equal(rounds_of(TASK), 1);
}

static void
a_look_leads_nobody(void **state)
{
	struct worker *asks, *looks = worker_connected(1, TASK, 1);
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	uint64_t seen;

	(void)state;
	add_loans(TASK, 3);
	asks = ask_now(0, TASK, 1);
	sql("UPDATE work_requested SET seen_at = NOW(6) - INTERVAL 60 SECOND WHERE task_id = %d",
	    TASK);
	assert_int_equal(lockq_request_look(looks->q, asks->answer.uuid, 0, &looks->answer),
	    LOCKQ_BUSY);
	assert_int_equal(looks->answer.status, LOCKQ_PENDING);
	assert_int_equal(looks->answer.request_id, asks->answer.request_id);
	assert_string_equal(looks->answer.leader, "by hand");
	/* A look at a request keeps it from expiring. */
	seen = u64("SELECT seen_at > NOW(6) - INTERVAL 20 SECOND FROM work_requested"
	    " WHERE task_id = %d", TASK);
	assert_int_equal(seen, 1);
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	assert_int_equal(lockq_request_look(looks->q, asks->answer.uuid, 1200, &looks->answer),
	    LOCKQ_BUSY);
	assert_null(looks->answer.leader);
	assert_int_equal(rounds_of(TASK), 0);
	assert_int_equal(lockq_request_look(looks->q, "1234567890123", 0, &looks->answer),
	    LOCKQ_EREFUSED);
}

/* guard: whoever may only read, on a replica, sees the request. */
static void
a_look_on_a_replica(void **state)
{
	struct worker *looks = worker_new(1, TASK, 1, 0);

	(void)state;
	(void)add_request(TASK, 0, 1);
	looks->proxy = proxy_new();
	worker_connect(looks);
	proxy_fail(looks->proxy, "UPDATE request_mine", 1, 1000, 1290);
	assert_int_equal(lockq_request_look(looks->q, text_of("SELECT request_id FROM"
	    " work_requested WHERE task_id = %d AND outcome = 'pending'", TASK), 500,
	    &looks->answer), LOCKQ_BUSY);
	assert_int_equal(looks->answer.status, LOCKQ_PENDING);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_follower_wakes_with_the_commit),
		DB_TEST(the_wake_row_wakes),
		DB_TEST(nobody_shares_the_lock_row),
		DB_TEST(a_timeout_cancels),
		DB_TEST(giving_up_cancels),
		DB_TEST(polling_needs_no_connection),
		DB_TEST(polling_gives_up_after_the_last_look),
		DB_TEST(polling_gives_up_on_a_full_server),
		DB_TEST(polling_is_patient_with_a_full_server),
		DB_TEST(a_woken_follower_takes_over),
		DB_TEST(a_killed_leader_is_replaced),
		DB_TEST(a_wait_that_is_none_backs_off),
		DB_TEST(a_wait_has_no_time_limit_but_its_own),
		DB_TEST(who_waits_does_not_expire),
		DB_TEST(a_task_that_was_disabled_meanwhile_is_refused),
		DB_TEST(a_forgotten_lock_on_the_wake_row),
		DB_TEST(a_long_wait_costs_little),
		DB_TEST(a_server_that_is_silent),
		DB_TEST(who_joined_asks_anew),
		DB_TEST(a_wait_that_is_not_prepared),
		DB_TEST(when_many_wake_one_leads),
		DB_TEST(a_look_leads_nobody),
		DB_TEST(a_look_on_a_replica),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("wait", tests, suite_setup, suite_teardown);
}
