#!/usr/bin/env bash
# runwork in a terminal: keys that stop and end it reach its command, and a command may not read the
# terminal.
# shellcheck disable=SC2016 # the commands are for the shell that runwork starts
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"
# shellcheck source=test/support/terminal.sh
. "$(dirname "$0")/../../support/terminal.sh"

task=263
need_tmux 'runwork in a terminal'
make_task "$task" 20 0
make_users 4
export scratch
# The sourced files set scratch.
# shellcheck disable=SC2154,SC2317
tidy_up() {
	[ "$BASHPID" = $$ ] || return
	terminal kill-server 2>/dev/null
	end_all
	forget_all
}
trap tidy_up EXIT
user=0
# next: the next user asks.
next() {
	user=$((user + 1))
}
held="SELECT COUNT(*) FROM work AS w JOIN app_user AS u ON u.user_id = w.user_id
       WHERE w.task_id = $task AND w.state = 'assigned'"

next
terminal new-session -d -s main -x 80 -y 20 "exec env PS1='prompt> ' bash --norc --noprofile -i"
wait_for shows '^prompt>'
press \
	"runwork --user race-$user --task $task -- sh -c \
'touch \$scratch/began; sleep 1000.263 | cat'" Enter
wait_for test -e "$scratch/began"
press C-z
wait_for shows Stopped
is "$(pgrep -r T -cf '^sleep 1000\.263')" 1 'Ctrl-Z stops the command, too'
press fg Enter
wait_for shows '^runwork --user.*'
press C-c
wait_for shows 'killed by signal 2'
press 'echo status $?' Enter
wait_for shows '^status 130'
is "$(sql "$held")" 0 'Ctrl-C reaches the command, and the loan is returned'
is "$(pgrep -cf '^sleep 1000\.263')" 0 'nothing of the command is left'
next
press \
	"clear; runwork --user race-$user --task $task -- sh -c 'read x </dev/tty'" Enter
wait_for shows 'killed by signal 15'
press 'echo status $?' Enter
wait_for shows '^status 3'
terminal capture-pane -p -t main >"$scratch/screen"
like "$(paste -s -d ' ' "$scratch/screen")" \
	'the command was ended, since it has used the terminal' \
	'a command that reads the terminal is ended, and people are told why'
# A command that is stopped would not see the signal.
next
rm "$scratch/began"
press "clear; runwork --user race-$user --task $task -- sh -c \
'touch \$scratch/began; kill -STOP 0'" Enter
wait_for test -e "$scratch/began"
wait_for pgrep -r T -f '^sh -c touch .scratch/began; kill -STOP' >/dev/null
press C-c
wait_for shows 'killed by signal 2'
press 'echo status $?' Enter
wait_for shows '^status 130'
is "$(sql "$held")" 0 'the first Ctrl-C also reaches a command that is stopped'
# Without a shell nobody could type fg.
next
rm "$scratch/began"
terminal new-window -n alone "exec runwork --user race-$user --task $task -- sh -c \
'touch $scratch/began; sleep 1000.263'"
wait_for test -e "$scratch/began"
terminal send-keys -t alone C-z
terminal send-keys -t alone C-c
idle() {
	[ "$(sql "$held")" = 0 ]
}
wait_for idle
ok $? 'Ctrl-Z where no shell is left stops nothing: Ctrl-C still ends it'
terminal kill-server
finish
