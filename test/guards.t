#!/usr/bin/env bash
# Each guard of the algorithm has a test that fails without it: test/guards/*.guards says which.
# The test passes on the library as it is, the guard is taken out of a copy, the test must fail.
# An argument: only the guards whose line has it.
set -u

# shellcheck source=support/tap.sh
. "$(dirname "$0")/support/tap.sh"
# shellcheck source=scripts/signals.sh
. "$(dirname "$0")/../scripts/signals.sh"

[ -n "${LOCKQ_DEFAULTS_FILE-}" ] || {
	echo '1..0 # SKIP LOCKQ_DEFAULTS_FILE is not set: scripts/sandbox run'
	exit 0
}
build=$(cd "$top" && cd "${BUILD:-build}" && pwd) || exit 1
only=${1-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-guards.XXXXXX") || exit 1
undo=

# sql STATEMENT: as the owner of the database, on the server that the tests use.
sql()
{
	awk '/^\[/ { group = ($0 == "[client]" || $0 == "[lockq_seed]") ? "[client]" : ""
		if (group != "") print group; next } group != "" { print }' \
		"$LOCKQ_DEFAULTS_FILE" >"$scratch/owner.cnf"
	"$mysql" --defaults-file="$scratch/owner.cnf" --execute="$1" >"$scratch/sql.log" 2>&1
}

cleanup()
{
	[ -z "$undo" ] || sql "$undo"
	rm -rf "$scratch"
}
trap cleanup EXIT
end_on_signals

mysql=$build/mysql/bin/mysql
[ -x "$mysql" ] || mysql=$top/build/mysql/bin/mysql
[ -x "$mysql" ] || mysql=mysql

comment()
{
	sed 's/^/#   /' "$1"
}

# run_test PROGRAM NAME SECONDS: 0 when the one test named ran and passed; $how is how it failed.
run_test()
{
	local status=0 start=$SECONDS

	CMOCKA_MESSAGE_OUTPUT=TAP timeout --kill-after=5 "$3" "$1" "$2" >"$scratch/test.log" 2>&1 ||
		status=$?
	how=$(sed -n 's/^# \(.*\.c:[0-9]*\): error.*/\1/p' "$scratch/test.log" | head -n 1)
	case $status in
	124 | 137) how="does not end within $3 s" ;;
	esac
	how="${how:-status $status}, $((SECONDS - start)) s"
	[ "$status" -eq 0 ] && grep -q "^ok 1 - $2" "$scratch/test.log"
}

# passes PROGRAM NAME: on the library as it is; each test is run once, and has time: one that works
# may be slow, one that does not is to fail. $enough is how long it may take without the guard, in
# seconds, where the table does not say: it takes longer only if it hangs.
declare -A passed=()
passes()
{
	local key="$1 $2" start=$SECONDS

	if [ -z "${passed[$key]-}" ]; then
		passed[$key]=no
		if run_test "$build/test/$1" "$2" 180; then
			passed[$key]=$((10 + 5 * (SECONDS - start)))
		fi
	fi
	enough=${passed[$key]}
	[ "$enough" != no ]
}

# mutate FILE EDIT PROGRAM: leaves the mutant of the test in $scratch/test.
mutate()
{
	cp "$top/$1" "$scratch/mutant.c"
	perl -0pi -e "$2" "$scratch/mutant.c" 2>"$scratch/make.log" || return 1
	if cmp -s "$top/$1" "$scratch/mutant.c"; then
		echo 'the edit changes nothing: the code has changed, write the edit anew' \
			>"$scratch/make.log"
		return 1
	fi
	rm -f "$scratch/test"
	make -s --no-print-directory -f "$top/test/guards/mutant.mk" TOP="$top" BUILD="$build" \
		OUT="$scratch" OBJECT="${1%.c}" SOURCE="$scratch/mutant.c" TEST="$3" mutant \
		>"$scratch/make.log" 2>&1
}

# check: the guard in $guard, $file, $edit, $schema, $undo_schema, $program, $name and $seconds.
check()
{
	local status=0 binary=$scratch/test

	if ! passes "$program" "$name"; then
		ok 1 "$guard"
		echo "#   $program $name does not pass on the library as it is:"
		comment "$scratch/test.log"
		return
	fi
	if [ -n "$schema" ]; then
		binary=$build/test/$program
		undo=$undo_schema
		sql "$schema" || status=1
		cp "$scratch/sql.log" "$scratch/make.log"
	else
		mutate "$file" "$edit" "$program" || status=1
	fi
	if [ "$status" -ne 0 ]; then
		ok 1 "$guard"
		comment "$scratch/make.log"
	elif run_test "$binary" "$name" "${seconds:-$enough}"; then
		ok 1 "$guard"
		echo "#   $program $name passes without it"
	else
		ok 0 "$guard"
		echo "#   $name: $how"
	fi
	if [ -n "$undo" ]; then
		sql "$undo" || comment "$scratch/sql.log"
		undo=
	fi
}

forget()
{
	guard='' file='' edit='' schema='' undo_schema='' program='' name='' seconds=''
}

complete()
{
	[ -n "$guard" ] || return 0
	case $guard in
	*"$only"*) check ;;
	esac
	forget
}

for table in "$top"/test/guards/*.guards; do
	forget
	while IFS= read -r line <&3; do
		case $line in
		'') complete ;;
		'#'*) ;;
		'guard: '*) guard=${line#*: } ;;
		'file: '*) file=${line#*: } ;;
		'edit: '*) edit=${line#*: } ;;
		'schema: '*) schema=${line#*: } ;;
		'undo: '*) undo_schema=${line#*: } ;;
		'test: '*)
			program=${line#*: }
			name=${program#* }
			program=${program%% *}
			;;
		'timeout: '*) seconds=${line#*: } ;;
		*)
			ok 1 "$table: a line that is none: $line"
			;;
		esac
	done 3<"$table"
	complete
done
finish
