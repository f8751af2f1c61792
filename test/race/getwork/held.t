#!/usr/bin/env bash
# Other sessions hold rows, tables and tasks while people ask. Nobody waits longer than the query
# takes, and nobody gets a loan whose row is held.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=241 slow=242
make_task "$task" 100 0
make_steered "$slow" 6000
make_users 4
# shellcheck disable=SC2154 # status, out and err are set by run and end, scratch by steered.sh
trap 'end_all; forget_task "$task"; forget_steered "$slow"; forget_users; rm -rf "$scratch"' EXIT
open_gatekeeper

# hold SQL: a session runs it, and stays in its transaction until let_go.
hold() {
	shut_gate holder
	start holder sql "START TRANSACTION; $1;
		DO GET_LOCK('test gate holder', $patience); ROLLBACK"
	await "SELECT COUNT(*) FROM performance_schema.threads
	        WHERE processlist_state = 'User lock'
	          AND processlist_info LIKE 'DO GET_LOCK(\\'test gate holder%'" 1
}
let_go() {
	open_gate holder
	end holder
}

front=$(sql "SELECT loan_id FROM test_loan_$task ORDER BY line, loan_id LIMIT 1")
user_id=$(sql "SELECT user_id FROM app_user WHERE name = 'race-1'")
hold "INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
	changed_at) VALUES ($task, $front, $user_id, 'never', 0, 1, 0, NOW(6), NOW(6))"
run getwork --user race-1 --task "$task" --json
is "$status:$(jq .retries <<<"$out")" 0:0 \
	'guard: a dirty look. A leader does not wait for a row that is being inserted'
is "$(jq ".loans[0].loan_id == $front" <<<"$out")" false 'that loan is not given out'
is "$(sql "SELECT dropped > 0 FROM leader_run
            WHERE task_id = $task ORDER BY epoch DESC LIMIT 1")" 1 'it counts as dropped'
let_go

steer "$slow" heavy
start leader getwork --user race-1 --task "$slow"
await_leader "$slow" race-1
start follower getwork --user race-2 --task "$slow"
await_request race-2 "$slow"
sql "UPDATE task SET enabled = FALSE WHERE task_id = $slow"
end_hard leader
end follower
is "$status" 4 'guard: the task is read again. Nobody leads a task that was disabled meanwhile'
like "$out$err" 'disabled' 'the user who waited is told so'
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $slow")" 0 'no loan was given'
sql "UPDATE task SET enabled = TRUE WHERE task_id = $slow"

hold "SELECT COUNT(*) FROM test_loan_$task"
start alter sql "ALTER TABLE test_loan_$task ADD COLUMN extra INT"
await "SELECT $(waits_for_metadata 'ADD COLUMN extra')" 1
start leader getwork --user race-3 --task "$task"
await "SELECT $(waits_for_metadata '')" 2
kill -INT "${process[leader]}"
end leader
is "$status" 130 'guard: PREPARE in slices. Ctrl-C is heard while the view is being altered'
is "$(sql "SELECT $(waits_for_metadata 'ADD COLUMN extra')")" 1 \
	'it ends while the view is still being altered'
let_go
end alter

steer "$slow" gated
shut_gate "$slow"
start leader getwork --user race-1 --task "$slow"
await_holder "$slow" race-1
start polls getwork --user race-4 --task "$slow" --poll 60
await_request race-4 "$slow"
request=$(last_request race-4 "$slow")
await "SELECT seen_at > NOW(6) + INTERVAL 30 SECOND FROM work_requested
        WHERE request_id = $request" 1
checkwork --request "$request" >/dev/null
is "$(sql "SELECT seen_at > NOW(6) + INTERVAL 30 SECOND FROM work_requested
            WHERE request_id = $request")" 1 \
	'guard: GREATEST. checkwork does not set seen_at of a request that is polled back'
kill -TERM "${process[polls]}"
end polls
open_gate "$slow"
end leader

sql "DELETE FROM task_lock WHERE task_id = $task"
run "$top/scripts/lockq-migrate" -- --defaults-file="$(dirname "$LOCKQ_DEFAULTS_FILE")/owner.cnf"
is "$status" 0 'a task without its lock row: lockq-migrate makes it again'
is "$(sql "SELECT l.epoch = MAX(r.epoch) FROM task_lock AS l JOIN leader_run AS r
               ON r.task_id = l.task_id WHERE l.task_id = $task GROUP BY l.epoch")" 1 \
	'with the last epoch that was used'
sql "DELETE FROM task_lock WHERE task_id = $task"
run getwork --user race-1 --task "$task" --json
is "$status" 0 'getwork makes it, too, and leads the task again'
is "$(sql "SELECT COUNT(*) FROM leader_run
            WHERE task_id = $task AND epoch >= $(jq .epoch <<<"$out")")" 1 'with the next epoch'
finish
