#!/usr/bin/env bash
# A row, a table and a task that others hold: no call waits for longer than it was asked to and a
# second, and it says what it waits for, and has changed nothing.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
# shellcheck source=test/support/crowd.sh
. "$(dirname "$0")/../support/crowd.sh"

task=262
scratch=$(mktemp -d)
trap 'end_crowd; forget_task "$task"; forget_users' EXIT
make_task "$task" 40 0
make_users 2
getwork --user race-1 --task "$task" --count 2 --json >"$scratch/answer"
mapfile -t loans < <(jq '.loans[].loan_id' "$scratch/answer")
both=${loans[0]},${loans[1]}

# bounded SECONDS COMMAND...: runs it, and sets $in_time to yes if it took no longer than that and a
# second. Another half of one is for the start of a process on a busy machine.
bounded() {
	local limit=$(($1 * 1000 + 1500)) start
	shift
	start=$(now_ms)
	run "$@"
	in_time=yes
	[ $(($(now_ms) - start)) -le $limit ] || in_time="$(($(now_ms) - start)) ms"
}
states() {
	sql "SELECT GROUP_CONCAT(state ORDER BY loan_id) FROM work WHERE task_id = $task"
}

say other "BEGIN; SELECT 1 FROM work WHERE task_id = $task AND loan_id = ${loans[1]} FOR UPDATE"
said other
for seconds in 0 1 3; do
	bounded $seconds disposition --user race-1 --task $task --loan "$both" --complete \
		--timeout $seconds
	is "$status:$in_time" 3:yes "a row is held, --timeout $seconds: exit 3 in time"
	is "$(states)" assigned,assigned 'nothing was changed'
done
held="loan ${loans[1]} is held by another session"
is "$err" "disposition: $held: nothing was changed: try again" 'the loan is named'
bounded 1 disposition --user race-1 --task $task --loan "$both" --complete --timeout 1 --json
is "$(jq -r .exit <<<"$out"):$(jq -r .error <<<"$out")" \
	"3:$held: nothing was changed: try again" 'in JSON, too'
bounded 1 disposition --user race-1 --task $task --loan "$both" --complete --timeout 1 --verbose
like "$err" 'disposition: 1205, SQLSTATE HY000, lock_loans, attempt 1, after 1\.[0-9] s' \
	'--verbose says what the database said'
grant='GRANT SELECT ON performance_schema.data_locks TO lockq_app@localhost;
	GRANT SELECT ON performance_schema.threads TO lockq_app@localhost'
"$top/scripts/sandbox" mysql --execute="$grant"
bounded 2 disposition --user race-1 --task $task --loan "$both" --complete --timeout 2
like "$err" "^disposition: loan ${loans[1]} is held by .*@localhost, connection [0-9]+: nothing" \
	'an account that may see it is told who holds it'
"$top/scripts/sandbox" mysql --execute="$(sed 's/GRANT/REVOKE/; s/ TO / FROM /' <<<"$grant")"
script --quiet --return --command "disposition --user race-1 --task $task --loan $both --complete \
	--timeout 3" /dev/null >"$scratch/typed" </dev/null
like "$(tr '\r' '\n' <"$scratch/typed")" \
	"trying again: $held" 'a line on a terminal tells so'
hang_up other

say other "LOCK TABLES work WRITE"
said other
bounded 2 disposition --user race-1 --task $task --loan "$both" --complete --timeout 2
is "$status:$in_time" 3:yes 'the table is locked: exit 3 in time'
like "$err" '^disposition: another session holds what this needs: nothing was changed' \
	'with a line that tells so'
hang_up other

say other "BEGIN; SELECT 1 FROM work WHERE task_id = $task AND loan_id = ${loans[1]} FOR UPDATE"
said other
disposition --user race-1 --task $task --loan "$both" --complete >"$scratch/later" 2>&1 &
later=$!
until_waiting 1
hang_up other
wait "$later"
is "$?:$(states)" 0:completed,completed 'when the row is free again, it is done'

finish
