#!/usr/bin/env bash
# The heavy query runs on a replica, or under another account: [lockq_query] in the option file. The
# test has a primary and a replica of its own; the replica lags, fails, hangs and dies.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"
# shellcheck source=test/support/replica.sh
. "$(dirname "$0")/../../support/replica.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq.XXXXXX")
# shellcheck disable=SC2154 # set by run: status, out, err; by start_pair: why_no_pair, replica
trap 'stop_pair; rm -rf "$scratch"' EXIT
start_pair "$scratch" || {
	ok 1 "a primary and its replica start: $why_no_pair"
	finish
	exit 1
}

# options FILE LINE…: an option file for the primary, over TCP; the lines go into [lockq_query].
options() {
	local file=$scratch/$1
	shift
	: >"$file"
	chmod 600 "$file"
	{
		printf '%s\n' '[client]' host=127.0.0.1 "port=$(sql 'SELECT @@port')"
		sed -n '/^\[lockq\]/,/^$/p' "$primary/lockq.cnf"
		printf '%s\n' '[lockq_query]' "$@"
	} >"$file"
}

# asks FILE USER TASK [OPTION…]: getwork with that option file.
asks() {
	local file=$scratch/$1 user=$2 task=$3
	shift 3
	timeout "$patience" getwork --defaults-file "$file" --user "$user" --task "$task" \
		--json "$@"
}

# lead USER TASK: getwork in the background, as $leader.
lead() {
	getwork --defaults-file "$scratch/replica" --user "$1" --task "$2" >"$scratch/answer" 2>&1 &
	leader=$!
}

# give_here TASK N: gives N loans to race-12, without the replica. They are completed, so they are
# available again.
give_here() {
	local loans
	loans=$(LOCKQ_DEFAULTS_FILE=$primary/lockq.cnf getwork --user race-12 --task "$1" \
		--count "$2" --json | jq -r '[.loans[].loan_id] | join(",")')
	LOCKQ_DEFAULTS_FILE=$primary/lockq.cnf disposition --user race-12 --task "$1" \
		--loan "$loans" --complete >/dev/null
}

# led TASK COLUMNS: columns of the newest round that made a list, separated by blanks.
led() {
	sql "SELECT CONCAT_WS(' ', $2) FROM leader_run
	      WHERE task_id = $1 AND how <> 'hand-over' ORDER BY epoch DESC LIMIT 1"
}

first_loans() {
	sql "SELECT CONCAT('[', GROUP_CONCAT(loan_id ORDER BY line, loan_id), ']')
	       FROM (SELECT * FROM test_loan_$1 ORDER BY line, loan_id LIMIT $2) AS f"
}

# running sql|rsql TASK: the connections that run the task's query, on the primary or the replica.
running() {
	"$1" "SELECT processlist_id FROM performance_schema.threads AS t
	       WHERE processlist_id <> CONNECTION_ID()
	         AND $(runs_text "%test_candidates_$2%c.priority%")"
}
runs() { [ -n "$(running "$@")" ]; }
runs_other() { running "$1" "$2" | grep -qvx "$3"; }
ended() { [ -z "$(running "$@")" ]; }

# hold_lock TASK: a session seems to lead until release_lock, so every getwork follows.
hold_lock() {
	mkfifo "$scratch/holder"
	"$top/scripts/sandbox" mysql <"$scratch/holder" >/dev/null &
	holder=$!
	exec 7>"$scratch/holder"
	echo "START TRANSACTION; UPDATE task_lock SET holder = 'test', since = NOW(6)
	       WHERE task_id = $1;" >&7
	wait_for lock_is_held "$1"
}
lock_is_held() {
	[ -z "$(sql "SELECT 1 FROM task_lock WHERE task_id = $1 FOR UPDATE SKIP LOCKED")" ]
}
release_lock() {
	echo 'ROLLBACK;' >&7
	exec 7>&-
	wait "$holder"
}

pending() {
	[ "$(sql "SELECT COUNT(*) FROM work_requested WHERE task_id = $1 AND pending = 1")" = "$2" ]
}

sql "CREATE USER reader@localhost IDENTIFIED BY 'reader';
     GRANT lockq_query@lockq TO reader@localhost;
     SET DEFAULT ROLE ALL TO reader@localhost;
     CREATE USER stranger@localhost IDENTIFIED BY 'stranger';
     GRANT SELECT ON lockq.work TO stranger@localhost"
make_users 12
options replica "socket=$replica/mysql.sock" user=reader password=reader
options account user=reader password=reader
options wrong user=reader password=wrong
options stranger user=stranger password=stranger

# --- the query on a replica -----------------------------------------------------------------------

heavy=251
make_task $heavy 3000 60000
catch_up
for where in sql rsql; do
	"$where" "SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON"
done
asks replica race-1 $heavy --count 3 >"$scratch/leader" &
leader=$!
wait_for runs rsql $heavy
ok $? 'the query runs on the replica'
is "$(running sql $heavy)" '' 'it does not run on the primary'
asks replica race-2 $heavy --count 2 >"$scratch/second" &
asks replica race-3 $heavy --count 2 >"$scratch/third"
is "$?" 0 'a follower is served'
wait "$leader"
is "$?" 0 'the leader is served'
wait
for where in sql rsql; do
	"$where" 'SET GLOBAL general_log = OFF'
done
count="SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Execute'
         AND argument LIKE 'SELECT %f.loan_id%test\_candidates\_$heavy%'"
is "$(rsql "$count AND user_host LIKE 'reader%'"):$(sql "$count")" 1:0 \
	'one query for all, on the replica as the account of [lockq_query], none on the primary'
is "$(led $heavy 'how, requests, loans, left_pending')" 'replica 3 7 0' \
	'leader_run says "replica"'
is "$(jq -c '[.led, [.loans[].loan_id]]' "$scratch/leader")" "[true,$(first_loans $heavy 3)]" \
	'the loans are right, and in order'
is "$(jq -s '[.[].loans[].loan_id] | unique | length' "$scratch"/{leader,second,third})" 7 \
	'no two have the same loan'
is "$(jq -s -c '[.[].led]' "$scratch"/{second,third})" '[false,false]' \
	'the followers did not lead'

# --- another account ------------------------------------------------------------------------------

one=252
make_task $one 1 0
catch_up
run asks account race-1 $one
is "$status:$(led $one how)" '0:elsewhere' \
	'another account on the same server: "elsewhere"'
run asks account race-2 $one
is "$status:$(led $one 'how, left_pending')" '1:elsewhere 0' \
	'on the same server the query may say "no work"'
is "$(sql "SELECT COUNT(*) FROM leader_run WHERE task_id = $one")" 2 'with one query each'
run timeout "$patience" "$top/build/mysql/bin/mysql" --no-defaults \
	--socket="$primary/mysql.sock" --user=reader --password=reader lockq \
	--execute 'SELECT * FROM work_requested'
like "$err" 'SELECT command denied' 'the role lockq_query does not read requests'
options database user=root "password=$(sed -n 's/^password=//p' "$primary/admin.cnf")" \
	database=lockq_old
sql "CREATE DATABASE lockq_old; CREATE TABLE lockq_old.work LIKE work;
     CREATE VIEW lockq_old.test_candidates_$one AS SELECT 1 AS loan_id, 1 AS priority FROM DUAL
      WHERE FALSE"
sql "INSERT INTO test_loan_$one VALUES (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)"
run asks database race-2 $one
is "$status:$(jq -c '[.loans[].loan_id]' <<<"$out")" '0:[2]' \
	'guard: the same database. A query in another database can not say "no work"'
run asks wrong race-3 $one
is "$status:$(led $one how)" 0:query \
	'a wrong password for the replica: the query runs on the primary'
is "$(led $one reason)" "queried here, since the server of lockq_query can't be used: the \
database refuses the account or its password: Access denied for user 'reader'@'localhost' (using \
password: YES)" \
	'leader_run has the reason, in one line'
run asks stranger race-4 $one
is "$status:$(led $one how)" 0:query 'guard: CANDIDATES_LOST. The view is not granted: likewise'
like "$(led $one reason)" \
	"^queried here, .*SELECT command denied to user 'stranger'@'localhost' for table 'test_c" \
	'with a reason that says so'
options bad host=127.0.0.1 hots=x
run asks bad race-4 $one
is "$status:$(wc -l <<<"$err")" 2:1 'an option that can not be used is refused'
like "$err" '/bad", line [0-9]+: "hots" is unknown in the group \[lockq_query\]' 'the line names it'

# --- a replica that lags --------------------------------------------------------------------------

stale=253
make_task $stale 30 0
sql "UPDATE task SET max_count = 20 WHERE task_id = $stale"
give_here $stale 5
catch_up
lag
give_here $stale 10
run asks replica race-1 $stale --count 3
is "$status:$(led $stale 'how, candidates, dropped')" '0:replica 30 10' \
	'loans that were given and completed meanwhile are dropped'
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $stale AND state = 'assigned'
              AND version = 1")" 3 'nobody gets them, whether they had a row in work before or not'
give_here $stale 17
sql "INSERT INTO test_loan_$stale VALUES (901, -2), (902, -3)"
run asks replica race-2 $stale --count 3
is "$status:$(led $stale how)" 0:query \
	'the list was mostly stale: the query runs again, on the primary'
like "$(led $stale reason)" '^queried again here, since most loans .* are stale$' \
	'leader_run says why'
is "$(jq -c '[.loans[].loan_id][:2]' <<<"$out")" '[902,901]' \
	'loans that the replica does not have yet come first, in order'

crowd=254 rounds=3 people=10
catch_up
make_task $crowd 400 20
catch_up
lag
for ((round = 1; round <= rounds; round++)); do
	pids=()
	for ((i = 1; i <= people; i++)); do
		asks replica "race-$i" $crowd --count 2 >"$scratch/crowd-$round-$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
		echo "$?"
	done
done >"$scratch/statuses"
is "$(sort -u "$scratch/statuses")" 0 \
	"$rounds times $people people and a replica that lags: all get loans"
is "$(given_twice $crowd)" 0 'no loan was given twice'
is "$(jq -s '[.[].loans[].loan_id] | [length, (unique | length)] | @tsv' -r "$scratch"/crowd-*)" \
	"$((rounds * people * 2))	$((rounds * people * 2))" 'each answer has loans of its own'
like "$(led $crowd "(SELECT GROUP_CONCAT(DISTINCT how) FROM leader_run WHERE task_id = $crowd)")" \
	'replica' 'lists from the replica were used'

# --- the replica lacks a view, or loans -----------------------------------------------------------

catch_up
unknown=255 none=256
make_task $none 1 0
sql "DELETE FROM test_loan_$none"
catch_up
lag
make_task $unknown 5 0
run asks replica race-1 $unknown
is "$status:$(led $unknown how)" 0:query \
	'guard: CANDIDATES_LOST. The replica does not have the view yet'
like "$(led $unknown reason)" "^queried here, .*'test_candidates_$unknown'" \
	'leader_run says so'
sql "INSERT INTO test_loan_$none VALUES (7, 7)"
run asks replica race-1 $none
is "$status:$(jq -c '[.loans[].loan_id]' <<<"$out")" '0:[7]' \
	'the replica does not have the loan yet, and its list never says "no work"'
is "$(sql "SELECT GROUP_CONCAT(CONCAT_WS(' ', how, left_pending) ORDER BY epoch) FROM leader_run
            WHERE task_id = $none")" 'replica 1,query 0' 'a second query finds it, on the primary'
last=$(sql "SELECT MAX(epoch) FROM leader_run WHERE task_id = $none")
hold_lock $none
pids=()
for ((i = 1; i <= 10; i++)); do
	asks replica "race-$i" $none >"$scratch/none-$i" 7>&- &
	pids+=($!)
done
wait_for pending $none 10
release_lock
statuses=
for pid in "${pids[@]}"; do
	wait "$pid"
	statuses=$statuses$?
done
is "$statuses" 1111111111 'ten users, and no loan: all are told "no work"'
is "$(sql "SELECT GROUP_CONCAT(CONCAT_WS(' ', how, requests, left_pending) ORDER BY epoch)
             FROM leader_run WHERE task_id = $none AND epoch > $last AND query_ms IS NOT NULL")" \
	'replica 0 10,query 10 0' 'that took two queries, one on each server'
as_of=$(led $none "DATE_FORMAT(as_of, '%Y-%m-%dT%H:%i:%s.%fZ')")
is "$(jq -r .as_of "$scratch"/none-* | sort -u)" "$as_of" \
	'as_of is the time of the query on the primary'

ahead=257
catch_up
make_task $ahead 1 0
sql "UPDATE task SET lease_minutes = 60 WHERE task_id = $ahead"
asks account race-1 $ahead >/dev/null
catch_up
rsql "SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 7200'"
run asks replica race-2 $ahead
rsql "SET GLOBAL init_connect = ''"
is "$status:$(led $ahead how)" 1:query \
	"guard: the primary's time. The clock of the replica is ahead"
is "$(sql "SELECT COUNT(*) FROM work_log WHERE task_id = $ahead")" 1 \
	'no loan is given out before its lease is over'

# --- a replica that hangs, and leaders that end ---------------------------------------------------

server=$(cat "$replica/mysqld.pid")
kill -STOP "$server"
run asks replica race-5 $one
kill -CONT "$server"
is "$status:$(led $one how):$(jq .retries <<<"$out")" 0:query:0 \
	'guard: a short connect timeout. The leader keeps its lock if the replica does not answer'
like "$(led $one reason)" "^queried here, since the server of lockq_query can't be used: " \
	'leader_run says why'

# Its query would take longer than a test waits.
monster=258
make_task $monster 6000 5000000
sql "UPDATE task SET max_query_s = 3600 WHERE task_id = $monster"
catch_up
lead race-1 $monster
wait_for runs rsql $monster
kill -INT "$leader"
wait "$leader"
is "$?" 130 'Ctrl-C, while the query runs on the replica'
wait_for ended rsql $monster
ok $? 'the query ends there'

lead race-1 $monster
wait_for runs rsql $monster
orphan=$(running rsql $monster)
{ kill -9 "$leader"; wait "$leader"; } 2>/dev/null
lead race-2 $monster
wait_for runs_other rsql $monster "$orphan"
ok $? 'kill -9: the next one leads'
is "$(running rsql $monster | grep -cx "$orphan")" 0 \
	'it has ended the query of the dead leader, on the replica'

# The query still has much to read on the replica, but little on the primary.
lag
sql "DELETE FROM test_loan_$monster WHERE loan_id > 20"
look=$(sql "SELECT t.processlist_id FROM performance_schema.threads AS t
             WHERE t.processlist_user = 'lockq_app' AND t.processlist_id NOT IN (
               SELECT trx_mysql_thread_id FROM information_schema.innodb_trx)")
sql "KILL $look"
is "$?" 0 'its query connection to the primary, which is idle, is killed'
kill -9 "$server"
wait "$leader"
is "$?:$(led $monster how)" 0:query \
	'the replica dies during the query: it runs on the primary'
like "$(led $monster reason)" '^queried again here, since the connection of lockq_query was lost' \
	'leader_run says why'
is "$(led $monster retries)" 0 \
	'guard: lock_look. A query connection that was lost while idle is made again'
run asks replica race-6 $one
is "$status:$(led $one how)" 0:query 'a replica that is down'
like "$(led $one reason)" \
	"can't be used: the database can't be reached: Can't connect to local (MySQL )?server" \
	'leader_run says so'
for task in $heavy $stale $unknown $none $ahead; do
	given_twice "$task"
done >"$scratch/twice"
is "$(sort -u "$scratch/twice")" 0 'no loan was given twice, in any of these tasks'
finish
