#!/usr/bin/env bash
# check: it accepts the history of a real server on which many processes worked, some of which were
# killed; and of each promise that it judges, it finds a history in which that one is broken. forge
# has these: edits of the real one.
set -u

scratch=$(mktemp -d)
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
# shellcheck source=test/history/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=scripts/signals.sh
. "$top/scripts/signals.sh"

plain=9302 leased=9303 listed=9304

tidy_up() {
	local job
	for job in $(jobs -p); do
		kill "$job" 2>/dev/null
	done
	wait
	for task in $plain $leased $listed; do
		forget_task "$task"
	done
	forget_all
}
trap tidy_up EXIT
end_on_signals

# work_on TASK USER ROUNDS: asks, looks, and says what became of the loans.
work_on() {
	local user=race-$2 file=$scratch/told-$1-$2 answer loan i
	for ((i = 1; i <= $3; i++)); do
		answer=$(told "$file" getwork "$user" "$1" '' getwork --user "$user" --task "$1" \
			--count $((i % 3 + 1)) --timeout 60 --json)
		told "$file" checkwork "$user" "$1" '' checkwork --user "$user" --task "$1" --json \
			>/dev/null
		for loan in $(jq -r '.loans[]? | "\(.loan_id):\(.token)"' <<<"$answer"); do
			case $(((i + ${loan%:*}) % 6)) in
			0) set -- "$1" "$2" "$3" --return-after 0 --note "it's for later" ;;
			1) set -- "$1" "$2" "$3" --return-after 0 --not-me ;;
			2) set -- "$1" "$2" "$3" --never ;;
			3) continue ;;
			*) set -- "$1" "$2" "$3" --complete ;;
			esac
			told "$file" disposition "$user" "$1" '' \
				disposition --user "$user" --task "$1" --loan "$loan" "${@:4}" \
				--json >/dev/null
		done
	done
}

# killed TASK USER: a call that is killed at some moment.
killed() {
	told "$scratch/told-$1-$2" getwork "race-$2" "$1" '' timeout -s KILL "0.0$((RANDOM % 6))" \
		getwork --user "race-$2" --task "$1" --json >/dev/null
}

say() {
	told "$scratch/told-$1" "$2" "$3" "$1" '' "${@:4}" --json
}

# --- a real history ------------------------------------------------------------------------------

binlog_begins
for task in $plain $leased $listed; do
	forget_task "$task"
	sql "DELETE FROM task_lock WHERE task_id = $task;
	     DELETE FROM manage_log WHERE task_id = $task"
done
binlog_begins
make_users 12
make_task $plain 40 50
make_task $leased 40 50
make_task $listed 20 50
sql "UPDATE task SET lease_minutes = 1 WHERE task_id = $leased;
     UPDATE task SET cache_ttl = 600 WHERE task_id = $listed"
people_now "$scratch/people"

# These leases end while the others work.
answer=$(say $leased getwork race-9 getwork --user race-9 --task $leased --count 5)
read -r -d '' gone late again later _ < <(jq -r '.loans[] | "\(.loan_id):\(.token)"' <<<"$answer")
say $leased disposition race-9 disposition --user race-9 --task $leased --loan "$gone" --renew \
	>/dev/null

workers=()
for user in 1 2 3; do
	work_on $plain $user 5 &
	workers[$!]=$plain
	work_on $leased $((user + 3)) 3 &
	workers[$!]=$leased
	work_on $listed $((user + 5)) 5 &
	workers[$!]=$listed
done
for user in 10 11 10 11; do
	killed $plain $user
	killed $listed $user
done
say $plain getwork race-12 getwork --user race-12 --task $plain --count 4 --timeout 60 \
	>"$scratch/12"
wait "${!workers[@]}"
read -r -d '' one two three _ < <(jq -r '.loans[].loan_id' "$scratch/12")
say $plain managetask boss managetask release --task $plain --loan "$one" --by boss \
	--reason 'not today' >/dev/null
say $plain managetask boss managetask reassign --task $plain --loan "$two" --from race-12 \
	--to race-1 --by boss --reason 'he knows it' >/dev/null
say $plain disposition race-12 disposition --user race-12 --task $plain --loan "$three" --complete \
	--uuid 11111111-2222-4333-8444-555555555555 >/dev/null
say $plain disposition race-12 disposition --user race-12 --task $plain --loan "$three" --complete \
	--uuid 11111111-2222-4333-8444-555555555555 >/dev/null
say $plain managetask boss managetask undo --task $plain --loan "$three" --by boss \
	--reason 'it was not' >/dev/null
# This loan comes in another task, too, at the end.
sql "INSERT INTO test_loan_$plain (loan_id, line) VALUES (901, -1)"
say $plain getwork race-1 getwork --user race-1 --task $plain >/dev/null
say $plain disposition race-1 disposition --user race-1 --task $plain --loan 901 --complete \
	>/dev/null
say $plain getwork race-12 getwork --user race-12 --task $plain --count 99 >/dev/null
say $plain getwork race-12 getwork --user race-12 --task $plain --count 4 \
	--uuid "$(jq -r .uuid "$scratch/12")" >/dev/null
# Loans that are returned for a moment: cron notes that they are available.
say $plain disposition race-12 disposition --user race-12 --task $plain \
	--loan "$(checkwork --user race-12 --task $plain --json | jq -r .loan_id | head -n 1)" \
	--return-after 1s >/dev/null
# Nobody has a loan left, and somebody waits.
sql "DELETE FROM test_loan_$leased WHERE loan_id NOT IN (${late%:*}, ${again%:*}, ${gone%:*})"
say $leased getwork race-1 getwork --user race-1 --task $leased >/dev/null

await "SELECT COUNT(*) FROM work WHERE task_id = $leased AND state = 'assigned'
          AND lease_expires_at > NOW(6)" 0
say $leased disposition race-9 disposition --user race-9 --task $leased --loan "$late" --complete \
	>/dev/null
answer=$(say $leased getwork race-2 getwork --user race-2 --task $leased --count 5)
say $leased disposition race-2 disposition --user race-2 --task $leased --renew \
	--loan "$(jq -r '.loans[0] | "\(.loan_id):\(.token)"' <<<"$answer")" >/dev/null
# A query, which leaves a list, and a take from that.
sql "INSERT INTO test_loan_$listed (loan_id, line) VALUES (901, 1), (902, 2), (903, 3)"
say $listed getwork race-9 getwork --user race-9 --task $listed --fresh >/dev/null
say $listed getwork race-9 getwork --user race-9 --task $listed >/dev/null
say $leased disposition nobody disposition --expire >/dev/null
say $leased disposition race-9 disposition --user race-9 --task $leased --loan "$later" --complete \
	>/dev/null
columns_now "$scratch/columns"
sql 'FLUSH BINARY LOGS'
mapfile -t logs < <(logs_from "$first_log" | sed '$d')

"$top/test/history/commits" --columns "$scratch/columns" "${logs[@]}" >"$scratch/commits" ||
	ok 1 'the log is read'
cat "$scratch"/told-* >"$scratch/told"
judge() {
	run "$top/test/history/check" --people "$scratch/people" --tasks $plain,$leased,$listed "$@"
}
judge --commits "$scratch/commits" --told "$scratch/told"
is "$status" 0 'the history is accepted'
[ "$status" -eq 0 ] || printf '# %s\n' "$out" "$err" >&2
like "$out" '^in all: [0-9]+ commits, [0-9]{3} calls, [0-9]+ requests, .*: 0 violations$' \
	'it says how much it has judged'
all=$out
judge --columns "$scratch/columns" "${logs[@]/#/--log=}" --told "$scratch/told"
is "$out" "$all" 'and so it is as files of the binary log'

# --- what is broken is found ---------------------------------------------------------------------

forged=$scratch/forged
"$top/test/history/forge" "$scratch/people" $plain,$leased,$listed "$scratch"/{commits,told} \
	>"$forged"
while IFS=$'\t' read -r promise line; do
	case $promise in
	right:*) is "$line" '' "$promise" ;;
	*)
		like "$line" "^$promise, .*(commit|getwork|disposition|checkwork|managetask) " \
			"found: $promise"
		;;
	esac
done <"$forged"
is "$(cut -f 1 "$forged" | grep -v '^right:' | sort -u)" "$("$top/test/history/check" --promises)" \
	'there is such a history for each promise that is judged'

run "$top/test/history/check" --told /dev/null --bond 3
is "$status $err" '2 check: unknown option: bond: see check --help' 'a usage error is one line'
run "$top/test/history/check" --told "$scratch/people"
is "$status $err" "3 check: $scratch/people:1: is not a line of JSON" \
	'what is no history is not a right one'
run "$top/test/history/check" --log "$scratch/people" --columns "$scratch/columns"
is "$status $(tail -n 1 <<<"$err")" '3 check: mysqlbinlog failed: exit status 1' \
	'and neither is a log that can not be read'
run "$top/test/history/check" --help
is "$status $err" '0 ' '--help'
finish
