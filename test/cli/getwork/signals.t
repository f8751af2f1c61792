#!/usr/bin/env bash
# Ctrl-C and other signals, as users see them: on a getwork that waits, polls, leads, connects, or
# looks for its lost server; in a terminal, and at random moments.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"

task=233 small=234
make_steered "$task" 6000
# Its query lasts for so long that a signal at a random moment meets it.
make_task "$small" 3000 400
make_users 9
open_gatekeeper
socket=$(sql 'SELECT @@socket')
# A signal may come to a forked process before it becomes a program. It is a shell then, which must
# not clean up. (The sourced files set status, out, err and scratch.)
# shellcheck disable=SC2154,SC2317
tidy_up() {
	[ "$BASHPID" = $$ ] || return
	end_all
	forget_steered "$task"
	forget_task "$small"
	sql "DROP PROCEDURE IF EXISTS test_done_$small"
	forget_users
	rm -rf "$scratch"
}
trap tidy_up EXIT

# said: prints err without the line that tells why a program has waited for so long.
said() {
	sed '/: waiting for /d' <<<"$err"
}
# interrupted REQUEST: prints getwork's message.
interrupted() {
	printf 'getwork: interrupted: request %s is cancelled' "$1"
}

# How many lock waits have run into their time limit since the server's start.
lock_timeouts="SELECT sum_error_raised
                 FROM performance_schema.events_errors_summary_global_by_error
                WHERE error_name = 'ER_LOCK_WAIT_TIMEOUT'"

# --- followers ----------------------------------------------------------------------------------

steer "$task" heavy
start leader getwork --task "$task" --user race-1
await_leader "$task" race-1
signals=(INT TERM HUP) statuses=(130 143 129)
for i in 0 1 2; do
	start "blocking-$i" getwork --task "$task" --user "race-$((i + 2))"
	start "polling-$i" getwork --task "$task" --user "race-$((i + 5))" --poll 600
done
start json getwork --task "$task" --user race-8 --json
for i in {2..8}; do
	await_request "race-$i" "$task"
done
for i in 0 1 2; do
	await "SELECT $(connections "polling-$i")" 0
	for who in "blocking-$i:$((i + 2))" "polling-$i:$((i + 5))"; do
		name=${who%:*} request=$(last_request "race-${who#*:}" "$task")
		kill "-${signals[i]}" "${process[$name]}"
		end "$name"
		is "$status:$out:$(said)" "${statuses[i]}::$(interrupted "$request")" \
			"SIG${signals[i]}, ${name%-*}: exit ${statuses[i]}; it names the request"
		is "$(request_is "$request")" 'cancelled 1 0 0' 'the request is cancelled'
	done
done
kill -INT "${process[json]}"
end json
is "$status:$(jq -c '[.status, .exit, .loans, .request_id]' <<<"$out")" \
	"130:[\"cancelled\",130,[],$(last_request race-8 "$task")]" 'the same in JSON'
is "$(said)" "$(interrupted "$(jq .request_id <<<"$out")")" 'and a line for people'

# timeout(1) and terminals send two signals at once.
start twice getwork --task "$task" --user race-2
await_request race-2 "$task"
request=$(last_request race-2 "$task")
await "SELECT $(follows twice)" 1
timeouts_before=$(sql "$lock_timeouts")
kill -STOP "${process[twice]}"
kill -INT "${process[twice]}"
kill -TERM "${process[twice]}"
kill -CONT "${process[twice]}"
end twice
like "$status" '^1(30|43)$' 'two signals at once: exit 130 or 143'
is "$(said):$(request_is "$request")" "$(interrupted "$request"):cancelled 1 0 0" \
	'two signals at once are the same as one'
await "SELECT COUNT(*) FROM performance_schema.threads AS t
        WHERE $(runs_text '%FOR SHARE%') AND processlist_id <> CONNECTION_ID()" 0
is "$(sql "$lock_timeouts")" "$timeouts_before" 'its wait on the server ends, before its time limit'
# SIGALRM tells timeout(1) that the time is over.
start timed timeout 1000 getwork --task "$task" --user race-2
await_request race-2 "$task"
request=$(last_request race-2 "$task")
kill -ALRM "${process[timed]}"
end timed
is "$status:$(said):$(request_is "$request")" "124:$(interrupted "$request"):cancelled 1 0 0" \
	'timeout(1): the request is cancelled, too'

# A script's background job begins with SIGINT ignored.
start background sh -c "getwork --task $task --user race-2 & echo \$! >'$scratch/background.pid'
	wait \$!"
await_request race-2 "$task"
request=$(last_request race-2 "$task")
kill -INT "$(cat "$scratch/background.pid")"
end background
is "$status:$(said):$(request_is "$request")" "130:$(interrupted "$request"):cancelled 1 0 0" \
	'Ctrl-C reaches the background job of a script, too'
start nohup sh -c "trap '' HUP; exec getwork --task $task --user race-2"
await_request race-2 "$task"
request=$(last_request race-2 "$task")
kill -HUP "${process[nohup]}"

start looker checkwork --request "$request" --wait 300
start looker_json checkwork --request "$request" --wait 300 --json
await "SELECT $(follows looker) + $(follows looker_json)" 2
kill -INT "${process[looker]}"
end looker
is "$status:$out" "130:request $request for race-2, task $task: pending, race-1 leads" \
	'Ctrl-C on checkwork --wait: exit 130, and how the request stands'
kill -TERM "${process[looker_json]}"
end looker_json
is "$status:$(jq -c '[.status, .exit]' <<<"$out")" '143:["pending",143]' \
	'SIGTERM on checkwork --wait, in JSON'
is "$(request_is "$request")" 'pending 1 0 0' 'the request stays pending'
is "$(kill -0 "${process[nohup]}" && echo alive)" alive 'under nohup SIGHUP is still ignored'

start joiner getwork --task "$task" --user race-2
await "SELECT seen_at > created_at FROM work_requested WHERE request_id = $request" 1
await "SELECT $(connections joiner)" 1
kill -INT "${process[joiner]}"
end joiner
is "$status:$(request_is "$request")" '130:pending 1 0 0' \
	'Ctrl-C on one who joined: the request stays pending'
like "$(said)" \
	"^getwork: interrupted: request $request stays pending, since another process made it" \
	'and it says so'
kill -TERM "${process[nohup]}"
end nohup
is "$status:$(request_is "$request")" '143:cancelled 1 0 0' 'the one who made it cancels it'

# --- leaders ------------------------------------------------------------------------------------

lines="SELECT (SELECT COUNT(*) FROM work WHERE task_id = $task)
            + (SELECT COUNT(*) FROM work_log WHERE task_id = $task)
            + (SELECT COUNT(*) FROM leader_run WHERE task_id = $task)"
for i in 0 1 2; do
	[ "$i" -eq 0 ] || start leader getwork --task "$task" --user race-1
	await_leader "$task" race-1
	request=$(last_request race-1 "$task")
	kill "-${signals[i]}" "${process[leader]}"
	end leader
	is "$status:$out:$(said)" "${statuses[i]}::$(interrupted "$request")" \
		"SIG${signals[i]} while leading: exit ${statuses[i]}; it names the request"
	await "SELECT $(queries "$task")" 0
	ok $? 'its query has ended on the server'
	is "$(request_is "$request")" 'cancelled 1 0 0' 'the request is cancelled'
done
is "$(sql "$lines")" 0 'nothing was given or logged, no round was recorded'
steer "$task" light
run getwork --task "$task" --user race-2 --no-wait --json
is "$status:$(jq .led <<<"$out")" 0:true 'the lock is free: the next one leads'

# --- just before ---------------------------------------------------------------------------------

# The follower is stopped while it waits, is served, gets the signal, and only then goes on.
steer "$task" gated
shut_gate "$task"
start leader getwork --task "$task" --user race-1
await_leader "$task" race-1
start follower getwork --task "$task" --user race-3 --count 2 --json
await_request race-3 "$task"
request=$(last_request race-3 "$task")
await "SELECT $(follows follower)" 1
kill -STOP "${process[follower]}"
open_gate "$task"
end leader
is "$(request_is "$request")" 'served 2 2 2' 'a follower is served'
kill -INT "${process[follower]}"
kill -CONT "${process[follower]}"
end follower
is "$status:$(jq -c '[.status, .exit, (.loans | length)]' <<<"$out"):$err" '0:["served",0,2]:' \
	'served just before Ctrl-C: exit 0, with the loans'

# --- without its server -------------------------------------------------------------------------

# kill_connections NAME: as an administrator.
kill_connections() {
	local id
	for id in $(sql "SELECT processlist_id FROM performance_schema.session_connect_attrs
	                  WHERE attr_name = '_pid' AND attr_value = '${process[$1]}'"); do
		sql "KILL $id" 2>/dev/null
	done
}

# lose NAME USER [SOCKET]: a getwork follows, and loses its server. With SOCKET, this one is in the
# server's place.
lose() {
	ln -sfn "$socket" "$scratch/$1.sock"
	start "$1" getwork --task "$task" --user "$2" --socket "$scratch/$1.sock" --verbose
	await "SELECT $(follows "$1")" 1
	rm "$scratch/$1.sock"
	[ $# -lt 3 ] || ln -sfn "$3" "$scratch/$1.sock"
	kill_connections "$1"
	wait_for grep -q 'waiting: ' "$scratch/$1.err"
}

# A server that accepts connections and sends nothing. It writes a line for each connection.
# shellcheck disable=SC2016 # perl's variables
start mute perl -MIO::Socket::UNIX -e '
	my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 20) or die;
	my @kept;
	$| = 1;
	while (my $c = $s->accept) { push @kept, $c; print "one\n"; }' "$scratch/mute"
wait_for [ -S "$scratch/mute" ]
accepted() {
	[ "$(wc -l <"$scratch/mute.out")" -gt "$1" ]
}

steer "$task" heavy
start leader getwork --task "$task" --user race-1
await_leader "$task" race-1
lose gone race-4
ok $? 'without its server it tries again'
lose back race-5
lose hung race-6 "$scratch/mute"
gone=$(sql "SELECT uuid FROM work_requested WHERE request_id = $(last_request race-4 "$task")")
kill -INT "${process[gone]}" "${process[back]}" "${process[hung]}"
ln -sfn "$socket" "$scratch/back.sock"
# Two seconds after the first signal, or later, a second one ends it at once.
sleep 3
kill -INT "${process[hung]}" 2>/dev/null
end hung
is "$status" 130 'a server that does not answer: Ctrl-C again ends it, with 130'
like "$err" '^ended at once: a request may stay pending' 'at once'
end back
request=$(last_request race-5 "$task")
is "$status:$(request_is "$request")" '130:cancelled 1 0 0' \
	'Ctrl-C while it tries again: cancelled as soon as the server is back'
like "$err" "interrupted: request $request is cancelled" 'it says so'
end gone
like "$status" '^(5|130)$' 'Ctrl-C, and the server does not come back: it ends'
like "$err" "may still be pending: see checkwork --request $gone" 'and says how to find out'
run checkwork --request "$gone"
like "$status:$out" '^3:request [0-9]+ for race-4, .*: pending' 'that command finds the request'
# A script's background job begins with SIGINT ignored; this one begins as in a terminal.
connections_before=$(wc -l <"$scratch/mute.out")
# shellcheck disable=SC2016 # perl's variables
start connecting perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' \
	getwork --task "$task" --user race-9 --socket "$scratch/mute"
wait_for accepted "$connections_before"
kill -INT "${process[connecting]}"
end connecting
is "$status" 130 'Ctrl-C while it connects: exit 130'
is "$(last_request race-9 "$task")" 0 'no request was made'
end_hard mute

# --- nobody reads --------------------------------------------------------------------------------

start reader getwork --task "$task" --user race-8
await_request race-8 "$task"
kill -INT "${process[leader]}"
end leader
kill -INT "${process[reader]}"
end reader
steer "$task" light
run bash -c "getwork --task $task --user race-8 >/dev/full"
is "$status" 5 'an answer that can not be written: exit 5'
like "$err" 'the loans are assigned to you nevertheless: see checkwork' \
	'it says that the loans are there'
# A pipe that has lost its reader.
mkfifo "$scratch/pipe"
exec {reader}<>"$scratch/pipe"
exec {writer}>"$scratch/pipe"
exec {reader}<&-
run bash -c "getwork --task $task --user race-8 --json >&$writer"
exec {writer}>&-
is "$status" 5 'nobody reads the pipe: exit 5, and not SIGPIPE'
is "$(sql "SELECT COUNT(*) FROM work AS w JOIN app_user AS u ON u.user_id = w.user_id
            WHERE u.name = 'race-8' AND w.task_id = $task")" 2 'the loans are there'

# --- a terminal ----------------------------------------------------------------------------------

terminal() {
	timeout "$patience" tmux -S "$scratch/tmux" -f /dev/null "$@"
}
screen() {
	terminal capture-pane -p -t "$1" | sed 's/ *$//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}
# await_screen TERMINAL PATTERN
await_screen() {
	wait_for shows "$1" "$2" || screen "$1" | sed 's/^/#   /'
}
shows() {
	screen "$1" | grep -Eq -e "$2"
}
# in_terminal NAME COLUMNS USER PHASE: sends Ctrl-C while the line says PHASE; $out is the screen.
in_terminal() {
	terminal new-session -d -s "$1" -x "$2" -y 20 \
		"exec env PS1='prompt> ' TERM=screen bash --norc --noprofile -i"
	await_screen "$1" '^prompt>'
	terminal send-keys -t "$1" "getwork --task $task --user $3" Enter
	await_screen "$1" "^$4"
	terminal send-keys -t "$1" C-c
	await_screen "$1" '^getwork: interrupted'
	# shellcheck disable=SC2016 # that shell's variable
	terminal send-keys -t "$1" 'echo status $?' Enter
	await_screen "$1" '^status [0-9]'
	out=$(screen "$1")
	terminal kill-session -t "$1"
}

if command -v tmux >/dev/null 2>&1; then
	steer "$task" heavy
	in_terminal leading 80 race-2 'your query runs'
	is "$out" "prompt> getwork --task $task --user race-2
$(interrupted "$(last_request race-2 "$task")")
prompt> echo status \$?
status 130
prompt>" 'in a terminal, leading: message and prompt have lines of their own'
	start leader getwork --task "$task" --user race-1
	await_leader "$task" race-1
	in_terminal waiting 80 race-2 'waiting for "race-1"'
	is "$out" "prompt> getwork --task $task --user race-2
$(interrupted "$(last_request race-2 "$task")")
prompt> echo status \$?
status 130
prompt>" 'the same while it waits'
	in_terminal narrow 40 race-2 'waiting for "race-1"'
	like "$out" "^prompt> echo status" 'in a narrow one: the prompt has a line of its own'
	is "$(grep -c 'waiting for' <<<"$out")" 0 'the line that ticked is cleared'
	terminal kill-server 2>/dev/null
	kill -TERM "${process[leader]}"
	end leader
else
	ok 0 'Ctrl-C in a terminal # SKIP no tmux'
fi

# --- at any moment -------------------------------------------------------------------------------

# is_program PID: it is no shell any more, which would run the trap of this script.
is_program() {
	local own its
	read -r own <"/proc/$$/comm"
	read -r its <"/proc/$1/comm" && [ "$its" != "$own" ]
} 2>/dev/null

# The signal comes after a random time below $latest_ms. Where it comes before getwork has asked, or
# after both are served, that limit is moved. The rounds go on until signals have come both while a
# request was pending and after it was served.
rounds=${LOCKQ_SIGNAL_ROUNDS:-40} latest_ms=40 cancelled=0 served=0
for ((round = 1; round <= rounds || (cancelled == 0 || served == 0) && round <= 2000; round++)); do
	for i in 1 2; do
		getwork --user "race-$i" --task "$small" --json \
			>"$scratch/r-$round-$i" 2>/dev/null &
		process[race-$i]=$!
	done
	printf -v delay '%d.%03d' $((after = RANDOM % latest_ms, after / 1000)) $((after % 1000))
	sleep "$delay"
	chosen=$((RANDOM % 2 + 1)) one=${process[race-$chosen]}
	! is_program "$one" || kill -INT "$one" 2>/dev/null
	for i in 1 2; do
		wait "${process[race-$i]}"
		echo "$?" >"$scratch/s-$round-$i"
	done
	case $(cat "$scratch/s-$round-$chosen"):$(wc -c <"$scratch/r-$round-$chosen") in
	130:0) latest_ms=$((latest_ms + latest_ms / 16 + 1)) ;;
	130:*) cancelled=$((cancelled + 1)) ;;
	0:*) latest_ms=$((latest_ms - latest_ms / 32)) served=$((served + 1)) ;;
	esac
done
rounds=$((round - 1)) silent=0
for answer in "$scratch"/r-*; do
	# It ended while it connected, before it asked.
	if [ ! -s "$answer" ] && [ "$(cat "${answer/r-/s-}")" = 130 ]; then
		silent=$((silent + 1))
		continue
	fi
	jq -r --arg exit "$(cat "${answer/r-/s-}")" \
		'"\(.uuid) \($exit) \(.loans | map(.loan_id) | sort | join(","))"' "$answer"
done >"$scratch/answers"
sort "$scratch/answers" >"$scratch/told"
sql "SELECT r.uuid, CASE r.outcome WHEN 'served' THEN 0 WHEN 'cancelled' THEN 130
                    ELSE r.outcome END,
            COALESCE(GROUP_CONCAT(l.loan_id ORDER BY l.loan_id), '')
       FROM work_requested AS r
       LEFT JOIN work_log AS l ON l.request_id = r.request_id
      WHERE r.task_id = $small GROUP BY r.request_id" | tr '\t' ' ' | sort >"$scratch/done"
is "$(($(wc -l <"$scratch/told") + silent))" $((rounds * 2)) \
	"$rounds rounds of two, one of them interrupted, $silent times before it asked"
is "$(diff "$scratch/told" "$scratch/done" | head -n 4)" '' \
	'each ends with 0 and its loans, or with 130, a cancelled request and no loan'
is "$(sql "SELECT COUNT(*) FROM work_requested
            WHERE task_id = $small AND outcome = 'pending'")" 0 'no request is left pending'
is "$(sql "SELECT COUNT(*) FROM performance_schema.data_locks
            WHERE object_name IN ('task_lock', 'task_wake')")" 0 'no lock is left'
is "$(given_twice "$small")" 0 'no loan was given twice'
ok $((cancelled > 0 && served > 0 ? 0 : 1)) \
	"signals came before and after the assignment: $cancelled were cancelled, $served served"

# --- while a procedure completes loans ------------------------------------------------------------

shut_gate "$small"
sql "CREATE PROCEDURE test_done_$small (IN p_loan BIGINT UNSIGNED, IN p_user VARCHAR(64))
       DO GET_LOCK('test gate $small', $patience);
     GRANT EXECUTE ON PROCEDURE test_done_$small TO lockq_worker@lockq;
     UPDATE task SET cache_ttl = 60, on_complete = 'test_done_$small' WHERE task_id = $small"
run getwork --user race-9 --task "$small" --json
loan=$(jq .loans[0].loan_id <<<"$out") last=$(last_request race-9 "$small")
start completes getwork --user race-9 --task "$small" --complete "$loan"
await "SELECT COUNT(*) FROM performance_schema.threads
        WHERE processlist_state = 'User lock' AND processlist_db = DATABASE()" 1
kill -INT "${process[completes]}"
end completes
is "$status:$out:$err" "130::getwork: interrupted: nothing was changed
getwork: nothing was asked for, since --complete comes first" \
	"Ctrl-C while the task's on_complete runs: exit 130, and it says that nothing was changed"
open_gate "$small"
await "SELECT COUNT(*) FROM (SELECT 1 FROM work WHERE task_id = $small AND loan_id = $loan
                               AND state = 'assigned' FOR UPDATE SKIP LOCKED) AS free" 1
ok $? 'when its procedure ends on the server, the loan is assigned as before'
is "$(last_request race-9 "$small")" "$last" 'no request was made'
finish
