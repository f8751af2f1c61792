#!/usr/bin/env bash
# Other sessions hold rows, tables and tasks while people ask: nobody waits longer than for the
# query, and nobody gets what is held.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

task=241 slow=242
make_task "$task" 100 0
make_task "$slow" 6000 20000
make_users 4
scratch=$(mktemp -d)
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'wait; forget_task "$task"; forget_task "$slow"; forget_users; rm -rf "$scratch"' EXIT

# hold SECONDS SQL: a session that runs it and stays in its transaction.
hold() {
	{
		printf 'START TRANSACTION; %s;\n' "$2"
		sleep "$1"
		printf 'ROLLBACK;\n'
	} | "$top/scripts/sandbox" mysql >/dev/null &
	sleep 0.5
}

front=$(sql "SELECT loan_id FROM test_loan_$task ORDER BY line, loan_id LIMIT 1")
user_id=$(sql "SELECT user_id FROM app_user WHERE name = 'race-1'")
hold 4 "INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
	changed_at) VALUES ($task, $front, $user_id, 'never', 0, 1, 0, NOW(6), NOW(6))"
run getwork --user race-1 --task "$task" --json
is "$status:$(jq .retries <<<"$out")" 0:0 \
	'guard: a dirty look. A loan whose row is being inserted is not waited for'
is "$(jq ".loans[0].loan_id == $front" <<<"$out")" false 'and not given out'
is "$(sql "SELECT dropped > 0 FROM leader_run
            WHERE task_id = $task ORDER BY epoch DESC LIMIT 1")" 1 'it counts as dropped'
wait

getwork --user race-1 --task "$slow" >/dev/null 2>&1 &
leader=$!
sleep 0.4
getwork --user race-2 --task "$slow" >"$scratch/answer" 2>&1 &
follower=$!
sleep 0.3
sql "UPDATE task SET enabled = FALSE WHERE task_id = $slow"
kill -9 "$leader"
wait "$follower"
is "$?" 4 'guard: the task is read again. Disabled while somebody waits, it is not led'
like "$(cat "$scratch/answer")" 'disabled' 'and the one who waited hears so'
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $slow")" 0 'no loan was given'
sql "UPDATE task SET enabled = TRUE WHERE task_id = $slow"

hold 6 "SELECT COUNT(*) FROM test_loan_$task"
sql "ALTER TABLE test_loan_$task ADD COLUMN extra INT" &
sleep 0.5
getwork --user race-3 --task "$task" >"$scratch/answer" 2>&1 &
leader=$!
sleep 0.5
before=$(date +%s)
kill -INT "$leader"
wait "$leader"
is "$?" 130 'guard: PREPARE in slices. Ctrl-C is heard while the view is being altered'
ok $(($(date +%s) - before < 3 ? 0 : 1)) 'at once'
wait

getwork --user race-1 --task "$slow" >/dev/null &
sleep 0.4
getwork --user race-4 --task "$slow" --poll 60 --timeout 3 >/dev/null 2>&1 &
sleep 0.5
request=$(sql "SELECT MAX(request_id) FROM work_requested WHERE task_id = $slow")
checkwork --request "$request" >/dev/null
is "$(sql "SELECT seen_at > NOW(6) + INTERVAL 30 SECOND FROM work_requested
            WHERE request_id = $request")" 1 \
	'guard: GREATEST. Looking at a request of somebody who polls does not make it older'
wait

sql "DELETE FROM task_lock WHERE task_id = $task"
run getwork --user race-1 --task "$task"
is "$status" 5 'a task without its lock row: exit 5'
like "$err" 'run scripts/migrate' 'and what to do'
run "$top/scripts/migrate" -- --defaults-file="$(dirname "$LOCKQ_DEFAULTS_FILE")/admin.cnf"
is "$status" 0 'migrate makes it again'
is "$(sql "SELECT l.epoch = MAX(r.epoch) FROM task_lock AS l JOIN leader_run AS r
               ON r.task_id = l.task_id WHERE l.task_id = $task GROUP BY l.epoch")" 1 \
	'at the last epoch that was used'
run getwork --user race-1 --task "$task"
is "$status" 0 'and it is led again'
finish
