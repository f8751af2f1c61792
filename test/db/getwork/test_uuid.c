/* SPDX-License-Identifier: MIT */
/* A caller chooses the request's UUID, so that it may repeat the call: whatever happens in between,
 * all repetitions together get the loans of one call. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

#define MINE "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
#define IN_CAPITALS "3F2504E0-4F89-41D3-9A0C-0305E82C3301"
#define NEW "9b2e4c1a-0d7f-4c1e-8a55-6f0d3b7c2e10"

enum { SHORT_MS = 300, ROUNDS = 12, INTERRUPTED = 1317 };

static struct worker *
worker_with(const char *uuid, unsigned int user_no, uint32_t count, int64_t timeout_ms)
{
	struct worker *w = worker_new(user_no, TASK, count, timeout_ms);

	w->ask.uuid = uuid;
	return w;
}

static struct worker *
ask_with(const char *uuid, unsigned int user_no, uint32_t count, int64_t timeout_ms)
{
	struct worker *w = worker_with(uuid, user_no, count, timeout_ms);

	worker_start(w);
	worker_join(w);
	return w;
}

static uint64_t
rows_of(const char *uuid)
{
	return u64("SELECT COUNT(*) FROM work_requested WHERE uuid = '%s'", uuid);
}

static uint64_t
given(void)
{
	return u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d AND event = 'assigned'", TASK);
}

static void
set_uuid(uint64_t request_id, const char *uuid)
{
	sql("UPDATE work_requested SET uuid = '%s' WHERE request_id = %" PRIu64, uuid, request_id);
}

static void
assert_refused(const struct worker *w, const char *why)
{
	if (w->rc != LOCKQ_EREFUSED || strstr(w->error, why) == NULL)
		print_error("%d: %s\n", w->rc, w->error);
	assert_int_equal(w->rc, LOCKQ_EREFUSED);
	assert_non_null(strstr(w->error, why));
	assert_int_equal(w->answer.status, LOCKQ_REFUSED);
	assert_int_equal(w->answer.request_id, 0);
	assert_int_equal(w->answer.n_loans, 0);
	assert_null(w->answer.user);
}

static void
assert_same_loans(const struct worker *a, const struct worker *b)
{
	assert_int_equal(a->rc, LOCKQ_OK);
	if (b->rc != LOCKQ_OK)
		print_error("%d: %s\n", b->rc, b->error);
	assert_int_equal(b->rc, LOCKQ_OK);
	assert_int_equal(a->answer.request_id, b->answer.request_id);
	assert_int_equal(a->answer.n_loans, b->answer.n_loans);
	for (size_t i = 0; i < a->answer.n_loans; i++) {
		const struct lockq_loan *one = &a->answer.loans[i], *two = &b->answer.loans[i];

		assert_int_equal(one->loan_id, two->loan_id);
		assert_int_equal(one->token, two->token);
		assert_string_equal(one->lease_expires_at, two->lease_expires_at);
	}
}

/* Completes the loan, and lets it go to somebody else. */
static void
pass_on(struct worker *w, uint64_t loan_id, unsigned int to)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_loan_ref loan = { loan_id, 0 };
	struct worker *other;

	what.user = w->ask.user;
	what.task = TASK;
	what.loans = &loan;
	what.n_loans = 1;
	assert_int_equal(lockq_dispose(w->q, &what, &result), LOCKQ_OK);
	lockq_disposed_clear(&result);
	other = ask_now(to, TASK, 1);
	assert_int_equal(other->rc, LOCKQ_OK);
	assert_int_equal(other->answer.loans[0].loan_id, loan_id);
}

/* guard: a UUID that got loans gives them again, as they were given, although the loans are others'
 * by now, and although the task would not allow another request. */
static void
the_same_answer_again(void **state)
{
	struct worker *first, *again;

	(void)state;
	add_loans(TASK, 2);
	set_task(TASK, "lease_minutes = 60, max_pipeline = 2");
	first = ask_with(IN_CAPITALS, 0, 2, 0);
	assert_int_equal(first->rc, LOCKQ_OK);
	assert_false(first->answer.repeated);
	assert_string_equal(first->answer.uuid, MINE);
	assert_int_equal(rows_of(MINE), 1);
	again = ask_with(MINE, 0, 2, 0);
	assert_same_loans(first, again);
	assert_true(again->answer.repeated);
	assert_string_equal(again->answer.task_name, first->answer.task_name);
	assert_false(again->answer.joined || again->answer.led);
	assert_int_equal(again->answer.epoch, first->answer.epoch);
	assert_string_equal(again->answer.as_of, first->answer.as_of);
	assert_string_equal(again->answer.user, user(0));
	pass_on(first, first->answer.loans[0].loan_id, 1);
	set_task(TASK, "enabled = 0");
	assert_same_loans(first, ask_with(IN_CAPITALS, 0, 2, -1));
	assert_int_equal(rounds_of(TASK), 2);
	assert_int_equal(given(), 3);
}

/* A repetition joins a request that is pending, and can't cancel it. */
static void
a_pending_one_is_joined(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *first = ask_with(MINE, 0, 2, 0), *waits, *gives_up;

	(void)state;
	add_loans(TASK, 3);
	assert_int_equal(first->rc, LOCKQ_BUSY);
	sql("UPDATE work_requested SET seen_at = NOW(6) - INTERVAL 1 DAY WHERE uuid = '" MINE "'");
	gives_up = ask_with(MINE, 0, 2, SHORT_MS);
	assert_int_equal(gives_up->rc, LOCKQ_BUSY);
	assert_true(gives_up->answer.joined);
	assert_string_equal(outcome_of(TASK, 0), "pending");
	assert_int_equal(u64("SELECT seen_at > NOW(6) - INTERVAL 1 HOUR FROM work_requested"
	    " WHERE uuid = '" MINE "'"), 1);
	waits = worker_with(MINE, 0, 2, -1);
	worker_start(waits);
	until_waiting_for("task_wake", 1);
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	worker_join(waits);
	assert_int_equal(waits->rc, LOCKQ_OK);
	assert_true(waits->answer.joined);
	assert_false(waits->answer.repeated);
	assert_same_loans(waits, ask_with(MINE, 0, 2, 0));
	assert_int_equal(given(), 2);
}

/* guard: a UUID whose request ended without loans can't be used again. */
static void
one_without_loans_is_refused(void **state)
{
	static const char *const outcomes[] = { "cancelled", "expired", "failed", "refused" };
	struct worker *first = ask_with(MINE, 0, 1, 0);
	char text[64];

	(void)state;
	assert_int_equal(first->rc, LOCKQ_NOTHING);
	add_loans(TASK, 3);
	assert_refused(ask_with(MINE, 0, 1, 0), "has ended without loans (empty): use a new UUID");
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		sql("UPDATE work_requested SET outcome = '%s', requested = 0", outcomes[i]);
		snprintf(text, sizeof(text), "without loans (%s): use a new UUID", outcomes[i]);
		assert_refused(ask_with(MINE, 0, 1, 0), text);
	}
	assert_int_equal(given(), 0);
	assert_int_equal(ask_with(NEW, 0, 1, 0)->rc, LOCKQ_OK);
}

/* guard: a UUID of another user's request is refused, and nothing of that request is told or
 * changed. */
static void
somebody_elses_is_refused(void **state)
{
	static const char text[] = "UUID \"" MINE "\" is another request's: use a new UUID";
	uint64_t request_id = add_request(TASK, 1, 1);
	char seen_at[32];

	(void)state;
	add_loans(TASK, 3);
	set_uuid(request_id, MINE);
	snprintf(seen_at, sizeof(seen_at), "%s", text_of("SELECT seen_at FROM work_requested"));
	assert_refused(ask_with(MINE, 0, 1, 0), text);
	assert_string_equal(text_of("SELECT seen_at FROM work_requested"), seen_at);
	assert_string_equal(outcome_of(TASK, 1), "pending");
	/* The user's own request, but by an account that may not ask for this user. */
	sql("UPDATE app_user SET account = 'somebody' WHERE name = '%s'", user(1));
	assert_refused(ask_with(MINE, 1, 1, 0), text);
	sql("UPDATE work_requested SET outcome = 'empty', requested = 0");
	assert_refused(ask_with(MINE, 1, 1, 0), text);
	sql("UPDATE app_user SET account = NULL WHERE name = '%s'", user(1));
	assert_int_equal(given(), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested"), 1);
}

/* guard: a UUID belongs to one call: another task or count is refused. */
static void
another_call_is_refused(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	add_loans(OTHER_TASK, 3);
	assert_int_equal(ask_with(MINE, 0, 2, 0)->rc, LOCKQ_OK);
	assert_refused(ask_with(MINE, 0, 1, 0), "was used to ask for 2 loans of task 100");
	w = worker_with(MINE, 0, 2, 0);
	w->ask.task = OTHER_TASK;
	worker_start(w);
	worker_join(w);
	assert_refused(w, "use a new UUID for another call");
	assert_int_equal(u64("SELECT COUNT(*) FROM work"), 2);
}

static void
a_malformed_one_is_a_usage_error(void **state)
{
	static const char *const bad[] = { "", "118", "3f2504e0-4f89-41d3-9a0c-0305e82c330",
		"3f2504e0-4f89-41d3-9a0c-0305e82c33011", "3f2504e04f8941d39a0c0305e82c3301",
		"3f2504e0-4f89-41d3-9a0c-0305e82c330g", "{3f2504e0-4f89-41d3-9a0c-0305e82c3301}" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct worker *w = ask_with(bad[i], 0, 1, 0);

		assert_int_equal(w->rc, LOCKQ_EUSAGE);
		assert_non_null(strstr(w->error, "is no UUID"));
	}
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested"), 0);
}

/* guard: a call with a UUID does not take the answer of another request of its user. It waits until
 * that one has ended, here by serving it, and then asks. */
static void
another_request_comes_first(void **state)
{
	uint64_t other = add_request(TASK, 0, 1);
	struct worker *w;

	(void)state;
	add_loans(TASK, 5);
	w = ask_with(MINE, 0, 2, 0);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_string_equal(w->answer.uuid, MINE);
	assert_int_equal(w->answer.n_loans, 2);
	assert_false(w->answer.joined);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE request_id = %" PRIu64, other),
	    1);
	assert_same_loans(w, ask_with(MINE, 0, 2, 0));
	assert_int_equal(given(), 3);
	assert_consistent(TASK);
}

/* guard: a call that leads while another request of its user comes first, and fails, leaves nothing
 * open on its handle. */
static void
it_fails_as_it_leads_for_another_request(void **state)
{
	uint64_t other = add_request(TASK, 0, 1);
	struct worker *w = worker_with(MINE, 0, 2, -1);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "STRAIGHT_JOIN request_end", 1, 1, INTERRUPTED);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_EDATABASE);
	assert_int_equal(rows_of(MINE), 0);
	assert_int_equal(u64("SELECT pending FROM work_requested WHERE request_id = %" PRIu64,
	    other), 1);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 0), "served");
	assert_int_equal(given(), 2);
	assert_consistent(TASK);
}

/* guard: the loans of another request are not reported by a call that gives up waiting for it. That
 * request is served after the call's last look. */
static void
it_gives_up_behind_another_request(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	uint64_t other = add_request(TASK, 0, 1);
	struct worker *w = worker_with(MINE, 0, 2, 1200), *now = ask_with(NEW, 0, 2, 0);

	(void)state;
	assert_int_equal(now->rc, LOCKQ_BUSY);
	assert_int_equal(now->answer.request_id, other);
	assert_true(now->answer.joined);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "SELECT l.holder", 2);
	worker_start(w);
	proxy_until_held(w->proxy);
	sql("UPDATE work_requested SET outcome = 'served', assigned = 1"
	    " WHERE request_id = %" PRIu64, other);
	db_sleep_ms(SHORT_MS);
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_non_null(strstr(w->error, "nothing was asked for with this UUID"));
	assert_int_equal(w->answer.request_id, other);
	assert_int_equal(rows_of(MINE) + rows_of(NEW), 0);
	db_rollback(leader.lock);
}

/* The same, where it is interrupted. The request that it did not make stays pending. */
static void
it_is_interrupted_behind_another_request(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	uint64_t other = add_request(TASK, 0, 1);
	struct worker *w = worker_with(MINE, 0, 2, -1);

	(void)state;
	worker_start(w);
	until_waiting_for("task_wake", 1);
	w->give_up = true;
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_CANCELLED);
	assert_int_equal(w->answer.request_id, other);
	assert_string_equal(outcome_of(TASK, 0), "pending");
	assert_int_equal(rows_of(MINE), 0);
	db_rollback(leader.lock);
}

/* guard: a call that joined the request of its UUID makes no second one when that is cancelled. */
static void
the_maker_cancels(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *maker = worker_with(MINE, 0, 1, -1), *joins = worker_with(MINE, 0, 1, -1);

	(void)state;
	/* So it looks every second. */
	set_task(TASK, "request_ttl = 3");
	worker_start(maker);
	until("SELECT COUNT(*) = 1 FROM work_requested");
	worker_start(joins);
	until_waiting_for("task_wake", 2);
	maker->give_up = true;
	worker_join(maker);
	assert_int_equal(maker->rc, LOCKQ_CANCELLED);
	worker_join(joins);
	assert_int_equal(joins->rc, LOCKQ_BUSY);
	assert_int_equal(joins->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_true(joins->answer.joined);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested"), 1);
	assert_refused(ask_with(MINE, 0, 1, 0), "(cancelled): use a new UUID");
	db_rollback(leader.lock);
}

/* guard: two processes with one UUID make one request. The first has found no such UUID, and sends
 * its INSERT when the second one has its loans. */
static void
both_at_once(void **state)
{
	struct worker *first = worker_with(MINE, 0, 2, -1), *second;

	(void)state;
	add_loans(TASK, 5);
	set_task(TASK, "max_pipeline = 2");
	first->proxy = proxy_new();
	proxy_hold(first->proxy, "INSERT INTO request_in", 1);
	worker_start(first);
	proxy_until_held(first->proxy);
	second = ask_with(MINE, 0, 2, 0);
	proxy_release(first->proxy);
	worker_join(first);
	assert_same_loans(second, first);
	assert_true(first->answer.repeated);
	assert_int_equal(given(), 2);
}

/* The same with two users. */
static void
two_users_at_once(void **state)
{
	struct worker *w = worker_with(MINE, 0, 1, -1);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "INSERT INTO request_in", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	set_uuid(add_request(TASK, 1, 1), MINE);
	proxy_release(w->proxy);
	worker_join(w);
	assert_refused(w, "is another request's: use a new UUID");
	assert_int_equal(given(), 0);
	assert_string_equal(outcome_of(TASK, 1), "pending");
}

static void
both_at_once_at_random(void **state)
{
	struct worker *w[3];

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		add_loans(TASK, 5);
		for (size_t i = 0; i < 3; i++) {
			w[i] = worker_with(MINE, 0, 2, -1);
			worker_connect(w[i]);
		}
		for (size_t i = 0; i < 3; i++)
			worker_start(w[i]);
		for (size_t i = 0; i < 3; i++)
			worker_join(w[i]);
		assert_same_loans(w[0], w[1]);
		assert_same_loans(w[0], w[2]);
		assert_int_equal(given(), 2);
		assert_consistent(TASK);
		start_again();
	}
}

/* A leader dies by kill -9 before its COMMIT is done; the repetition gets the loans. */
static void
the_first_is_killed(void **state)
{
	static const char *const where[] = { QUERY, "SET holder = NULL", "=COMMIT" };

	(void)state;
	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		struct worker *first = worker_with(MINE, 0, 2, -1), *again;
		int pid;

		add_loans(TASK, 5);
		first->proxy = proxy_new();
		proxy_hold(first->proxy, where[i], 1);
		pid = worker_fork(first);
		proxy_until_held(first->proxy);
		kill(pid, SIGKILL);
		assert_int_equal(worker_reap(pid), -1);
		proxy_drop(first->proxy);
		again = ask_with(MINE, 0, 2, -1);
		assert_int_equal(again->rc, LOCKQ_OK);
		assert_true(again->answer.joined);
		assert_int_equal(again->answer.n_loans, 2);
		assert_same_loans(again, ask_with(MINE, 0, 2, -1));
		assert_int_equal(given(), 2);
		assert_consistent(TASK);
		start_again();
	}
}

/* Waits for the COMMIT and the end of all connections. */
static void
until_cut(struct proxy *proxy)
{
	while (proxy_count(proxy, "=COMMIT") == 0)
		db_sleep_ms(2);
	proxy_refuse(proxy);
	proxy_until_left(proxy);
}

/* The first call loses its connection at COMMIT, and is killed before it can connect again. The
 * server does not get the COMMIT, gets it, or gets it when the repetition waits. */
static void
the_first_loses_its_commit(void **state)
{
	(void)state;
	for (unsigned int how = 0; how < 3; how++) {
		struct worker *first = worker_with(MINE, 0, 2, -1);
		struct worker *again = worker_with(MINE, 0, 2, -1);
		int pid;

		add_loans(TASK, 5);
		first->proxy = proxy_new();
		again->proxy = proxy_new();
		if (how == 2)
			proxy_hold(first->proxy, "=COMMIT", 1);
		else
			proxy_cut(first->proxy, "=COMMIT", 1, how == 0 ? CUT_BEFORE : CUT_AFTER);
		pid = worker_fork(first);
		if (how == 2)
			proxy_until_held(first->proxy);
		else
			until_cut(first->proxy);
		kill(pid, SIGKILL);
		assert_int_equal(worker_reap(pid), -1);
		worker_start(again);
		if (how == 2) {
			while (proxy_count(again->proxy, "SET seen_at =") == 0 && !again->done)
				db_sleep_ms(5);
			assert_false(again->done);
			proxy_release(first->proxy);
		}
		worker_join(again);
		assert_int_equal(again->rc, LOCKQ_OK);
		assert_int_equal(again->answer.repeated, how == 1);
		assert_int_equal(again->answer.led, how == 0);
		assert_int_equal(again->answer.n_loans, 2);
		assert_same_loans(again, ask_with(MINE, 0, 2, -1));
		assert_int_equal(given(), 2);
		assert_consistent(TASK);
		start_again();
	}
}

/* The reply to the INSERT is lost. The call finds its own request, which it may cancel. */
static void
the_reply_is_lost(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *w = worker_with(MINE, 0, 2, SHORT_MS);

	(void)state;
	w->proxy = proxy_new();
	proxy_cut(w->proxy, "INSERT INTO request_in", 1, CUT_AFTER);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_false(w->answer.joined);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
	db_rollback(leader.lock);
}

/* guard: a call cancels no request that only has the same UUID. Somebody else's request takes the
 * UUID just before the INSERT, whose reply is lost; then the call is interrupted. */
static void
somebody_elses_is_not_cancelled(void **state)
{
	struct worker *w = worker_with(MINE, 0, 1, -1);

	(void)state;
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "INSERT INTO request_in", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	set_uuid(add_request(TASK, 1, 1), MINE);
	w->give_up = true;
	proxy_drop(w->proxy);
	worker_join(w);
	assert_true(w->rc < 0 || w->rc == LOCKQ_CANCELLED);
	assert_string_equal(outcome_of(TASK, 1), "pending");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(the_same_answer_again),
		DB_TEST(a_pending_one_is_joined),
		DB_TEST(one_without_loans_is_refused),
		DB_TEST(somebody_elses_is_refused),
		DB_TEST(another_call_is_refused),
		DB_TEST(a_malformed_one_is_a_usage_error),
		DB_TEST(another_request_comes_first),
		DB_TEST(it_fails_as_it_leads_for_another_request),
		DB_TEST(it_gives_up_behind_another_request),
		DB_TEST(it_is_interrupted_behind_another_request),
		DB_TEST(the_maker_cancels),
		DB_TEST(both_at_once),
		DB_TEST(two_users_at_once),
		DB_TEST(both_at_once_at_random),
		DB_TEST(the_first_is_killed),
		DB_TEST(the_first_loses_its_commit),
		DB_TEST(the_reply_is_lost),
		DB_TEST(somebody_elses_is_not_cancelled),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("uuid", tests, suite_setup, suite_teardown);
}
