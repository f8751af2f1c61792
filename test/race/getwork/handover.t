#!/usr/bin/env bash
# A request that does not wait, and was told that somebody leads, is served while there are loans
# left, although nobody asks again. Such requests are made about the moment of the leader's commit.
#
#   LOCKQ_HANDOVER_ROUNDS   how often (200)
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=252 late=3 rounds=${LOCKQ_HANDOVER_ROUNDS:-200}
build=${LOCKQ_BUILD:-$top/build}
people=$(((late + 1) * rounds))
make_task "$task" 500 20
make_users $((late + 1))
trap 'forget_task "$task"; forget_users' EXIT

run "$build/test/race/getwork/handover" "$task" race "$late" "$rounds"
is "$status:$err" 0: "$rounds rounds of a leader and of $late who come as it commits"
declare -A n=([served]=0 [busy]=0 [taken]=0 [handed]=0 [left]=1 [other]=1)
while read -r name count; do
	n[$name]=$count
done <<<"$out"
is "${n[other]}" 0 'nothing went wrong'
is "$((n[served] + n[busy]))" $((late * rounds)) \
	"${n[served]} requests are served at once, ${n[busy]} are told that somebody leads"
is "${n[left]}" 0 'none of the latter stays pending'
is "$((n[taken] + n[handed]))" "${n[busy]}" \
	"a round with a query serves ${n[taken]} of them, and ${n[handed]} are handed over"
ok $((n[handed] > 0 ? 0 : 1)) 'some were handed over'
is "$(sql "SELECT COUNT(*), SUM(outcome = 'served') FROM work_requested WHERE task_id = $task")" \
	"$people	$people" 'every request was served'
is "$(given_twice "$task")" 0 'no loan was given twice'
finish
