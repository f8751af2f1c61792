/* SPDX-License-Identifier: MIT */
/* A leader with many pending requests. The number of its statements does not depend on the number
 * of requests. */
#include "support.h"

enum { FEW = 5, MANY = 1000, LOANS = 5 };

struct measured {
	size_t statements; /* from the reading of the pending requests to the commit */
	uint64_t ms;       /* from that reading to the answer */
};

static struct measured
assign_to(unsigned int requests)
{
	struct worker *leader;
	struct measured measured;
	uint64_t start;

	make_task(TASK);
	add_loans(TASK, LOANS * (requests + 1) + 3);
	/* A user has one pending request for a task at most, so each request needs a user. */
	sql("INSERT INTO app_user (name)"
	    " WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %u)"
	    " SELECT CONCAT('test_many_', n) FROM s", requests);
	sql("INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)"
	    " SELECT UUID(), user_id, CURRENT_USER(), %d, %d, %d FROM app_user"
	    " WHERE name LIKE 'test\\_many\\_%%'", TASK, LOANS, LOANS);
	leader = worker_new(0, TASK, LOANS, 0);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "AS r FORCE INDEX (work_requested_line)", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	start = db_clock_ms();
	proxy_release(leader->proxy);
	worker_join(leader);
	measured.ms = db_clock_ms() - start;
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND outcome = 'served' AND assigned = %d AND epoch = 1", TASK, LOANS), requests + 1);
	assert_int_equal(u64("SELECT COUNT(DISTINCT loan_id) FROM work WHERE task_id = %d", TASK),
	    LOANS * (requests + 1));
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK),
	    LOANS * (requests + 1));
	/* No request got a loan before one of an earlier request. */
	assert_int_equal(u64("SELECT COUNT(*) FROM (SELECT request_id, loan_id,"
	    " LAG(request_id) OVER (ORDER BY loan_id) AS before_it FROM work WHERE task_id = %d)"
	    " AS w WHERE before_it > request_id", TASK), 0);
	measured.statements = proxy_position(leader->proxy, "=COMMIT", 1) -
	    proxy_position(leader->proxy, "AS r FORCE INDEX (work_requested_line)", 1);
	clear_fixture();
	sql("DELETE FROM app_user WHERE name LIKE 'test\\_many\\_%%'");
	return measured;
}

static void
a_constant_number_of_statements(void **state)
{
	struct measured few, many;

	(void)state;
	clear_fixture();
	few = assign_to(FEW);
	many = assign_to(MANY);
	print_message("# requests of %d loans: %d took %zu statements, %llu ms;"
	    " %d took %zu, %llu ms\n", LOANS, FEW + 1, few.statements, (unsigned long long)few.ms,
	    MANY + 1, many.statements, (unsigned long long)many.ms);
	assert_int_equal(few.statements, many.statements);
	assert_true(many.statements < 16);
	assert_true(many.ms < PATIENCE_MS);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(a_constant_number_of_statements),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("many", tests, suite_setup, suite_teardown);
}
