#!/usr/bin/env bash
# Hundreds of processes wait for one query: all are served from it, whoever dies or sits on a lock
# meanwhile, and the server has next to nothing to do with them while they wait.
#
#   LOCKQ_HUNDREDS   how many wait (300)
#   LOCKQ_WAIT_S     how long they wait while their statements are counted (30)
set -u
# shellcheck source=test/support/crowd.sh
. "$(dirname "$0")/../support/crowd.sh"

task=251 many=${LOCKQ_HUNDREDS:-300} wait_s=${LOCKQ_WAIT_S:-30} loans=6000
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

# ask I ARGS…: a getwork of user race-I, in the background.
ask() {
	local i=$1
	shift
	getwork --user "race-$i" --task "$task" --json --timeout 150 "$@" \
		>"$scratch/answer-$i" 2>"$scratch/errors-$i" &
	pids[i]=$!
}

# followers FROM TO ARGS…: started, and seen to wait.
followers() {
	local i from=$1 to=$2
	shift 2
	for ((i = from; i <= to; i++)); do
		ask "$i" "$@"
	done
	until_waiting $((to - from + 1))
}

# The heavy query is being computed: not only prepared, or waiting for a table.
until_scanning() {
	until_true "SELECT COUNT(*) > 0 FROM information_schema.processlist
	             WHERE user = 'lockq_app' AND state = 'executing' AND info LIKE '%test_candi%'"
}

# until_leader OPERATOR: until somebody leads of whom `holder OPERATOR 'race-1'` is true.
until_leader() {
	until_true "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
		SELECT holder $1 'race-1' FROM task_lock WHERE task_id = $task"
}

# lead: race-1 asks, and leads; his query has to wait.
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

# leave FROM TO STATUS: waits for them; $exits is then "300 x 0" where all of 300 exit with 0. The
# first few who do not exit with STATUS have their messages shown.
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

# at_most LIMIT DESCRIPTION: of $mean, which may have a fraction.
at_most() {
	ok "$(awk -v n="$mean" -v limit="$1" 'BEGIN { print (n > limit) }')" \
		"$2: $mean, the busiest $most"
}

deadlocks() {
	sql "SELECT COALESCE(SUM(sum_error_raised), 0)
	       FROM performance_schema.events_errors_summary_global_by_error
	      WHERE error_name = 'ER_LOCK_DEADLOCK'"
}

queries() {
	sql "SELECT COUNT(*) FROM leader_run WHERE task_id = $task AND query_ms IS NOT NULL"
}

# heavy SECONDS: nobody has asked yet, and the query takes about so long on an idle machine.
heavy() {
	make_task "$task" "$loans" $((rounds_a_second * $1))
	rm -f "$scratch"/answer-* "$scratch"/errors-*
}

# Nobody can read the loans, so the query waits: the crowd is complete before it begins to
# compute, however long that takes.
shut() {
	say gate "LOCK TABLES test_loan_$task WRITE"
	said gate
}

open_again() {
	say gate 'UNLOCK TABLES'
}

# check_books N: what the tables and the answers of N served people say.
check_books() {
	is "$(given_twice "$task")" 0 'no loan was given twice'
	is "$(sql "SELECT COUNT(*), COUNT(DISTINCT user_id), SUM(assigned = asked)
	             FROM work_requested WHERE task_id = $task AND outcome = 'served'")" \
		"$1	$1	$1" 'each was answered once, in full'
	is "$(cat "$scratch"/answer-* | jq -r 'select(.loans) | .loans[].loan_id' | sort -n)" \
		"$(sql "SELECT loan_id FROM work WHERE task_id = $task ORDER BY loan_id")" \
		'and knows of the loans that are his'
}

make_users "$((many + 1))"
make_task "$task" "$loans" 1000
run getwork --user race-1 --task "$task" --json
calibration=$(jq .query_ms <<<"$out")
rounds_a_second=$((1000 * 1000 / (calibration > 0 ? calibration : 1)))

# --- they wait ----------------------------------------------------------------------------------

heavy 1
lead
ok $? 'somebody leads, and his query has to wait'
followers 2 $((many + 1))
ok $? "$many more wait for that one"
statements before
sleep "$wait_s"
statements after
is "$(waiting)" "$many" "$wait_s s later they still wait"
ran_since before after
ok $((most <= 10 ? 0 : 1)) \
	"no more than 10 statements each meanwhile: $most, $mean on average"
open_again
leave 1 $((many + 1)) 0
is "$exits" "$((many + 1)) x 0" 'all exit with 0'
is "$(queries)" 1 'one heavy query for all of them'
check_books $((many + 1))

# --- their leader is killed ---------------------------------------------------------------------

heavy 6
lead
followers 2 $((many + 1))
ok $? "$many wait for a leader"
open_again
until_scanning
ok $? 'whose query is computing'
statements before
deadlocks_before=$(deadlocks)
kill_leader
until_leader '<>' && until_waiting $((many - 1))
ok $? 'killed: one of them leads, the others wait for him'
statements after
ran_since before after
at_most 60 'no more than 60 statements a follower until then'
printf '# deadlocks seen by the server: %s\n' $(($(deadlocks) - deadlocks_before))
leave 2 $((many + 1)) 0
is "$exits" "$many x 0" 'all of them exit with 0'
n=$(queries)
ok $((n <= 3 ? 0 : 1)) "no more than 3 heavy queries: $n"
most=$(sql "SELECT MAX(requests) FROM leader_run WHERE task_id = $task")
ok $((most > many * 9 / 10 ? 0 : 1)) "and one of them served nearly all: $most"
is "$(given_twice "$task")" 0 'no loan was given twice'

# --- somebody forgot a session in a transaction -------------------------------------------------

# forgotten LOCK: it has this lock on the row that followers wait on.
forgotten() {
	local asked
	heavy 1
	say "$1" "START TRANSACTION; SELECT task_id FROM task_wake WHERE task_id = $task FOR $1"
	said "$1"
	lead
	for ((i = 2; i <= many + 1; i++)); do
		ask "$i"
	done
	asked=$((many + 1))
	until_true "SELECT COUNT(*) = $asked FROM work_requested
	             WHERE task_id = $task AND pending = 1"
	ok $? "a forgotten session has a lock FOR $1: $many wait all the same"
	sleep 1
	statements before
	took=$(now_ms)
	sleep 4
	statements after
	took=$(($(now_ms) - took))
	ran_since before after
	at_most $((15 * took / 1000)) "in $took ms fewer than 15 statements a second a follower"
	open_again
	leave 1 "$asked" 0
	late=$(sql "SELECT TIMESTAMPDIFF(MICROSECOND, MAX(ended_at), NOW(6)) DIV 1000
	              FROM leader_run WHERE task_id = $task AND query_ms IS NOT NULL")
	is "$exits" "$asked x 0" 'all of them exit with 0'
	is "$(sql "SELECT GROUP_CONCAT(user) FROM leader_run
	            WHERE task_id = $task AND query_ms IS NOT NULL")" race-1 \
		'from one heavy query, of the one who led first'
	ok $((late < 5000 ? 0 : 1)) "not long after its leader's commit: $late ms"
	check_books "$asked"
	hang_up "$1"
}

forgotten SHARE
forgotten UPDATE

# --- the query fails ----------------------------------------------------------------------------

# The last row has what the others have not: all the work is done before it is met.
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
is "$(grep -l 'Invalid JSON text' "$scratch"/errors-* | wc -l)" 51 'with the reason'
is "$(sql "SELECT GROUP_CONCAT(how, ' of ', requests) FROM leader_run WHERE task_id = $task")" \
	'failed of 51' 'it ran once'

# --- users who give up before the query is done -------------------------------------------------

# until_served I: a shell that asks until the answer is another one than "try again".
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
until_true "SELECT COUNT(DISTINCT user_id) = 49 FROM work_requested
             WHERE task_id = $task AND outcome = 'cancelled'"
ok $? '49 who wait give up and ask again'
open_again
leave 1 50 0
is "$exits" '50 x 0' 'until all are served'
n=$(queries)
ok $((n <= 5 ? 0 : 1)) "one heavy query, and a few for who asked again just after it: $n"
check_books 50

# --- no connection left for the leader's query --------------------------------------------------

# crowded WHICH SQL: the limit falls below the connections that there are, and the leader dies.
crowded() {
	heavy 4
	lead
	followers 2 41
	ok $? "40 wait, and there are no more connections to be had: $1"
	open_again
	until_scanning
	say limits "$2"
	said limits
	kill_leader
	leave 2 41 0
	lift_limits
	said limits
	is "$exits" '40 x 0' 'their leader is killed: all exit with 0'
	is "$(sql "SELECT GROUP_CONCAT(how) FROM leader_run WHERE task_id = $task")" \
		'crowded' 'the next one led on the one connection that he had'
}

limits=$(sql 'SELECT @@GLOBAL.max_connections')
crowded max_connections 'SET GLOBAL max_connections = 20'
limits=$(sql 'SELECT @@GLOBAL.max_connections')
say limits 'ALTER USER lockq_app@localhost WITH MAX_USER_CONNECTIONS 1000'
said limits
crowded 'those of the account' 'ALTER USER lockq_app@localhost WITH MAX_USER_CONNECTIONS 20'
finish
