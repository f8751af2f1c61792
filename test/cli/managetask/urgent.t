#!/usr/bin/env bash
# managetask urgent: which loans it has offered before all others, what it refuses, how it is taken
# back, and what managers and their log are told of it.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=229
make_task "$task" 30 0
make_users 3
# The order of the view is that of the numbers.
sql "UPDATE test_loan_$task SET line = loan_id;
     UPDATE task SET max_count = 30 WHERE task_id = $task"
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'forget_task "$task"; forget_users' EXIT

# urge ARGUMENT...: by marcus.
urge() {
	run managetask urgent "$task" "$@" --by marcus
}
# given USER COUNT: the loans that the user gets.
given() {
	getwork --user "race-$1" --task "$task" --count "$2" --json |
		jq -r '[.loans[].loan_id] | join(" ")'
}
# log: what managers did last.
log() {
	sql "SELECT manager, action, task_id, after_it, reason FROM manage_log
	      WHERE task_id = $task ORDER BY manage_id DESC LIMIT 1" | tr '\t' ' '
}

while IFS= read -r arguments; do
	# shellcheck disable=SC2086 # words, on purpose
	run managetask urgent $arguments --by marcus </dev/null
	is "$status" 2 "'$arguments': exit 2"
done <<'END'
229 --reason why
229 12
229 12 13 --reason why
229 x --reason why
--loan 12 --reason why
END
run managetask urgent 4711 12 --by marcus --reason why
is "$status" 4 'an unknown task is refused'

urge 20,21 --reason 'the customer waits'
is "$status:$out" "0:loan 20: is offered next, if the view of task $task shows it
loan 21: is offered next, if the view of task $task shows it" 'two loans become urgent'
is "$(log)" "marcus loans urgent $task {\"loans\": [20, 21]} the customer waits" \
	'the log of managers'
urge 20 --reason 'again'
is "$status:$out" "0:loan 20: is offered next already, if the view of task $task shows it" \
	'once more'
is "$(sql "SELECT COUNT(*) FROM task_touched WHERE task_id = $task")" 2 'that is noted once'
run managetask show "$task"
like "$out" '2 urgent loans wait to be given first' 'managetask show tells how many wait'
run managetask show "$task" --json
is "$(jq .urgent <<<"$out")" 2 'managetask show --json'
run checkwork --tasks --user race-1 --json
is "$(jq "select(.task == $task).urgent" <<<"$out")" 2 'checkwork --tasks --json'
is "$(given 1 3)" '20 21 1' 'they come first, without a kept list'
urge 20 --reason why
is "$status" 4 'a loan that somebody has is refused'
like "$err" "^managetask: loan 20 was not put first: assigned to \"race-1\" since " 'and who has it'
urge 20 --reason why --json
is "$(jq -c '[.loan_id, .result, .holder, .exit]' <<<"$out")" '[20,"not_yours","race-1",4]' '--json'
run managetask show "$task" --json
is "$(jq .urgent <<<"$out")" 0 'what was given does not wait any more'
disposition --user race-1 --task "$task" --loan 20 --complete >/dev/null
urge 20 --reason why
like "$status:$out" "^0:loan 20: is offered next, if .* shows it: completed by \"race-1\" at " \
	'of a completed loan it is told'
urge 20 --withdraw
is "$status:$out" '0:loan 20: comes in its turn' '--withdraw'
is "$(log)" "marcus loans not urgent $task {\"loans\": [20]} NULL" \
	'the log of managers has that, too'
urge 20 --withdraw
like "$status:$out" '^0:loan 20: not urgent: completed by "race-1" at ' '--withdraw again'
disposition --user race-1 --task "$task" --loan 21 --never >/dev/null
urge 21 --reason why
is "$status:$err" '4:managetask: loan 21 was not put first: it is never to be offered again' \
	'a loan that is never to be offered is refused'

# --- with a kept list: race-2 puts them before it, and may not have them ---

sql "UPDATE task SET cache_ttl = 300 WHERE task_id = $task;
     INSERT INTO work_exclusion (task_id, user_id, loan_id, until)
       SELECT $task, user_id, loan_id, NOW(6) + INTERVAL 1 DAY
         FROM app_user JOIN test_loan_$task
        WHERE name = 'race-2' AND loan_id IN (25, 26)"
is "$(given 3 1)" 2 'a leader leaves a list'
urge 25,26 --reason why
is "$(given 2 1)" 3 'a user who may not have them gets the next one'
is "$(sql "SELECT loan_id FROM kept_loan WHERE task_id = $task ORDER BY position LIMIT 3")" '25
26
4' 'and puts them before the list'
urge 25 --withdraw
is "$(sql "SELECT loan_id FROM kept_loan WHERE task_id = $task
	    ORDER BY position DESC LIMIT 1")" 25 'one that is withdrawn goes to the end of the list'
is "$(sql "SELECT length - (SELECT COUNT(*) FROM kept_loan AS k
	                      WHERE k.task_id = l.task_id AND k.epoch = l.epoch)
	       FROM kept_list AS l WHERE task_id = $task")" 2 'and is counted there'
is "$(given 3 2)" '26 4' 'it does not come first any more'
is "$(given 1 30)" "$(seq -s " " 5 20) 22 23 24 27 28 29 30 25" 'and is given in the end'

# --- many: the urgent ones are read once, and not once for each that is named ---

seq 1001 1400 | urge --loan - --reason why
is "$status" 0 'many loans become urgent'
read -r named read <<<"$(sql "SET @loans = (SELECT JSON_ARRAYAGG(JSON_ARRAY(loan_id))
	FROM task_touched WHERE task_id = $task);
	SELECT JSON_LENGTH(@loans);
	CALL manage_urgent_2('marcus', $task, @loans, TRUE, NULL);
	SELECT SUM(variable_value) FROM performance_schema.session_status
	 WHERE variable_name LIKE 'Handler_read%'" | sed -n '1p;$p' | paste -sd' ')"
ok "$((named >= 400 && read < named * 50 ? 0 : 1))" "$named are withdrawn: $read rows are read"
is "$(replay "$task")" '' 'the log replays to the table'
finish
