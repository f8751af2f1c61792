#!/usr/bin/env bash
# Each value in a message stands in quotes: that of an option, a variable or a line of an option
# file, and a name from the database. The values have a blank, so that a message without the quotes
# would be read wrongly. The test gives each option of each program such a value, whatever the
# option is for, so a new option is tested, too.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq.XXXXXX")
task=232
odd='odd value'
make_task "$task" 20 0
make_users 2
trap 'sql "DELETE FROM work WHERE task_id = $task; DELETE FROM work_log WHERE task_id = $task"
	forget_task "$task"; forget_users; sql "DELETE FROM app_user WHERE name = \"$odd\""
	rm -rf "$scratch"' EXIT
sql "INSERT IGNORE INTO app_user (name) VALUES ('$odd');
     UPDATE task SET name = '$odd', max_pipeline = 2 WHERE task_id = $task"
own=$LOCKQ_DEFAULTS_FILE
export MYSQL_TEST_LOGIN_FILE=$scratch/login.cnf
PATH=$PATH:$top/build/mysql/bin
cd "$scratch" || exit 9

# quoted WHAT: the last message has the value, and has it in quotes only. MySQL's texts use single
# quotes; that of MariaDB's library has the path of a plugin without any.
quoted() {
	# shellcheck disable=SC2154 # err is set by run
	local rest=${err//\"$odd\"/}
	rest=${rest//\'$odd\'/}
	rest=${rest//"could not be loaded: $odd/"/}
	case $err in
	*"$odd"*) is "${rest##*"$odd"*}" "$rest" "$1: the value is quoted" ;;
	*) return 1 ;;
	esac
}
must_be_quoted() {
	quoted "$1" || ok 1 "$1: the message has the value: $err"
}

# --- options --------------------------------------------------------------------------------------

# base PROGRAM: options with which it ends soon.
base() {
	case $1 in
	getwork | runwork) printf '%s\n' --task "$task" --user race-1 --timeout 0 ;;
	disposition) printf '%s\n' --task "$task" --user race-1 --loan 1 --renew ;;
	refill) printf '%s\n' --task "$task" --due ;;
	seedloans) printf '%s\n' --users 24 ;;
	esac
}
declare -A command=([runwork]=true)
for program in getwork checkwork disposition runwork refill seedloans; do
	mapfile -t base < <(base "$program")
	n=0
	for option in $("$program" --help=all | sed -n 's/^ .*\(--[a-z-]*\) [A-Z].*/\1/p' |
		sort -u); do
		# shellcheck disable=SC2086 # a word, or none
		run "$program" "${base[@]}" "$option" "$odd" ${command[$program]-}
		! quoted "$program $option" || n=$((n + 1))
	done
	ok $((n >= 11 ? 0 : 1)) "$program: messages have the values of $n options"
done
run getwork "$odd"
must_be_quoted 'an argument'
run runwork --task "$task" "$odd"
must_be_quoted 'a command'
run getwork "--$odd"
like "$err" "\"--$odd\"" 'an option that is unknown is quoted'

# --- the environment and option files -------------------------------------------------------------

LOCKQ_TASK=$odd run getwork
must_be_quoted LOCKQ_TASK
LOCKQ_USER="$odd " run checkwork
like "$err" "user \"$odd \" is unknown" 'LOCKQ_USER: the value is quoted'
LOCKQ_DEFAULTS_FILE=$odd run checkwork
must_be_quoted LOCKQ_DEFAULTS_FILE
# Each key that lockq-options(5) lists.
n=0
for key in $(sed -n '/^\.Sh OPTIONS/,/^\.Sh DIAG/s/^\.It Cm \([a-z, -]*\)$/\1/p' \
	"$top/man/lockq-options.5" | tr -d ,); do
	(umask 077; printf '!include %s\n[lockq]\n%s=%s\n' "$own" "$key" "$odd" >file.cnf)
	run checkwork --defaults-file file.cnf
	! quoted "the key $key" || n=$((n + 1))
done
ok $((n >= 10 ? 0 : 1)) "keys of option files: messages have $n values"
(umask 077; printf '[lockq]\nport=x\n' >"$odd")
run checkwork --defaults-file "$odd"
must_be_quoted 'the path of an option file with a fault'
(umask 077; printf '[lockq]\nsocket=/none\n' >"$odd")
run checkwork --defaults-file "$odd"
must_be_quoted 'the path of an option file that was read'
printf 'a,%s\n1,2\n' "$odd" >file.csv
run seedloans --csv file.csv
must_be_quoted 'a column of a file'

# --- names from the database ----------------------------------------------------------------------

mapfile -t loans < <(getwork --user "$odd" --task "$task" --count 2 --json | jq '.loans[].loan_id')
run getwork --user "$odd" --task "$task"
must_be_quoted 'the name of a task'
run disposition --user race-1 --task "$task" --loan "${loans[0]}" --renew
must_be_quoted 'a user that holds a loan'
run disposition --user race-1 --task "$task" --loan "${loans[0]}:99" --renew
must_be_quoted 'a user with another token'
disposition --user "$odd" --task "$task" --loan "${loans[0]}" --return-after 1h >/dev/null
run disposition --user race-1 --task "$task" --loan "${loans[0]}:99" --renew
must_be_quoted 'a user that held a loan'
run disposition --user race-1 --task "$task" --loan "${loans[0]}" --renew
must_be_quoted 'a user that returned a loan'
sql "UPDATE app_user SET account = '$odd' WHERE name = 'race-2'"
run getwork --user race-2 --task "$task"
must_be_quoted 'an account'

# --- commands that a message tells ----------------------------------------------------------------

# A user that copies the command names the same user again.
run checkwork --user "$odd" --task 1
# shellcheck disable=SC2154 # out is set by run
like "$out" "getwork --user '$odd' --task 1 asks" 'a command for the shell has the name as a word'
sql "INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested, outcome)
     SELECT UUID(), user_id, 'x', $task, 1, 1, 'pending' FROM app_user WHERE name = '$odd'"
run checkwork --user "$odd"
like "$out" "nobody leads: getwork --user '$odd' --task $task joins it" \
	'so it is beside a pending request'
sql "DELETE FROM work_requested WHERE task_id = $task AND outcome = 'pending'"
finish
