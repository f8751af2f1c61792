/* SPDX-License-Identifier: MIT */
/* The history of a loan, and the place of a request in the line. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static struct worker *
worker_that_looks(void)
{
	struct worker *w = worker_new(5, TASK, 1, 0);

	w->proxy = proxy_new();
	worker_connect(w);
	return w;
}

static int
dispose(struct worker *w, enum lockq_disposition_kind kind, const char *note)
{
	struct lockq_loan_ref loan = { 1, 0 };
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	int rc;

	what.user = w->ask.user;
	what.task = TASK;
	what.kind = kind;
	what.note = note;
	what.loans = &loan;
	what.n_loans = 1;
	rc = lockq_dispose(w->q, &what, &result);
	lockq_disposed_clear(&result);
	return rc;
}

static void
tells_who_had_it_when(void **state)
{
	struct lockq_history h = LOCKQ_HISTORY_INIT;
	struct worker *first, *second;

	(void)state;
	set_task(TASK, "lease_minutes = 30");
	add_loans(TASK, 2);
	first = ask_now(0, TASK, 2);
	assert_int_equal(dispose(first, LOCKQ_RETURN, "not for me"), LOCKQ_OK);
	second = ask_now(1, TASK, 1);
	assert_int_equal(second->rc, LOCKQ_OK);
	assert_int_equal(dispose(second, LOCKQ_COMPLETE, NULL), LOCKQ_OK);
	assert_int_equal(lockq_history(first->q, TASK, 1, &h), LOCKQ_OK);
	assert_int_equal(h.n_events, 4);
	assert_string_equal(h.events[0].event, "assigned");
	assert_string_equal(h.events[0].user, user(0));
	assert_int_equal(h.events[0].token, first->answer.epoch);
	assert_int_equal(h.events[0].version, 1);
	assert_int_equal(h.events[0].request_id, first->answer.request_id);
	assert_string_equal(h.events[0].lease_expires_at,
	    first->answer.loans[0].lease_expires_at);
	assert_string_equal(h.events[0].excluded_until, "");
	assert_null(h.events[0].note);
	assert_string_equal(h.events[0].account, text_of("SELECT account FROM work_requested"
	    " WHERE request_id = %" PRIu64, first->answer.request_id));
	assert_string_equal(h.events[1].event, "returned");
	assert_string_equal(h.events[1].note, "not for me");
	assert_string_equal(h.events[1].available_at, h.events[1].at);
	assert_string_equal(h.events[2].event, "assigned");
	assert_string_equal(h.events[2].user, user(1));
	assert_int_equal(h.events[2].token, second->answer.epoch);
	assert_string_equal(h.events[3].event, "completed");
	assert_int_equal(h.events[3].version, 4);
	for (size_t i = 1; i < h.n_events; i++)
		assert_true(strcmp(h.events[i - 1].at, h.events[i].at) <= 0);
	lockq_history_clear(&h);
	assert_int_equal(h.n_events, 0);
}

static void
tells_what_it_does_not_know(void **state)
{
	struct lockq_history h = LOCKQ_HISTORY_INIT;
	struct worker *w = worker_that_looks();

	(void)state;
	assert_int_equal(lockq_history(w->q, TASK, 1, &h), LOCKQ_NOTHING);
	assert_int_equal(lockq_history(w->q, TASK_LAST, 1, &h), LOCKQ_EREFUSED);
	assert_string_equal(lockq_error(w->q),
	    "task 109 is unknown: the table task has no row for it");
	/* This row belongs to another task, and to a user who is gone. */
	sql("INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	    " request_id, excluded_until, at) VALUES (%d, 1, 'available', 4000000000, 'x@y', 7, 5,"
	    " 9, '2026-11-20 13:50:01.5', NOW(6))", OTHER_TASK);
	assert_int_equal(lockq_history(w->q, TASK, 1, &h), LOCKQ_NOTHING);
	assert_int_equal(lockq_history(w->q, OTHER_TASK, 1, &h), LOCKQ_OK);
	assert_int_equal(h.n_events, 1);
	assert_string_equal(h.events[0].event, "available");
	assert_string_equal(h.events[0].user, "#4000000000");
	assert_string_equal(h.events[0].excluded_until, "2026-11-20 13:50:01.500000");
	assert_int_equal(h.events[0].version, 5);
	lockq_history_clear(&h);
}

static void
add_run(unsigned int epoch, unsigned int query_ms)
{
	sql("INSERT INTO leader_run (task_id, epoch, user, how, query_ms, started_at, ended_at)"
	    " VALUES (%d, %u, 'test_f', 'query', %u, NOW(6), NOW(6))", TASK, epoch, query_ms);
}

static const struct lockq_answer *
look(struct worker *w, uint64_t request, int64_t wait_ms)
{
	char id[32];

	snprintf(id, sizeof(id), "%" PRIu64, request);
	assert_int_equal(lockq_request_look(w->q, id, wait_ms, &w->answer), LOCKQ_BUSY);
	assert_int_equal(w->answer.status, LOCKQ_PENDING);
	return &w->answer;
}

static void
a_look_forgets_the_answer_before(void **state)
{
	struct worker *w = ask_now(0, TASK, 1);
	uint64_t pending;

	(void)state;
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_true(w->answer.led);
	pending = add_request(TASK, 1, 1);
	assert_int_equal(look(w, pending, 0)->request_id, pending);
	assert_false(w->answer.led);
	assert_int_equal(lockq_request_look(w->q, "0", 0, &w->answer), LOCKQ_EREFUSED);
	assert_int_equal(w->answer.request_id, 0);
	assert_string_equal(w->answer.uuid, "");
	assert_null(w->answer.user);
}

static void
tells_the_place_in_the_line(void **state)
{
	struct worker *w = worker_that_looks();
	uint64_t first = add_request(TASK, 0, 3), ended = add_request(TASK, 1, 7), other, last;
	const struct lockq_answer *a;

	(void)state;
	sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0"
	    " WHERE request_id = %" PRIu64, ended);
	other = add_request(OTHER_TASK, 1, 9);
	(void)add_request(TASK, 2, 5);
	last = add_request(TASK, 3, 1);
	a = look(w, first, 0);
	assert_int_equal(a->position, 1);
	assert_int_equal(a->loans_ahead, 0);
	a = look(w, last, 0);
	assert_int_equal(a->position, 3);
	assert_int_equal(a->loans_ahead, 8);
	assert_true(a->nobody_leads);
	assert_int_equal(a->expected_ms, -1);
	assert_int_equal(look(w, other, 0)->position, 1);
	sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0"
	    " WHERE request_id = %" PRIu64, first);
	a = look(w, last, 1100);
	assert_int_equal(a->position, 2);
	assert_int_equal(a->loans_ahead, 5);
}

static void
tells_how_long_it_may_take(void **state)
{
	struct worker *w = worker_that_looks();
	uint64_t request = add_request(TASK, 0, 3);
	struct leader_by_hand leader;
	const struct lockq_answer *a;

	(void)state;
	add_run(1, 600000);
	add_run(2, 700000);
	add_run(3, 90000000);
	assert_int_equal(look(w, request, 0)->expected_ms, 700000);
	leader = lead_by_hand(TASK, true, false);
	sql_on(leader.lock, "UPDATE task_lock SET since = NOW(6) - INTERVAL 200 SECOND"
	    " WHERE task_id = %d", TASK);
	a = look(w, request, 0);
	assert_string_equal(a->leader, "by hand");
	assert_false(a->nobody_leads);
	assert_in_range(a->expected_ms, 400000, 500000);
	sql_on(leader.lock, "UPDATE task_lock SET since = NOW(6) - INTERVAL 2000 SECOND"
	    " WHERE task_id = %d", TASK);
	assert_int_equal(look(w, request, 0)->expected_ms, 0);
	sql_on(leader.lock, "ROLLBACK");
	sql("DELETE FROM leader_run WHERE task_id = %d", TASK);
	assert_int_equal(look(w, request, 0)->expected_ms, -1);
}

struct looking {
	struct worker *by;
	char request[32];
	int64_t wait_ms;
};

static void *
wait_and_look(void *data)
{
	struct looking *l = data;

	l->by->rc = lockq_request_look(l->by->q, l->request, l->wait_ms, &l->by->answer);
	return NULL;
}

static int
note_usual(const struct lockq_progress *progress, void *data)
{
	*(uint64_t *)data = progress->usual_ms;
	return 0;
}

/* A call that waited for a request is told at the end who leads. While it waited it was told how
 * long the query usually takes. */
static void
tells_who_leads_after_the_wait(void **state)
{
	struct looking looking = { worker_that_looks(), "", 4000 };
	struct worker *w = looking.by;
	uint64_t request = add_request(TASK, 0, 3);
	struct leader_by_hand leader = lead_by_hand(TASK, true, false);
	uint64_t usual_ms = 0;
	pthread_t thread;

	(void)state;
	add_run(1, 600000);
	lockq_on_progress(w->q, note_usual, &usual_ms);
	snprintf(looking.request, sizeof(looking.request), "%" PRIu64, request);
	sql("UPDATE work_requested SET seen_at = created_at - INTERVAL 1 MINUTE"
	    " WHERE request_id = %" PRIu64, request);
	assert_int_equal(pthread_create(&thread, NULL, wait_and_look, &looking), 0);
	until("SELECT seen_at > created_at FROM work_requested WHERE request_id = %" PRIu64,
	    request);
	db_sleep_ms(200);
	sql_on(leader.lock, "UPDATE task_lock SET holder = 'another' WHERE task_id = %d", TASK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_non_null(w->answer.leader);
	assert_string_equal(w->answer.leader, "another");
	assert_int_equal(w->answer.position, 1);
	assert_int_equal(usual_ms, 600000);
}

/* The server is away for a while, as when it is started again: a look that may wait goes on. */
static void
waits_for_a_server_that_is_away(void **state)
{
	struct looking looking = { worker_that_looks(), "", PATIENCE_MS };
	struct worker *w = looking.by;
	uint64_t request = add_request(TASK, 0, 3);
	pthread_t thread;

	(void)state;
	(void)lead_by_hand(TASK, true, true);
	snprintf(looking.request, sizeof(looking.request), "%" PRIu64, request);
	assert_int_equal(pthread_create(&thread, NULL, wait_and_look, &looking), 0);
	while (proxy_count(w->proxy, QUERY) == 0)
		db_sleep_ms(1);
	proxy_refuse(w->proxy);
	proxy_drop(w->proxy);
	/* It meets the refusal more than once. */
	db_sleep_ms(1500);
	sql("UPDATE work_requested SET outcome = 'empty', requested = 0 WHERE request_id = %"
	    PRIu64, request);
	proxies_relent();
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(w->answer.status, LOCKQ_EMPTY);
}

/* The place is read by the index, since there may be millions of other requests. */
static void
reads_the_line_by_its_index(void **state)
{
	struct worker *w = worker_that_looks();
	uint64_t request;
	char statement[2048], *first, *mark;
	const char *plan;

	(void)state;
	(void)add_request(TASK, 0, 3);
	request = add_request(TASK, 1, 2);
	assert_int_equal(look(w, request, 0)->position, 2);
	assert_int_equal(proxy_count(w->proxy, "SUM(r.requested)"), 1);
	proxy_text(w->proxy, proxy_position(w->proxy, "SUM(r.requested)", 1), statement,
	    sizeof(statement));
	first = strchr(statement, '?');
	assert_non_null(first);
	mark = strchr(first + 1, '?');
	assert_non_null(mark);
	*first = *mark = '\0';
	plan = text_of("EXPLAIN FORMAT=TREE %s %d%s %d AND r.pending = 1 AND r.request_id < %"
	    PRIu64, statement, TASK, first + 1, TASK, request);
	if (strstr(plan, "work_requested_line") == NULL)
		print_error("%s\n", plan);
	assert_non_null(strstr(plan, "Index range scan on r using work_requested_line"));
	/* A call that asks for work does not read its place. */
	add_loans(TASK, 9);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(proxy_count(w->proxy, "SUM(r.requested)"), 1);
}

/* An account that may only look sees the place of a request, but no leader. */
static void
a_viewer_sees_the_place(void **state)
{
	struct lockq_connection where = where_is("test_no_such_group");
	struct worker *w = worker_new(0, TASK, 1, 0);
	uint64_t request;
	char id[32];

	(void)state;
	if (administrator() == NULL)
		skip();
	sql_on(administrator(), "CREATE USER IF NOT EXISTS test_viewer@localhost"
	    " IDENTIFIED BY 'test viewer' DEFAULT ROLE lockq_viewer@lockq");
	sql_on(administrator(), "GRANT lockq_viewer@lockq TO test_viewer@localhost");
	sql_on(administrator(), "SET DEFAULT ROLE lockq_viewer@lockq TO test_viewer@localhost");
	where.user = "test_viewer";
	where.password = "test viewer";
	where.database = db_database(owner());
	(void)add_request(TASK, 1, 4);
	request = add_request(TASK, 2, 1);
	add_run(1, 5000);
	snprintf(id, sizeof(id), "%" PRIu64, request);
	assert_int_equal(lockq_connect(w->q, &where), LOCKQ_OK);
	assert_int_equal(lockq_request_look(w->q, id, 0, &w->answer), LOCKQ_BUSY);
	assert_int_equal(w->answer.position, 2);
	assert_int_equal(w->answer.loans_ahead, 4);
	assert_false(w->answer.nobody_leads);
	assert_null(w->answer.leader);
	/* A query may be running that this account can't see, so the expected time is not known. */
	assert_int_equal(w->answer.expected_ms, -1);
	sql_on(administrator(), "DROP USER test_viewer@localhost");
}

static void
tells_what_was_left_but_not_for_this_user(void **state)
{
	struct worker *w = worker_that_looks();
	uint64_t request = add_request(TASK, 0, 3);
	char id[32];

	(void)state;
	sql("UPDATE work_requested SET outcome = 'empty', requested = 0, excluded = 3"
	    " WHERE request_id = %" PRIu64, request);
	snprintf(id, sizeof(id), "%" PRIu64, request);
	assert_int_equal(lockq_request_look(w->q, id, 0, &w->answer), LOCKQ_NOTHING);
	assert_int_equal(w->answer.status, LOCKQ_EMPTY);
	assert_int_equal(w->answer.excluded, 3);
	assert_int_equal(w->answer.position, 0);
	assert_int_equal(w->answer.expected_ms, -1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(tells_who_had_it_when),
		DB_TEST(tells_what_it_does_not_know),
		DB_TEST(a_look_forgets_the_answer_before),
		DB_TEST(tells_the_place_in_the_line),
		DB_TEST(tells_how_long_it_may_take),
		DB_TEST(tells_who_leads_after_the_wait),
		DB_TEST(waits_for_a_server_that_is_away),
		DB_TEST(reads_the_line_by_its_index),
		DB_TEST(a_viewer_sees_the_place),
		DB_TEST(tells_what_was_left_but_not_for_this_user),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("history", tests, suite_setup, suite_teardown);
}
