#!/usr/bin/env bash
# Option files: what the programs read is what MySQL's my_print_defaults reads, with either client
# library; [lockq_query], suffixes and login paths; and one line for each file that can't be used.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../../support/shell.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq.XXXXXX")
task=231
make_task "$task" 20 0
make_users 3
# shellcheck disable=SC2154 # status, out and err are set by run
trap 'forget_all' EXIT
own=$LOCKQ_DEFAULTS_FILE
unset LOCKQ_DEFAULTS_FILE MYSQL_HOME MYSQL_GROUP_SUFFIX
export HOME=$scratch/home MYSQL_TEST_LOGIN_FILE=$scratch/login.cnf
mkdir "$HOME"
builds=(build build/asan)
# The address sanitizer refuses a program into which something else was loaded first.
if [ ! -x "$top/build/asan/bin/checkwork" ] || [ -n "${LD_PRELOAD-}" ]; then
	builds=(build)
	ok 0 '# SKIP MariaDB: make check-rest builds build/asan, and nothing may be preloaded'
fi
host=$(sed -n '/^\[client\]/,/^$/p' "$own")
account=$(sed -n '/^\[lockq\]/,/^$/p' "$own" | sed 1d)
owner=$(sed -n '/^\[lockq_seed\]/,/^$/p' "$own" | grep -e '^user=' -e '^password=')

# file NAME LINE…: makes an option file, for its owner only.
file() {
	printf '%s\n' "${@:2}" >"$scratch/$1"
	chmod 600 "$scratch/$1"
}

# check FILE [OPTION…]: checkwork of $build.
check() {
	run "$top/$build/bin/checkwork" --user race-1 --defaults-file "$scratch/$1" "${@:2}"
}

# --- as MySQL reads it ----------------------------------------------------------------------------

# The server refuses the account, and its message has the name as the client library sent it.
same_as_mysql() {
	local line=$1 mysql lockq
	file same "$host" "$line"
	mysql=$("$top/build/mysql/bin/my_print_defaults" --defaults-file="$scratch/same" client |
		sed -n 's/^--user=//p' | tail -n 1)
	check same
	lockq=$(sed -n "s/.*Access denied for user '\(.*\)'@.*/\1/p" <<<"$err")
	is "$lockq" "$mysql" "$build: as MySQL reads it: $line"
}

for build in "${builds[@]}"; do
	[ -x "$top/build/mysql/bin/my_print_defaults" ] || {
		ok 0 '# SKIP no my_print_defaults'
		break
	}
	while IFS= read -r line; do
		same_as_mysql "$line"
	done <<'END'
user=plain
user = a b   # comment
user="a#b"
user='a;b' # c
user="a\"b"
user=a\\b
user=a\xb
user=a\sb
user="x" y"
user='x"
user=a=b
END
	same_as_mysql $'  user\t=\ttabs\t'
done

# --- groups, suffixes, other options --------------------------------------------------------------

file good "$host" '[lockq]' "$account"
file other "$host" '[lockq]' "$account" '[client]' no-beep default-character-set=latin1 \
	'[mysql]' prompt=x port=1
file suffix "$host" '[lockq]' "$account" user=nobody '[lockq_work]' "$account"
file false "$host" '[lockq]' "$account" database=no_such_database
for build in "${builds[@]}"; do
	check good
	is "$status" 1 "$build: it connects: exit 1, no loans"
	is "$err" '' "$build: without a word"
	check other
	is "$status" 1 "$build: options of other programs are passed over"
	check suffix
	is "$status" 5 "$build: without the suffix another group counts"
	check suffix --defaults-group-suffix _work
	is "$status" 1 "$build: with the suffix its group counts"
	MYSQL_GROUP_SUFFIX=_work check suffix
	is "$status" 1 "$build: MYSQL_GROUP_SUFFIX names it, too"
	LOCKQ_DEFAULTS_FILE=$scratch/good run "$top/$build/bin/checkwork" --user race-1
	is "$status" 1 "$build: LOCKQ_DEFAULTS_FILE"
	check false --database lockq
	is "$status" 1 "$build: the command line counts more"
	run "$top/$build/bin/checkwork" --user race-1 --defaults-file <(cat "$scratch/good")
	is "$status" 1 "$build: a pipe is read once"
	cp "$scratch/good" "$HOME/.my.cnf"
	run "$top/$build/bin/checkwork" --user race-1
	is "$status" 1 "$build: ~/.my.cnf"
	rm "$HOME/.my.cnf"
	(cd "$scratch" || exit 9
		exec "$top/$build/bin/checkwork" --user race-1 --defaults-file good)
	is $? 1 "$build: a file without a slash is in the current directory"
done

# --- the heavy query's group ----------------------------------------------------------------------

file query "$host" '[lockq]' "$account" '[lockq_query]' "$owner"
file query_suffix "$host" '[lockq]' "$account" '[lockq_query_x]' "$owner"
file none "$host" '[lockq]' "$account" '[lockq_query]'
# how FILE [OPTION…]: where the list of a getwork came from.
how() {
	run "$top/$build/bin/getwork" --user race-1 --task "$task" --json \
		--defaults-file "$scratch/$1" "${@:2}"
	jq -r .how <<<"$out"
}
for build in "${builds[@]}"; do
	is "$(how good)" query "$build: without the group the query runs here"
	is "$(how query)" elsewhere "$build: [lockq_query] sends the query elsewhere"
	is "$(how query_suffix)" query "$build: [lockq_query_x] counts only with its suffix"
	is "$(how query_suffix --defaults-group-suffix _x)" elsewhere "$build: and does with it"
	is "$(how none)" query "$build: an empty group says nothing"
done

# --- who works, and in which task -----------------------------------------------------------------

unset LOCKQ_USER LOCKQ_TASK
file asks "$host" '[lockq]' "$account" lockq-user=race-1 "lockq-task=$task" \
	'[lockq_other]' lockq-user=race-3 lockq-task=4294967295
# asks PROGRAM [OPTION…]: PROGRAM of $build with that file.
asks() {
	run "$top/$build/bin/$1" --defaults-file "$scratch/asks" "${@:2}"
}
for build in "${builds[@]}"; do
	asks getwork --json
	is "$(jq -r '"\(.user) \(.task)"' <<<"$out")" "race-1 $task" \
		"$build: getwork takes the user and the task of the file"
	loan=$(jq .loans[0].loan_id <<<"$out")
	asks getwork --json --defaults-group-suffix _other
	is "$status:${err%: *}" '4:getwork: task 4294967295 is unknown' \
		"$build: those of the suffix"
	LOCKQ_USER=race-3 LOCKQ_TASK=9 asks getwork --task "$task" --json
	is "$(jq -r '"\(.user) \(.task)"' <<<"$out")" "race-3 $task" \
		"$build: LOCKQ_USER counts more, and the command line most"
	LOCKQ_TASK=4294967294 asks getwork --user race-3
	is "$status:${err%: *}" '4:getwork: task 4294967294 is unknown' \
		"$build: LOCKQ_TASK counts more"
	asks checkwork --json
	is "$(jq "select(.loan_id == $loan).user" <<<"$out")" '"race-1"' \
		"$build: checkwork takes the user"
	asks checkwork --loan "$loan"
	is "$status" 0 "$build: and with --loan the task"
	asks checkwork --request 4294967295
	is "$status:$err" '4:checkwork: request "4294967295" is unknown' \
		"$build: and neither with --request"
	asks disposition --loan "$loan" --return-after 0
	is "$status" 0 "$build: disposition takes both"
	asks disposition --expire
	is "$status" 0 "$build: and neither with --expire"
	LOCKQ_DEFAULTS_FILE=$scratch/asks run "$top/$build/bin/checkwork" --loan "$loan"
	is "$status" 0 "$build: LOCKQ_DEFAULTS_FILE has them, too"
done
build=build
run "$top/build/bin/getwork" --defaults-file "$scratch/good" --user race-1
is "$status:$err" "2:getwork: --task is missing: give it, or set LOCKQ_TASK, or lockq-task in an \
option file
try 'getwork --help'" 'without any of them the task is missing'
asks checkwork --loan 1 --request 1
is "$status" 2 'what can not be combined is refused after the files were read'
# A pipe can be read once.
run "$top/build/bin/getwork" --defaults-file <(cat "$scratch/asks")
is "$status" 0 'the file is read once'
disposition --defaults-file "$scratch/asks" --loan "$(cut -d ' ' -f 1 <<<"$out")" \
	--return-after 0 >"$scratch/output" 2>&1

# --- a password that everybody may read -----------------------------------------------------------

cp "$own" "$scratch/open"
chmod 604 "$scratch/open"
for build in "${builds[@]}"; do
	check open --user race-2
	is "$status" 1 "$build: a file that everybody may read is used"
	is "$err" "checkwork: the option file \"$scratch/open\" has a password and can be read by \
every user: run chmod o-r on it" "$build: with a warning"
	run "$top/$build/bin/seedloans" --defaults-file "$scratch/open" --users 24
	like "$err" '^seedloans: the option file .* can be read by every user' \
		"$build: seedloans warns, too"
done

# --- files that can't be used ---------------------------------------------------------------------

# broken WHAT PATTERN LINE…: the programs end with 2 and one line that has the pattern.
broken() {
	local what=$1 pattern=$2
	shift 2
	file broken "$@"
	for build in "${builds[@]}"; do
		check broken --json
		is "$status" 2 "$build: $what: exit 2"
		like "$err" "^checkwork: $pattern" "$build: $what: the line says so"
		is "$(wc -l <<<"$err")" 1 "$build: $what: it is one line"
		is "$(jq -r .exit <<<"$out")" 2 "$build: $what: JSON has it"
	done
}
line_of="option file \"$scratch/broken\", line"
broken 'an unknown key' "$line_of 2: \"hots\" is unknown in the group \[lockq\]: lockq-op" \
	'[lockq]' hots=a
broken 'an unknown key for the query' "$line_of 2: \"quick\" is unknown in the group" \
	'[lockq_query]' quick
broken 'a password without =' "$line_of 2: the line in the group \[lockq\] is no option" \
	'[lockq]' 'password secret'
broken 'an unknown option for TLS' "$line_of 2: \"ssl-fips-mode\" is unknown in the group" \
	'[client]' ssl-fips-mode=ON
broken 'a line before a group' "$line_of 1: an option stands before the first group" host=a
broken 'a file that includes itself' "$line_of 1: .* may include itself" \
	"!include $scratch/broken"
broken 'an include that is not there' '.*, line 1: the option file "/nowhere.cnf" can.t be' \
	'!include /nowhere.cnf'
broken 'a task that is none' "$line_of 2: lockq-task \"x y\" must be the number of a task" \
	'[lockq]' 'lockq-task=x y'
broken 'a user in another group' "$line_of 2: \"lockq-user\" can.t stand in the group" \
	'[client]' lockq-user=oliver
broken 'a bad port' "$line_of 2: port \"x\" is no number" '[client]' port=x
broken 'a bad ssl-mode' "$line_of 2: ssl-mode \"SOME\" is unknown: use" \
	'[client]' ssl-mode=SOME
build=build
# No server listens there, so the end is 5: the file itself can be used.
sed 's/^#\([a-z[]\)/\1/' "$top/examples/lockq.cnf" >"$scratch/sample"
chmod 600 "$scratch/sample"
like "$(grep -c -e '^lockq-user=' -e '^lockq-task=' "$scratch/sample")" '^2$' \
	'the sample option file shows lockq-user and lockq-task'
run checkwork --defaults-file "$scratch/sample" --socket "$scratch/none" --ssl-mode DISABLED
is "$status" 5 'the sample option file can be used, with all that it comments out'
file broken '[client]'
chmod 602 "$scratch/broken"
run getwork --help
like "$out" '^Options for the connection and the log: --help=all' \
	'--help tells where the others are'
is "$(grep -c -e '^      --host ' <<<"$out")" 0 '--help has the own options only'
run getwork --help=all
is "$status:$(grep -c -e '^      --host ' <<<"$out")" 0:1 '--help=all has those for the connection'
run getwork --help some
is "$status:$(head -n 1 <<<"$err")" '2:getwork: --help "some" must be all, or nothing' \
	'--help with something else is a usage error'
run getwork --defaults-file "$scratch/broken" --help
is "$status:$err" 0: '--help reads no option file'
check broken
is "$status:$err" "2:checkwork: the option file \"$scratch/broken\" can be written by every user: \
run chmod o-w on it" 'a file that everybody may write is refused'
file socket "$host" "socket=$scratch/none" '[lockq]' "$account"
check socket
is "$status" 5 'a socket that is not there: exit 5'
like "$err" "$scratch/none.*; option files: \"$scratch/socket\"\$" 'the line names it, and the file'
file nobody "$host" '[lockq]' user=lockq_app database=lockq
check nobody
is "$status" 5 'an account without its password: exit 5'
like "$err" 'using password: NO' 'the line says that there was none'

# --- login paths ----------------------------------------------------------------------------------

PATH=$top/build/mysql/bin:$PATH
for build in "${builds[@]}"; do
	command -v mysql_config_editor >/dev/null || {
		ok 0 '# SKIP no mysql_config_editor'
		break
	}
	run "$top/$build/bin/checkwork" --user race-1 --login-path work
	is "$status:$err" "2:checkwork: --login-path \"work\" is unknown: mysql_config_editor \
print --all shows those that are saved
try 'checkwork --help'" "$build: an unknown login path"
	mysql_config_editor set --login-path=client --user=usual_path --skip-warn >/dev/null 2>&1
	run "$top/$build/bin/checkwork" --user race-1 --defaults-file <(echo "[client]
$host")
	like "$status:$err" "^5:.*Access denied for user 'usual_path'@" \
		"$build: the login path \"client\" needs no name"
	run "$top/$build/bin/checkwork" --user race-1 --login-path wrok
	is "$status" 2 "$build: an unknown name is noticed beside it"
	mysql_config_editor remove --login-path=client
	mysql_config_editor set --login-path=work --user=from_login_path --skip-warn \
		--socket="$(sed -n 's/^socket="\(.*\)"$/\1/p' "$own")" >/dev/null 2>&1
	run "$top/$build/bin/checkwork" --user race-1 --login-path work
	like "$status:$err" "^5:.*Access denied for user 'from_login_path'@" "$build: a login path"
	# A program may inherit an ignored SIGCHLD, with which it can't wait for a child.
	run perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' \
		"$top/$build/bin/checkwork" --user race-1 --login-path work
	like "$status:$err" "^5:.*'from_login_path'@" "$build: also with SIGCHLD ignored"
	mysql_config_editor remove --login-path=work
done

finish
