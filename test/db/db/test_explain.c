/* SPDX-License-Identifier: MIT */
/* A locking statement locks each row that it looks at, so it must find its rows by the right index.
 * This holds on small tables, too, where the optimizer prefers a scan. The proxy shows the
 * statements that the library sends. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { STATEMENT_BYTES = 5120 };

/* Returns the plan of the first statement that contains @text. @values replace its parameters. */
static const char *
plan_of(struct proxy *proxy, const char *text, const char *const *values)
{
	char statement[STATEMENT_BYTES], filled[2 * STATEMENT_BYTES] = "";
	size_t position = proxy_position(proxy, text, 1), used = 0;

	assert_true(position != SIZE_MAX);
	proxy_text(proxy, position, statement, sizeof(statement));
	for (const char *c = statement; *c != '\0'; c++) {
		char one[2] = { *c, '\0' };
		const char *part = one;

		if (*c == '?' && *values != NULL)
			part = *values++;
		assert_true(used + strlen(part) < sizeof(filled));
		memcpy(filled + used, part, strlen(part) + 1);
		used += strlen(part);
	}
	assert_null(*values);
	return plan_of_statement(filled);
}
#define VALUES(...) (const char *const[]){ __VA_ARGS__, NULL }

/* Returns the plan of the one statement of a procedure of schema/doors. It begins with @begin;
 * the parameters are TASK and @json. */
static const char *
plan_of_procedure(const char *procedure, const char *begin, const char *json)
{
	char statement[STATEMENT_BYTES];

	snprintf(statement, sizeof(statement), "%s", text_of("SELECT REPLACE(REPLACE(REPLACE("
	    " CONCAT('%s', SUBSTRING_INDEX(SUBSTRING_INDEX(routine_definition, '%s', -1), ';', 1)),"
	    " 'p_task_id', '%d'), 'p_loans', \"'%s'\"), 'v_refused', 'NULL')"
	    " FROM information_schema.routines"
	    " WHERE routine_schema = DATABASE() AND routine_name = '%s'", begin, begin, TASK, json,
	    procedure));
	return plan_of_statement(statement);
}

static void
assert_plan(const char *plan, const char *has)
{
	if (strstr(plan, has) == NULL || strstr(plan, "Sort") != NULL ||
	    strstr(plan, "Table scan on w") != NULL || strstr(plan, "Table scan on r") != NULL ||
	    strstr(plan, "hash join") != NULL)
		print_error("%s\n", plan);
	assert_non_null(strstr(plan, has));
	assert_null(strstr(plan, "Sort"));
	assert_null(strstr(plan, "Table scan on w"));
	assert_null(strstr(plan, "Table scan on r"));
	assert_null(strstr(plan, "hash join"));
}

/* The latest row of the log is found by a sort of the few rows of its loan, which locks none. */
static void
assert_plan_of_procedure(const char *plan, const char *has)
{
	if (strstr(plan, has) == NULL || strstr(plan, "Table scan on w") != NULL ||
	    strstr(plan, "Table scan on l") != NULL || strstr(plan, "Table scan on m") != NULL)
		print_error("%s\n", plan);
	assert_non_null(strstr(plan, has));
	assert_null(strstr(plan, "Table scan on w"));
	assert_null(strstr(plan, "Table scan on l"));
	assert_null(strstr(plan, "Table scan on m"));
}

/* Runs a round and a disposition, with candidates that have rows and others that have none. */
static struct proxy *
statements(void)
{
	struct worker *w = worker_new(0, TASK, 3, 0);
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_loan_ref loan = { 1, 0 };

	add_loans(TASK, 4);
	add_work(TASK, 1, 1, "completed", 2);
	w->proxy = proxy_new();
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	what.user = user(0);
	what.task = TASK;
	what.loans = &loan;
	what.n_loans = 1;
	assert_int_equal(lockq_dispose(w->q, &what, &result), LOCKQ_OK);
	lockq_disposed_clear(&result);
	return w->proxy;
}

static void
assert_plans(struct proxy *p)
{
	static const char task[] = "100", json[] = "'[[1,2],[2,1],[3,0]]'";
	static const char at_once[] = "Rows fetched before execution";
	static const char by_key[] = "index lookup on w using PRIMARY"
	    " (task_id=100, loan_id=j.loan_id)";

	assert_plan(plan_of(p, "AS r FORCE INDEX (work_requested_line)",
	    VALUES("600", task, "NULL")),
	    "on r using work_requested_line");
	assert_plan(plan_of(p, "FOR UPDATE OF w SKIP LOCKED", VALUES(json, task)), by_key);
	assert_plan(plan_of(p, "WHERE j.version = 0", VALUES(json, task)), by_key);
	assert_plan(plan_of(p, "'assigned', j.user_id, r.account",
	    VALUES("1", "NULL", "'[[1,2,1,1]]'")), "lookup on w using PRIMARY"
	    " (task_id=r.task_id, loan_id=j.loan_id)");
	assert_plan_of_procedure(plan_of_procedure("work_moves", "UPDATE", "[[1,2],[2,1],[3,0]]"),
	    "lookup on w using PRIMARY (task_id=l.task_id, loan_id=l.loan_id)");
	assert_plan_of_procedure(plan_of_procedure("work_opens", "INSERT", "[[1,2],[2,1],[3,0]]"),
	    "index lookup on l using PRIMARY");
	assert_plan(plan_of(p, "outcome VARCHAR(16) PATH",
	    VALUES("'[[1,1,1,\"served\"]]'", "1", "NULL",
	    "NULL")),
	    "Single-row index lookup on r using PRIMARY");
	assert_plan(plan_of(p, "SELECT epoch, NOW(6)", VALUES(task)), at_once);
	assert_plan(plan_of(p, "FROM wake_in WHERE task_id = ? FOR UPDATE", VALUES(task)),
	    at_once);
}

/* The parameters of a disposition are user variables. */
static void
assert_plans_of_disposition(struct proxy *p)
{
	static const char by_key[] = "lookup on w using PRIMARY (task_id=(@lockq_task), "
	    "loan_id=";
	static const char *const texts[] = {
		"SELECT j.loan_id, me.user_id", "excluded_until, note"
	};

	sql("SET @lockq_at = NOW(6), @lockq_task = %d, @lockq_loans = '[[1],[2,3]]',"
	    " @lockq_user = CONVERT('%s' USING utf8mb4) COLLATE utf8mb4_0900_as_cs,"
	    " @lockq_event = CONVERT('completed' USING utf8mb4) COLLATE utf8mb4_0900_as_cs,"
	    " @lockq_uuid = CONVERT(UUID() USING ascii) COLLATE ascii_bin", TASK, user(0));
	for (size_t i = 0; i < 2; i++) {
		const char *plan = plan_of(p, texts[i], VALUES(NULL));

		if (strstr(plan, by_key) == NULL || strstr(plan, "Table scan on w") != NULL ||
		    strstr(plan, "Table scan on l") != NULL)
			print_error("%s\n", plan);
		assert_non_null(strstr(plan, by_key));
		assert_null(strstr(plan, "Table scan on w"));
		assert_null(strstr(plan, "Table scan on l"));
	}
}

static void
plans_on_small_tables(void **state)
{
	struct proxy *proxy = statements();

	(void)state;
	assert_plans(proxy);
	assert_plans_of_disposition(proxy);
}

static void
plans_on_larger_tables(void **state)
{
	struct proxy *proxy = statements();

	(void)state;
	sql("INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,"
	    " assigned_at, changed_at)"
	    " SELECT %d, 1000 + n, %u, 'completed', 1, 1, 1, NOW(6), NOW(6) FROM test_number",
	    TASK, user_id(1));
	sql("INSERT INTO work_requested"
	    " (uuid, user_id, account, task_id, asked, requested, assigned, outcome)"
	    " SELECT UUID(), %u, 'x', %d, 1, 1, 1, 'served' FROM test_number", user_id(1), TASK);
	assert_plans(proxy);
	assert_plans_of_disposition(proxy);
}

/* guard: pending requests are read in the order of their key, and requests are ended by their
 * primary key. A leader locks the pending rows of its own task only. */
static void
only_the_tasks_own_requests_are_locked(void **state)
{
	struct worker *leader = worker_new(0, TASK, 1, 0);
	uint64_t own, others;

	(void)state;
	if (administrator() == NULL)
		skip();
	add_loans(TASK, 3);
	for (unsigned int n = 1; n < USERS; n++)
		(void)add_request(OTHER_TASK, n, 1);
	(void)add_request(TASK, 1, 1);
	(void)add_request(TASK, 2, 1);
	sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0"
	    " WHERE request_id = %" PRIu64,
	    request_of(TASK, 2));
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	own = u64_on(administrator(), "SELECT COUNT(DISTINCT lock_data)"
	    " FROM performance_schema.data_locks WHERE object_schema = DATABASE()"
	    " AND object_name = 'work_requested' AND index_name = 'PRIMARY'");
	others = u64_on(administrator(), "SELECT COUNT(*)"
	    " FROM performance_schema.data_locks AS l JOIN work_requested AS r"
	    " ON l.index_name = 'PRIMARY' AND l.lock_data = CAST(r.request_id AS CHAR)"
	    " WHERE l.object_schema = DATABASE() AND l.object_name = 'work_requested'"
	    " AND (r.task_id <> %d OR r.outcome = 'cancelled')", TASK);
	assert_int_equal(u64_on(administrator(), "SELECT COUNT(*)"
	    " FROM performance_schema.data_locks WHERE object_schema = DATABASE()"
	    " AND object_name = 'work_requested' AND lock_mode LIKE '%%GAP%%'"
	    " AND lock_mode NOT LIKE '%%REC_NOT_GAP%%'"), 0);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(own, 2);
	assert_int_equal(others, 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(plans_on_small_tables),
		DB_TEST(plans_on_larger_tables),
		DB_TEST(only_the_tasks_own_requests_are_locked),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("explain", tests, suite_setup, suite_teardown);
}
