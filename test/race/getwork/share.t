#!/usr/bin/env bash
# Five people ask for five loans each while a query runs that finds ten. Who gets how many is what
# the task's share says.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=247
make_steered "$task" 10
make_users 5
open_gatekeeper
# shellcheck disable=SC2154 # the sourced files set status, out, err and scratch
trap 'end_all; forget_steered "$task"; forget_users; rm -rf "$scratch"' EXIT

# got SHARE: what the five get, in the order in which they asked.
got() {
	local n result=''
	sql "DELETE FROM work_log WHERE task_id = $task; DELETE FROM work WHERE task_id = $task"
	managetask set "$task" --share "$1" >/dev/null
	steer "$task" gated
	shut_gate "$task"
	start one getwork --user race-1 --task "$task" --count 5 --json
	await_leader "$task" race-1
	for n in 2 3 4 5; do
		start "$n" getwork --user "race-$n" --task "$task" --count 5 --json
		await_request "race-$n" "$task"
	done
	open_gate "$task"
	for n in one 2 3 4 5; do
		end "$n"
		result="$result $(jq .assigned <<<"$out")"
	done
	echo "# $1:$result" >&2
	echo "$result"
}
is "$(got order)" ' 5 5 0 0 0' 'in order: who asked first gets all'
is "$(got evenly)" ' 2 2 2 2 2' 'evenly: each gets two'
is "$(got least)" ' 2 2 2 2 2' 'to whoever holds least: where nobody holds any, the same'
is "$(given_twice "$task")" 0 'no loan was given twice'
finish
