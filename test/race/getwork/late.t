#!/usr/bin/env bash
# A getwork that starts just as a leader commits runs no query for nothing: the leader serves it, or
# else its own query does. In each round others start about the moment of the first one's commit.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

# The last round's query took so many milliseconds, which differs from machine to machine.
task=202 rounds=${LOCKQ_LATE_ROUNDS:-40} late=4 query_ms=40
make_task "$task" 20000 20
make_users $((late + 1))
answers=$(mktemp -d)
trap 'forget_task "$task"; forget_users; rm -rf "$answers"' EXIT

bad_exits=0
for ((round = 1; round <= rounds; round++)); do
	pids=()
	for ((i = 1; i <= late + 1; i++)); do
		if [ "$i" -ne 1 ]; then
			delay=$((RANDOM % (query_ms * 3 / 4 + 2)))
			printf -v delay '%d.%03d' $((delay / 1000)) $((delay % 1000))
			sleep "$delay"
		fi
		getwork --user "race-$i" --task "$task" --json >"$answers/$round-$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || bad_exits=$((bad_exits + 1))
	done
	[[ ! $(cat "$answers/$round-1") =~ \"query_ms\":([1-9][0-9]*) ]] ||
		query_ms=${BASH_REMATCH[1]}
done
is "$bad_exits" 0 "$((rounds * (late + 1))) getwork, late by a little: all exit with 0"
is "$(sql "SELECT COUNT(*) FROM leader_run
            WHERE task_id = $task AND query_ms IS NOT NULL AND requests = 0")" 0 \
	'no query ran that served nobody'
is "$(sql "SELECT COUNT(*) FROM leader_run AS l
            WHERE l.task_id = $task AND l.query_ms IS NOT NULL AND NOT EXISTS (
              SELECT 1 FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id
               WHERE r.task_id = l.task_id AND r.epoch = l.epoch AND u.name = l.user)")" 0 \
	'each leader was served by its own query'
is "$(given_twice "$task")" 0 'no loan was given twice'
waits=$(cat "$answers"/* |
	jq -s '[.[] | select((.led | not) and (.query_ms == null or .waited_ms < .query_ms / 2))]
	       | length')
ok $((waits > 0 ? 0 : 1)) \
	"$waits came as a query ended, or just after, and were served without a query of their own"
finish
