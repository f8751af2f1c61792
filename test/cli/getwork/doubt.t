#!/usr/bin/env bash
# The connection is lost at COMMIT. The programs find out whether it was done, or end with status 6.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=226
# shellcheck disable=SC2154 # tap.sh sets top
fault=${LOCKQ_BUILD:-$top/build}/test/fault/lost_commit.so
make_task "$task" 40 0
make_users 5
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'forget_task "$task"; forget_users' EXIT

with_fault() {
	local how=$1
	shift
	run env LOCKQ_FAULT="$how" LD_PRELOAD="$fault" "$@"
}
loans_of() {
	sql "SELECT COUNT(*) FROM work AS w JOIN app_user AS u ON u.user_id = w.user_id
	      WHERE w.task_id = $task AND w.state = '$2' AND u.name = '$1'"
}

with_fault reply getwork --user race-1 --task "$task" --count 3 --json
is "$status:$(jq -c '[.status, (.loans | length)]' <<<"$out")" '0:["served",3]' \
	'getwork, the reply to COMMIT is lost: it finds the loans'
is "$(loans_of race-1 assigned)" 3 'they were given once'
with_fault commit getwork --user race-2 --task "$task" --count 3 --json
is "$status:$(jq -c '[.status, (.loans | length)]' <<<"$out")" '0:["served",3]' \
	'getwork, the COMMIT never arrives: it asks again'
is "$(loans_of race-2 assigned)" 3 'the loans were given once'
like "$(jq .retries <<<"$out")" '^[1-9]' 'it counts as tried again'
with_fault server getwork --user race-3 --task "$task" --count 3 --timeout 1
is "$status" 6 'getwork, the server is gone after COMMIT: exit 6'
like "$err" 'outcome unknown' 'it says that the outcome is unknown'
like "$err" 'checkwork --user race-3' 'and tells how to find out'
is "$(loans_of race-3 assigned)" 3 'the loans are there'
with_fault server getwork --user race-4 --task "$task" --timeout 1 --json
is "$status:$(jq -c '[.status, .exit]' <<<"$out")" '6:["unknown",6]' 'the same in JSON'

loan=$(checkwork --user race-1 --task "$task" --json | head -n 1 | jq .loan_id)
with_fault reply disposition --user race-1 --task "$task" --loan "$loan" --complete
is "$status:$out" "0:loan $loan: completed" \
	'disposition, the reply is lost: it finds the loan completed'
is "$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task AND loan_id = $loan
            AND event = 'completed'")" 1 'the log has it once'
loan=$(checkwork --user race-2 --task "$task" --json | head -n 1 | jq .loan_id)
with_fault commit disposition --user race-2 --task "$task" --loan "$loan" --never
is "$status:$out" "0:loan $loan: set to never" \
	'disposition, the COMMIT never arrives: it does it again'
loan=$(checkwork --user race-3 --task "$task" --json | head -n 1 | jq .loan_id)
with_fault server disposition --user race-3 --task "$task" --loan "$loan" --complete
is "$status" 6 'disposition, the server is gone after COMMIT: exit 6'

sql "UPDATE task SET cache_ttl = 60, complete_hold = 3600 WHERE task_id = $task"
run getwork --user race-5 --task "$task" --json
loan=$(jq .loans[0].loan_id <<<"$out")
with_fault pop getwork --user race-5 --task "$task" --complete "$loan" --count 2 --json
is "$status:$(jq -c '[.exit, has("loans")]' <<<"$out")" '6:[6,false]' \
	'getwork --complete, the server is gone after the commit of both: exit 6'
like "$err" "may have been given, too: that command gives them, or asks for them now" \
	'it says that the next loans may have been given'
again=$(jq -r .error <<<"$out" | sed -n 's/.*: run the same command again, with //p')
# shellcheck disable=SC2086 # two words
run getwork --user race-5 --task "$task" --complete "$loan" --count 2 --json $again
is "$status:$(jq -cs '[.[0].result, .[1].repeated, (.[1].loans | length)]' <<<"$out")" \
	'0:["already",true,2]' 'run again as the error says: it is completed, and the two are there'
is "$(loans_of race-5 assigned)" 2 'they were given once'
finish
