#!/usr/bin/env bash
# disposition as a user runs it: each transition, each refusal, each boundary.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

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
is "$status:$out" '0:disposition (lockq) 0.1.0' '--version'
for arguments in '' '--frob' '--loan 1' '--loan x --complete' '--loan 0x1 --complete' \
	'--loan 1,1 --complete' '--loan 1 --complete --never' '--loan 1 --return-after 73h' \
	'--loan 1 --return-after -1h' '--loan 1 --return-after 4' '--loan 1 --return-after 4d' \
	'--loan 1,2 --token 3 --complete' '--loan 1: --complete'; do
	# shellcheck disable=SC2086 # words, on purpose
	run disposition --user race-1 --task "$task" $arguments
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
	$'completed\tall in order\t2' 'the row says so'
is "$(sql "SELECT event, token, version FROM work_log
            WHERE task_id = $task AND loan_id = ${loans[0]} ORDER BY log_id DESC LIMIT 1")" \
	"completed	$token	2" 'and the log'
run disposition --user race-1 --task "$task" --loan "${loans[0]}" --complete
is "$status" 0 'the same again: exit 0'
like "$out" "loan ${loans[0]}: already completed" 'the same again: it says so'
is "$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task AND event = 'completed'")" 1 \
	'and is not logged twice'
run disposition --user race-1 --task "$task" --loan "${loans[0]}" --never
is "$status" 4 'something else afterwards: exit 4'
like "$err" 'not assigned' 'something else afterwards: refused'
run disposition --user race-2 --task "$task" --loan "${loans[1]}" --complete
is "$status" 4 "somebody else's loan: exit 4"
like "$err" "^disposition: loan ${loans[1]} is not yours: assigned to race-1 since" 'it says whose'
run disposition --user race-1 --task "$task" --loan 4711 --complete
is "$status" 4 'a loan that nobody has: exit 4'
run disposition --user race-1 --task "$task" --loan "${loans[1]}" --token $((token + 1)) --complete
is "$status" 4 'a stale token: exit 4'
like "$err" 'token' 'a stale token: it says so'
run disposition --user race-1 --task "$task" --loan "${loans[1]}:$token" --return-after 72h
is "$status" 0 '--return-after 72h, with the right token'
is "$(sql "SELECT TIMESTAMPDIFF(SECOND, changed_at, available_at) FROM work
            WHERE task_id = $task AND loan_id = ${loans[1]}")" 259200 'available 72 hours later'
run disposition --user race-1 --task "$task" --loan "${loans[2]},${loans[3]},4711" --never --json
is "$status" 4 'several loans: the exit status is the worst'
is "$(jq -c '[.loan_id, .result]' <<<"$out" | paste -sd' ')" \
	"[${loans[2]},\"done\"] [${loans[3]},\"done\"] [4711,\"not_assigned\"]" \
	'several loans: each by itself'
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
	'those returned for later and those that are never wanted are not'
run disposition --user race-2 --task "$task" --loan "${loans[4]}:$token" --complete
is "$status" 4 'the token of an earlier assignment is stale'
sql "UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 SECOND, version = version + 1
      WHERE task_id = $task AND loan_id = ${loans[4]}"
run disposition --user race-2 --task "$task" --loan "${loans[4]}" --complete
is "$status" 4 'a lease that has run out: exit 4'
like "$err" 'lease' 'a lease that has run out: it says so'
run disposition --user nobody --task "$task" --loan 1 --complete
is "$status" 4 'an unknown user: exit 4'
run disposition --user race-1 --task "$task" --loan 1 --complete --socket "$scratch/no.sock"
is "$status" 5 'no server: exit 5'
is "$(sql "SELECT COUNT(*) FROM work AS w WHERE task_id = $task AND w.version <> (
             SELECT MAX(l.version) FROM work_log AS l
              WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id)
              AND w.loan_id <> ${loans[4]}")" 0 'the log ends where the table stands'
finish
