/* SPDX-License-Identifier: MIT */
/* lockq_cancel(): cancelling a request that another process has made and waits for. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

/* HELD_MS is far above the second and a half of the promise, and far below a lock wait of the
 * server's default. */
enum { SOON_MS = 12000, HELD_MS = 6000, SHORT_TTL = 3 };

/* A call of lockq_cancel(), perhaps in a thread. */
struct canceller {
	struct worker *worker; /* its user and its handle */
	uint32_t task;
	char request[48];      /* "": the task is meant */
	int rc;
	pthread_t thread;
};

static void
cancel(struct canceller *c)
{
	struct worker *w = c->worker;

	c->rc = lockq_cancel(w->q, w->ask.user, c->task, c->request[0] != '\0' ? c->request : NULL,
	    &w->answer);
	snprintf(w->error, sizeof(w->error), "%s", lockq_error(w->q));
}

static void *
run(void *data)
{
	cancel(data);
	return NULL;
}

static struct worker *
cancel_named(unsigned int user_no, const char *request, int rc)
{
	struct canceller c = { .worker = worker_connected(user_no, TASK, 1) };

	snprintf(c.request, sizeof(c.request), "%s", request);
	cancel(&c);
	if (c.rc != rc)
		print_error("%d: %s\n", c.rc, c.worker->error);
	assert_int_equal(c.rc, rc);
	return c.worker;
}

static struct worker *
cancel_id(unsigned int user_no, uint64_t request_id, int rc)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, request_id);
	return cancel_named(user_no, text, rc);
}

static struct worker *
cancel_for(unsigned int user_no, uint32_t task, int rc)
{
	struct canceller c = { .worker = worker_connected(user_no, task, 1), .task = task };

	cancel(&c);
	if (c.rc != rc)
		print_error("%d: %s\n", c.rc, c.worker->error);
	assert_int_equal(c.rc, rc);
	return c.worker;
}

static void
assert_refused(const struct worker *w, const char *why)
{
	assert_non_null(strstr(w->error, why));
	assert_int_equal(w->answer.request_id, 0);
	assert_null(w->answer.user);
}

static void
by_id_by_uuid_and_by_task(void **state)
{
	uint64_t id = add_request(TASK, 0, 3);
	struct worker *w = cancel_id(0, id, LOCKQ_OK);
	char uuid[48];

	(void)state;
	assert_int_equal(w->answer.request_id, id);
	assert_int_equal(w->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_int_equal(w->answer.asked, 3);
	assert_string_equal(w->answer.user, user(0));
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
	/* Again is as good. */
	assert_int_equal(cancel_id(0, id, LOCKQ_OK)->answer.status, LOCKQ_STATUS_CANCELLED);
	id = add_request(TASK, 0, 1);
	snprintf(uuid, sizeof(uuid), "%s", text_of("SELECT UPPER(uuid) FROM work_requested"
	    " WHERE request_id = %" PRIu64, id));
	assert_int_equal(cancel_named(0, uuid, LOCKQ_OK)->answer.request_id, id);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
	(void)add_request(OTHER_TASK, 0, 1);
	id = add_request(TASK, 0, 1);
	assert_int_equal(cancel_for(0, TASK, LOCKQ_OK)->answer.request_id, id);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
	assert_string_equal(outcome_of(OTHER_TASK, 0), "pending");
	/* Where no task is named, the only one is meant. */
	(void)add_request(TASK, 0, 1);
	assert_refused(cancel_for(0, 0, LOCKQ_EREFUSED), "has several pending requests: name one");
	assert_string_equal(outcome_of(OTHER_TASK, 0), "pending");
	(void)cancel_for(0, TASK, LOCKQ_OK);
	(void)cancel_for(0, 0, LOCKQ_OK);
	assert_string_equal(outcome_of(OTHER_TASK, 0), "cancelled");
	(void)cancel_for(0, 0, LOCKQ_NOTHING);
}

static void
nothing_to_cancel(void **state)
{
	struct worker *w;
	uint64_t id;

	(void)state;
	assert_int_equal(cancel_for(0, TASK, LOCKQ_NOTHING)->answer.request_id, 0);
	id = ask_now(0, TASK, 1)->answer.request_id;
	assert_string_equal(outcome_of(TASK, 0), "empty");
	w = cancel_id(0, id, LOCKQ_NOTHING);
	assert_int_equal(w->answer.request_id, id);
	assert_int_equal(w->answer.status, LOCKQ_EMPTY);
	assert_string_equal(outcome_of(TASK, 0), "empty");
}

/* guard: nobody cancels a request of another user, or hears that there is one. */
static void
somebody_elses(void **state)
{
	static const char unknown[] = "\" is unknown, or it is not a request of user \"test_";
	uint64_t id = add_request(TASK, 1, 1);

	(void)state;
	assert_refused(cancel_id(0, id, LOCKQ_EREFUSED), unknown);
	assert_refused(cancel_id(0, id + 1000, LOCKQ_EREFUSED), unknown);
	assert_refused(cancel_named(0, "118x", LOCKQ_EREFUSED), unknown);
	sql("UPDATE app_user SET account = 'somebody' WHERE name = '%s'", user(1));
	assert_refused(cancel_id(1, id, LOCKQ_EREFUSED), unknown);
	assert_refused(cancel_for(1, TASK, LOCKQ_EREFUSED), "only the MySQL account \"somebody\"");
	sql("UPDATE app_user SET account = NULL WHERE name = '%s'", user(1));
	assert_refused(cancel_for(0, TASK_LAST, LOCKQ_EREFUSED), "task 109 is unknown");
	assert_string_equal(outcome_of(TASK, 1), "pending");
}

static void
usage_errors(void **state)
{
	struct worker *w = worker_connected(0, TASK, 1);

	(void)state;
	assert_int_equal(lockq_cancel(w->q, user(0), TASK, "118", &w->answer), LOCKQ_EUSAGE);
	assert_int_equal(lockq_cancel(w->q, NULL, TASK, NULL, &w->answer), LOCKQ_EUSAGE);
}

/* guard: a call whose request another process cancels hears of it soon, although that wakes
 * nobody. */
static void
the_call_that_waits(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *w = worker_new(0, TASK, 2, -1);
	uint64_t start;

	(void)state;
	/* It looks at its request three times in that time. */
	set_task(TASK, "request_ttl = %d", SHORT_TTL);
	worker_start(w);
	until_waiting_for("task_wake", 1);
	start = db_clock_ms();
	(void)cancel_for(0, TASK, LOCKQ_OK);
	worker_join(w);
	assert_true(db_clock_ms() - start < SOON_MS);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_int_equal(w->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_non_null(strstr(w->error, "was cancelled by another process: try again"));
	db_rollback(leader.lock);
}

/* Cancels the request of a call that leads, during its query. User 1 may ask meanwhile. */
static struct worker *
cancel_a_leader(bool another_asks)
{
	struct worker *w = worker_new(0, TASK, 2, -1);

	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, QUERY, 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	if (another_asks)
		(void)add_request(TASK, 1, 1);
	(void)cancel_for(0, TASK, LOCKQ_OK);
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_int_equal(w->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), another_asks);
	assert_consistent(TASK);
	return w;
}

/* A call that leads goes on, since others wait for it, and gets no loans itself. */
static void
the_call_that_leads(void **state)
{
	(void)state;
	(void)cancel_a_leader(true);
	assert_string_equal(outcome_of(TASK, 1), "served");
}

/* guard: a leader whose request was cancelled during its query does not rest before it says so. */
static void
the_only_one_that_leads(void **state)
{
	(void)state;
	assert_false(cancel_a_leader(false)->paused);
}

/* A call that has joined the request has not given up: it makes one of its own. */
static void
a_call_that_joined(void **state)
{
	struct leader_by_hand leader = lead_by_hand(TASK, true, true);
	struct worker *w = worker_new(0, TASK, 2, -1);
	uint64_t id = add_request(TASK, 0, 1);

	(void)state;
	add_loans(TASK, 5);
	set_task(TASK, "request_ttl = %d", SHORT_TTL);
	worker_start(w);
	until_waiting_for("task_wake", 1);
	(void)cancel_id(0, id, LOCKQ_OK);
	until("SELECT COUNT(*) = 2 FROM work_requested");
	db_rollback(leader.lock);
	db_rollback(leader.wake);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_not_equal(w->answer.request_id, id);
	assert_int_equal(w->answer.n_loans, 2);
}

/* The leader has written the loans and has not committed yet. Its answer stands. */
static void
served_just_before(void **state)
{
	struct canceller c = { .worker = worker_connected(1, TASK, 1), .task = TASK };
	struct worker *leader = worker_new(0, TASK, 1, -1), *again;
	uint64_t id = add_request(TASK, 1, 2);

	(void)state;
	add_loans(TASK, 5);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	assert_int_equal(pthread_create(&c.thread, NULL, run, &c), 0);
	until_waiting_for("work_requested", 1);
	proxy_release(leader->proxy);
	worker_join(leader);
	pthread_join(c.thread, NULL);
	assert_int_equal(c.rc, LOCKQ_OK);
	assert_int_equal(c.worker->answer.status, LOCKQ_SERVED);
	assert_int_equal(c.worker->answer.n_loans, 2);
	again = cancel_id(1, id, LOCKQ_OK);
	assert_int_equal(again->answer.n_loans, 2);
	assert_string_equal(outcome_of(TASK, 1), "served");
	assert_int_equal(cancel_for(1, TASK, LOCKQ_NOTHING)->answer.n_loans, 0);
	assert_consistent(TASK);
}

/* guard: where another session holds the request, cancelling it ends within a moment, and tells
 * that the request may still be pending. */
static void
another_session_holds_it(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	uint64_t id = add_request(TASK, 0, 1);
	struct worker *w;

	(void)state;
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT request_id FROM work_requested WHERE request_id = %" PRIu64
	    " FOR UPDATE", id);
	w = cancel_id(0, id, LOCKQ_BUSY);
	assert_true(w->answer.waited_ms < HELD_MS);
	assert_non_null(strstr(w->error, "may still be pending: see checkwork --request"));
	assert_int_equal(w->answer.request_id, id);
	assert_int_equal(w->answer.status, LOCKQ_PENDING);
	db_rollback(other);
	assert_string_equal(outcome_of(TASK, 0), "pending");
	(void)cancel_id(0, id, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
}

/* The reply is lost after the server has cancelled the request. */
static void
a_lost_reply(void **state)
{
	struct canceller c = { .worker = worker_new(0, TASK, 1, 0), .task = TASK };

	(void)state;
	(void)add_request(TASK, 0, 1);
	c.worker->proxy = proxy_new();
	worker_connect(c.worker);
	proxy_cut(c.worker->proxy, "SET outcome = 'cancelled'", 1, CUT_AFTER);
	cancel(&c);
	assert_int_equal(c.rc, LOCKQ_OK);
	assert_int_equal(c.worker->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(by_id_by_uuid_and_by_task),
		DB_TEST(nothing_to_cancel),
		DB_TEST(somebody_elses),
		DB_TEST(usage_errors),
		DB_TEST(the_call_that_waits),
		DB_TEST(the_call_that_leads),
		DB_TEST(the_only_one_that_leads),
		DB_TEST(a_call_that_joined),
		DB_TEST(served_just_before),
		DB_TEST(another_session_holds_it),
		DB_TEST(a_lost_reply),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("cancel", tests, suite_setup, suite_teardown);
}
