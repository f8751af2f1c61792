/* SPDX-License-Identifier: MIT */
/* Connecting: checks of the server, the schema and the session; handles in threads. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

/* Connects with a new handle. The handle's error is copied to @error. */
static int
try_connect(struct lockq_connection where, char error[1024])
{
	struct lockq *q = NULL;
	int rc;

	assert_int_equal(lockq_new(&q), LOCKQ_OK);
	rc = lockq_connect(q, &where);
	snprintf(error, 1024, "%s", lockq_error(q));
	lockq_free(q);
	return rc;
}

static void
it_connects(void **state)
{
	char error[1024];

	(void)state;
	assert_int_equal(try_connect(where_is(APP_GROUP), error), LOCKQ_OK);
	assert_string_equal(error, "");
}

/* Reading option files and connecting are two steps for a program that wants to know first what
 * the files say. The files are read once: the second step does not need the first one's. */
static void
connects_after_reading_the_options(void **state)
{
	struct lockq_connection where = where_is(APP_GROUP);
	char path[] = "/tmp/lockq.XXXXXX";
	int file = mkstemp(path);
	struct lockq *q = NULL;

	(void)state;
	assert_true(file >= 0);
	assert_true(dprintf(file, "!include %s\n[lockq]\nlockq-user=oliver\nlockq-task=7\n"
	    "lockq-no-refill\n", where.defaults_file) > 0);
	where.defaults_file = path;
	assert_int_equal(lockq_new(&q), LOCKQ_OK);
	assert_int_equal(lockq_connect(q, NULL), LOCKQ_EUSAGE);
	assert_string_equal(lockq_error(q), "lockq_connect() without a connection needs "
	    "lockq_read_options() before it");
	assert_null(lockq_option_user(q));
	assert_int_equal(lockq_read_options(q, &where), LOCKQ_OK);
	assert_string_equal(lockq_option_user(q), "oliver");
	assert_int_equal(lockq_option_task(q), 7);
	assert_int_equal(lockq_option_no_refill(q), 1);
	unlink(path);
	assert_int_equal(lockq_connect(q, NULL), LOCKQ_OK);
	assert_int_equal(lockq_connect(q, NULL), LOCKQ_OK);
	assert_string_equal(lockq_option_user(q), "oliver");
	assert_int_equal(lockq_connect(q, &where), LOCKQ_EUSAGE);
	assert_non_null(strstr(lockq_error(q), "can't be read"));
	assert_null(lockq_option_user(q));
	assert_int_equal(lockq_option_task(q), 0);
	assert_int_equal(lockq_option_no_refill(q), 0);
	assert_int_equal(lockq_connect(q, NULL), LOCKQ_EUSAGE);
	close(file);
	lockq_free(q);
}

/* A reserved member that is not 0 comes from a caller that expects more of the library. */
static void
reserved_members_are_zero(void **state)
{
	struct lockq_connection where = worker_where();
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_expire expire = LOCKQ_EXPIRE_INIT;
	struct lockq_expired expired = LOCKQ_EXPIRED_INIT;
	struct lockq *q = NULL;

	(void)state;
	assert_int_equal(lockq_new(&q), LOCKQ_OK);
	assert_int_equal(lockq_connect(q, &where), LOCKQ_OK);
	ask.reserved[0] = what.reserved[0] = expire.reserved[1] = where.reserved[1] = 1;
	assert_int_equal(lockq_getwork(q, &ask, &answer), LOCKQ_EUSAGE);
	assert_non_null(strstr(lockq_error(q), "a reserved member of a structure is not 0"));
	assert_int_equal(lockq_dispose(q, &what, &result), LOCKQ_EUSAGE);
	assert_int_equal(lockq_expire(q, &expire, &expired), LOCKQ_EUSAGE);
	assert_int_equal(lockq_query_at(q, &where), LOCKQ_EUSAGE);
	assert_int_equal(lockq_connect(q, &where), LOCKQ_EUSAGE);
	lockq_free(q);
}

/* guard: a newer schema is refused only when it is finished. */
static void
a_newer_schema_is_refused_when_it_is_finished(void **state)
{
	char error[1024];
	int newer, finished;

	(void)state;
	sql("INSERT INTO schema_version (version, name, checksum) VALUES (%d, 'x', 'x')",
	    LOCKQ_SCHEMA + 1);
	newer = try_connect(worker_where(), error);
	sql("UPDATE schema_version SET finished_at = NOW(6) WHERE version = %d", LOCKQ_SCHEMA + 1);
	finished = try_connect(worker_where(), error);
	sql("DELETE FROM schema_version WHERE version = %d", LOCKQ_SCHEMA + 1);
	assert_int_equal(newer, LOCKQ_OK);
	assert_int_equal(finished, LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "update lockq"));
}

/* A schema 5 has no column finished_at. */
static void
a_schema_of_before_is_refused(void **state)
{
	char error[1024];
	int rc;

	(void)state;
	sql("CREATE TABLE test_schema_version AS SELECT * FROM schema_version WHERE version >= 6");
	sql("DELETE FROM schema_version WHERE version >= 6");
	sql("ALTER TABLE schema_version RENAME COLUMN finished_at TO other");
	rc = try_connect(worker_where(), error);
	sql("ALTER TABLE schema_version RENAME COLUMN other TO finished_at");
	sql("INSERT INTO schema_version SELECT * FROM test_schema_version");
	sql("DROP TABLE test_schema_version");
	assert_int_equal(rc, LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "has schema 5"));
	assert_non_null(strstr(error, "run lockq-migrate"));
}

static void
an_older_schema_is_refused(void **state)
{
	char error[1024];
	int rc;

	(void)state;
	sql("CREATE TABLE test_schema_version AS SELECT * FROM schema_version");
	sql("DELETE FROM schema_version");
	rc = try_connect(worker_where(), error);
	sql("INSERT INTO schema_version SELECT * FROM test_schema_version");
	sql("DROP TABLE test_schema_version");
	assert_int_equal(rc, LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "schema"));
	assert_int_equal(try_connect(worker_where(), error), LOCKQ_OK);
}

static void
a_database_without_the_schema_is_refused(void **state)
{
	struct lockq_connection where = where_is(OWNER_GROUP);
	char error[1024];

	(void)state;
	where.database = "information_schema";
	assert_int_equal(try_connect(where, error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "information_schema"));
}

/* The library decides by the server's version. */
/* The server takes what stands before the first byte that is not UTF-8 for the name. Here that is a
 * database that is there, and an account that may log in. */
static void
a_name_that_is_no_utf8_is_refused(void **state)
{
	struct lockq_connection where = where_is(APP_GROUP);
	char error[1024];

	(void)state;
	where.database = "lockq\xff";
	assert_int_equal(try_connect(where, error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "\" is no name: it must be valid UTF-8"));
	where.database = NULL;
	where.user = "lockq_app\xed\xa0\x80";
	assert_int_equal(try_connect(where, error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "account \"lockq_app"));
}

static void
other_servers_are_refused(void **state)
{
	struct proxy *proxy = proxy_new();
	char error[1024];

	(void)state;
	proxy_pretend(proxy, "8.0.18");
	assert_int_equal(try_connect(proxy_where(proxy), error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "8.0.18"));
	proxy_pretend(proxy, "5.5.5-10.11.6-MariaDB-1");
	assert_int_equal(try_connect(proxy_where(proxy), error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "MariaDB"));
	proxy_pretend(proxy, "8.0.19");
	assert_int_equal(try_connect(proxy_where(proxy), error), LOCKQ_OK);
}

/* guard: a session whose settings do not hold is refused. The library reads the settings back. */
static void
a_session_that_does_not_hold_is_refused(void **state)
{
	struct proxy *proxy = proxy_new();
	char error[1024];

	(void)state;
	proxy_replace(proxy, " wait_timeout = 10", " wait_timeout = 99");
	assert_int_equal(try_connect(proxy_where(proxy), error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "wait_timeout is \"99\""));
	proxy_replace(proxy, "'READ-COMMITTED'", "'SERIALIZABLE'  ");
	assert_int_equal(try_connect(proxy_where(proxy), error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "transaction_isolation is \"SERIALIZABLE\""));
	proxy_replace(proxy, "x", "x");
	assert_int_equal(try_connect(proxy_where(proxy), error), LOCKQ_OK);
}

static void
an_error_never_has_the_password(void **state)
{
	struct lockq_connection where = worker_where();
	char error[1024];

	(void)state;
	where.password = "not-the-password";
	assert_int_equal(try_connect(where, error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "Access denied"));
	assert_null(strstr(error, "not-the-password"));
	where = worker_where();
	where.socket = "/nonexistent/mysql.sock";
	assert_int_equal(try_connect(where, error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "/nonexistent/mysql.sock"));
	where = worker_where();
	where.ssl_mode = "SOMETIMES";
	assert_int_equal(try_connect(where, error), LOCKQ_EDATABASE);
	assert_non_null(strstr(error, "SOMETIMES"));
}

/* A call tries again while the server has no free connection, since another client may leave
 * soon. */
static void
a_full_server_is_asked_again(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 3);
	w->proxy = proxy_new();
	proxy_crowd(w->proxy, true);
	worker_start(w);
	proxy_until_crowded(w->proxy, 2);
	assert_false(w->done);
	proxy_crowd(w->proxy, false);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
}

/* A statement whose result is not what it declares is an error with the statement's name. */
static void
a_query_says_what_it_expects(void **state)
{
	struct db *db = connect_as(OWNER_GROUP);
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db_query query = { "shape", "SELECT 1 UNION SELECT 2", DB_ONE };

	(void)state;
	assert_int_equal(db_run(db, &query, DB_NO_ARGS, &rows), DB_ESHAPE);
	assert_string_equal(db_error_detail(db), "shape");
	query.expect = DB_MAYBE;
	assert_int_equal(db_run(db, &query, DB_NO_ARGS, &rows), DB_ESHAPE);
	query.expect = DB_NO_ROWS;
	assert_int_equal(db_run(db, &query, DB_NO_ARGS, NULL), DB_ESHAPE);
	query = (struct db_query){ "shape", "SELECT 1 FROM DUAL WHERE 1 = 0", DB_ONE };
	assert_int_equal(db_run(db, &query, DB_NO_ARGS, &rows), DB_ESHAPE);
	query.expect = DB_MAYBE;
	assert_int_equal(db_run(db, &query, DB_NO_ARGS, &rows), DB_OK);
	assert_int_equal(rows.n_rows, 0);
	query = (struct db_query){ "args", "SELECT ?", DB_ONE };
	assert_int_equal(db_run(db, &query, DB_ARGS(db_u64(1), db_u64(2)), &rows), DB_ESHAPE);
	assert_int_equal(db_run(db, &query, DB_NO_ARGS, &rows), DB_EFAIL);
	db_rows_clear(&rows);
}

/* guard: after a dirty read that failed, the next statement does not read dirty. That statement
 * would see loans of another transaction that is not committed. */
static void
only_the_next_statement_reads_dirty(void **state)
{
	static const struct db_query count = {
		"count", "SELECT COUNT(*) FROM work WHERE task_id = ?", DB_ONE
	};
	struct worker *w = worker_new(0, TASK, 1, 0);
	struct db *other = connect_as(OWNER_GROUP), *db;
	struct db_rows rows = { 0, 0, NULL, NULL };

	(void)state;
	w->proxy = proxy_new();
	worker_connect(w);
	db = inside_lock_connection(w->q);
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "INSERT INTO work (task_id, loan_id, user_id, state, token, version,"
	    " request_id, assigned_at, changed_at)"
	    " VALUES (%d, 1, %u, 'never', 1, 1, 1, NOW(6), NOW(6))", TASK, user_id(0));
	assert_int_equal(db_next_read_dirty(db), DB_OK);
	assert_int_equal(db_run(db, &count, DB_ARGS(db_u64(TASK)), &rows), DB_OK);
	assert_int_equal(db_cell_u64(&rows, 0, 0), 1);
	proxy_fail(w->proxy, "SELECT COUNT(*) FROM work", 1, 1, 1205);
	assert_int_equal(db_next_read_dirty(db), DB_OK);
	assert_int_equal(db_run(db, &count, DB_ARGS(db_u64(TASK)), &rows), DB_ELOCKWAIT);
	assert_int_equal(db_run(db, &count, DB_ARGS(db_u64(TASK)), &rows), DB_OK);
	assert_int_equal(db_cell_u64(&rows, 0, 0), 0);
	db_rows_clear(&rows);
	db_rollback(other);
}

/* db_change() counts the rows that really changed, and an unexpected number is an error. */
static void
a_change_counts_its_rows(void **state)
{
	static const struct db_query change = {
		"change", "UPDATE test_number SET n = n WHERE n = ?", DB_NO_ROWS
	};
	struct db *db = connect_as(OWNER_GROUP);

	(void)state;
	assert_int_equal(db_change(db, &change, DB_ARGS(db_u64(1)), 0), DB_OK);
	assert_int_equal(db_change(db, &change, DB_ARGS(db_u64(1)), 1), DB_ERETRY);
	assert_non_null(strstr(db_error(db), "has changed the same rows"));
}

/* Values of any size and kind are read back as they were written. */
static void
values_are_bound(void **state)
{
	static const struct db_query echo = { "echo", "SELECT ?, ?, ?, ?", DB_ONE };
	struct db *db = connect_as(OWNER_GROUP);
	struct db_rows rows = { 0, 0, NULL, NULL };
	char *text = malloc(300001);

	(void)state;
	assert_non_null(text);
	memset(text, 'q', 300000);
	text[300000] = '\0';
	assert_int_equal(db_run(db, &echo, DB_ARGS(db_text(text), db_text("'; -- \"`\\ \xc3\xbc"),
	    db_u64(UINT64_MAX), db_null()), &rows), DB_OK);
	assert_string_equal(db_cell(&rows, 0, 0), text);
	assert_string_equal(db_cell(&rows, 0, 1), "'; -- \"`\\ \xc3\xbc");
	assert_true(db_cell_u64(&rows, 0, 2) == UINT64_MAX);
	assert_true(db_cell_is_null(&rows, 0, 3));
	db_rows_clear(&rows);
	free(text);
}

enum { ROUNDS = 15 };

struct asking {
	struct lockq *q;
	const char *user;
	uint64_t loans;
	int rc;
};

static void *
ask_often(void *data)
{
	struct asking *a = data;
	struct lockq_connection where = worker_where();
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;

	ask.user = a->user;
	ask.task = TASK;
	ask.count = 2;
	ask.timeout_ms = 20000;
	a->rc = lockq_connect(a->q, &where);
	for (int i = 0; a->rc == LOCKQ_OK && i < ROUNDS; i++) {
		a->rc = lockq_getwork(a->q, &ask, &answer);
		a->loans += answer.n_loans;
	}
	lockq_answer_clear(&answer);
	return NULL;
}

/* Six threads with a handle each ask at the same time. Each loan is given to one of them. */
static void
handles_in_threads(void **state)
{
	struct asking asking[USERS];
	pthread_t threads[USERS];
	uint64_t loans = 0;

	(void)state;
	add_loans(TASK, 2 * ROUNDS * USERS);
	(void)worker_group();
	for (unsigned int i = 0; i < USERS; i++) {
		asking[i] = (struct asking){ .user = user(i) };
		assert_int_equal(lockq_new(&asking[i].q), LOCKQ_OK);
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &asking[i]), 0);
	}
	for (unsigned int i = 0; i < USERS; i++) {
		pthread_join(threads[i], NULL);
		loans += asking[i].loans;
		lockq_free(asking[i].q);
	}
	for (unsigned int i = 0; i < USERS; i++)
		assert_int_equal(asking[i].rc, LOCKQ_OK);
	assert_int_equal(loans, 2 * ROUNDS * USERS);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND version = 1", TASK),
	    2 * ROUNDS * USERS);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK),
	    2 * ROUNDS * USERS);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND outcome <> 'served'", TASK), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(it_connects),
		DB_TEST(connects_after_reading_the_options),
		DB_TEST(reserved_members_are_zero),
		DB_TEST(a_newer_schema_is_refused_when_it_is_finished),
		DB_TEST(a_schema_of_before_is_refused),
		DB_TEST(an_older_schema_is_refused),
		DB_TEST(a_database_without_the_schema_is_refused),
		DB_TEST(a_name_that_is_no_utf8_is_refused),
		DB_TEST(other_servers_are_refused),
		DB_TEST(a_session_that_does_not_hold_is_refused),
		DB_TEST(an_error_never_has_the_password),
		DB_TEST(a_full_server_is_asked_again),
		DB_TEST(a_query_says_what_it_expects),
		DB_TEST(only_the_next_statement_reads_dirty),
		DB_TEST(a_change_counts_its_rows),
		DB_TEST(values_are_bound),
		DB_TEST(handles_in_threads),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("connect", tests, suite_setup, suite_teardown);
}
