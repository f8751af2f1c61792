#!/usr/bin/env bash
# Many processes wait for one query. All are served from it, even if their leader dies or another
# session keeps a lock, and they send few statements while they wait.
#
#   LOCKQ_HUNDREDS   the number of processes (80; make check-long has 300)
#   LOCKQ_WAIT_S     the seconds in which their statements are counted (30)
set -u
# shellcheck source=test/support/crowd.sh
. "$(dirname "$0")/../../support/crowd.sh"

task=251 many=${LOCKQ_HUNDREDS:-80} wait_s=${LOCKQ_WAIT_S:-30} loans=6000
pids=() limits=''

lift_limits() {
	[ -z "$limits" ] || say limits "SET GLOBAL max_connections = $limits;
		ALTER USER lockq_app@localhost WITH MAX_USER_CONNECTIONS 0"
	limits=
}

clean_up() {
	lift_limits
	end_crowd
	forget_task "$task"
	forget_users
}
trap clean_up EXIT

# ask I ARG…: a getwork of user race-I, in the background.
ask() {
	local i=$1
	shift
	getwork --user "race-$i" --task "$task" --json --timeout 3000 "$@" \
		>"$scratch/answer-$i" 2>"$scratch/errors-$i" &
	pids[i]=$!
}

# followers FROM TO ARG…: starts a getwork of each of these users, and waits until all of them wait.
followers() {
	local i from=$1 to=$2
	shift 2
	for ((i = from; i <= to; i++)); do
		ask "$i" "$@"
	done
	until_waiting $((to - from + 1))
}

# Waits until the heavy query is computing, and not only prepared, or waiting for a table.
until_scanning() {
	until_true "SELECT COUNT(*) > 0 FROM performance_schema.threads AS t
	             WHERE processlist_user = 'lockq_app' AND processlist_state = 'executing'
	               AND $(runs_text '%test_candi%')"
}

# until_leader OPERATOR: waits until somebody leads for whom `holder OPERATOR 'race-1'` is true.
until_leader() {
	until_true "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
		SELECT holder $1 'race-1' FROM task_lock WHERE task_id = $task"
}

# lead: race-1 asks, and leads; the query has to wait.
lead() {
	shut
	ask 1
	until_leader '='
}

kill_leader() {
	kill -9 "${pids[1]}"
	wait "${pids[1]}" 2>/dev/null
	rm -f "$scratch/answer-1"
}

# leave FROM TO STATUS: waits for these processes. If all of 40 exit with 0, $exits is "40 x 0".
# The messages of the first few that don't exit with STATUS are shown.
leave() {
	local i status
	for ((i = $1; i <= $2; i++)); do
		status=0
		wait "${pids[i]}" || status=$?
		printf '%s\n' "$status"
		[ "$status" -eq "$3" ] || sed "s/^/# race-$i: /" "$scratch/errors-$i" >&3
	done >"$scratch/exits" 3>"$scratch/complaints"
	head -n 3 "$scratch/complaints" >&2
	exits=$(sort -n "$scratch/exits" | uniq -c |
		awk '{ printf "%s%s x %s", s, $1, $2; s = ", " }')
}

# at_most LIMIT DESCRIPTION: a test of $mean, which may have a fraction.
at_most() {
	ok "$(awk -v n="$mean" -v limit="$1" 'BEGIN { print (n > limit) }')" \
		"$2: $mean, the busiest $most"
}

# raised ERROR: how often statements have failed with it.
raised() {
	sql "SELECT COALESCE(SUM(sum_error_raised), 0)
	       FROM performance_schema.events_errors_summary_global_by_error
	      WHERE error_name = '$1'"
}

queries() {
	sql "SELECT COUNT(*) FROM leader_run WHERE task_id = $task AND query_ms IS NOT NULL"
}

# heavy SECONDS: makes the task anew. Its query takes about so long on an idle machine.
heavy() {
	make_task "$task" "$loans" $((rounds_a_second * $1))
	rm -f "$scratch"/answer-* "$scratch"/errors-*
}

# Nobody can read the loans, so the query waits: it begins to compute when everybody waits for it,
# however long that takes.
shut() {
	say gate "LOCK TABLES test_loan_$task WRITE"
	said gate
}

open_again() {
	say gate 'UNLOCK TABLES'
}

# check_books N: the tables and the answers of N served users agree.
check_books() {
	is "$(given_twice "$task")" 0 'no loan was given twice'
	is "$(sql "SELECT COUNT(*), COUNT(DISTINCT user_id), SUM(assigned = asked)
	             FROM work_requested WHERE task_id = $task AND outcome = 'served'")" \
		"$1	$1	$1" 'each was served once, in full'
	is "$(cat "$scratch"/answer-* | jq -r 'select(.loans) | .loans[].loan_id' | sort -n)" \
		"$(sql "SELECT loan_id FROM work WHERE task_id = $task ORDER BY loan_id")" \
		'the loans in the answers are the loans in the table'
}

make_users "$((many + 1))"
make_task "$task" "$loans" 1000
run getwork --user race-1 --task "$task" --json
calibration=$(jq .query_ms <<<"$out")
rounds_a_second=$((1000 * 1000 / (calibration > 0 ? calibration : 1)))

# --- hundreds wait ------------------------------------------------------------------------------

heavy 1
lead
ok $? 'somebody leads, and the query has to wait'
followers 2 $((many + 1))
ok $? "$many more wait for that one"
statements before
took=$(now_ms)
sleep "$wait_s"
statements after
took=$(($(now_ms) - took))
is "$(sql "SELECT COUNT(*) FROM work_requested WHERE task_id = $task AND pending = 1")" \
	$((many + 1)) "$wait_s s later all requests are still pending"
until_waiting "$many"
ok $? 'all followers wait for a row'
ran_since before after
ok $((most * 2000 <= took ? 0 : 1)) \
	"none sends more than one statement in 2 s: $most in $took ms, $mean on average"
open_again
leave 1 $((many + 1)) 0
is "$exits" "$((many + 1)) x 0" 'all exit with 0'
is "$(queries)" 1 'one heavy query for all of them'
check_books $((many + 1))

# --- the leader is killed -----------------------------------------------------------------------

heavy 6
lead
followers 2 $((many + 1))
ok $? "$many wait for a leader"
open_again
until_scanning
ok $? 'the query of that leader is computing'
statements before
deadlocks_before=$(raised ER_LOCK_DEADLOCK)
kill_leader
until_leader '<>' && until_waiting $((many - 1))
ok $? 'the leader is killed: another one leads, the others wait'
statements after
ran_since before after
at_most 60 'a follower has sent at most 60 statements until then'
printf '# deadlocks seen by the server: %s\n' $(($(raised ER_LOCK_DEADLOCK) - deadlocks_before))
leave 2 $((many + 1)) 0
is "$exits" "$many x 0" 'all of them exit with 0'
n=$(queries)
ok $((n <= 3 ? 0 : 1)) "no more than 3 heavy queries: $n"
most=$(sql "SELECT MAX(requests) FROM leader_run WHERE task_id = $task")
ok $((most > many * 9 / 10 ? 0 : 1)) "one of them served nearly all requests: $most"
is "$(given_twice "$task")" 0 'no loan was given twice'

# --- a forgotten session is in a transaction ----------------------------------------------------

# forgotten LOCK: the session has this lock on the row that followers wait on.
forgotten() {
	local asked timeouts
	heavy 1
	timeouts=$(raised ER_LOCK_WAIT_TIMEOUT)
	say "$1" "START TRANSACTION; SELECT task_id FROM task_wake WHERE task_id = $task FOR $1"
	said "$1"
	lead
	for ((i = 2; i <= many + 1; i++)); do
		ask "$i"
	done
	asked=$((many + 1))
	until_true "SELECT COUNT(*) = $asked FROM work_requested
	             WHERE task_id = $task AND pending = 1"
	ok $? "a forgotten session has a lock FOR $1: $many ask all the same"
	# The followers' naps start short and double up to 640 ms, so the count starts later.
	sleep 1
	statements before
	took=$(now_ms)
	sleep 4
	statements after
	took=$(($(now_ms) - took))
	ran_since before after
	at_most $((15 * took / 1000)) "a follower sends at most 15 statements a second, in $took ms"
	open_again
	leave 1 "$asked" 0
	is "$exits" "$asked x 0" 'all of them exit with 0'
	is "$(sql "SELECT GROUP_CONCAT(user) FROM leader_run
	            WHERE task_id = $task AND query_ms IS NOT NULL")" race-1 \
		'from one heavy query, of the first leader'
	is "$(raised ER_LOCK_WAIT_TIMEOUT)" "$timeouts" 'no follower waited for the lock in vain'
	check_books "$asked"
	hang_up "$1"
}

forgotten SHARE
forgotten UPDATE

# --- the query fails ----------------------------------------------------------------------------

# Only the last row makes the query fail, so it fails when nearly all its work is done.
heavy 2
sql "CREATE OR REPLACE VIEW test_candidates_$task AS
       SELECT p.loan_id, p.line AS priority FROM test_loan_$task AS p
        WHERE SHA2(REPEAT(CONCAT('loan ', p.loan_id), $((rounds_a_second * 2))), 512) <> ''
          AND (p.loan_id < $loans OR JSON_EXTRACT(CONCAT('{', p.loan_id), '\$') IS NULL)"
lead
followers 2 51
ok $? '50 wait for a query that fails'
open_again
leave 1 51 5
is "$exits" '51 x 5' 'all exit with 5'
is "$(grep -l 'Invalid JSON text' "$scratch"/errors-* | wc -l)" 51 'each has the reason'
is "$(sql "SELECT GROUP_CONCAT(how, ' of ', requests) FROM leader_run WHERE task_id = $task")" \
	'failed of 51' 'the query ran once'

# --- users who give up before the query is done -------------------------------------------------

# until_served I: asks until the answer is another one than "try again".
until_served() {
	local status=3 tries=0
	while [ "$status" -eq 3 ] && [ $((tries += 1)) -le 100 ]; do
		status=0
		getwork --user "race-$1" --task "$task" --json --timeout 2 \
			>>"$scratch/answer-$1" 2>>"$scratch/errors-$1" || status=$?
	done
	return "$status"
}

heavy 3
shut
for ((i = 1; i <= 50; i++)); do
	until_served "$i" &
	pids[i]=$!
done
until_true "SELECT COUNT(DISTINCT user_id) = 50 FROM work_requested
             WHERE task_id = $task AND outcome = 'cancelled'"
ok $? 'all 50 give up and ask again, also the one that led'
open_again
leave 1 50 0
is "$exits" '50 x 0' 'all are served in the end'
n=$(queries)
ok $((n <= 25 ? 0 : 1)) "one heavy query, and some for those who asked again after it: $n"
check_books 50

# --- no connection left for the leader's query --------------------------------------------------

# crowded WHICH SQL: the limit is set below the number of connections, and the leader dies.
crowded() {
	heavy 4
	lead
	followers 2 41
	ok $? "40 wait, and then nobody gets a connection: $1"
	say limits "$2"
	said limits
	# Its query has to wait until the leader is dead, or it might be over before.
	kill_leader
	open_again
	leave 2 41 0
	lift_limits
	said limits
	is "$exits" '40 x 0' 'the leader is killed: all exit with 0'
	is "$(sql "SELECT GROUP_CONCAT(how) FROM leader_run WHERE task_id = $task")" \
		'crowded' 'the next leader ran the query on its only connection'
}

limits=$(sql 'SELECT @@GLOBAL.max_connections')
crowded max_connections 'SET GLOBAL max_connections = 20'
limits=$(sql 'SELECT @@GLOBAL.max_connections')
say limits 'ALTER USER lockq_app@localhost WITH MAX_USER_CONNECTIONS 1000'
said limits
crowded "the account's limit" 'ALTER USER lockq_app@localhost WITH MAX_USER_CONNECTIONS 20'
finish
