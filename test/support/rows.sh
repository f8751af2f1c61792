# Rows of a database that was used for long. Sourced by test/bench/figures/stat and test/long/rows.t,
# which have a function sql. shellcheck shell=bash

# add_rows TASK MANY: adds so many rows of work and of the log that were done with, and a tenth as
# many requests, all of this hour, a million at a time.
add_rows() {
	local from page=$(($2 < 1000000 ? $2 : 1000000))
	for ((from = 0; from < $2; from += page)); do
		sql "SET SESSION cte_max_recursion_depth = 100000000;
		     CREATE TEMPORARY TABLE n (i INT PRIMARY KEY);
		     INSERT INTO n WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL
		                                        SELECT i + 1 FROM n WHERE i < $page)
		       SELECT i FROM n;
		     SELECT MAX(user_id) INTO @user FROM app_user;
		     INSERT INTO work (task_id, user_id, state, token, version, request_id,
		                       assigned_at, changed_at, loan_id)
		       SELECT $1, @user, 'completed', 1, 2, 1, NOW(6), NOW(6),
		              1000000 + $from + i FROM n;
		     INSERT INTO work_log (task_id, user_id, event, account, token, version,
		                           request_id, at, loan_id)
		       SELECT $1, @user, 'completed', 'test', 1, 2, 1, NOW(6),
		              1000000 + $from + i FROM n;
		     INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested,
		                                 assigned, outcome, epoch, served_at)
		       SELECT UUID(), @user, 'test', $1, 1, 1, 1, 'served', 1, NOW(6)
		         FROM n WHERE i <= $page DIV 10"
	done
	sql 'ANALYZE TABLE work, work_log, work_requested' >/dev/null
}
