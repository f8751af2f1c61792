#!/usr/bin/env bash
# The noun of a task stands in what getwork, checkwork and disposition tell people, and not in JSON.
# managetask set refuses what is none.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=232 other=233
make_task "$task" 9 0
make_task "$other" 9 0
make_users 2
sql "UPDATE test_loan_$task SET line = loan_id"
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'forget_task "$task"; forget_task "$other"; forget_users' EXIT

# noun WORDS
noun() {
	run managetask set "$task" --noun "$1" --by marcus --unchecked
}

for wrong in '' / entry/ /entries entry/entries/x a$'\t'b abcdefghijklmnopqrstuvwxyzabcdefg; do
	noun "$wrong"
	is "$status" 2 "'$wrong' is no noun"
done
noun ticket
is "$status" 0 'managetask set --noun'
run managetask show "$task" --json
is "$(jq -r .noun <<<"$out")" ticket 'managetask show --json'

run getwork --user race-1 --task "$task" --count 2
like "$out" '^\| ticket ' 'getwork: the heading of the table'
like "$out" '2 of 2 tickets for race-1' 'getwork: several'
run getwork --user race-1 --task "$task"
like "$out" '1 of 1 ticket for race-1' 'getwork: one'
run getwork --user race-1 --task "$task" --json
is "$(jq -c 'has("loans")' <<<"$out")" true 'getwork --json has the keys that it always has'
run checkwork --user race-1
like "$out" '4 tickets$' 'checkwork: all loans are of that task'
run checkwork --user race-2 --task "$task"
like "$out" "^race-2's pipeline has no ticket of task $task" 'checkwork: none of that task'
run checkwork --loan 77 --task "$task"
like "$out" "no record of ticket 77:" 'checkwork --loan'
run checkwork --loan 1
like "$out" "^Ticket 1 - task $task" 'checkwork --loan: the heading of a history'
run managetask release --task "$task" --loan 77 --by marcus --reason why
is "$err" "managetask: ticket 77 was never assigned in task $task" 'managetask release'
run disposition --user race-1 --task "$task" --loan 1 --complete
is "$out" 'ticket 1: completed' 'disposition'
run disposition --user race-2 --task "$task" --loan 2 --complete
like "$err" '^disposition: ticket 2 is not yours: ' 'disposition: what is refused'
run disposition --user race-2 --task "$task" --loan 2 --complete --json
is "$(jq -c '[.loan_id, .result]' <<<"$out")" '[2,"not_yours"]' 'disposition --json'
getwork --user race-1 --task "$other" >/dev/null
run checkwork --user race-1
like "$out" '4 loans in 2 tasks' 'checkwork: of two tasks they are loans'
run managetask set "$other" --noun ticket --by marcus --unchecked
run checkwork --user race-1
like "$out" '4 tickets in 2 tasks' 'checkwork: of two tasks that call them the same they are that'
run managetask set "$other" --noun none --by marcus --unchecked

run lockqstat --task "$task"
like "$out" '^\| assigned +\| [0-9]+ tickets, ' 'lockqstat --task: the figures'
like "$out" '\| tickets from ' 'and the heading of its leaders'
run lockqstat --task "$task" --json
is "$(jq -c 'has("loans")' <<<"$out")" true 'lockqstat --json has the keys that it always has'
run managetask urgent "$task" --loan 9 --by marcus --reason why
run managetask show "$task"
like "$out" '^1 urgent ticket waits to be given first' 'managetask show'
run managetask remove "$task" --by marcus
like "$err" "[0-9]+ tickets of task $task are assigned" 'managetask remove, a text of the library'
run managetask release --from race-2 --all --task "$task" --by marcus --reason why
is "$out" 'race-2 has no tickets' 'managetask release --all'
reports=$(mktemp -d)
lockqstat --report "$reports" --task "$task"
section=$(sed -n '/<section/,$p' "$reports/lockq.html" | sed 's/ class="[^"]*"//g')
like "$section" '<dt>Tickets given</dt>' "lockqstat --report: the task's section"
is "$(grep -iw 'loans\?' <<<"$section")" '' 'and the whole of it'
rm -rf "$reports"
uuid=$(cat /proc/sys/kernel/random/uuid)
getwork --user race-2 --task "$task" --count 1 --uuid "$uuid" >/dev/null
run getwork --user race-2 --task "$task" --count 2 --uuid "$uuid"
like "$err" "was used to ask for 1 ticket of task $task" 'a UUID that was used'

noun entry/entries
run getwork --user race-2 --task "$task" --count 2
like "$out" '2 of 2 entries for race-2' 'a plural of its own'
noun none
run getwork --user race-2 --task "$task"
like "$out" '1 of 1 loan for race-2' 'without a noun they are loans'

# Somebody has written it by SQL.
sql "UPDATE task SET noun = CONCAT(CHAR(27 USING utf8mb4), '[31mred') WHERE task_id = $task"
run checkwork --user race-1 --task "$task"
like "$out" '\| \\x1b\[31mred ' 'a heading has no control character'
finish
