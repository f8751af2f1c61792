#!/usr/bin/env bash
# Six users ask for two tasks with the same loans, and complete what they get: the second look, and
# the first, are by another person, since each task names the other one. The log is the judge: no
# loan was given to the user who had completed it in the other task, whether by a leader or from a
# kept list. A user has several processes, so completions and assignments meet.
#   LOCKQ_EYES_ROUNDS  how often each process asks (default: 3)
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

first=230 second=231 users=3 loans=10 rounds=${LOCKQ_EYES_ROUNDS:-3}
for task in "$first" "$second"; do
	make_task "$task" "$loans" 0
done
make_users "$users"
sql "UPDATE task SET not_same_user_as = $((first + second)) - task_id, max_count = 3
      WHERE task_id IN ($first, $second);
     UPDATE task SET cache_ttl = 60 WHERE task_id = $second"
scratch=$(mktemp -d)
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'forget_task "$first"; forget_task "$second"; forget_users; rm -rf "$scratch"' EXIT

# work_as USER TASK: asks, and completes, or returns one in four. With a list, or with a query.
work_as() {
	local i loan what
	for ((i = 0; i < rounds; i++)); do
		for loan in $(getwork --user "$1" --task "$2" --count 3 --timeout 20 --json |
			jq '.loans[]?.loan_id'); do
			what=(--complete)
			((RANDOM % 4)) || what=(--return-after 0)
			disposition --user "$1" --task "$2" --loan "$loan" "${what[@]}" >/dev/null
		done
	done
}

for ((i = 1; i <= users; i++)); do
	for task in "$first" "$second"; do
		work_as "race-$i" "$task" 2>"$scratch/errors-$i-$task" &
	done
done
wait
for task in "$first" "$second"; do
	ok $(($(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $task
		AND event = 'completed'") > 5 ? 0 : 1)) "task $task: loans were completed"
	is "$(given_twice "$task")" 0 "task $task: no loan was given twice"
	is "$(replay "$task" 'SET @replay_rules = 1' | head -n 5)" '' \
		"task $task: the log replays, and each look is by another user"
done
is "$(sql "SELECT COUNT(*) FROM work_log AS g JOIN work_log AS d
	   ON d.task_id = $((first + second)) - g.task_id AND d.loan_id = g.loan_id
	  AND d.user_id = g.user_id AND d.event = 'completed' AND d.log_id < g.log_id
	WHERE g.task_id IN ($first, $second) AND g.event = 'assigned'")" 0 \
	'no loan was given to the user who had completed it in the other task'
is "$(sort -u "$scratch"/errors-* | grep -v 'nothing for\|no work' | head -n 5)" '' 'nothing failed'
finish
