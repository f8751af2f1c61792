#!/usr/bin/env bash
# Binlog.pm and commits: what they read in the binary log of a real server, done again from nothing,
# makes the rows that the server's tables have. What they can't read they refuse.
set -u

scratch=$(mktemp -d)
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
# shellcheck source=test/history/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=scripts/signals.sh
. "$top/scripts/signals.sh"

task=9301
tables='task task_lock work_requested work work_log leader_run kept_list kept_loan work_exclusion
	manage_log'

tidy_up() {
	sql 'DROP DATABASE IF EXISTS lockq_other'
	forget_all
}
trap tidy_up EXIT
end_on_signals

# table_rows TABLE: its rows of the task as JSON, as the server tells them.
table_rows() {
	sql "SELECT CONCAT('SELECT JSON_OBJECT(',
	            GROUP_CONCAT('''', column_name, ''', ',
	              IF(data_type = 'json', CONCAT('CAST(', column_name, ' AS CHAR)'), column_name)
	              ORDER BY ordinal_position), ') FROM $1 WHERE task_id = $task')
	       FROM information_schema.columns
	      WHERE table_schema = 'lockq' AND table_name = '$1'" >"$scratch/select"
	sql "$(cat "$scratch/select")" | sed 's/\\\\/\\/g' | jq -cS . | sort
}

# replayed_rows TABLE: the same from the log. A row's key is the same before and after each change.
replayed_rows() {
	jq -cS -n --arg table "$1" --argjson task "$task" '
		def key: [.request_id // "", .log_id // "", .manage_id // "", .loan_id // "",
		          .epoch // "", .user_id // "", .position // ""]
		    | if $table == "work" or $table == "work_exclusion" then [.[3]]
		      elif $table == "task" or $table == "task_lock" then []
		      elif $table == "work_requested" then [.[0]]
		      elif $table == "work_log" then [.[1]]
		      elif $table == "manage_log" then [.[2]]
		      elif $table == "kept_loan" then [.[4], .[6]] else [.[4]] end | tostring;
		reduce (inputs.changes[] | select(.table == $table and
		                                  (.row // .was).task_id == $task)) as $c ({};
			if $c.do == "insert" then
			  if has($c.row | key) then error("inserted twice")
			  else .[$c.row | key] = $c.row end
			elif .[$c.was | key] != $c.was then error("was another row")
			elif $c.do == "update" then .[$c.row | key] = $c.row
			else del(.[$c.was | key]) end)
		| .[]' "$scratch/commits" | sort
}

read_log() {
	mapfile -t logs < <(logs_from "$first_log")
	"$top/test/history/commits" --columns "$scratch/columns" "$@" "${logs[@]}"
}

# --- a history with all that a value can be ------------------------------------------------------

forget_task "$task"
sql "DELETE FROM manage_log WHERE task_id = $task; DELETE FROM task_lock WHERE task_id = $task"
binlog_begins
make_task "$task" 60 1
make_users 4
sql "UPDATE task SET cache_ttl = 600, max_count = 5 WHERE task_id = $task"
note=$'it\'s "so" \\ and\nnew\tline \x01 NULL é'
loans=$(getwork --user race-1 --task "$task" --count 5 --json | jq -r '.loans[].loan_id')
read -r -d '' one two three _ <<<"${loans//$'\n'/ }"
getwork --user race-2 --task "$task" --count 3 --json >/dev/null
disposition --user race-1 --task "$task" --loan "$one" --return-after 2h --not-me --note "$note" \
	--json >/dev/null
disposition --user race-1 --task "$task" --loan "$two" --complete --note NULL --json >/dev/null
managetask release --task "$task" --loan "$three" --manager boss --reason "$note" --json \
	>"$scratch/released" 2>&1
managetask set "$task" --max-count 4 --manager boss >/dev/null
sql "SET SESSION binlog_transaction_compression = ON;
     INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version, request_id,
                           at)
       SELECT $task, 18446744073709551615, 'never', user_id, 'test', 9223372036854775808, 1, 1,
              '2026-01-02 03:04:05.000006' FROM app_user WHERE name = 'race-1'"
# None of these is a change of lockq's tables that was committed.
sql "CREATE DATABASE lockq_other; CREATE TABLE lockq_other.work LIKE work;
     INSERT INTO lockq_other.work (task_id, loan_id, user_id, state, token, version, request_id,
                                   assigned_at, changed_at)
       SELECT task_id, loan_id, user_id, state, 77, version, request_id, assigned_at, changed_at
         FROM work WHERE task_id = $task"
sql "START TRANSACTION; UPDATE work SET token = 77 WHERE task_id = $task; ROLLBACK"
sql "UPDATE test_loan_$task SET line = line + 1; ALTER TABLE work_log COMMENT '
COMMIT
### INSERT INTO';
     ALTER TABLE work_log COMMENT ''"
columns_now "$scratch/columns"

run read_log
is "$status" 0 'the log is read'
printf '%s\n' "$out" >"$scratch/commits"
for table in $tables; do
	table_rows "$table" >"$scratch/is"
	replayed_rows "$table" >"$scratch/read"
	if [ -s "$scratch/is" ] && cmp -s "$scratch/is" "$scratch/read"; then
		ok 0 "$table: the log makes the rows of the table"
	else
		ok 1 "$table: the log makes the rows of the table"
		diff "$scratch/is" "$scratch/read" | head -n 20 >&2
	fi
done
like "$out" '"loan_id":18446744073709551615,.*"token":9223372036854775808,' \
	'an unsigned number is not a negative one'
is "$(jq -r '.changes[] | select(.table == "work" and .do == "update").row.note // empty' \
	"$scratch/commits" | head -n 2)" "$note" 'a note has all its characters'
is "$(grep -c '"token":77' "$scratch/commits")" 0 \
	'what was rolled back, or is of another database, is left out'
is "$(jq -r 'select(.changes == []) | .gtid' "$scratch/commits")" '' 'no transaction is empty'

# --- one after the other -------------------------------------------------------------------------

is "$(jq -s '(map(.gtid) | length == (unique | length)) and (map(.at) | . == sort)' \
	"$scratch/commits")" true 'each transaction is there once, in the order of the commits'
is "$(jq -s "map(select(any(.changes[]; .table == \"leader_run\" and .row.task_id == $task))
	| [.changes[].table] | index(\"task_lock\") != null) | unique" -c \
	"$scratch/commits")" '[true]' \
	'the changes of one transaction stand together'
sql 'FLUSH BINARY LOGS'
getwork --user race-3 --task "$task" --json >/dev/null
run read_log
is "$(head -n "$(wc -l <"$scratch/commits")" <<<"$out")" "$(cat "$scratch/commits")" \
	'a second file goes on where the first has ended'
like "$(tail -n 1 <<<"$out")" '"event":"assigned"' 'and so does one that is still written'
run read_log --tables work
is "$(jq -r '.changes[].table' <<<"$out" | sort -u)" work 'only what was asked for is told'

# --- what can't be read --------------------------------------------------------------------------

sql "SET SESSION binlog_row_image = MINIMAL; UPDATE work SET note = 'x' WHERE task_id = $task"
run read_log
like "$status $err" '^1 commits: work has other columns now, or .* binlog_row_image=FULL' \
	'rows that are not whole are refused'
file=$(logs_from "$first_log" | head -n 1)
head -c 3000 "$file" >"$scratch/short"
perl -e 'local $/; $_ = <STDIN>; substr($_, length($_) / 2, 1) ^= "\x55"; print' <"$file" \
	>"$scratch/rotted"
for log in short rotted missing; do
	run "$top/test/history/commits" --columns "$scratch/columns" "$scratch/$log"
	is "$status $(tail -n 1 <<<"$err")" '1 commits: mysqlbinlog failed: exit status 1' \
		"a log that is $log is refused"
done
run "$top/test/history/commits" --columns /dev/null "$file"
is "$status $err" '1 commits: /dev/null: is empty: is there a lockq in this database?' \
	'no columns are refused'
run "$top/test/history/commits" --columns "$scratch/columns"
is "$status $err" '2 commits: no file of a binary log is named: see commits --help' \
	'a usage error is one line'
run "$top/test/history/commits" --help
is "$status $err" '0 ' '--help'
finish
