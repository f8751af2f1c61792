/* SPDX-License-Identifier: MIT */
/* Step 4: the heavy query, and what a manager's view may do to it. */
#include <inttypes.h>
#include <string.h>

#include "support.h"

/* A round that holds the lock and has run the query. It gives no loan. */
struct fetched {
	struct worker *worker;
	struct inside_round *round;
	bool ok;
};

static struct fetched
fetch(uint32_t task)
{
	struct fetched f = { .worker = worker_connected(0, task, 1) };
	struct inside_request request = inside_new_request(user(0));
	struct inside_holder holder;
	bool leads = false;

	f.round = inside_round_new(f.worker->q, task);
	assert_non_null(f.round);
	assert_int_equal(inside_record(inside_lock_connection(f.worker->q), task, 1, &request),
	    DB_OK);
	assert_int_equal(inside_try(f.round, &request, &leads, &holder), DB_OK);
	assert_true(leads);
	assert_int_equal(inside_find(f.round, &f.ok), DB_OK);
	return f;
}

static void
assert_list(const struct fetched *f, const uint64_t *ids, size_t n)
{
	if (!f->ok)
		print_error("%s\n", inside_reason(f->round));
	assert_true(f->ok);
	assert_int_equal(inside_n(f->round), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(inside_loan(f->round, i), ids[i]);
}
#define ASSERT_LIST(f, ...) assert_list(f, (const uint64_t[]){ __VA_ARGS__ }, \
	sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* User 0 asks. The request fails with a reason that contains @part. */
static void
assert_fails(const char *part)
{
	struct worker *w = ask_now(0, TASK, 1);

	if (w->rc == LOCKQ_EQUERY && strstr(w->answer.reason, part) == NULL)
		print_error("%s\n", w->answer.reason);
	assert_int_equal(w->rc, LOCKQ_EQUERY);
	assert_int_equal(w->answer.status, LOCKQ_FAILED);
	assert_non_null(strstr(w->answer.reason, part));
	assert_non_null(strstr(w->error, part));
	assert_string_equal(outcome_of(TASK, 0), "failed");
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d"
	    " AND how = 'failed' AND reason LIKE '%%%s%%'", TASK, part), 1);
	/* The lock is free, and so is the name that the query held. */
	assert_int_equal(u64("SELECT IS_FREE_LOCK(%s)", query_lock_name(TASK)), 1);
}

/* guard: the server sends the rows when it has all of them. They are found one by one, in the order
 * of an index, and a small buffer stands for many of them. */
static void
rows_that_are_found_slowly(void **state)
{
	struct worker *w;

	(void)state;
	if (administrator() == NULL)
		skip();
	sql("DROP TABLE IF EXISTS test_slow");
	sql("CREATE TABLE test_slow (loan_id BIGINT UNSIGNED PRIMARY KEY)");
	sql("INSERT INTO test_slow WITH RECURSIVE n AS (SELECT 1000000001 AS i UNION ALL"
	    " SELECT i + 1 FROM n WHERE i < 1000000250) SELECT i FROM n");
	set_view(TASK, "SELECT loan_id, loan_id AS priority FROM test_slow"
	    " WHERE SLEEP(0.08) = 0");
	sql_on(administrator(), "SET GLOBAL net_buffer_length = 1024");
	w = ask_now(0, TASK, 1);
	sql_on(administrator(), "SET GLOBAL net_buffer_length = DEFAULT");
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d"
	    " AND how = 'query' AND retries = 0", TASK), 1);
	sql("DROP TABLE test_slow");
}

/* A view without an index in its order is sorted as a whole, but only the loans that are sent are
 * looked up in `work`, or copied. */
static void
a_view_that_is_sorted(void **state)
{
	struct worker *w;

	(void)state;
	sql("DROP TABLE IF EXISTS test_sorted");
	sql("CREATE TABLE test_sorted (loan_id BIGINT UNSIGNED PRIMARY KEY)");
	sql("INSERT INTO test_sorted WITH RECURSIVE n AS (SELECT 1000000001 AS i UNION ALL"
	    " SELECT i + 1 FROM n WHERE i < 1000000900) SELECT i FROM n");
	set_view(TASK, "SELECT loan_id, loan_id %% 7 AS priority FROM test_sorted");
	set_task(TASK, "candidate_limit = 100");
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_in_range(u64_on(inside_query_connection(w->q), "SELECT SUM(variable_value)"
	    "  FROM performance_schema.session_status"
	    " WHERE variable_name IN ('Handler_read_key', 'Handler_write')"), 100, 400);
	sql("DROP TABLE test_sorted");
}

/* The query fails at loan 2, where its subquery returns two rows. */
static const char two_rows_for_one[] =
	"SELECT loan_id, (SELECT n FROM test_number WHERE n <= c.loan_id) AS priority"
	" FROM test_candidate AS c WHERE task_id = 100";

static void
smallest_priority_first_then_loan(void **state)
{
	struct fetched f;

	(void)state;
	add_loan(TASK, 5, 2);
	add_loan(TASK, 9, 1);
	add_loan(TASK, 3, 2);
	add_loan(TASK, 7, 1);
	f = fetch(TASK);
	ASSERT_LIST(&f, 7, 9, 3, 5);
	assert_true(inside_complete(f.round));
	assert_int_not_equal(inside_as_of(f.round)[0], '\0');
	inside_round_free(f.round);
}

static void
any_type_that_sorts(void **state)
{
	static const char *const types[] = {
		"DATE '2026-01-01' + INTERVAL priority DAY", "CAST(priority AS DECIMAL(20,4)) / 7",
		"CONCAT('word ', CHAR(96 + priority))", "-CAST(5 - priority AS DOUBLE)",
		"CAST(ELT(priority, 'urgent', 'normal', 'late') AS CHAR)"
	};

	(void)state;
	for (unsigned int n = 1; n <= 3; n++)
		add_loan(TASK, 10 - n, n);
	for (size_t i = 0; i < 4; i++) {
		struct fetched f;

		set_view(TASK, "SELECT loan_id, %s AS priority FROM test_candidate"
		    " WHERE task_id = %d", types[i], TASK);
		f = fetch(TASK);
		ASSERT_LIST(&f, 9, 8, 7);
		inside_round_free(f.round);
		workers_end();
		sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0"
		    " WHERE task_id = %d", TASK);
	}
}

/* guard: an ENUM priority sorts by position, not by its words. */
static void
an_enum_sorts_by_position(void **state)
{
	struct fetched f;

	(void)state;
	sql("DROP TABLE IF EXISTS test_enum");
	sql("CREATE TABLE test_enum ("
	    " loan_id BIGINT UNSIGNED, urgency ENUM('urgent','normal','late'))");
	sql("INSERT INTO test_enum VALUES (1, 'late'), (2, 'urgent'), (3, 'normal'), (2, 'late')");
	set_view(TASK, "SELECT loan_id, urgency AS priority FROM test_enum");
	f = fetch(TASK);
	sql("DROP TABLE test_enum");
	ASSERT_LIST(&f, 2, 3, 1);
	inside_round_free(f.round);
}

/* guard: a loan that the view shows twice is taken once, with its smallest priority. */
static void
each_loan_once(void **state)
{
	struct worker *w;

	(void)state;
	add_loan(TASK, 1, 5);
	add_loan(TASK, 2, 2);
	add_loan(TASK, 1, 1);
	add_loan(TASK, 1, 1);
	w = ask_within(0, TASK, 3, 2000);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(w->answer.loans[0].loan_id, 1);
	assert_int_equal(w->answer.loans[1].loan_id, 2);
	assert_int_equal(w->answer.retries, 0);
	assert_int_equal(rounds_of(TASK), 1);
}

/* guard: a list that was cut short and consists mostly of repeats is read again without repeats, in
 * the same round. Each user gets all loans that there are, and leader_run says how the view can
 * avoid the second query. */
static void
a_view_that_repeats_its_loans(void **state)
{
	struct worker *w;

	(void)state;
	set_task(TASK, "max_count = 4, candidate_limit = 8");
	for (unsigned int loan = 1; loan <= 9; loan++) {
		for (unsigned int again = 0; again < 7; again++)
			add_loan(TASK, loan, loan);
	}
	for (unsigned int user_no = 0; user_no < 2; user_no++) {
		w = worker_new(user_no, TASK, 4, 0);
		w->proxy = proxy_new();
		worker_start(w);
		worker_join(w);
		assert_int_equal(w->rc, LOCKQ_OK);
		assert_int_equal(w->answer.n_loans, 4);
		assert_int_equal(proxy_count(w->proxy, QUERY), 2 - user_no);
		assert_int_equal(u64("SELECT COALESCE(reason LIKE '%%declare view_repeats%%', 0)"
		    " FROM leader_run WHERE task_id = %d AND epoch = %u", TASK, user_no + 1),
		    1 - user_no);
		set_task(TASK, "view_repeats = TRUE");
	}
	assert_int_equal(rounds_of(TASK), 2);
}

static void
what_is_not_available_is_left_out(void **state)
{
	struct fetched f;

	(void)state;
	add_loans(TASK, 7);
	add_work(TASK, 1, 1, "assigned", 1);
	add_work(TASK, 2, 1, "completed", 4);
	add_work(TASK, 3, 1, "never", 2);
	add_work(TASK, 4, 1, "returned", 6);
	add_work(TASK, 5, 1, "returned", 2);
	add_work(TASK, 6, 1, "assigned", 3);
	sql("UPDATE work SET available_at = NOW(6) + INTERVAL 1 HOUR WHERE task_id = %d"
	    " AND loan_id = 5", TASK);
	sql("UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 SECOND WHERE task_id = %d"
	    " AND loan_id = 6", TASK);
	/* Rows of another task do not count. */
	add_work(OTHER_TASK, 7, 1, "never", 9);
	f = fetch(TASK);
	ASSERT_LIST(&f, 2, 4, 6, 7);
	/* Each candidate has the version of its row as the query saw it. */
	assert_int_equal(inside_version(f.round, 0), 4);
	assert_int_equal(inside_version(f.round, 1), 6);
	assert_int_equal(inside_version(f.round, 2), 3);
	assert_int_equal(inside_version(f.round, 3), 0);
	inside_round_free(f.round);
}

static void
the_limit_is_not_below_max_count(void **state)
{
	struct fetched f;

	(void)state;
	set_task(TASK, "max_count = 4, candidate_limit = 2");
	add_loans(TASK, 6);
	f = fetch(TASK);
	ASSERT_LIST(&f, 1, 2, 3, 4);
	assert_false(inside_complete(f.round));
	inside_round_free(f.round);
}

static void
a_list_as_long_as_the_limit_is_not_exhaustive(void **state)
{
	struct fetched f;

	(void)state;
	set_task(TASK, "max_count = 2, candidate_limit = 3");
	add_loans(TASK, 3);
	f = fetch(TASK);
	assert_int_equal(inside_n(f.round), 3);
	assert_false(inside_complete(f.round));
	inside_round_free(f.round);
}

static void
the_largest_loan_id(void **state)
{
	struct worker *w;

	(void)state;
	sql("INSERT INTO test_candidate VALUES (%d, 18446744073709551615, 1)", TASK);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.loans[0].loan_id, UINT64_MAX);
}

static void
a_null_loan_fails(void **state)
{
	(void)state;
	add_loans(TASK, 3);
	sql("INSERT INTO test_candidate VALUES (%d, NULL, 0)", TASK);
	assert_fails("NULL loan_id");
}

static void
a_negative_loan_fails(void **state)
{
	(void)state;
	add_loans(TASK, 3);
	set_view(TASK, "SELECT 2 - CAST(loan_id AS SIGNED) AS loan_id, priority"
	    " FROM test_candidate WHERE task_id = %d", TASK);
	assert_fails("negative loan_id");
}

static void
a_loan_that_is_no_integer_fails(void **state)
{
	(void)state;
	add_loans(TASK, 3);
	set_view(TASK, "SELECT CONCAT(loan_id) AS loan_id, priority FROM test_candidate"
	    " WHERE task_id = %d", TASK);
	assert_fails("not an integer");
}

static void
a_view_without_priority_fails(void **state)
{
	(void)state;
	add_loans(TASK, 3);
	set_view(TASK, "SELECT loan_id FROM test_candidate WHERE task_id = %d", TASK);
	assert_fails("priority");
}

static void
a_missing_view_fails(void **state)
{
	(void)state;
	set_task(TASK, "candidates_view = 'test_no_such_view'");
	assert_fails("test_no_such_view");
}

/* A view's name may consist of an identifier and a database's identifier only. */
static void
a_name_that_is_none_fails(void **state)
{
	static const char *const names[] = {
		"a`b", "a b", "a.b.c", "(SELECT 1 AS loan_id, 1 AS priority)", ".a", "a.", "", "a;b"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		set_task(TASK, "candidates_view = '%s'", names[i]);
		sql("DELETE FROM leader_run WHERE task_id = %d", TASK);
		assert_fails("not the name of a view");
	}
}

/* The query fails after it has sent rows, or while it makes them. */
static void
a_view_that_fails_half_way_fails(void **state)
{
	(void)state;
	add_loans(TASK, 3);
	set_view(TASK, "%s", two_rows_for_one);
	assert_fails("more than 1 row");
	sql("DELETE FROM leader_run WHERE task_id = %d", TASK);
	set_view(TASK, "SELECT loan_id, 9223372036854775805 + CAST(loan_id AS SIGNED) AS priority"
	    " FROM test_candidate AS c WHERE task_id = %d", TASK);
	assert_fails("out of range");
}

static void
a_query_over_its_time_limit_fails(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	make_slow(TASK, 5);
	set_task(TASK, "max_query_s = 1");
	assert_fails("max_query_s, 1 s");
	/* The limit is set for each query. It does not stay on the connection. */
	set_view(TASK, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %d", TASK);
	set_task(TASK, "max_query_s = 60");
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
}

/* As by a proxy that ends connections which are silent for as long as the query takes. */
static void
a_query_that_is_cut_off_fails(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_hold_and_cut(w->proxy, QUERY, 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_EQUERY);
	assert_non_null(strstr(w->answer.reason, "or its connection was cut, after 0 s: a proxy"
	    " must let a silent connection be for longer than the task's max_query_s, "));
}

/* The query's statement or its connection is killed. The request fails with that reason. */
static void
a_killed_query_fails(void **state)
{
	static const char *const kills[] = { "KILL QUERY", "KILL" };
	struct db *killer = connect_as(worker_group());

	(void)state;
	add_loans(TASK, 3);
	make_heavy(TASK, 4000);
	for (size_t i = 0; i < 2; i++) {
		struct worker *w = worker_new(0, TASK, 1, 0);

		worker_start(w);
		until("SELECT COALESCE(IS_USED_LOCK(%s), 0) > 0", query_lock_name(TASK));
		db_sleep_ms(200);
		sql_on(killer, "%s %" PRIu64, kills[i],
		    u64("SELECT IS_USED_LOCK(%s)", query_lock_name(TASK)));
		worker_join(w);
		assert_int_equal(w->rc, LOCKQ_EQUERY);
		assert_non_null(strstr(w->answer.reason, "ended on the server"));
	}
}

/* The number of statements on this server that another connection has ended, where an administrator
 * can tell. */
static uint64_t
ended_statements(void)
{
	return administrator() == NULL ? 0 : u64_on(administrator(), "SELECT SUM_ERROR_RAISED"
	    " FROM performance_schema.events_errors_summary_global_by_error"
	    " WHERE ERROR_NAME = 'ER_QUERY_INTERRUPTED'");
}

/* guard: a call that gives up stops its query on the server. */
static void
giving_up_stops_the_query(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, 0);
	uint64_t start, ended;

	(void)state;
	add_loans(TASK, 3);
	make_heavy(TASK, 6000);
	ended = ended_statements();
	worker_start(w);
	until("SELECT COALESCE(IS_USED_LOCK(%s), 0) > 0", query_lock_name(TASK));
	w->give_up = true;
	start = db_clock_ms();
	worker_join(w);
	until("SELECT IS_FREE_LOCK(%s)", query_lock_name(TASK));
	assert_true(administrator() == NULL || ended_statements() > ended);
	assert_true(db_clock_ms() - start < NO_LOCK_WAIT_MS);
	assert_int_equal(w->rc, LOCKQ_CANCELLED);
	assert_string_equal(outcome_of(TASK, 0), "cancelled");
	assert_int_equal(rounds_of(TASK), 0);
}

/* guard: a failed query fails all requests that are pending, with the reason. They don't fail one
 * after another, each with a query of its own. */
static void
a_failure_is_everybodys(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0), *followers[3];

	(void)state;
	add_loans(TASK, 3);
	set_view(TASK, "%s", two_rows_for_one);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, QUERY, 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	for (unsigned int i = 0; i < 3; i++) {
		followers[i] = worker_new(i + 1, TASK, 1, 8000);
		worker_start(followers[i]);
	}
	until("SELECT COUNT(*) = 4 FROM work_requested WHERE task_id = %d AND pending = 1", TASK);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_EQUERY);
	for (unsigned int i = 0; i < 3; i++) {
		worker_join(followers[i]);
		assert_int_equal(followers[i]->rc, LOCKQ_EQUERY);
		assert_int_equal(followers[i]->answer.epoch, leader->answer.epoch);
		assert_string_equal(followers[i]->answer.reason, leader->answer.reason);
	}
	assert_int_equal(rounds_of(TASK), 1);
	assert_int_equal(u64("SELECT requests FROM leader_run WHERE task_id = %d", TASK), 4);
}

/* guard: a deadlock of the query is tried again. An ALTER of the view's table makes one. */
static void
a_deadlock_of_the_query_is_tried_again(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, -1);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "=EXECUTE lockq_started USING @lockq_p0, @lockq_p1", 1, 1, 1213);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(w->answer.retries, 1);
	assert_int_equal(rounds_of(TASK), 1);
}

/* guard: the query of a dead leader is ended. A connection that holds the query's name while this
 * leader holds the lock must be that of a dead leader. */
static void
an_orphan_is_ended(void **state)
{
	struct db *orphan = connect_as(worker_group());
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	assert_int_equal(u64_on(orphan, "SELECT GET_LOCK(%s, 0)", query_lock_name(TASK)), 1);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_not_equal(db_ping(orphan), DB_OK);
}

/* A leader can't end the query of another account. That query ends at its own time limit. */
static void
another_accounts_orphan_is_left(void **state)
{
	struct db *orphan;
	struct worker *w;

	(void)state;
	if (strcmp(worker_group(), OWNER_GROUP) == 0)
		skip();
	orphan = connect_as(OWNER_GROUP);
	add_loans(TASK, 3);
	assert_int_equal(u64_on(orphan, "SELECT GET_LOCK(%s, 0)", query_lock_name(TASK)), 1);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(db_ping(orphan), DB_OK);
}

/* guard: the query's name is given back before the commit, or the next leader would take this
 * leader for a dead one. */
static void
the_name_is_free_before_the_commit(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "SET holder = NULL", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	assert_int_equal(u64("SELECT IS_FREE_LOCK(%s)", query_lock_name(TASK)), 1);
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
}

/* guard: where no second connection can be had, the query runs on the lock connection. Waiting
 * followers may use up all connections, and the leader must go on. */
static void
without_a_second_connection(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_crowd(w->proxy, true);
	worker_start(w);
	worker_join_within(w, 5000);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d"
	    " AND how = 'crowded' AND query_ms IS NOT NULL", TASK), 1);
	assert_int_equal(u64("SELECT IS_FREE_LOCK(%s)", query_lock_name(TASK)), 1);
	/* guard: the query's time limit does not stay on the lock connection. */
	assert_int_equal(u64_on(inside_lock_connection(w->q), "SELECT @@max_execution_time"), 0);
}

/* guard: a router leads the second connection to another member of a cluster. What it sees there
 * may be old, so the query runs on the lock connection, as where there is no second one. */
static void
a_second_connection_to_another_server(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_replace(w->proxy, "@@server_uuid", "'another one'");
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %d"
	    " AND how = 'crowded' AND query_ms IS NOT NULL", TASK), 1);
}

/* If the query fails on the lock connection, the request fails and the call goes on. */
static void
a_failure_without_a_second_connection(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	(void)state;
	add_loans(TASK, 3);
	make_slow(TASK, 5);
	set_task(TASK, "max_query_s = 1");
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_crowd(w->proxy, true);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_EQUERY);
	assert_string_equal(outcome_of(TASK, 0), "failed");
	assert_int_equal(u64_on(inside_lock_connection(w->q), "SELECT @@max_execution_time"), 0);
}

/* Returns a connected worker whose heavy query runs on a connection of its own, as after
 * lockq_query_at(), on the same tables. */
static struct worker *
asks_elsewhere(void)
{
	struct worker *w = worker_new(0, TASK, 2, 0);

	add_loans(TASK, 3);
	w->proxy = proxy_new();
	worker_connect(w);
	inside_ask_elsewhere(w->q);
	return w;
}

static void
assert_round(struct worker *w, const char *how, const char *reason)
{
	worker_join_within(w, 10000);
	if (w->rc != LOCKQ_OK)
		print_error("%s\n", w->error);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 2);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(how) FROM leader_run WHERE task_id = %d",
	    TASK), how);
	assert_int_equal(u64("SELECT COALESCE(reason, '') LIKE '%s' FROM leader_run"
	    " WHERE task_id = %d", reason, TASK), 1);
	assert_consistent(TASK);
}

/* The connection is cut after the last row of the list. The list is good all the same. */
static void
lost_behind_a_good_list(void **state)
{
	struct worker *w = asks_elsewhere();

	(void)state;
	proxy_cut(w->proxy, "DO RELEASE_ALL_LOCKS()", 1, CUT_BEFORE);
	worker_start(w);
	assert_round(w, "elsewhere", "");
}

/* guard: requests that a hint left pending are for a query on the primary. */
static void
after_a_hint_that_left_some(void **state)
{
	struct worker *w = asks_elsewhere();

	(void)state;
	sql("UPDATE task_lock SET left_pending = 1 WHERE task_id = %d", TASK);
	worker_start(w);
	assert_round(w, "query", "");
}

/* A deadlock elsewhere is no fault of the view: the query runs here. */
static void
a_deadlock_elsewhere(void **state)
{
	struct worker *w = asks_elsewhere();

	(void)state;
	proxy_fail(w->proxy, QUERY, 1, 1, 1213);
	worker_start(w);
	assert_round(w, "query", "%since the server of lockq_query%");
}

/* The connection of the query is closed after each try, and the reason is told all the same. */
static void
a_deadlock_for_ever_has_a_reason(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_fail(w->proxy, QUERY, 1, 99, 1213);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_EDATABASE);
	assert_non_null(strstr(lockq_error(w->q), "error 1213, made by the test"));
}

/* Returns a worker whose query runs elsewhere, while its second connection has ended and no new one
 * can be had. */
static struct worker *
elsewhere_while_crowded(void)
{
	struct worker *w = asks_elsewhere();

	proxy_hold(w->proxy, QUERY, 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	proxy_crowd(w->proxy, true);
	assert_int_equal(db_kill(connect_as(worker_group()),
	    db_connection_id(inside_query_connection(w->q)), NULL), DB_OK);
	return w;
}

static void
crowded_behind_a_list_from_elsewhere(void **state)
{
	struct worker *w = elsewhere_while_crowded();

	(void)state;
	proxy_release(w->proxy);
	assert_round(w, "elsewhere", "");
}

/* Both connections end: the list is queried on the lock connection, and leader_run says that the
 * other connection was lost. */
static void
crowded_behind_a_loss_elsewhere(void **state)
{
	struct worker *w = elsewhere_while_crowded();

	(void)state;
	assert_int_equal(db_kill(connect_as(worker_group()),
	    u64("SELECT IS_USED_LOCK(%s)", query_lock_name(TASK)), NULL), DB_OK);
	proxy_release(w->proxy);
	assert_round(w, "crowded", "%the connection of lockq_query was lost%");
}

/* leader_run says when a failed query began and how long it ran, so that managers see that a view
 * is too slow. */
static void
a_failed_query_has_its_time(void **state)
{
	(void)state;
	add_loans(TASK, 3);
	make_slow(TASK, 5);
	set_task(TASK, "max_query_s = 1");
	assert_fails("max_query_s, 1 s");
	assert_int_equal(u64("SELECT query_ms BETWEEN 900 AND 30000 AND"
	    " as_of BETWEEN started_at AND ended_at FROM leader_run WHERE task_id = %d", TASK), 1);
}

static void
the_query_connection_is_read_only(void **state)
{
	struct db *query, *lock;
	struct fetched f;

	(void)state;
	add_loans(TASK, 1);
	f = fetch(TASK);
	assert_true(f.ok);
	query = inside_query_connection(f.worker->q);
	lock = inside_lock_connection(f.worker->q);
	assert_int_equal(u64_on(query, "SELECT @@transaction_read_only"), 1);
	/* guard: the heavy query's time limit does not stay on the query connection. */
	assert_int_equal(u64_on(query, "SELECT @@max_execution_time"), 0);
	assert_int_equal(u64_on(query, "SELECT @@lock_wait_timeout"), DB_LOCK_WAIT_S);
	assert_int_equal(u64_on(query, "SELECT @@autocommit"), 1);
	assert_int_equal(u64_on(lock, "SELECT @@max_execution_time"), 0);
	assert_int_equal(u64_on(lock, "SELECT @@transaction_read_only"), 0);
	inside_round_free(f.round);
}

static void
a_view_named_with_its_database(void **state)
{
	struct fetched f;

	(void)state;
	add_loans(TASK, 2);
	set_task(TASK, "candidates_view = CONCAT(DATABASE(), '.test_view_%d')", TASK);
	f = fetch(TASK);
	ASSERT_LIST(&f, 1, 2);
	inside_round_free(f.round);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(smallest_priority_first_then_loan),
		DB_TEST(any_type_that_sorts),
		DB_TEST(an_enum_sorts_by_position),
		DB_TEST(each_loan_once),
		DB_TEST(a_view_that_repeats_its_loans),
		DB_TEST(what_is_not_available_is_left_out),
		DB_TEST(the_limit_is_not_below_max_count),
		DB_TEST(a_list_as_long_as_the_limit_is_not_exhaustive),
		DB_TEST(the_largest_loan_id),
		DB_TEST(rows_that_are_found_slowly),
		DB_TEST(a_view_that_is_sorted),
		DB_TEST(a_null_loan_fails),
		DB_TEST(a_negative_loan_fails),
		DB_TEST(a_loan_that_is_no_integer_fails),
		DB_TEST(a_view_without_priority_fails),
		DB_TEST(a_missing_view_fails),
		DB_TEST(a_name_that_is_none_fails),
		DB_TEST(a_view_that_fails_half_way_fails),
		DB_TEST(a_query_over_its_time_limit_fails),
		DB_TEST(a_query_that_is_cut_off_fails),
		DB_TEST(a_killed_query_fails),
		DB_TEST(giving_up_stops_the_query),
		DB_TEST(a_failure_is_everybodys),
		DB_TEST(a_deadlock_of_the_query_is_tried_again),
		DB_TEST(an_orphan_is_ended),
		DB_TEST(another_accounts_orphan_is_left),
		DB_TEST(the_name_is_free_before_the_commit),
		DB_TEST(without_a_second_connection),
		DB_TEST(a_second_connection_to_another_server),
		DB_TEST(a_failure_without_a_second_connection),
		DB_TEST(lost_behind_a_good_list),
		DB_TEST(after_a_hint_that_left_some),
		DB_TEST(a_deadlock_elsewhere),
		DB_TEST(a_deadlock_for_ever_has_a_reason),
		DB_TEST(crowded_behind_a_list_from_elsewhere),
		DB_TEST(crowded_behind_a_loss_elsewhere),
		DB_TEST(a_failed_query_has_its_time),
		DB_TEST(the_query_connection_is_read_only),
		DB_TEST(a_view_named_with_its_database),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("candidates", tests, suite_setup, suite_teardown);
}
