/* SPDX-License-Identifier: MIT */
/* What asking a view about 20 of its 20,000 loans costs, in rows that the engine reads: into which
 * kinds of views MySQL pushes an IN list. */
#include <stdio.h>
#include <string.h>

#include "list/ask_view.h"
#include "support.h"

enum { LOANS = 20000, ASKED = 20, PLENTY = 20 * ASKED };

/* Three documents for each loan, of which one makes it match. */
static void
make_tables(void)
{
	sql("DROP TABLE IF EXISTS test_check_loan, test_check_document");
	sql("CREATE TABLE test_check_loan (loan_id BIGINT UNSIGNED PRIMARY KEY, n INT)");
	sql("CREATE TABLE test_check_document (id INT AUTO_INCREMENT PRIMARY KEY,"
	    " loan_id BIGINT UNSIGNED, kind INT, KEY (loan_id, kind))");
	sql("INSERT INTO test_check_loan SELECT n, n %% 7 FROM (SELECT ROW_NUMBER() OVER () AS n"
	    " FROM information_schema.columns AS a JOIN information_schema.tables AS b LIMIT %d)"
	    " AS t", LOANS);
	sql("INSERT INTO test_check_document (loan_id, kind)"
	    " SELECT l.loan_id, k.kind FROM test_check_loan AS l"
	    " JOIN (SELECT 1 AS kind UNION ALL SELECT 2 UNION ALL SELECT 3) AS k");
	(void)text_of("ANALYZE TABLE test_check_loan");
	(void)text_of("ANALYZE TABLE test_check_document");
}

static uint64_t
reads(struct db *db)
{
	return u64_on(db, "SELECT SUM(variable_value) FROM performance_schema.session_status"
	    " WHERE variable_name LIKE 'Handler\\_read%%'");
}

/* Returns how many rows the check reads. */
static uint64_t
rows_read(const char *view, bool *too_dear)
{
	static struct check check;
	struct task task = { .task_id = TASK };
	struct db *db = connect_as(OWNER_GROUP);
	uint64_t before, own;

	snprintf(task.view, sizeof(task.view), "test_view_%d", TASK);
	set_view(TASK, "%s", view);
	check.n = ASKED;
	for (uint64_t i = 0; i < ASKED; i++)
		check.loans[i] = i < ASKED - 1 ? i * 997 + 1 : LOANS + 1;
	assert_int_equal(check_loans(db, &task, &check), DB_OK);
	before = reads(db);
	own = reads(db) - before;
	before = reads(db);
	assert_int_equal(check_loans(db, &task, &check), DB_OK);
	before = reads(db) - before - own;
	*too_dear = check.too_dear;
	for (size_t i = 0; !check.too_dear && i < ASKED; i++)
		assert_int_equal(check.shown[i], i < ASKED - 1);
	return before;
}

static void
assert_pushed(const char *kind, const char *view)
{
	bool too_dear = false;
	uint64_t rows = rows_read(view, &too_dear);

	printf("# %s: %llu rows\n", kind, (unsigned long long)rows);
	assert_false(too_dear);
	assert_true(rows <= PLENTY);
}

static void
assert_not_pushed(const char *kind, const char *view)
{
	bool too_dear = false;
	uint64_t rows = rows_read(view, &too_dear);

	printf("# %s: %llu rows%s\n", kind, (unsigned long long)rows,
	    too_dear ? ", given up" : "");
	assert_true(too_dear || rows > PLENTY);
}

/* Views that MySQL merges into the statement, on each server. */
static void
views_that_merge(void **state)
{
	(void)state;
	assert_pushed("join", "SELECT l.loan_id, l.n AS priority FROM test_check_loan AS l"
	    " JOIN test_check_document AS d ON d.loan_id = l.loan_id AND d.kind = 2");
	assert_pushed("NOT EXISTS", "SELECT l.loan_id, l.n AS priority FROM test_check_loan AS l"
	    " WHERE NOT EXISTS (SELECT 1 FROM test_check_document AS d"
	    "   WHERE d.loan_id = l.loan_id AND d.kind = 4)");
}

/* Six kinds of views that it makes whole, but for the condition: pushed down from 8.0.22, into
 * UNION from 8.0.29. */
static void
views_that_are_made(void **state)
{
	(void)state;
	assert_pushed("GROUP BY", "SELECT l.loan_id, MIN(l.n) AS priority FROM test_check_loan AS l"
	    " JOIN test_check_document AS d ON d.loan_id = l.loan_id GROUP BY l.loan_id"
	    " HAVING COUNT(*) = 3");
	assert_pushed("window", "SELECT loan_id, priority FROM (SELECT l.loan_id, l.n AS priority,"
	    " ROW_NUMBER() OVER (PARTITION BY l.loan_id ORDER BY d.kind) AS place"
	    " FROM test_check_loan AS l JOIN test_check_document AS d ON d.loan_id = l.loan_id)"
	    " AS t WHERE place = 1");
	assert_pushed("UNION ALL", "SELECT loan_id, n AS priority FROM test_check_loan WHERE n < 3"
	    " UNION ALL SELECT loan_id, n FROM test_check_loan WHERE n >= 3");
	assert_pushed("DISTINCT", "SELECT DISTINCT l.loan_id, l.n AS priority"
	    " FROM test_check_loan AS l JOIN test_check_document AS d ON d.loan_id = l.loan_id");
	assert_pushed("a subquery in the select list", "SELECT l.loan_id, (SELECT COUNT(*)"
	    " FROM test_check_document AS d WHERE d.loan_id = l.loan_id) AS priority"
	    " FROM test_check_loan AS l");
	sql("CREATE OR REPLACE ALGORITHM=TEMPTABLE VIEW test_check_made AS"
	    " SELECT loan_id, n AS priority FROM test_check_loan");
	assert_pushed("ALGORITHM=TEMPTABLE", "SELECT loan_id, priority FROM test_check_made");
}

/* These it can't ask about some loans only. */
static void
views_that_are_too_dear(void **state)
{
	(void)state;
	assert_not_pushed("LIMIT inside", "SELECT loan_id, n AS priority FROM test_check_loan"
	    " ORDER BY n, loan_id LIMIT 20000");
	assert_not_pushed("a window over other loans", "SELECT loan_id, ROW_NUMBER() OVER"
	    " (ORDER BY n) AS priority FROM test_check_loan");
	assert_not_pushed("a derived table of its own", "SELECT l.loan_id, d.n AS priority"
	    " FROM test_check_loan AS l JOIN (SELECT loan_id AS id, COUNT(*) AS n"
	    "   FROM test_check_document GROUP BY loan_id) AS d ON d.id = l.loan_id");
}

static int
setup(void **state)
{
	int failed = suite_setup(state);

	if (failed == 0)
		make_tables();
	return failed;
}

static int
teardown(void **state)
{
	sql("DROP VIEW IF EXISTS test_check_made");
	sql("DROP TABLE IF EXISTS test_check_loan, test_check_document");
	return suite_teardown(state);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(views_that_merge),
		DB_TEST(views_that_are_made),
		DB_TEST(views_that_are_too_dear),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("check", tests, setup, teardown);
}
