#!/usr/bin/env bash
# What operators ask again and again reads as few rows of large tables as of small ones: 10,000,000
# rows of work and of the log, and 1,000,000 requests.
#   LOCKQ_ROWS  how many rows of work (10000000)
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
# shellcheck source=test/support/rows.sh
. "$(dirname "$0")/../support/rows.sh"

rows=${LOCKQ_ROWS:-10000000} task=7 bank=test_rows
scratch=$(mktemp)
cleanup() {
	"$top/scripts/sandbox" mysql --execute="DROP DATABASE IF EXISTS $bank"
	rm -f "$scratch"
}
trap cleanup EXIT
"$top/scripts/sandbox" database $bank >/dev/null 2>&1
ok $? 'a database'
sql_database=$bank
sql "INSERT INTO app_user (name) VALUES ('somebody');
     UPDATE task SET cache_ttl = 600 WHERE task_id = $task"

# reads COMMAND…: how many rows the command reads.
reads() {
	local before
	before=$(rows_read)
	"$@" --database $bank >"$scratch" 2>&1
	echo $(($(rows_read) - before))
}
commands=(lockqstat "lockqstat --task $task" 'lockqstat --health' 'lockqstat --metrics'
	'refill --due')
few=()
add_rows $task 1000
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086 # a command is split into its words
	few+=("$(reads $command)")
done
sql 'DELETE FROM work; DELETE FROM work_requested; DELETE FROM work_log'
add_rows $task "$rows"
is "$(sql 'SELECT COUNT(*) FROM work')" "$rows" "$rows rows of work"
for i in "${!commands[@]}"; do
	# shellcheck disable=SC2086
	many=$(reads ${commands[i]})
	ok $((many < few[i] + 5000 ? 0 : 1)) \
		"${commands[i]} reads $many rows, and with 1,000 it reads ${few[i]}"
done
printf '# lockqstat takes %s s\n' \
	"$(lockqstat --metrics --database $bank | sed -n 's/^lockq_stat_seconds //p')"
finish
