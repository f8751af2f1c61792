#!/usr/bin/env bash
# What bash offers for the values of --user, --task, --loan and --request, in a bash of its own with
# a terminal: users, tasks, loans and requests of the database that the command line names. Names
# are whatever people call themselves, and nothing of them may be executed.
# shellcheck disable=SC2016 # what looks like an expansion is the name of a user
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq.XXXXXX")
task=239
other=2399
names=('odd name' "oq'uote" 'odd"double' 'odd$(touch executed)' 'odd;touch executed;' 'odd&|<>*?~#'
	'odd\back' 'odd`touch executed`' 'odd!1' 'odd=a:b@c' 'oddé')
# tidy removes what the test has made.
# shellcheck disable=SC2317 # run by the trap
tidy() {
	forget_task "$task"
	forget_task "$other"
	sql "DELETE FROM app_user WHERE name LIKE 'odd%' OR name LIKE 'oq%'"
	forget_users
	rm -rf "$scratch"
}
trap tidy EXIT
for ((i = 0; i < ${#names[@]}; i++)); do
	sql "INSERT IGNORE INTO app_user (name) VALUES (0x$(printf %s "${names[i]}" |
		od -An -v -tx1 | tr -d ' \n'))"
done
make_users 2
make_task "$task" 20 0
make_task "$other" 20 0
sql "UPDATE task SET name = 'x; touch executed' WHERE task_id = $other"
mapfile -t loans < <(getwork --user race-1 --task "$task" --count 3 --json | jq '.loans[].loan_id')
token=$(getwork --user race-2 --task "$task" --json | jq '.loans[0].token')
own=$LOCKQ_DEFAULTS_FILE
cp "$own" "$scratch/file 1.cnf"
cd "$scratch" || exit 9

# completed LINE…: types each line, tabs after it, and prints what then stands on the command line.
# Control-G writes that down, control-U clears the line. $tabs is how many tabs.
tabs=1
completed() {
	local line
	cat >rc <<-END
		. "$top/cmd/completions/getwork.bash"
		PS1='READY> ' HISTFILE= TERM=dumb COLUMNS=200
		bind 'set bell-style none' 'set enable-bracketed-paste off' 2>/dev/null
		bind -x '"\C-g": printf "%s\n" "\$READLINE_LINE" >>lines'
	END
	: >lines
	: >screen
	# Readline has the terminal for itself when it shows the prompt.
	{
		wait_for grep -q 'READY>' screen
		for line; do
			printf '%s%.*s\a\025' "$line" "$tabs" $'\t\t\t'
		done
		wait_for has_lines $#
		printf 'exit\n'
	} | timeout "$patience" script --quiet --return --flush \
		--command 'bash --noprofile --rcfile rc -i' screen >output 2>&1
	cat lines
}
has_lines() {
	[ "$(wc -l <lines)" -eq "$1" ]
}

# all WHAT LINE COMPLETED…: each line becomes what stands after it.
all() {
	local what=$1 i
	shift
	local -a typed=() expected=() got
	while [ $# -gt 0 ]; do
		typed+=("$1") expected+=("$2")
		shift 2
	done
	mapfile -t got < <(completed "${typed[@]}")
	for ((i = 0; i < ${#typed[@]}; i++)); do
		is "${got[i]-}" "${expected[i]}" "$what: ${typed[i]}"
	done
}

# --- checkwork --choices --------------------------------------------------------------------------

run checkwork --choices users --begins 'odd'
# shellcheck disable=SC2154 # status and out are set by run
is "$(wc -l <<<"$out")" $((${#names[@]} - 1)) 'users that begin with a text, a line each'
run checkwork --choices users --begins 'ODD'
is "$status:$out" 1: 'none that begin with another one: exit 1'
run checkwork --choices tasks --begins "$task"
is "$out" "$task	Test $task
$other	x; touch executed" 'tasks, with their names'
run checkwork --choices loans --user race-1 --task "$task"
is "$(cut -f 1 <<<"$out" | sort)" "$(printf '%s\n' "${loans[@]}" | sort)" 'the loans of a user'
run checkwork --choices loans --user race-2 --task "$task"
is "$(cut -f 2 <<<"$out")" "$token" 'with the token'
run checkwork --choices loans --user nobody --task "$task"
is "$status" 1 'an unknown user has none'

# --- on the command line --------------------------------------------------------------------------

sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)
     SELECT UUID(), user_id, 'a', $other, 1, 1 FROM app_user WHERE name = 'odd name'"
request=$(sql "SELECT request_id FROM work_requested WHERE task_id = $other")
all 'a value' 'getwork --user odd\ ' 'getwork --user odd\ name ' \
	"getwork --user 'odd n" "getwork --user 'odd name' " \
	'getwork --user "odd n' 'getwork --user "odd name" ' \
	'getwork --user="odd n' 'getwork --user="odd name" ' \
	'checkwork -u odd\ ' 'checkwork -u odd\ name ' \
	'disposition --user=odd\ ' 'disposition --user=odd\ name ' \
	"getwork --user odd' '" "getwork --user odd' '" \
	'getwork --user race-' 'getwork --user race-' \
	'getwork --user odd=a:x' 'getwork --user odd=a:x' \
	"getwork --task ${task%9}" "getwork --task $task" \
	'checkwork --request ' "checkwork --request $request "
tabs=3
is "$(completed "getwork --task $task")" "getwork --task $task" 'two tasks begin so'
like "$(tr -d '\r' <screen)" "$task  Test $task +$other  x; touch executed" \
	'a list of them has their names, which stay off the command line'
tabs=1

# What the shell reads when the line is entered is the name, whatever is in it.
lines=()
expected=()
for name in "${names[@]}"; do
	begins=${name:0:4}
	case $name in oq*) begins=oq ;; esac
	lines+=("getwork --user $(printf %q "$begins")" "getwork --user '$begins")
	expected+=("$name" "$name")
	# History expansion has no escape in double quotes.
	case $name in *!*) continue ;; esac
	lines+=("getwork --user \"$(printf %s "$begins" | sed 's/[\\$`"]/\\&/g')")
	expected+=("$name")
done
mapfile -t got < <(completed "${lines[@]}")
for ((i = 0; i < ${#lines[@]}; i++)); do
	(
		set -f
		eval "set -- ${got[i]}"
		printf '%s' "${3-}"
	) >name 2>/dev/null
	is "$(cat name)" "${expected[i]}" "a name: ${lines[i]}"
done
ok "$([ ! -e executed ]; echo $?)" 'nothing was executed'

# --- loans ----------------------------------------------------------------------------------------

first=${loans[0]}
mine="disposition --user race-1 --task $task --complete --loan"
sql "DELETE FROM work WHERE task_id = $task AND user_id =
       (SELECT user_id FROM app_user WHERE name = 'race-1') AND loan_id <> $first"
held=$(sql "SELECT token FROM work WHERE task_id = $task AND loan_id = $first")
all 'loans' "$mine " "$mine $first " \
	"$mine=" "$mine=$first " \
	"$mine 7," "$mine 7,$first " \
	"$mine 7:1,$first:" "$mine 7:1,$first:$held " \
	"$mine $first:0" "$mine $first:0" \
	"disposition -urace-1 -t$other --loan " "disposition -urace-1 -t$other --loan "
is "$(LOCKQ_USER=race-1 LOCKQ_TASK=$task completed 'disposition --loan ')" \
	"disposition --loan $first " 'loans: LOCKQ_USER and LOCKQ_TASK count'

# --- where the database is ------------------------------------------------------------------------

lines=()
for file in 'file\ 1.cnf' "'file 1.cnf'" '"file 1.cnf"' '$SOME/file\ 1.cnf' \
	'"${SOME}/file 1.cnf"'; do
	line="checkwork --defaults-file $file --user odd\\ "
	lines+=("$line" "${line}name ")
done
LOCKQ_DEFAULTS_FILE=/none SOME=. all 'the option file' "${lines[@]}"
(umask 077; sed "s/^user=.*/user=no_such_account/" "$own" >viewer.cnf)
line='getwork --defaults-file=viewer.cnf --user odd\ '
is "$(completed "$line")" "$line" 'an account that may not connect: nothing'
is "$(grep -c denied screen)" 0 'and no error on the terminal'
sql "DROP USER IF EXISTS test_viewer; CREATE USER test_viewer IDENTIFIED BY 'Put-1-of-your-own';
     GRANT lockq_viewer@lockq TO test_viewer; SET DEFAULT ROLE lockq_viewer@lockq TO test_viewer"
(umask 077; sed -e 's/^user=.*/user=test_viewer/' -e 's/^password=.*/password=Put-1-of-your-own/' \
	"$own" >viewer.cnf)
is "$(completed "$line")" "${line}name " 'an account that may only read'
sql 'DROP USER test_viewer'
lines=()
for expansion in '$(touch executed)' '`touch executed`' '"$(touch executed)"' '<(touch executed)' \
	'${x:=$(touch executed)}' '$((1))'; do
	line="checkwork --host $expansion --user odd\\ "
	lines+=("$line" "$line")
done
all 'not executed' "${lines[@]}"
ok "$([ ! -e executed ]; echo $?)" 'nothing was executed'

# Nobody writes into the pipe, so reading it as an option file does not end by itself.
mkfifo pipe
all 'no server, and no end' 'checkwork --socket /none --user odd\ ' \
	'checkwork --socket /none --user odd\ ' \
	'checkwork --defaults-file pipe --user odd\ ' 'checkwork --defaults-file pipe --user odd\ '
is "$(grep -c checkwork: screen)" 0 'and no error on the terminal'
finish
