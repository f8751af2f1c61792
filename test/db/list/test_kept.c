/* SPDX-License-Identifier: MIT */
/* The kept list: whoever asks takes from what an earlier query has left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "support.h"

static uint64_t
runs(void)
{
	return u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d AND query_ms IS NOT NULL",
	    TASK);
}

static uint64_t
kept(void)
{
	return u64("SELECT COUNT(*) FROM kept_loan WHERE task_id = %d", TASK);
}

/* Makes a leader whose query finds @loans loans. The leader gets the first loan, and the rest is
 * kept. */
static void
fill(unsigned int loans)
{
	struct worker *w;

	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, loans);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.loans[0].loan_id, 1);
	assert_int_equal(runs(), 1);
	assert_int_equal(kept(), loans - 1);
}

static void
assert_loans(const struct worker *w, const uint64_t *loans, uint32_t n)
{
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(w->answer.loans[i].loan_id, loans[i]);
}
#define LOANS(...) (const uint64_t[]){ __VA_ARGS__ }, \
	sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

static struct worker *
assert_got(unsigned int user_no, const uint64_t *loans, uint32_t n)
{
	struct worker *w = ask_now(user_no, TASK, n);

	assert_loans(w, loans, n);
	return w;
}
#define ASSERT_GOT(user_no, ...) (void)assert_got(user_no, LOANS(__VA_ARGS__))

static void
exclude(unsigned int user_no, unsigned int from, unsigned int to)
{
	sql("INSERT INTO work_exclusion (task_id, user_id, loan_id, until)"
	    " SELECT task_id, %u, loan_id, NOW(6) + INTERVAL 1 HOUR FROM test_candidate"
	    " WHERE task_id = %d AND loan_id BETWEEN %u AND %u", user_id(user_no), TASK, from, to);
}

static void
what_is_left_is_taken(void **state)
{
	struct worker *w;

	(void)state;
	fill(10);
	w = assert_got(1, LOANS(2, 3, 4));
	assert_false(w->answer.led);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	assert_int_equal(w->answer.epoch, 1);
	assert_string_equal(w->answer.how, "list");
	assert_string_equal(w->answer.as_of,
	    text_of("SELECT as_of FROM leader_run WHERE task_id = %d", TASK));
	assert_non_null(w->answer.checked);
	assert_true(w->answer.query_ms < 0);
	assert_int_equal(rounds_of(TASK), 1);
	assert_int_equal(kept(), 6);
	ASSERT_GOT(2, 5, 6);
	assert_int_equal(rounds_of(TASK), 1);
	assert_consistent(TASK);
}

/* The server's own settings, with which the managers' clients try their views. */
static void
clients_have(const char *time_zone, const char *sql_mode)
{
	sql_on(administrator(), "SET GLOBAL time_zone = %s, sql_mode = %s", time_zone, sql_mode);
}

/* Shows loan 1 in the bank's details, and tells how many hours its clock is ahead of UTC. */
static uint64_t
hours_in_the_details(struct worker *w)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	uint64_t hours;

	assert_int_equal(lockq_pipeline(w->q, user(0), TASK, &pipeline), LOCKQ_OK);
	assert_int_equal(pipeline.assignments[0].n_details, 1);
	hours = strtoull(pipeline.assignments[0].details[0].value, NULL, 10);
	lockq_pipeline_clear(&pipeline);
	return hours;
}

/* guard: a view sees the time and the SQL mode of the bank's own clients, for the query, the check
 * of a kept loan, the details and lockq_check_task(); lockq's own times are compared in UTC. Loan 9
 * is assigned for an hour more, and the view needs another SQL mode than lockq's. */
static void
views_see_what_clients_see(void **state)
{
	static const char hours[] = "TIMESTAMPDIFF(HOUR, UTC_TIMESTAMP(6), NOW(6))";
	struct lockq_check what = LOCKQ_CHECK_INIT;
	struct lockq_findings found = LOCKQ_FINDINGS_INIT;
	struct lockq *q;
	struct worker *w;

	(void)state;
	if (administrator() == NULL)
		skip();
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 2);
	add_loan(TASK, 9, 0);
	add_work(TASK, 9, 1, "assigned", 1);
	sql("UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 1 HOUR WHERE task_id = %d", TASK);
	set_view(TASK, "SELECT loan_id, priority - CAST(100 AS UNSIGNED) AS priority"
	    " FROM test_candidate WHERE task_id = %d AND %s = 13", TASK, hours);
	sql("CREATE OR REPLACE VIEW test_detail AS SELECT 1 AS loan_id, %s AS ahead", hours);
	sql_on(administrator(), "GRANT SELECT ON test_detail TO lockq_worker@lockq");
	set_task(TASK, "detail_view = 'test_detail'");
	clients_have("'+13:00'", "'NO_UNSIGNED_SUBTRACTION'");
	w = ask_now(0, TASK, 1);
	assert_loans(w, LOANS(1));
	assert_int_equal(hours_in_the_details(w), 13);
	ASSERT_GOT(2, 2);
	assert_int_equal(runs(), 1);
	what.task = TASK;
	q = handle_of_owner();
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_OK);
	assert_int_equal(found.n_faults, 0);
	assert_int_equal(found.rows, 0);
	lockq_findings_clear(&found);
	lockq_free(q);
	clients_have("DEFAULT", "DEFAULT");
	sql("DROP VIEW test_detail");
}

/* With cache_ttl 0, the default, every leader runs the query. */
static void
by_default_nothing_is_kept(void **state)
{
	(void)state;
	add_loans(TASK, 5);
	ASSERT_GOT(0, 1);
	ASSERT_GOT(1, 2);
	assert_int_equal(runs(), 2);
	assert_int_equal(kept(), 0);
}

/* guard: a kept list is used for cache_ttl seconds from the start of its query. */
static void
it_runs_out(void **state)
{
	(void)state;
	fill(5);
	sql("UPDATE kept_list SET as_of = NOW(6) - INTERVAL 61 SECOND WHERE task_id = %d", TASK);
	add_loan(TASK, 50, 0);
	ASSERT_GOT(1, 50);
	assert_int_equal(runs(), 2);
}

/* guard: a kept list that seems to be of a time to come is not used: the server's clock was set
 * back, and the list would live for so much longer. */
static void
the_clock_was_set_back(void **state)
{
	(void)state;
	fill(4);
	sql("UPDATE kept_list SET as_of = NOW(6) + INTERVAL 1 HOUR WHERE task_id = %d", TASK);
	ASSERT_GOT(1, 2);
	assert_int_equal(runs(), 2);
	ASSERT_GOT(2, 3);
	assert_int_equal(runs(), 2);
}

/* A kept list is not used once cache_ttl is 0. */
static void
it_is_switched_off(void **state)
{
	(void)state;
	fill(5);
	set_task(TASK, "cache_ttl = 0");
	add_loan(TASK, 50, 0);
	ASSERT_GOT(1, 50);
	assert_int_equal(runs(), 2);
}

/* guard: a loan whose row of work changed since the query is not taken, and leaves the list. */
static void
what_changed_is_left_out(void **state)
{
	(void)state;
	fill(6);
	add_work(TASK, 2, 3, "completed", 1);
	add_work(TASK, 3, 3, "never", 1);
	ASSERT_GOT(1, 4, 5);
	assert_int_equal(kept(), 1);
	add_work(TASK, 6, 3, "never", 1);
	add_loan(TASK, 50, 0);
	ASSERT_GOT(2, 50);
	assert_int_equal(runs(), 2);
}

/* guard: a loan that is not due by the primary's clock is not taken, and stays in the list. The
 * clock of the replica that was queried may be ahead. */
static void
what_is_not_due_is_left(void **state)
{
	(void)state;
	add_work(TASK, 2, 3, "returned", 1);
	fill(6);
	sql("UPDATE work SET available_at = NOW(6) + INTERVAL 1 HOUR WHERE task_id = %d", TASK);
	ASSERT_GOT(1, 3);
	assert_int_equal(kept(), 4);
	assert_int_equal(runs(), 1);
}

/* guard: a loan that the view does not show any more is not taken, and leaves the list. */
static void
what_the_view_has_no_longer_is_left_out(void **state)
{
	(void)state;
	fill(6);
	sql("DELETE FROM test_candidate WHERE task_id = %d AND loan_id IN (2, 4)", TASK);
	ASSERT_GOT(1, 3, 5);
	assert_int_equal(kept(), 1);
	assert_int_equal(runs(), 1);
}

static void
release(struct worker *w)
{
	proxy_release(w->proxy);
	worker_join(w);
}

/* guard: what must not be given leaves the list, also where nothing is given. Of 6,000 loans the
 * view shows none any more. */
static void
what_is_stale_is_found_once(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, 0), *next = worker_new(2, TASK, 1, 0);

	(void)state;
	set_task(TASK, "candidate_limit = 4000");
	fill(10);
	sql("INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)"
	    " SELECT %d, 1, 1000010 + n, 1000 + n, 0 FROM (SELECT ROW_NUMBER() OVER () AS n"
	    "   FROM information_schema.columns AS a JOIN information_schema.tables AS b"
	    "  LIMIT 6000) AS t", TASK);
	sql("DELETE FROM test_candidate WHERE task_id = %d", TASK);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "INSERT INTO request_in", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	assert_true(proxy_count(w->proxy, "CALL list_serves") > 3);
	assert_true(kept() < 4000);
	release(w);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	next->proxy = proxy_new();
	worker_start(next);
	worker_join(next);
	assert_int_equal(next->rc, LOCKQ_NOTHING);
}

/* guard: a list that the view can't be asked about is not kept. guard: it is used unchecked only
 * where the task says so, and the answer says it. guard: check_view is asked instead. */
static void
a_view_that_is_too_dear(void **state)
{
	struct worker *w;

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 6);
	make_heavy(TASK, 1500);
	ASSERT_GOT(0, 1);
	assert_int_equal(kept(), 0);
	assert_non_null(strstr(text_of("SELECT reason FROM leader_run WHERE task_id = %d", TASK),
	    ": so no list is kept: name a check_view"));
	set_task(TASK, "use_unchecked = TRUE");
	ASSERT_GOT(0, 2);
	assert_int_equal(kept(), 4);
	w = worker_new(1, TASK, 1, -1);
	w->proxy = proxy_new();
	worker_start(w);
	worker_join(w);
	assert_loans(w, LOANS(3));
	assert_string_equal(w->answer.how, "list");
	assert_null(w->answer.checked);
	/* A leader has found that it is too dear, so nobody asks in vain. */
	assert_int_equal(proxy_count(w->proxy, ASK_VIEW), 0);
	set_task(TASK, "use_unchecked = FALSE");
	ASSERT_GOT(0, 4);
	assert_int_equal(runs(), 3);
	make_task(OTHER_TASK + 1);
	set_view(OTHER_TASK + 1, "SELECT loan_id FROM test_candidate WHERE task_id = %d", TASK);
	set_task(TASK, "check_view = 'test_view_%d'", OTHER_TASK + 1);
	w = assert_got(1, LOANS(5));
	assert_non_null(w->answer.checked);
	assert_int_equal(runs(), 3);
}

/* guard: where a view is too dear, MySQL Router does not end the session, or each leader would run
 * the query again and again. */
static void
a_view_that_is_too_dear_behind_a_router(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, 5000);

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 2);
	make_heavy(TASK, 1000);
	w->proxy = proxy_new();
	proxy_route(w->proxy);
	worker_start(w);
	worker_join(w);
	assert_loans(w, LOANS(1));
	assert_int_equal(proxy_count(w->proxy, QUERY), 1);
	assert_int_equal(proxy_count(w->proxy, ASK_VIEW), 1);
	assert_int_equal(kept(), 0);
}

/* A kept list never leads to "no work": when it is used up, the query runs. */
static void
it_never_says_no_work(void **state)
{
	struct worker *w;

	(void)state;
	fill(2);
	ASSERT_GOT(1, 2);
	assert_int_equal(runs(), 1);
	assert_int_equal(kept(), 0);
	w = ask_now(2, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(runs(), 2);
}

/* The last loans of a list are given to whoever asks for more of them, without a query. */
static void
its_end_is_given(void **state)
{
	struct worker *w;

	(void)state;
	fill(3);
	w = ask_now(1, TASK, 5);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(w->answer.status, LOCKQ_PARTIAL);
	assert_int_equal(w->answer.requested, 2);
	assert_null(w->answer.reason);
	assert_int_equal(runs(), 1);
	assert_consistent(TASK);
}

/* guard: a list that was kept from one view is not used for another view. */
static void
another_view_begins_anew(void **state)
{
	(void)state;
	fill(5);
	make_task(OTHER_TASK + 1);
	add_loans(OTHER_TASK + 1, 5);
	add_loan(OTHER_TASK + 1, 77, 0);
	set_task(TASK, "candidates_view = 'test_view_%d'", OTHER_TASK + 1);
	ASSERT_GOT(1, 77);
}

/* guard: a list is of the view that was queried, even if the task names another one by then. */
static void
another_view_meanwhile_begins_anew(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0);

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 5);
	make_task(OTHER_TASK + 1);
	add_loans(OTHER_TASK + 1, 5);
	add_loan(OTHER_TASK + 1, 77, 0);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	set_task(TASK, "candidates_view = 'test_view_%d'", OTHER_TASK + 1);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(kept(), 4);
	ASSERT_GOT(1, 77);
}

/* Starts a worker, and holds it before its @nth statement with @text. */
static struct worker *
hold_at(unsigned int user_no, uint32_t count, const char *text, unsigned int nth)
{
	struct worker *w = worker_new(user_no, TASK, count, -1);

	w->proxy = proxy_new();
	proxy_hold(w->proxy, text, nth);
	worker_start(w);
	proxy_until_held(w->proxy);
	return w;
}

/* guard: a leader begins with the list that others have left meanwhile. Both calls found none; the
 * second one gets the lock after the first one's round. */
static void
a_leader_begins_with_the_list(void **state)
{
	struct worker *late;

	(void)state;
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, 5);
	late = hold_at(1, 1, "INSERT INTO request_in", 1);
	ASSERT_GOT(0, 1);
	release(late);
	assert_loans(late, LOANS(2));
	assert_int_equal(runs(), 1);
	assert_string_equal(late->answer.how, "list");
}

/* guard: whoever takes serves the line. Nobody waits with the pending request. */
static void
a_taker_serves_the_line(void **state)
{
	(void)state;
	fill(10);
	(void)add_request(TASK, 2, 2);
	(void)add_request(TASK, 3, 1);
	ASSERT_GOT(1, 2);
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_string_equal(outcome_of(TASK, 3), "served");
	assert_int_equal(runs(), 1);
	assert_int_equal(kept(), 5);
	assert_consistent(TASK);
}

/* guard: the request of somebody who does not wait is tried again where a leader has made a row of
 * work for one of its loans. */
static void
a_duplicate_in_the_line(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, 0);

	(void)state;
	fill(10);
	(void)add_request(TASK, 2, 2);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "CALL list_serves", 2, 1, 1062);
	worker_start(w);
	worker_join(w);
	assert_loans(w, LOANS(2));
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_int_equal(kept(), 6);
	assert_consistent(TASK);
}

/* guard: a process that locks the task and finds a list serves the line before it leaves, even if
 * its own request has ended meanwhile. Nobody waits with the other request. */
static void
a_leader_that_leaves_serves_the_line(void **state)
{
	struct worker *late;

	(void)state;
	fill(10);
	sql("UPDATE kept_list SET as_of = as_of - INTERVAL 61 SECOND WHERE task_id = %d", TASK);
	late = hold_at(1, 1, "LEFT JOIN kept_list AS l", 2);
	sql("UPDATE kept_list SET as_of = NOW(6) WHERE task_id = %d", TASK);
	sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0, served_at = NOW(6)"
	    " WHERE task_id = %d AND pending = 1", TASK);
	(void)add_request(TASK, 2, 2);
	release(late);
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_int_equal(runs(), 1);
	assert_int_equal(kept(), 7);
}

/* guard: whoever serves the line serves it for half a second, and the next one goes on. The view
 * takes a fifth of that each time. */
static void
a_line_that_is_long(void **state)
{
	uint64_t pending;

	(void)state;
	fill(200);
	many_ask_for_five();
	set_view(OTHER_TASK, "SELECT loan_id FROM test_candidate"
	    " JOIN (SELECT SLEEP(0.1) AS slept) AS s ON s.slept = 0 WHERE task_id = %d", TASK);
	set_task(TASK, "check_view = 'test_view_%d'", OTHER_TASK);
	ASSERT_GOT(1, 2);
	pending = u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND pending = 1",
	    TASK);
	assert_in_range(pending, 25, 29);
	ASSERT_GOT(1, 3 + 5 * (30 - pending));
	assert_true(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d AND pending = 1",
	    TASK) < pending);
	assert_int_equal(runs(), 1);
	assert_consistent(TASK);
}

/* guard: where the view can't tell for one of the line, nobody waits until it can't for the others.
 * This process finds a list under the lock. It asks for one of the line, and for its own
 * request. */
static void
a_line_that_nobody_can_check(void **state)
{
	struct worker *late;

	(void)state;
	fill(40);
	sql("UPDATE kept_list SET as_of = as_of - INTERVAL 61 SECOND WHERE task_id = %d", TASK);
	late = hold_at(1, 1, "LEFT JOIN kept_list AS l", 2);
	sql("UPDATE kept_list SET as_of = NOW(6) WHERE task_id = %d", TASK);
	sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0, served_at = NOW(6)"
	    " WHERE task_id = %d AND pending = 1", TASK);
	for (unsigned int i = 2; i < 6; i++)
		(void)add_request(TASK, i, 1);
	make_heavy(TASK, 1500);
	release(late);
	assert_int_equal(proxy_count(late->proxy, ASK_VIEW), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND pending = 1", TASK), 4);
	assert_int_equal(runs(), 1);
}

/* guard: a request that nobody looks after any more costs a taker nothing. */
static void
who_has_left_the_line(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, 0);

	(void)state;
	fill(10);
	(void)add_request(TASK, 2, 2);
	sql("UPDATE work_requested SET seen_at = '2026-01-01' WHERE task_id = %d"
	    " AND pending = 1", TASK);
	w->proxy = proxy_new();
	worker_start(w);
	worker_join(w);
	assert_loans(w, LOANS(2));
	assert_int_equal(proxy_count(w->proxy, "CALL list_serves"), 1);
	assert_string_equal(outcome_of(TASK, 2), "pending");
}

/* guard: a user who has a pending request joins it, and does not get a second one's loans. */
static void
who_has_asked_joins(void **state)
{
	struct worker *w;

	(void)state;
	fill(10);
	(void)add_request(TASK, 2, 2);
	w = ask_now(2, TASK, 1);
	assert_loans(w, LOANS(2, 3));
	assert_true(w->answer.joined);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id = %u", TASK,
	    user_id(2)), 2);
	assert_int_equal(runs(), 1);
}

/* What a user may not have stays in the list for others. */
static void
what_is_not_for_its_user(void **state)
{
	(void)state;
	fill(300);
	set_task(TASK, "max_count = 10");
	exclude(1, 2, 81);
	ASSERT_GOT(1, 82, 83, 84);
	ASSERT_GOT(2, 2);
	assert_int_equal(runs(), 1);
}

/* Others take from the old list while a user who may have nothing of it runs the query. */
static void
who_may_have_nothing_hears_it(void **state)
{
	struct worker *w;

	(void)state;
	fill(10);
	set_task(TASK, "max_count = 10");
	exclude(1, 2, 10);
	w = hold_at(1, 1, "AS r FORCE INDEX (work_requested_line)", 1);
	ASSERT_GOT(2, 2, 3);
	release(w);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(runs(), 2);
}

static struct worker *
fresh(unsigned int user_no, uint32_t count)
{
	struct worker *w = worker_new(user_no, TASK, count, -1);

	w->ask.fresh = 1;
	return w;
}

/* guard: a request that wants a fresh query is not served from a list. */
static void
fresh_means_a_query(void **state)
{
	struct worker *w = fresh(1, 1);

	(void)state;
	fill(10);
	add_loan(TASK, 50, 0);
	worker_start(w);
	worker_join(w);
	assert_loans(w, LOANS(50));
	assert_int_equal(runs(), 2);
	ASSERT_GOT(2, 2);
}

/* guard: a leader whose query began before such a request passes it over. guard: one that joins a
 * request makes it such a request. */
static void
fresh_means_a_query_that_begins_later(void **state)
{
	struct worker *leader, *w = fresh(1, 1);

	(void)state;
	add_loans(TASK, 10);
	(void)add_request(TASK, 1, 2);
	leader = leader_after_its_query(0, 1);
	worker_start(w);
	until_waiting_for("task_wake", 1);
	add_loan(TASK, 50, 0);
	release(leader);
	worker_join(w);
	assert_loans(leader, LOANS(1));
	assert_loans(w, LOANS(50, 2));
	assert_int_equal(runs(), 2);
}

/* guard: a kept loan whose check is older than a second is not given. While its pop is held, the
 * view stops showing the loan. */
static void
an_old_check_does_not_count(void **state)
{
	struct worker *w;

	(void)state;
	fill(10);
	w = hold_at(1, 1, "CALL list_serves", 1);
	sql("DELETE FROM test_candidate WHERE task_id = %d AND loan_id = 2", TASK);
	sql("DO SLEEP(1.1)");
	release(w);
	assert_loans(w, LOANS(3));
	assert_int_equal(runs(), 1);
}

/* guard: nobody takes from a list that has been replaced. */
static void
a_list_that_was_replaced(void **state)
{
	struct worker *w;

	(void)state;
	fill(10);
	w = hold_at(1, 1, "CALL list_serves", 1);
	add_loan(TASK, 51, 0);
	sql("INSERT INTO kept_list (task_id, epoch, candidates_view, as_of, length, complete,"
	    " query_ms) SELECT task_id, 2, candidates_view, NOW(6), 1, TRUE, 1 FROM kept_list"
	    " WHERE task_id = %d", TASK);
	sql("INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)"
	    " VALUES (%d, 2, 1000000, 51, 0)", TASK);
	sql("UPDATE task_lock SET epoch = 2 WHERE task_id = %d", TASK);
	release(w);
	assert_loans(w, LOANS(51));
	assert_int_equal(w->answer.epoch, 2);
	/* It takes from the new one at once, and records no request before. */
	assert_int_equal(proxy_count(w->proxy, "CALL list_serves"), 2);
	assert_int_equal(proxy_count(w->proxy, "INSERT INTO request_in"), 0);
}

/* guard: a manager's change of the view counts at once, also for a pop that is on its way. */
static void
a_task_that_was_changed(void **state)
{
	struct worker *w;

	(void)state;
	fill(10);
	make_task(OTHER_TASK + 1);
	add_loan(OTHER_TASK + 1, 77, 0);
	w = hold_at(1, 1, "CALL list_serves", 1);
	set_task(TASK, "candidates_view = 'test_view_%d'", OTHER_TASK + 1);
	release(w);
	assert_loans(w, LOANS(77));
}

/* guard: cache_ttl counts at the pop, too. */
static void
a_list_that_runs_out_meanwhile(void **state)
{
	struct worker *w;

	(void)state;
	fill(5);
	add_loan(TASK, 50, 0);
	w = hold_at(1, 1, "CALL list_serves", 1);
	sql("UPDATE kept_list SET as_of = NOW(6) - INTERVAL 61 SECOND WHERE task_id = %d", TASK);
	release(w);
	assert_loans(w, LOANS(50));
	assert_int_equal(runs(), 2);
}

/* guard: a pop gives no loan of a task that was disabled after the peek. */
static void
a_task_that_is_disabled_meanwhile(void **state)
{
	struct worker *w;

	(void)state;
	fill(5);
	w = hold_at(1, 1, "CALL list_serves", 1);
	set_task(TASK, "enabled = 0");
	release(w);
	assert_int_equal(w->rc, LOCKQ_EREFUSED);
	assert_int_equal(kept(), 4);
}

/* guard: a taker that has asked the view holds none of the bank's tables. */
static void
a_table_that_is_altered_meanwhile(void **state)
{
	struct worker *w;

	(void)state;
	fill(5);
	w = hold_at(1, 1, "CALL list_serves", 1);
	sql("SET lock_wait_timeout = 1");
	sql("ALTER TABLE test_candidate COMMENT ''");
	sql("SET lock_wait_timeout = DEFAULT");
	release(w);
	assert_loans(w, LOANS(2));
	assert_int_equal(runs(), 1);
}

/* guard: the tables of a list have no foreign key that a taker's or a manager's change would lock,
 * and no trigger. Where foreign keys are in InnoDB, these would meet in a deadlock. */
static void
nothing_refers_to_it(void **state)
{
	static const char tables[] = "('kept_list', 'kept_loan', 'task_touched', 'task_refill',"
	    " 'pipeline_lock')";

	(void)state;
	assert_int_equal(u64("SELECT COUNT(*) FROM information_schema.tables"
	    " WHERE table_schema = DATABASE() AND table_name IN %s", tables), 5);
	assert_int_equal(u64("SELECT COUNT(*) FROM information_schema.referential_constraints"
	    " WHERE constraint_schema = DATABASE()"
	    "   AND (table_name IN %s OR referenced_table_name IN %s)", tables, tables), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM information_schema.triggers"
	    " WHERE trigger_schema = DATABASE()"), 0);
}

/* guard: loans that were given are reported, also where the answer can't be read after the COMMIT.
 * Another session has a table locked that the answer is in. */
static void
an_answer_that_is_not_read(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *w = worker_new(1, TASK, 1, 0), *late = worker_new(2, TASK, 1, -1);

	(void)state;
	fill(5);
	sql_on(other, "LOCK TABLES leader_run WRITE");
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_non_null(strstr(w->error, "see checkwork --request"));
	worker_start(late);
	until("SELECT COUNT(*) = 2 FROM work WHERE task_id = %d AND loan_id IN (2, 3)", TASK);
	sql_on(other, "UNLOCK TABLES");
	worker_join(late);
	assert_loans(late, LOANS(3));
	assert_false(late->answer.repeated);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 3);
}

/* guard: where a pop could not be made, nothing was asked for. Another session has a table locked
 * that the pop needs. */
static void
a_pop_that_is_held_up(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *w = worker_new(1, TASK, 1, 0);

	(void)state;
	fill(5);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "CALL list_serves", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	sql_on(other, "LOCK TABLES pipeline_lock WRITE, app_user WRITE");
	release(w);
	sql_on(other, "UNLOCK TABLES");
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_non_null(strstr(w->error, "nothing was asked for: try again"));
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 1);
}

/* guard: a pop writes what it has logged itself, and nothing that a worker with raw SQL has logged
 * before for the request. */
static void
a_log_that_was_forged(void **state)
{
	uint64_t request;

	(void)state;
	fill(10);
	request = add_request(TASK, 2, 1);
	sql("INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	    " request_id, at) VALUES (%d, 9, 'assigned', %u, 'forger', 1, 1, %" PRIu64 ", NOW(6))",
	    TASK, user_id(2), request);
	ASSERT_GOT(1, 2);
	assert_string_equal(outcome_of(TASK, 2), "served");
	assert_int_equal(u64("SELECT SUM(loan_id) FROM work WHERE request_id = %" PRIu64, request),
	    3);
	sql("DELETE FROM work_log WHERE task_id = %d AND account = 'forger'", TASK);
}

/* guard: a pop takes what is as it was seen. Others have taken the loan since the peek. */
static void
what_others_have_taken_since(void **state)
{
	struct worker *w;

	(void)state;
	add_work(TASK, 4, 3, "completed", 1);
	fill(30);
	w = hold_at(1, 2, "CALL list_serves", 1);
	ASSERT_GOT(2, 2);
	add_work(TASK, 3, 3, "completed", 1);
	sql("UPDATE work SET version = 3 WHERE task_id = %d AND loan_id = 4", TASK);
	release(w);
	assert_loans(w, LOANS(5, 6));
}

/* guard: rows of work that another session has locked are passed over, and never taken for
 * absent. */
static void
a_row_that_is_held(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	add_work(TASK, 2, 3, "completed", 4);
	fill(10);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 2"
	    " FOR UPDATE", TASK);
	ASSERT_GOT(1, 3);
	db_rollback(other);
	ASSERT_GOT(2, 2);
	assert_int_equal(u64("SELECT token > 1 AND version = 5 FROM work WHERE task_id = %d"
	    " AND loan_id = 2", TASK), 1);
	assert_int_equal(runs(), 1);
}

static void
a_request_that_is_being_cancelled(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *w = worker_new(1, TASK, 1, 0);

	(void)state;
	if (administrator() == NULL)
		skip();
	fill(10);
	(void)add_request(TASK, 2, 1);
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "UPDATE work_requested SET outcome = 'cancelled', requested = 0,"
	    " served_at = NOW(6) WHERE task_id = %d AND pending = 1", TASK);
	worker_start(w);
	/* A taker that did not lock the request first would wait for it here. */
	while (!w->done && u64_on(administrator(), "SELECT COUNT(*)"
	    " FROM performance_schema.data_locks WHERE lock_status = 'WAITING'") == 0)
		db_sleep_ms(2);
	sql_on(other, "COMMIT");
	worker_join(w);
	assert_loans(w, LOANS(2));
	assert_string_equal(outcome_of(TASK, 2), "cancelled");
	assert_consistent(TASK);
}

/* Locks the rows of the list's first @n loans, in a transaction that stays open. */
static struct db *
hold_first(unsigned int n)
{
	struct db *other = connect_as(OWNER_GROUP);

	assert_int_equal(db_begin(other), DB_OK);
	assert_int_equal(u64_on(other, "SELECT SUM(loan_id > 0) FROM kept_loan"
	    " WHERE task_id = %d AND epoch = 1 AND position < 1000000 + %u FOR UPDATE",
	    TASK, n), n);
	return other;
}

static void
ask_again(struct worker *w, uint32_t task)
{
	w->ask.task = task;
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
}

/* How many rows the taker's session has read. */
static uint64_t
reads_of(const struct worker *w)
{
	return u64_on(inside_lock_connection(w->q), "SELECT SUM(variable_value)"
	    "  FROM performance_schema.session_status WHERE variable_name LIKE 'Handler\\_read%%'");
}

/* A take reads no more of a long list than of a short one. */
static void
a_long_list_costs_no_more(void **state)
{
	static const unsigned int lengths[] = { 30, 300, 20000 };
	uint64_t least = 0, most = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct worker *w;
		uint64_t reads, own;

		clear_fixture();
		make_task(TASK);
		fill(20);
		sql("INSERT INTO kept_loan (task_id, epoch, position, loan_id, version)"
		    " SELECT %d, 1, 2000000 + n, 100 + n, 0"
		    "   FROM (SELECT ROW_NUMBER() OVER () AS n FROM information_schema.columns AS a"
		    "           JOIN information_schema.tables AS b LIMIT %u) AS t", TASK,
		    lengths[i] - 19);
		sql("UPDATE kept_list SET length = %u WHERE task_id = %d", lengths[i], TASK);
		w = assert_got(1, LOANS(2));
		own = reads_of(w);
		own = reads_of(w) - own;
		reads = reads_of(w);
		ask_again(w, TASK);
		assert_loans(w, LOANS(3));
		reads = reads_of(w) - reads - own;
		least = i == 0 || reads < least ? reads : least;
		most = reads > most ? reads : most;
	}
	printf("# a take reads %" PRIu64 " to %" PRIu64 " rows\n", least, most);
	/* A slow machine may make it look once more. */
	assert_in_range(most, least, least + 1000);
}

/* guard: a taker that finds the first loans locked begins further back. It would find a free one by
 * reading more and more from the front only in its sixth pop. */
static void
many_rows_that_are_held(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, -1);
	struct db *other;

	(void)state;
	fill(100);
	other = hold_first(17);
	w->proxy = proxy_new();
	ask_again(w, TASK);
	assert_true(w->answer.loans[0].loan_id > 18);
	assert_true(proxy_count(w->proxy, "CALL list_serves") < 6);
	db_rollback(other);
	ASSERT_GOT(2, 2);
	assert_int_equal(runs(), 1);
}

/* guard: where others hold some of the loans, a try reads as many more as it wants. In the line a
 * request has two tries, and of 115 loans that it reads 77 are free, wherever it begins. */
static void
many_are_wanted_beside_rows_that_are_held(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	set_task(TASK, "max_count = 100");
	fill(400);
	assert_int_equal(db_begin(other), DB_OK);
	for (unsigned int i = 0; i < 399; i += 3)
		(void)u64_on(other, "SELECT SUM(loan_id > 0) FROM kept_loan WHERE task_id = %d"
		    " AND epoch = 1 AND position = 1000000 + %u FOR UPDATE", TASK, i);
	(void)add_request(TASK, 2, 100);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
	assert_string_equal(outcome_of(TASK, 2), "served");
	db_rollback(other);
	assert_int_equal(runs(), 1);
	assert_consistent(TASK);
}

/* Where even the first 256 loans are locked, a taker reads on. guard: at the list of another task
 * it begins at the front. */
static void
another_task_begins_at_the_front(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, -1);

	(void)state;
	set_task(OTHER_TASK, "cache_ttl = 60");
	add_loans(OTHER_TASK, 400);
	assert_int_equal(ask_now(0, OTHER_TASK, 1)->rc, LOCKQ_OK);
	fill(400);
	(void)hold_first(300);
	ask_again(w, TASK);
	assert_int_equal(w->answer.loans[0].loan_id, 302);
	assert_int_equal(runs(), 1);
	for (uint64_t loan_id = 2; loan_id < 5; loan_id++) {
		ask_again(w, OTHER_TASK);
		assert_int_equal(w->answer.loans[0].loan_id, loan_id);
	}
}

/* guard: whoever gives a loan of the list holds its row there: a leader passes over those that
 * others hold. guard: and gives none that others have taken. */
static void
a_leader_beside_takers(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader = fresh(0, 2);

	(void)state;
	fill(10);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "FROM work_requested AS r FORCE INDEX (work_requested_line)", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	ASSERT_GOT(1, 2);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM kept_loan WHERE task_id = %d AND loan_id = 3"
	    " FOR UPDATE", TASK);
	release(leader);
	assert_loans(leader, LOANS(4, 5));
	assert_int_equal(leader->answer.retries, 0);
	db_rollback(other);
	assert_consistent(TASK);
}

/* guard: a leader locks nothing of a row that it passes over: the taker who holds that row deletes
 * it while the leader is at its writes. */
static void
a_taker_beside_a_leader(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *leader = fresh(0, 2);

	(void)state;
	fill(10);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM kept_loan FORCE INDEX (PRIMARY)"
	    " WHERE task_id = %d AND epoch = 1 AND position = 1000001 FOR UPDATE", TASK);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "INSERT INTO log_in", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	assert_int_equal(db_set_lock_wait(other, 1), DB_OK);
	sql_on(other, "DELETE FROM kept_loan WHERE task_id = %d AND epoch = 1"
	    " AND position = 1000001", TASK);
	assert_int_equal(db_commit(other), DB_OK);
	release(leader);
	assert_loans(leader, LOANS(2, 4));
}

/* guard: a taker counts the user's loans under lock. Four shells of one user, cap 4. */
static void
a_cap_holds_for_takers(void **state)
{
	struct worker *w[4];
	struct worker *full;

	(void)state;
	fill(60);
	set_task(TASK, "max_pipeline = 4");
	for (unsigned int i = 0; i < 4; i++) {
		w[i] = worker_new(1, TASK, 3, 20000);
		worker_start(w[i]);
	}
	for (unsigned int i = 0; i < 4; i++)
		worker_join(w[i]);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id = %u", TASK,
	    user_id(1)), 4);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND reason LIKE 'with these you have 4 of 4 that%%' AND outcome = 'partial'",
	    TASK), 1);
	full = ask_now(1, TASK, 1);
	assert_int_equal(full->rc, LOCKQ_EREFUSED);
	assert_int_equal(runs(), 1);
	assert_consistent(TASK);
}

/* Another session holds the row that is locked before the user's loans are counted: neither a taker
 * nor a leader gives loans to that user. guard: takers lock it. guard: leaders lock it. */
static void
a_cap_that_is_being_counted(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	fill(10);
	set_task(TASK, "max_pipeline = 4");
	ASSERT_GOT(1, 2);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT user_id FROM pipeline_lock WHERE task_id = %d AND user_id = %u"
	    " FOR UPDATE", TASK, user_id(1));
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	assert_int_equal(runs(), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id = %u", TASK,
	    user_id(1)), 1);
	ASSERT_GOT(2, 3);
	db_rollback(other);
	ASSERT_GOT(1, 4);
	assert_int_equal(runs(), 2);
}

/* guard: after a long query the view is asked again. The loan stops to match while it runs. */
static void
what_stopped_to_match_during_the_query(void **state)
{
	struct worker *leader;

	(void)state;
	add_loans(TASK, 3);
	make_slow(TASK, 2);
	make_task(OTHER_TASK + 1);
	set_view(OTHER_TASK + 1, "SELECT loan_id FROM test_candidate WHERE task_id = %d", TASK);
	set_task(TASK, "check_view = 'test_view_%d'", OTHER_TASK + 1);
	leader = leader_after_its_query(0, 1);
	sql("DELETE FROM test_candidate WHERE task_id = %d AND loan_id = 1", TASK);
	release(leader);
	assert_loans(leader, LOANS(2));
	assert_non_null(leader->answer.checked);
	assert_int_equal(u64("SELECT dropped FROM leader_run WHERE task_id = %d", TASK), 1);
}

/* guard: a leader gives no loan that is not due by the primary's clock. */
static void
what_is_not_due_for_a_leader(void **state)
{
	struct worker *leader;

	(void)state;
	add_work(TASK, 1, 3, "returned", 1);
	add_loans(TASK, 3);
	leader = leader_after_its_query(0, 1);
	sql("UPDATE work SET available_at = NOW(6) + INTERVAL 1 HOUR WHERE task_id = %d", TASK);
	release(leader);
	assert_loans(leader, LOANS(2));
}

/* guard: reading begins behind what was taken. */
static void
the_head_moves(void **state)
{
	(void)state;
	set_task(TASK, "max_count = 100");
	fill(300);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(ask_now(1, TASK, 70)->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT head FROM kept_list WHERE task_id = %d", TASK), 140);
	sql("UPDATE kept_list SET head = 250 WHERE task_id = %d", TASK);
	ASSERT_GOT(2, 252);
}

/* guard: it moves often enough to see that a short list runs out. */
static void
the_head_of_a_short_list(void **state)
{
	(void)state;
	fill(21);
	for (uint64_t loan_id = 2; loan_id < 2 + 4; loan_id++)
		ASSERT_GOT(1, loan_id);
	assert_int_equal(u64("SELECT head FROM kept_list WHERE task_id = %d", TASK), 3);
}

/* The connection is lost at the pop: before it, after it. The call finds out what became of it. */
static void
a_pop_that_was_lost(void **state)
{
	(void)state;
	for (int after = 0; after < 2; after++) {
		struct worker *w = worker_new(1, TASK, 2, -1);

		fill(10);
		w->proxy = proxy_new();
		proxy_cut(w->proxy, "CALL list_serves", 1, after ? CUT_AFTER : CUT_BEFORE);
		worker_start(w);
		worker_join(w);
		assert_loans(w, LOANS(2, 3));
		assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id ="
		    " %u", TASK, user_id(1)), 2);
		assert_int_equal(runs(), 1);
		assert_consistent(TASK);
		start_again();
	}
}

/* A deadlock or a KILL QUERY at the pop leaves nothing behind, and the call goes on. */
static void
a_pop_that_fails(void **state)
{
	static const unsigned int errors[] = { 1213, 1205, 3101 };

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct worker *w = worker_new(1, TASK, 2, 5000);

		fill(10);
		w->proxy = proxy_new();
		proxy_fail(w->proxy, "CALL list_serves", 1, 1, errors[i]);
		worker_start(w);
		worker_join(w);
		assert_loans(w, LOANS(2, 3));
		assert_int_equal(runs(), 1);
		assert_consistent(TASK);
		start_again();
	}
}

/* guard: a server that is read only has given nothing, so no request is recorded to find out. */
static void
a_list_on_a_replica(void **state)
{
	struct worker *w = worker_new(1, TASK, 2, 5000);

	(void)state;
	fill(10);
	w->ask.wait = LOCKQ_WAIT_LIST;
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "CALL list_serves", 1, 1000, 1290);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_EDATABASE);
	assert_non_null(strstr(w->error, "connect to the primary"));
	assert_null(strstr(w->error, "pending"));
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 1);
}

/* guard: a call that only takes runs no query, also where it had to record a request to find out
 * what became of its take. */
static void
a_take_that_is_lost(void **state)
{
	struct worker *w = worker_new(1, TASK, 2, 5000);

	(void)state;
	fill(10);
	w->ask.wait = LOCKQ_WAIT_LIST;
	w->proxy = proxy_new();
	proxy_hold_and_cut(w->proxy, "CALL list_serves", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	sql("DELETE FROM kept_loan WHERE task_id = %d", TASK);
	sql("DELETE FROM kept_list WHERE task_id = %d", TASK);
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_string_equal(outcome_of(TASK, 1), "cancelled");
	assert_int_equal(runs(), 1);
}

/* There is no server for a moment, just when the list is to be looked at. */
static void
a_connection_that_is_lost_before_the_look(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, 0);

	(void)state;
	fill(10);
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_refuse(w->proxy);
	proxy_drop(w->proxy);
	worker_start(w);
	worker_until_paused(w);
	proxy_accept(w->proxy);
	worker_join(w);
	assert_loans(w, LOANS(2));
	assert_int_equal(proxy_count(w->proxy, "INSERT INTO request_in"), 0);
	assert_int_equal(runs(), 1);
}

/* A repetition with the same UUID has the same loans. */
static void
a_repetition(void **state)
{
	(void)state;
	fill(10);
	for (int i = 0; i < 2; i++) {
		struct worker *w = worker_new(1, TASK, 2, -1);

		w->ask.uuid = "11111111-2222-4333-8444-555555555555";
		worker_start(w);
		worker_join(w);
		assert_loans(w, LOANS(2, 3));
		assert_int_equal(w->answer.repeated, i);
	}
	assert_int_equal(kept(), 7);
}

/* Many users ask at once, five times. No loan is given twice, and no query runs. */
static void
a_race_for_what_is_left(void **state)
{
	struct worker *w[USERS];

	(void)state;
	fill(200);
	for (int round = 0; round < 5; round++) {
		for (unsigned int i = 0; i < USERS; i++) {
			w[i] = worker_new(i, TASK, 3, 20000);
			worker_start(w[i]);
		}
		for (unsigned int i = 0; i < USERS; i++) {
			worker_join(w[i]);
			assert_int_equal(w[i]->rc, LOCKQ_OK);
			assert_int_equal(w[i]->answer.n_loans, 3);
		}
		workers_end();
	}
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND version = 1", TASK),
	    1 + 5 * 3 * USERS);
	assert_int_equal(rounds_of(TASK), 1);
	assert_consistent(TASK);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(views_see_what_clients_see),
		DB_TEST(the_clock_was_set_back),
		DB_TEST(what_is_left_is_taken),
		DB_TEST(by_default_nothing_is_kept),
		DB_TEST(it_runs_out),
		DB_TEST(it_is_switched_off),
		DB_TEST(what_changed_is_left_out),
		DB_TEST(what_is_not_due_is_left),
		DB_TEST(what_the_view_has_no_longer_is_left_out),
		DB_TEST(what_is_stale_is_found_once),
		DB_TEST(a_view_that_is_too_dear),
		DB_TEST(a_view_that_is_too_dear_behind_a_router),
		DB_TEST(it_never_says_no_work),
		DB_TEST(its_end_is_given),
		DB_TEST(another_view_begins_anew),
		DB_TEST(another_view_meanwhile_begins_anew),
		DB_TEST(a_leader_begins_with_the_list),
		DB_TEST(a_taker_serves_the_line),
		DB_TEST(a_duplicate_in_the_line),
		DB_TEST(a_leader_that_leaves_serves_the_line),
		DB_TEST(a_line_that_is_long),
		DB_TEST(a_line_that_nobody_can_check),
		DB_TEST(who_has_left_the_line),
		DB_TEST(who_has_asked_joins),
		DB_TEST(what_is_not_for_its_user),
		DB_TEST(who_may_have_nothing_hears_it),
		DB_TEST(fresh_means_a_query),
		DB_TEST(fresh_means_a_query_that_begins_later),
		DB_TEST(an_old_check_does_not_count),
		DB_TEST(a_list_that_was_replaced),
		DB_TEST(a_task_that_was_changed),
		DB_TEST(a_list_that_runs_out_meanwhile),
		DB_TEST(a_task_that_is_disabled_meanwhile),
		DB_TEST(a_table_that_is_altered_meanwhile),
		DB_TEST(nothing_refers_to_it),
		DB_TEST(an_answer_that_is_not_read),
		DB_TEST(a_pop_that_is_held_up),
		DB_TEST(a_log_that_was_forged),
		DB_TEST(a_long_list_costs_no_more),
		DB_TEST(what_others_have_taken_since),
		DB_TEST(a_row_that_is_held),
		DB_TEST(a_request_that_is_being_cancelled),
		DB_TEST(many_rows_that_are_held),
		DB_TEST(many_are_wanted_beside_rows_that_are_held),
		DB_TEST(another_task_begins_at_the_front),
		DB_TEST(a_leader_beside_takers),
		DB_TEST(a_taker_beside_a_leader),
		DB_TEST(a_cap_holds_for_takers),
		DB_TEST(a_cap_that_is_being_counted),
		DB_TEST(what_stopped_to_match_during_the_query),
		DB_TEST(what_is_not_due_for_a_leader),
		DB_TEST(the_head_moves),
		DB_TEST(the_head_of_a_short_list),
		DB_TEST(a_pop_that_was_lost),
		DB_TEST(a_pop_that_fails),
		DB_TEST(a_list_on_a_replica),
		DB_TEST(a_take_that_is_lost),
		DB_TEST(a_connection_that_is_lost_before_the_look),
		DB_TEST(a_repetition),
		DB_TEST(a_race_for_what_is_left),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("kept", tests, suite_setup, suite_teardown);
}
