#!/usr/bin/env bash
# Cron runs beside leaders, beside users who dispose of their loans, and beside other crons, some of
# which are killed. Afterwards the log replays to the table, each change is logged once, and no loan
# has had two owners at once.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=243 loans=60 rounds=${1:-25}
make_task "$task" "$loans" 0
make_users 6
scratch=$(mktemp -d)
trap 'wait; forget_all' EXIT
disposition --expire >/dev/null
sql "UPDATE task SET lease_minutes = 1, max_count = 20 WHERE task_id = $task"

# Ends some leases now, and some holds, which would take minutes.
hurry() {
	sql "UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6)
	      WHERE task_id = $task AND state = 'assigned' AND loan_id % 3 = $1 % 3;
	     UPDATE work SET due_at = NOW(6)
	      WHERE task_id = $task AND state = 'completed' AND loan_id % 5 = $1 % 5"
}

# Any of these commands may be refused; none may meet an error.
check() {
	local status=0
	"$@" >>"$scratch/out" 2>>"$scratch/err" || status=$?
	case $status in
	0 | 1 | 3 | 4) ;;
	*) printf '%s: %s\n' "$*" "$status" >>"$scratch/failed" ;;
	esac
}

# A cron that nobody kills leaves in a file how many milliseconds it took.
expire_alone() {
	local start=${EPOCHREALTIME/./}
	check disposition --expire --batch 7
	echo $(((${EPOCHREALTIME/./} - start) / 1000)) >"$scratch/took.$1"
	mv "$scratch/took.$1" "$scratch/took"
}

# Another one is killed at a moment of that time.
expire_and_die() {
	local cron after status=0
	disposition --expire --batch 3 >>"$scratch/out" 2>&1 &
	cron=$!
	after=$((RANDOM % ($(cat "$scratch/took") + 1)))
	printf -v after '%d.%03d' $((after / 1000)) $((after % 1000))
	sleep "$after"
	kill -KILL "$cron" 2>/dev/null
	wait "$cron" 2>/dev/null || status=$?
	echo "$status" >>"$scratch/killed"
}

dispose_of_some() {
	local mine
	mine=$(checkwork --user "race-$1" --task "$task" --json 2>/dev/null |
		jq -r 'select(.loan_id) | "\(.loan_id):\(.token)"' | head -n 3 | paste -sd,)
	[ -z "$mine" ] || check disposition --user "race-$1" --task "$task" --loan "$mine" "${@:2}"
}

expire_alone 0
for ((round = 1; round <= rounds; round++)); do
	for ((i = 1; i <= 4; i++)); do
		check getwork --user "race-$i" --task "$task" --count 5 --timeout 30 &
	done
	hurry "$round" &
	expire_alone "$round" &
	check disposition --expire --batch 2 &
	expire_and_die &
	dispose_of_some 1 --complete &
	dispose_of_some 2 --return-after 0 &
	dispose_of_some 3 --return-after 1s &
	wait
done
# Leaders may have been faster than cron each time. Nobody asks for these loans any more.
check getwork --user race-5 --task "$task" --count 5 --timeout 30
for ((i = 1; i <= 5; i++)); do
	dispose_of_some "$i" --return-after 1s
done
sleep 1.1
now=$(sql 'SELECT NOW(6)')
check disposition --expire
killed=$(grep -c 137 "$scratch/killed")
ok $((killed > 0 ? 0 : 1)) "of $rounds crons, $killed were killed"

is "$(cat "$scratch/failed" 2>/dev/null)" '' 'no command met an error'
is "$(given_twice "$task")" 0 'no loan was given out while somebody had it'
is "$(sql "SELECT COUNT(*) - COUNT(DISTINCT loan_id, version) FROM work_log
            WHERE task_id = $task AND event <> 'available'")" 0 'each change is logged once'
is "$(sql "SELECT COUNT(*) FROM (
             SELECT version, LAG(version, 1, 0) OVER (PARTITION BY loan_id ORDER BY log_id) AS b
               FROM work_log WHERE task_id = $task AND event <> 'available') AS steps
            WHERE version <> b + 1")" 0 'the log has every version, in order'
is "$(sql "SELECT COUNT(*) FROM work AS w JOIN work_log AS l
               ON l.task_id = w.task_id AND l.loan_id = w.loan_id AND l.version = w.version
              AND l.event <> 'available'
            WHERE w.task_id = $task AND l.user_id = w.user_id AND l.token = w.token
              AND IF(l.event = 'expired', 'returned', l.event) = w.state
              AND l.available_at <=> w.available_at AND l.request_id = w.request_id")" \
	"$(sql "SELECT COUNT(*) FROM work WHERE task_id = $task")" 'the log replays to the table'
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $task AND due_at <= '$now'")" 0 \
	'nothing that was due is left'
is "$(sql "SELECT COUNT(*) > 0 FROM work_log WHERE task_id = $task AND event = 'expired'
              AND token IN (SELECT epoch FROM leader_run WHERE task_id = $task)")" 1 \
	'some leases ended'
is "$(sql "SELECT COUNT(*) > 0 FROM work_log WHERE task_id = $task AND event = 'available'")" 1 \
	'some loans came back'
is "$(sql "SELECT COUNT(*) FROM task_lock WHERE task_id = $task AND holder IS NOT NULL")" 0 \
	'task_lock shows no holder'
finish
