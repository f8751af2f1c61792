#!/usr/bin/env bash
# A loan that changed between a leader's query and its commit is not given out. Another program
# keeps setting the loans that come first to "never" while leaders query.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

# There are more rounds, up to four times as many, until a leader has met such a loan.
task=203 rounds=${LOCKQ_CHANGED_ROUNDS:-40} people=3
make_task "$task" 20000 20
make_users "$people"
scratch=$(mktemp -d)
user_id=$(sql "SELECT user_id FROM app_user WHERE name = 'race-1'")

# One loan after another, each with its row of the log in the same transaction. Half of them have no
# row in work, half have been returned before: a leader checks these two kinds in different ways.
mark_never() {
	local line="(SELECT p.loan_id FROM test_loan_$task AS p
	      LEFT JOIN work AS w ON w.task_id = $task AND w.loan_id = p.loan_id
	     WHERE w.loan_id IS NULL ORDER BY p.line, p.loan_id LIMIT 1 OFFSET"
	while [ ! -e "$scratch/stop" ]; do
		cat <<-END
		SET @loan = $line $((RANDOM % 4)));
		START TRANSACTION;
		INSERT IGNORE INTO work (task_id, loan_id, user_id, state, token, version,
		  request_id, assigned_at, changed_at)
		  VALUES ($task, @loan, $user_id, 'never', 0, 1, 0, NOW(6), NOW(6));
		INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,
		  request_id, at) SELECT $task, @loan, 'never', $user_id, 'x', 0, 1, 0, NOW(6)
		  FROM DUAL WHERE ROW_COUNT() = 1;
		COMMIT;
		SET @loan = (SELECT w.loan_id FROM work AS w JOIN test_loan_$task AS p
		   ON p.loan_id = w.loan_id WHERE w.task_id = $task AND w.state = 'returned'
		 ORDER BY p.line LIMIT 1 OFFSET $((RANDOM % 4)));
		START TRANSACTION;
		UPDATE work SET state = 'never', version = version + 1, changed_at = NOW(6)
		 WHERE task_id = $task AND loan_id = @loan AND state = 'returned';
		INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,
		  request_id, at) SELECT $task, @loan, 'never', $user_id, 'x', 0, 1, 0, NOW(6)
		  FROM DUAL WHERE ROW_COUNT() = 1;
		COMMIT;
		DO SLEEP(0.02);
		END
		sleep 0.02
	done | "$top/scripts/sandbox" mysql --force 2>>"$scratch/errors"
}
# Many loans that have been returned come before all others.
sql "INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
       available_at, changed_at)
     SELECT $task, loan_id, $user_id, 'returned', 0, 1, 0, NOW(6), NOW(6), NOW(6)
       FROM test_loan_$task ORDER BY line, loan_id LIMIT 2000"
mark_never &
writer=$!
await "SELECT COUNT(*) > 1 FROM work_log WHERE task_id = $task AND event = 'never'" 1
dropped="SELECT COALESCE(SUM(dropped), 0) FROM leader_run WHERE task_id = $task"
trap 'touch "$scratch/stop"; wait; forget_all' EXIT

bad_exits=0 most=$((rounds * 4))
for ((round = 1; round <= rounds; round++)); do
	pids=()
	for ((i = 1; i <= people; i++)); do
		getwork --user "race-$i" --task "$task" --count 5 --json >/dev/null &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || bad_exits=$((bad_exits + 1))
	done
	[ "$round" -lt "$rounds" ] || [ "$rounds" -ge "$most" ] || [ "$(sql "$dropped")" -gt 0 ] ||
		rounds=$((rounds + 1))
done
touch "$scratch/stop"
wait "$writer"
is "$bad_exits" 0 "$((rounds * people)) getwork while loans change: all exit with 0"
is "$(sql "SELECT COUNT(*) FROM work_log AS a JOIN work_log AS n
               ON n.task_id = a.task_id AND n.loan_id = a.loan_id AND n.event = 'never'
              AND n.log_id < a.log_id
            WHERE a.task_id = $task AND a.event = 'assigned'")" 0 \
	'no loan was given out after it had been set to never'
is "$(sql "SELECT COUNT(*) FROM work_log AS a JOIN work_log AS n
               ON n.task_id = a.task_id AND n.loan_id = a.loan_id AND n.event = 'never'
            WHERE a.task_id = $task AND a.event = 'assigned'")" 0 \
	'no loan was set to never after it had been given out'
is "$(given_twice "$task")" 0 'no loan was given twice'
dropped=$(sql "$dropped")
ok $((dropped > 0 ? 0 : 1)) "leaders met such loans: $dropped candidates were dropped"
finish
