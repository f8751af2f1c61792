#!/usr/bin/env bash
# People ask and dispose, others begin changes and take them back, while a process that follows the
# changes is killed and started again and again; sometimes there are two. Afterwards the lines that
# they wrote are compared with the log: each change at least once, those of a loan in the order of
# their versions, none that was taken back, and none again that was acknowledged.
# Then many sessions insert single rows as fast as they can, and none is left out.
#
#   LOCKQ_FOLLOW_KILLS   how often (15; make check-long has 1000)
#   LOCKQ_FOLLOW_ROWS    rows of each session at the end (100; make check-long has 5000)
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

task=244 gone=245 loans=60 cursor=test-race
kills=${LOCKQ_FOLLOW_KILLS:-15} rows=${LOCKQ_FOLLOW_ROWS:-100}
scratch=$(mktemp -d)
clean_up() {
	touch "$scratch/stop"
	wait
	sql "DELETE FROM follow_cursor WHERE name = '$cursor';
	     DELETE FROM work_log WHERE task_id = $gone"
	forget_all
}
trap clean_up EXIT
make_task "$task" "$loans" 0
make_users 4
sql "UPDATE task SET max_count = 20, cache_ttl = 600 WHERE task_id = $task;
     DELETE FROM follow_cursor WHERE name = '$cursor'"
run lockqstat --follow "$cursor" --from-now --until-now
is "$status:$out" 0: 'a new cursor that begins now has nothing to deliver'
start=$(sql "SELECT position FROM follow_cursor WHERE name = '$cursor'")

# --- people at work -------------------------------------------------------------------------------

works() {
	local mine i=0
	while [ ! -e "$scratch/stop" ]; do
		mine=$(getwork --user "race-$1" --task "$task" --count 6 --json 2>>"$scratch/err" |
			jq -r '[.loans[] | "\(.loan_id):\(.token)"] | join(",")')
		[ -n "$mine" ] || continue
		if (((i += 1) % 3 == 0)); then
			disposition --user "race-$1" --task "$task" --loan "$mine" --complete
		else
			disposition --user "race-$1" --task "$task" --loan "$mine" --return-after 0
		fi >>"$scratch/out" 2>>"$scratch/err" || echo "disposition: $?" >>"$scratch/failed"
	done
}

# Numbers that are skipped, and rows that are never committed.
takes_back() {
	local i
	for ((i = 0; ; i++)); do
		[ ! -e "$scratch/stop" ] || return 0
		printf 'SET auto_increment_increment = %d; START TRANSACTION;
			INSERT INTO work_log (task_id, loan_id, event, user_id, account, token,
			                      version, request_id, at)
			  VALUES (%d, %d, "assigned", 1, "x", 1, 1, 1, NOW(6)),
			         (%d, %d, "returned", 1, "x", 1, 2, 1, NOW(6));
			DO SLEEP(0.002); ROLLBACK;\n' $((i % 3 * 3 + 1)) $gone $i $gone $i
		sleep 0.005
	done | sql_stream
}
sql_stream() {
	"$top/scripts/sandbox" mysql --database=lockq >>"$scratch/out" 2>>"$scratch/err" ||
		echo "mysql: $?" >>"$scratch/failed"
}

: >"$scratch/failed"
works 1 &
works 2 &
works 3 &
takes_back &

# --- those who follow -----------------------------------------------------------------------------

# follows ROUND NAME: writes what it delivers to a file of its own, until it is killed.
follows() {
	lockqstat --follow "$cursor" --batch $((RANDOM % 9 + 1)) >"$scratch/lines-$1-$2" \
		2>>"$scratch/err-follow" &
	pid=$!
}

# What is acknowledged when a round begins.
note_position() {
	sql "SELECT $k, position FROM follow_cursor WHERE name = '$cursor'" >>"$scratch/positions"
}

for ((k = 10001; k <= 10000 + kills; k++)); do
	note_position
	follows "$k" a
	pids=("$pid")
	if ((k % 4 == 0)); then
		follows "$k" b
		pids+=("$pid")
	fi
	printf -v after '0.%03d' $((RANDOM % 40 + 5))
	sleep "$after"
	kill -KILL "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
done
touch "$scratch/stop"
wait
note_position
lockqstat --follow "$cursor" --until-now >"$scratch/lines-$k-a" 2>>"$scratch/err-follow"
is "$?" 0 'the last one ends when all is delivered'

# --- what they delivered --------------------------------------------------------------------------

is "$(cat "$scratch/failed")" '' 'nobody met an error'
is "$(cat "$scratch/err-follow")" '' 'nor did those who follow'
# A line that was cut by the end of its process is no change.
for file in "$scratch"/lines-*; do
	echo >>"$file"
done
jq -rR '(input_filename | match("lines-([0-9]+)").captures[0].string) as $round | fromjson? |
	[$round, .log_id, .task, .loan_id, .version, .event] | @tsv' "$scratch"/lines-* \
	>"$scratch/delivered"
sql "SELECT log_id FROM work_log WHERE log_id > $start ORDER BY log_id" >"$scratch/logged"
cut -f 2 "$scratch/delivered" | sort -nu >"$scratch/unique"
is "$(diff "$scratch/logged" "$scratch/unique" | head -n 5)" '' \
	"all $(wc -l <"$scratch/logged") changes were delivered, and no others"
is "$(awk -v gone=$gone '$3 == gone' "$scratch/delivered" | head -n 1)" '' \
	'none that was taken back'
# Of two at once nobody knows whose line came first, but for their numbers.
is "$(sort -s -k 1,1n -k 2,2n "$scratch/delivered" | awk '
	seen[$2]++ { next }
	$6 != "available" && $5 != last[$4] + 1 && last[$4] {
		print "loan", $4, "version", $5, "after", last[$4] }
	$6 != "available" { last[$4] = $5 }' | head -n 5)" '' \
	'those of a loan came in the order of their versions'
is "$(awk 'NR == FNR { position[$1] = $2; next }
	$2 <= position[$1] { print $2, "again in", $1 }' "$scratch/positions" \
	"$scratch/delivered" | head -n 5)" '' 'none that was acknowledged came again'
again=$(($(wc -l <"$scratch/delivered") - $(wc -l <"$scratch/unique")))
echo "# $kills kills, $(wc -l <"$scratch/logged") changes, $again came again"

# --- many at once ---------------------------------------------------------------------------------

# A session may lose the processor between the moment in which it gets a number and the one in
# which it inserts the row: of 12,000 rows a feed that passes missing numbers at once leaves out
# some.
for ((i = 1; i <= rows; i++)); do
	printf 'INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,
		request_id, at) VALUES (%d, %d, "assigned", 1, "x", 1, 1, 1, NOW(6));\n' $gone $i
done >"$scratch/rows.sql"
start=$(sql 'SELECT MAX(log_id) FROM work_log')
lockqstat --follow "$cursor" >"$scratch/lines" 2>>"$scratch/err-follow" &
pid=$!
pids=()
for ((i = 1; i <= 8; i++)); do
	sql_stream <"$scratch/rows.sql" &
	pids+=($!)
done
wait "${pids[@]}"
await "SELECT position = (SELECT MAX(log_id) FROM work_log) FROM follow_cursor
        WHERE name = '$cursor'" 1
kill "$pid"
wait "$pid"
sql "SELECT log_id FROM work_log WHERE log_id > $start ORDER BY log_id" >"$scratch/logged"
is "$(wc -l <"$scratch/logged"):$(cat "$scratch/failed")" $((8 * rows)): 'many insert at once'
is "$(jq -r .log_id "$scratch/lines" | diff "$scratch/logged" - | head -n 5)" '' \
	'each row was delivered once, in order'
finish
