#!/usr/bin/env bash
# Who starts just as a round ends finds itself served and does not run the query again for nothing.
# A few hundred rounds of one leader and late starters around the moment of its commit.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

task=202 rounds=${LOCKQ_LATE_ROUNDS:-200} late=4
make_task "$task" 20000 20
make_users $((late + 1))
answers=$(mktemp -d)
trap 'forget_task "$task"; forget_users; rm -rf "$answers"' EXIT

bad_exits=0
for ((round = 1; round <= rounds; round++)); do
	pids=()
	for ((i = 1; i <= late + 1; i++)); do
		# The query takes some 40 ms, starting a process 5: these arrive around its end.
		[ "$i" -eq 1 ] || sleep "0.0$((RANDOM % 3))$((RANDOM % 10))"
		getwork --user "race-$i" --task "$task" --json >"$answers/$round-$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || bad_exits=$((bad_exits + 1))
	done
done
is "$bad_exits" 0 "$((rounds * (late + 1))) getwork, late by a little: all exit with 0"
is "$(sql "SELECT COUNT(*) FROM leader_run
            WHERE task_id = $task AND query_ms IS NOT NULL AND requests = 0")" 0 \
	'no query ran that served nobody'
is "$(sql "SELECT COUNT(*) FROM leader_run AS l
            WHERE l.task_id = $task AND l.query_ms IS NOT NULL AND NOT EXISTS (
              SELECT 1 FROM work_requested AS r JOIN app_user AS u ON u.user_id = r.user_id
               WHERE r.task_id = l.task_id AND r.epoch = l.epoch AND u.name = l.user)")" 0 \
	'each leader was served by its own query: it was still wanted when it began'
is "$(given_twice "$task")" 0 'no loan was given twice'
waits=$(cat "$answers"/* |
	jq -s '[.[] | select((.led | not) and (.query_ms == null or .waited_ms < .query_ms / 2))]
	       | length')
ok $((waits > 0 ? 0 : 1)) \
	"the moment was hit: $waits came as somebody's query ended, or just after, and were served"
finish
