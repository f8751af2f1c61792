/* SPDX-License-Identifier: MIT */
/* The connection is lost at a commit or at any other statement. The user is told what is true, or
 * that it is not known. No loan is given twice, and no loan arrives after the user was told that
 * there is none. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

/* LATE: the client is cut off, and the server gets the statement when the proxy releases it. */
enum how { BEFORE, AFTER, LATE, HOWS };
static const char *const how_names[HOWS] = { "before", "after", "late" };

enum { A_WHILE_MS = 150, FIRST_LOOK_MS = 30, A_LONG_WHILE_MS = 1500 };

static void
cut(struct proxy *proxy, const char *text, unsigned int nth, enum how how)
{
	if (how == LATE)
		proxy_hold_and_cut(proxy, text, nth);
	else
		proxy_cut(proxy, text, nth, how == BEFORE ? CUT_BEFORE : CUT_AFTER);
}

static bool
until_held_or_done(const struct worker *w)
{
	uint64_t start = db_clock_ms();

	while (!proxy_is_holding(w->proxy) && !w->done && db_clock_ms() - start < PATIENCE_MS)
		db_sleep_ms(1);
	return proxy_is_holding(w->proxy);
}

/* Waits until the call waits for its leader. If the leader has ended, the call waits for a moment
 * only, so this ends after A_LONG_WHILE_MS. */
static void
until_it_waits(const struct worker *w)
{
	uint64_t start = db_clock_ms();

	while (proxy_count(w->proxy, QUERY) == 0 && !w->done &&
	    db_clock_ms() - start < A_LONG_WHILE_MS)
		db_sleep_ms(1);
	assert_false(w->done);
}

static uint64_t
log_rows(const char *event)
{
	return u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d AND event = '%s'", TASK,
	    event);
}

/* Requests that are still pending are served by the next leader. */
static void
assert_all_are_served_in_the_end(void)
{
	assert_int_equal(ask_now(5, TASK, 1)->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND outcome <> 'served'", TASK), 0);
	assert_consistent(TASK);
}

static void
assert_served(const struct worker *w, size_t n_loans)
{
	if (w->rc != LOCKQ_OK)
		print_error("%s: %d, %s\n", w->ask.user, w->rc, w->error);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	assert_int_equal(w->answer.n_loans, n_loans);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id ="
	    " (SELECT user_id FROM app_user WHERE name = '%s')", TASK, w->ask.user), n_loans);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND user_id ="
	    " (SELECT user_id FROM app_user WHERE name = '%s')", TASK, w->ask.user), 1);
}

/* The connection is lost at the leader's commit @nth. One follower waits, and one request came
 * after the leader's last look. */
static void
commit_of_leader(unsigned int nth, enum how how)
{
	/* A call that does not wait can't hear of the outcome later. */
	struct worker *leader = worker_new(0, TASK, 2, how == LATE ? 0 : -1);
	struct worker *waits = worker_new(1, TASK, 1, -1);

	add_loans(TASK, 7);
	leader->proxy = proxy_new();
	waits->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	worker_start(waits);
	until_it_waits(waits);
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	proxy_release(leader->proxy);
	proxy_until_held(leader->proxy);
	assert_int_equal(ask_now(2, TASK, 1)->rc, LOCKQ_BUSY);
	cut(leader->proxy, "=COMMIT", nth, how);
	proxy_release(leader->proxy);
	if (how == LATE && until_held_or_done(leader)) {
		/* As long as the outcome is not known, no call is told anything. */
		db_sleep_ms(nth == 1 ? A_LONG_WHILE_MS : A_WHILE_MS);
		assert_true(nth > 1 || (!leader->done && !waits->done));
		proxy_release(leader->proxy);
	}
	worker_join(leader);
	worker_join(waits);
	assert_served(leader, 2);
	assert_served(waits, 1);
	if (nth == 1)
		assert_int_equal(waits->answer.epoch, how == BEFORE ? waits->answer.epoch :
		    leader->answer.epoch);
	assert_all_are_served_in_the_end();
	start_again();
}

static void
the_leaders_commit(void **state)
{
	(void)state;
	for (enum how how = BEFORE; how < HOWS; how++)
		commit_of_leader(1, how);
}

static void
the_commit_of_a_hand_over(void **state)
{
	(void)state;
	for (enum how how = BEFORE; how < HOWS; how++)
		commit_of_leader(2, how);
}

/* The leader is killed while its COMMIT is on its way. The commit is done after that, and the
 * requests that it served stay served. */
static void
a_commit_that_outlives_its_leader(void **state)
{
	struct worker *leader = worker_new(0, TASK, 2, -1), *waits = worker_new(1, TASK, 1, -1);
	int pid;

	(void)state;
	add_loans(TASK, 6);
	leader->proxy = proxy_new();
	waits->proxy = proxy_new();
	(void)add_request(TASK, 2, 1);
	proxy_hold(leader->proxy, "=COMMIT", 1);
	pid = worker_fork(leader);
	proxy_until_held(leader->proxy);
	worker_start(waits);
	until_it_waits(waits);
	kill(pid, SIGKILL);
	assert_int_equal(worker_reap(pid), -1);
	/* The follower is told nothing while the server has not got the commit. */
	db_sleep_ms(A_WHILE_MS);
	assert_false(waits->done);
	proxy_release(leader->proxy);
	worker_join(waits);
	assert_served(waits, 1);
	assert_int_equal(waits->answer.epoch, 2);
	assert_string_equal(outcome_of(TASK, 0), "served");
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_consistent(TASK);
}

#define LINE "FROM work_requested AS r"
#define FOLLOWS "FROM wake_in WHERE task_id = ? FOR SHARE"

/* A call that finds out what became of its COMMIT locks its own row for a moment, and a leader that
 * reads the pending requests then passes that row over. So @other, which is held at LINE, goes on
 * when @w follows or is done. */
static void
until_it_follows_or_is_done(const struct worker *w, const struct worker *other)
{
	uint64_t start = db_clock_ms();

	while (!w->done &&
	    !(proxy_is_holding(other->proxy) && proxy_count(w->proxy, FOLLOWS) > 0)) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(1);
	}
	proxies_relent();
}

/* No loan is left for the second user. "No work" is true, and it is said by a commit that was
 * done. */
static void
no_work_is_said_by_what_was_committed(void **state)
{
	(void)state;
	for (enum how how = BEFORE; how < HOWS; how++) {
		struct worker *leader = worker_new(0, TASK, 1, -1);
		struct worker *waits = worker_new(1, TASK, 1, -1);

		add_loans(TASK, 1);
		leader->proxy = proxy_new();
		waits->proxy = proxy_new();
		proxy_hold(leader->proxy, QUERY, 1);
		worker_start(leader);
		proxy_until_held(leader->proxy);
		worker_start(waits);
		until_it_waits(waits);
		proxy_hold(waits->proxy, LINE, 1);
		cut(leader->proxy, "=COMMIT", 1, how);
		proxy_release(leader->proxy);
		if (how == LATE && until_held_or_done(leader)) {
			db_sleep_ms(A_WHILE_MS);
			assert_false(waits->done);
			proxy_release(leader->proxy);
		}
		until_it_follows_or_is_done(leader, waits);
		worker_join(leader);
		worker_join(waits);
		assert_served(leader, 1);
		assert_int_equal(waits->rc, LOCKQ_NOTHING);
		assert_consistent(TASK);
		start_again();
	}
}

/* Returns how many statements a leader sends if nothing is lost. */
static unsigned int
leaders_statements(unsigned int *last_look)
{
	struct proxy *proxy = proxy_new();
	struct worker *w = worker_new(0, TASK, 2, -1);
	unsigned int n;

	add_loans(TASK, 7);
	w->proxy = proxy;
	proxy_hold(proxy, "SET holder = NULL", 1);
	worker_start(w);
	proxy_until_held(proxy);
	(void)add_request(TASK, 2, 1);
	proxy_release(proxy);
	worker_join(w);
	n = (unsigned int)proxy_total(proxy);
	*last_look = (unsigned int)proxy_position(proxy, "SET holder = NULL", 1) + 1;
	start_again();
	return n;
}

/* Cuts a leader off at its statement @nth. One follower waits, and one request came after the
 * leader's last look. Returns false if all requests failed with the error of a query that had not
 * begun. */
static bool
leader_cut_at(unsigned int nth, enum how how, unsigned int last_look)
{
	struct worker *leader = worker_new(0, TASK, 2, -1), *waits = worker_new(1, TASK, 1, -1);
	bool nothing_asked;
	char text[256];

	add_loans(TASK, 7);
	leader->proxy = proxy_new();
	if (how != LATE)
		proxy_hold(leader->proxy, nth == last_look ? "INSERT INTO run_in" :
		    "SET holder = NULL", 1);
	cut(leader->proxy, "", nth, how);
	worker_start(leader);
	if (until_held_or_done(leader)) {
		worker_start(waits);
		(void)add_request(TASK, 2, 1);
		db_sleep_ms(FIRST_LOOK_MS);
		proxy_release(leader->proxy);
	} else {
		worker_start(waits);
	}
	worker_join(leader);
	worker_join(waits);
	nothing_asked = u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND user_id = %u", TASK, user_id(0)) == 0;
	proxy_text(leader->proxy, nth - 1, text, sizeof(text));
	/* guard: a call that was cut off before its query began reports no failed query. If the
	 * query had begun, somebody may have ended the query on the server, and all requests
	 * fail. */
	if (leader->rc == LOCKQ_EQUERY) {
		bool had_begun = strstr(text, "lockq_started") != NULL;

		if (!had_begun)
			print_error("cut %s %u, %s: %s\n", how_names[how], nth, text,
			    leader->error);
		assert_consistent(TASK);
		start_again();
		return had_begun;
	}
	if (nothing_asked)
		assert_int_equal(leader->rc, LOCKQ_EDATABASE);
	else
		assert_served(leader, 2);
	assert_served(waits, 1);
	assert_all_are_served_in_the_end();
	start_again();
	return true;
}

static void
a_leader_cut_off_at_any_statement(void **state)
{
	unsigned int last_look, n = leaders_statements(&last_look);
	uint64_t start = db_clock_ms();
	size_t failed = 0;

	(void)state;
	/* A cut before a statement is the same as one after the statement before it, except at
	 * COMMIT, which has its own tests. */
	for (unsigned int nth = 1; nth <= n; nth++)
		failed += !leader_cut_at(nth, AFTER, last_look);
	for (unsigned int nth = 1; nth <= n; nth++)
		failed += !leader_cut_at(nth, LATE, last_look);
	printf("# cut off at each of %u statements, after and late: %" PRIu64 " ms\n", n,
	    db_clock_ms() - start);
	assert_true(n > 30);
	assert_int_equal(failed, 0);
}

/* Cuts a follower off at its statement @nth, before it has its answer. Returns false if it has
 * fewer statements. */
static bool
follower_cut_at(unsigned int nth, enum how how)
{
	struct worker *leader = worker_new(0, TASK, 2, -1), *waits = worker_new(1, TASK, 1, -1);
	uint64_t start;
	bool hit;

	add_loans(TASK, 6);
	leader->proxy = proxy_new();
	waits->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	cut(waits->proxy, "", nth, how);
	worker_start(waits);
	start = db_clock_ms();
	while (!waits->done && proxy_total(waits->proxy) <= nth && db_clock_ms() - start < 100)
		db_sleep_ms(1);
	if (how == LATE)
		proxy_release(waits->proxy);
	proxy_release(leader->proxy);
	worker_join(leader);
	(void)until_held_or_done(waits);
	proxy_release(waits->proxy);
	worker_join(waits);
	hit = proxy_total(waits->proxy) >= nth;
	assert_served(leader, 2);
	if (u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND user_id = %u", TASK,
	    user_id(1)) == 0)
		assert_int_equal(waits->rc, LOCKQ_EDATABASE);
	else
		assert_served(waits, 1);
	assert_all_are_served_in_the_end();
	start_again();
	return hit;
}

static void
a_follower_cut_off_at_any_statement(void **state)
{
	unsigned int nth[HOWS] = { 0 };

	(void)state;
	for (enum how how = AFTER; how < HOWS; how++) {
		do
			nth[how]++;
		while (follower_cut_at(nth[how], how));
		assert_true(nth[how] > 10);
	}
	printf("# a follower cut off at each of %u statements\n", nth[AFTER]);
}

/* A call of lockq_dispose() for loan 1 of user 0. */
struct disposing {
	struct worker *by;
	enum lockq_disposition_kind kind;
	bool impatient;
	struct lockq_disposed_result result;
	int rc;
	pthread_t thread;
};

static void *
dispose(void *data)
{
	struct disposing *d = data;
	const struct lockq_loan_ref loan = { 1, 0 };
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;

	what.user = d->by->ask.user;
	what.task = TASK;
	what.kind = d->kind;
	what.loans = &loan;
	what.n_loans = 1;
	what.timeout_ms = d->impatient ? 0 : what.timeout_ms;
	d->rc = lockq_dispose(d->by->q, &what, &d->result);
	return NULL;
}

static struct disposing
disposing_of(enum lockq_disposition_kind kind)
{
	struct disposing d = { .kind = kind, .result = LOCKQ_DISPOSED_RESULT_INIT };

	add_loans(TASK, 1);
	set_task(TASK, "lease_minutes = %s", kind == LOCKQ_RENEW ? "60" : "NULL");
	assert_int_equal(ask_now(0, TASK, 1)->answer.n_loans, 1);
	d.by = worker_new(0, TASK, 1, 0);
	d.by->proxy = proxy_new();
	worker_connect(d.by);
	return d;
}

static void
each_disposition_is_found_or_done(void **state)
{
	static const char *const events[] = { "completed", "returned", "never", "renewed" };

	(void)state;
	for (int i = 0; i < 5 * HOWS; i++) {
		/* The fifth is a completion after the end of the lease. */
		bool late = i / HOWS == 4;
		enum lockq_disposition_kind kind = late ? LOCKQ_COMPLETE :
		    (enum lockq_disposition_kind)(i / HOWS);
		struct disposing d = disposing_of(kind);

		if (late)
			sql("UPDATE work SET lease_expires_at = NOW(6) WHERE task_id = %d", TASK);
		cut(d.by->proxy, "=COMMIT", 1, i % HOWS);
		assert_int_equal(pthread_create(&d.thread, NULL, dispose, &d), 0);
		if (i % HOWS == LATE) {
			proxy_until_held(d.by->proxy);
			until_waiting_for("work", 1);
			proxy_release(d.by->proxy);
		}
		pthread_join(d.thread, NULL);
		assert_int_equal(d.rc, LOCKQ_OK);
		assert_int_equal(d.result.loans[0].what, LOCKQ_DISPOSED);
		assert_string_equal(d.result.loans[0].state, kind == LOCKQ_RENEW ? "assigned" :
		    events[kind]);
		assert_int_equal(log_rows(events[kind]), 1);
		assert_int_equal(log_rows("expired"), late);
		assert_int_equal(u64("SELECT version FROM work WHERE task_id = %d", TASK),
		    late ? 3 : 2);
		assert_consistent(TASK);
		lockq_disposed_clear(&d.result);
		start_again();
	}
}

/* The commit was never done. Before the disposition is tried again, the lease runs out and the loan
 * is assigned to another user, who keeps it; the disposition is refused. */
static void
a_disposition_that_came_to_nothing(void **state)
{
	struct disposing d = disposing_of(LOCKQ_COMPLETE);

	(void)state;
	cut(d.by->proxy, "=COMMIT", 1, BEFORE);
	proxy_hold(d.by->proxy, "SET autocommit = 0", 2);
	assert_int_equal(pthread_create(&d.thread, NULL, dispose, &d), 0);
	proxy_until_held(d.by->proxy);
	sql("UPDATE work SET lease_expires_at = NOW(6) WHERE task_id = %d", TASK);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
	proxy_release(d.by->proxy);
	pthread_join(d.thread, NULL);
	assert_int_equal(d.rc, LOCKQ_EREFUSED);
	assert_int_equal(d.result.loans[0].what, LOCKQ_NOT_YOURS);
	assert_int_equal(log_rows("completed"), 0);
	assert_string_equal(text_of("SELECT state FROM work WHERE task_id = %d", TASK), "assigned");
	lockq_disposed_clear(&d.result);
}

/* No server can be asked, so the outcome is unknown. The commit is done later. */
static void
a_disposition_of_unknown_outcome(void **state)
{
	struct disposing d = disposing_of(LOCKQ_COMPLETE);

	(void)state;
	d.impatient = true;
	cut(d.by->proxy, "=COMMIT", 1, LATE);
	assert_int_equal(pthread_create(&d.thread, NULL, dispose, &d), 0);
	proxy_until_held(d.by->proxy);
	proxy_refuse(d.by->proxy);
	pthread_join(d.thread, NULL);
	assert_int_equal(d.rc, LOCKQ_EUNKNOWN);
	assert_int_equal(log_rows("completed"), 0);
	proxy_release(d.by->proxy);
	until("SELECT COUNT(*) = 1 FROM work_log WHERE task_id = %d AND event = 'completed'", TASK);
	lockq_disposed_clear(&d.result);
}

/* A call gives up or its wait ends, and the statement that cancels its request is lost. No leader
 * serves the request then, and the user's next request is not cancelled. */
static void
cancelled_for_good(bool gives_up, enum how how)
{
	struct worker *leader = worker_new(0, TASK, 2, -1);
	struct worker *leaves = worker_new(1, TASK, 1, gives_up ? -1 : 1100);

	add_loans(TASK, 6);
	leader->proxy = proxy_new();
	leaves->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	cut(leaves->proxy, "SET outcome = 'cancelled'", 1, how);
	worker_start(leaves);
	until_it_waits(leaves);
	leaves->give_up = gives_up;
	worker_join(leaves);
	assert_int_equal(leaves->rc, gives_up ? LOCKQ_CANCELLED : LOCKQ_BUSY);
	assert_int_equal(leaves->answer.status, LOCKQ_STATUS_CANCELLED);
	/* The same user asks again. The late statement is about the first request only. */
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	proxy_release(leaves->proxy);
	proxy_until_answered(leaves->proxy);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_served(leader, 2);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND outcome = 'cancelled' AND assigned = 0", TASK), 1);
	assert_consistent(TASK);
	start_again();
}

static void
a_lost_cancel_cancels(void **state)
{
	(void)state;
	for (enum how how = BEFORE; how < HOWS; how++) {
		cancelled_for_good(true, how);
		if (how == LATE)
			cancelled_for_good(false, how);
	}
}

/* The request can't be cancelled. The message says that it may still be pending, and it is. */
static void
a_cancel_that_never_gets_through(void **state)
{
	struct worker *leader = worker_new(0, TASK, 2, -1), *leaves = worker_new(1, TASK, 1, -1);

	(void)state;
	add_loans(TASK, 6);
	leader->proxy = proxy_new();
	leaves->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	worker_start(leaves);
	until_it_waits(leaves);
	proxy_refuse(leaves->proxy);
	leaves->give_up = true;
	proxy_drop(leaves->proxy);
	worker_join(leaves);
	assert_true(leaves->rc < 0);
	assert_non_null(strstr(leaves->error, "may still be pending"));
	assert_non_null(strstr(leaves->error, text_of("SELECT uuid FROM work_requested"
	    " WHERE request_id = %" PRIu64, request_of(TASK, 1))));
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_string_equal(outcome_of(TASK, 1), "served");
}

/* guard: a cancelled request whose INSERT comes late stays away. The connection is lost at the
 * INSERT, no new one can be had for a while, and the user gives up. */
static void
a_request_does_not_come_back(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, -1);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_hold_and_cut(w->proxy, "INSERT INTO request_in", 1);
	proxy_crowd(w->proxy, true);
	worker_start(w);
	proxy_until_held(w->proxy);
	proxy_until_crowded(w->proxy, 2);
	w->give_up = true;
	proxy_until_crowded(w->proxy, 4);
	proxy_crowd(w->proxy, false);
	worker_join(w);
	proxy_release(w->proxy);
	proxy_until_answered(w->proxy);
	assert_true(w->rc == LOCKQ_CANCELLED || w->rc < 0);
	if (strstr(w->error, "may still be pending") == NULL)
		assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
		    " AND outcome = 'pending'", TASK), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(the_leaders_commit),
		DB_TEST(the_commit_of_a_hand_over),
		DB_TEST(a_commit_that_outlives_its_leader),
		DB_TEST(no_work_is_said_by_what_was_committed),
		DB_TEST(a_leader_cut_off_at_any_statement),
		DB_TEST(a_follower_cut_off_at_any_statement),
		DB_TEST(a_lost_cancel_cancels),
		DB_TEST(a_cancel_that_never_gets_through),
		DB_TEST(a_request_does_not_come_back),
		DB_TEST(each_disposition_is_found_or_done),
		DB_TEST(a_disposition_that_came_to_nothing),
		DB_TEST(a_disposition_of_unknown_outcome),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("doubt", tests, suite_setup, suite_teardown);
}
