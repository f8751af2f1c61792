#!/usr/bin/env bash
# The ways to wait, as users see them: blocking, polling, not at all, for a limited time, with
# checkwork, and two shells of one user with one request.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../support/steered.sh"

task=231
make_steered "$task" 6000
make_users 12
open_gatekeeper
# shellcheck disable=SC2154 # status, out, err and scratch are set by what is sourced
trap 'end_all; forget_steered "$task"; forget_users
	rm -rf "$scratch"' EXIT
leader_runs="SELECT COUNT(*) FROM leader_run WHERE task_id = $task"

ask() {
	getwork --task "$task" "$@"
}
loans_in() {
	jq -c '[.loans[].loan_id] | sort' <<<"$1"
}

run ask --user race-1 --no-wait --json
is "$status:$(jq -c '[.status, .led]' <<<"$out")" '0:["served",true]' \
	'--no-wait where nobody leads: it leads'

# --- one leader, and everybody else in another way ----------------------------------------------

# The leader's own limit is shorter than its query.
steer "$task" gated
shut_gate "$task"
started=$SECONDS
start leader getwork --task "$task" --user race-1 --timeout 1
await_leader "$task" race-1
start maker getwork --task "$task" --user race-2 --count 2 --json
await_request race-2 "$task"
request=$(last_request race-2 "$task")
start joiner getwork --task "$task" --user race-2 --count 4
start joiner_json getwork --task "$task" --user race-2 --count 4 --json
start poller getwork --task "$task" --user race-3 --poll 1,2 --json
start given_up_poller getwork --task "$task" --user race-4 --poll 1 --timeout 3
start patient checkwork --request "$request" --wait 300 --json

run ask --user race-5 --no-wait
no_wait=$(last_request race-5 "$task")
is "$status:$out:$err" \
	"3:request $no_wait is pending, race-1 leads: see checkwork --request $no_wait:" \
	'--no-wait: exit 3, and the number of the request on standard output'
run ask --user race-6 --no-wait --json
no_wait_uuid=$(jq -r .uuid <<<"$out")
is "$status:$(jq -c '[.status, .request_id, .leader, .exit]' <<<"$out"):$err" \
	"3:[\"pending\",$(last_request race-6 "$task"),\"race-1\",3]:" '--no-wait in JSON'
run ask --user race-7 --no-wait --timeout 0
is "$status:${err%%:*combined*}" '2:getwork' '--no-wait and --timeout can not be combined'
run ask --user race-5 --no-wait
is "$status:$out" "3:joined your earlier request $no_wait for 1 loan
request $no_wait is pending, race-1 leads: see checkwork --request $no_wait" \
	'--no-wait again: it joins'

run ask --user race-8 --timeout 1.5
given_up=$(last_request race-8 "$task")
is "$status:$out:$err" \
	"3::getwork: gave up after 1.5 s: request $given_up is cancelled: try again" \
	'--timeout: exit 3, and the request is cancelled'
run ask --user race-9 --timeout 0 --json
is "$status:$(jq -c '[.status, .exit, .loans]' <<<"$out")" '3:["cancelled",3,[]]' \
	'--timeout 0 in JSON: cancelled'
is "$(jq .request_id <<<"$out")" "$(last_request race-9 "$task")" 'and which request that was'
run ask --user race-2 --timeout 0.5
is "$status" 3 'the timeout of one who joined: exit 3'
is "$err" "getwork: gave up after 500 ms: request $request stays pending, since another\
 process made it: see checkwork --request $request" 'it says what is left, and where to look'
is "$(request_is "$request")" 'pending 2 0 0' 'and so it does'
end given_up_poller
is "$status:$err" "3:getwork: gave up after 3 s: request $(last_request race-4 "$task") is\
 cancelled: try again" '--poll with --timeout: gives up and cancels'

run checkwork --request "$request" --wait 1
is "$status:${out%%$'\n'*}" "3:request $request for race-2, task $task: pending, race-1 leads" \
	'checkwork --wait: after that time exit 3, pending, and who leads'
run checkwork --request "$no_wait_uuid"
like "$status:$out" '^3:request [0-9]+ for race-6, .*: pending, race-1 leads$' \
	'checkwork finds a request by its UUID'

await "SELECT $(connections maker)" 1
ok $? 'who waits blocking has one connection'
await "SELECT $(connections poller)" 0
ok $? 'who polls has none between the looks'
is "$(sql "SELECT $(connections leader)")" 2 'who leads has two'
ok $((SECONDS - started >= 2 ? 0 : 1)) 'the leader is over its own time limit'
open_gate "$task"

end leader
is "$status" 0 '--timeout does not end the query of one who leads'
end maker
made=$out
is "$status:$(jq -c '[.status, .asked, .assigned, .led, .joined]' <<<"$out")" \
	'0:["served",2,2,false,false]' 'blocking: served by the other query'
end joiner
is "$status" 0 'joined: exit 0'
is "$(head -n 1 <<<"$out")" "joined your earlier request $request for 2 loans" \
	'joined: it says which request, and for how many'
like "$out" '^2 of 2 loans for race-2 ' 'joined: the first one'\''s count holds'
end joiner_json
is "$status:$(jq -c '[.request_id, .asked, .joined]' <<<"$out")" "0:[$request,2,true]" \
	'joined in JSON'
is "$(loans_in "$out")" "$(loans_in "$made")" 'joined: both are told the same loans'
is "$(sql "SELECT COUNT(*) FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id
            WHERE u.name = 'race-2' AND r.task_id = $task")" 1 'and there is one request'
end poller
is "$status:$(jq -c '[.status, .led]' <<<"$out")" '0:["served",false]' \
	'--poll: served by the other query'
end patient
is "$status:$(loans_in "$out")" "0:$(loans_in "$made")" 'checkwork --wait: the loans'
ok "$(jq '.waited_ms < 100000' <<<"$out" | grep -c false)" 'as soon as there are any'
run checkwork --request "$no_wait"
is "$status" 0 'who did not wait was served by the leader all the same'
like "$out" '^1 of 1 loan for race-5 ' 'checkwork shows it'
run checkwork --request "$no_wait_uuid" --json
is "$status:$(jq -c '[.status, .user, (.loans | length)]' <<<"$out")" '0:["served","race-6",1]' \
	'by UUID, too'
run checkwork --request "$given_up"
is "$status:$out" "3:request $given_up for race-8, task $task: cancelled" \
	'checkwork says that a request was cancelled'

# --- a leader that dies; polling ----------------------------------------------------------------

steer "$task" heavy
start leader getwork --task "$task" --user race-1
await_leader "$task" race-1
start poller getwork --task "$task" --user race-3 --poll 1,2 --json
await_request race-3 "$task"
start gaps getwork --task "$task" --user race-4 --poll 1,2 --timeout 8
await_request race-4 "$task"
request=$(last_request race-4 "$task")
seen="SELECT TIMESTAMPDIFF(MICROSECOND, created_at, seen_at) DIV 1000
        FROM work_requested WHERE request_id = $request"
# A poller's request is seen to the end of its next gap.
while kill -0 "${process[gaps]}" 2>/dev/null; do
	sql "$seen"
	sleep 0.2
done | uniq >"$scratch/seen"
end gaps
is "$status" 3 '--poll 1,2 --timeout 8: gives up'
# After the first look its request is seen for one second, after each other one for two: each time
# at least two seconds later than the time before.
is "$(awk '$1 < 500 { next } before && $1 - before < 1900 { early++ } { before = $1; looks++ }
	END { print (looks >= 3), early + 0 }' "$scratch/seen")" '1 0' \
	'the gaps are as ordered, and the last one repeats'
await "SELECT $(connections poller)" 0
runs=$(sql "$leader_runs")
steer "$task" light
end_hard leader
end poller
is "$status:$(jq -c '[.status, .led]' <<<"$out")" '0:["served",true]' \
	'--poll: the leader is killed, and at its next look the one who polls leads'
is "$(sql "$leader_runs")" $((runs + 1)) 'the query ran once'
await "SELECT $(queries "$task")" 0
ok $? 'the dead leader'\''s query has ended'
is "$(sql "SELECT COUNT(*) FROM work_requested
            WHERE task_id = $task AND outcome = 'cancelled' AND assigned > 0")" 0 \
	'nothing arrived for those who gave up, not from the next leader either'

# --- requests that nobody looks after -----------------------------------------------------------

ttl=4
sql "UPDATE task SET request_ttl = $ttl WHERE task_id = $task"
steer "$task" heavy
start leader getwork --task "$task" --user race-1
await_leader "$task" race-1
run ask --user race-5 --no-wait
left=$(last_request race-5 "$task")
run ask --user race-6 --no-wait
looked_at=$(last_request race-6 "$task")
run ask --user race-7 --no-wait
waited_for=$(last_request race-7 "$task")
start poller getwork --task "$task" --user race-3 --poll 600 --json
await_request race-3 "$task"
await "SELECT $(connections poller)" 0
polled=$(last_request race-3 "$task")
start patient checkwork --request "$waited_for" --wait 300
end_hard leader
await_holder "$task" -
steer "$task" light
runs=$(sql "$leader_runs")
run checkwork --request "$looked_at" --wait 1
is "$status:${out%%$'\n'*}" "3:request $looked_at for race-6, task $task: pending, nobody leads: \
run getwork --user race-6 --task $task to be served" 'checkwork: nobody leads, and what to do'
await "SELECT MAX(seen_at) < NOW(6) - INTERVAL $ttl SECOND FROM work_requested
        WHERE request_id IN ($left, $looked_at)" 1
is "$(sql "SELECT seen_at > NOW(6) - INTERVAL $ttl SECOND FROM work_requested
            WHERE request_id = $waited_for")" 1 'checkwork --wait keeps a request alive'
is "$(sql "$leader_runs")" "$runs" 'checkwork --wait does not lead'
is "$(request_is "$left")" 'pending 1 0 0' \
	'nobody looks after a request for longer than request_ttl: pending as long as nobody leads'
run checkwork --request "$looked_at" --json
is "$status:$(jq -c '[.status, .leader]' <<<"$out")" '3:["pending",null]' \
	'nobody is told expired by the clock alone'
run ask --user race-8
is "$status" 0 'the next one leads'
is "$(request_is "$left")" 'expired 1 0 0' 'and lets the request expire that nobody looks after'
is "$(request_is "$looked_at")" 'served 1 1 1' 'not the one that was looked at'
end patient
is "$status" 0 'nor the one that checkwork --wait waits for'
is "$(request_is "$polled")" 'served 1 1 1' \
	'nor one that is polled in a gap longer than request_ttl'
kill -INT "${process[poller]}"
end poller
is "$status:$(jq -c '[.status, .request_id, (.loans | length)]' <<<"$out")" \
	"0:[\"served\",$polled,1]" 'who is stopped in the gap, but was served, gets the loans'
run checkwork --request "$left"
is "$status:$out" "3:request $left for race-5, task $task: expired" 'checkwork says expired'
run ask --user race-5 --json
is "$status:$(jq -c "[.joined, .request_id > $left]" <<<"$out")" '0:[false,true]' \
	'who asks again after that makes a new request'
sql "UPDATE task SET request_ttl = 600 WHERE task_id = $task"

# --- the one who made it leaves, the one who joined stays ---------------------------------------

steer "$task" heavy
start leader getwork --task "$task" --user race-1
await_leader "$task" race-1
start maker getwork --task "$task" --user race-2
start timed_maker getwork --task "$task" --user race-3 --timeout 6
await_request race-2 "$task"
await_request race-3 "$task"
request=$(last_request race-2 "$task")
timed=$(last_request race-3 "$task")
start joiner getwork --task "$task" --user race-2 --count 3 --json
start polling_joiner getwork --task "$task" --user race-3 --count 2 --poll 1 --json
await "SELECT COUNT(*) FROM work_requested
        WHERE request_id IN ($request, $timed) AND seen_at > created_at" 2
kill -INT "${process[maker]}"
end maker
is "$status:$(request_is "$request")" '130:cancelled 1 0 0' \
	'the one who made it presses Ctrl-C: cancelled'
end timed_maker
is "$status:$(request_is "$timed")" '3:cancelled 1 0 0' \
	'the one who made it gives up: cancelled'
await_request race-2 "$task" "$request"
ok $? 'the one who joined makes a request of its own'
await_request race-3 "$task" "$timed"
ok $? 'also one who polls'
steer "$task" light
end_hard leader
end joiner
is "$status:$(jq -c '[.status, .asked, (.loans | length)]' <<<"$out")" '0:["served",3,3]' \
	'and is served in the end, with its own count'
is "$(jq ".request_id > $request" <<<"$out")" true 'by that request'
end polling_joiner
is "$status:$(jq -c '[.status, .asked, (.loans | length)]' <<<"$out")" '0:["served",2,2]' \
	'also the one who polls'
is "$(request_is "$request") $(request_is "$timed")" 'cancelled 1 0 0 cancelled 1 0 0' \
	'nothing was given to the cancelled ones'
is "$(given_twice "$task")" 0 'no loan was given twice'
finish
