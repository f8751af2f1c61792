# What the tests in shell share: TAP, a task of their own over a small table, waiting for what the
# tables say instead of for a time. Sourced by test/cli/*/*.t, test/race/*/*.t and
# test/bench/common.sh.
# shellcheck shell=bash

# shellcheck source=test/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
# Tables are whole, unless a test says how wide they may be.
# shellcheck disable=SC2034 # for run
run_width=1000
[ -n "${LOCKQ_DEFAULTS_FILE-}" ] || eval "$("$top/scripts/sandbox" env)"

# Tests call this thousands of times, and scripts/sandbox mysql takes twice as long. Where
# $sql_database is set, that is the database.
sql() {
	local server=${LOCKQ_SANDBOX_DIR:-$top/build/sandbox}

	MYSQL_TEST_LOGIN_FILE=$server/no-login-file mysql --defaults-file="$server/admin.cnf" \
		--database="${sql_database:-lockq}" --batch --skip-column-names --execute "$1"
}

# await SQL VALUE: waits until the query gives VALUE.
await() {
	wait_for gives "$1" "$2" || {
		printf '#   it gives: %s\n' "$(sql "$1")" >&2
		return 1
	}
}
gives() {
	[ "$(sql "$1")" = "$2" ]
}

# make_task TASK LOANS ROUNDS: loans 1 to LOANS of task TASK in an order of their own; ROUNDS sets
# what the view's query costs, in real work for each row.
make_task() {
	local task=$1 loans=$2 rounds=$3
	forget_task "$task"
	sql "CREATE TABLE test_loan_$task (
	       loan_id BIGINT UNSIGNED PRIMARY KEY, line BIGINT NOT NULL);
	     SET SESSION cte_max_recursion_depth = 1000000;
	     INSERT INTO test_loan_$task
	       WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < $loans)
	       SELECT i, (i * 7919) % 104729 FROM n;
	     CREATE VIEW test_candidates_$task AS
	       SELECT loan_id, line AS priority FROM test_loan_$task
	        WHERE SHA2(REPEAT(CONCAT('loan ', loan_id), $rounds), 512) <> '';
	     GRANT SELECT ON test_candidates_$task TO lockq_worker@lockq, lockq_query@lockq;
	     INSERT INTO task (task_id, name, candidates_view)
	       VALUES ($task, 'Test $task', 'test_candidates_$task');
	     CALL task_rows($task)"
}

forget_task() {
	sql "DELETE FROM work_log WHERE task_id = $1;
	     DELETE FROM work WHERE task_id = $1;
	     DELETE FROM work_requested WHERE task_id = $1;
	     DELETE FROM leader_run WHERE task_id = $1;
	     DELETE FROM work_exclusion WHERE task_id = $1;
	     DELETE FROM kept_loan WHERE task_id = $1;
	     DELETE FROM kept_list WHERE task_id = $1;
	     DELETE FROM task_refill WHERE task_id = $1;
	     DELETE FROM task_touched WHERE task_id = $1;
	     DELETE FROM pipeline_lock WHERE task_id = $1;
	     DELETE FROM task WHERE task_id = $1;
	     DROP VIEW IF EXISTS test_candidates_$1;
	     DROP TABLE IF EXISTS test_loan_$1"
}

# make_users N: race-1 to race-N; forget_users removes them
make_users() {
	sql "SET SESSION cte_max_recursion_depth = 1000000;
	     INSERT IGNORE INTO app_user (name)
	       WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	       SELECT CONCAT('race-', i) FROM n"
}

forget_users() {
	sql "DELETE FROM app_user WHERE name LIKE 'race-%' AND user_id NOT IN (
	       SELECT user_id FROM work UNION SELECT user_id FROM work_requested)"
}

# forget_all: the task $task, the users, and the files in $scratch.
# shellcheck disable=SC2154 # of the sourcing script
forget_all() {
	forget_task "$task"
	forget_users
	rm -rf "$scratch"
}

# runs_text PATTERN: a condition on performance_schema.threads AS t, that the thread runs a
# statement with this text. Of one that lockq has prepared, MySQL 9.7 shows the text itself, and
# other versions show the EXECUTE.
runs_text() {
	printf "(t.processlist_info LIKE '%s' OR (t.processlist_info LIKE 'EXECUTE lockq_started%%'
	          AND EXISTS (SELECT 1 FROM performance_schema.prepared_statements_instances AS p
	                       WHERE p.owner_thread_id = t.thread_id
	                         AND p.statement_name = 'lockq_started'
	                         AND p.sql_text LIKE '%s')))" "$1" "$1"
}

# waits_for_metadata TEXT: an expression, how many statements with TEXT wait for a metadata lock.
waits_for_metadata() {
	printf "(SELECT COUNT(*) FROM performance_schema.threads
	          WHERE processlist_state = 'Waiting for table metadata lock'
	            AND processlist_info LIKE '%%%s%%' AND processlist_id <> CONNECTION_ID())" "$1"
}

# rows_read: how many rows the server has read, in all its tables.
rows_read() {
	sql "SELECT variable_value FROM performance_schema.global_status
	      WHERE variable_name = 'Innodb_rows_read'"
}

# Loans of a task that were assigned while an earlier assignment had not ended.
given_twice() {
	sql "SELECT COUNT(*) FROM (
	       SELECT event, LAG(event) OVER (PARTITION BY loan_id ORDER BY log_id) AS before_it
	         FROM work_log
	        WHERE task_id = $1 AND event NOT IN ('renewed', 'available')) AS steps
	      WHERE event = 'assigned' AND before_it = 'assigned'"
}

# untrue_requests: the requests whose two numbers do not tell how they have ended, a line each.
untrue_requests() {
	sql "SELECT request_id, asked, requested, assigned, outcome, reason FROM work_requested
	      WHERE NOT CASE WHEN outcome = 'pending' THEN requested = asked AND assigned = 0
	                     WHEN outcome IN ('served', 'partial') THEN
	                       assigned > 0 AND requested = assigned
	                     ELSE requested = 0 AND assigned = 0 END"
}

# replay TASK [SQL]: the faults that replaying the task's log finds, a line each. SQL is executed
# before, and undone afterwards.
replay() {
	{
		printf 'SET @replay_task = %s;\nSTART TRANSACTION;\n%s;\n' "$1" "${2:-DO 0}"
		cat "$top/test/support/replay.sql"
		echo 'ROLLBACK;'
	} | "$top/scripts/sandbox" mysql --batch --skip-column-names 2>&1
}
