#!/usr/bin/env bash
# getwork as a user runs it: help, bad options, every exit status, output as text and as JSON.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=221 slow=222 other=230
make_task "$task" 12 0
make_steered "$slow" 6000
open_gatekeeper
make_users 7
sql "INSERT IGNORE INTO app_user (name) VALUES ('zoë \"the\" o''neil')"
# shellcheck disable=SC2154 # status, out and err are set by run and end, scratch by steered.sh
trap 'end_all; forget_task "$task"; forget_task "$other"; forget_steered "$slow"; forget_users
	rm -rf "$scratch"
	sql "DROP VIEW IF EXISTS test_dear_$task;
	     DELETE FROM app_user WHERE name LIKE '\''zoë%'\''"' EXIT

run getwork --help
is "$status" 0 '--help: exit 0'
like "$out" '^Usage: getwork ' '--help says how to use it'
is "$err" '' '--help says it on standard output'
run getwork --version
is "$status:$out" "0:getwork (lockq) $(lockq_version)" '--version'

# bad NAME EXPECTED-TEXT ARGUMENT…: getwork ends with status 2, and a line that has the text.
bad() {
	local name=$1 text=$2
	shift 2
	run getwork "$@"
	is "$status" 2 "$name: exit 2"
	like "$err" "^getwork: .*$text" "$name: the line names it"
}
bad 'no task' '--task' --user race-1
bad 'an unknown option' 'frobnicate' --frobnicate
bad 'an argument' 'seven' --task "$task" seven
bad 'count 0' 'count "0"' --task "$task" --count 0
bad 'a negative count' 'count "-1"' --task "$task" --count -1
bad 'a count with letters' 'count "3x"' --task "$task" --count 3x
bad 'a count no task could allow' '1001' --task "$task" --count 1001
bad 'a task that is no number' 'task "seven"' --task seven
bad 'poll and no-wait' 'no-wait' --task "$task" --poll 5 --no-wait
bad 'poll with a hole' 'poll' --task "$task" --poll 5,,10
bad 'a password' 'option file' --task "$task" --password=secret
bad 'an option file that is not there' '/nowhere' --task "$task" --defaults-file /nowhere
ok "$(grep -q secret <<<"$err$out" && echo 1 || echo 0)" 'a password is not repeated'

# refused NAME EXPECTED-TEXT ARGUMENT…: getwork ends with status 4, and a line that has the text.
refused() {
	local name=$1 text=$2
	shift 2
	run getwork "$@"
	is "$status" 4 "$name: exit 4"
	like "$err" "^getwork: .*$text" "$name: the line says so"
}
long=$(printf 'x%.0s' {1..300})
refused 'an unknown user' 'user "nobody" is unknown' --user nobody --task "$task"
refused 'an unknown task' 'task 4711 is unknown' --user race-1 --task 4711
refused 'a name of 300 characters' 'is unknown' --user "$long" --task "$task"
refused 'quotes' "o'neil\" --\" is unknown" --user "o'neil\" --" --task "$task"
refused 'control characters' 'a\\x1b\[31mb\\nc" is unknown' --user $'a\x1b[31mb\nc' --task "$task"
is "$(wc -l <<<"$err")" 1 'control characters stay within one line'
bad 'invalid UTF-8' 'must be valid UTF-8' --user $'\xff\xfe' --task "$task"
refused 'more than the task allows' '5 at most' --user race-1 --task "$task" --count 6
sql "UPDATE task SET enabled = FALSE WHERE task_id = $task"
refused 'a disabled task' 'disabled' --user race-1 --task "$task"
sql "UPDATE task SET enabled = TRUE WHERE task_id = $task"
is "$(sql "SELECT COUNT(*) FROM work_requested WHERE task_id = $task")" 0 \
	'no request was recorded for these'

run getwork --user race-1 --task "$task" --count 5 --json
is "$status" 0 'loans: exit 0'
is "$(jq -c '[.user, .task, .asked, .requested, .assigned, .status, .led,
	(.loans | length)]' <<<"$out")" "[\"race-1\",$task,5,5,5,\"served\",true,5]" \
	'JSON: the numbers asked for and given'
is "$(jq -c '["request_id", "uuid", "user", "task", "asked", "requested", "assigned", "status",
	"led", "epoch", "waited_ms", "query_ms", "as_of", "how", "source", "checked",
	"loans"] - keys' <<<"$out")" '[]' \
	'JSON: the keys'
is "$(jq -c '.loans[0] | keys' <<<"$out")" '["lease_expires_at","loan_id","token"]' 'JSON: a loan'
like "$(jq -r .as_of <<<"$out")" '^20[0-9]{2}-[0-9-]+T[0-9:]+\.[0-9]{6}Z$' \
	'JSON: times are ISO 8601'
run getwork --user 'zoë "the" o'\''neil' --task "$task" --count 4
is "$status" 0 'a name with quotes and UTF-8: exit 0'
like "$out" "Task $task .*Test $task" 'people see the task'"'"'s name'
like "$out" '4 of 4 loans for zoë "the" o'\''neil' 'people see the number and their name'
like "$out" 'you led: the query took' 'people see who ran the query, and how long it took'
run getwork --user race-2 --task "$task" --count 5
is "$status" 0 'fewer than asked: exit 0'
like "$out" '3 of 5 loans' 'fewer than asked: it tells both numbers'
run getwork --user race-3 --task "$task"
is "$status" 1 'no work: exit 1'
like "$out$err" "no work for task $task as of" 'no work: it tells the time of the query'
run getwork --user race-3 --task "$task" --json
is "$status:$(jq -c '[.status, .assigned, .loans]' <<<"$out")" '1:["empty",0,[]]' 'no work in JSON'

# A call that is repeated with its UUID.
uuid=$(cat /proc/sys/kernel/random/uuid)
sql "DELETE FROM work WHERE task_id = $task; DELETE FROM work_log WHERE task_id = $task"
run getwork --user race-1 --task "$task" --count 2 --uuid "${uuid^^}" --json
is "$status:$(jq -c '[.uuid, .repeated, .joined]' <<<"$out")" "0:[\"$uuid\",false,false]" \
	'--uuid: the request has it, in lower case'
answer=$(jq -c '[.request_id, .loans, .epoch, .as_of]' <<<"$out")
run getwork --user race-1 --task "$task" --count 2 --uuid "$uuid" --json
is "$status:$(jq -c '[.request_id, .loans, .epoch, .as_of]' <<<"$out")" "0:$answer" \
	'--uuid: the same call again has the same answer'
is "$(jq -c '[.repeated, .led]' <<<"$out")" '[true,false]' 'and says that it had it before'
run getwork --user race-1 --task "$task" --count 2 --uuid "$uuid"
like "$status:$out" 'an earlier call had this answer: checkwork shows what is yours now' \
	'people read the same'
refused 'another count' "UUID \"$uuid\" was used to ask for 2 loans of task $task" \
	--user race-1 --task "$task" --count 3 --uuid "$uuid"
run getwork --user race-2 --task "$task" --count 2 --uuid "$uuid" --json
is "$status:$(jq -r 'keys_unsorted[], .error' <<<"$out" | tr '\n' '|')" \
	"4:error|exit|UUID \"$uuid\" is another request's: use a new UUID|" \
	'another user gets nothing by that UUID'
bad 'a malformed UUID' 'uuid "118" must be a UUID' --task "$task" --uuid 118
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $task")" 2 'two loans were given in all'

# A task that keeps a list.
sql "DELETE FROM work WHERE task_id = $task; DELETE FROM work_log WHERE task_id = $task;
     UPDATE task SET cache_ttl = 600 WHERE task_id = $task"
run getwork --user race-1 --task "$task" --json
is "$status:$(jq -c '[.led, .how, .source, .checked]' <<<"$out")" '0:[true,"query","query",null]' \
	'JSON of a leader: its loans come from its query'
epoch=$(jq .epoch <<<"$out")
run getwork --user race-2 --task "$task" --json
is "$status:$(jq -c '[.led, .how, .source, .epoch, .query_ms, (.as_of < .checked)]' <<<"$out")" \
	"0:[false,\"list\",\"list\",$epoch,null,true]" 'JSON of the next one: from the list'
run getwork --user race-3 --task "$task" --verbose
is "$status" 0 'the list for people: exit 0'
like "$out" "served in [0-9.]+ m?s from race-1's list of [0-9]+ s ago . request" \
	'the line tells how old the list is'
is "$(grep -c unchecked <<<"$out")" 0 'a list that was checked is not called unchecked'
like "$err" "the list was left by \"race-1\", epoch $epoch" '--verbose: whose list it is'
like "$err" 'the view was asked again about the loans at [0-9:]+' '--verbose: when it was checked'
request=$(last_request race-3 "$task")
run checkwork --request "$request"
like "$out" "served from race-1's list when it was [0-9]+ s old . request $request" \
	'checkwork --request tells how old it was'
run checkwork --request "$request" --json
is "$(jq -c '[.source, (.checked | length)]' <<<"$out")" '["list",27]' 'and so does its JSON'
run getwork --user race-4 --task "$task" --fresh --json
is "$status:$(jq -c '[.led, .source, .epoch]' <<<"$out")" "0:[true,\"query\",$((epoch + 1))]" \
	'--fresh: it runs the query in spite of the list'
run getwork --user race-4 --task "$task" --fresh --verbose
like "$out" 'you led: the query took' '--fresh for people'
like "$err" 'the view was not asked again about the loans' 'after a short query nothing is checked'
sql "CREATE OR REPLACE VIEW test_dear_$task AS
       SELECT a.loan_id FROM test_loan_$task AS a CROSS JOIN test_loan_$task AS b
        WHERE SHA2(REPEAT(CONCAT('loan ', a.loan_id, b.loan_id), 1000000), 512) <> '';
     GRANT SELECT ON test_dear_$task TO lockq_worker@lockq;
     UPDATE task SET check_view = 'test_dear_$task' WHERE task_id = $task"
run getwork --user race-1 --task "$task" --json
is "$status:$(jq -c '[.led, .source]' <<<"$out")" '0:[true,"query"]' \
	'a list that can not be checked is not used'
sql "UPDATE task SET use_unchecked = TRUE WHERE task_id = $task"
run getwork --user race-1 --task "$task" --fresh
is "$status" 0 'a list that may be used unchecked is kept'
run getwork --user race-2 --task "$task" --json
is "$status:$(jq -c '[.led, .source, .checked]' <<<"$out")" '0:[false,"list",null]' \
	'use_unchecked: JSON says that nothing was checked'
run getwork --user race-3 --task "$task" --verbose
like "$out" "from race-1's list of [0-9: -]+, unchecked . request" 'and so does the line'
like "$out" 'unchecked: the view could not tell in time whether these loans still match' \
	'and a second line, plainly'
like "$err" 'the view was not asked again about the loans' 'and --verbose'
run checkwork --request "$(last_request race-3 "$task")"
like "$out" "from race-1's list of [0-9: -]+, unchecked . request" 'and checkwork --request'
sql "UPDATE task SET cache_ttl = 0 WHERE task_id = $task"
bad '--fresh with --cancel' 'cancel can only be combined' --cancel --fresh

# While somebody leads.
spent=$(cat /proc/sys/kernel/random/uuid) waiting=$(cat /proc/sys/kernel/random/uuid)
steer "$slow" gated
shut_gate "$slow"
start leader getwork --user race-1 --task "$slow" --json
await_leader "$slow" race-1
run getwork --user race-2 --task "$slow" --no-wait --json
is "$status:$(jq -r .status <<<"$out")" 3:pending '--no-wait: exit 3, pending'
pending=$(jq -r .request_id <<<"$out")
run getwork --user race-3 --task "$slow" --no-wait
is "$status" 3 '--no-wait for people: exit 3'
like "$out$err" 'checkwork --request [0-9]+' '--no-wait tells how to look later'
run getwork --user race-4 --task "$slow" --timeout 0.2
is "$status" 3 '--timeout: exit 3'
like "$err" 'request [0-9]+ is cancelled' '--timeout: the request is cancelled'
start cancelled getwork --user race-4 --task "$slow"
await_request race-4 "$slow"
request=$(last_request race-4 "$slow")
refused 'cancelling somebody else'"'"'s request' \
	"request \"$request\" is unknown, or it is not a request of user \"race-3\"" \
	--user race-3 --cancel "$request"
run getwork --user race-4 --cancel "$request" --json
is "$status:$(jq -c '[.request_id, .status, .loans]' <<<"$out")" "0:[$request,\"cancelled\",[]]" \
	'--cancel ID: exit 0, and how the request stands'
run getwork --user race-4 --cancel
is "$status:$err" "1:getwork: user \"race-4\" has no pending request: checkwork --user race-4 \
shows the loans" '--cancel alone, without a pending request'
run getwork --user race-4 --cancel --task "$slow" --json
is "$status:$(jq -r .exit <<<"$out")" 1:1 '--cancel without a pending request: exit 1'
like "$err" "user \"race-4\" has no pending request for task $slow" 'and a line that says so'
end cancelled
is "$status:$(tail -n 1 <<<"$err")" \
	"3:getwork: request $request was cancelled by another process: try again" \
	'the process that waited ends with 3, and says why'
start fresh getwork --user race-4 --task "$slow" --fresh --json
await_request race-4 "$slow" "$request"
start polling getwork --user race-5 --task "$slow" --poll 1 --json
await_request race-5 "$slow"
start stopped getwork --user race-6 --task "$slow" --uuid "$spent"
await_request race-6 "$slow"
run getwork --user race-6 --task "$slow" --uuid "$waiting" --timeout 0.2 --json
is "$status:$(jq -c '[.status, .joined, .uuid]' <<<"$out")" "3:[\"pending\",true,\"$spent\"]" \
	'--uuid behind another request of the user: exit 3, and the other request'
like "$err" 'nothing was asked for with this UUID: request [0-9]+ .* was pending: try again' \
	'and it says so'
kill -INT "${process[stopped]}"
end stopped
is "$status" 130 'Ctrl-C while waiting: exit 130'
like "$out$err" 'is cancelled' 'Ctrl-C: it says that the request is cancelled'
refused 'the same call after Ctrl-C' 'ended without loans \(cancelled\): use a new UUID' \
	--user race-6 --task "$slow" --uuid "$spent"
open_gate "$slow"
end leader
is "$status" 0 'the leader is served'
end polling
is "$status" 0 '--poll: served'
is "$(jq -r .led <<<"$out")" false '--poll: the leader served it'
end fresh
is "$status:$(jq -r .led <<<"$out")" 0:true '--fresh: a query that ran already does not count'
run checkwork --request "$pending" --json
is "$(jq -r .status <<<"$out")" served 'the leader also served the request that did not wait'
run getwork --user race-2 --cancel "$pending"
is "$status" 0 '--cancel of a request that has its loans: exit 0'
like "$out" "request $pending got these loans before it could be cancelled" \
	'with the loans, and a line that says so'
is "$(sql "SELECT COUNT(*) FROM work_requested
            WHERE task_id = $slow AND outcome = 'cancelled' AND assigned = 0")" 3 \
	'the three cancelled requests got nothing'

# --- loans are completed before others are asked for ---
# On a busy machine the view may take longer than a check of it may: a list is kept all the same.
sql "UPDATE task SET complete_hold = 60, cache_ttl = 60, use_unchecked = TRUE WHERE task_id = $task"
run getwork --user race-5 --task "$task" --count 2 --json
refs=$(jq -r '[.loans[] | "\(.loan_id):\(.token)"] | join(",")' <<<"$out")
run getwork --user race-5 --task "$task" --complete "$refs" --json
is "$status:$(jq -cs '[.[0, 1].result, (.[2] | .status, (.loans | length), .one_commit)]' \
	<<<"$out")" '0:["done","done","served",1,true]' \
	'--complete: loans are completed, and the next one of the list is given in that commit'
held=$(jq -r 'select(.loans) | .loans[0].loan_id' <<<"$out")
run getwork --user race-5 --task "$task" --complete - --timeout 0 --verbose <<<"${refs/,/ }"
is "$status:$(grep -c 'completed' <<<"$out")" 1:2 \
	'--complete -: repeated, it is no fault; no work is left'
like "$err" 'the next loans were asked for after that commit' '--verbose: it was done first'
last=$(last_request race-6 "$task")
run getwork --user race-6 --task "$task" --complete "$held,${refs%%:*}"
is "$status:$(last_request race-6 "$task")" "4:$last" "another user's loan is refused: no request"
like "$err" 'nothing was asked for, since --complete comes first$' 'it says so'
like "$err" "^getwork: loan $held .*race-5" 'and whose loan it is'
bad '--complete with --cancel' '--cancel can only' --task "$task" --complete 1 --cancel
bad 'a loan that is named twice' '--complete: loan 1 is named twice' --task "$task" --complete 1,1
bad 'no loan' '--complete "x"' --task "$task" --complete x
sql "UPDATE task SET complete_hold = 0, cache_ttl = 0 WHERE task_id = $task"

# A leader that gets a signal ends its query on the server, and frees the lock.
shut_gate "$slow"
start stopped getwork --user race-1 --task "$slow"
await_leader "$slow" race-1
kill -TERM "${process[stopped]}"
end stopped
is "$status" 143 'SIGTERM while leading: exit 143'
await "SELECT IS_USED_LOCK(CONCAT('lockq:', LEFT(SHA2(DATABASE(), 256), 40), ':', $slow)) IS NULL" 1
ok $? 'its query has ended on the server'
open_gate "$slow"
run getwork --user race-2 --task "$slow" --json
is "$status" 0 'the lock is free'

# --- the pipeline afterwards ----------------------------------------------------------------------

make_task "$other" 8 0
run getwork --user race-6 --task "$other" --pipeline --json
is "$status:$(jq -s -c '[(.[0] | has("loans")),
	(.[1:] | map([.user, .task, has("assigned_at")]))]' <<<"$out")" \
	"0:[true,[[\"race-6\",$other,true]]]" \
	'--pipeline in JSON: an object for each loan follows the answer'
run getwork --user race-6 --task "$other" --pipeline
is "$status:$(grep -c '^Pipeline - race-6$' <<<"$out"):$(tail -n 1 <<<"$out")" '0:1:2 loans' \
	'--pipeline: as checkwork shows it, with the loan of this call'
run getwork --user race-6 --task "$other"
is "$(grep -ci pipeline <<<"$out")" 0 'no line about it where output is no terminal'
# in_terminal COMMAND: what the command shows on a terminal, in $out.
in_terminal() {
	out=$(TERM=xterm timeout 100 script -qefc "stty cols 100; $1" /dev/null </dev/null |
		sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | tr -d '\r')
}
in_terminal "getwork --user race-6 --task $other"
is "$(tail -n 1 <<<"$out")" "race-6's pipeline: 4 loans of task $other" \
	'on a terminal a line tells it'
in_terminal "getwork --user race-6 --task $task"
like "$out" "^race-6's pipeline: 4 loans of task $other" 'also where the answer is of another task'
run getwork --user race-6 --task "$other" --count 6 --pipeline --json
is "$status:$(jq -s -c '[.[0].exit, length]' <<<"$out")" '4:[4,5]' \
	'--pipeline shows it also where the request is refused'
run getwork --user nobody --task "$other" --pipeline
is "$status:$(wc -l <<<"$err")" 4:1 'but not of a user who is unknown'
sql "INSERT INTO test_loan_$task VALUES (9001, 1)"
in_terminal "getwork --user race-6 --task $task"
is "$(tail -n 1 <<<"$out")" "race-6's pipeline: 5 loans, 1 of task $task and 4 of task $other" \
	'of which task each is'
sql "CREATE OR REPLACE VIEW test_detail_$other AS
     SELECT loan_id, CONCAT('Applicant of ', loan_id) AS applicant FROM test_loan_$other;
     GRANT SELECT ON test_detail_$other TO lockq_worker@lockq;
     UPDATE task SET detail_view = 'test_detail_$other' WHERE task_id = $other"
in_terminal "getwork --user race-7 --task $other --verbose"
like "$(tr '\n' ' ' <<<"$out")" \
	' loan [^a-z]+ token [^a-z]+ lease until [^a-z]+ applicant .* Applicant of [0-9]+ ' \
	"on a terminal the loans have the task's own columns, and with --verbose their tokens"
in_terminal "getwork --user race-7 --task $other"
is "$(grep -c 'Applicant of' <<<"$out") $(grep -c token <<<"$out")" '1 0' 'else no tokens'
in_terminal "checkwork --request $(last_request race-7 "$other")"
is "$(grep -c 'Applicant of' <<<"$out") $(grep -c token <<<"$out")" '1 0' 'also --request'
sql "DROP VIEW test_detail_$other"
in_terminal "getwork --user race-7 --task $other"
like "$out" '^1 of 1 loan for race-7' 'where the view fails the loans are shown without them'
sql "UPDATE task SET detail_view = NULL WHERE task_id = $other;
     UPDATE work SET state = 'completed' WHERE task_id = $other AND user_id IN
       (SELECT user_id FROM app_user WHERE name = 'race-7')"
in_terminal "getwork --user race-6 --task $other --json"
is "$(grep -ci pipeline <<<"$out")" 0 'but not in JSON'
sql "DELETE FROM test_loan_$other"
in_terminal "getwork --user race-7 --task $other"
is "$(tail -n 1 <<<"$out")" "race-7's pipeline is empty" 'also where there was nothing'

# The query fails.
sql "CREATE OR REPLACE VIEW test_candidates_$task AS
     SELECT loan_id, (SELECT b.line FROM test_loan_$task AS b
       WHERE b.loan_id <= a.loan_id) AS priority FROM test_loan_$task AS a"
run getwork --user race-1 --task "$task"
is "$status" 5 'a view that fails in the middle of the query: exit 5'
like "$err" "view \"test_candidates_$task\": .*more than 1 row" \
	'it names the view, and the reason'
run getwork --user race-1 --task "$task" --json
is "$status:$(jq -c '[.status, .exit]' <<<"$out")" '5:["failed",5]' 'the same in JSON'
sql "UPDATE task SET max_query_s = 1 WHERE task_id = $slow;
     CREATE OR REPLACE VIEW test_candidates_$slow AS
       SELECT loan_id, line AS priority FROM test_loan_$slow
        WHERE SHA2(REPEAT(CONCAT('loan ', loan_id), 40000), 512) <> ''"
run getwork --user race-1 --task "$slow"
is "$status" 5 'a query over its time limit: exit 5'
like "$err" 'longer than the task.s max_query_s, 1 s' 'it names the limit'

run getwork --user race-1 --task "$task" --socket "$scratch/no.sock"
is "$status" 5 'no server: exit 5'
like "$err" "^getwork: .*$scratch/no.sock" 'no server: it names the socket'
run getwork --user race-1 --task "$task" --socket "$scratch/no.sock" --json
is "$status:$(jq -c '[.exit, (.error | length > 0)]' <<<"$out")" '5:[5,true]' \
	'an error in JSON is an object'
run getwork --user race-1 --task "$task" --database mysql
is "$status" 5 'a database without the schema, or no right to it: exit 5'
finish
