#!/usr/bin/env bash
# The table of checkwork in terminals that are narrow or wide.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"
# shellcheck source=test/support/terminal.sh
. "$(dirname "$0")/../../support/terminal.sh"

task=223
scratch=$(mktemp -d)
need_tmux 'tables in a terminal'

# in_terminal COLUMNS COMMAND: prints what a terminal of that width shows of it, no blank lines.
in_terminal() {
	# A tmux of its own each time: the one before may still be ending.
	socket=$(mktemp -u "$scratch/tmux.XXXXXX")
	printf '%s\n' "$2" "echo '$shown'" 'exec sleep 1000' >"$scratch/shown.sh"
	LC_ALL=C.UTF-8 timeout "$patience" tmux -u -S "$socket" -f /dev/null new-session -d \
		-x "$1" -y 60 "LC_ALL=C.UTF-8 sh '$scratch/shown.sh'"
	wait_for is_shown
	screen | sed '/^ *$/d' | grep -vF -- "$shown"
	timeout "$patience" tmux -S "$socket" kill-server
}
shown='-- shown --'
screen() {
	timeout "$patience" tmux -u -S "$socket" capture-pane -p
}
is_shown() {
	screen | grep -qF -- "$shown"
}

make_task "$task" 20 0
make_users 1
trap 'sql "UPDATE task SET detail_view = NULL WHERE task_id = $task;
	DROP VIEW IF EXISTS test_detail_$task"; forget_task "$task"; forget_users
	rm -rf "$scratch"' EXIT
sql "CREATE VIEW test_detail_$task AS
       SELECT loan_id, CONCAT('Applicant ', REPEAT('山田', 12)) AS applicant,
              123456.50 AS amount, DATE '2026-11-20' AS due FROM test_loan_$task;
     GRANT SELECT ON test_detail_$task TO lockq_worker@lockq;
     UPDATE task SET detail_view = 'test_detail_$task' WHERE task_id = $task"
run getwork --user race-1 --task "$task" --count 3
is "$status" 0 'three loans'
sql "UPDATE work SET note = 'call after five' WHERE task_id = $task ORDER BY loan_id LIMIT 1"

for columns in 40 80 200; do
	in_terminal "$columns" "checkwork --user race-1 --task $task" >"$scratch/screen"
	grep '[│┌├└]' "$scratch/screen" >"$scratch/table"
	ok "$(($(wc -l <"$scratch/table") != 7))" "$columns columns: no line is broken"
	ok "$(($(LC_ALL=C.UTF-8 wc -L <"$scratch/table") > columns))" \
		"$columns columns: it fits"
	is "$(grep -c '…' "$scratch/table")" "$([ "$columns" = 200 ] && echo 0 || echo 3)" \
		"$columns columns: a value that is cut ends with …"
	is "$(tr -d '\n' <"$scratch/screen" | grep -c 'no room for .*assigned')" \
		"$([ "$columns" = 200 ] && echo 0 || echo 1)" \
		"$columns columns: a line names the columns that are left out"
	like "$(cat "$scratch/table")" 'loan.*lease left.*applicant' \
		"$columns columns: what loans these are, and for how long, is on each screen"
done
in_terminal 120 "stty cols 0; COLUMNS=60 checkwork --user race-1 --task $task" \
	>"$scratch/screen"
width=$(grep "[│┌├└]" "$scratch/screen" | LC_ALL=C.UTF-8 wc -L)
is "$((width > 30 && width <= 60))" \
	1 'a terminal that does not tell its width: COLUMNS does'
in_terminal 120 "COLUMNS=60 checkwork --user race-1 --task $task" >"$scratch/screen"
width=$(grep "[│┌├└]" "$scratch/screen" | LC_ALL=C.UTF-8 wc -L)
is "$((width > 30 && width <= 60))" 1 'COLUMNS counts more than what the terminal tells'
# A message on a terminal is folded between words, and one line elsewhere.
run checkwork --user nobody-of-that-name --task "$task"
for columns in 30 60; do
	in_terminal "$columns" "checkwork --user nobody-of-that-name --task $task" \
		>"$scratch/screen"
	is "$(paste -s -d ' ' "$scratch/screen")" "$err" \
		"$columns columns: a message folds at words"
done
widest() {
	LC_ALL=C.UTF-8 wc -L | cut -d ' ' -f 1
}
width=$(env -u COLUMNS checkwork --user race-1 --task "$task" | grep '[|+]' | widest)
is "$((width > 60 && width <= 80))" 1 'a pipe has 80 columns'
width=$(COLUMNS=50 checkwork --user race-1 --task "$task" | grep '[|+]' | widest)
is "$((width > 30 && width <= 50))" 1 'or COLUMNS'
COLUMNS=50 checkwork --user race-1 --task "$task" >"$scratch/file"
like "$(cat "$scratch/file")" 'token.*assigned.*applicant.*note' 'into a file: all of it'
finish
