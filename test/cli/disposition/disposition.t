#!/usr/bin/env bash
# disposition as a user runs it: each transition, each refusal, each boundary value.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=225
make_task "$task" 40 0
make_users 3
scratch=$(mktemp -d)
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'forget_task "$task"; forget_users; rm -rf "$scratch"' EXIT

run disposition --help
is "$status" 0 '--help: exit 0'
like "$out" '^Usage: disposition ' '--help says how to use it'
run disposition --version
is "$status:$out" "0:disposition (lockq) $(lockq_version)" '--version'
for arguments in '' '--frob' '--loan 1' '--loan x --complete' '--loan 0x1 --complete' \
	'--loan 1,1 --complete' '--loan 1 --complete --never' '--loan 1 --return-after 73h' \
	'--loan 1 --return-after -1h' '--loan 1 --return-after 4' '--loan 1 --return-after 4d' \
	'--loan 1,2 --token 3 --complete' '--loan 1: --complete' '--loan 1 --return-after 4321m' \
	'--loan 1 --complete --renew' '--loan 1 --complete --not-me' '--loan 1 --never --not-me' \
	'--loan 1 --renew --not-me-for 1h' '--loan 1 --return-after 0 --not-me-for 0' \
	'--loan 1 --return-after 0 --not-me-for 367d' '--loan - --complete'; do
	# shellcheck disable=SC2086 # words, on purpose
	run disposition --user race-1 --task "$task" $arguments </dev/null
	is "$status" 2 "'$arguments': exit 2"
	like "$err" '^disposition: ' "'$arguments': one line that names it"
done

getwork --user race-1 --task "$task" --count 5 --json >"$scratch/answer"
mapfile -t loans < <(jq '.loans[].loan_id' "$scratch/answer")
token=$(jq '.loans[0].token' "$scratch/answer")

run disposition --user race-1 --task "$task" --loan "${loans[0]}" --complete --note 'all in order'
is "$status:$out" "0:loan ${loans[0]}: completed" '--complete'
is "$(sql "SELECT state, note, version FROM work
            WHERE task_id = $task AND loan_id = ${loans[0]}")" \
	$'completed\tall in order\t2' 'the row of work has state, note and version'
is "$(sql "SELECT event, token, version FROM work_log
            WHERE task_id = $task AND loan_id = ${loans[0]} ORDER BY log_id DESC LIMIT 1")" \
	"completed	$token	2" 'and so does the log'
run disposition --user race-1 --task "$task" --loan "${loans[0]}" --complete
is "$status" 0 'the same again: exit 0'
like "$out" "loan ${loans[0]}: already completed" 'the same again: it says so'
is "$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task AND event = 'completed'")" 1 \
	'the log has it once'
run disposition --user race-1 --task "$task" --loan "${loans[0]}" --never
is "$status" 4 'something else afterwards: exit 4'
like "$err" 'not assigned' 'something else afterwards: refused'
run disposition --user race-2 --task "$task" --loan "${loans[1]}" --complete
is "$status" 4 "somebody else's loan: exit 4"
like "$err" "^disposition: loan ${loans[1]} is not yours: assigned to \"race-1\" since" \
	'it names the user who has it'
run disposition --user race-1 --task "$task" --loan 4711 --complete
is "$status" 4 'a loan that nobody has: exit 4'
run disposition --user race-1 --task "$task" --loan "${loans[1]}" --token $((token + 1)) --complete
is "$status" 4 'a stale token: exit 4'
like "$err" 'token' 'a stale token: the line says so'
run disposition --user race-1 --task "$task" --loan "${loans[1]}:$token" --return-after 72h
is "$status" 0 '--return-after 72h, with the right token'
is "$(sql "SELECT TIMESTAMPDIFF(SECOND, changed_at, available_at) FROM work
            WHERE task_id = $task AND loan_id = ${loans[1]}")" 259200 'available 72 hours later'
run disposition --user race-1 --task "$task" --loan "${loans[2]},${loans[3]},4711" --never --json
is "$status" 4 'several loans: the exit status is the worst'
is "$(jq -c '[.loan_id, .result]' <<<"$out" | paste -sd' ')" \
	"[${loans[2]},\"done\"] [${loans[3]},\"done\"] [4711,\"not_assigned\"]" \
	'several loans: each has its own result'
run disposition --user race-1 --task "$task" --loan "${loans[4]}" --return-after 0
is "$status" 0 '--return-after 0'

getwork --user race-2 --task "$task" --count 1 --json >"$scratch/again"
is "$(jq '.loans[0].loan_id' "$scratch/again")" "${loans[0]}" \
	'a completed loan that still matches the view is offered again'
getwork --user race-2 --task "$task" --count 5 --json >"$scratch/again"
is "$(jq '.loans[0].loan_id' "$scratch/again")" "${loans[4]}" \
	'a loan returned for 0 is offered again'
is "$(jq --argjson given "[${loans[1]},${loans[2]},${loans[3]}]" \
	'[.loans[].loan_id | select(IN($given[]))] | length' "$scratch/again")" 0 \
	'a loan that was returned for later, or set to never, is not'
run disposition --user race-2 --task "$task" --loan "${loans[4]}:$token" --complete
is "$status" 4 'the token of an earlier assignment is stale'
sql "UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 SECOND, version = version + 1
      WHERE task_id = $task AND loan_id = ${loans[4]}"
run disposition --user race-2 --task "$task" --loan "${loans[4]}" --never
is "$status" 4 'a lease that has run out: exit 4'
like "$err" 'lease' 'a lease that has run out: the line says so'
run disposition --user nobody --task "$task" --loan 1 --complete
is "$status" 4 'an unknown user: exit 4'
run disposition --user race-1 --task "$task" --loan 1 --complete --socket "$scratch/no.sock"
is "$status" 5 'no server: exit 5'

aside=${loans[4]}
# --- times, leases, standard input ---------------------------------------------------------------

token_of() {
	sql "SELECT token FROM work WHERE task_id = $task AND loan_id = $1"
}
sql "UPDATE task SET lease_minutes = 90 WHERE task_id = $task"
getwork --user race-3 --task "$task" --count 5 --json >"$scratch/answer"
mapfile -t loans < <(jq '.loans[].loan_id' "$scratch/answer")
for after in 30s=30 4319m=259140 72h=259200 3d=259200; do
	run disposition --user race-3 --task "$task" --loan "${loans[0]}" --renew
	run env TZ=CET-1CEST,M3.5.0,M10.5.0/3 disposition --user race-3 --task "$task" \
		--loan "${loans[0]}" --return-after "${after%=*}"
	is "$status:$(sql "SELECT TIMESTAMPDIFF(SECOND, changed_at, available_at) FROM work
	                    WHERE task_id = $task AND loan_id = ${loans[0]}")" \
		"0:${after#*=}" "--return-after ${after%=*}: ${after#*=} s of the server's time"
	sql "UPDATE work SET state = 'assigned', version = version + 1, available_at = NULL
	      WHERE task_id = $task AND loan_id = ${loans[0]}"
done
run disposition --user race-3 --task "$task" --loan "${loans[1]}:$(token_of "${loans[1]}")" --renew
is "$status" 0 '--renew: exit 0'
like "$out" "^loan ${loans[1]}: renewed, yours until " '--renew tells the end of the lease'
run disposition --user race-3 --task "$task" --loan "${loans[1]}" --renew --json
is "$(jq -c '[.result, .state, .available_at, (.lease_expires_at | type), .exit]' <<<"$out")" \
	'["done","assigned",null,"string",0]' '--renew in JSON'
printf '%s\n%s:%s, ' "${loans[1]}" "${loans[2]}" "$(token_of "${loans[2]}")" >"$scratch/loans"
run disposition --user race-3 --task "$task" --loan - --loan "${loans[3]}" --return-after 0 \
	--not-me --note 'my neighbour' --json <"$scratch/loans"
is "$status" 0 '--loan - reads loans from standard input'
is "$(jq -c '[.loan_id, .result]' <<<"$out" | sort | paste -sd' ')" \
	"$(printf '[%s,"done"]\n' "${loans[@]:1:3}" | sort | paste -sd' ')" 'all of them, each once'
is "$(jq -r .excluded_until <<<"$out" | sort -u)" \
	"$(sql "SELECT DISTINCT DATE_FORMAT(until, '%Y-%m-%dT%H:%i:%s.%fZ') FROM work_exclusion
	         WHERE task_id = $task")" 'JSON tells until when the user is left out'
is "$(sql "SELECT COUNT(*) FROM work_exclusion AS e JOIN work_log AS l
            USING (task_id, loan_id, user_id)
            WHERE e.task_id = $task AND l.event = 'returned' AND e.until = l.excluded_until
              AND l.excluded_until = l.at + INTERVAL 30 DAY AND l.note = 'my neighbour'")" 3 \
	'--not-me: 30 days, in the log and in the table'
for bad in '12 x' '12:' '-' '1 1' "$(printf '%0100d' 1)"; do
	run disposition --user race-3 --task "$task" --loan - --complete <<<"$bad"
	is "$status" 2 "'${bad:0:20}' on standard input: exit 2"
	like "$err" '^disposition: --loan' "'${bad:0:20}' on standard input: one line that names it"
done
like "$err" "^disposition: --loan -: \"$(printf '%064d' 0)\.\.\.\" on standard input must be" \
	'a word that is too long is quoted as far as it was read'
run disposition --user race-3 --task "$task" --loan - --complete < <(printf '1\0002')
is "$status" 2 'a NUL byte on standard input: exit 2'
like "$err" '^disposition: --loan -: standard input has a NUL byte' 'it says so'
run disposition --user race-3 --task "$task" --loan "${loans[4]}" \
	--token "$(token_of "${loans[4]}")" --complete
is "$status" 0 'complete under the right token'

aside=$aside,${loans[0]}
# --- a user is late ------------------------------------------------------------------------------

getwork --user race-1 --task "$task" --count 1 --json >"$scratch/answer"
loan=$(jq '.loans[0].loan_id' "$scratch/answer")
token=$(jq '.loans[0].token' "$scratch/answer")
# run_out LOAN
run_out() {
	sql "UPDATE work SET lease_expires_at = '2026-01-02 03:04:05', due_at = lease_expires_at
	      WHERE task_id = $task AND loan_id = $1"
}
run_out "$loan"
sql "UPDATE task SET max_pipeline = 100 WHERE task_id = $task"
for late in --never --renew; do
	TZ=UTC run disposition --user race-1 --task "$task" --loan "$loan" $late
	is "$status:$err" "4:disposition: loan $loan is no longer yours: its lease ran out at \
2026-01-02 03:04: ask again with getwork" "$late after the end of the lease: it tells when it was"
done
sql "UPDATE task SET max_pipeline = NULL WHERE task_id = $task"
TZ=UTC run disposition --user race-1 --task "$task" --loan "$loan" --renew
like "$status:$out" "^0:loan $loan: renewed late, yours again until " \
	'--renew after the end of the lease'
run_out "$loan"
TZ=UTC run disposition --user race-1 --task "$task" --loan "$loan" --return-after 0
like "$status:$out" \
	"^0:loan $loan: returned late, its lease ran out at 2026-01-02 03:04, available from " \
	'--return-after after the end of the lease'
getwork --user race-2 --task "$task" --count 1 --json >"$scratch/answer"
is "$(jq '.loans[0].loan_id' "$scratch/answer")" "$loan" 'the loan goes to the next one'
run disposition --user race-1 --task "$task" --loan "$loan" --complete
like "$err" "^disposition: loan $loan is not yours: assigned to \"race-2\" since " \
	'it names the next user'
run disposition --user race-1 --task "$task" --loan "$loan:$token" --complete
is "$status" 4 'with the old token: exit 4'
like "$err" "token $token is stale: the loan was assigned to \"race-2\" at " \
	'with the old token: it tells the time of the new assignment'

# A completion is taken all the same, before and after cron has been there.
getwork --user race-3 --task "$task" --count 2 --json >"$scratch/answer"
mapfile -t loans < <(jq '.loans[].loan_id' "$scratch/answer")
token=$(jq '.loans[0].token' "$scratch/answer")
run_out "${loans[0]}"
TZ=UTC run disposition --user race-3 --task "$task" --loan "${loans[0]}:$token" --complete
is "$status:$out:$err" \
	"0:loan ${loans[0]}: completed late, its lease ran out at 2026-01-02 03:04:" \
	'--complete after the end of the lease: it is taken, and called late'
run_out "${loans[1]}"
run disposition --expire
run disposition --user race-3 --task "$task" --loan "${loans[1]},${loans[0]}" --complete --json
is "$status:$(jq -c '[.loan_id, .result, .late, .lease_expires_at]' <<<"$out" | paste -sd' ')" \
	"0:[${loans[1]},\"done\",true,\"2026-01-02T03:04:05.000000Z\"] \
[${loans[0]},\"already\",false,null]" \
	'also after cron has returned the loan; JSON has late, and done before is not late'
is "$(sql "SELECT GROUP_CONCAT(event ORDER BY log_id) FROM work_log
            WHERE task_id = $task AND token = $token AND loan_id IN (${loans[0]}, ${loans[1]})
            GROUP BY loan_id")" $'assigned,expired,completed\nassigned,expired,completed' \
	'the log has the end of the lease, once, and the completion after it'

# --- on_complete ---------------------------------------------------------------------------------

sql "CREATE PROCEDURE test_refuses_$task (IN l BIGINT UNSIGNED, IN u VARCHAR(64))
       SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the statement is not signed';
     UPDATE task SET on_complete = 'test_refuses_$task' WHERE task_id = $task"
sql_root() {
	"$top/scripts/sandbox" mysql --execute="$1" 2>/dev/null
}
sql_root "GRANT EXECUTE ON PROCEDURE $(sql 'SELECT DATABASE()').test_refuses_$task
	TO lockq_worker@lockq"
run disposition --user race-2 --task "$task" --loan "$loan" --complete
is "$status:$err" "4:disposition: loan $loan was not completed and is still yours: \
the statement is not signed" 'an on_complete that refuses: exit 4, with its own words'
before=$(sql "SELECT lease_expires_at FROM work WHERE task_id = $task AND loan_id = $loan")
run_out "$loan"
TZ=UTC run disposition --user race-2 --task "$task" --loan "$loan" --complete
is "$status:$err" "4:disposition: loan $loan was not completed, and its lease ran out at \
2026-01-02 03:04: the statement is not signed" 'the same after the end of the lease'
is "$(sql "SELECT event FROM work_log WHERE task_id = $task AND loan_id = $loan
            ORDER BY log_id DESC LIMIT 1")" assigned \
	'then the end of the lease is not logged either'
sql "UPDATE work SET lease_expires_at = '$before' WHERE task_id = $task AND loan_id = $loan"
run disposition --user race-2 --task "$task" --loan "4711,$loan" --complete --json
is "$status:$(jq -c '[.loan_id, .result, .exit]' <<<"$out" | paste -sd' ')" \
	"4:[4711,\"not_assigned\",4] [$loan,\"not_allowed\",4]" 'JSON tells it apart'
like "$(jq -r '.reason // empty' <<<"$out")" 'not signed' 'JSON has the reason'
sql "DROP PROCEDURE test_refuses_$task"
run disposition --user race-2 --task "$task" --loan "4711,$loan" --complete
like "$err" "on_complete: .*test_refuses_$task" 'an on_complete that is not there: it is named'
is "$status" 5 'the exit status is the worst'
sql "UPDATE task SET on_complete = NULL, complete_hold = 3600 WHERE task_id = $task"
run disposition --user race-2 --task "$task" --loan "$loan" --complete
like "$out" "^loan $loan: completed, not offered before " 'complete_hold: a line tells until when'

# --- the same call again, with its UUID ----------------------------------------------------------

# shellcheck disable=SC2154 # tap.sh sets top
build=${LOCKQ_BUILD:-$top/build}
sql "UPDATE task SET complete_hold = 0 WHERE task_id = $task"
uuid=0B7D3D66-5C2F-4D5E-9D63-1A2B3C4D5E6F
getwork --user race-1 --task "$task" --count 2 --json >"$scratch/answer"
mapfile -t loans < <(jq '.loans[].loan_id' "$scratch/answer")
call=(disposition --user race-1 --task "$task" --loan "${loans[0]},${loans[1]}" --uuid "$uuid"
	--return-after 0 --not-me --note gone)
# Programs that were built with a sanitizer can't be given a library before theirs.
run env PATH="$build/bin:$PATH" LOCKQ_FAULT=kill LD_PRELOAD="$build/test/fault/lost_commit.so" \
	"${call[@]}"
is "$status:$out" 137: 'a call is killed after its COMMIT, and before it could answer'
getwork --user race-2 --task "$task" --count 5 >/dev/null
run "${call[@]}" --json
first=$out
is "$status:$(jq -c '[.result, .state, .holder, .repeated, .exit]' <<<"$out" | sort -u)" \
	'0:["done","returned","race-1",true,0]' \
	'the same call again: done, though the loans are assigned to somebody else now'
run "${call[@]}" --json
is "$out" "$first" 'once more: the same answer'
is "$(sql "SELECT COUNT(*), COUNT(DISTINCT loan_id), MIN(uuid) FROM work_log
            WHERE task_id = $task AND event = 'returned' AND note = 'gone'")" \
	"2	2	${uuid,,}" 'the log has it once, with the UUID in lower case'
run "${call[@]}"
like "$out" "^loan ${loans[0]}: returned, available to others from .*" 'in words, as the first time'
run disposition --user race-2 --task "$task" --loan "${loans[0]}" --uuid "$uuid" --complete
is "$status:$out:$err" "4::disposition: UUID \"${uuid,,}\" was used for another disposition: \
repeat that one as it was, or choose another UUID" 'with other parameters it is refused'
for bad in 12 "${uuid}0" "$uuid --expire"; do
	# shellcheck disable=SC2086 # words, on purpose
	run disposition --uuid $bad --user race-1 --task "$task" --loan 1 --complete
	is "$status" 2 "--uuid $bad: exit 2"
done

# Two processes at once, with one UUID: one of them does it.
for _ in 1 2 3 4 5; do
	loan=$(getwork --user race-3 --task "$task" --json | jq '.loans[0].loan_id')
	uuid=$(cat /proc/sys/kernel/random/uuid)
	for process in 1 2 3; do
		disposition --user race-3 --task "$task" --loan "$loan" --uuid "$uuid" --never \
			--json >"$scratch/$process" 2>&1 &
	done
	wait
	jq -c '[.result, .since, .repeated]' "$scratch"/[123]
done >"$scratch/all"
is "$(sort -u "$scratch/all" | jq -r '"\(.[0]) \(.[2])"' | sort | uniq -c | xargs)" \
	'5 done false 5 done true' 'processes at once with one UUID: one does it, all say the same'
is "$(jq -s 'map(select(.[2] == false)) | length' "$scratch/all")" 5 'only one did it, each time'

# --- standard output that can't be written ------------------------------------------------------

loan=$(getwork --user race-2 --task "$task" --json | jq '.loans[0].loan_id')
run bash -c "disposition --user race-1 --task $task --loan $loan --never --json >/dev/full"
is "$status:$(grep -c "can't be written" <<<"$err"):$(grep -c recorded <<<"$err")" 5:1:0 \
	'a refused loan: the message does not say that anything is recorded'
run bash -c "disposition --user race-2 --task $task --loan $loan --never >/dev/full"
like "$status:$err" "^5:.*can't be written.*: the disposition is recorded nevertheless" \
	'a loan that was done: the message says that the disposition is recorded'

is "$(sql "SELECT COUNT(*) FROM work AS w WHERE task_id = $task AND w.version <> (
             SELECT MAX(l.version) FROM work_log AS l
              WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id)
              AND w.loan_id NOT IN ($aside)")" 0 'the row has the newest version of the log'
finish
