#!/usr/bin/env bash
# lockqstat --watch in a terminal: what it draws, what each key does, and that the terminal is as it
# was before.
set -u
# shellcheck source=test/support/steered.sh
. "$(dirname "$0")/../../support/steered.sh"
# shellcheck source=test/support/terminal.sh
. "$(dirname "$0")/../../support/terminal.sh"

task=291 idle=292
need_tmux 'the screen of lockqstat --watch'
make_task "$task" 10 0
make_task "$idle" 10 0
make_users 1
open_gatekeeper
# shellcheck disable=SC2154 # scratch
trap 'end_all; terminal kill-server 2>/dev/null
	forget_task "$task"; forget_task "$idle"; forget_users; rm -rf "$scratch"' EXIT
run getwork --user race-1 --task "$task"
is "$status" 0 'somebody has led'
epoch=$(sql "SELECT MAX(epoch) FROM leader_run WHERE task_id = $task")

# marked: the task whose row is shown in reverse.
marked() {
	terminal capture-pane -e -p -t main | awk -F '│' '/^\033\[7m/ { print $2 + 0 }'
}
sql "UPDATE task SET name = CONCAT('Red: ', CHAR(27), '[31m é') WHERE task_id = $idle"
(cd "$scratch" && terminal new-session -d -s main -x 80 -y 24 \
	"exec env LC_ALL=C.UTF-8 PS1='prompt> ' bash --norc --noprofile -i")
await_screen '^prompt>'
press 'stty -a >before; clear; lockqstat --watch 3600' Enter
await_screen '^arrows move  Enter one task  < > sort  space looks now  q quit$'
like "$(screen | head -n 1)" '^Tasks · by task .* every 1 h 0 min$' 'the screen has a heading'
is "$(screen | LC_ALL=C.UTF-8 wc -L):$(screen | wc -l)" 80:24 'and fits 80 x 24'
like "$(screen)" '│ Red: \\x1b' 'escapes are escaped'
press G
wait_for marks "$idle"
ok $? 'G marks the last task'
press k
wait_for marks "$task"
press '>'
await_screen '^Tasks · by waiting '
press '<'
await_screen '^Tasks · by task '
ok "$(marks "$task"; echo $?)" '< and > sort, and the mark stays on its task'
sql "UPDATE task SET paused = 'the bank is closed' WHERE task_id = $task"
press Space
await_screen "^│ +$task │.*│ \\(paused\\)"
ok $? 'space looks again'
press Enter
await_screen "^Task $task · Test $task "
await_screen '^│ paused +│ the bank is closed'
like "$(screen)" "^│ +$epoch │ race-1 +│" 'Enter shows one task and its leaders'
press Escape
await_screen '^Tasks · by task '
terminal resize-window -t main -x 50 -y 10
await_screen '^Tasks · by task +[0-9:]+ · every 1 h 0 min$'
press g
press G
wait_for marks "$idle"
is "$(screen | LC_ALL=C.UTF-8 wc -L)" 50 'a smaller terminal: it fits, and it scrolls'
press q
await_screen '^prompt>$'
press 'echo status $?; stty -a | sed 1d | cmp - <(sed 1d before) && echo the same' Enter
await_screen '^the same$'
is "$(screen | sed -n 's/^status //p')" 0 'q: exit 0, and the terminal is as it was'
press 'clear; lockqstat --watch 1' Enter
await_screen '^arrows move '
gatekeeper_says 'LOCK TABLES lockq.leader_run WRITE;'
await_screen '^table "leader_run" is locked by another session'
gatekeeper_says 'UNLOCK TABLES;'
await_screen '^arrows move '
ok "$(shows '^arrows move '; echo $?)" \
	'a look that succeeds takes away what went wrong with the last one'
press G
wait_for marks "$idle"
press Enter
await_screen "^Task $idle "
forget_task "$idle"
await_screen "^task $idle is unknown"
like "$(screen)" '^Tasks · by task ' 'a task that is removed while it is shown: all tasks are'
press q
await_screen '^prompt>$'
finish
