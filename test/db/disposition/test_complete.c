/* SPDX-License-Identifier: MIT */
/* task.on_complete: a manager's procedure that is called in the transaction of the disposition. A
 * loan is not completed if its call failed or ended the transaction. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { LOANS_MOST = 8 };

/* Makes a procedure for TASK with this body. NOTE_IT in the body inserts a row into
 * test_completed. */
__attribute__((format(printf, 1, 2))) static void
on_complete(const char *format, ...)
{
	char body[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(body, sizeof(body), format, args);
	va_end(args);
	sql("DROP PROCEDURE IF EXISTS test_on_complete");
	sql("CREATE PROCEDURE test_on_complete (IN p_loan_id BIGINT UNSIGNED,"
	    " IN p_user VARCHAR(64)) %s", body);
	if (administrator() != NULL)
		sql_on(administrator(), "GRANT EXECUTE ON PROCEDURE %s.test_on_complete"
		    " TO lockq_worker@lockq", db_database(owner()));
	sql("DROP TABLE IF EXISTS test_completed");
	sql("CREATE TABLE test_completed (loan_id BIGINT UNSIGNED NOT NULL, user VARCHAR(64)"
	    " NOT NULL) ENGINE=InnoDB");
	set_task(TASK, "on_complete = 'test_on_complete'");
}

#define NOTE_IT "INSERT INTO test_completed VALUES (p_loan_id, p_user)"

static struct worker *
with_loans(unsigned int n)
{
	struct worker *w = worker_new(0, TASK, n, 0);

	add_loans(TASK, n);
	w->proxy = proxy_new();
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	return w;
}

static int
dispose(struct worker *by, enum lockq_disposition_kind kind, const struct lockq_loan_ref *loans,
    size_t n, struct lockq_disposed_result *result)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;

	what.user = by->ask.user;
	what.task = TASK;
	what.kind = kind;
	what.loans = loans;
	what.n_loans = n;
	lockq_disposed_clear(result);
	return lockq_dispose(by->q, &what, result);
}

/* Completes the loans 1 to @n in one call. */
static int
complete(struct worker *by, unsigned int n, struct lockq_disposed_result *result)
{
	struct lockq_loan_ref loans[LOANS_MOST] = { { 0, 0 } };

	for (unsigned int i = 0; i < n; i++)
		loans[i].loan_id = i + 1;
	return dispose(by, LOCKQ_COMPLETE, loans, n, result);
}

static uint64_t
called(void)
{
	return u64("SELECT COUNT(*) FROM test_completed");
}

static void
assert_nothing_done(unsigned int n)
{
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND state = 'assigned'"
	    " AND version = 1", TASK), n);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed'", TASK), 0);
}

/* Completes one loan; the call must end with @what and a reason that contains @reason. */
static void
assert_still_assigned(struct worker *by, enum lockq_disposed what, const char *reason)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;

	assert_int_equal(complete(by, 1, &result), what == LOCKQ_NOT_ALLOWED ? LOCKQ_EREFUSED :
	    LOCKQ_EQUERY);
	assert_int_equal(result.n_loans, 1);
	assert_int_equal(result.loans[0].what, what);
	assert_string_equal(result.loans[0].state, "assigned");
	if (strstr(result.loans[0].reason, reason) == NULL)
		print_error("%s\n", result.loans[0].reason);
	assert_non_null(strstr(result.loans[0].reason, reason));
	assert_non_null(strstr(lockq_error(by->q), reason));
	assert_nothing_done(1);
	lockq_disposed_clear(&result);
}

static void
it_runs_in_the_same_transaction(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(3);

	(void)state;
	on_complete("BEGIN SELECT p_loan_id, p_user; " NOTE_IT "; SELECT 2; END");
	assert_int_equal(complete(w, 3, &result), LOCKQ_OK);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(loan_id, user ORDER BY loan_id)"
	    " FROM test_completed"), "1test_a,2test_a,3test_a");
	assert_string_equal(text_of("SELECT GROUP_CONCAT(state, version ORDER BY loan_id)"
	    " FROM work WHERE task_id = %d", TASK), "completed2,completed2,completed2");
	/* A loan that is completed already is not completed again. */
	assert_int_equal(complete(w, 3, &result), LOCKQ_OK);
	assert_int_equal(result.loans[1].what, LOCKQ_DISPOSED_ALREADY);
	assert_int_equal(called(), 3);
	lockq_disposed_clear(&result);
	/* The handle works as before. */
	add_loan(TASK, 4, 4);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
}

/* guard: on_complete is called in key order, or two dispositions deadlock on the rows it
 * changes. */
static void
it_is_called_in_key_order(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_loan_ref loans[3] = { { 3, 0 }, { 1, 0 }, { 2, 0 } };
	struct worker *w = with_loans(3);

	(void)state;
	on_complete("INSERT INTO test_completed SELECT p_loan_id, COUNT(*) FROM test_completed");
	assert_int_equal(dispose(w, LOCKQ_COMPLETE, loans, 3, &result), LOCKQ_OK);
	assert_int_equal(result.loans[0].loan_id, 3);
	assert_int_equal(result.loans[1].loan_id, 1);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(loan_id ORDER BY user)"
	    " FROM test_completed"), "1,2,3");
	lockq_disposed_clear(&result);
}

/* A disposition takes six round trips, one for its patience with the procedure, and one for each
 * call of that. */
static void
it_takes_a_round_trip_a_loan(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(8);
	size_t before;

	(void)state;
	on_complete("BEGIN " NOTE_IT "; END");
	before = proxy_round_trips(w->proxy);
	assert_int_equal(complete(w, 8, &result), LOCKQ_OK);
	assert_in_range(proxy_round_trips(w->proxy) - before, 1, 7 + 8);
	assert_int_equal(called(), 8);
	lockq_disposed_clear(&result);
}

static void
other_dispositions_do_not_call_it(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(1);
	struct lockq_loan_ref loan = { 1, 0 };

	(void)state;
	on_complete("BEGIN " NOTE_IT "; END");
	assert_int_equal(dispose(w, LOCKQ_RETURN, &loan, 1, &result), LOCKQ_OK);
	assert_int_equal(called(), 0);
	lockq_disposed_clear(&result);
}

static void
one_that_fails(void **state)
{
	struct worker *w = with_loans(1);

	(void)state;
	on_complete("BEGIN " NOTE_IT "; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
	    " 'the statement is not signed'; END");
	assert_still_assigned(w, LOCKQ_NOT_ALLOWED, "the statement is not signed");
	assert_int_equal(called(), 0);
	on_complete("BEGIN " NOTE_IT "; SET @nobody = (SELECT 1 FROM test_no_such_table); END");
	assert_still_assigned(w, LOCKQ_NOT_COMPLETED, "test_no_such_table");
	set_task(TASK, "on_complete = 'test_no_such_procedure'");
	assert_still_assigned(w, LOCKQ_NOT_COMPLETED, "test_no_such_procedure");
	set_task(TASK, "on_complete = 'x`; DROP TABLE work'");
	assert_still_assigned(w, LOCKQ_NOT_COMPLETED, "not the name of a procedure");
}

/* The procedure fails after it has sent rows. The rows must not hide the error. */
static void
one_that_fails_while_it_shows_rows(void **state)
{
	struct worker *w = with_loans(1);

	(void)state;
	on_complete("BEGIN " NOTE_IT "; SELECT n, REPEAT('x', 1000), IF(n = 900,"
	    " (SELECT 1 UNION SELECT 2), 1) FROM test_number ORDER BY n; " NOTE_IT "; END");
	assert_still_assigned(w, LOCKQ_NOT_COMPLETED, "more than 1 row");
	assert_int_equal(called(), 0);
}

/* No handler of the procedure sees this fatal error. Everything is undone. */
static void
one_that_overruns_its_stack(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(2);

	(void)state;
	sql("DROP PROCEDURE IF EXISTS test_recurses");
	sql("CREATE PROCEDURE test_recurses (IN depth INT) BEGIN IF depth > 0 THEN"
	    " CALL test_recurses(depth - 1); END IF; END");
	on_complete("BEGIN " NOTE_IT "; SET max_sp_recursion_depth = 255;"
	    " CALL test_recurses(254); END");
	/* How deep a recursion the server allows is its own business. On most servers this one is
	 * too deep. */
	if (complete(w, 2, &result) != LOCKQ_OK) {
		assert_int_equal(called(), 0);
		assert_nothing_done(2);
	}
	sql("DROP PROCEDURE test_recurses");
	lockq_disposed_clear(&result);
}

/* The procedure calls another procedure, which does not exist. lockq's own CALL could fail with
 * that error, too, so the reason names the missing procedure. */
static void
one_that_lacks_something(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(3);

	(void)state;
	on_complete("BEGIN IF p_loan_id = 2 THEN CALL test_gone(1); END IF; " NOTE_IT "; END");
	assert_int_equal(complete(w, 3, &result), LOCKQ_EQUERY);
	assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(result.loans[1].what, LOCKQ_NOT_COMPLETED);
	assert_non_null(strstr(result.loans[1].reason, "test_gone does not exist"));
	assert_int_equal(result.loans[2].what, LOCKQ_DISPOSED);
	assert_int_equal(called(), 2);
	lockq_disposed_clear(&result);
}

/* The procedure takes longer than lockq waits for it. It is not called again. */
static void
one_that_does_not_end(void **state)
{
	struct worker *w = with_loans(1);

	(void)state;
	on_complete("BEGIN DECLARE done INT; " NOTE_IT "; SET done = GET_LOCK('test', 0);"
	    " SET done = SLEEP(22); END");
	assert_still_assigned(w, LOCKQ_NOT_COMPLETED, "gave no answer within 20 seconds");
	/* Its own locks end with it. */
	until("SELECT GET_LOCK('test', 60) = 1");
	assert_int_equal(called(), 0);
}

static volatile bool is_over;

static void *
accept_when_it_retries(void *data)
{
	struct worker *w = data;

	while (!w->paused && !is_over)
		db_sleep_ms(5);
	sql("DELETE FROM test_completed");
	proxy_accept(w->proxy);
	return NULL;
}

/* No answer comes, and then nobody is there for a moment, as in a failover. */
static void
it_is_called_again_where_the_server_was_away(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(1);
	pthread_t thread;
	int rc;

	(void)state;
	is_over = false;
	on_complete("BEGIN DECLARE done INT; IF EXISTS (SELECT 1 FROM test_completed) THEN"
	    " SET done = SLEEP(22); END IF; " NOTE_IT "; END");
	sql("INSERT INTO test_completed VALUES (0, 'it is away')");
	proxy_refuse(w->proxy);
	assert_int_equal(pthread_create(&thread, NULL, accept_when_it_retries, w), 0);
	rc = complete(w, 1, &result);
	is_over = true;
	pthread_join(thread, NULL);
	assert_int_equal(rc, LOCKQ_OK);
	assert_int_equal(proxy_count(w->proxy, "CALL work_completes_2"), 2);
	assert_int_equal(called(), 1);
	assert_consistent(TASK);
	lockq_disposed_clear(&result);
}

/* The procedure reads with NOWAIT. Another session holds a row for one of the loans; only this loan
 * is not completed. */
static void
one_that_does_not_wait(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *w = with_loans(3);

	(void)state;
	on_complete("BEGIN DECLARE found INT; SELECT COUNT(*) INTO found FROM test_completed"
	    " WHERE loan_id = 100 + p_loan_id FOR UPDATE NOWAIT; " NOTE_IT "; END");
	sql("ALTER TABLE test_completed ADD UNIQUE KEY (loan_id)");
	sql("INSERT INTO test_completed VALUES (101, 'x'), (102, 'x'), (103, 'x')");
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "UPDATE test_completed SET user = 'y' WHERE loan_id = 102");
	assert_int_equal(complete(w, 3, &result), LOCKQ_EQUERY);
	db_rollback(other);
	assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(result.loans[1].what, LOCKQ_NOT_COMPLETED);
	assert_non_null(strstr(result.loans[1].reason, "NOWAIT is set"));
	assert_int_equal(result.loans[2].what, LOCKQ_DISPOSED);
	lockq_disposed_clear(&result);
}

/* guard: settings that the procedure makes in the session change no time that lockq writes, and do
 * not stay on the handle. */
static void
one_that_sets_the_session(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w;

	(void)state;
	set_task(TASK, "lease_minutes = 60");
	w = with_loans(2);
	on_complete("BEGIN SET time_zone = '+05:00'; SET SESSION transaction_read_only = 1,"
	    " sql_select_limit = 1, innodb_lock_wait_timeout = 50;"
	    " IF p_loan_id = 2 THEN SIGNAL SQLSTATE '45000'; END IF; " NOTE_IT "; END");
	assert_int_equal(complete(w, 2, &result), LOCKQ_EREFUSED);
	assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(result.loans[1].what, LOCKQ_NOT_ALLOWED);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed' AND at BETWEEN NOW(6) - INTERVAL 1 MINUTE AND NOW(6)", TASK),
	    1);
	/* The handle can be used at once. */
	set_task(TASK, "on_complete = NULL");
	assert_int_equal(complete(w, 2, &result), LOCKQ_OK);
	add_loan(TASK, 3, 3);
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND at > NOW(6) + INTERVAL 1 MINUTE", TASK), 0);
	lockq_disposed_clear(&result);
}

/* guard: on_complete sees the time that the bank's own clients see. */
static void
one_that_asks_for_the_time(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(2);

	(void)state;
	if (administrator() == NULL)
		skip();
	sql_on(administrator(), "SET GLOBAL time_zone = '+13:00'");
	on_complete("BEGIN IF TIMESTAMPDIFF(HOUR, UTC_TIMESTAMP(6), NOW(6)) = 13 THEN " NOTE_IT
	    "; END IF; END");
	assert_int_equal(complete(w, 2, &result), LOCKQ_OK);
	sql_on(administrator(), "SET GLOBAL time_zone = DEFAULT");
	assert_int_equal(called(), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed' AND at BETWEEN NOW(6) - INTERVAL 1 MINUTE AND NOW(6)", TASK),
	    2);
	lockq_disposed_clear(&result);
}

/* guard: a loan for which on_complete failed is not completed. Nothing of its call stays; the other
 * loans are completed. */
static void
one_of_several_fails(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(4);

	(void)state;
	on_complete("BEGIN " NOTE_IT "; IF p_loan_id IN (2, 4) THEN SIGNAL SQLSTATE '45000'"
	    " SET MESSAGE_TEXT = 'not this one'; END IF; END");
	assert_int_equal(complete(w, 4, &result), LOCKQ_EREFUSED);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(result.loans[i].what, i % 2 == 0 ? LOCKQ_DISPOSED :
		    LOCKQ_NOT_ALLOWED);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(state ORDER BY loan_id)"
	    " FROM work WHERE task_id = %d", TASK), "completed,assigned,completed,assigned");
	assert_string_equal(text_of("SELECT GROUP_CONCAT(loan_id ORDER BY loan_id)"
	    " FROM test_completed"), "1,3");
	lockq_disposed_clear(&result);
}

/* guard: a savepoint tells whether on_complete has left the transaction alone. If it has not, no
 * loan is completed, and the error says that the procedure ends the transaction. */
static void
one_that_ends_the_transaction(void **state)
{
	static const struct {
		const char *body;
		unsigned int calls; /* how many calls it has committed */
	} cases[] = {
		{ "BEGIN " NOTE_IT "; COMMIT; END", 1 },
		{ "BEGIN " NOTE_IT "; COMMIT; START TRANSACTION; END", 1 },
		{ "BEGIN " NOTE_IT "; START TRANSACTION; " NOTE_IT "; END", 1 },
		{ "BEGIN " NOTE_IT "; ROLLBACK; END", 0 },
		{ "BEGIN " NOTE_IT "; CREATE TABLE IF NOT EXISTS test_number (n INT); END", 1 },
		{ "BEGIN " NOTE_IT "; SET autocommit = 1; END", 1 },
		{ "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; " NOTE_IT
		    "; COMMIT; " NOTE_IT "; END", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct worker *w = with_loans(1);

		on_complete("%s", cases[i].body);
		assert_still_assigned(w, LOCKQ_NOT_COMPLETED, "ends the transaction");
		assert_int_equal(called(), cases[i].calls);
		set_task(TASK, "on_complete = NULL");
		start_again();
	}
}

/* A procedure that has committed its work for several loans is not called again for them. */
static void
one_that_commits_is_not_called_again(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(3);

	(void)state;
	on_complete("BEGIN " NOTE_IT "; COMMIT; END");
	assert_int_equal(complete(w, 3, &result), LOCKQ_EQUERY);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(result.loans[i].what, LOCKQ_NOT_COMPLETED);
	assert_nothing_done(3);
	assert_in_range(called(), 1, 3);
	assert_int_equal(u64("SELECT COUNT(*) FROM (SELECT loan_id FROM test_completed"
	    " GROUP BY loan_id HAVING COUNT(*) > 1) AS twice"), 0);
	lockq_disposed_clear(&result);
}

struct call {
	struct worker *by;
	struct lockq_disposed_result result;
	int rc;
};

static void *
complete_one(void *data)
{
	struct call *call = data;

	call->rc = complete(call->by, 1, &call->result);
	return NULL;
}

/* Makes a deadlock. The procedure holds a row of test_completed and waits for one that @other
 * holds, and @other then waits for the procedure's row. The server ends the procedure's
 * transaction, since @other changed more rows. */
static struct call
in_a_deadlock(const char *handler)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct call call = { with_loans(1), LOCKQ_DISPOSED_RESULT_INIT, -1 };
	pthread_t thread;

	on_complete("BEGIN %s DELETE FROM test_completed WHERE loan_id = 100;"
	    " DELETE FROM test_completed WHERE loan_id = 200; " NOTE_IT "; END", handler);
	sql("ALTER TABLE test_completed ADD UNIQUE KEY (loan_id)");
	sql("INSERT INTO test_completed VALUES (100, 'x'), (200, 'y')");
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "UPDATE test_number SET n = n + 1000000 ORDER BY n DESC");
	sql_on(other, "UPDATE test_completed SET user = 'z' WHERE loan_id = 200");
	assert_int_equal(pthread_create(&thread, NULL, complete_one, &call), 0);
	until_waiting_for("test_completed", 1);
	sql_on(other, "UPDATE test_completed SET user = 'z' WHERE loan_id = 100");
	db_rollback(other);
	pthread_join(thread, NULL);
	return call;
}

static void
a_deadlock_is_tried_again(void **state)
{
	struct call call = in_a_deadlock("");

	(void)state;
	assert_int_equal(call.rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM test_completed WHERE loan_id = 1"), 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM test_completed"), 1);
	lockq_disposed_clear(&call.result);
}

/* guard: what on_complete sets in the session does not stay for the next try. One try ends in the
 * procedure, another one after it. */
static void
the_next_try_has_its_own_settings(void **state)
{
	struct call call = in_a_deadlock("SET time_zone = '+05:00';");
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w;

	(void)state;
	assert_int_equal(call.rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed' AND at BETWEEN NOW(6) - INTERVAL 1 MINUTE AND NOW(6)", TASK),
	    1);
	lockq_disposed_clear(&call.result);
	set_task(TASK, "on_complete = NULL");
	start_again();
	w = with_loans(2);
	on_complete("BEGIN SET SESSION transaction_read_only = 1, sql_select_limit = 1; END");
	proxy_fail(w->proxy, "CALL work_moves", 1, 1, 1205);
	assert_int_equal(complete(w, 2, &result), LOCKQ_OK);
	assert_int_equal(proxy_count(w->proxy, "CALL work_moves"), 2);
	lockq_disposed_clear(&result);
}

/* guard: a deadlock that on_complete swallows is an error. The procedure has a CONTINUE HANDLER, so
 * CALL and COMMIT succeed, but the transaction was rolled back. */
static void
a_deadlock_that_is_swallowed(void **state)
{
	struct call call = in_a_deadlock("DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;");

	(void)state;
	assert_int_equal(call.rc, LOCKQ_EQUERY);
	assert_int_equal(call.result.loans[0].what, LOCKQ_NOT_COMPLETED);
	if (strstr(call.result.loans[0].reason, "deadlock") == NULL)
		print_error("%s\n", call.result.loans[0].reason);
	assert_non_null(strstr(call.result.loans[0].reason, "deadlock"));
	assert_nothing_done(1);
	assert_int_equal(u64("SELECT COUNT(*) FROM test_completed WHERE loan_id = 1"), 0);
	lockq_disposed_clear(&call.result);
}

/* Each statement of the disposition fails twice with a deadlock or a lock wait. The disposition is
 * done in the end, once. */
static void
it_is_tried_again_as_a_whole(void **state)
{
	static const char *const statements[] = {
		"SET autocommit = 0", "SELECT j.loan_id, me.user_id", "CALL work_completes_2",
		"excluded_until, note", "CALL work_moves", "=COMMIT"
	};
	static const unsigned int errors[] = { 1213, 1205 };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(statements) / sizeof(statements[0]); i++) {
		struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
		struct worker *w = with_loans(2);

		on_complete("BEGIN " NOTE_IT "; END");
		proxy_fail(w->proxy, statements[i / 2], 1, 2, errors[i % 2]);
		assert_int_equal(complete(w, 2, &result), LOCKQ_OK);
		assert_int_equal(proxy_count(w->proxy, "SET autocommit = 0"), 3);
		assert_int_equal(called(), 2);
		assert_consistent(TASK);
		lockq_disposed_clear(&result);
		set_task(TASK, "on_complete = NULL");
		start_again();
	}
}

/* The connection is cut before or after each statement of the disposition. The disposition is done
 * in the end, once. */
static void
it_is_done_once_when_cut_off(void **state)
{
	static const char *const statements[] = {
		"SET autocommit = 0", "SELECT j.loan_id, me.user_id", "CALL work_completes_2",
		"excluded_until, note", "CALL work_moves", "=COMMIT"
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(statements) / sizeof(statements[0]); i++) {
		struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
		struct worker *w = with_loans(2);

		on_complete("BEGIN " NOTE_IT "; END");
		proxy_cut(w->proxy, statements[i / 2], 1, i % 2 == 0 ? CUT_BEFORE : CUT_AFTER);
		assert_int_equal(complete(w, 2, &result), LOCKQ_OK);
		assert_int_equal(proxy_count(w->proxy, "SET autocommit = 0"), 2);
		assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
		assert_int_equal(called(), 2);
		assert_consistent(TASK);
		lockq_disposed_clear(&result);
		set_task(TASK, "on_complete = NULL");
		start_again();
	}
}

/* A completed loan is not offered for complete_hold seconds, even if the view still shows it. */
static void
it_is_held(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(1), *again;

	(void)state;
	set_task(TASK, "complete_hold = 3600");
	assert_int_equal(complete(w, 1, &result), LOCKQ_OK);
	assert_int_equal(u64("SELECT available_at = '%s' AND due_at = available_at AND"
	    " available_at = changed_at + INTERVAL 1 HOUR FROM work WHERE task_id = %d",
	    result.loans[0].available_at, TASK), 1);
	again = ask_now(1, TASK, 1);
	assert_int_equal(again->rc, LOCKQ_NOTHING);
	sql("UPDATE work SET available_at = NOW(6) WHERE task_id = %d", TASK);
	again = ask_now(1, TASK, 1);
	assert_int_equal(again->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT available_at IS NULL AND due_at IS NULL FROM work"
	    " WHERE task_id = %d", TASK), 1);
	lockq_disposed_clear(&result);
}

static int
forget_procedure(void **state)
{
	sql("DROP PROCEDURE IF EXISTS test_on_complete");
	sql("DROP TABLE IF EXISTS test_completed");
	return suite_teardown(state);
}

/* Completes loans 1 and 2 of @by, with a UUID. on_complete refuses the second one. */
static int
complete_with_uuid(struct worker *by, struct lockq_disposed_result *result)
{
	static const struct lockq_loan_ref loans[] = { { 1, 0 }, { 2, 0 } };
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;

	what.user = by->ask.user;
	what.task = TASK;
	what.loans = loans;
	what.n_loans = 2;
	what.uuid = "0b7d3d66-5c2f-4d5e-9d63-1a2b3c4d5e6f";
	return lockq_dispose(by->q, &what, result);
}

/* guard: a call that is made again with its UUID does not run on_complete again. The reason of a
 * refusal is not in the log; but the call itself still has it when only its COMMIT was in doubt. */
static void
it_is_not_called_by_a_repetition(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_loans(2);

	(void)state;
	on_complete("BEGIN IF p_loan_id = 2 THEN SIGNAL SQLSTATE '45000'"
	    " SET MESSAGE_TEXT = 'not signed'; END IF; " NOTE_IT "; END");
	proxy_cut(w->proxy, "=COMMIT", 1, CUT_AFTER);
	assert_int_equal(complete_with_uuid(w, &result), LOCKQ_EREFUSED);
	assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(result.loans[1].what, LOCKQ_NOT_ALLOWED);
	assert_string_equal(result.loans[1].reason, "not signed");
	assert_int_equal(result.loans[0].repeated, 0);
	assert_int_equal(called(), 1);
	on_complete("BEGIN " NOTE_IT "; END");
	assert_int_equal(complete_with_uuid(w, &result), LOCKQ_EQUERY);
	assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(result.loans[1].what, LOCKQ_NOT_COMPLETED);
	assert_non_null(strstr(result.loans[1].reason, "the reason was not kept"));
	assert_int_equal(called(), 0);
	lockq_disposed_clear(&result);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(it_runs_in_the_same_transaction),
		DB_TEST(it_is_called_in_key_order),
		DB_TEST(it_takes_a_round_trip_a_loan),
		DB_TEST(other_dispositions_do_not_call_it),
		DB_TEST(one_that_fails),
		DB_TEST(one_that_fails_while_it_shows_rows),
		DB_TEST(one_that_overruns_its_stack),
		DB_TEST(one_that_lacks_something),
		DB_TEST(one_that_does_not_end),
		DB_TEST(it_is_called_again_where_the_server_was_away),
		DB_TEST(one_that_does_not_wait),
		DB_TEST(one_that_sets_the_session),
		DB_TEST(one_that_asks_for_the_time),
		DB_TEST(one_of_several_fails),
		DB_TEST(one_that_ends_the_transaction),
		DB_TEST(one_that_commits_is_not_called_again),
		DB_TEST(a_deadlock_is_tried_again),
		DB_TEST(the_next_try_has_its_own_settings),
		DB_TEST(a_deadlock_that_is_swallowed),
		DB_TEST(it_is_tried_again_as_a_whole),
		DB_TEST(it_is_done_once_when_cut_off),
		DB_TEST(it_is_held),
		DB_TEST(it_is_not_called_by_a_repetition),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("complete", tests, suite_setup, forget_procedure);
}
