/* SPDX-License-Identifier: MIT */
/* seedloans against a server, in a database of its own, since it empties tables. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seedloans/seed.h"
#include "support.h"

#define DATABASE "lockq_test_seed"
#define TURN "CONCAT('lockq seed ', LEFT(SHA2(DATABASE(), 256), 40))"
#define SECOND "CONCAT('lockq seed 2 ', LEFT(SHA2(DATABASE(), 256), 40))"

static struct db *db;
static struct seed_report report;
static char directory[] = "/tmp/lockq-test-XXXXXX";

static struct lockq_connection
own_database(void)
{
	struct lockq_connection where = where_is(OWNER_GROUP);

	where.database = DATABASE;
	return where;
}

static int
seed(const struct seed_options *options)
{
	struct lockq_connection where = own_database();

	return seed_run(&where, options, NULL, NULL, &report);
}

static void
seed_well(const struct seed_options *options)
{
	if (seed(options) != LOCKQ_OK)
		fail_msg("%s", report.error);
}

static struct seed_options
some_loans(uint64_t loans)
{
	struct seed_options options = SEED_OPTIONS_INIT;

	options.loans = loans;
	return options;
}

static void
fresh_loans(uint64_t loans)
{
	struct seed_options options = some_loans(loans);

	options.reset = true;
	seed_well(&options);
}

/* Returns a number that changes if any row of the loans and documents changes. */
static uint64_t
all_rows(void)
{
	return u64_on(db, "SELECT (SELECT BIT_XOR(CAST(CONV(LEFT(SHA2(CONCAT_WS('|', loan_id,"
	    " applicant, amount, city, state, stage, submitted_at), 256), 15), 16, 10)"
	    " AS UNSIGNED)) FROM loan) + (SELECT BIT_XOR(CAST(CONV(LEFT(SHA2(CONCAT_WS('|',"
	    " document_id, loan_id, kind, status, submitted_at, IFNULL(checked_at, '-'), checksum),"
	    " 256), 15), 16, 10) AS UNSIGNED)) FROM loan_document)");
}

static uint64_t
count_loans(void)
{
	return u64_on(db, "SELECT COUNT(*) FROM loan");
}

/* Returns the path of a file in the test's directory; the text is static. */
static const char *
path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static struct seed_options
csv_of(const char *text)
{
	struct seed_options options = SEED_OPTIONS_INIT;
	static char csv[4096], rejects[4096];
	FILE *file;

	snprintf(csv, sizeof(csv), "%s", path_of("loans.csv"));
	snprintf(rejects, sizeof(rejects), "%s", path_of("rejects.csv"));
	(void)unlink(rejects);
	file = fopen(csv, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	options.csv = csv;
	options.rejects = rejects;
	return options;
}

/* Returns the contents of the rejects file, "" if there is none; the text is static. */
static const char *
rejected_rows(void)
{
	static char text[8192];
	FILE *file = fopen(path_of("rejects.csv"), "r");
	size_t n = 0;

	if (file != NULL) {
		n = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[n] = '\0';
	return text;
}

static void
test_same_seed_same_rows(void **state)
{
	struct seed_options more = some_loans(2000);
	uint64_t first;

	(void)state;
	fresh_loans(5000);
	assert_true(report.loans == 5000 && report.loans_before == 0);
	assert_true(report.documents == u64_on(db, "SELECT COUNT(*) FROM loan_document"));
	first = all_rows();

	/* The same loans come out when they are made in two runs with other batches. */
	fresh_loans(3000);
	assert_true(all_rows() != first);
	seed_well(&more);
	assert_true(report.loans_before == 3000 && report.loans == 2000);
	assert_true(u64_on(db, "SELECT MAX(loan_id) FROM loan") == 5000);
	assert_true(all_rows() == first);

	more.reset = true;
	more.loans = 5000;
	more.seed = 2;
	seed_well(&more);
	assert_true(all_rows() != first);
}

static void
test_people_and_tasks(void **state)
{
	struct seed_options options = SEED_OPTIONS_INIT;

	(void)state;
	options.users = 60;
	options.reset = true;
	sql_on(db, "DELETE FROM task WHERE task_id = 3");
	sql_on(db, "UPDATE task SET max_count = 9 WHERE task_id = 7");
	seed_well(&options);
	assert_true(report.users == 60 && report.tasks == 10);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM app_user WHERE name IN ('oliver', 'tracy',"
	    " 'oliver-02')") == 3);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM task WHERE task_id = 7"
	    " AND name = 'Verify user submitted bank account' AND max_count = 9") == 1);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM task WHERE task_id = 3"
	    " AND on_complete = 'complete_verify_income' AND detail_view = 'detail_applicant'"
	    " AND max_pipeline = 10 AND lease_minutes = 240 AND complete_hold = 0") == 1);
	sql_on(db, "UPDATE task SET on_complete = NULL, detail_view = NULL WHERE task_id = 7");
	seed_well(&options);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM task WHERE task_id = 7"
	    " AND on_complete IS NULL AND detail_view IS NULL") == 1);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM task JOIN task_lock USING (task_id)"
	    " JOIN task_wake USING (task_id)") == 10);
	sql_on(db, "DELETE FROM task WHERE task_id = 7");
	options.reset = false;
	seed_well(&options);
	assert_true(report.users == 60);
}

/* lockq can read each task's view, and each view shows loans. */
static void
test_every_task_has_candidates(void **state)
{
	unsigned int task;

	(void)state;
	fresh_loans(5000);
	for (task = 1; task <= 10; task++) {
		char view[200];
		struct db_rows rows = { 0 };
		struct db_query name = {
			"view", "SELECT candidates_view FROM task WHERE task_id = ?", DB_ONE
		};

		assert_int_equal(db_run(db, &name, DB_ARGS(db_u64(task)), &rows), 0);
		snprintf(view, sizeof(view), "%s", db_cell(&rows, 0, 0));
		db_rows_clear(&rows);
		assert_true(u64_on(db, "SELECT COUNT(*) FROM (SELECT loan_id, MIN(priority)"
		    " AS priority FROM %s GROUP BY loan_id) AS c", view) >= 20);
	}
	/* A verified bank statement is no work any more, and neither is one that is known as
	 * forged. */
	sql_on(db, "UPDATE loan_document SET status = 'verified', checked_at = NOW()"
	    " WHERE kind = 'bank_statement' AND status = 'submitted' AND loan_id <= 2500");
	assert_true(u64_on(db, "SELECT COUNT(*) FROM candidates_verify_bank_account"
	    " WHERE loan_id <= 2500") == 0);
	sql_on(db, "UPDATE loan_document SET checksum = (SELECT MIN(checksum) FROM example_forgery)"
	    " WHERE kind = 'bank_statement' AND loan_id <= 4000");
	assert_true(u64_on(db, "SELECT MIN(loan_id) FROM candidates_verify_bank_account") > 4000);
}

/* A loan that one of task 7's two views shows and the other does not would be left out of a kept
 * list, or given although its statement is forged. */
static uint64_t
shown_by_one_view_only(void)
{
	return u64_on(db, "SELECT COUNT(*) FROM loan AS l"
	    " WHERE (l.loan_id IN (SELECT loan_id FROM candidates_verify_bank_account))"
	    "    <> (l.loan_id IN (SELECT loan_id FROM check_verify_bank_account))");
}

/* Of three entries one was taken back, one has a wrong seal, and one has none. */
static void
test_check_view_shows_the_same(void **state)
{
	(void)state;
	fresh_loans(3000);
	assert_true(shown_by_one_view_only() == 0);
	sql_on(db, "UPDATE example_forgery AS f"
	    "  JOIN (SELECT checksum, ROW_NUMBER() OVER (ORDER BY checksum) AS n"
	    "          FROM example_forgery ORDER BY n LIMIT 3) AS g ON g.checksum = f.checksum"
	    "  JOIN loan_document AS d ON d.kind = 'bank_statement' AND d.loan_id %% 6 = g.n"
	    "   SET d.checksum = f.checksum,"
	    "       f.revoked = CASE g.n WHEN 1 THEN SHA2(REPEAT(f.checksum, 3), 512)"
	    "                            WHEN 2 THEN 'wrong' ELSE '' END");
	for (unsigned int rounds = 0; rounds <= 3; rounds += 3) {
		sql_on(db, "UPDATE example_setting SET value = %u", rounds);
		assert_true(shown_by_one_view_only() == 0);
		assert_true((u64_on(db, "SELECT COUNT(*) FROM check_verify_bank_account"
		    " WHERE loan_id %% 6 = 2") > 0) == (rounds == 0));
		assert_true(u64_on(db, "SELECT COUNT(*) FROM check_verify_bank_account"
		    " WHERE loan_id %% 6 = 1") > 0);
		assert_true(u64_on(db, "SELECT COUNT(*) FROM check_verify_bank_account"
		    " WHERE loan_id %% 6 = 3") == 0);
	}
	sql_on(db, "UPDATE example_forgery SET revoked = ''");
	sql_on(db, "UPDATE example_setting SET value = 0");
}

/* Returns a cell of the task's row; the text is static. */
static const char *
of_task(unsigned int task, const char *column)
{
	static char text[200];
	char select[200];
	struct db_query query = { "of_task", select, DB_ONE };
	struct db_rows rows = { 0 };

	snprintf(select, sizeof(select), "SELECT %s FROM task WHERE task_id = ?", column);
	assert_int_equal(db_run(db, &query, DB_ARGS(db_u64(task)), &rows), 0);
	snprintf(text, sizeof(text), "%s", db_cell(&rows, 0, 0));
	db_rows_clear(&rows);
	return text;
}

static void
call_on_complete(unsigned int task, uint64_t loan_id)
{
	sql_on(db, "CALL %s(%" PRIu64 ", 'oliver')", of_task(task, "on_complete"), loan_id);
}

/* Returns how many loans the task's view shows. With a @loan_id other than 0, only that loan
 * counts. */
static uint64_t
loans_of(unsigned int task, uint64_t loan_id)
{
	return u64_on(db, "SELECT COUNT(DISTINCT loan_id) FROM %s WHERE %" PRIu64
	    " IN (0, loan_id)", of_task(task, "candidates_view"), loan_id);
}

/* Each task's on_complete makes the completed loans disappear from the task's view, and no other
 * loans. A second call for the same loan changes nothing. */
static void
test_completed_loans_match_no_more(void **state)
{
	uint64_t before, loan_id, rows;
	unsigned int task, i;

	(void)state;
	fresh_loans(5000);
	for (task = 1; task <= 10; task++) {
		before = loans_of(task, 0);
		for (i = 0; i < 15; i++) {
			/* Some loans have two documents of a kind, and the view shows these loans
			 * twice. */
			loan_id = u64_on(db, "SELECT loan_id FROM %s GROUP BY loan_id"
			    " ORDER BY COUNT(*) DESC, loan_id %% 7, loan_id LIMIT 1",
			    of_task(task, "candidates_view"));
			call_on_complete(task, loan_id);
			assert_true(loans_of(task, loan_id) == 0);
			rows = all_rows();
			call_on_complete(task, loan_id);
			assert_true(all_rows() == rows);
		}
		assert_true(loans_of(task, 0) == before - 15);
	}
}

/* on_complete runs in its caller's transaction, and a rollback undoes it. */
static void
test_completing_can_be_undone(void **state)
{
	uint64_t loan_id, rows;
	unsigned int task;

	(void)state;
	fresh_loans(2000);
	rows = all_rows();
	for (task = 1; task <= 10; task++) {
		loan_id = u64_on(db, "SELECT MIN(loan_id) FROM %s",
		    of_task(task, "candidates_view"));
		assert_int_equal(db_begin(db), DB_OK);
		call_on_complete(task, loan_id);
		assert_true(loans_of(task, loan_id) == 0);
		db_rollback(db);
		assert_true(loans_of(task, loan_id) == 1);
		assert_int_equal(try_sql(db, "CALL %s(4711000, 'oliver')",
		    of_task(task, "on_complete")), DB_EFAIL);
		assert_non_null(strstr(db_error(db), "there is no loan 4711000 any more"));
	}
	assert_true(all_rows() == rows);
}

static void
test_reset_keeps_epochs(void **state)
{
	(void)state;
	fresh_loans(10);
	sql_on(db, "UPDATE task_lock SET epoch = 41 WHERE task_id = 7");
	sql_on(db, "INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,"
	    " assigned_at, changed_at) VALUES (7, 1, 1, 'assigned', 41, 1, 1, NOW(6), NOW(6))");
	sql_on(db, "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)"
	    " VALUES (UUID(), 1, 'a', 7, 1, 1)");
	fresh_loans(10);
	/* --reset raises the epoch, so that a leader with an old list finds that another call has
	 * led. */
	assert_true(u64_on(db, "SELECT epoch FROM task_lock WHERE task_id = 7") == 42);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM task_lock WHERE holder IS NOT NULL") == 0);
	assert_true(u64_on(db, "SELECT (SELECT COUNT(*) FROM work) + (SELECT COUNT(*) FROM"
	    " work_requested) + (SELECT COUNT(*) FROM work_log)") == 0);
}

static void
test_reset_is_refused_while_somebody_leads(void **state)
{
	struct seed_options options = some_loans(5);
	struct db *leader = NULL;
	struct lockq_connection where = own_database();

	(void)state;
	fresh_loans(10);
	options.reset = true;
	assert_int_equal(where_connect(&leader, &where), 0);
	assert_int_equal(db_begin(leader), 0);
	sql_on(leader, "UPDATE task_lock SET holder = 'tracy', since = NOW(6) WHERE task_id = 7");
	assert_int_equal(seed(&options), LOCKQ_BUSY);
	assert_string_equal(report.error,
	    "user \"tracy\" leads task 7: nothing was emptied: try again when that query is done");
	assert_true(count_loans() == 10);
	/* Without --reset a leader is no obstacle. */
	options.reset = false;
	seed_well(&options);
	db_rollback(leader);
	db_close(leader);
	assert_true(count_loans() == 15);
}

/* The wait for a table is as short as any other wait for a lock. */
static void
test_reset_is_refused_while_a_table_is_used(void **state)
{
	struct seed_options options = some_loans(5);
	struct lockq_connection where = own_database();
	struct db *other = NULL;

	(void)state;
	fresh_loans(10);
	options.reset = true;
	assert_int_equal(where_connect(&other, &where), 0);
	sql_on(other, "SET SESSION wait_timeout = 3600");
	sql_on(other, "LOCK TABLES kept_loan READ");
	assert_int_equal(seed(&options), LOCKQ_BUSY);
	assert_string_equal(report.error, "table \"kept_loan\" is in use by another "
	    "statement: nothing was emptied: try again when it is done");
	assert_true(count_loans() == 10);
	db_close(other);
}

static void
test_one_at_a_time(void **state)
{
	struct seed_options options = some_loans(5);

	(void)state;
	assert_true(u64_on(db, "SELECT GET_LOCK(" TURN ", 0)") == 1);
	assert_int_equal(seed(&options), LOCKQ_BUSY);
	assert_true(u64_on(db, "SELECT RELEASE_ALL_LOCKS()") == 1);

	/* The second connection of a seedloans that was killed may still hold this name. */
	assert_true(u64_on(db, "SELECT GET_LOCK(" SECOND ", 0)") == 1);
	assert_int_equal(seed(&options), LOCKQ_BUSY);
	assert_true(u64_on(db, "SELECT RELEASE_ALL_LOCKS()") == 1);
}

/* Each connection of a seedloans that was killed may have a batch under way for a moment. */
static void
until_nobody_seeds(void)
{
	while (u64_on(db, "SELECT IS_FREE_LOCK(" TURN ") AND IS_FREE_LOCK(" SECOND ")") == 0)
		db_sleep_ms(20);
}

static int
give_up_in_the_middle(const struct seed_progress *progress, void *data)
{
	(void)data;
	return progress->phase == SEED_LOAD && progress->loans >= 4000;
}

static void
test_stopped_half_way_leaves_whole_loans(void **state)
{
	struct lockq_connection where = own_database();
	struct seed_options options = some_loans(1000000);
	uint64_t before, loans, rows;
	int status;
	pid_t child;

	(void)state;
	options.reset = true;
	assert_int_equal(seed_run(&where, &options, give_up_in_the_middle, NULL, &report),
	    LOCKQ_CANCELLED);
	assert_true(count_loans() == report.loans && report.loans >= 4000);

	/* seedloans is killed. The batch under way is undone as a whole, and the other batches are
	 * complete. */
	before = u64_on(db, "SELECT epoch FROM task_lock WHERE task_id = 1");
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(seed(&options) == LOCKQ_OK ? 0 : 1);
	while (u64_on(db, "SELECT epoch FROM task_lock WHERE task_id = 1") == before ||
	    count_loans() < 4000)
		db_sleep_ms(20);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	until_nobody_seeds();
	loans = count_loans();
	rows = all_rows();
	fresh_loans(loans);
	assert_true(all_rows() == rows);
}

/* Runs seedloans in a process of its own while @other holds a loan of the first batch. Returns once
 * the second batch is written but for its COMMIT. */
static pid_t
seed_behind(struct db *other)
{
	struct seed_options options = some_loans(8000);
	pid_t child;

	sql_on(other, "SET SESSION wait_timeout = 3600");
	assert_int_equal(db_begin(other), DB_OK);
	sql_on(other, "INSERT INTO loan (loan_id, applicant, amount, submitted_at)"
	    " VALUES (20, 'Eve', 1, '2024-01-01')");
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(seed(&options) == LOCKQ_OK ? 0 : 1);
	while (u64_on(db, "SELECT COUNT(*) FROM information_schema.processlist"
	    " WHERE db = '" DATABASE "' AND command = 'Sleep' AND time >= 2"
	    " AND id NOT IN (CONNECTION_ID(), %" PRIu64 ")", db_connection_id(other)) == 0)
		db_sleep_ms(20);
	return child;
}

/* A batch is committed only after the batch before it, which may take longer than the server lets a
 * connection be idle. */
static void
test_batches_are_committed_in_their_order(void **state)
{
	struct lockq_connection where = own_database();
	struct db *other = NULL;
	uint64_t rows;
	int status;
	pid_t child;

	(void)state;
	fresh_loans(8010);
	rows = all_rows();
	assert_int_equal(where_connect(&other, &where), 0);

	fresh_loans(10);
	child = seed_behind(other);
	db_sleep_ms((DB_WAIT_TIMEOUT_S + 2) * 1000);
	assert_true(count_loans() == 10);
	db_rollback(other);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(all_rows() == rows);

	/* If a batch fails, the batch after it is not committed. */
	fresh_loans(10);
	child = seed_behind(other);
	assert_int_equal(db_commit(other), DB_OK);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_true(count_loans() == 11);
	db_close(other);
}

static int
crowd_while_it_resets(const struct seed_progress *progress, void *data)
{
	if (progress->phase == SEED_RESET)
		proxy_crowd(data, true);
	return 0;
}

static int
seed_through(struct proxy *proxy, bool reset, seed_progress_fn *progress)
{
	struct lockq_connection where = own_database();
	struct seed_options options = some_loans(8000);

	options.reset = reset;
	where.socket = proxy_where(proxy).socket;
	return seed_run(&where, &options, progress, proxy, &report);
}

/* seedloans works with one connection if it can't have a second one. */
static void
test_one_connection_will_do(void **state)
{
	struct proxy *proxy = proxy_new();
	uint64_t rows;

	(void)state;
	assert_int_equal(seed_through(proxy, true, NULL), LOCKQ_OK);
	assert_true(proxy_count(proxy, "SELECT GET_LOCK") == 2);
	rows = all_rows();
	assert_int_equal(seed_through(proxy, true, crowd_while_it_resets), LOCKQ_OK);
	assert_true(proxy_count(proxy, "SELECT GET_LOCK") == 3);
	assert_true(all_rows() == rows && count_loans() == 8000);
}

/* The connection is lost at the first batch's COMMIT. That batch may be there or not; no other
 * batch is. */
static void
test_nothing_comes_after_a_doubt(void **state)
{
	static const enum proxy_cut cuts[] = { CUT_BEFORE, CUT_AFTER };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct proxy *proxy = proxy_new();

		fresh_loans(10);
		proxy_cut(proxy, "=COMMIT", 1, cuts[i]);
		assert_int_equal(seed_through(proxy, false, NULL), LOCKQ_EUNKNOWN);
		assert_non_null(strstr(report.error, "the last changes may be there or not: "
		    "'seedloans --users 24' prints how many loans there are"));
		assert_true(report.loans == 0);
		until_nobody_seeds();
		assert_true(count_loans() == 10 + i * 2000);
	}
}

static const struct db_query wrapped = {
	"wrapped",
	"SELECT c.loan_id"
	"  FROM (SELECT loan_id, MIN(priority) AS priority"
	"          FROM candidates_verify_bank_account GROUP BY loan_id) AS c"
	"  LEFT JOIN work AS w ON w.task_id = 7 AND w.loan_id = c.loan_id"
	" WHERE w.loan_id IS NULL"
	" ORDER BY c.priority, c.loan_id"
	" LIMIT 3",
	DB_MANY
};

/* Returns how long task 7's query takes in milliseconds, or -1 if the server ended it. */
static int64_t
query_ms(unsigned int limit_ms)
{
	struct lockq_connection where = own_database();
	struct db_rows rows = { 0 };
	struct db *query = NULL;
	uint64_t took;
	int rc;

	assert_int_equal(where_connect(&query, &where), 0);
	sql_on(query, "SET SESSION max_execution_time = %u", limit_ms);
	took = db_clock_ms();
	rc = db_run(query, &wrapped, DB_NO_ARGS, &rows);
	took = db_clock_ms() - took;
	assert_true(rc == DB_OK || rc == DB_ETIME);
	db_rows_clear(&rows);
	db_close(query);
	return rc == DB_OK ? (int64_t)took : -1;
}

/* seedloans reports the time that was asked for, and the query takes about that time. */
static bool
is_as_heavy(const struct seed_options *heavy)
{
	int64_t asked = heavy->heavy_ms, took;

	seed_well(heavy);
	took = query_ms(0);
	print_message("# asked for %" PRId64 " ms, said %" PRId64 ", took %" PRId64 "\n", asked,
	    report.heavy_ms, took);
	return report.heavy_ms > asked * 2 / 3 && report.heavy_ms < asked * 3 / 2 &&
	    took > asked / 2 && took < asked * 2;
}

/* With few loans and with many. Other programs on this machine may falsify a measurement, so one
 * good run of several is enough. A broken calibration is wrong in each run. */
static void
test_heavy_takes_as_long_as_asked(void **state)
{
	static const uint64_t loans[] = { 50, 20000 };
	struct seed_options heavy = SEED_OPTIONS_INIT;
	uint64_t rounds;
	int times;

	(void)state;
	heavy.heavy_ms = 1500;
	for (size_t i = 0; i < 2; i++) {
		fresh_loans(loans[i]);
		assert_true(query_ms(0) < 1000);
		for (times = 0; times < 6 && !is_as_heavy(&heavy); times++)
			continue;
		assert_true(times < 6);
	}
	/* The query takes nearly as long after most loans have been given out, and the server can
	 * end it. */
	sql_on(db, "INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,"
	    " assigned_at, changed_at) SELECT 7, loan_id, 1, 'assigned', 1, 1, 1, NOW(6), NOW(6)"
	    " FROM loan WHERE loan_id <= 19000");
	rounds = u64_on(db, "SELECT value FROM example_setting");
	assert_true(query_ms(0) > heavy.heavy_ms / 3);
	assert_true(query_ms(300) == -1);

	heavy.heavy_ms = 0;
	seed_well(&heavy);
	assert_true(rounds > 0 && u64_on(db, "SELECT value FROM example_setting") == 0);
	assert_true(query_ms(0) < 1000);
}

static int
give_up_measuring(const struct seed_progress *progress, void *data)
{
	(void)data;
	return progress->phase == SEED_MEASURE && progress->done > 300;
}

static void
test_stopped_calibration_changes_nothing(void **state)
{
	struct lockq_connection where = own_database();
	struct seed_options heavy = SEED_OPTIONS_INIT;
	uint64_t started;

	(void)state;
	fresh_loans(100);
	sql_on(db, "UPDATE example_setting SET value = 7");
	heavy.heavy_ms = 60000;
	started = db_clock_ms();
	assert_int_equal(seed_run(&where, &heavy, give_up_measuring, NULL, &report),
	    LOCKQ_CANCELLED);
	assert_true(db_clock_ms() - started < 20000);
	assert_true(u64_on(db, "SELECT value FROM example_setting") == 7);
	until("SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE db = '" DATABASE "'"
	    " AND info LIKE '%%candidates_verify%%' AND id <> CONNECTION_ID()");
}

/* Without loans nothing can be measured, and seedloans reports that. */
static void
test_heavy_without_loans(void **state)
{
	struct seed_options heavy = SEED_OPTIONS_INIT;

	(void)state;
	heavy.heavy_ms = 1000;
	heavy.reset = true;
	assert_int_equal(seed(&heavy), LOCKQ_EREFUSED);
	assert_string_equal(report.error, "no loan matches task 7, so its query has nothing to do: "
	    "add some with --loans");
}

/* Returns the most memory, in kilobytes, that a seedloans process used. */
static long
memory_of(uint64_t loans)
{
	struct seed_options options = some_loans(loans);
	struct rusage usage = { 0 };
	int status, ends[2];
	pid_t child;

	options.reset = true;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		status = seed(&options);
		if (status == LOCKQ_OK && (getrusage(RUSAGE_SELF, &usage) != 0 ||
		    write(ends[1], &usage, sizeof(usage)) != sizeof(usage)))
			status = 1;
		_exit(status == LOCKQ_OK ? 0 : 1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &usage, sizeof(usage)), sizeof(usage));
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return usage.ru_maxrss;
}

static void
test_memory_does_not_grow_with_the_loans(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	/* The address sanitizer keeps freed memory for a while. */
	skip();
#endif
	assert_true((double)memory_of(100000) < 1.3 * (double)memory_of(10000));
}

#define HEADER "loan_id,applicant,amount,submitted_at,city\n"

static void
test_csv_reasons(void **state)
{
	struct seed_options options = csv_of(HEADER
	    "101,Ann,\"$1,234.50\",2/28/1997,Gent\n"
	    "102,Bob,12,1997-02-30,x\n"
	    "103,,12,1997-02-28,x\n"
	    "abc,Bob,12,1997-02-28,x\n"
	    "0,Bob,12,1997-02-28,x\n"
	    "104,Bob,1x,1997-02-28,x\n"
	    "105,Bob,12,1997-02-28\n"
	    "106,B\xff,12,1997-02-28,x\n"
	    "101,Twice,12,1997-02-28,x\n"
	    "7,There,12,1997-02-28,x\n"
	    "107,Bob,-1,1997-02-28,x\n"
	    "108,\"Two\nlines\",12,1997-02-28,x\n"
	    "109,Bob,12,1997-02-28,0123456789012345678901234567890123456789012345678901234567890"
	    "1234\n"
	    "110,\"Bob,12,1997-02-28,x\n"
	    "111,Eve,0.10,1997-02-28 12:30:59,\n");

	(void)state;
	fresh_loans(10);
	seed_well(&options);
	assert_true(report.loans == 3 && report.rejected == 12);
	assert_string_equal(report.rejects, options.rejects);
	assert_string_equal(rejected_rows(), "line,reason," HEADER
	    "3,submitted_at is not a date such as 2/28/1997 or 1997-02-28,102,Bob,12,1997-02-30,x\n"
	    "4,applicant is missing,103,,12,1997-02-28,x\n"
	    "5,loan_id is not a number,abc,Bob,12,1997-02-28,x\n"
	    "6,loan_id is 0,0,Bob,12,1997-02-28,x\n"
	    "7,amount is not an amount,104,Bob,1x,1997-02-28,x\n"
	    "8,\"the row has 4 columns, the header has 5\",105,Bob,12,1997-02-28\n"
	    "9,applicant is not in UTF-8 but in an encoding such as Windows-1252,"
	    "106,B\xff,12,1997-02-28,x\n"
	    "10,loan_id 101 is on line 2 already,101,Twice,12,1997-02-28,x\n"
	    "11,loan_id 7 is in the database already,7,There,12,1997-02-28,x\n"
	    "12,amount is negative,107,Bob,-1,1997-02-28,x\n"
	    "15,city is too long,109,Bob,12,1997-02-28,"
	    "01234567890123456789012345678901234567890123456789012345678901234\n"
	    "16,a quote is never closed,\"110,\"\"Bob,12,1997-02-28,x\"\n");
	/* The last one counts all reasons that come after the first seven. */
	assert_int_equal(report.n_reasons, SEED_REASONS);
	assert_string_equal(report.reasons[2].text, "loan_id is not a number");
	assert_string_equal(report.reasons[SEED_REASONS - 1].text, "other reasons");
	assert_true(report.reasons[2].rows == 1 && report.reasons[SEED_REASONS - 1].rows == 5);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM loan WHERE loan_id = 101 AND amount = 1234.50"
	    " AND applicant = 'Ann' AND city = 'Gent' AND submitted_at = '1997-02-28'") == 1);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM loan WHERE loan_id = 108"
	    " AND applicant = 'Two\nlines'") == 1);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM loan WHERE loan_id = 111 AND amount = 0.10"
	    " AND city IS NULL AND submitted_at = '1997-02-28 12:30:59'") == 1);
}

#define LARGEST "18446744073709551615,Ann,1,1997-02-28,\n"

/* The same loan number stands twice in the file, far apart and so in different batches. The largest
 * number does, too. */
static void
test_csv_duplicate_in_a_later_batch(void **state)
{
	struct seed_options options;
	size_t size = 5000 * 64, used = 0;
	char *text = malloc(size);
	unsigned int i;

	(void)state;
	assert_non_null(text);
	used += (size_t)snprintf(text, size, HEADER LARGEST);
	for (i = 1; i <= 4500; i++)
		used += (size_t)snprintf(text + used, size - used, "%u,Ann,1,1997-02-28,\n", i);
	(void)snprintf(text + used, size - used, "3,Ann,1,1997-02-28,\n" LARGEST);
	options = csv_of(text);
	free(text);
	options.reset = true;
	seed_well(&options);
	assert_true(report.loans == 4501 && report.rejected == 2);
	assert_string_equal(rejected_rows(), "line,reason," HEADER
	    "4503,loan_id 3 is on line 5 already,3,Ann,1,1997-02-28,\n"
	    "4504,loan_id 18446744073709551615 is on line 2 already," LARGEST);
	options.reset = false;
	options.strict = true;
	assert_int_equal(seed(&options), LOCKQ_EREFUSED);
	assert_true(report.rejected == 4503);
}

static void
test_csv_strict(void **state)
{
	struct seed_options options = csv_of(HEADER "101,Ann,1,2/28/1997,\n7,Bob,1,2/28/1997,\n"
	    "101,Eve,1,2/28/1997,\n");
	uint64_t before;

	(void)state;
	fresh_loans(10);
	before = all_rows();
	options.strict = true;
	assert_int_equal(seed(&options), LOCKQ_EREFUSED);
	assert_true(all_rows() == before && report.loans == 0);
	assert_string_equal(rejected_rows(), "line,reason," HEADER
	    "3,loan_id 7 is in the database already,7,Bob,1,2/28/1997,\n"
	    "4,loan_id 101 is on line 2 already,101,Eve,1,2/28/1997,\n");
	/* With --reset number 7 would be free, but the file is bad all the same, so nothing is
	 * emptied. */
	options.reset = true;
	assert_int_equal(seed(&options), LOCKQ_EREFUSED);
	assert_true(all_rows() == before && report.rejected == 1);

	options = csv_of(HEADER "101,Ann,1,2/28/1997,\n7,Bob,1,2/28/1997,\n");
	options.strict = options.reset = true;
	seed_well(&options);
	assert_true(report.loans == 2 && report.rejected == 0 && count_loans() == 2);
	assert_string_equal(rejected_rows(), "");
	assert_string_equal(report.rejects, "");
}

/* The connection is lost at the COMMIT of --strict's single transaction. The loans may be there or
 * not, so the report claims none. */
static void
test_csv_strict_in_doubt(void **state)
{
	static const enum proxy_cut cuts[] = { CUT_BEFORE, CUT_AFTER };
	struct lockq_connection where = own_database();
	struct seed_options options = csv_of(HEADER "101,Ann,1,2/28/1997,\n");
	size_t i;

	(void)state;
	options.strict = true;
	for (i = 0; i < 2; i++) {
		struct proxy *proxy = proxy_new();

		fresh_loans(10);
		proxy_cut(proxy, "=COMMIT", 1, cuts[i]);
		where.socket = proxy_where(proxy).socket;
		assert_int_equal(seed_run(&where, &options, NULL, NULL, &report), LOCKQ_EUNKNOWN);
		assert_true(report.loans == 0 && report.documents == 0);
		assert_null(strstr(report.error, "are kept"));
		until_nobody_seeds();
		assert_true(count_loans() == 10 + i);
	}
}

/* A file that can't be used changes nothing, even with --reset. */
static void
test_csv_that_cannot_be_used(void **state)
{
	static const char *const files[] = {
		"", "\n\n", HEADER, "\xff\xfel\0o",
		"id,applicant,amount,submitted_at\n1,a,1,2/28/1997\n"
	};
	struct seed_options options;
	uint64_t before;
	size_t i;

	(void)state;
	fresh_loans(10);
	before = all_rows();
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		options = csv_of(files[i]);
		options.reset = true;
		assert_int_equal(seed(&options), LOCKQ_EUSAGE);
		assert_true(strlen(report.error) > 0);
	}
	assert_non_null(strstr(report.error, "no column is called \"loan_id\": name one with "
	    "--map loan_id=COLUMN, the columns are \"id\", \"applicant\", \"amount\", "
	    "\"submitted_at\""));
	options = csv_of(HEADER "101,Ann,1,2/28/1997,\n");
	options.reset = true;
	options.map = "loan_id=Number";
	assert_int_equal(seed(&options), LOCKQ_EUSAGE);
	options.map = "number=loan_id";
	assert_int_equal(seed(&options), LOCKQ_EUSAGE);
	options.map = NULL;
	options.rejects = options.csv;
	assert_int_equal(seed(&options), LOCKQ_EUSAGE);
	options.rejects = "/nonexistent/rejects.csv";
	assert_int_equal(seed(&options), LOCKQ_EUSAGE);
	options.csv = "/nonexistent";
	assert_int_equal(seed(&options), LOCKQ_EUSAGE);
	options.csv = "/";
	assert_int_equal(seed(&options), LOCKQ_EUSAGE);
	assert_true(all_rows() == before);
}

/* Reads files of real loans, where there are some. */
static void
test_csv_of_real_loans(void **state)
{
	struct seed_options options = SEED_OPTIONS_INIT;
	const char *data = getenv("LOCKQ_DATA"), *top = getenv("LOCKQ_TOP");
	char path[4096];

	(void)state;
	if (data != NULL)
		snprintf(path, sizeof(path), "%s/sba-loans.csv", data);
	else
		snprintf(path, sizeof(path), "%s/../shared/data/sba-loans.csv",
		    top != NULL ? top : ".");
	if (access(path, R_OK) != 0) {
		print_message("# no %s: set LOCKQ_DATA\n", path);
		skip();
	}
	options.csv = path;
	options.rejects = path_of("rejects.csv");
	options.map = "loan_id=LoanNr_ChkDgt,applicant=Name,amount=GrAppv,"
	    "submitted_at=ApprovalDate";
	options.strict = true;
	options.reset = true;
	seed_well(&options);
	assert_true(report.loans == 12000 && count_loans() == 12000);
	assert_true(u64_on(db, "SELECT COUNT(*) FROM loan WHERE loan_id = 1000034009 AND"
	    " applicant = 'WHITLOCK DDS, TODD M.' AND amount = 287000 AND"
	    " city = 'BLOOMINGTON' AND submitted_at = '1997-02-28'") == 1);
	assert_true(u64_on(db, "SELECT COUNT(DISTINCT loan_id) FROM"
	    " candidates_verify_bank_account") > 2000);
}

static void
test_without_the_example(void **state)
{
	struct lockq_connection where = own_database();
	struct seed_options options = some_loans(1);

	(void)state;
	where.database = DATABASE "_none";
	assert_int_equal(seed_run(&where, &options, NULL, NULL, &report), LOCKQ_EDATABASE);
	assert_non_null(strstr(report.error, "run lockq-migrate --example"));
}

static bool
make_database(const char *sandbox, const char *name, const char *option)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		execl(sandbox, sandbox, "database", name, option, (char *)NULL);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int
make_databases(void **state)
{
	const char *top = getenv("LOCKQ_TOP");
	struct lockq_connection where = own_database();
	char sandbox[4096];

	(void)state;
	snprintf(sandbox, sizeof(sandbox), "%s/scripts/sandbox", top != NULL ? top : ".");
	if (!make_database(sandbox, DATABASE, NULL) ||
	    !make_database(sandbox, DATABASE "_none", "--empty") || mkdtemp(directory) == NULL)
		return -1;
	if (where_connect(&db, &where) != 0)
		return -1;
	/* The test's own connection may be idle for longer than the library's. */
	sql_on(db, "SET SESSION wait_timeout = 3600");
	return 0;
}

static int
drop_databases(void **state)
{
	(void)state;
	proxies_relent();
	proxies_end();
	sql_on(db, "DROP DATABASE " DATABASE);
	sql_on(db, "DROP DATABASE " DATABASE "_none");
	(void)unlink(path_of("loans.csv"));
	(void)unlink(path_of("rejects.csv"));
	return rmdir(directory);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_same_rows),
		cmocka_unit_test(test_people_and_tasks),
		cmocka_unit_test(test_every_task_has_candidates),
		cmocka_unit_test(test_check_view_shows_the_same),
		cmocka_unit_test(test_completed_loans_match_no_more),
		cmocka_unit_test(test_completing_can_be_undone),
		cmocka_unit_test(test_reset_keeps_epochs),
		cmocka_unit_test(test_reset_is_refused_while_somebody_leads),
		cmocka_unit_test(test_reset_is_refused_while_a_table_is_used),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_stopped_half_way_leaves_whole_loans),
		cmocka_unit_test(test_batches_are_committed_in_their_order),
		cmocka_unit_test(test_one_connection_will_do),
		cmocka_unit_test(test_nothing_comes_after_a_doubt),
		cmocka_unit_test(test_heavy_takes_as_long_as_asked),
		cmocka_unit_test(test_stopped_calibration_changes_nothing),
		cmocka_unit_test(test_heavy_without_loans),
		cmocka_unit_test(test_memory_does_not_grow_with_the_loans),
		cmocka_unit_test(test_csv_reasons),
		cmocka_unit_test(test_csv_duplicate_in_a_later_batch),
		cmocka_unit_test(test_csv_strict),
		cmocka_unit_test(test_csv_strict_in_doubt),
		cmocka_unit_test(test_csv_that_cannot_be_used),
		cmocka_unit_test(test_csv_of_real_loans),
		cmocka_unit_test(test_without_the_example)
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("seed", tests, make_databases, drop_databases);
}
