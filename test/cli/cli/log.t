#!/usr/bin/env bash
# What operators are told of calls: --log, and the counts of calls that were held up. Real locks,
# a real deadlock's error, many processes with one file.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=293
make_steered "$task" 50
make_users 20
open_gatekeeper
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'end_all; sql "DROP PROCEDURE IF EXISTS test_dies"; forget_steered "$task"
	sql "DELETE FROM task_trouble"; forget_users; rm -rf "$scratch"' EXIT
sql "DELETE FROM task_trouble"
log=$scratch/log

# said FILTER: what jq makes of the lines, one a line.
said() {
	jq -c "$1" "$log" | tr '\n' ' ' | sed 's/ $//'
}

# --- the log --------------------------------------------------------------------------------------

run getwork --user race-1 --task "$task" --count 2 --log "$log"
is "$status:$(said '[.program, .event, .operation, .user, .task, .result]')" \
	"0:[\"getwork\",\"end\",\"connect\",null,null,\"ok\"] \
[\"getwork\",\"end\",\"getwork\",\"race-1\",$task,\"ok\"]" \
	'a line for each call'
is "$(said '[.attempt, .lock_waits, .deadlocks, .lock_wait_ms, .number, .sqlstate, .statement]' |
	tr ' ' '\n' | sort -u)" '[1,0,0,0,null,null,null]' 'which met nothing'
is "$(said .request_id)" "null $(sql "SELECT request_id FROM work_requested
	WHERE task_id = $task")" 'with its request'
is "$(stat -c %a "$log")" 640 'the file is not for everybody'
before=$(wc -l <"$log")
LOCKQ_LOG=$log run checkwork --user race-1
is "$(tail -n +$((before + 1)) "$log" | jq -r .operation | sort | uniq -c | tr -s ' \n' ' ')" \
	' 1 connect 2 look ' 'LOCKQ_LOG does the same'
rm "$log"
for i in {1..20}; do
	start "many-$i" getwork --user "race-$i" --task "$task" --count 1 --log "$log" --timeout 60
done
for i in {1..20}; do
	end "many-$i"
done
is "$(jq -r 'select(.operation == "getwork" and .event == "end") | .user' "$log" | sort |
	uniq -c | grep -c '^ *1 ')" 20 'twenty processes share a file, and no line is broken'
run getwork --log "$scratch/no/such/folder" --user race-1 --task "$task"
is "$status:$(sed 1q <<<"$err")" \
	"2:getwork: log \"$scratch/no/such/folder\" can't be written: \
No such file or directory" 'a log that can not be opened: exit 2'
run checkwork --log /dev/full --user race-1
is "$status" 0 'a log that is full holds up nobody'

run checkwork --log "$scratch/away" --user race-1 --socket /no/such/socket --connect-timeout 0
is "$status:$(jq -c '[.event, .operation, .result, .number, .sqlstate, .statement]' \
	"$scratch/away")" '5:["end","connect","database",2002,"HY000","connect"]' \
	'a server that is away has its number, too'
mkfifo "$scratch/pipe"
run timeout 20 checkwork --log "$scratch/pipe" --user race-1
is "$status:$(sed 1q <<<"$err")" \
	"2:checkwork: log \"$scratch/pipe\" can't be written: No such device or address" \
	'a pipe that nobody reads is no log'
exec {reader}<>"$scratch/pipe"
run timeout 20 checkwork --log "$scratch/pipe" --user race-1
read -r -u "$reader" line
is "$status:$(jq -r .operation <<<"$line")" 0:connect 'a pipe that somebody reads'
# shellcheck disable=SC2016 # perl's variables
perl -MFcntl -e 'open(my $p, ">>", $ARGV[0]); fcntl($p, F_SETFL, O_NONBLOCK);
	while (syswrite($p, "x" x 1000)) {} while (syswrite($p, "x")) {}' "$scratch/pipe"
run timeout 20 checkwork --log "$scratch/pipe" --user race-1
is "$status" 0 'a pipe that is full holds up nobody'
exec {reader}<&-

# --- what held up a call --------------------------------------------------------------------------

# trouble OPERATION [TASK]: busy, lock waits, deadlocks, retries.
trouble() {
	lockqstat --json | jq -c "select(.task == ${2-$task}) | .trouble[] |
		select(.operation == \"$1\") | [.busy, .lock_waits, .deadlocks, .retries]"
}
forget_trouble() {
	sql 'DELETE FROM task_trouble'
	rm -f "$log"
}
loan=$(sql "SELECT MIN(loan_id) FROM work WHERE task_id = $task AND user_id = (
	SELECT user_id FROM app_user WHERE name = 'race-1')")
is "$(sql 'SELECT COUNT(*) FROM task_trouble')" 0 'calls that met nothing are not counted'
gatekeeper_says "BEGIN; SELECT COUNT(*) INTO @n FROM lockq.work WHERE task_id = $task FOR UPDATE;"
run disposition --user race-1 --task "$task" --loan "$loan" --complete --timeout 1 --log "$log" \
	--note 'a secret'
gatekeeper_says 'ROLLBACK;'
is "$status:$(trouble disposition | sed 's/,[0-9]*\]$//')" '3:[1,1,0' \
	'a disposition that waits in vain: busy, and each lock wait'
is "$(jq -c 'select(.event == "failure" and .operation == "disposition") | [.operation, .user,
	.task, .attempt, .number, .sqlstate, .statement, .statement_ms >= 900]' "$log" | sed 1q)" \
	"[\"disposition\",\"race-1\",$task,1,1205,\"HY000\",\"lock_loans\",true]" \
	'the log has the failure'
is "$(jq -c 'select(.event == "end" and .operation == "disposition") | [.result, .lock_waits,
	.lock_wait_ms >= 900, .number, .statement]' "$log")" '["busy",1,true,1205,"lock_loans"]' \
	'and at the end the sum'
is "$(grep -c -e secret -e loan\" -e restarting "$log")" 0 \
	'no note, no loan and no text of the server'
forget_trouble

sql "CREATE PROCEDURE test_dies (loan_id BIGINT UNSIGNED, user VARCHAR(64))
       SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213;
     GRANT EXECUTE ON PROCEDURE test_dies TO lockq_worker@lockq;
     UPDATE task SET on_complete = 'test_dies' WHERE task_id = $task"
run disposition --user race-1 --task "$task" --loan "$loan" --complete --log "$log"
sql "UPDATE task SET on_complete = NULL WHERE task_id = $task"
is "$status:$(trouble disposition)" "5:[0,0,$(jq -s 'map(select(.event == "failure" and
	.number == 1213)) | length' "$log"),$(jq 'select(.event == "end" and
	.operation == "disposition") | .attempt - 1' "$log")]" 'deadlocks, and what was tried again'
like "$(jq 'select(.event == "failure") | .attempt' "$log" | tail -n 1)" '^[2-9]$' \
	'more than once'
forget_trouble

steer "$task" gated
shut_gate "$task"
start leader getwork --user race-2 --task "$task"
await_leader "$task" race-2
run getwork --user race-3 --task "$task" --no-wait
is "$status:$(trouble getwork)" '3:[1,0,0,0]' 'a getwork that does not wait is busy'
run getwork --cancel --user race-3 --task "$task"
sql "UPDATE task SET cache_ttl = 600 WHERE task_id = $task"
run refill --task "$task"
is "$status:$(trouble refill)" '3:[1,0,0,0]' 'and so is a refill while somebody leads'
sql "UPDATE task SET cache_ttl = 0 WHERE task_id = $task"
open_gate "$task"
end leader
steer "$task" light
is "$(lockqstat --metrics | grep "^lockq_busy_calls{task=\"$task\"")" \
	"lockq_busy_calls{task=\"$task\",name=\"Test $task\",operation=\"getwork\"} 1
lockq_busy_calls{task=\"$task\",name=\"Test $task\",operation=\"refill\"} 1" \
	'metrics have the counts by operation'
sql "UPDATE task_trouble SET slot = slot - INTERVAL 61 MINUTE"
is "$(trouble getwork)" '' 'what is older than an hour is not shown'
sql "UPDATE task_trouble SET slot = slot - INTERVAL 2 DAY, operation = 'manage'
      WHERE operation = 'refill'"
sql "CALL trouble_adds($task, 'manage', 1, 0, 0, 0);
     CALL trouble_adds($task, 'manage', 1, 0, 0, 0);
     CALL trouble_adds($task, 'nonsense', 1, 0, 0, 0);
     CALL trouble_adds(0, 'expire', 1, 0, 0, 0)"
is "$(sql "SELECT task_id, operation, busy FROM task_trouble WHERE slot > NOW() - INTERVAL 1 HOUR
	OR operation = 'manage' ORDER BY task_id" | tr '\t\n' ' ,')" "0 expire 1,$task manage 2," \
	'rows of two days ago go; an unknown operation is none'
is "$(trouble expire null)" '[1,0,0,0]' 'calls for no task have an object of their own'

# --- syslog ---------------------------------------------------------------------------------------

if [ -e /dev/log ] || [ "$(id -u)" != 0 ]; then
	ok 0 '--log syslog # SKIP a syslog runs here'
	finish
	exit
fi
# shellcheck disable=SC2016 # perl's variables
start syslog perl -MSocket -e '$| = 1;
	socket(my $s, PF_UNIX, SOCK_DGRAM, 0) or die;
	bind($s, sockaddr_un("/dev/log")) or die;
	while (defined recv($s, my $line, 65536, 0)) { print "$line\n" }'
wait_for test -S /dev/log
run checkwork --log syslog --user race-1
logged() {
	[ "$(grep -c '"operation":"look"' "$scratch/syslog.out")" = 2 ]
}
wait_for logged
kill "${process[syslog]}"
wait "${process[syslog]}" 2>/dev/null
rm -f /dev/log
like "$(cat "$scratch/syslog.out")" \
	'^<14>.* checkwork\[[0-9]+\]: \{"at":.*"program":"checkwork".*"operation":"look"' \
	'--log syslog'
finish
