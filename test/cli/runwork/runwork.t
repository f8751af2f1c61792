#!/usr/bin/env bash
# runwork as a user runs it: real commands, what becomes of their loans, leases that are renewed
# meanwhile, loans that are taken away, and signals.
# shellcheck disable=SC2016 # the commands are for the shell that runwork starts
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=263
make_task "$task" 200 0
sql "UPDATE task SET max_count = 20 WHERE task_id = $task"
make_users 16
export scratch task
# The sourced files set status, out, err and scratch.
# shellcheck disable=SC2154,SC2317
tidy_up() {
	[ "$BASHPID" = $$ ] || return
	end_all
	forget_all
}
trap tidy_up EXIT
user=0
# next: the next user asks.
next() {
	user=$((user + 1))
}
# work ARG…: runwork for this user.
work() {
	runwork --user "race-$user" --task "$task" "$@"
}
# ended: what the JSON tells of each loan: what was said, its state, the command's end.
ended() {
	jq -c -s '.[1:][] | [.result, .state, .command_exit, .command_signal, .exit]' <<<"$out"
}
lines() {
	printf '%s\n' "$@"
}
# state LOAN: the state of its row, the hours after which it is offered again, the note.
state() {
	sql "SELECT w.state, TIMESTAMPDIFF(MINUTE, w.changed_at, w.available_at), w.note
	       FROM work AS w WHERE w.task_id = $task AND w.loan_id = $1" | tr '\t' ' '
}
held="SELECT COUNT(*) FROM work AS w JOIN app_user AS u ON u.user_id = w.user_id
       WHERE w.task_id = $task AND w.state = 'assigned'"

# --- what becomes of a loan -----------------------------------------------------------------------

next
run work --count 3 -- sh -c 'echo "$LOCKQ_LOAN $LOCKQ_TOKEN $LOCKQ_TASK $LOCKQ_USER $LOCKQ_REQUEST \
<$LOCKQ_LEASE_EXPIRES_AT>" >>"$scratch/seen"; echo said'
is "$status" 0 'exit 0: exit 0'
is "$(grep -cE '^loan [0-9]+: completed \(exit 0 after [0-9.]+ m?s\)$' <<<"$out")" 3 \
	'people read a line for each loan'
is "$(grep -c '^said$' <<<"$out")" 3 'and what the command prints'
is "$(sort "$scratch/seen")" "$(sql "SELECT CONCAT_WS(' ', w.loan_id, w.token, w.task_id, u.name,
	w.request_id, '<>') FROM work AS w JOIN app_user AS u ON u.user_id = w.user_id
	WHERE w.task_id = $task AND w.state = 'completed'" | sort)" \
	'the command has the loan in its environment'
next
run work --count 6 --json --give-up-after 9 -- sh -c 'set -- $(jq -r .n "$scratch/n" 2>/dev/null)
	n=$((${1:-0} + 1)); echo "{\"n\":$n}" >"$scratch/n"
	case $n in 1) true ;; 2) exit 75 ;; 3) exit 3 ;; 4) kill -9 $$ ;; 5) kill $$ ;;
	6) nothing-such ;; esac 2>/dev/null'
is "$status" 3 'some loans were returned: exit 3'
is "$(head -n 1 <<<"$out" | jq -c '[.status, .assigned, .exit]')" '["served",6,0]' \
	'JSON: the answer comes first'
is "$(ended)" "$(lines '["done","completed",0,null,0]' '["done","returned",75,null,0]' \
	'["done","returned",3,null,0]' '["done","returned",null,9,0]' \
	'["done","returned",null,15,0]' '["done","returned",127,null,0]')" \
	'JSON: an object for each loan'
mapfile -t loans < <(jq -s '.[1:][].loan_id' <<<"$out")
is "$(state "${loans[0]}")" 'completed NULL NULL' 'exit 0: completed'
is "$(state "${loans[1]}")" 'returned 60 exit 75 of the command' 'exit 75: returned for an hour'
is "$(state "${loans[2]}")" 'returned 0 exit 3 of the command' 'exit 3: returned at once'
is "$(state "${loans[3]}")" 'returned 0 the command was killed by signal 9' 'and so after kill -9'
run work --retry-after 72h --json -- sh -c 'exit 75'
is "$status:$(state "$(jq -s '.[1].loan_id' <<<"$out")")" '3:returned 4320 exit 75 of the command' \
	'--retry-after sets the time'
is "$(sql "$held")" 0 'nothing stays assigned'

# --- failures -------------------------------------------------------------------------------------

next
run work --count 6 --json -- sh -c 'exit 1'
is "$status" 5 'three failures in a row: exit 5'
is "$err" 'runwork: gave up after 3 failures in a row: the other loans are returned' \
	'and a line that says so'
is "$(ended | sort | uniq -c | sed 's/^ *//')" "$(lines '3 ["done","returned",1,null,0]' \
	'3 ["done","returned",null,null,0]')" 'the command ran three times, all loans are returned'
is "$(state "$(jq -s '.[6].loan_id' <<<"$out")")" 'returned 0 not begun' 'with a note that says so'
run work --count 3 --give-up-after 1 -- sh -c 'echo x; exit 1'
is "$status:$(grep -c '^x$' <<<"$out")" 5:1 '--give-up-after 1'
: >"$scratch/n"
run work --count 6 --json -- sh -c 'echo >>"$scratch/n"; n=$(wc -l <"$scratch/n")
	case $n in 3) exit 75 ;; 6) exit 0 ;; *) exit 1 ;; esac'
is "$status:$(wc -l <"$scratch/n")" 3:6 'exit 75 between them: they are not in a row'
sql "DELETE FROM work WHERE task_id = $task; DELETE FROM work_log WHERE task_id = $task;
     RENAME TABLE test_loan_$task TO test_all_$task;
     CREATE TABLE test_loan_$task LIKE test_all_$task"
run work -- sh -c 'touch "$scratch/ran"'
is "$status:$([ -e "$scratch/ran" ] && echo ran)" 1: 'no work: exit 1, and no command'
sql "DROP TABLE test_loan_$task; RENAME TABLE test_all_$task TO test_loan_$task"

# --- what the command gets --------------------------------------------------------------------

next
# shellcheck disable=SC2012 # descriptors have plain names
exec {mine}>"$scratch/mine"
run work -- sh -c 'ls -l /proc/$$/fd | sed -n "s/.* \([0-9]* ->\)/\1/p"; cat'
is "$(grep -c 'socket:' <<<"$out")" 0 'it has no connection of runwork'
is "$(grep -c " -> $scratch/mine" <<<"$out")" 1 'it has the files that runwork was given'
is "$(grep -c '^0 -> /dev/null' <<<"$out")" 1 'its standard input is /dev/null'
exec {mine}>&-
ignored=$(printf '%d' "0x$(sed -n 's/^SigIgn:\t//p' /proc/self/status)")
run work -- sh -c 'sed -n "s/^Sig\(Ign\|Blk\|Cgt\):.//p" /proc/self/status'
is "$(grep '^[0-9a-f]*$' <<<"$out" | tail -n 3 | xargs)" \
	"$(printf '%016x %016x %016x' 0 "$ignored" 0)" 'its signals have their default actions'
run work -- sh -c 'exec >/dev/null; disposition --loan "$LOCKQ_LOAN:$LOCKQ_TOKEN" --never'
is "$status" 0 'a command may dispose of its loan itself'
like "$out" '^loan [0-9]+: already set to never at .* \(exit 0 after' 'the line says how'
run work
is "$status:$err" "2:runwork: a command is missing, as in runwork --task 7 -- ./verify
try 'runwork --help'" 'no command: a usage error'
run work --retry-after 73h true
is "$status" 2 'more than 72 hours, too'

# --- arguments, and a command that can't be run ---------------------------------------------------

next
run work printf '<%s>' 'a b' --json '$LOCKQ_LOAN'
like "$out" '<a b><--json><\$LOCKQ_LOAN>' 'the command gets its arguments as they are, by no shell'
requests="SELECT COUNT(*) FROM work_requested WHERE task_id = $task"
before=$(sql "$requests")
run work --json -- nothing-such
is "$status:$err" '127:runwork: command "nothing-such" is not found: nothing was asked for' \
	'a command that is not found: exit 127'
is "$(jq -c . <<<"$out")" \
	'{"error":"command \"nothing-such\" is not found: nothing was asked for","exit":127}' \
	'JSON has the same'
touch "$scratch/plain"
run work "$scratch/plain"
is "$status:$err" "126:runwork: command \"$scratch/plain\" can't be run: Permission denied: \
nothing was asked for" 'one that may not be run: exit 126'
is "$(sql "$requests")" "$before" 'and no request was made'
# The system finds out at the start that this file is no program.
printf 'neither\n' >"$scratch/plain"
chmod +x "$scratch/plain"
run work --count 3 --json "$scratch/plain"
is "$status:$err" "126:runwork: command \"$scratch/plain\" can't be run: Exec format error: the \
loans are returned" 'one that can be started no more: exit 126'
is "$(ended | sort -u)" '["done","returned",null,null,0]' 'all loans are returned'
is "$(state "$(jq -s '.[1].loan_id' <<<"$out")")" \
	'returned 0 the command could not be started' 'with a note that says so'
is "$(sql "$held")" 0 'and nothing stays assigned'


# Two processes of one user.
next
start first "$top/build/bin/runwork" --user "race-$user" --task "$task" --json \
	-- sh -c 'touch "$scratch/first"; while [ ! -e "$scratch/go" ]; do sleep 0.1; done'
wait_for test -e "$scratch/first"
run work --json true
second=$(jq -s '.[1].loan_id' <<<"$out")
touch "$scratch/go"
end first
is "$status:$(jq -s --argjson other "$second" '.[1].loan_id != $other' <<<"$out")" 0:true \
	'two processes of a user work on different loans'

# A loan that its command, or a manager, has disposed of.
next
run work --count 2 --give-up-after 1 -- sh -c 'disposition --loan "$LOCKQ_LOAN:$LOCKQ_TOKEN" \
	--complete >/dev/null; exit 1'
is "$status:$(grep -c ': already completed at .*(exit 1 after ' <<<"$out")" 0:2 \
	'a command that has disposed of its loan itself: no failure, whatever its exit status is'
next
export task
run work -- sh -c 'LOCKQ_DEFAULTS_FILE="$LOCKQ_SANDBOX_DIR/admin.cnf" managetask release "$task" \
	--loan "$LOCKQ_LOAN" --reason ill >/dev/null'
is "$status" 4 'a loan that a manager has released meanwhile: exit 4'
like "$err" '^runwork: loan [0-9]+ is not assigned.*' 'and the line says so'

# --- leases ---------------------------------------------------------------------------------------

# with_leases SECONDS N: the user holds N loans, whose leases end in so many seconds. $uuid repeats
# the answer.
with_leases() {
	uuid=$(cat /proc/sys/kernel/random/uuid)
	sql "UPDATE task SET lease_minutes = 60 WHERE task_id = $task"
	answer=$(getwork --user "race-$user" --task "$task" --count "$2" --uuid "$uuid" --json)
	sql "UPDATE work SET lease_expires_at = NOW(6) + INTERVAL $1 SECOND
	      WHERE task_id = $task AND state = 'assigned'"
	sql "UPDATE task SET lease_minutes = NULL WHERE task_id = $task" >/dev/null
	sql "UPDATE task SET lease_minutes = 60 WHERE task_id = $task"
}
renewed="SELECT COUNT(*) FROM work_log WHERE task_id = $task AND event = 'renewed'"

next
with_leases 3 3
before=$(sql "$renewed")
start worker "$top/build/bin/runwork" --user "race-$user" --task "$task" --count 3 --uuid "$uuid" \
	--json -- sh -c 'echo "$LOCKQ_LEASE_EXPIRES_AT" >>"$scratch/leases"
		while [ ! -e "$scratch/renewed" ]; do sleep 0.1; done'
await "$renewed" $((before + 3))
touch "$scratch/renewed"
end worker
is "$status:$(ended | sort -u)" '0:["done","completed",0,null,0]' \
	'a command that outlives its lease: completed'
is "$(sql "SELECT MAX(late) FROM (SELECT event = 'expired' AS late FROM work_log
	WHERE task_id = $task) AS e")" 0 'no lease has run out'
is "$(sort -u "$scratch/leases" | wc -l)" 2 'those that waited were renewed, too'
like "$(head -n 1 "$scratch/leases")" '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$' \
	'the command knows the end of its lease'
run work --count 3 --uuid "$uuid" -- sh -c 'touch "$scratch/twice"'
is "$status:$(grep -c ': already completed at .*(not begun)$' <<<"$out")" 0:3 \
	'the same call again: these loans are done'
ok "$([ ! -e "$scratch/twice" ]; echo $?)" 'and no command runs'

# Its process group ends, also where the shell ends first.
# The loan is taken before half of the lease is over, since the next renewal is half an hour later.
next
with_leases 20 2
sql "CREATE PROCEDURE test_take_$task(IN loan BIGINT UNSIGNED)
     UPDATE work SET user_id = (SELECT user_id FROM app_user WHERE name = 'race-12'),
            token = token + 1, version = version + 1
      WHERE task_id = $task AND loan_id = loan"
cat >"$scratch/take" <<END
# The renewal of the lease may be the other half of a deadlock.
until mysql --defaults-file="${LOCKQ_SANDBOX_DIR:-$top/build/sandbox}/admin.cnf" \
	--database=lockq --execute "CALL test_take_$task(\$1)"; do
	sleep 0.1
done
END
start robbed "$top/build/bin/runwork" --user "race-$user" --task "$task" --count 2 --uuid "$uuid" \
	--json -- sh -c '[ ! -e "$scratch/robbed" ] || exit 0
		echo "$LOCKQ_LOAN" >"$scratch/robbed"
		MYSQL_TEST_LOGIN_FILE=none sh "$scratch/take" "$LOCKQ_LOAN"
		sleep 1000 |
			(trap "echo ended >>\"$scratch/robbed\"; exit" TERM; sleep 1000 & wait)'
end robbed
sql "DROP PROCEDURE test_take_$task"
is "$(cat "$scratch/robbed")" "$(head -n 1 "$scratch/robbed")
ended" 'a loan that went to somebody else: its command is told by SIGTERM'
is "$status:$(ended)" "$(lines '4:["stale_token","assigned",null,15,4]' \
	'["done","completed",0,null,0]')" 'exit 4; nothing is said of it, and the next one is done'
like "$err" "^runwork: loan [0-9]+: token [0-9]+ is stale: the loan was assigned to \"race-12\" at \
.* \(killed by signal 15 after " 'the line says why'
sql "UPDATE work SET state = 'completed' WHERE task_id = $task AND state = 'assigned';
     UPDATE task SET lease_minutes = NULL WHERE task_id = $task"

# --- signals --------------------------------------------------------------------------------------

# A shell that waits for another command when SIGINT comes would go on.
signals=(INT TERM HUP) statuses=(130 143 129)
for i in 0 1 2; do
	next
	rm -f "$scratch/began"
	start signalled "$top/build/bin/runwork" --user "race-$user" --task "$task" --count 3 \
		--json -- sh -c ': >"$scratch/began"; exec sleep 1000'
	wait_for test -e "$scratch/began"
	kill "-${signals[i]}" "${process[signalled]}"
	end signalled
	is "$status" "${statuses[i]}" "SIG${signals[i]}: exit ${statuses[i]}"
	is "$(ended | sort | uniq -c | sed 's/^ *//')" "$(lines \
		"1 [\"done\",\"returned\",null,$((statuses[i] - 128)),0]" \
		'2 ["done","returned",null,null,0]')" 'the command got it; all loans are returned'
done
user=0
next
rm "$scratch/began"
start stubborn "$top/build/bin/runwork" --user "race-$user" --task "$task" --json \
	-- sh -c 'trap "echo told >>\"$scratch/told\"" TERM; touch "$scratch/began"
		while [ ! -e "$scratch/done" ]; do sleep 0.1; done'
wait_for test -e "$scratch/began"
kill -TERM "${process[stubborn]}"
wait_for test -e "$scratch/told"
touch "$scratch/done"
end stubborn
is "$status:$(ended)" '143:["done","completed",0,null,0]' \
	'a command that ends its work after SIGTERM: the loan is completed'
# The shell ends at once, and the other half of the pipeline later.
next
rm "$scratch/began"
start half "$top/build/bin/runwork" --user "race-$user" --task "$task" --json \
	-- sh -c '(trap "until [ -e \"$scratch/half\" ]; do sleep 0.1; done; exit" TERM
		touch "$scratch/began"; while :; do sleep 0.1; done) | cat'
wait_for test -e "$scratch/began"
kill -TERM "${process[half]}"
sleep 1
is "$(sql "$held")" 1 'as long as a part of the command works, its loan stays assigned'
touch "$scratch/half"
end half
is "$status:$(ended)" '143:["done","returned",null,15,0]' 'then it is returned'

# A renewal that waits for a lock keeps no signal from the command.
next
rm "$scratch/began"
with_leases 10 1
open_gatekeeper
gatekeeper_says "BEGIN; UPDATE lockq.work SET note = note
	WHERE task_id = $task AND state = 'assigned';"
start stuck "$top/build/bin/runwork" --user "race-$user" --task "$task" --uuid "$uuid" --json \
	-- sh -c 'trap "touch \"$scratch/stuck\"; exit" TERM; touch "$scratch/began"
		while :; do sleep 0.1; done'
wait_for test -e "$scratch/began"
await "SELECT COUNT(*) > 0 FROM performance_schema.data_lock_waits" 1
kill -TERM "${process[stuck]}"
wait_for test -e "$scratch/stuck"
is "$(sql "SELECT COUNT(*) > 0 FROM performance_schema.data_locks WHERE object_name = 'work'")" 1 \
	'a renewal that waits for a lock keeps no signal from the command'
gatekeeper_says 'ROLLBACK;'
end stuck
sql "UPDATE work SET state = 'completed' WHERE task_id = $task AND state = 'assigned';
     UPDATE task SET lease_minutes = NULL WHERE task_id = $task"
next
rm "$scratch/began"
start deaf "$top/build/bin/runwork" --user "race-$user" --task "$task" --json \
	-- sh -c 'trap "" TERM; touch "$scratch/began"; while :; do sleep 0.1; done'
wait_for test -e "$scratch/began"
# A second signal counts two seconds after the first.
again() {
	kill -TERM "${process[deaf]}" 2>/dev/null
	has_ended deaf
}
wait_for again
end deaf
is "$status:$(ended)" '143:["done","returned",null,9,0]' 'a second signal kills one that is deaf'
is "$(sql "$held")" 0 'nothing stays assigned'
finish
