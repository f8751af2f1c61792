/* SPDX-License-Identifier: MIT */
/* A query that took no time the last time is run with less ado; and where it is not light any more,
 * or something is wrong with its view, it is run again as all others are, by the same leader. */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "support.h"

/* One request for @count loans of TASK, which was light, through a proxy. */
static struct worker *
ask_light(unsigned int user_no, unsigned int count)
{
	struct worker *w = worker_new(user_no, TASK, count, -1);

	w->proxy = proxy_new();
	be_light(TASK);
	worker_start(w);
	worker_join(w);
	return w;
}

static void *
alter(void *data)
{
	return try_sql(data, "ALTER TABLE test_number COMMENT = 'altered'") == DB_OK ? data : NULL;
}

static void
assert_how(uint64_t epoch, const char *how)
{
	assert_string_equal(text_of("SELECT how FROM leader_run"
	    " WHERE task_id = %d AND epoch = %llu", TASK, (unsigned long long)epoch), how);
}

/* It claims nothing, and the second time it has nothing to prepare. */
static void
one_statement_is_enough(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 5);
	w = ask_light(0, 2);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.loans[0].loan_id, 1);
	assert_int_equal(w->answer.loans[1].loan_id, 2);
	assert_true(w->answer.query_ms >= 0);
	assert_int_equal(strlen(w->answer.as_of), 27 - 1);
	assert_int_equal(proxy_count(w->proxy, "GET_LOCK"), 0);
	assert_int_equal(proxy_count(w->proxy, "max_execution_time = ?"), 0);
	assert_int_equal(proxy_count(w->proxy, LIGHT_QUERY), 1);
	assert_how(1, "query");
	assert_consistent(TASK);
}

/* guard: it can't write, whatever a view's functions try, nor change the session that gives loans:
 * so not over the lock connection. And it is of the moment when the lock is held. */
static void
it_has_a_connection_of_its_own(void **state)
{
	struct worker *w = ask_light(0, 1);
	size_t query = proxy_position(w->proxy, LIGHT_QUERY, 1);

	(void)state;
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_not_equal(proxy_connection(w->proxy, query), 0);
	assert_int_equal(u64_on(inside_query_connection(w->q),
	    "SELECT @@transaction_read_only"), 1);
	assert_true(proxy_position(w->proxy, "SET epoch = ?", 1) < query);
	assert_true(query < proxy_position(w->proxy, "=COMMIT", 1));
}

/* guard: it has a quarter of a second. Then it is run with all the time that the task has, by the
 * same leader, under the same lock. */
static void
it_has_little_time(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	make_heavy(TASK, 4000);
	w = ask_light(0, 2);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(w->answer.epoch, 1);
	assert_true(w->answer.query_ms > 250);
	assert_int_equal(proxy_count(w->proxy, "SET epoch = ?"), 1);
	assert_int_equal(proxy_count(w->proxy, "GET_LOCK"), 1);
	assert_int_equal(proxy_count(w->proxy,
	    "=EXECUTE lockq_started USING @lockq_p0, @lockq_p1"), 1);
	assert_how(1, "query");
	/* And it is known to be heavy. */
	assert_true(u64("SELECT query_ms > 250 FROM task_lock WHERE task_id = %d", TASK));
	assert_consistent(TASK);
}

/* guard: an ALTER that waits is not waited for: not until Ctrl-C is heard again. */
static void
it_waits_for_no_alter(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, -1);
	struct db *reads = connect_as(OWNER_GROUP), *alters = connect_as(OWNER_GROUP);
	pthread_t thread;
	void *altered = NULL;

	(void)state;
	add_loans(TASK, 3);
	set_view(TASK, "SELECT loan_id, priority FROM test_candidate AS c"
	    " JOIN test_number AS n ON n.n = 1 WHERE task_id = %d", TASK);
	be_light(TASK);
	assert_int_equal(db_begin(reads), DB_OK);
	(void)u64_on(reads, "SELECT COUNT(*) FROM test_number");
	assert_int_equal(pthread_create(&thread, NULL, alter, alters), 0);
	until("SELECT COUNT(*) FROM information_schema.processlist WHERE id = %" PRIu64
	    " AND state LIKE 'Waiting for table metadata lock'", db_connection_id(alters));
	w->proxy = proxy_new();
	worker_start(w);
	/* The ALTER gives up after DB_LOCK_WAIT_S. */
	for (int i = 0; i < 400 && proxy_count(w->proxy, "PREPARE lockq_started") == 0; i++)
		db_sleep_ms(10);
	assert_int_equal(proxy_count(w->proxy, "PREPARE lockq_started"), 1);
	db_rollback(reads);
	worker_join(w);
	assert_int_equal(pthread_join(thread, &altered), 0);
	assert_non_null(altered);
	if (w->rc != LOCKQ_OK)
		print_error("%s\n", w->error);
	assert_int_equal(w->rc, LOCKQ_OK);
}

/* guard: what is wrong with the view is said as of any other query. */
static void
a_view_that_is_broken_by_now(void **state)
{
	static const char *const views[][2] = {
		{ "SELECT 'x12' AS loan_id, 1 AS priority", "loan_id is not an integer" },
		{ "SELECT CAST(loan_id + 16777216 AS FLOAT) AS loan_id, priority"
		    " FROM test_candidate WHERE task_id = 100", "loan_id is not an integer" },
		{ "SELECT NULLIF(loan_id, 1) AS loan_id, priority FROM test_candidate"
		    " WHERE task_id = 100", "has a NULL loan_id" },
		{ "SELECT -loan_id AS loan_id, priority FROM test_candidate"
		    " WHERE task_id = 100", "negative loan_id" },
		{ "SELECT loan_id, (SELECT 1 UNION SELECT 2) AS priority FROM test_candidate"
		    " WHERE task_id = 100", "more than 1 row" },
	};

	(void)state;
	add_loans(TASK, 3);
	for (unsigned int i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		struct worker *w;

		set_view(TASK, "%s", views[i][0]);
		w = ask_light(i, 1);
		assert_int_equal(w->rc, LOCKQ_EQUERY);
		if (strstr(w->answer.reason, views[i][1]) == NULL)
			print_error("%s\n", w->answer.reason);
		assert_non_null(strstr(w->answer.reason, views[i][1]));
		assert_how(i + 1, "failed");
	}
	assert_consistent(TASK);
}

/* guard: a list that has too few because the view repeats its loans is not taken for all there
 * is. */
static void
a_view_that_repeats(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 4);
	set_task(TASK, "candidate_limit = 3, max_count = 3");
	set_view(TASK, "SELECT c.loan_id, c.priority FROM test_candidate AS c"
	    " JOIN test_number AS n ON n.n < 50 WHERE c.task_id = %d", TASK);
	w = ask_light(0, 3);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.status, LOCKQ_SERVED);
	assert_int_equal(w->answer.loans[2].loan_id, 3);
	assert_true(u64("SELECT each_once FROM task_lock WHERE task_id = %d", TASK));
	/* From now on the query takes each once by itself, and that takes time. */
	w = ask_light(1, 1);
	assert_int_equal(w->answer.loans[0].loan_id, 4);
	assert_int_equal(proxy_count(w->proxy, LIGHT_QUERY), 0);
	assert_consistent(TASK);
}

/* guard: a view that repeats its loans no longer is found out. */
static void
a_view_that_repeats_no_longer(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 5);
	sql("UPDATE task_lock SET epoch = 63, each_once = TRUE WHERE task_id = %d", TASK);
	w = ask_light(0, 1);
	assert_int_equal(proxy_count(w->proxy, LIGHT_QUERY), 0);
	assert_true(u64("SELECT each_once FROM task_lock WHERE task_id = %d", TASK));
	w = ask_light(1, 1);
	assert_int_equal(w->answer.epoch, 65);
	assert_int_equal(proxy_count(w->proxy, LIGHT_QUERY), 1);
	assert_false(u64("SELECT each_once FROM task_lock WHERE task_id = %d", TASK));
}

/* guard: who asks elsewhere does so, however light it is here. */
static void
the_list_is_still_read_elsewhere(void **state)
{
	struct worker *w = worker_connected(0, TASK, 1);

	(void)state;
	add_loans(TASK, 3);
	inside_ask_elsewhere(w->q);
	be_light(TASK);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_how(1, "query elsewhere");
}

/* guard: a query that ends its connection is not run again and again. */
static void
a_connection_lost_at_the_query(void **state)
{
	struct worker *w = worker_new(0, TASK, 2, -1);

	(void)state;
	add_loans(TASK, 3);
	be_light(TASK);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, LIGHT_QUERY, 1, 60, 2013);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 2);
	assert_int_equal(w->answer.epoch, 1);
	assert_int_equal(proxy_count(w->proxy, LIGHT_QUERY), 1);
	assert_consistent(TASK);
}

/* guard: "no work" is said by what the query saw under the lock, also here. */
static void
nothing_is_left(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 1);
	w = ask_light(0, 2);
	assert_int_equal(w->answer.status, LOCKQ_PARTIAL);
	w = ask_light(1, 2);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(w->answer.status, LOCKQ_EMPTY);
	assert_int_equal(proxy_count(w->proxy, QUERY), 1);
}

/* guard: nothing that the connection was told for another statement is left for the query, which
 * would show loans of a transaction that is undone, or not show those that are there. */
static void
it_never_reads_dirty(void **state)
{
	struct worker *w = worker_new(0, TASK, 1, -1);
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	add_loans(TASK, 5);
	w->proxy = proxy_new();
	proxy_fail(w->proxy, "WHERE j.version = 0", 1, 1, 1205);
	be_light(TASK);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_true(proxy_count(w->proxy, "WHERE j.version = 0") > 1);
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "DELETE FROM test_candidate WHERE task_id = %d AND loan_id <= 5", TASK);
	sql_on(other, "INSERT INTO test_candidate (task_id, loan_id, priority)"
	    " VALUES (%d, 99, 0)", TASK);
	be_light(TASK);
	worker_start(w);
	worker_join(w);
	db_rollback(other);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, 1);
	assert_in_range(w->answer.loans[0].loan_id, 1, 5);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(one_statement_is_enough),
		DB_TEST(it_has_a_connection_of_its_own),
		DB_TEST(it_has_little_time),
		DB_TEST(it_waits_for_no_alter),
		DB_TEST(a_view_that_is_broken_by_now),
		DB_TEST(a_view_that_repeats),
		DB_TEST(a_view_that_repeats_no_longer),
		DB_TEST(the_list_is_still_read_elsewhere),
		DB_TEST(a_connection_lost_at_the_query),
		DB_TEST(nothing_is_left),
		DB_TEST(it_never_reads_dirty),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("light", tests, suite_setup, suite_teardown);
}
