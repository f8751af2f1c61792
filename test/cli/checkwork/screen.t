#!/usr/bin/env bash
# checkwork --watch in a terminal: what it draws, what each key does in the database, and that the
# terminal is as it was before, whichever way it ends.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"
# shellcheck source=test/support/terminal.sh
. "$(dirname "$0")/../../support/terminal.sh"

task=265
need_tmux 'the screen of checkwork --watch'
make_steered "$task" 6000
sql "UPDATE task SET name = CONCAT('Red: ', CHAR(27), '[31m é'), max_count = 20
      WHERE task_id = $task"
make_users 3
# The sourced files set status, out, err and scratch.
# shellcheck disable=SC2154,SC2317
tidy_up() {
	[ "$BASHPID" = $$ ] || return
	terminal kill-server 2>/dev/null
	end_all
	forget_steered "$task"
	forget_users
	rm -rf "$scratch"
}
trap tidy_up EXIT

# line: what the last line of the screen says.
line() {
	screen | tail -n 1
}
line_is() {
	line | grep -Eq -e "$1"
}
await_line() {
	wait_for line_is "$1" || screen | sed 's/^/#   /'
}
# marked: the loan of the row that is shown in reverse.
marked() {
	terminal capture-pane -e -p -t main | awk -F '│' '/^\033\[7m/ { print $3 + 0 }'
}
# state LOAN: the state of its row, and the minutes after which it is offered again.
state() {
	sql "SELECT w.state, COALESCE(TIMESTAMPDIFF(MINUTE, w.changed_at, w.available_at), '-')
	       FROM work AS w WHERE w.task_id = $task AND w.loan_id = $1" | tr '\t' ' '
}
keys='c complete  r return  n never  e renew'
# watch [NAME=VALUE…]: begins it, with this environment. A look an hour shows that what a key has
# done is on the screen at once.
every=3600
watch() {
	press "env $* checkwork --user race-1 --watch $every" Enter
	await_line "^$keys"
}
# restored NAME STATUS: it has ended so, and the terminal's settings are as before.
restored() {
	await_screen '^prompt>$'
	# shellcheck disable=SC2016 # that shell's variable
	press 'echo status $?; stty -a | cmp - before && echo the same' Enter
	await_screen '^the same$'
	is "$(screen | sed -n 's/^status //p')" "$2" "$1: exit $2; the terminal is as it was"
	press clear Enter
	wait_for is_clear
}
is_clear() {
	[ "$(screen | sed '/^$/d')" = 'prompt>' ]
}

mapfile -t loans < <(getwork --user race-1 --task "$task" --count 9 --json | jq '.loans[].loan_id')
(cd "$scratch" && terminal new-session -d -s main -x 80 -y 24 \
	"exec env LC_ALL=C.UTF-8 PS1='prompt> ' bash --norc --noprofile -i")
await_screen '^prompt>'
press 'stty -a >before; clear' Enter
wait_for test -s "$scratch/before"
wait_for is_clear

# --- what is drawn --------------------------------------------------------------------------------

watch
like "$(screen | head -n 1)" '^Pipeline · race-1 .* every 1 h 0 min$' 'a heading'
is "$(screen | grep -c '^│ .*no limit')" 9 'a row for each loan'
is "$(screen | grep -cF 'Red: \x1b[31m é │')" 9 'UTF-8 is shown, and escapes are escaped'
ok "$(marks "${loans[0]}"; echo $?)" 'the first row is marked'
press Down j Down k Up
wait_for marks "${loans[1]}"
ok $? 'arrows, j and k move the mark'
press G
wait_for marks "${loans[8]}"
press g
wait_for marks "${loans[0]}"
ok $? 'g and G go to the ends'
press '?'
await_line '^arrows, j k, g G move .* Esc cancels'
ok $? '? shows the other keys'
terminal resize-window -t main -x 50 -y 10
wait_for shows '^Pipeline · race-1 +[0-9:]+ · every 1 h 0 min$'
await_screen '^┌.*┐$'
press G
wait_for marks "${loans[8]}"
await_screen '^9 loans$'
is "$(screen | LC_ALL=C.UTF-8 wc -L)" 50 \
	'a smaller terminal: the table fits, and it scrolls'
terminal resize-window -t main -x 80 -y 24
rows() {
	[ "$(screen | grep -c '^│ .*no limit')" -eq "$1" ]
}
wait_for rows 9
ok $? 'a larger one again: all rows are there, with the last one marked'
terminal resize-window -t main -x 80 -y 2
press n
await_line '^never offer loan [0-9]+ again for task [0-9]+\? y/n$'
ok $? 'in two lines nothing of a row is left behind the question'
press n
terminal resize-window -t main -x 80 -y 24
press g
wait_for marks "${loans[0]}"

# --- what keys do ---------------------------------------------------------------------------------

# The line that tells what a key did may be drawn before the rows.
red() {
	[ "$(screen | grep -c '^│ .*Red:')" -eq "$1" ]
}
press c
await_line "^complete loan ${loans[0]}\? y/n$"
press c
await_line '^not done: only y does it$'
is "$(state "${loans[0]}")" 'assigned -' 'c c: nothing, and the line says so'
press x
await_line '^not done: that key does nothing here: \? shows the keys$'
press c y
await_line "^loan ${loans[0]}: completed$"
is "$(state "${loans[0]}")" 'completed -' 'c y completes the loan'
wait_for marks "${loans[1]}"
ok $? 'its row has gone; the next one is marked'
press r
await_line "^return loan ${loans[1]}, and offer it again after \[4h\]: _$"
press Escape
await_line "^$keys"
is "$(state "${loans[1]}")" 'assigned -' 'r, Esc: nothing'
press r soon Enter
await_line '^not done: "soon" is no time up to 72h'
is "$(state "${loans[1]}")" 'assigned -' 'r with what is no time: nothing'
press r Enter
await_line "^loan ${loans[1]}: returned, available from "
is "$(state "${loans[1]}")" 'returned 240' 'r, Enter: returned for four hours'
wait_for marks "${loans[2]}"
press r 3 1 BSpace 0 m Enter
await_line "^loan ${loans[2]}: returned, available from "
is "$(state "${loans[2]}")" 'returned 30' 'r 30m: for half an hour'
wait_for marks "${loans[3]}"
press n
await_line "^never offer loan ${loans[3]} again for task $task\? y/n$"
press n
await_line "^$keys"
is "$(state "${loans[3]}")" 'assigned -' 'n n: nothing'
press n y
await_line "^loan ${loans[3]}: set to never$"
is "$(state "${loans[3]}")" 'never -' 'n y: never'
wait_for marks "${loans[4]}"
sql "UPDATE task SET lease_minutes = 60 WHERE task_id = $task;
     UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 1 MINUTE
      WHERE task_id = $task AND loan_id = ${loans[4]}"
press e
await_line "^loan ${loans[4]}: renewed, yours until "
wait_for shows '│ 59 min'
ok $? 'e renews the lease'
sql "UPDATE task SET lease_minutes = NULL WHERE task_id = $task;
     UPDATE work SET token = token + 1 WHERE task_id = $task AND loan_id = ${loans[4]}"
press c y
await_line "^not done: loan ${loans[4]}: token [0-9]+ is stale: the loan was assigned to you again"
is "$(state "${loans[4]}")" 'assigned -' 'a stale token: refused, and the line says why'
press m
await_line '^1 of 1 loan for race-1 · you led'
wait_for red 6
ok $? 'm asks for one more'
press 3
await_line '^m asks for 3$'
press m
await_line '^3 of 3 loans for race-1 · you led'
wait_for red 9
ok $? '3m asks for three'
press 9 9 m
await_line "20 at most"
ok $? 'what is refused is said'

# --- a long wait ----------------------------------------------------------------------------------

press q
restored q 0
every=1
watch
steer "$task" heavy
press m
await_leader "$task" race-1
await_line '^your query runs: [0-9]+ s.*Esc gives up'
gone=$(marked)
sql "UPDATE work SET state = 'completed' WHERE task_id = $task AND loan_id = $gone"
await_screen '^8 loans$'
ok $? 'the screen goes on looking while it asks for work'
press c
await_line '^not done: your query runs: .*Esc gives up'
ok $? 'a key that is pressed meanwhile does nothing, and the line says so'
press Escape
await_line '^interrupted: request [0-9]+ is cancelled$'
ok $? 'Esc gives it up'
press c
await_line '^not done: no loan is marked: j or k marks one$'
is "$(sql "SELECT COUNT(*) FROM work WHERE task_id = $task AND state = 'assigned'")" 8 \
	'a key does nothing to the row that took the place of one that is gone'
press m
await_leader "$task" race-1
await_line '^your query runs: '
press C-c
await_line '^interrupted: request [0-9]+ is cancelled$'
ok $? 'so does Ctrl-C, and the screen stays'
await "SELECT $(queries "$task")" 0
sql "KILL $(sql "SELECT MIN(id) FROM information_schema.processlist WHERE user = 'lockq_app'")"
steer "$task" light
press m
await_line '^1 of 1 loan for race-1 · you led'
ok $? 'it goes on after a lost connection'

# --- the server goes away -------------------------------------------------------------------------

press q
restored 'after a long wait' 0
socket=$(sed -n 's/^socket="\(.*\)"$/\1/p' "$LOCKQ_DEFAULTS_FILE")
ln -s "$socket" "$scratch/socket"
(umask 077 && sed "s|$socket|$scratch/socket|" "$LOCKQ_DEFAULTS_FILE" >"$scratch/away.cnf")
watch "LOCKQ_DEFAULTS_FILE=$scratch/away.cnf"
mv "$scratch/socket" "$scratch/gone"
pid=$(pgrep -f "^checkwork --user race-1 --watch $every")
sql "KILL $(sql "SELECT processlist_id FROM performance_schema.session_connect_attrs
	WHERE attr_name = '_pid' AND attr_value = '$pid'")"
await_line "^the database can't be reached"
press j
mv "$scratch/gone" "$scratch/socket"
await_line "^$keys"
ok $? 'the line says so until the server is back, and no longer'

# --- the ends -------------------------------------------------------------------------------------

press C-z
await_screen Stopped
press 'stty -a | cmp - before && echo the same' Enter
await_screen '^the same$'
press 'fg' Enter
await_line "^$keys|^1 of 1 loan"
ok $? 'Ctrl-Z and fg: the terminal is as it was, and then the screen is back'
press C-c
restored Ctrl-C 130
for ended in TERM:143 HUP:129; do
	watch TERM=vt100
	pkill "-${ended%:*}" -f "^checkwork --user race-1 --watch $every"
	restored "SIG${ended%:*}, vt100" "${ended#*:}"
done
press 'LC_ALL=C checkwork --user race-1 --watch' Enter
await_screen '^\+---.*---\+$'
is "$(screen | grep -cF 'Red: \x1b[31m ?')" 9 'in the C locale: ASCII only'
press q
restored 'the C locale' 0
open_gatekeeper
press 'clear; checkwork --user race-1 --watch 1' Enter
await_line "^$keys"
gatekeeper_says 'LOCK TABLES lockq.work WRITE;'
await_line '^table "work" is locked by another session'
gatekeeper_says 'UNLOCK TABLES;'
await_line "^$keys"
ok "$(line_is "^$keys"; echo $?)" \
	'a look that succeeds takes away what went wrong with the last one'
press q
restored 'a locked table' 0
press 'checkwork --user nobody-such --watch' Enter
await_screen '^checkwork: user "nobody-such" is unknown'
restored 'an unknown user' 4
press 'TERM=dumb checkwork --user race-1 --watch' Enter
await_screen 'every 2.0 s · Ctrl-C ends$'
press C-c Enter
restored 'TERM=dumb: pictures below each other' 130
finish
