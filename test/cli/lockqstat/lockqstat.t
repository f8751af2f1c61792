#!/usr/bin/env bash
# lockqstat as an operator runs it: what it shows of a real leader, its followers and its list; its
# figures; what it finds wrong; that it takes no lock.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=291 idle=292
make_steered "$task" 6000
make_task "$idle" 10 0
make_users 4
open_gatekeeper
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'end_all; forget_steered "$task"; forget_task "$idle"; forget_users; rm -rf "$scratch"' EXIT

# stat FILTER: what jq makes of the task's object.
stat() {
	lockqstat --task "$task" --json | jq -c "$1"
}
stat_is() {
	[ "$(stat "$1")" = "$2" ]
}
user_id() {
	sql "SELECT user_id FROM app_user WHERE name = 'race-$1'"
}

# --- the command line -----------------------------------------------------------------------------

run lockqstat --help
is "$status" 0 '--help: exit 0'
like "$out" '^Usage: lockqstat ' '--help says how to use it'
run lockqstat --version
is "$status:$out" "0:lockqstat (lockq) $(lockq_version)" '--version'
for arguments in '--frob' '--task x' '--sort size' '--metrics --json' '--metrics --health' \
	'--metrics=' '--watch --health' '--warning 3' '--runs 3' \
	'--health --warning 9 --critical 8'; do
	# shellcheck disable=SC2086 # words, on purpose
	run lockqstat $arguments
	is "$status" 2 "$arguments: exit 2"
	like "$err" '^lockqstat: ' "$arguments: one line that names it"
done
run lockqstat --task 299
is "$status:$err" '4:lockqstat: task 299 is unknown: the table task has no row for it' \
	'an unknown task'
run lockqstat --task 299 --json
is "$status:$(jq -c '[.error != null, .exit]' <<<"$out")" '4:[true,4]' 'in JSON, too'
run lockqstat --task "$idle" --json
is "$(jq -c '[.leader, .waiting, .list, .assigned, .wait_p50_ms, .query_p50_ms, .runs]' \
	<<<"$out")" '[null,0,null,0,null,null,[]]' 'a task that nobody has asked for'
run lockqstat --task "$idle"
like "$out" 'nobody has led it yet' 'and as text'

# --- a leader, its follower, and what came of it --------------------------------------------------

before=$(stat .epoch)
steer "$task" gated
shut_gate "$task"
start one getwork --user race-1 --task "$task" --count 3
await_leader "$task" race-1
start two getwork --user race-2 --task "$task" --count 2
await "SELECT COUNT(*) FROM work_requested WHERE task_id = $task AND pending = 1" 2
is "$(stat '[.leader, .leading_ms >= 0, .waiting, .wanted, .unattended, .epoch]')" \
	"[\"race-1\",true,2,5,0,$before]" 'who leads, and who waits'
like "$(lockqstat --task "$task")" 'leader +\| race-1, for ' 'one task as text: who leads'
like "$(lockqstat --task "$task")" 'waiting +\| 2 requests for 5 loans, the oldest for ' \
	'one task as text: who waits'
like "$(lockqstat)" "^\| +$task \| Test $task +\| race-1 +\|" 'the table names the leader'
sql "UPDATE work_requested SET seen_at = NOW(6) - INTERVAL 1 DAY
      WHERE task_id = $task AND user_id = $(user_id 2)"
is "$(stat '[.waiting, .wanted, .unattended]')" '[1,3,1]' \
	'a request that nobody looks after does not wait'
sql "UPDATE work_requested SET seen_at = NOW(6) WHERE task_id = $task"
open_gate "$task"
end one
end two
steer "$task" light
is "$(stat '[.leader, .waiting, .assigned, .answers, .loans, .queries, .failures, .epoch]')" \
	"[null,0,5,2,5,1,0,$((before + 1))]" 'what came of it'
is "$(stat '[.runs[] | [.epoch, .user, .how, .requests, .loans, .query_ms > 0]]')" \
	"[[$((before + 1)),\"race-1\",\"query\",2,5,true]]" 'the leader that did it'
is "$(stat '.wait_p50_ms <= .wait_p95_ms and .query_p50_ms == .query_p95_ms
	and .wait_p95_ms >= .query_p50_ms')" true 'the leader waited for its query'
like "$(lockqstat --task "$task" --width 200)" "\\| +$((before + 1)) \\| race-1 +\\| .*\\| query " \
	'its row in the table of leaders'
is "$(lockqstat --task "$task" --runs 0 --json | jq -c .runs)" '[]' '--runs 0: no leaders'

# --- how much work there is -----------------------------------------------------------------------

found=$(stat .found)
sql "UPDATE leader_run SET as_of = as_of - INTERVAL 2 HOUR WHERE task_id = $task"
ok "$([ "$found" -gt 5 ]; echo $?)" "without a list: what the last query found: $found"
is "$(stat '.list == null and .found_age_s >= 7200 and .found_age_s < 9000')" true 'and when'
like "$(lockqstat --task "$task" --runs 0)" \
	"^\| list +\| none is kept: the last query found $found loans 2 h( 0 min)? ago" \
	'the table of the task says so'
like "$(lockqstat --width 200)" "^\| +$task \|.*\| found $found \| +2 h" 'and that of all tasks'

sql "UPDATE task SET cache_ttl = 600 WHERE task_id = $task"
is "$(stat '.list | [.usable, .left]')" '[false,0]' 'a task whose list is not there yet'
getwork --user race-3 --task "$task" --count 1 >/dev/null
length=$(sql "SELECT length FROM kept_list WHERE task_id = $task")
is "$(stat '.list | [.usable, .length, .left, .failures, .reason]')" \
	"[true,$length,$length,0,null]" 'its list'
getwork --user race-4 --task "$task" --count 3 >/dev/null
is "$(stat '.list | [.length, .left]')" "[$length,$((length - 3))]" \
	'three loans were taken, and so many fewer are left'
like "$(lockqstat)" "^\| +$task \|.*\| +$((length - 3)) \|" 'the table says so'
like "$(lockqstat --task "$task" --runs 0)" \
	"^\| list +\| $((length - 3)) loans left, $length at first, " 'and that of one task'
sql "DELETE FROM kept_loan WHERE task_id = $task ORDER BY position LIMIT 67;
     UPDATE kept_list SET head = 70, as_of = as_of - INTERVAL 599 SECOND WHERE task_id = $task"
is "$(stat '.list | [.left, .age_s >= 599, .due]')" "[$((length - 70)),true,true]" \
	'what is left of it, and that it is due'
sql "UPDATE kept_list SET as_of = as_of - INTERVAL 2 SECOND WHERE task_id = $task"
is "$(stat .list.usable)" false 'a list that is too old is not used'
like "$(lockqstat)" "^\| +$task \|.*\| none \|" 'and the table says so'
sql "UPDATE task SET cache_ttl = 0 WHERE task_id = $task"

# --- figures --------------------------------------------------------------------------------------

# answers N SPACING: so many requests that have ended, the last one now, SPACING seconds apart; they
# waited for 1 to N seconds, and got a loan each.
answers() {
	sql "DELETE FROM work_requested WHERE task_id = $idle;
	     SET SESSION cte_max_recursion_depth = 10000;
	     INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested,
	                                 assigned, outcome, epoch, created_at, served_at)
	       WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	       SELECT UUID(), $(user_id 1), 'test', $idle, 1, 1, 1, 'served', 1,
	              NOW(6) - INTERVAL ($1 - i) * $2 * 1000000 + i * 1000000 MICROSECOND,
	              NOW(6) - INTERVAL ($1 - i) * $2 * 1000000 MICROSECOND
	         FROM n ORDER BY i"
}
figures() {
	lockqstat --task "$idle" --json | jq -c "$1"
}
answers 20 1
is "$(figures '[.answers, .loans, .loans_per_h, .wait_p50_ms, .wait_p95_ms]')" \
	'[20,20,20,10000,19000]' 'half of 20 waited for 10 s or less, 95 of 100 for 19 s'
answers 20 600
is "$(figures '[.answers, .loans_per_h]')" '[6,6]' 'the last hour counts'
answers 700 1
is "$(figures '[.answers, .loans_per_h > 3500, .loans_per_h <= 3610, .wait_p50_ms]')" \
	'[500,true,true,450000]' 'of more than 500 requests the last 500, and their speed'
sql "UPDATE work_requested SET outcome = 'cancelled', assigned = 0
      WHERE task_id = $idle AND request_id % 10 = 0"
is "$(figures '[.answers, .loans, .loans_per_h > 3100, .loans_per_h <= 3250]')" \
	'[450,450,true,true]' 'those that were cancelled do not make an hour of these minutes'
sql "UPDATE work_requested SET outcome = 'served', assigned = 1 WHERE task_id = $idle"
sql "UPDATE work_requested SET source = 'list', checked = served_at - INTERVAL 7000 MICROSECOND
      WHERE task_id = $idle"
is "$(figures '[.wait_p50_ms, .wait_p95_ms]')" '[7,7]' \
	'who took from the list waited since the view was asked'
sql "UPDATE work_requested SET outcome = 'empty', assigned = 0 WHERE task_id = $idle LIMIT 699"
sql "UPDATE work_requested SET outcome = 'failed', assigned = 0 WHERE task_id = $idle
      AND outcome = 'served'"
is "$(figures '[.answers, .answers_empty, .answers_failed, .loans]')" '[500,499,1,0]' \
	'answers without work, and failures'

# --- what is wrong --------------------------------------------------------------------------------

# health STATUS CODE SQL [OPTION…]: that is what is found after SQL.
health() {
	local expected=$1 code=$2 statement=$3
	shift 3
	sql "DELETE FROM work_requested WHERE task_id = $idle;
	     DELETE FROM work WHERE task_id = $idle;
	     DELETE FROM leader_run WHERE task_id = $idle;
	     DELETE FROM task_refill WHERE task_id = $idle;
	     $statement"
	run lockqstat --task "$idle" --health --json "$@"
	is "$status:$(jq -r 'select(.task != null) | .code' <<<"$out"):$(
		jq -r 'select(.task == null) | .exit' <<<"$out")" "$expected:$code:$expected" \
		"--health: ${code:-nothing} is wrong, exit $expected${1:+, with $*}"
}
# waits SECONDS: the SQL of a request that has waited so long.
waits() {
	echo "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested,
	                                  created_at)
	        VALUES (UUID(), $(user_id 1), 'test', $idle, 1, 1, NOW(6) - INTERVAL $1 SECOND)"
}
# ran HOW…: the SQL of leaders that ended so, the last one last.
ran() {
	local how n=0
	for how; do
		echo "INSERT INTO leader_run (task_id, epoch, user, how, query_ms, reason,
		                              started_at, ended_at)
		        VALUES ($idle, $((++n)), 'race-1', '$how', 5, 'no such column',
		                NOW(6), NOW(6));"
	done
}
due() {
	echo "INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,
	                        assigned_at, lease_expires_at, changed_at, due_at)
	        VALUES ($idle, 1, $(user_id 1), 'assigned', 1, 1, 1, NOW(6),
	                NOW(6) - INTERVAL $1 MINUTE, NOW(6), NOW(6) - INTERVAL $1 MINUTE)"
}
health 0 '' 'DO 0'
health 0 '' "$(waits 20)"
health 2 nobody_leads "$(waits 40)"
health 0 '' "$(waits 40); UPDATE task SET paused = 'closed' WHERE task_id = $idle"
sql "UPDATE task SET paused = NULL WHERE task_id = $idle"
health 1 query_failed "$(ran query failed)"
health 2 query_fails "$(ran query failed failed failed)"
health 0 '' "$(ran failed failed failed query)"
fails='INSERT INTO task_refill (task_id, failures, reason) VALUES'
health 0 '' "$fails ($idle, 3, 'x')" # it keeps no list
sql "UPDATE task SET cache_ttl = 600 WHERE task_id = $idle"
health 1 refill_fails "$fails ($idle, 1, 'x')"
health 2 refill_fails "$fails ($idle, 3, 'x')"
health 0 '' "$fails ($idle, 3, 'x'); UPDATE task SET paused = 'closed' WHERE task_id = $idle"
sql "UPDATE task SET paused = NULL, cache_ttl = 0 WHERE task_id = $idle"
health 0 '' "$(due 50)"
health 1 no_cron "$(due 70)"
# A leader as another session sees it: its name and its epoch are not committed.
leads_for() {
	gatekeeper_says "ROLLBACK; BEGIN; UPDATE lockq.task_lock SET epoch = epoch + 1,
		holder = 'race-4', since = NOW(6) - INTERVAL $1 SECOND WHERE task_id = $idle;"
}
leads_for 340
health 0 '' "$(waits 290)"
health 1 long_wait "$(waits 310)"
health 2 long_wait "$(waits 910)"
health 1 long_wait "$(waits 20)" --warning 10
health 2 long_wait "$(waits 20)" --warning 10 --critical 15
leads_for 370
health 2 stuck_leader 'DO 0'
gatekeeper_says 'ROLLBACK;'

# A session has the row, and leads nobody.
gatekeeper_says "BEGIN; SELECT 1 INTO @x FROM lockq.task_lock WHERE task_id = $idle FOR UPDATE;"
session=$(sql "SELECT MAX(processlist_id) FROM performance_schema.data_locks AS d
	JOIN performance_schema.threads AS t USING (thread_id)
	WHERE d.object_name = 'task_lock' AND d.lock_type = 'RECORD'")
health 2 held "$(waits 40)"
holds="the lock of task $idle is held by \"root@localhost\", connection $session, \
idle for [0-9]+ s, which leads nobody: KILL $session ends it"
like "$(jq -r .text <<<"$out")" "^$holds\$" 'the line names the session, and ends it'
like "$(lockqstat --task "$idle")" "^. leader +. nobody: the lock of task $idle is held" \
	'lockqstat --task says the same'
request=$(sql "SELECT request_id FROM work_requested WHERE task_id = $idle AND pending = 1")
like "$(checkwork --user race-1 --pending)" "^request $request .*: $holds\$" \
	'and checkwork --pending'
like "$(checkwork --request "$request")" "^request $request .*: pending: $holds" \
	'and checkwork --request'
run getwork --user race-2 --task "$idle" --timeout 2
like "$status:$err" "^3:getwork: $holds: request [0-9]+ is cancelled: try again later\$" \
	'and getwork'
sql 'DELETE FROM task_trouble'
gatekeeper_says 'ROLLBACK;'
sql "XA START 'test'; UPDATE task_lock SET since = NOW(6) WHERE task_id = $idle; XA END 'test';
	XA PREPARE 'test'"
health 2 held "$(waits 40)"
like "$(jq -r .text <<<"$out")" 'is held by no session, so by a prepared XA transaction' \
	'a prepared XA transaction has no session'
sql "XA ROLLBACK 'test'"
"$top/scripts/sandbox" mysql --execute="REVOKE SELECT
	ON performance_schema.data_locks FROM lockq_owner@localhost"
gatekeeper_says "BEGIN; SELECT 1 INTO @x FROM lockq.task_lock WHERE task_id = $idle FOR UPDATE;"
health 2 held "$(waits 40)"
like "$(jq -r .text <<<"$out")" 'is held by a session that leads nobody: see WHO HOLDS WHAT' \
	'nor is one seen by an owner that may not see locks'
gatekeeper_says 'ROLLBACK;'
"$top/scripts/sandbox" mysql --execute="GRANT SELECT
	ON performance_schema.data_locks TO lockq_owner@localhost"

# What queries find, and how long they take.
found() {
	local n=0 one
	for one; do
		echo "INSERT INTO leader_run (task_id, epoch, user, how, candidates, query_ms,
		                              started_at, ended_at)
		        VALUES ($idle, $((++n)), 'race-1', 'query', ${one%:*}, ${one#*:},
		                NOW(6) - INTERVAL 2 HOUR, NOW(6) - INTERVAL 2 HOUR);"
	done
}
health 1 found_nothing "$(found 9985:5 0:5)"
health 0 '' "$(found 99:5 0:5)"
health 0 '' "$(found 9985:5 0:5 1:5)"
health 1 slow_query "$(found 9:250 9:300 9:200 9:1200)"
health 0 '' "$(found 9:250 9:300 9:200 9:1199)"
health 0 '' "$(found 9:250 9:300 9:1200)"

# changes EVENT…: the SQL of the changes of loan 1.
changes() {
	local event n=0
	for event; do
		echo "INSERT INTO work_log (task_id, loan_id, event, user_id, account, token,
		                            version, request_id, at)
		        VALUES ($idle, 1, '$event', $(user_id 1), 'test', 1, $((++n)), 1, NOW(6));"
	done
	echo "INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,
	                        assigned_at, changed_at)
	        VALUES ($idle, 1, $(user_id 1), 'assigned', 1, $n, 1, NOW(6), NOW(6));"
}
forget_log="DELETE FROM work_log WHERE task_id = $idle"
health 1 given_again "$(changes assigned completed assigned)"
health 0 '' "$forget_log; $(changes assigned returned assigned)"
health 1 given_again "$forget_log; $(changes assigned completed assigned)"
sql "UPDATE task SET complete_hold = 60 WHERE task_id = $idle"
health 0 '' "$forget_log; $(changes assigned completed assigned)"
sql "UPDATE task SET complete_hold = 0 WHERE task_id = $idle"

# all_health CODE SQL: the same of what is wrong with the whole database.
all_health() {
	sql "$forget_log; DELETE FROM work WHERE task_id = $idle; $2"
	run lockqstat --task "$idle" --health --json
	is "$status:$(jq -r 'select(.code != null) | [.task, .code] | @csv' <<<"$out")" \
		"$([ -n "$1" ] && echo 2 || echo 0):${1:+,\"$1\"}" \
		"--health: ${1:-nothing} is wrong"
}
all_health log_ahead "$(changes assigned returned); UPDATE work SET version = 1
	WHERE task_id = $idle"
all_health clock_back "$(changes assigned returned); UPDATE work_log SET at = NOW(6) + INTERVAL 1
	HOUR WHERE task_id = $idle"
all_health clock_back "INSERT INTO kept_list (task_id, epoch, candidates_view, as_of, length,
	complete, query_ms) VALUES ($idle, 1, 'x', NOW(6) + INTERVAL 1 HOUR, 1, 1, 1)"
sql "DELETE FROM kept_list WHERE task_id = $idle"
all_health '' 'DO 0'

# Calls of which none was served.
trouble() {
	echo "DELETE FROM task_trouble; INSERT INTO task_trouble (slot, task_id, operation, busy)
		VALUES (NOW() - INTERVAL 5 MINUTE, $idle, 'getwork', $1)"
}
health 1 nobody_served "$(trouble 2)"
health 2 nobody_served "$(trouble 3)"
health 0 '' "$(trouble 3); $(waits 1); UPDATE work_requested SET outcome = 'empty', requested = 0,
	served_at = NOW(6) WHERE task_id = $idle"
sql "$(trouble 2)"
sql "DELETE FROM work_requested WHERE task_id = $idle"
like "$(lockqstat --metrics)" \
	"^lockq_finding\{task=\"$idle\",code=\"nobody_served\",status=\"warning\"\} 1\$" \
	'the metrics have what is wrong'
sql 'DELETE FROM task_trouble'
sql "UPDATE task_lock SET holder = 'race-4', since = NOW(6) - INTERVAL 1 DAY WHERE task_id = $idle"
health 0 '' 'DO 0' # a name that is committed is nobody's
sql "UPDATE task_lock SET holder = NULL, since = NULL WHERE task_id = $idle"
sql "$(ran failed)"
like "$(lockqstat --width 200)" "^warning: task $idle: the last leader failed: no such column: \
see managetask check $idle$" \
	'the table has what is wrong below it'
run lockqstat --health --task "$idle"
is "$status:$out" "1:warning: task $idle: the last leader failed: no such column: \
see managetask check $idle" \
	'--health as text'
sql "UPDATE leader_run SET reason = NULL WHERE task_id = $idle"
like "$(lockqstat --health --task "$idle")" 'failed: the reason is not known: ' 'without a reason'
sql "UPDATE leader_run SET reason = REPEAT('xü', 256) WHERE task_id = $idle"
is "$(figures '[.failed[-2:], .runs[0].reason[-2:]]')" '["üx","xü"]' \
	'a long reason is cut between two characters'
run lockqstat --health --socket /no/such/socket --connect-timeout 0
is "$status" 3 '--health where the database can not be asked: exit 3, unknown'
run lockqstat --health --json --socket /no/such/socket --connect-timeout 0
is "$status:$(jq .exit <<<"$out")" 3:3 'also in JSON'
run lockqstat --health --json --task 299
is "$status:$(jq .exit <<<"$out")" 3:3 'nor is there a task'
sql "DELETE FROM leader_run WHERE task_id = $idle"
run lockqstat --health --task "$idle"
is "$status:$out" '0:ok: 1 task, 0 requests wait' '--health: all is well'

# --- no lock --------------------------------------------------------------------------------------

gatekeeper_says "BEGIN; SELECT COUNT(*) INTO @n FROM lockq.task_lock FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM lockq.task FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM lockq.work_requested FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM lockq.work FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM lockq.leader_run FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM lockq.kept_list FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM lockq.app_user FOR UPDATE;
	SELECT COUNT(*) INTO @n FROM lockq.task_refill FOR UPDATE;"
run lockqstat --timeout 0
is "$status:$err" 0: 'it answers while another session has locked every row'
gatekeeper_says 'ROLLBACK; LOCK TABLES lockq.leader_run WRITE;'
run lockqstat --timeout 2
is "$status" 3 'a table that is locked as a whole: exit 3'
like "$err" '^lockqstat: .*"leader_run"' 'and it is named'
gatekeeper_says 'UNLOCK TABLES;'

# --- large tables ---------------------------------------------------------------------------------

sql "SET SESSION cte_max_recursion_depth = 10000;
     CREATE TEMPORARY TABLE n (i INT PRIMARY KEY)
       WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
       SELECT i FROM n;
     INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested, assigned,
                                 outcome, epoch, served_at)
       SELECT UUID(), $(user_id 1), 'test', $idle, 1, 1, 1, 'served', 1, NOW(6) FROM n;
     INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id, assigned_at,
                       changed_at)
       SELECT $idle, 1000 + i, $(user_id 1), 'completed', 1, 2, 1, NOW(6), NOW(6) FROM n;
     INSERT INTO leader_run (task_id, epoch, user, how, query_ms, started_at, ended_at)
       SELECT $idle, i, 'race-1', 'query', 5, NOW(6), NOW(6) FROM n;
     UPDATE task SET cache_ttl = 600 WHERE task_id = $idle"
read=$(rows_read)
lockqstat >/dev/null
read=$(($(rows_read) - read))
ok "$([ "$read" -gt 500 ] && [ "$read" -lt 4000 ]; echo $?)" \
	"of 18,000 rows it reads a bounded number: $read"
sql "UPDATE task SET cache_ttl = 0 WHERE task_id = $idle;
     DELETE FROM leader_run WHERE task_id = $idle;
     DELETE FROM work WHERE task_id = $idle;
     DELETE FROM work_requested WHERE task_id = $idle"

# --- metrics --------------------------------------------------------------------------------------

sql "UPDATE task SET name = CONCAT('a \"b\" ', CHAR(92), ' c', CHAR(10), 'd') WHERE task_id = $idle"
run lockqstat --metrics
is "$status:$(grep -cE "^lockq_loans_per_hour\{task=\"$task\",name=\"Test $task\"\} [0-9]+$" \
	<<<"$out")" 0:1 '--metrics: a figure of a task'
labels='task="[0-9]+",name="([^"\\]|\\["\\n])*"'
is "$(grep -vE -e '^# (HELP|TYPE) lockq_[a-z0-9_]+ .+$' \
	-e "^lockq_[a-z0-9_]+(\{$labels(,operation=\"[a-z]+\")?\})? [0-9]+(\.[0-9]{3})?\$" \
	<<<"$out")" '' '--metrics: nothing but the text format, whatever a task is called'
is "$(sed -n 's/^# TYPE \([a-z0-9_]*\) gauge$/\1/p' <<<"$out" | sort)" \
	"$(sed -n 's/^\(lockq_[a-z0-9_]*\)[ {].*/\1/p' <<<"$out" | sort -u)" \
	'--metrics: each has its type, once'
if command -v promtool >/dev/null 2>&1; then
	is "$(promtool check metrics <<<"$out" 2>&1)" '' 'promtool finds nothing wrong'
else
	ok 0 'promtool finds nothing wrong # SKIP it is not installed'
fi
lockqstat --follow test-metrics --until-now >"$scratch/lines"
sql "UPDATE follow_cursor SET position = position - 2 WHERE name = 'test-metrics'"
is "$(lockqstat --metrics | sed -n 's/^lockq_cursor_behind/behind/p')" \
	'behind{cursor="test-metrics"} 2' '--metrics: how far cursors are behind'
ok "$(lockqstat --metrics | grep -qE '^lockq_cursor_age_seconds\{cursor="test-metrics"\} [0-9]+$'
	echo $?)" 'and for how long'
is "$(lockqstat --metrics --task "$task" | grep -c cursor)" 0 'but not among the figures of a task'
sql "DELETE FROM follow_cursor WHERE name = 'test-metrics'"
run lockqstat --metrics "$scratch/lockq.prom"
is "$status:$out:$(find "$scratch" -name 'lockq.prom*' -perm 644 | wc -l)" 0::1 \
	'--metrics FILE: one file, which everybody may read'
is "$(sed 's/ [0-9.]*$//' "$scratch/lockq.prom" | cksum)" \
	"$(lockqstat --metrics | sed 's/ [0-9.]*$//' | cksum)" 'with the same figures'
run lockqstat --metrics /no/such/folder/lockq.prom
is "$status" 5 'a file that can not be written: exit 5'
is "$err" "lockqstat: file \"/no/such/folder/lockq.prom\" can't be written: \
No such file or directory" 'and why'
# Links, so that a fault here replaces no device of this machine.
figures() {
	sed 's/ [0-9.]*$//' "$1" | cksum
}
mkfifo "$scratch/fifo"
ln -s /dev/full "$scratch/full"
ln -s "$scratch/linked" "$scratch/link"
ln -s "$scratch/none" "$scratch/dangling"
echo old >"$scratch/linked"
start reader cat "$scratch/fifo"
lockqstat --metrics "$scratch/fifo"
end reader
is "$(figures "$scratch/reader.out")" "$(figures "$scratch/lockq.prom")" \
	'--metrics FIFO: its reader gets the figures'
run lockqstat --metrics "$scratch/full"
is "$status:$err" "5:lockqstat: file \"$scratch/full\" can't be written: \
No space left on device" '--metrics DEVICE: the figures are written into it'
run lockqstat --metrics "$scratch/dangling"
is "$status:$(test -e "$scratch/none"; echo $?)" 5:1 'a link to nothing makes no file'
lockqstat --metrics "$scratch/link"
is "$(figures "$scratch/linked")" "$(figures "$scratch/lockq.prom")" \
	'--metrics LINK: the file that it leads to has the figures'
is "$(find "$scratch" \( -name fifo -type p -o -name full -type l -o -name dangling -type l \
	-o -name link -type l \) | wc -l)" 4 'and each of them is what it was'

# --- again and again ------------------------------------------------------------------------------

start watcher lockqstat --watch 1 --task "$task" --json
lines_of() {
	[ -s "$scratch/$1.out" ] && [ "$(wc -l <"$scratch/$1.out")" -ge "$2" ]
}
wait_for lines_of watcher 3
kill -TERM "${process[watcher]}"
end watcher
is "$status" 143 '--watch without a terminal: again and again, until a signal ends it'
is "$(jq -c .task "$scratch/watcher.out" | sort -u)" "$task" 'and with --json nothing but objects'
start watcher lockqstat --watch 1 --width 60
wait_for lines_of watcher 30
kill -INT "${process[watcher]}"
end watcher
like "$out" '^[0-9:]+ - every 1.0 s - Ctrl-C ends$' 'as text it tells when that was'
is "$status:$(grep '^[|+]' <<<"$out" | wc -L)" 130:60 'no wider than that'
finish
