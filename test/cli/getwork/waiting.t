#!/usr/bin/env bash
# The ways to wait, as users see them: blocking, polling, not at all, for a limited time, with
# checkwork, and in two shells of one user that share a request.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=231
make_steered "$task" 6000
make_users 12
open_gatekeeper
# shellcheck disable=SC2154 # the sourced files set status, out, err and scratch
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

# --- one leads, the others wait, each in another way --------------------------------------------

# The leader's own limit is shorter than its query, so another process leads on.
steer "$task" gated
shut_gate "$task"
runs=$(sql "$leader_runs")
start leader getwork --task "$task" --user race-1 --timeout 1
await_leader "$task" race-1
start maker getwork --task "$task" --user race-2 --count 2 --json
await_request race-2 "$task"
request=$(last_request race-2 "$task")
await "SELECT $(follows maker)" 1
start joiner getwork --task "$task" --user race-2 --count 4
start joiner_json getwork --task "$task" --user race-2 --count 4 --json
start poller getwork --task "$task" --user race-3 --poll 1,2 --json
start given_up_poller getwork --task "$task" --user race-4 --poll 1 --timeout 3
start last_look getwork --task "$task" --user race-10 --poll 1 --tries 2
start patient checkwork --request "$request" --wait 3000 --json

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
	'--no-wait again: it joins the request'

run ask --user race-8 --timeout 1.5
given_up=$(last_request race-8 "$task")
is "$status:$out:$err" \
	"3::getwork: gave up after 1.5 s: request $given_up is cancelled: try again" \
	'--timeout: exit 3, and the request is cancelled'
run ask --user race-9 --timeout 0 --json
is "$status:$(jq -c '[.status, .exit, .loans]' <<<"$out")" '3:["cancelled",3,[]]' \
	'--timeout 0 in JSON: cancelled'
is "$(jq .request_id <<<"$out")" "$(last_request race-9 "$task")" 'JSON names the request'
run ask --user race-2 --timeout 0.5
is "$status" 3 '--timeout of a getwork that joined: exit 3'
is "$err" "getwork: gave up after 500 ms: request $request stays pending, since another\
 process made it: see checkwork --request $request" 'the line says so, and where to look'
is "$(request_is "$request")" 'pending 2 0 0' 'the request does stay pending'
end given_up_poller
is "$status:$err" "3:getwork: gave up after 3 s: request $(last_request race-4 "$task") is\
 cancelled: try again" '--poll with --timeout: gives up and cancels'
end last_look
is "$status:$err" "3:getwork: gave up after 2 looks: request $(last_request race-10 "$task") is\
 cancelled: try again" '--poll with --tries: gives up after the last look, and cancels'

run checkwork --request "$request" --wait 1
is "$status:${out%%$'\n'*}" "3:request $request for race-2, task $task: pending, race-1 leads" \
	'checkwork --wait: after that time exit 3; it names the leader'
run checkwork --request "$no_wait_uuid"
like "$status:$out" '^3:request [0-9]+ for race-6, .*: pending, race-1 leads$' \
	'checkwork finds a request by its UUID'

await "SELECT $(connections maker)" 1
ok $? 'a getwork that waits blocking has one connection'
await_request race-3 "$task"
await "SELECT $(connections poller)" 0
ok $? 'a getwork that polls has none between its looks'
end leader
is "$status:$out:$err" "3::getwork: gave up after 1 s: request $(last_request race-1 "$task") is\
 cancelled: try again" '--timeout ends a leader, too, while its query still runs'
is "$(sql "SELECT $(connections leader)")" 2 'the process that leads on has its two connections'
await "SELECT $(follows joiner) + $(follows joiner_json) + $(follows patient)" 3
ok $? 'those who joined wait, and checkwork --wait does'
open_gate "$task"

end maker
made=$out
is "$status:$(jq -c '[.status, .asked, .assigned, .led, .joined]' <<<"$out")" \
	'0:["served",2,2,false,false]' 'blocking: the leader served it'
is "$(sql "$leader_runs")" $((runs + 1)) 'by the query that had begun: it ran once'
end joiner
is "$status" 0 'joined: exit 0'
is "$(head -n 1 <<<"$out")" "joined your earlier request $request for 2 loans" \
	'joined: it names the request, and its count'
like "$out" '^2 of 2 loans for race-2 ' 'joined: the count of the first getwork holds'
end joiner_json
is "$status:$(jq -c '[.request_id, .asked, .joined]' <<<"$out")" "0:[$request,2,true]" \
	'joined in JSON'
is "$(loans_in "$out")" "$(loans_in "$made")" 'joined: both are told the same loans'
is "$(sql "SELECT COUNT(*) FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id
            WHERE u.name = 'race-2' AND r.task_id = $task")" 1 'and there is one request'
end poller
is "$status:$(jq -c '[.status, .led]' <<<"$out")" '0:["served",false]' \
	'--poll: the leader served it'
end patient
is "$status:$(loans_in "$out")" "0:$(loans_in "$made")" \
	'checkwork --wait ends with the loans, as soon as there are any'
run checkwork --request "$no_wait"
is "$status" 0 'the leader also served a request that nobody waits for'
like "$out" '^1 of 1 loan for race-5 ' 'checkwork shows it'
run checkwork --request "$no_wait_uuid" --json
is "$status:$(jq -c '[.status, .user, (.loans | length)]' <<<"$out")" '0:["served","race-6",1]' \
	'and shows it by its UUID'
run checkwork --request "$given_up"
is "$status:$out" "3:request $given_up for race-8, task $task: cancelled" \
	'checkwork says that a request was cancelled'

# --- a leader whose time is over ----------------------------------------------------------------

# served_by_it NAME: another user asks, and is served by the query that has begun.
served_by_it() {
	start other getwork --task "$task" --user race-11 --json
	await_request race-11 "$task"
	open_gate "$task"
	end other
	is "$status:$(jq -c '[.led, .leader]' <<<"$out")" '0:[false,"race-1"]' \
		"$1: the process that is left serves others"
	await_holder "$task" -
}
shut_gate "$task"
run ask --user race-1 --no-wait
request=$(last_request race-1 "$task")
is "$status:$out" "3:request $request is pending, race-1 leads: see checkwork --request $request" \
	'--no-wait ends although it leads'
served_by_it --no-wait
is "$(request_is "$request")" 'served 1 1 1' 'and the request that it has left'

shut_gate "$task"
run ask --user race-1 --timeout 0 --ssl-mode REQUIRED
is "$status" 3 '--timeout 0 over TLS ends although it leads'
served_by_it 'over TLS'

loan=$(sql "SELECT MIN(loan_id) FROM work AS w JOIN app_user AS u ON u.user_id = w.user_id
	     WHERE u.name = 'race-1' AND w.task_id = $task AND w.state = 'assigned'")
shut_gate "$task"
run ask --user race-1 --complete "$loan" --timeout 0
is "$status:$(sql "SELECT state FROM work WHERE task_id = $task AND loan_id = $loan")" 3:completed \
	'--complete with --timeout 0: the loan is completed, and the call ends'
served_by_it --complete

# The process that leads on must not run the command.
shut_gate "$task"
run runwork --task "$task" --user race-1 --timeout 0 -- touch "$scratch/ran"
is "$status" 3 'runwork --timeout 0 ends although it leads'
served_by_it runwork
ok "$([ ! -e "$scratch/ran" ]; echo $?)" 'and nothing was run'

shut_gate "$task"
start leader getwork --task "$task" --user race-1 --timeout 0 --no-refill
wait_for grep -qs 'no process for it' "$scratch/leader.err"
open_gate "$task"
end leader
is "$status:$err" "0:getwork: the time is over, but your query serves all that asked meanwhile, and\
 --no-refill leaves no process for it: it goes on" '--no-refill: a leader goes on, and says so'

# --- a leader that dies; polling ----------------------------------------------------------------

steer "$task" heavy
start leader getwork --task "$task" --user race-1
await_leader "$task" race-1
start poller getwork --task "$task" --user race-3 --poll 1,2 --json
await_request race-3 "$task"
start gaps getwork --task "$task" --user race-4 --poll 1,2
await_request race-4 "$task"
request=$(last_request race-4 "$task")
seen="SELECT TIMESTAMPDIFF(MICROSECOND, created_at, seen_at) DIV 1000
        FROM work_requested WHERE request_id = $request"
# Each look sets seen_at to the end of the next gap. At first it is the time of the request.
: >"$scratch/seen"
has_looked() {
	sql "$seen" >>"$scratch/seen"
	[ "$(awk '$1 >= 500' "$scratch/seen" | uniq | wc -l)" -ge 4 ]
}
wait_for has_looked
kill -INT "${process[gaps]}"
end gaps
is "$status" 130 '--poll 1,2, interrupted'
# The first gap is a second, each other gap is two. So each value of seen_at is at least two seconds
# after the one before.
is "$(uniq "$scratch/seen" | awk '$1 < 500 { next } before && $1 - before < 1900 { early++ }
	{ before = $1 } END { print early + 0 }')" 0 \
	'the gaps are as ordered, and the last one repeats'
await "SELECT $(connections poller)" 0
runs=$(sql "$leader_runs")
steer "$task" light
end_hard leader
end poller
is "$status:$(jq -c '[.status, .led]' <<<"$out")" '0:["served",true]' \
	'--poll: the leader is killed, and the next look leads'
is "$(sql "$leader_runs")" $((runs + 1)) 'the query ran once'
await "SELECT $(queries "$task")" 0
ok $? 'the dead leader'\''s query has ended'
is "$(sql "SELECT COUNT(*) FROM work_requested
            WHERE task_id = $task AND outcome = 'cancelled' AND assigned > 0")" 0 \
	'no leader served a cancelled request'

# --- a script is told why it waits --------------------------------------------------------------

sql "UPDATE task SET paused = 'stock-taking' WHERE task_id = $task"
start script getwork --task "$task" --user race-7
wait_for grep -qs stock-taking "$scratch/script.err"
ok $? 'a call without a terminal that waits says why: the task is paused'
kill -INT "${process[script]}"
end script
is "$(grep -c stock-taking <<<"$err")" 1 'it says so once'
sql "UPDATE task SET paused = NULL WHERE task_id = $task"

# --- requests that nobody looks after -----------------------------------------------------------

ttl=10
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
start patient checkwork --request "$waited_for" --wait 3000
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
	'a request that nobody looks after for request_ttl is pending as long as nobody leads'
run checkwork --request "$looked_at" --json
is "$status:$(jq -c '[.status, .leader]' <<<"$out")" '3:["pending",null]' \
	'checkwork does not say expired by the clock alone'
run ask --user race-8
is "$status" 0 'the next one leads'
is "$(request_is "$left")" 'expired 1 0 0' 'and expires the request that nobody looks after'
is "$(request_is "$looked_at")" 'served 1 1 1' 'the request that checkwork looked at is served'
end patient
is "$status" 0 'the request that checkwork --wait waits for is served'
is "$(request_is "$polled")" 'served 1 1 1' \
	'a request that is polled in gaps longer than request_ttl is served'
kill -INT "${process[poller]}"
end poller
is "$status:$(jq -c '[.status, .request_id, (.loans | length)]' <<<"$out")" \
	"0:[\"served\",$polled,1]" 'a signal in a gap, after the request was served: the loans'
run checkwork --request "$left"
is "$status:$out" "3:request $left for race-5, task $task: expired" 'checkwork says expired'
run ask --user race-5 --json
is "$status:$(jq -c "[.joined, .request_id > $left]" <<<"$out")" '0:[false,true]' \
	'the user asks again: a new request'
sql "UPDATE task SET request_ttl = 600 WHERE task_id = $task"

# --- the maker of a request leaves, another one has joined it -----------------------------------

steer "$task" heavy
start leader getwork --task "$task" --user race-1
await_leader "$task" race-1
start maker getwork --task "$task" --user race-2
start timed_maker getwork --task "$task" --user race-3 --timeout 10
await_request race-2 "$task"
await_request race-3 "$task"
request=$(last_request race-2 "$task")
timed=$(last_request race-3 "$task")
start joiner getwork --task "$task" --user race-2 --count 3 --json
start polling_joiner getwork --task "$task" --user race-3 --count 2 --poll 1 --json
await "SELECT $(follows joiner)" 1
# Only a getwork that polls sets seen_at ahead of the time.
await "SELECT seen_at > NOW(6) FROM work_requested WHERE request_id = $timed" 1
kill -INT "${process[maker]}"
end maker
is "$status:$(request_is "$request")" '130:cancelled 1 0 0' \
	'Ctrl-C on the maker: the request is cancelled'
end timed_maker
is "$status:$(request_is "$timed")" '3:cancelled 1 0 0' \
	'--timeout of the maker: the request is cancelled'
await_request race-2 "$task" "$request"
ok $? 'the getwork that joined makes a request of its own'
await_request race-3 "$task" "$timed"
ok $? 'also one that polls'
steer "$task" light
end_hard leader
end joiner
is "$status:$(jq -c '[.status, .asked, (.loans | length)]' <<<"$out")" '0:["served",3,3]' \
	'it is served in the end, with its own count'
is "$(jq ".request_id > $request" <<<"$out")" true 'by that request'
end polling_joiner
is "$status:$(jq -c '[.status, .asked, (.loans | length)]' <<<"$out")" '0:["served",2,2]' \
	'also the one that polls'
is "$(request_is "$request") $(request_is "$timed")" 'cancelled 1 0 0 cancelled 1 0 0' \
	'the cancelled requests got nothing'
is "$(given_twice "$task")" 0 'no loan was given twice'
finish
