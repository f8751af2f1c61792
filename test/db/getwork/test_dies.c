/* SPDX-License-Identifier: MIT */
/* A leader is killed or stopped at each statement that it sends. A waiting call takes over, no
 * other session is ended, and a leader that wakes up again writes nothing. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* The server notices a killed process at once, and a stopped one after its wait_timeout. */
enum {
	AFTER_KILL_MS = 1000 * (DB_WAIT_TIMEOUT_S - 1),
	AFTER_STOP_MS = 1000 * (DB_WAIT_TIMEOUT_S + 15),
	QUIET_MS = 400
};

static const char last_statement[] = "SET holder = NULL";

/* Waits until the follower waits for the leader's commit or has its answer. A follower that does
 * neither has a reason not to wait yet, so this ends after QUIET_MS. */
static void
until_settled(const struct worker *follower)
{
	uint64_t start = db_clock_ms();

	while (!follower->done && db_clock_ms() - start < QUIET_MS &&
	    proxy_count(follower->proxy, "=EXECUTE lockq_started USING @lockq_p0") == 0)
		db_sleep_ms(1);
}

/* Waits until the proxy holds a statement; returns false if the process ends before that. */
static bool
held_before_exit(struct proxy *proxy, int pid)
{
	for (;;) {
		if (proxy_is_holding(proxy))
			return true;
		if (worker_has_exited(pid))
			return proxy_is_holding(proxy);
		db_sleep_ms(1);
	}
}

/* Starts a leader in a process of its own, which is held at its statement @nth. Another request
 * comes after the leader's last look, so that the leader hands over, too. Returns 0 if the leader
 * has fewer statements; it has ended then. */
static int
lead_to(struct worker *leader, unsigned int nth)
{
	int pid;

	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, last_statement, 1);
	proxy_hold(leader->proxy, "", nth);
	pid = worker_fork(leader);
	if (held_before_exit(leader->proxy, pid) && proxy_total(leader->proxy) != nth) {
		(void)add_request(leader->ask.task, 2, 1);
		proxy_release(leader->proxy);
	}
	if (held_before_exit(leader->proxy, pid))
		return pid;
	assert_int_equal(worker_reap(pid), LOCKQ_OK);
	return 0;
}

/* Kills a leader at its statement @nth and cuts its connections. *@ms is the time until a waiting
 * follower was served. Returns false if there is no such statement. */
static bool
killed_at(unsigned int nth, uint64_t *ms)
{
	struct worker *leader = worker_new(0, TASK, 2, -1), *follower = worker_new(1, TASK, 1, -1);
	uint64_t start, recorded;
	char text[256];
	int pid;

	add_loans(TASK, 6);
	pid = lead_to(leader, nth);
	if (pid == 0)
		return false;
	proxy_text(leader->proxy, nth - 1, text, sizeof(text));
	recorded = u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND user_id = %u",
	    TASK, user_id(0));
	follower->proxy = proxy_new();
	worker_start(follower);
	until_settled(follower);
	start = db_clock_ms();
	kill(pid, SIGKILL);
	assert_int_equal(worker_reap(pid), -1);
	/* The statement that it sent last is lost, too. */
	proxy_drop(leader->proxy);
	worker_join(follower);
	*ms = db_clock_ms() - start;
	if (follower->rc != LOCKQ_OK || *ms > AFTER_KILL_MS)
		print_error("killed at %u, %s: %s after %" PRIu64 " ms\n", nth, text,
		    follower->error, *ms);
	assert_int_equal(follower->rc, LOCKQ_OK);
	assert_int_equal(follower->answer.n_loans, 1);
	assert_true(*ms < AFTER_KILL_MS);
	/* Requests that are still pending are served by the next leader. */
	assert_int_equal(ask_now(3, TASK, 1)->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND outcome <> 'served'", TASK), 0);
	if (recorded > 0)
		assert_int_equal(u64("SELECT SUM(assigned) FROM work_requested WHERE task_id = %d"
		    " AND user_id = %u", TASK, user_id(0)), 2);
	assert_consistent(TASK);
	return true;
}

/* guard: a leader's locks and changes are gone when it is killed at any statement, and a follower
 * takes over. */
static void
killed_at_any_statement(void **state)
{
	uint64_t ms, most = 0;
	unsigned int nth = 1, worst = 0;

	(void)state;
	for (; killed_at(nth, &ms); nth++) {
		if (ms > most) {
			most = ms;
			worst = nth;
		}
		start_again();
	}
	printf("# killed at each of %u statements: a follower was served %" PRIu64
	    " ms after it at the latest (statement %u)\n", nth - 1, most, worst);
	assert_true(nth > 30);
}

/* Two leaders are killed in their queries, one after the other. The third leads and serves all
 * requests. */
static void
who_takes_over_is_killed_too(void **state)
{
	struct worker *leaders[3];
	int pids[3];
	uint64_t start;

	(void)state;
	add_loans(TASK, 8);
	for (unsigned int i = 0; i < 3; i++) {
		leaders[i] = worker_new(i, TASK, 1, -1);
		leaders[i]->proxy = proxy_new();
		proxy_hold(leaders[i]->proxy,
		    "=EXECUTE lockq_started USING @lockq_p0, @lockq_p1", 1);
		pids[i] = worker_fork(leaders[i]);
		if (i == 0)
			proxy_until_held(leaders[i]->proxy);
		else
			until_settled(leaders[i]);
	}
	for (unsigned int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		start = db_clock_ms();
		assert_int_equal(worker_reap(pids[i]), -1);
		proxy_drop(leaders[i]->proxy);
		while (!proxy_is_holding(leaders[1]->proxy) &&
		    !proxy_is_holding(leaders[2]->proxy)) {
			assert_true(db_clock_ms() - start < AFTER_KILL_MS);
			db_sleep_ms(1);
		}
		/* The call that leads now is the next one to be killed. */
		if (i == 0 && proxy_is_holding(leaders[2]->proxy)) {
			struct worker *w = leaders[1];
			int pid = pids[1];

			leaders[1] = leaders[2];
			pids[1] = pids[2];
			leaders[2] = w;
			pids[2] = pid;
		}
	}
	proxies_relent();
	assert_int_equal(worker_reap(pids[2]), LOCKQ_OK);
	for (unsigned int i = 0; i < 3; i++)
		assert_string_equal(outcome_of(TASK, i), "served");
	assert_int_equal(epoch_of(TASK), 1);
	assert_consistent(TASK);
}

/* A user asks twice, so the second call joined the request of the first. The first call is killed,
 * and the second one takes over. */
static void
who_joined_takes_over(void **state)
{
	struct worker *leader = worker_new(0, TASK, 2, -1), *joined = worker_new(0, TASK, 1, -1);
	uint64_t start;
	int pid;

	(void)state;
	add_loans(TASK, 5);
	leader->proxy = proxy_new();
	joined->proxy = proxy_new();
	proxy_hold(leader->proxy, "=EXECUTE lockq_started USING @lockq_p0, @lockq_p1", 1);
	pid = worker_fork(leader);
	proxy_until_held(leader->proxy);
	worker_start(joined);
	until_settled(joined);
	kill(pid, SIGKILL);
	start = db_clock_ms();
	assert_int_equal(worker_reap(pid), -1);
	proxy_drop(leader->proxy);
	worker_join(joined);
	assert_true(db_clock_ms() - start < AFTER_KILL_MS);
	assert_int_equal(joined->rc, LOCKQ_OK);
	assert_true(joined->answer.joined);
	assert_int_equal(joined->answer.n_loans, 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 1);
	assert_consistent(TASK);
}

/* The leader of a polling call is killed. The call leads when it looks the next time. */
static void
who_polls_takes_over(void **state)
{
	static const uint32_t gaps[] = { 1 };
	struct worker *leader = worker_new(0, TASK, 2, -1), *polls = worker_new(1, TASK, 1, -1);
	uint64_t start;
	int pid;

	(void)state;
	add_loans(TASK, 5);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "=EXECUTE lockq_started USING @lockq_p0, @lockq_p1", 1);
	pid = worker_fork(leader);
	proxy_until_held(leader->proxy);
	polls->ask.wait = LOCKQ_WAIT_POLL;
	polls->ask.poll_s = gaps;
	polls->ask.n_poll = 1;
	worker_start(polls);
	until("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND seen_at > NOW(6)", TASK);
	kill(pid, SIGKILL);
	start = db_clock_ms();
	assert_int_equal(worker_reap(pid), -1);
	proxy_drop(leader->proxy);
	worker_join(polls);
	assert_true(db_clock_ms() - start < 1000 + AFTER_KILL_MS);
	assert_int_equal(polls->rc, LOCKQ_OK);
	assert_true(polls->answer.led);
	assert_string_equal(outcome_of(TASK, 0), "served");
	assert_consistent(TASK);
}

/* Another query, on a connection of its own, that waits for a name. */
static struct {
	struct db *db, *gate;
	pthread_t thread;
	bool started;
	int rc;
} own_query;

static void *
run_own_query(void *data)
{
	(void)data;
	own_query.rc = try_sql(own_query.db, "DO GET_LOCK('lockq-test-own', 60)");
	return NULL;
}

static void
start_own_query(struct db *gate)
{
	own_query.gate = gate;
	own_query.db = connect_as(worker_group());
	own_query.rc = -1;
	assert_int_equal(pthread_create(&own_query.thread, NULL, run_own_query, NULL), 0);
	own_query.started = true;
}

static int
end_own_query(void **state)
{
	if (own_query.started) {
		(void)try_sql(own_query.gate, "DO RELEASE_ALL_LOCKS()");
		pthread_join(own_query.thread, NULL);
	}
	own_query.started = false;
	return state != NULL ? test_teardown(state) : 0;
}

static uint64_t
ms_until_led_by(uint32_t task, unsigned int user_no, uint64_t start, uint64_t most)
{
	struct inside_holder holder = { .held = false };

	while (!holder.held || strcmp(holder.name, user(user_no)) != 0) {
		assert_int_equal(inside_holder(owner(), task, &holder), DB_OK);
		assert_true(db_clock_ms() - start < most);
		db_sleep_ms(2);
	}
	return db_clock_ms() - start;
}

/* guard: the query of a dead leader is ended, and no other one. The same account runs a query of
 * its own, and another task is led. Both of these wait for names, so that they use no processor
 * time. */
static void
the_orphan_is_ended_and_nobody_else(void **state)
{
	struct db *gate = connect_as(OWNER_GROUP);
	struct worker *leader = worker_new(0, TASK, 2, -1), *follower = worker_new(1, TASK, 1, -1);
	struct worker *elsewhere = worker_new(2, OTHER_TASK, 1, -1);
	uint64_t start, ms, orphan;
	int pid;

	(void)state;
	add_loans(TASK, 5);
	add_loans(OTHER_TASK, 5);
	make_heavy(TASK, 20000);
	make_task(TASK + 2);
	add_loans(TASK + 2, 5);
	assert_int_equal(u64_on(gate, "SELECT GET_LOCK('lockq-test-gate', 0)"
	    " + GET_LOCK('lockq-test-own', 0)"), 2);
	set_view(OTHER_TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d"
	    " AND GET_LOCK('lockq-test-gate', 60) = 1", OTHER_TASK);
	pid = worker_fork(leader);
	until("SELECT COALESCE(IS_USED_LOCK(%s), 0) > 0", query_lock_name(TASK));
	elsewhere->proxy = proxy_new();
	worker_start(elsewhere);
	until("SELECT COALESCE(IS_USED_LOCK(%s), 0) > 0", query_lock_name(OTHER_TASK));
	start_own_query(gate);
	follower->proxy = proxy_new();
	worker_start(follower);
	until_settled(follower);
	orphan = u64("SELECT IS_USED_LOCK(%s)", query_lock_name(TASK));
	/* The next leader's query must be a quick one. */
	set_task(TASK, "candidates_view = 'test_view_%d'", TASK + 2);
	kill(pid, SIGKILL);
	start = db_clock_ms();
	ms = ms_until_led_by(TASK, 1, start, AFTER_KILL_MS);
	assert_int_equal(worker_reap(pid), -1);
	worker_join(follower);
	printf("# killed in its query: a follower leads after %" PRIu64 " ms, and is served after"
	    " %" PRIu64 "\n", ms, db_clock_ms() - start);
	assert_true(db_clock_ms() - start < AFTER_KILL_MS);
	assert_int_not_equal(u64("SELECT COALESCE(IS_USED_LOCK(%s), 0)", query_lock_name(TASK)),
	    orphan);
	assert_int_equal(follower->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 0), "served");
	assert_consistent(TASK);
	assert_false(elsewhere->done);
	assert_int_equal(own_query.rc, -1);
	assert_int_equal(end_own_query(NULL), 0);
	worker_join(elsewhere);
	assert_int_equal(elsewhere->rc, LOCKQ_OK);
	assert_int_equal(proxy_count(elsewhere->proxy,
	    "=EXECUTE lockq_started USING @lockq_p0, @lockq_p1"), 1);
	assert_int_equal(own_query.rc, DB_OK);
}

/* Another account has the name: that can't be ended, so nobody waits for it. */
static void
a_strangers_name_makes_nobody_wait(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, -1);
	struct db *stranger = administrator() != NULL ? administrator() : connect_as(OWNER_GROUP);

	(void)state;
	add_loans(TASK, 5);
	assert_int_equal(u64_on(stranger, "SELECT GET_LOCK(%s, 0)", query_lock_name(TASK)), 1);
	w->proxy = proxy_new();
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.led, 1);
	assert_true(proxy_position(w->proxy, "GET_LOCK", 1) != SIZE_MAX);
	assert_true(proxy_position(w->proxy, "KILL", 1) != SIZE_MAX);
	assert_true(proxy_position(w->proxy, "GET_LOCK", 2) == SIZE_MAX);
	sql_on(stranger, "DO RELEASE_ALL_LOCKS()");
	assert_consistent(TASK);
}

/* A leader that will be stopped, and its follower. */
struct pair {
	struct worker *leader, *follower;
	uint64_t asked;      /* when the follower asked */
	uint32_t task;
	unsigned int nth;
	int pid;
	bool ended;          /* the leader's request had ended by the time it was woken */
	char before[256];    /* the tables at that time */
};

enum { PAIRS = TASK_MOST - TASK_LAST };

static void
copy_state(uint32_t task, char *text, size_t size)
{
	snprintf(text, size, "%s", text_of("SELECT CONCAT_WS(',',"
	    " (SELECT CONCAT(COUNT(*), '-', COALESCE(SUM(version), 0), '-',"
	    "   COALESCE(SUM(token * loan_id * user_id), 0)) FROM work WHERE task_id = t.task_id),"
	    " (SELECT COUNT(*) FROM work_log WHERE task_id = t.task_id),"
	    " (SELECT COUNT(*) FROM leader_run WHERE task_id = t.task_id),"
	    " (SELECT CONCAT(COUNT(*), '-', COUNT(pending)) FROM work_requested"
	    "   WHERE task_id = t.task_id),"
	    " (SELECT epoch FROM task_lock WHERE task_id = t.task_id))"
	    " FROM task AS t WHERE t.task_id = %u", task));
}

/* Makes one pair for each statement of a leader; returns how many pairs there are. */
static size_t
lead_pairs(struct pair *pairs)
{
	size_t n = 0;

	for (;; n++) {
		struct pair *p = &pairs[n];

		assert_true(n < PAIRS);
		p->nth = (unsigned int)n + 1;
		p->task = TASK_LAST + p->nth;
		make_task_with_same_view(p->task);
		p->leader = worker_new(0, p->task, 2, -1);
		p->follower = worker_new(1, p->task, 1, -1);
		p->pid = lead_to(p->leader, p->nth);
		if (p->pid == 0)
			return n;
	}
}

/* Starts a leader that stops itself while it reads a big result, so that the server can't send the
 * rest. With @single the leader got no second connection, and the query runs on the lock
 * connection. */
static struct pair
stop_in_big_result(uint32_t task, bool single)
{
	struct pair p = { .task = task };

	set_task(task, "candidate_limit = 1000000");
	set_view(task, "SELECT (a.n - 1) * 1000 + b.n AS loan_id, b.n AS priority"
	    " FROM test_number AS a JOIN test_number AS b WHERE a.n <= 500 AND b.n <= 1000");
	p.leader = worker_new(0, task, 2, -1);
	p.leader->stop_while_reading = true;
	p.follower = worker_new(1, task, 1, -1);
	if (single) {
		p.leader->proxy = proxy_new();
		proxy_hold(p.leader->proxy, "SELECT epoch, NOW(6)", 1);
	}
	p.pid = worker_fork(p.leader);
	if (single) {
		proxy_until_held(p.leader->proxy);
		proxy_crowd(p.leader->proxy, true);
		proxy_release(p.leader->proxy);
	}
	assert_true(worker_until_stopped(p.pid));
	if (single)
		assert_int_equal(proxy_connection(p.leader->proxy,
		    proxy_position(p.leader->proxy, QUERY, 1)), 0);
	return p;
}

/* Waits until the server has filled the socket's buffers and can't send more. */
static void
until_stuck_in_result(uint32_t task)
{
	uint64_t start = db_clock_ms(), id = u64("SELECT IS_USED_LOCK(%s)", query_lock_name(task));

	assert_int_not_equal(id, 0);
	while (administrator() != NULL && u64_on(administrator(), "SELECT COUNT(*)"
	    " FROM information_schema.processlist WHERE state = 'Sending to client'"
	    " AND id = %" PRIu64, id) == 0) {
		assert_true(db_clock_ms() - start < AFTER_STOP_MS);
		db_sleep_ms(10);
	}
}

/* Waits until the follower waits or is done. A wait calls the progress function. */
static void
until_it_waits(const struct worker *follower)
{
	uint64_t start = db_clock_ms();

	while (!follower->done && follower->called == 0) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(1);
	}
}

static void
follow_and_stop(struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pairs[i].asked = db_clock_ms();
		worker_start(pairs[i].follower);
	}
	for (size_t i = 0; i < n; i++)
		until_it_waits(pairs[i].follower);
	for (size_t i = 0; i < n; i++)
		kill(pairs[i].pid, SIGSTOP);
}

static void
assert_taken_over(struct pair *pairs, size_t n, uint64_t stopped)
{
	uint64_t most = 0;
	unsigned int worst = 0;

	for (size_t i = 0; i < n; i++) {
		struct pair *p = &pairs[i];
		uint64_t end;

		worker_join(p->follower);
		end = p->asked + p->follower->ms;
		if (end > stopped && end - stopped > most) {
			most = end - stopped;
			worst = p->nth;
		}
		if (p->follower->rc != LOCKQ_OK)
			print_error("stopped at %u: %s\n", p->nth, p->follower->error);
		assert_int_equal(p->follower->rc, LOCKQ_OK);
		assert_int_equal(p->follower->answer.n_loans, 1);
		p->ended = u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %u"
		    " AND user_id = %u AND outcome = 'served'", p->task, user_id(0)) == 1;
		copy_state(p->task, p->before, sizeof(p->before));
	}
	printf("# stopped at each of %zu statements: followers were served %" PRIu64
	    " ms after it at the latest (statement %u)\n", n, most, worst);
	assert_true(most < AFTER_STOP_MS);
}

/* The woken leader reports its two loans, each given once. If its request had ended before, it has
 * written nothing since. */
static void
assert_woken(const struct pair *p)
{
	struct report report;
	char after[256];

	(void)worker_reap(p->pid);
	report = worker_report(p->leader);
	/* It had not made its request yet, so it may report an error. */
	if (report.rc == LOCKQ_EDATABASE && u64("SELECT COUNT(*) FROM work_requested"
	    " WHERE task_id = %u AND user_id = %u", p->task, user_id(0)) == 0)
		return;
	if (report.rc != LOCKQ_OK)
		print_error("stopped at %u: %s\n", p->nth, report.error);
	assert_int_equal(report.rc, LOCKQ_OK);
	assert_int_equal(report.status, LOCKQ_SERVED);
	assert_int_equal(report.n_loans, 2);
	for (size_t i = 0; i < report.n_loans; i++)
		assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %u AND user_id = %u"
		    " AND loan_id = %" PRIu64 " AND token = %" PRIu64, p->task, user_id(0),
		    report.loans[i], report.epoch), 1);
	copy_state(p->task, after, sizeof(after));
	if (p->ended)
		assert_string_equal(after, p->before);
	assert_consistent(p->task);
}

/* How long after @stopped, a time of the server, somebody else than the stopped leader led. Where
 * all is slow, this is the one who is stopped later. */
static uint64_t
led_after_ms(uint32_t task, const char *stopped)
{
	return u64("SELECT TIMESTAMPDIFF(MICROSECOND, '%s', started_at) DIV 1000 FROM leader_run"
	    " WHERE task_id = %u AND user <> '%s' ORDER BY epoch LIMIT 1", stopped, task, user(0));
}

/* guard: wait_timeout is short, or a stopped leader keeps the lock. net_write_timeout is short,
 * too. Leaders are stopped at the same time, each at another statement. Two of them are stopped
 * while they read a big result, one of these with its query on the lock connection. */
static void
stopped_at_any_statement(void **state)
{
	static struct pair pairs[PAIRS];
	struct pair big = stop_in_big_result(OTHER_TASK, false), single;
	struct worker *sleeper = worker_new(2, OTHER_TASK, 1, -1);
	uint64_t all_stopped, big_ms, single_ms, woken;
	char stopped[64];
	size_t n, ended = 0;
	int sleeper_pid;

	(void)state;
	snprintf(stopped, sizeof(stopped), "%s", text_of("SELECT NOW(6)"));
	until_stuck_in_result(OTHER_TASK);
	make_task(TASK + 3);
	single = stop_in_big_result(TASK + 3, true);
	until_stuck_in_result(TASK + 3);
	worker_start(single.follower);
	/* A follower that only waits is stopped, too. */
	sleeper_pid = worker_fork(sleeper);
	until("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND user_id = %u", OTHER_TASK,
	    user_id(2));
	worker_start(big.follower);
	add_loans(TASK, 6);
	n = lead_pairs(pairs);
	kill(sleeper_pid, SIGSTOP);
	follow_and_stop(pairs, n);
	all_stopped = db_clock_ms();
	assert_taken_over(pairs, n, all_stopped);
	worker_join(big.follower);
	assert_int_equal(big.follower->rc, LOCKQ_OK);
	copy_state(OTHER_TASK, big.before, sizeof(big.before));
	worker_join(single.follower);
	assert_int_equal(single.follower->rc, LOCKQ_OK);
	copy_state(single.task, single.before, sizeof(single.before));
	big_ms = led_after_ms(OTHER_TASK, stopped);
	single_ms = led_after_ms(single.task, stopped);
	printf("# stopped in a result of 500000 rows: a follower leads after %" PRIu64 " ms;"
	    " on the lock connection %" PRIu64 "\n", big_ms, single_ms);
	assert_true(big_ms < AFTER_STOP_MS && single_ms < AFTER_STOP_MS);
	big.ended = single.ended = true;
	woken = db_clock_ms();
	assert_string_equal(outcome_of(OTHER_TASK, 2), "served");
	kill(big.pid, SIGCONT);
	kill(single.pid, SIGCONT);
	kill(sleeper_pid, SIGCONT);
	for (size_t i = 0; i < n; i++)
		kill(pairs[i].pid, SIGCONT);
	proxies_relent();
	for (size_t i = 0; i < n; i++) {
		assert_woken(&pairs[i]);
		ended += pairs[i].ended;
	}
	assert_woken(&big);
	assert_woken(&single);
	assert_int_equal(worker_reap(sleeper_pid), LOCKQ_OK);
	assert_int_equal(worker_report(sleeper).n_loans, 1);
	printf("# woken: %zu of them had been served by then; all have ended after %" PRIu64
	    " ms\n", ended, db_clock_ms() - woken);
	assert_true(ended > n / 2);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(killed_at_any_statement),
		DB_TEST(who_takes_over_is_killed_too),
		DB_TEST(who_joined_takes_over),
		DB_TEST(who_polls_takes_over),
		cmocka_unit_test_setup_teardown(the_orphan_is_ended_and_nobody_else, test_setup,
		    end_own_query),
		DB_TEST(a_strangers_name_makes_nobody_wait),
		DB_TEST(stopped_at_any_statement),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("dies", tests, suite_setup, suite_teardown);
}
