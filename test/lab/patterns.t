#!/usr/bin/env bash
# Each claim of the lab's patterns, in real races; and scripts/race itself.
#   LOCKQ_LAB=all  a user of every pattern is killed or stopped
set -u
# shellcheck source=test/lab/common.sh
. "$(dirname "$0")/common.sh"

task=205

given_twice() {
	[ "$(told_twice)" -eq 3 ]
}

out_of_date() {
	[ "$(happens 'tries again: token [0-9]+ is out of date')" -eq 1 ]
}

# --- which give loans twice ----------------------------------------------------------------------

race_figures naive --rounds 3 --query-seconds 0.1
is "$(of naive by_round | jq -c 'map(.given_twice > 0)')" '[true,true,true]' \
	'naive: 8 shells are given loans twice in each race'
is "$(of naive heavy_queries given served errors)" '24 72 24 0' \
	'naive: everybody runs the query, is served, and sees no error'

# The gap between its read and its write is short, so it gives loans twice in most races only.
for ((i = 0; i < 12; i++)); do
	race_figures flag:check --query-seconds 0.1
	[ "$(of flag:check given_twice)" = 0 ] || break
done
is "$(of flag:check . | jq '.given_twice > 0 and .errors == 0')" true \
	"flag:check: loans are given twice: in race $((i + 1))"

right=(optimistic unique forupdate advisory skiplocked onemachine lockq)
race_figures "${right[@]}" --query-seconds 0.1
for pattern in "${right[@]}"; do
	is "$(of "$pattern" given_twice given served unserved errors empty)" '0 24 8 0 0 0' \
		"$pattern: 8 people are served, nothing is given twice"
done
for pattern in forupdate advisory; do
	is "$(of "$pattern" heavy_queries)" 8 "$pattern: 8 heavy queries for 8 people"
done
for pattern in unique optimistic; do
	is "$(of "$pattern" . | jq '.heavy_queries >= 8 and .heavy_queries == 8 + .retries')" \
		true "$pattern: one more heavy query for each list that was lost"
done
for pattern in onemachine skiplocked; do
	is "$(of "$pattern" heavy_queries)" 1 "$pattern: one heavy query for 8 people"
done

is "$(of skiplocked retries)" 0 'skiplocked: no user finds all rows locked'

race_figures skiplocked:no-index deadlock deadlock:ordered --shells 4 --query-seconds 0.1
for pattern in skiplocked:no-index deadlock deadlock:ordered; do
	is "$(of "$pattern" given_twice given served unserved errors heavy_queries)" \
		'0 12 4 0 0 1' "$pattern: 4 people are served, nothing is given twice"
done
is "$(of deadlock . | jq '.deadlocks > 0 and .retries >= .deadlocks')" true \
	"deadlock: there are some, and they are tried again: $(of deadlock deadlocks)"
is "$(of deadlock:ordered deadlocks)" 0 'deadlock:ordered: none'

# A flag or a lease that is too old is taken away. A busy machine may be so slow that this happens
# to a process that lives.
for pattern in flag lease; do
	enough '0.1 0.8 4' '.heavy_queries == 8 and .given_twice == 0' "$pattern"
	is "$(of "$pattern" heavy_queries given_twice given served unserved errors empty)" \
		'8 0 24 8 0 0 0' "$pattern: 8 queries for 8 people, nothing is given twice"
done
enough '0.1 0.8 4' '.heavy_queries == 1' lockq
is "$(of lockq heavy_queries given_twice given served)" '1 0 24 8' \
	'lockq: one heavy query for 8 people who ask at once'
enough '0.1 0.8 4' '.errors == 7' nowait
is "$(of nowait heavy_queries given_twice given served errors unserved)" '1 0 3 1 7 0' \
	'nowait: one is served, 7 are refused'

# On a busy machine the view may not be able to tell in time whether loans match, so a query runs;
# or the programs may take longer to start than the query of the other race takes.
for seconds in 0.8 3 12; do
	race_figures lockq:list lockq --query-seconds "$seconds"
	[ "$(of lockq:list heavy_queries)" = 0 ] || continue
	[ "$(of lockq:list last_ms)" -ge "$(of lockq first_ms)" ] || break
done
is "$(of lockq:list heavy_queries given_twice given served errors empty unserved)" \
	'0 0 24 8 0 0 0' 'lockq:list: no query runs, everybody is served, nothing is given twice'
list_ms=$(of lockq:list last_ms) query_ms=$(of lockq first_ms)
ok $((list_ms < query_ms ? 0 : 1)) "lockq:list: the last is served before the first of lockq: $(
	)$list_ms and $query_ms ms"
race_figures lockq:list --shells 4 --count 99 --query-seconds 0.1
is "$(of lockq:list given_twice given served unserved errors)" '0 396 4 0 0' \
	'lockq:list: many loans for each, nothing is given twice'
# in_lab COLUMNS TABLE: prints them for the lab's task.
in_lab() {
	sql "SELECT $1 FROM lockq_lab.$2 WHERE task_id = 7"
}
for ((i = 0; i < 5; i++)); do
	race_figures lockq:list --query-seconds 0.1
	[ "$(of lockq:list heavy_queries)" != 0 ] || break
done
is "$(in_lab "COUNT(*), SUM(source = 'list'), SUM(checked IS NOT NULL)" work_requested)" \
	$'8\t8\t8' 'lockq:list: all have loans of the list, about which the view was asked'
is "$(in_lab 'COUNT(*), SUM(query_ms >= 0), SUM(requests)' leader_run)" $'1\t1\t0' \
	'lockq:list: the only query filled the list before the race'

# --- machines -----------------------------------------------------------------------------------

race_figures onemachine --nodes 2 --shells 4 --query-seconds 0.1
is "$(of onemachine heavy_queries given served errors)" '2 12 4 0' \
	'onemachine with two nodes: a query on each, everybody is served'
is "$(of onemachine . | jq '.given_twice > 0')" true \
	'onemachine with two nodes: loans are given twice'

# --- what users are told ------------------------------------------------------------------------

watch skiplocked:no-index --shells 4 --query-seconds 0.1
is "$(("$(happens 'tries again: .*every row of it is locked')" > 0))" 1 \
	'skiplocked:no-index: users are told that every row is locked'
watch nowait --shells 4 --query-seconds 0.1
is "$(happens 'is told: .*NOWAIT.*\(3572\)')" "$((4 - $(happens gets)))" \
	'nowait: the others get error 3572'
lock_wait=$(sql 'SELECT @@GLOBAL.innodb_lock_wait_timeout')
sql 'SET GLOBAL innodb_lock_wait_timeout = 1'
for seconds in 0.8 3; do
	watch forupdate --shells 5 --query-seconds "$seconds"
	[ "$(happens 'is told: .*\(1205\)')" = 0 ] || break
done
sql "SET GLOBAL innodb_lock_wait_timeout = $lock_wait"
is "$(($(happens 'is told: .*\(1205\)') > 0)) $(told_twice)" '1 0' \
	'forupdate: the last in the line get error 1205'
watch naive --shells 4 --query-seconds 0.1
is "$(told_twice)" "$(sed -n 's/.*given twice: //p' <<<"$seen")" \
	'the race counts the loans that more than one user got as given twice'
is "$(told_twice)" 3 '4 users get the same 3 loans'

# --- a process that dies ------------------------------------------------------------------------

# all_but_one PATTERN: one of 3 users was killed, by the figures.
all_but_one() {
	local errors=0
	[ "$1" != nowait ] || errors=$(of "$1" errors)
	is "$(of "$1" unserved served errors)" "1 $((2 - errors)) $errors" \
		"$1: one of 3 is killed and not served"
	[ "$1" = naive ] || is "$(of "$1" given_twice)" 0 "$1: nothing is given twice for that"
}

# In make check some stand for all.
patterns=(naive unique skiplocked) claims=(lease)
if [ "${LOCKQ_LAB-}" = all ]; then
	patterns=(naive optimistic unique forupdate nowait advisory skiplocked deadlock)
	claims=(flag lease)
fi
race_figures "${patterns[@]}" --kill --shells 3 --query-seconds 0.2
for pattern in "${patterns[@]}"; do
	all_but_one "$pattern"
done
is "$(of skiplocked heavy_queries)" 1 "skiplocked: the producer's query ran once"
enough '0.2 1.5 6' '.heavy_queries == 2' onemachine --kill --shells 3
all_but_one onemachine
is "$(of onemachine heavy_queries)" 2 'onemachine: the next user runs the query again'
# A flag or a lease is old after twice the query and a second. Nobody asks before time 0.
old='.first_ms >= 1000 * (2 * .query_seconds + 1)'
for pattern in "${claims[@]}"; do
	enough '0.2 1.5 6' "$old and .given_twice == 0" "$pattern" --kill --shells 3
	all_but_one "$pattern"
	is "$(jq "$old" <"$figures")" true \
		"$pattern: the dead one's claim is old first: $(of "$pattern" first_ms) ms"
done

# --- a process that is stopped ------------------------------------------------------------------

for pattern in lease:no-token "${claims[@]}"; do
	[ "$pattern" = lease ] && check=out_of_date || check=given_twice
	watch_pause '0.2 1.5 6' "$check" "$pattern" --pause --shells 3
	is "$(happens 'is stopped') $(happens 'goes on') $(happens gets)" '1 1 3' \
		"$pattern: the first user is stopped, and served in the end"
	if [ "$pattern" = lease ]; then
		is "$(told_twice)" 0 'lease: its token is out of date, nothing is given twice'
		out_of_date
		is $? 0 'lease: the user sees that'
	else
		is "$(told_twice)" 3 "$pattern: the loans of the stopped user are given twice"
	fi
done
enough '0.6 3 12' '.heavy_queries == 2' lockq --kill
is "$(of lockq unserved served given_twice errors heavy_queries)" '1 7 0 0 2' \
	'lockq: the leader is killed, the next one leads, and 7 are served by one more query'
watch_pause '0.6 3 12' true lockq --pause=2 --shells 3
is "$(happens 'is stopped') $(happens 'goes on') $(happens gets) $(told_twice)" '1 1 3 0' \
	'lockq: a leader is stopped for 2 s: nothing is given twice'
is "$(happens 'runs the heavy query')" 1 'lockq: nobody else leads'
# This long race runs beside the tests that start none.
{
	watch_pause '0.6 3 12' true lockq --pause=60 --shells 3
	printf '%s\n' "$seen" >"$scratch/long"
} &
long=$!
# It has the lab's lock as soon as there is a folder of its race.
has_begun() {
	[ -n "$(ls "$TMPDIR")" ]
}
wait_for has_begun

# --- how it is used -----------------------------------------------------------------------------

run race naive --query-seconds 0.1
is "$status:$err" '3:race: another race is at work in this sandbox: wait for its end' \
	'a second race at the same time is refused'

# refused TEXT ARGUMENT…: with a usage error of one line.
refused() {
	local text=$1
	shift
	run race "$@"
	is "$status:$out:$err" "2::race: $text" "usage: ${*@Q}"
}

help="try 'scripts/race --help'"
refused "no pattern was named: see 'scripts/race --list'"
refused "no pattern was named: see 'scripts/race --list'" --json
for pattern in nosuch naive:x lockq: :naive '' lab naive.sh; do
	refused "there is no pattern '$pattern': see 'scripts/race --list'" naive "$pattern"
done
for option in --shells --count; do
	for value in 0 -1 100 x 1.5 '' ' 3' 08 $'8\n9'; do
		refused "$option is a number from 1 to 99, not '$value': $help" \
			naive "$option=$value"
	done
done
refused "--nodes is a number of machines, not '0': $help" naive --nodes 0
refused "--rounds is a number of rounds, not '0': $help" naive --rounds 0
for option in --query-seconds --gap --ttl --timeout --pause; do
	for value in -1 x .5 1e3 1.2345 99999 1,5; do
		refused "$option is a number of seconds, not '$value': $help" \
			naive "$option=$value"
	done
done
for option in --query-seconds --gap --ttl; do
	refused "$option is a number of seconds, not '': $help" naive "$option="
done
refused "--pause is a number of seconds, not 'none': $help" naive --pause=
refused "--task is a task's number, not 'x': $help" lockq --task x
refused "--task is a task's number, not '0': $help" lockq --task 0
for option in shells count query-seconds gap nodes ttl rounds timeout task svg; do
	refused "--$option needs a value: $help" naive "--$option"
done
for option in help list kill fresh json; do
	refused "--$option takes no value: $help" naive "--$option=yes"
done
refused "unknown option --frob: $help" naive --frob
refused "unknown option -x: $help" naive -x
refused '--kill and --pause: give one of them' naive --kill --pause
refused '--kill and --pause: give one of them' naive --pause=1 --kill
for pattern in naive lockq:list lockq\ naive; do
	# shellcheck disable=SC2086 # words
	refused '--task is for the pattern lockq only: the others have tables of their own' \
		$pattern --task 7
done

run env LOCKQ_SANDBOX_DIR="$scratch/none" "$top/scripts/race" naive
is "$status:$out:$err" \
	"5::race: the sandbox does not run: start it with 'scripts/sandbox start'" 'no sandbox'
run race --help
is "$status:$err" 0: '--help'
run race --list
is "$status:$err" 0: '--list'
scripts=$(find "$top/scripts/lab" -maxdepth 1 -type f -perm -u+x -printf '%f\n' | sort)
# The script of a pattern is the longest beginning of its name that is one.
script_of() {
	local name=$1
	until [ -f "$top/scripts/lab/$name" ]; do
		name=${name%:*}
	done
	echo "$name"
}
is "$(while read -r name _; do script_of "$name"; done <<<"$out" | sort -u)" "$scripts" \
	'--list names each script of the lab'
is "$(awk '{ print $1 }' <<<"$out" | sort | uniq -d)" '' 'none is named twice'
is "$(awk '$2 !~ /^(safe\*?|unsafe)$/ || NF < 4' <<<"$out")" '' \
	'each is called safe, safe on a condition or unsafe, and has a description'
for pattern in $scripts; do
	run "$top/scripts/lab/$pattern"
	is "$status:$err:$(head -n 1 <<<"$out" | sed 's/: .*//'):$(tail -n 1 <<<"$out")" \
		"0::$pattern:To see it: scripts/race $pattern" \
		"scripts/lab/$pattern describes itself"
	run "$top/scripts/lab/$pattern" ask
	is "$status:$out:$err" \
		"2::$pattern: only scripts/race can run a pattern: try 'scripts/race $pattern'" \
		"scripts/lab/$pattern ask: refused"
done

wait "$long" || ok 1 'the long race ends'
seen=$(cat "$scratch/long")
is "$(happens 'is stopped') $(happens 'goes on') $(happens gets) $(told_twice)" '1 1 3 0' \
	'lockq: a leader is stopped for 60 s: nothing is given twice'
is "$(happens 'runs the heavy query')" 2 'lockq: another user leads meanwhile'

# --- a race that is broken off ------------------------------------------------------------------

# The command lines of the races' processes.
left() {
	local file
	# grep finds itself, and has ended when its command line is read.
	# shellcheck disable=SC2013 # names without blanks
	for file in $(grep -lzFx "TMPDIR=$TMPDIR" /proc/[0-9]*/environ 2>/dev/null); do
		tr '\0' ' ' <"${file%environ}cmdline"
	done 2>/dev/null
}

# break_off SIGNAL STATUS AFTER ARGUMENT…: runs a race, and sends the signal when the command AFTER
# succeeds. SIGINT goes to the race's process group, as from a terminal. The processes and
# their queries must be gone within $gone_s; the query takes $long_s.
break_off() {
	local signal=$1 expected=$2 after=$3 status=0
	shift 3
	# What the race before has said must be gone. Else the signal may come before this race is
	# its own process, and end a copy of this script, whose trap removes all files.
	: >"$scratch/broken"
	setsid env --default-signal=INT,TERM "$top/scripts/race" "$@" >"$scratch/broken" 2>&1 &
	local pid=$! to=$!
	[ "$signal" != INT ] || to=-$pid
	eval "wait_for $after"
	kill -"$signal" -- "$to"
	wait "$pid" || status=$?
	is "$status" "$expected" "scripts/race $*: SIG$signal $after"
	within_seconds "$gone_s" no_process_is_left
	is "$(left)$(ls "$TMPDIR")" '' 'no process and no folder is left'
	within_seconds "$gone_s" no_session_is_left
	is "$(sessions)" '' 'the server does not go on with a query'
}

sessions() {
	sql "SELECT info FROM information_schema.processlist WHERE user = 'lockq_lab'"
}

no_process_is_left() {
	[ -z "$(left)" ]
}
no_session_is_left() {
	[ -z "$(sessions)" ]
}
within_seconds() {
	local patience=$1
	wait_for "$2"
}

# started N: that many processes of the pattern have begun.
started() {
	[ "$(find "$TMPDIR" -name 'group-*' | wc -l)" -ge "$1" ]
}

shown() {
	grep -Eq "$1" "$scratch/broken"
}

gone_s=15 long_s=20

for number in 1 5 12; do
	break_off INT 130 "started $number" skiplocked --shells 12 --query-seconds $long_s
done
break_off TERM 143 'started 7' skiplocked --shells 12 --query-seconds $long_s
break_off INT 130 "shown 'runs the heavy query'" naive --shells 2 \
	--query-seconds $long_s
break_off TERM 143 "shown 'runs the heavy query'" lockq --query-seconds $long_s
# The stop comes in the middle of the query; the stopped process does not end by itself.
break_off INT 130 "shown 'is stopped'" lease --pause --query-seconds 2

# --- lockq as it is -----------------------------------------------------------------------------

make_task "$task" 100 300
sql "INSERT INTO app_user (name) VALUES ('race-new\nline'), ('race-o''hara \"x\"'),
	('race- 2  blanks '), ('race-a/b'), ('race-]'), ('race-\$(exit)'),
	('race-back\\\\slash'), ('race-ünï')"
make_users 3
people=$(sql "SELECT COUNT(*) FROM app_user WHERE name NOT LIKE '%\n%'")
race_figures lockq --task "$task" --shells "$people" --count 1
is "$(of lockq served given given_twice errors unserved)" "$people $people 0 0 0" \
	"--task: in lockq's own database: $people users, some with odd names"
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $task AND state = 'assigned'")" "$people" \
	'they have their loans there'
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $task AND user_id IN (
             SELECT user_id FROM app_user WHERE name LIKE 'race-%')")" 10 \
	'the users with odd names, too'
run race lockq --task "$task" --shells "$((people + 1))"
is "$status:$err" "2:race: only $people users for $((people + 1)) shells: 'seedloans $(
	)--database lockq --users $((people < 24 ? 24 : people + 1))' makes more" \
	'--shells above the number of users'
run race lockq --task 999999 --shells 2 --json
is "$status:$(jq -c '[.errors, .served]' <<<"$out")" '1:[2,0]' \
	'--task with an unknown number: the users see the error'
finish
