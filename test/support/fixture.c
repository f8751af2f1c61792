/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { HEAVY_ROWS = 1000 };

static bool tables_made;

const char *
user(unsigned int n)
{
	static const char *const names[USERS] = {
		"test_a", "test_b", "test_c", "test_d", "test_e", "test_f"
	};

	assert_true(n < USERS);
	return names[n];
}

uint32_t
user_id(unsigned int n)
{
	return (uint32_t)u64("SELECT user_id FROM app_user WHERE name = '%s'", user(n));
}

/* Makes the tests' own tables and users, once in a program. */
static void
make_tables(void)
{
	if (tables_made)
		return;
	sql("CREATE TABLE IF NOT EXISTS test_candidate ("
	    " task_id INT UNSIGNED NOT NULL, loan_id BIGINT UNSIGNED NULL, priority INT NULL,"
	    " KEY (task_id)) ENGINE=InnoDB");
	sql("CREATE TABLE IF NOT EXISTS test_number (n INT UNSIGNED NOT NULL PRIMARY KEY)"
	    " ENGINE=InnoDB");
	sql("INSERT IGNORE INTO test_number"
	    " WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d)"
	    " SELECT n FROM s", HEAVY_ROWS);
	for (unsigned int n = 0; n < USERS; n++)
		sql("INSERT IGNORE INTO app_user (name) VALUES ('%s')", user(n));
	tables_made = true;
}

void
make_task(uint32_t task)
{
	make_tables();
	sql("INSERT INTO task (task_id, name, candidates_view, max_count)"
	    " VALUES (%u, 'test %u', 'test_view_%u', 10)", task, task, task);
	sql("CALL task_rows(%u)", task);
	set_view(task, "SELECT loan_id, priority FROM test_candidate WHERE task_id = %u", task);
}

void
make_task_with_same_view(uint32_t task)
{
	sql("INSERT INTO task (task_id, name, candidates_view, max_count)"
	    " VALUES (%u, 'test %u', 'test_view_%d', 10)", task, task, TASK);
	sql("CALL task_rows(%u)", task);
}

void
start_again(void)
{
	static const char *const written[] = {
		"work_log", "leader_run", "work", "work_requested", "work_exclusion",
		"kept_list", "kept_loan", "task_refill", "task_touched", "pipeline_lock",
		"test_candidate"
	};

	workers_kill();
	end_connections();
	proxies_relent();
	workers_end();
	proxies_end();
	assert_int_equal(db_begin(owner()), DB_OK);
	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		sql("DELETE FROM %s WHERE task_id IN (%d, %d)", written[i], TASK, OTHER_TASK);
	sql("UPDATE task_lock SET epoch = 0 WHERE task_id IN (%d, %d)", TASK, OTHER_TASK);
	assert_int_equal(db_commit(owner()), DB_OK);
}

void
set_task(uint32_t task, const char *format, ...)
{
	char change[512];
	va_list args;

	va_start(args, format);
	vsnprintf(change, sizeof(change), format, args);
	va_end(args);
	sql("UPDATE task SET %s WHERE task_id = %u", change, task);
}

void
set_view(uint32_t task, const char *format, ...)
{
	char select[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(select, sizeof(select), format, args);
	va_end(args);
	sql("CREATE OR REPLACE VIEW test_view_%u AS %s", task, select);
	if (administrator() != NULL)
		sql_on(administrator(), "GRANT SELECT ON test_view_%u TO lockq_worker@lockq", task);
}

void
add_loan(uint32_t task, uint64_t loan_id, unsigned int priority)
{
	sql("INSERT INTO test_candidate VALUES (%u, %" PRIu64 ", %u)", task, loan_id, priority);
}

void
add_loans(uint32_t task, unsigned int n)
{
	sql("INSERT INTO test_candidate"
	    " WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %u)"
	    " SELECT /*+ SET_VAR(cte_max_recursion_depth = 1000000) */ %u, n, n FROM s", n, task);
}

/* Returns how often a text must be repeated so that HEAVY_ROWS hashes of it take a second. The
 * fastest of several tries counts: one that had to wait for a processor would make the queries too
 * short. */
static uint64_t
rounds_a_second(void)
{
	static uint64_t rounds;
	static int tries;

	for (; tries < 3; tries++) {
		uint64_t start = db_clock_ms(), ms, now;

		(void)u64("SELECT COUNT(*) FROM test_number"
		    " WHERE SHA2(REPEAT(CONCAT('lockq ', n), 5000), 512) <> ''");
		ms = db_clock_ms() - start;
		now = 5000 * 1000 / (ms > 0 ? ms : 1);
		rounds = now > rounds ? now : rounds;
	}
	return rounds;
}

/* GROUP BY makes the server compute the inner table once, whatever query is put around the view. */
void
make_heavy(uint32_t task, unsigned int ms)
{
	set_view(task, "SELECT c.loan_id, c.priority FROM test_candidate AS c"
	    " LEFT JOIN (SELECT n FROM test_number"
	    "  WHERE SHA2(REPEAT(CONCAT('lockq ', n), %" PRIu64 "), 512) = '' GROUP BY n) AS h"
	    " ON h.n = c.loan_id WHERE c.task_id = %u AND h.n IS NULL",
	    rounds_a_second() * ms / 1000 + 1, task);
}

void
make_slow(uint32_t task, unsigned int seconds)
{
	set_view(task, "SELECT c.loan_id, c.priority FROM test_candidate AS c"
	    " JOIN (SELECT SLEEP(%u) AS slept) AS s ON s.slept = 0 WHERE c.task_id = %u", seconds,
	    task);
}

void
add_work(uint32_t task, uint64_t loan_id, unsigned int owner_no, const char *state,
    uint64_t version)
{
	sql("INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,"
	    " assigned_at, available_at, changed_at)"
	    " VALUES (%u, %" PRIu64 ", %u, '%s', 1, %" PRIu64 ", 1, NOW(6),"
	    " IF('%s' = 'returned', NOW(6), NULL), NOW(6))", task, loan_id, user_id(owner_no),
	    state, version, state);
}

uint64_t
add_request(uint32_t task, unsigned int user_no, unsigned int count)
{
	sql("INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)"
	    " VALUES (UUID(), %u, CURRENT_USER(), %u, %u, %u)", user_id(user_no), task, count,
	    count);
	return request_of(task, user_no);
}

void
many_ask_for_five(void)
{
	sql("INSERT INTO app_user (name)"
	    " WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 30)"
	    " SELECT CONCAT('test_many_', n) FROM s");
	sql("INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)"
	    " SELECT UUID(), user_id, CURRENT_USER(), %d, 5, 5 FROM app_user"
	    " WHERE name LIKE 'test\\_many\\_%%'", TASK);
}

void
forget_the_many(void)
{
	clear_fixture();
	sql("DELETE FROM app_user WHERE name LIKE 'test\\_many\\_%%'");
}

void
add_round(uint32_t task, const char *how, int query_ms)
{
	sql("UPDATE task_lock SET epoch = epoch + 1 WHERE task_id = %u", task);
	sql("INSERT INTO leader_run (task_id, epoch, user, how, query_ms, started_at, ended_at)"
	    " SELECT task_id, epoch, '%s', '%s', NULLIF(%d, -1), NOW(6), NOW(6)"
	    "   FROM task_lock WHERE task_id = %u", user(0), how, query_ms, task);
}

uint64_t
request_of(uint32_t task, unsigned int user_no)
{
	return u64("SELECT MAX(request_id) FROM work_requested"
	    " WHERE task_id = %u AND user_id = %u", task, user_id(user_no));
}

const char *
outcome_of(uint32_t task, unsigned int user_no)
{
	return text_of("SELECT outcome FROM work_requested WHERE request_id = %" PRIu64,
	    request_of(task, user_no));
}

uint64_t
rounds_of(uint32_t task)
{
	return u64("SELECT COUNT(*) FROM leader_run WHERE task_id = %u", task);
}

uint64_t
epoch_of(uint32_t task)
{
	return u64("SELECT epoch FROM task_lock WHERE task_id = %u", task);
}

/* The tables stand in the order of the foreign keys. */
void
clear_fixture(void)
{
	static const char *const tables[] = {
		"work_log", "leader_run", "work", "work_requested", "work_exclusion", "kept_list",
		"kept_loan", "task_refill", "task_touched", "pipeline_lock", "task_lock",
		"task_wake", "task"
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		sql("DELETE FROM %s WHERE task_id BETWEEN %d AND %d", tables[i], TASK, TASK_MOST);
	if (tables_made)
		sql("DELETE FROM test_candidate");
}

void
remove_fixture(void)
{
	clear_fixture();
	sql("DELETE FROM app_user WHERE name LIKE 'test\\_%%'");
	for (unsigned int task = TASK; task <= TASK_LAST; task++) {
		sql("DROP VIEW IF EXISTS test_view_%u", task);
		/* A privilege outlives its view. Most of these privileges were never given, so an
		 * error is no failure. */
		if (administrator() != NULL)
			(void)try_sql(administrator(),
			    "REVOKE SELECT ON test_view_%u FROM lockq_worker@lockq", task);
	}
	sql("DROP TABLE IF EXISTS test_candidate, test_number");
	tables_made = false;
}

void
assert_consistent(uint32_t task)
{
	assert_int_equal(u64("SELECT COUNT(*) FROM (SELECT event, LAG(event) OVER"
	    " (PARTITION BY loan_id ORDER BY log_id) AS before_it FROM work_log"
	    " WHERE task_id = %u AND event NOT IN ('renewed', 'available')) AS steps"
	    " WHERE event = 'assigned' AND before_it = 'assigned'", task), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work AS w WHERE w.task_id = %u"
	    " AND w.state = 'assigned' AND w.request_id > 1 AND NOT EXISTS (SELECT 1"
	    "  FROM work_log AS l WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id"
	    "  AND l.event IN ('assigned', 'renewed') AND l.token = w.token"
	    "  AND l.version = w.version"
	    "  AND l.user_id = w.user_id AND l.request_id = w.request_id)", task), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log AS l LEFT JOIN work AS w"
	    " USING (task_id, loan_id) WHERE l.task_id = %u AND (w.version IS NULL"
	    " OR w.version < l.version)", task), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested AS r WHERE r.task_id = %u"
	    " AND r.assigned <> (SELECT COUNT(*) FROM work_log AS l"
	    "  WHERE l.request_id = r.request_id AND l.event = 'assigned')", task), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM task_lock AS k WHERE k.task_id = %u"
	    " AND (k.holder IS NOT NULL OR k.epoch <> (SELECT COUNT(*) FROM leader_run AS l"
	    "  WHERE l.task_id = k.task_id) OR k.epoch <> (SELECT COALESCE(MAX(epoch), 0)"
	    "  FROM leader_run AS l WHERE l.task_id = k.task_id))", task), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run AS l WHERE l.task_id = %u AND"
	    " l.loans <> (SELECT COUNT(*) FROM work_log AS g JOIN work_requested AS r"
	    "  USING (request_id) WHERE r.task_id = l.task_id AND r.epoch = l.epoch"
	    "  AND r.source IS NULL AND g.event = 'assigned')", task), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM leader_run AS l WHERE l.task_id = %u AND"
	    " l.requests <> (SELECT COUNT(*) FROM work_requested AS r"
	    "  WHERE r.task_id = l.task_id AND r.epoch = l.epoch AND r.source IS NULL)", task), 0);
}

static bool
is_led(uint32_t task)
{
	struct inside_holder holder;

	assert_int_equal(inside_holder(owner(), task, &holder), DB_OK);
	return holder.held;
}

uint64_t
lock_waits(void)
{
	return u64("SELECT variable_value FROM performance_schema.global_status"
	    " WHERE variable_name = 'Innodb_row_lock_waits'");
}

static void
until_holder_is(uint32_t task, bool there)
{
	uint64_t start = db_clock_ms();

	while (is_led(task) != there) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(10);
	}
}

void
until_led(uint32_t task)
{
	until_holder_is(task, true);
}

void
until_free(uint32_t task)
{
	until_holder_is(task, false);
}

__attribute__((format(printf, 2, 0))) static void
until_one(struct db *db, const char *format, va_list args)
{
	char select[2048];
	uint64_t start = db_clock_ms();

	vsnprintf(select, sizeof(select), format, args);
	while (u64_on(db, "%s", select) != 1) {
		if (db_clock_ms() - start > PATIENCE_MS)
			print_error("still not: %s\n", select);
		assert_true(db_clock_ms() - start <= PATIENCE_MS);
		db_sleep_ms(20); /* a statement costs more than a sleep */
	}
}

void
until(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	until_one(owner(), format, args);
	va_end(args);
}

void
until_on(struct db *db, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	until_one(db, format, args);
	va_end(args);
}

uint64_t
waiting_for(const char *table)
{
	if (administrator() == NULL)
		return u64("SELECT COUNT(*) FROM information_schema.processlist WHERE db ="
		    " DATABASE() AND command <> 'Sleep' AND id <> CONNECTION_ID()"
		    " AND info LIKE '%% %s %%'", table);
	return u64_on(administrator(), "SELECT COUNT(*) FROM performance_schema.data_locks"
	    " WHERE object_schema = DATABASE() AND object_name = '%s'"
	    " AND lock_status = 'WAITING'", table);
}

void
until_waiting_for(const char *table, unsigned int n)
{
	uint64_t start = db_clock_ms();

	while (waiting_for(table) < n) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(10);
	}
}

struct leader_by_hand
lead_by_hand(uint32_t task, bool with_lock, bool with_wake)
{
	struct leader_by_hand leader = { NULL, NULL };

	if (with_lock) {
		leader.lock = connect_as(OWNER_GROUP);
		assert_int_equal(db_begin(leader.lock), DB_OK);
		sql_on(leader.lock, "UPDATE task_lock SET epoch = epoch + 1, holder = 'by hand',"
		    " since = NOW(6), wakes = %d WHERE task_id = %u", with_wake, task);
	}
	if (with_wake) {
		leader.wake = connect_as(OWNER_GROUP);
		assert_int_equal(db_begin(leader.wake), DB_OK);
		(void)u64_on(leader.wake,
		    "SELECT task_id FROM task_wake WHERE task_id = %u FOR UPDATE", task);
	}
	return leader;
}

const char *
query_lock_name(uint32_t task)
{
	static char name[128];

	snprintf(name, sizeof(name), "CONCAT('lockq:', LEFT(SHA2(DATABASE(), 256), 40), ':%u')",
	    task);
	return name;
}
