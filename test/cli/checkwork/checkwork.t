#!/usr/bin/env bash
# checkwork as a user runs it.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=223 slow=224

forget_details() {
	sql "UPDATE task SET detail_view = NULL WHERE task_id IN ($task, $slow);
	     DROP VIEW IF EXISTS test_detail_$task;
	     DROP FUNCTION IF EXISTS test_writes_$task;
	     DROP TABLE IF EXISTS test_written_$task"
}

make_task "$task" 20 0
make_steered "$slow" 6000
open_gatekeeper
make_users 4
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'end_all; forget_details; forget_task "$task"; forget_steered "$slow"; forget_users
	rm -rf "$scratch"' EXIT

run checkwork --help
is "$status" 0 '--help: exit 0'
like "$out" '^Usage: checkwork ' '--help says how to use it'
run checkwork --version
is "$status:$out" "0:checkwork (lockq) $(lockq_version)" '--version'
for arguments in '--frob' '--task x' '--request 1 --task 1' '--wait 3' '--request 0x1 --wait -1' \
	'--loan x --task 1' '--loan 1 --task 1 --user oliver' '--loan 1 --request 1'; do
	# shellcheck disable=SC2086 # words, on purpose
	run checkwork $arguments
	is "$status" 2 "$arguments: exit 2"
	like "$err" '^checkwork: ' "$arguments: one line that names it"
done

run checkwork --user race-1
is "$status" 1 'an empty pipeline: exit 1'
like "$out$err" "race-1's pipeline" 'an empty pipeline: it names the user'
like "$out" 'getwork --user race-1 --task N' 'an empty pipeline: it tells the next step'
run checkwork --user race-1 --json
is "$status:$out" '1:' 'an empty pipeline in JSON: no object'
run checkwork --user race-1 --pending
is "$status:$out" '1:race-1 has no pending request' '--pending: there is none'
getwork --user race-1 --task "$task" --count 3 --json >"$scratch/answer"
run checkwork --user race-1
is "$status" 0 'a pipeline: exit 0'
like "$out" "$task Test $task" 'it names the task'
like "$out" '3 loans' 'it counts the loans'
run checkwork --user race-1 --task "$task" --json
is "$(jq -s -c '[.[].loan_id]' <<<"$out")" "$(jq -c '[.loans[].loan_id]' "$scratch/answer")" \
	'JSON: an object for each loan, in the order of getwork'
ok "$(jq '[.loans[].loan_id] | . == sort' "$scratch/answer" | grep -c true)" \
	"which is not the order of the loans' numbers"
run checkwork --user race-1
is "$(sed -n "s/^| $task [^|]*| *\([0-9]*\) .*/\1/p" <<<"$out" | jq -s -c .)" \
	"$(jq -c '[.loans[].loan_id]' "$scratch/answer")" 'the table has the same order'
run checkwork --user race-1 --task "$task" --json
is "$(jq -s -c '.[0] | [.user, .task, .lease_expires_at, .lease_expired, (.age_s < 600)]' \
	<<<"$out")" \
	"[\"race-1\",$task,null,false,true]" 'JSON: the fields of a loan'
is "$(jq -s -c '.[0] | [.lease_left_s, .note, .detail]' <<<"$out")" '[null,null,null]' \
	'JSON: no lease, no note, no details'
run checkwork --user race-1 --task "$slow"
is "$status" 1 '--task: only the loans of that task'
like "$out" "getwork --user race-1 --task $slow asks" 'no loan of that task: it tells the next step'

# Leases and notes.
sql "UPDATE work SET assigned_at = NOW(6) - INTERVAL 3 HOUR,
            lease_expires_at = NOW(6) + INTERVAL 11550 SECOND
      WHERE task_id = $task ORDER BY loan_id LIMIT 1"
sql "UPDATE work SET assigned_at = NOW(6) - INTERVAL 2 HOUR,
            lease_expires_at = NOW(6) - INTERVAL 10 MINUTE, note = 'call after five'
      WHERE task_id = $task AND lease_expires_at IS NULL ORDER BY loan_id LIMIT 1"
over=$(sql "SELECT DATE_FORMAT(lease_expires_at + INTERVAL 1 HOUR, '%H:%i') FROM work
             WHERE task_id = $task AND note IS NOT NULL")
run env TZ=XST-1 checkwork --user race-1
like "$out" '\| 3 h 0 min \| 3 h 12 min ' 'the age, and the time that is left of the lease'
like "$out" "\| ran out ([0-9-]+ )?$over \| call after five" \
	"the time when a lease ran out, in the user's zone"
like "$out" '\| no limit  ' 'a loan without a lease'
like "$out" '^1 lease has run out' 'a line tells what that means'
run checkwork --user race-1 --json
is "$(jq -s -c '[.[] | [.lease_expired, .note, (.lease_left_s | if . == null then . else
	. > 11400 and . <= 11550 end)]]' <<<"$out")" \
	'[[false,null,true],[true,"call after five",false],[false,null,null]]' 'the same in JSON'
sql "UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 850 SECOND
      WHERE task_id = $task AND note IS NOT NULL"
run checkwork --user race-1
like "$out" '^the lease of loan [0-9]+ ends in 1[0-9] min .*--task 223 --loan [0-9]+ --renew' \
	'a lease that ends soon: a line tells how to renew it'

# Columns of the task's detail_view.
sql "CREATE VIEW test_detail_$task AS
       SELECT loan_id, CONCAT('Applicant ', REPEAT('山田', 12)) AS applicant,
              123456.50 AS amount, DATE '2026-11-20' AS due FROM test_loan_$task
        UNION ALL SELECT loan_id, REPEAT('twin ', 12), 1, NULL
                    FROM test_loan_$task;
     GRANT SELECT ON test_detail_$task TO lockq_worker@lockq;
     UPDATE task SET detail_view = 'test_detail_$task' WHERE task_id = $task"
getwork --user race-1 --task "$slow" >"$scratch/slow"
run checkwork --user race-1
is "$status:$err" '0:' 'details: exit 0, no message'
like "$out" '\| lease left +\| applicant +\| +amount \| due +\| note' \
	'a column for each column of the view'
like "$out" "^Task $task - Test $task" 'a table for the task'
like "$out" "^Task $slow - Test $slow" 'and one for the other task'
is "$(grep -c 'Applicant\|twin' <<<"$out")" 3 'a loan with two rows is shown once'
like "$out" '^4 loans in 2 tasks' 'all of them are counted'
run checkwork --user race-1 --json
is "$(jq -s -c '[.[] | .detail | if . == null then . else keys_unsorted end] | unique' \
	<<<"$out")" '[null,["applicant","amount","due"]]' 'JSON: detail, null for a task without'

run checkwork --user race-1 --task "$task" --width 60
is "$status:$(($(LC_ALL=C.UTF-8 wc -L <<<"$(grep '^|' <<<"$out")") <= 60))" 0:1 \
	'--width: a table in a pipe is as narrow'
like "$err$out" 'no room for .*' 'and a line names the columns that are left out'
run checkwork --user race-1 --width 19
is "$status" 2 '--width has a least'

# A detail_view that can't be used: the pipeline is shown, and one line says why it has no details.
sql "UPDATE task SET detail_view = 'test_gone_$task' WHERE task_id = $task"
run checkwork --user race-1 --json
is "$status:$(jq -s -c '[.[].detail]' <<<"$out")" '0:[null,null,null,null]' 'no such view: exit 0'
like "$err" "^checkwork: a task's own columns are missing: task $task: detail_view \
\"test_gone_$task\"" 'no such view: it says so'
is "$(wc -l <<<"$err")" 1 'no such view: in one line'
sql "CREATE TABLE test_written_$task (n INT)"
"$top/scripts/sandbox" mysql <<EOF
delimiter //
CREATE FUNCTION test_writes_$task() RETURNS INT DETERMINISTIC MODIFIES SQL DATA
BEGIN INSERT INTO test_written_$task VALUES (1); RETURN 1; END//
delimiter ;
CREATE OR REPLACE VIEW test_detail_$task AS
  SELECT loan_id, test_writes_$task() AS written FROM test_loan_$task;
UPDATE task SET detail_view = 'test_detail_$task' WHERE task_id = $task;
EOF
run checkwork --user race-1
is "$status" 0 'a view that writes: exit 0'
like "$err" "detail_view \"test_detail_$task\" writes" 'a view that writes: it says so'
is "$(sql "SELECT COUNT(*) FROM test_written_$task")" 0 'the view has not written anything'
forget_details
run checkwork --user nobody
is "$status" 4 'an unknown user: exit 4'
run checkwork --user race-1 --task 4711
is "$status" 4 'an unknown task: exit 4'

request=$(jq -r .request_id "$scratch/answer")
uuid=$(jq -r .uuid "$scratch/answer")
run checkwork --request "$request" --json
is "$status:$(jq -r .uuid <<<"$out")" "0:$uuid" 'a request by its number'
run checkwork --request "$uuid" --json
is "$status:$(jq -r .request_id <<<"$out")" "0:$request" 'a request by its UUID'
is "$(jq -c '.loans' <<<"$out")" "$(jq -c '.loans' "$scratch/answer")" 'with its loans, in order'
is "$(jq -c '[.position, .loans_ahead, .expected_ms, .nobody_leads, .excluded]' <<<"$out")" \
	'[null,null,null,false,0]' 'a served request has no place in the line'
run checkwork --request 99999999
is "$status" 4 'no such request: exit 4'
like "$err" 'request "99999999" is unknown' 'no such request: it says so'

# A request that is pending while nobody leads, as a leader's crash leaves it.
sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)
     SELECT UUID(), user_id, 'test', $slow, 2, 2 FROM app_user WHERE name = 'race-2'"
request=$(sql "SELECT MAX(request_id) FROM work_requested WHERE task_id = $slow")
run checkwork --request "$request"
is "$status" 3 'pending: exit 3'
like "$out$err" "nobody leads.*getwork --user race-2 --task $slow" \
	'nobody leads: it tells the next step'
like "$out" "^1st in line - the task's query usually takes" 'first in line'
run checkwork --user race-2
is "$status" 1 'no loans, but a pending request: exit 1'
like "$out" "^race-2's pipeline has no loan yet" 'it says that there are no loans yet'
like "$out" "^request $request for 2 loans of task $slow is pending since [0-9: -]+ \\([0-9]+ \
s\\): nobody leads: getwork --user race-2 --task $slow joins it and leads" \
	'and has a line for the request'
is "$(wc -l <<<"$out")" 2 'in two lines'
run checkwork --user race-2 --json
is "$status:$out" 1: 'in JSON there is no loan, so nothing'
run checkwork --user race-2 --pending --json
is "$status:$(jq -c '[.user, .task, .request_id, .asked, (.created_at | length), (.age_s < 600),
	.unattended, .nobody_leads, .leader, (.uuid | length)]' <<<"$out")" \
	"0:[\"race-2\",$slow,$request,2,27,true,false,true,null,36]" '--pending: an object in JSON'
run checkwork --user race-2 --pending --task "$task"
is "$status:$out" "1:race-2 has no pending request for task $task" \
	'--pending --task: only that task'
run checkwork --user nobody --pending
is "$status" 4 '--pending: an unknown user'
sql "UPDATE work_requested SET seen_at = NOW(6) - INTERVAL 1 DAY WHERE request_id = $request"
run checkwork --user race-2 --pending
like "$out" "it will expire, since nobody looks after it: getwork --user race-2 --task $slow" \
	'nobody looks after it: it says so'
is "$(sql "SELECT seen_at < NOW(6) - INTERVAL 1 HOUR FROM work_requested
	WHERE request_id = $request")" 1 'this look does not keep it from expiring'
sql "UPDATE work_requested SET seen_at = NOW(6) WHERE request_id = $request"
getwork --user race-2 --task "$task" --count 1 >/dev/null
run checkwork --user race-2
is "$status" 0 'loans and a pending request: exit 0'
like "$(tail -n 2 <<<"$out" | tr '\n' ' ')" \
	"^1 loan request $request for 2 loans of task $slow is pending" \
	'the line stands after the table'
run checkwork --user race-2 --json
is "$(jq -c '[.task, .pending_request]' <<<"$out")" "[$task,null]" \
	'JSON: the pending request is for another task'
sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)
     SELECT UUID(), user_id, 'test', $task, 1, 1 FROM app_user WHERE name = 'race-2'"
run checkwork --user race-2 --json
is "$(jq -c '[.task, .pending_request]' <<<"$out")" "[$task,$((request + 2))]" \
	'JSON: a pending request for the same task'
run checkwork --user race-2 --pending --json
is "$(jq -s -c 'map(.task)' <<<"$out")" "[$task,$slow]" '--pending: by task'

# Which tasks there are.
sql "UPDATE task SET manager = 'marcus', max_pipeline = 9 WHERE task_id = $task;
     UPDATE task SET enabled = FALSE WHERE task_id = $slow"
getwork --user race-2 --task "$task" --count 2 >/dev/null
run checkwork --tasks --user race-2 --json
is "$status:$(jq -s 'length' <<<"$out")" "0:$(sql 'SELECT COUNT(*) FROM task')" \
	'--tasks: an object for each task'
is "$(jq -c "select(.task == $task)" <<<"$out")" "{\"user\":\"race-2\",\"task\":$task,\
\"task_name\":\"Test $task\",\"enabled\":true,\"manager\":\"marcus\",\"max_count\":5,\
\"max_pipeline\":9,\"held\":2,\"pending\":0,\"paused\":null,\"urgent\":0}" \
	'--tasks: how the user stands'
is "$(jq -c "select(.task == $slow) | [.enabled, .manager, .max_pipeline, .held, .pending]" \
	<<<"$out")" '[false,null,null,0,1]' '--tasks: a task that is not enabled, a pending request'
run checkwork --tasks --user race-2
like "$out" "^\\| +$task \\| Test $task .*\\| yes +\\| marcus +\\| +5 \\| +2 \\| +9 \\| +0 \\|" \
	'--tasks: a table'
like "$out" "^\\| +$slow \\| Test $slow .*\\| no +\\| - +\\| +5 \\| +0 \\| no limit \\| +1 \\|" \
	'--tasks: no limit'
like "$out" '^[0-9]+ tasks$' '--tasks: how many there are'
sql "UPDATE work SET lease_expires_at = NOW(6) WHERE task_id = $task AND user_id =
	(SELECT user_id FROM app_user WHERE name = 'race-2') LIMIT 1"
run checkwork --tasks --user race-2 --json
is "$(jq -c "select(.task == $task) | .held" <<<"$out")" 1 '--tasks: a lease that ran out'
run checkwork --tasks --user nobody
is "$status" 4 '--tasks: an unknown user'
sql "UPDATE task SET enabled = TRUE WHERE task_id = $slow"

sql "UPDATE work_requested SET outcome = 'cancelled' WHERE request_id = $((request + 2))"
sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)
     SELECT UUID(), user_id, 'test', $slow, 1, 1 FROM app_user WHERE name = 'race-4'"
second=$(sql "SELECT MAX(request_id) FROM work_requested WHERE task_id = $slow")
run checkwork --request "$second" --json
is "$status:$(jq -c '[.position, .loans_ahead, (.expected_ms | type), .nobody_leads]' <<<"$out")" \
	'3:[2,2,"number",true]' 'the place in the line in JSON'
sql "UPDATE work_requested SET outcome = 'empty', excluded = 3 WHERE request_id = $second"
run checkwork --request "$second"
is "$status:$out" "1:request $second: nothing for race-4 in task $slow: 3 loans are left, \
but they are for other users" 'loans are left, but not for this user: it says so'
run checkwork --request "$second" --json
is "$(jq -c '[.status, .excluded]' <<<"$out")" '["empty",3]' 'the same in JSON'
steer "$slow" gated
shut_gate "$slow"
start leader getwork --user race-3 --task "$slow" --json
await_leader "$slow" race-3
run checkwork --request "$request"
like "$out$err" "race-3" 'somebody leads: it names the leader'
like "$out" '^1st in line - expected (in about|at any moment)' \
	'somebody leads: it tells how long that may take'
run checkwork --user race-2 --pending
like "$out" '\): race-3 leads$' 'somebody leads: the line of the request names the leader'
start waits checkwork --request "$request" --wait 1000 --json
await "SELECT $(follows waits)" 1
open_gate "$slow"
end waits
is "$status:$(jq -r .status <<<"$out")" 0:served '--wait waits for the answer'
end leader

# The history of a loan.
run checkwork --loan 4711 --task "$task"
is "$status:$out" "1:task $task has no record of loan 4711: it was never \
assigned, or the records were purged" 'an unknown loan: exit 1'
run checkwork --loan 4711 --task "$task" --json
is "$status:$out" '1:' 'an unknown loan in JSON: no object'
run checkwork --loan 1 --task 4711
is "$status" 4 'the history in an unknown task: exit 4'
loan=$(jq -r '.loans[0].loan_id' "$scratch/answer")
token=$(jq -r '.loans[0].token' "$scratch/answer")
run checkwork --loan "$loan" --task "$task"
like "$out" "^Loan $loan - task $task" 'history: its heading'
like "$out" "\\| assigned \\| race-1 \\| no limit \\| +$token \\|" 'history: the loan and its user'
like "$out" '^1 event$' 'history: the number of events'
is "$(grep -c 'account\|note\|purged' <<<"$out")" 0 'history: no column that is empty'
sql "INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
                           available_at, excluded_until, note, at)
     SELECT task_id, loan_id, 'returned', user_id, 'else@where', token, 2, request_id,
            '2026-10-25 00:30:00', '2026-10-25 01:30:00', 'can\\'t\nread it',
            '2026-10-25 00:15:00'
       FROM work_log WHERE task_id = $task AND loan_id = $loan"
run env TZ=CET-1CEST,M3.5.0,M10.5.0/3 checkwork --loan "$loan" --task "$task"
like "$out" '2026-10-25 02:15:00 CEST \| returned \| race-1 \| 2026-10-25 02:30 CEST \|' \
	"history: in the user's zone, with its name: in autumn an hour comes twice"
like "$out" '\| 2026-10-25 02:30 CET ' \
	'history: until when the loan is not offered to the same user'
like "$out" 'else@where +\| can.t\\nread it' 'history: account and note, escaped'
run env TZ=CET-1CEST,M3.5.0,M10.5.0/3 checkwork --loan "$loan" --task "$task" --json
is "$(jq -s -c '.[1] | [.task, .loan_id, .event, .at, .user, .account, .token, .version,
	.available_at, .lease_expires_at, .excluded_until]' <<<"$out")" \
	"[$task,$loan,\"returned\",\"2026-10-25T00:15:00.000000Z\",\"race-1\",\"else@where\",\
$token,2,\"2026-10-25T00:30:00.000000Z\",null,\"2026-10-25T01:30:00.000000Z\"]" \
	'history in JSON: UTC'
is "$(jq -s -c 'map(.note)' <<<"$out")" '[null,"can'"'"'t\nread it"]' 'history in JSON: notes'
sql "INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
                           at)
     SELECT $slow, loan_id, 'completed', user_id, account, 8, 1, 1, NOW(6)
       FROM work_log WHERE task_id = $task AND loan_id = $loan AND version = 1"
run checkwork --loan "$loan"
is "$status:$(head -n 1 <<<"$out"):$(grep -c purged <<<"$out")" "0:Loan $loan:0" \
	'history without a task: the heading has none'
like "$(tr '\n' ' ' <<<"$out")" "\\| +$task \\| assigned .*\\| +$task \\| returned \
.*\\| +$slow \\| completed .*3 events" \
	'history without a task: the events of all tasks'
run checkwork --loan "$loan" --json
is "$(jq -s -c 'map([.task, .event])' <<<"$out")" \
	"[[$task,\"assigned\"],[$task,\"returned\"],[$slow,\"completed\"]]" \
	'the same in JSON: each with its task'
run env LOCKQ_TASK="$slow" checkwork --loan "$loan"
like "$out" "^Loan $loan - task $slow" 'LOCKQ_TASK names the task'
run checkwork --loan 4711
is "$status:$out" '1:no task has a record of loan 4711: it was never assigned, or the '\
'records were purged' 'a loan that no task knows: exit 1'
sql "DELETE FROM work_log WHERE task_id = $slow AND loan_id = $loan AND token = 8"
sql "DELETE FROM work_log WHERE task_id = $task AND loan_id = $loan AND version = 1"
run checkwork --loan "$loan" --task "$task"
like "$out" 'their rows of the log were purged' 'history: it says that older rows were purged'
run checkwork --user race-1 --socket "$scratch/no.sock"
is "$status" 5 'no server: exit 5'
# --- again and again ------------------------------------------------------------------------------

# pictures N: whether --watch has shown so many.
pictures() {
	[ "$(grep -c 'Ctrl-C ends' "$scratch/watched")" -ge "$1" ]
}
checkwork --user race-1 --watch 1 >"$scratch/watched" 2>"$scratch/watched.err" &
watching=$!
wait_for pictures 2
first=$(checkwork --user race-1 | head -n 1)
ok "$([ "$(grep -cF -- "$first" "$scratch/watched")" -ge 2 ]; echo $?)" \
	'--watch shows the same again'
before=$(grep -c 'Ctrl-C ends' "$scratch/watched")
sql "KILL $(sql "SELECT id FROM information_schema.processlist WHERE user = 'lockq_app'
	ORDER BY id DESC LIMIT 1")"
wait_for pictures $((before + 2))
ok $? 'a lost connection does not end it'
kill -INT "$watching"
wait "$watching"
is $? 130 'Ctrl-C ends it'
run checkwork --user race-1 --watch --json
is "$status" 2 '--watch and --json: a usage error'
run timeout -s INT 3 script --quiet --return \
	--command 'TERM=xterm checkwork --user race-1 --watch' /dev/null </dev/null
like "$(tr '\n' ' ' <<<"$out")" $'\x1b\\[\\?1049h.*\x1b\\[H\x1b\\[2J.*q quit' \
	'on a terminal each picture takes the place of the one before'

finish
