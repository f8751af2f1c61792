#!/usr/bin/env bash
# Many processes ask at once, in several rounds; afterwards the tables and the answers must agree.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=201 rounds=5 people=24
make_task "$task" 3000 3000
make_users "$people"
answers=$(mktemp -d)
trap 'forget_task "$task"; forget_users; rm -rf "$answers"' EXIT

bad_exits=0
for ((round = 1; round <= rounds; round++)); do
	pids=()
	for ((i = 1; i <= people; i++)); do
		getwork --user "race-$i" --task "$task" --count $((1 + (i + round) % 5)) --json \
			>"$answers/$round-$i" 2>"$answers/$round-$i.errors" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || bad_exits=$((bad_exits + 1))
	done
done
is "$bad_exits" 0 "$((rounds * people)) getwork, $people at a time: all exit with 0"

is "$(given_twice "$task")" 0 'no loan was given twice'
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $task AND state = 'assigned'")" \
	"$(cat "$answers"/* | jq -s '[.[] | .loans // [] | length] | add')" \
	'the loans in the answers are the loans in the table'
is "$(cat "$answers"/* | jq -r 'select(.loans) | .loans[].loan_id' | sort | uniq -d | wc -l)" 0 \
	'no two answers name the same loan'
is "$(sql "SELECT COUNT(*) FROM work_requested
            WHERE task_id = $task AND outcome = 'served' AND assigned = asked")" \
	$((rounds * people)) 'each request was served once, in full'
is "$(sql "SELECT COUNT(*) FROM work_requested AS r
            WHERE r.task_id = $task AND r.assigned <> (
              SELECT COUNT(*) FROM work_log AS l
               WHERE l.request_id = r.request_id AND l.event = 'assigned')")" 0 \
	'each request has as many loans as its row says'
is "$(sql "SELECT COUNT(*) FROM (
             SELECT p.line, l.loan_id,
                    LAG(p.line) OVER line_order AS line_before,
                    LAG(l.loan_id) OVER line_order AS loan_before
               FROM work_log AS l JOIN test_loan_$task AS p ON p.loan_id = l.loan_id
              WHERE l.task_id = $task
             WINDOW line_order AS (PARTITION BY l.token ORDER BY l.log_id)) AS given
            WHERE line < line_before OR (line = line_before AND loan_id < loan_before)")" 0 \
	'loans went out in order of priority'
# This holds for requests that the leader read at the same time. A request gets its number before
# its row is committed, so the leader may read a lower number later.
is "$(sql "SELECT COUNT(*) FROM (
             SELECT l.request_id,
                    LAG(l.request_id) OVER (PARTITION BY l.token, r.served_at
                                            ORDER BY l.log_id) AS before_it
               FROM work_log AS l
               JOIN work_requested AS r ON r.request_id = l.request_id
              WHERE l.task_id = $task) AS given
            WHERE request_id < before_it")" 0 'requests were served first come, first served'
queries=$(sql "SELECT COUNT(*) FROM leader_run WHERE task_id = $task AND query_ms IS NOT NULL")
# The number of queries depends on the machine: a process that starts late comes after a commit.
is "$(sql "SELECT COUNT(*)
             FROM leader_run AS earlier
             JOIN work_requested AS r
               ON r.task_id = earlier.task_id AND r.epoch > earlier.epoch
              AND r.created_at < earlier.as_of
                    + INTERVAL earlier.query_ms * 500 MICROSECOND
            WHERE earlier.task_id = $task AND earlier.query_ms IS NOT NULL")" 0 \
	"a request made in the first half of a query needs no later one: $queries queries"
is "$(sql "SELECT COUNT(*) FROM leader_run
            WHERE task_id = $task AND query_ms IS NOT NULL AND requests = 0")" 0 \
	'no query served nobody'
is "$(sql "SELECT COUNT(*) FROM task_lock WHERE task_id = $task AND holder IS NOT NULL")" 0 \
	'task_lock shows no holder'
finish
