#!/usr/bin/env bash
# "Why is tracy waiting?" getwork, checkwork --pending, lockqstat --task and lockqstat --health give
# the same answer, whatever it is.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=271
make_steered "$task" 50
make_users 4
open_gatekeeper
# shellcheck disable=SC2154 # the sourced files set status, out, err and scratch
trap 'end_all; forget_steered "$task"; forget_users; rm -rf "$scratch"' EXIT

# told SITUATION GETWORK PENDING STAT HEALTH: patterns of what the four say; race-1 asks, and does
# not wait. An empty pattern is for a place that has nothing to tell.
told() {
	local situation=$1
	shift
	run getwork --user race-1 --task "$task" --no-wait --no-refill
	like "$out$err" "$1" "$situation: getwork"
	run checkwork --user race-1 --pending
	like "$out$err" "$2" "$situation: checkwork --pending"
	like "$(COLUMNS=300 lockqstat --task "$task" 2>&1)" "$3" "$situation: lockqstat --task"
	like "$(lockqstat --task "$task" --health 2>&1)" "$4" "$situation: lockqstat --health"
	getwork --user race-1 --task "$task" --cancel >"$scratch/cancelled" 2>&1
	sql 'DELETE FROM task_trouble'
}
nothing="^race-1 has no pending request"
well='^ok: 1 task'

steer "$task" gated
shut_gate "$task"
start leader getwork --user race-2 --task "$task"
await_leader "$task" race-2
told 'somebody leads' '^request [0-9]+ is pending, race-2 leads' ': race-2 leads$' \
	'^. leader +. race-2, for ' "$well"
open_gate "$task"
end leader
steer "$task" light

gatekeeper_says "BEGIN; SELECT 1 INTO @x FROM lockq.task_lock WHERE task_id = $task FOR UPDATE;"
holds="the lock of task $task is held by .root@localhost., connection [0-9]+, .*: KILL [0-9]+ \
ends it"
told 'a stranger has the lock' "^getwork: $holds: request [0-9]+ stays pending" ": $holds\$" \
	"^. leader +. nobody: the lock of task $task is held by" "^critical: task $task: $holds"
gatekeeper_says 'ROLLBACK;'

sql "XA START 'test'; UPDATE task_lock SET since = NOW(6) WHERE task_id = $task; XA END 'test';
	XA PREPARE 'test'"
holds="the lock of task $task is held by no session, so by a prepared XA transaction: XA RECOVER"
told 'an XA transaction has it' "^getwork: $holds.*stays pending" ": $holds" \
	"^. leader +. nobody: the lock of task $task is held by no session" \
	"^critical: task $task: $holds"
sql "XA ROLLBACK 'test'"

sql "UPDATE task SET paused = 'stocktaking', paused_by = 'marcus' WHERE task_id = $task"
paused="task $task is paused by marcus: stocktaking"
told 'the task is paused' "^getwork: $paused: request [0-9]+ stays pending" ": $paused\$" \
	'^. leader +. nobody: the task is paused: stocktaking' "$well"
sql "UPDATE task SET paused = NULL, paused_by = NULL, enabled = FALSE WHERE task_id = $task"
told 'the task is disabled' 'the task is disabled' "$nothing" \
	'^. leader +. nobody: the task is disabled' "$well"
sql "UPDATE task SET enabled = TRUE WHERE task_id = $task"

# A request that was left, and nobody leads: who asks next serves it, so getwork has loans.
sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested, created_at)
     SELECT UUID(), user_id, 'test', $task, 1, 1, NOW(6) - INTERVAL 40 SECOND
       FROM app_user WHERE name = 'race-3'"
like "$(checkwork --user race-3 --pending)" ': nobody leads: getwork --user race-3' \
	'nobody leads: checkwork --pending'
like "$(lockqstat --task "$task")" '^. leader +. nobody +.$' 'nobody leads: lockqstat --task'
like "$(lockqstat --task "$task" --health)" \
	"^critical: task $task: 1 request waits, .* nobody leads: the next getwork" \
	'nobody leads: lockqstat --health'
run getwork --user race-1 --task "$task" --json
is "$status:$(sql "SELECT outcome FROM work_requested WHERE task_id = $task ORDER BY request_id DESC
	LIMIT 1, 1")" 0:served 'and it is true: getwork serves it'

sql "UPDATE task SET candidates_view = 'test_no_such' WHERE task_id = $task"
told 'the query fails' "^getwork: task $task's query failed: view .test_no_such" "$nothing" \
	'test_no_such' "^warning: task $task: the last leader failed: view .test_no_such"
sql "UPDATE task SET candidates_view = 'test_candidates_$task', cache_ttl = 600
      WHERE task_id = $task"

# A list that is due is no reason to wait: it serves until it is filled anew.
run refill --task "$task"
sql "UPDATE kept_list SET as_of = as_of - INTERVAL 590 SECOND WHERE task_id = $task"
told 'the list is due' '^1 of 1 loan for race-1 .* list' "$nothing" \
	'^. list +.*to be filled anew' "^ok|^warning: task $task: the last leader failed"

# A clock that was set back by an hour.
sql "UPDATE task SET cache_ttl = 0 WHERE task_id = $task;
     UPDATE work_log SET at = at + INTERVAL 1 HOUR WHERE task_id = $task"
told 'the clock was set back' '^1 of 1 loan for race-1' "$nothing" '^. leader +. nobody' \
	"^critical: the newest change or list is .* ahead of the server's clock"

sql "UPDATE work_log SET at = at - INTERVAL 1 HOUR WHERE task_id = $task"
connections=$(sql 'SELECT @@GLOBAL.max_connections')
gatekeeper_says 'SET GLOBAL max_connections = 1;'
full='Too many connections'
run getwork --user race-1 --task "$task" --timeout 0 --connect-timeout 0
like "$status:$err" "^5:getwork: .*$full" 'the server is full: getwork'
run checkwork --user race-1 --pending --connect-timeout 0
like "$status:$err" "^5:checkwork: .*$full" 'the server is full: checkwork --pending'
run lockqstat --task "$task" --connect-timeout 0
like "$status:$err" "^5:lockqstat: .*$full" 'the server is full: lockqstat --task'
run lockqstat --task "$task" --health --connect-timeout 0
like "$status:$out$err" "^3:.*$full" 'the server is full: lockqstat --health'
gatekeeper_says "SET GLOBAL max_connections = $connections;"
finish
