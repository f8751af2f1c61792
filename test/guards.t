#!/usr/bin/env bash
# Each guard has a test that fails without it: the tables test/guards/*.guards name both, and the
# top of test/guards/algorithm.guards tells their form. The test must pass on the library as it is.
# Then the guard is taken out of a copy of the library, or of the schema, and the test must fail.
#   test/guards.t [--part K/N] [PATTERN]
# PATTERN selects the guards whose line contains it. --part runs every Nth guard, from the Kth on.
#   LOCKQ_TESTED=yes   the tests run beside this on the library as it is, so they don't run here
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
part=1 parts=1
if [ "${1-}" = --part ]; then
	part=${2%/*} parts=${2#*/}
	shift 2
fi
only=${1-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-guards.XXXXXX") || exit 1
undo=()

mysql=$build/mysql/bin/mysql
[ -x "$mysql" ] || mysql=$top/build/mysql/bin/mysql
[ -x "$mysql" ] || mysql=mysql

# sql FILE…: runs them as the owner of the database, on the server that the tests use.
sql()
{
	awk '/^\[/ { group = ($0 == "[client]" || $0 == "[lockq_seed]") ? "[client]" : ""
		if (group != "") print group; next } group != "" { print }' \
		"$LOCKQ_DEFAULTS_FILE" >"$scratch/owner.cnf"
	sed 's/ \(lockq_[a-z]*\)\>/ \1@lockq/g' "$@" |
		"$mysql" --defaults-file="$scratch/owner.cnf" >"$scratch/log" 2>&1
}

# put_back: else the next test fails by what this one has left.
put_back()
{
	unset LOCKQ_SCHEMA_DIR
	[ "${#undo[@]}" -eq 0 ] || sql "${undo[@]}" || complain 'it is not put back'
	undo=()
}

cleanup()
{
	put_back
	rm -rf "$scratch"
}
trap cleanup EXIT
end_on_signals

# complain WHY: the guard fails, and $scratch/log has more of it.
complain()
{
	ok 1 "$guard"
	{
		echo "#   ${table##*/}: $1"
		sed 's/^/#   /' "$scratch/log"
	} >&2
}

# take_out: makes the mutant in $scratch/mutant, or in the database, and sets $mutant to its test.
take_out()
{
	local file objects='' doors=()
	local -a make=(make -s --no-print-directory -f "$top/test/guards/mutant.mk" TOP="$top"
		BUILD="$build" OUT="$scratch/mutant" TEST="$program")

	mutant=$binary
	rm -rf "$scratch/mutant" "$scratch/schema"
	if [ -n "$statement" ]; then
		echo "$statement" >"$scratch/statement"
		echo "$restore" >"$scratch/restore"
		undo=("$scratch/restore")
		sql "$scratch/statement"
		return
	fi
	"$top/test/guards/mutate" "$top" "$scratch/mutant" "${edits[@]}" >"$scratch/files" \
		2>"$scratch/log" || return
	while IFS= read -r file; do
		case $file in
		*.c) objects+=" ${file%.c}" ;;
		*) doors+=("$file") ;;
		esac
	done <"$scratch/files"
	[ "${#doors[@]}" -eq 0 ] || open_doors "${doors[@]}" || return
	case $objects,$program in
	,*) ;;
	*,*.t)
		path=$scratch/mutant:$PATH
		"${make[@]}" OBJECTS="$objects" getwork >"$scratch/log" 2>&1
		;;
	*)
		mutant=$scratch/mutant/test
		"${make[@]}" OBJECTS="$objects" mutant >"$scratch/log" 2>&1
		;;
	esac
}

# open_doors FILE…: a script makes a database of its own, from a copy of the schema. For another
# test the files are run in its database; a procedure that is dropped takes the rights to it along.
open_doors()
{
	if [[ $program = *.t ]]; then
		cp -R "$top/schema" "$scratch"
		cp -R "$scratch/mutant/schema" "$scratch"
		export LOCKQ_SCHEMA_DIR=$scratch/schema
		return
	fi
	undo=("${@/#/$top/}" "$top/schema/roles.sql")
	sql "${@/#/$scratch/mutant/}" "$top/schema/roles.sql"
}

# has OUTCOME: whether the log has the test with this outcome, "ok" or "not ok".
has()
{
	sed -n "s/^$1 [0-9]* - //p" "$scratch/log" | grep -Fxq -- "$name"
}

# run_test TEST SECONDS: runs the test of this name alone; 0 if it passes. Else $died tells how it
# fails: by an assertion of its own, by a hang, or in what its fixture does.
run_test()
{
	local status=0 start=$SECONDS place

	PATH=$path LOCKQ_ONLY=$name CMOCKA_MESSAGE_OUTPUT=TAP \
		timeout --kill-after=5 "$2" "$1" "$name" >"$scratch/log" 2>&1 || status=$?
	place=$(sed -nE 's/^(# )?(.*\.c:[0-9]*): error.*/\2/p' "$scratch/log" | head -n 1)
	how="${place:-status $status}, $((SECONDS - start)) s"
	died=fixture
	case $status,$program,$place in
	124,* | 137,*) died=hang ;;
	*,*.t,*) ! has 'not ok' || died=assertion ;;
	*,*support/sql.c:*) ;;
	*,?*) died=assertion ;;
	esac
	has ok && [[ $status -eq 0 || ( $program = *.t && $died = fixture ) ]]
}

# fails_without: whether the test fails without the guard, in a way that the table allows. It may
# not end on a busy machine: then it gets thrice the time, or, if a hang is allowed, the library as
# it is must end in the same time.
fails_without()
{
	run_test "$mutant" "$seconds" && return 1
	if [ "$died,$by" = hang,hang ]; then
		put_back
		path=$PATH
		run_test "$binary" "$seconds" || return
		how="does not end within $seconds s"
		return
	fi
	if [ "$died" = hang ]; then
		run_test "$mutant" "$((seconds * 3))" && return 1
	fi
	[ "$died" = assertion ] || [ "$died" = "$by" ]
}

check()
{
	local binary=$build/test/$program mutant path=$PATH start=$SECONDS how='' died=''

	[[ $program != *.t ]] || binary=$top/test/$program
	if [ "${LOCKQ_TESTED-}" != yes ]; then
		if ! run_test "$binary" 180; then
			complain "$program $name fails on the library as it is: $how"
			return
		fi
		seconds=${seconds:-$((10 + 5 * (SECONDS - start)))}
	fi
	seconds=${seconds:-60}
	if ! take_out; then
		complain 'it is not taken out'
	elif fails_without; then
		ok 0 "$guard"
		echo "#   $name: $how"
	else
		complain "$program $name: $how: it must die by ${by:-an assertion}"
	fi
	put_back
}

forget()
{
	guard='' edits=() statement='' restore='' program='' name='' by='' seconds=''
}

complete()
{
	[ -n "$guard" ] || return 0
	if ((at % parts == part - 1)) && [[ $guard == *"$only"* ]]; then
		check
	fi
	at=$((at + 1))
	forget
}

at=0
for table in "$top"/test/guards/*.guards; do
	forget
	while IFS= read -r line <&3; do
		value=${line#*: }
		case $line in
		'') complete ;;
		'#'*) ;;
		'guard: '*) guard=$value ;;
		'in: '*) in=$value ;;
		'edit: '*) edits+=("$in" "$value") ;;
		'sql: '*) statement=$value ;;
		'undo: '*) restore=$value ;;
		'dies: '*) program=${value%% *} name=${value#* } ;;
		'by: '*) by=$value ;;
		'timeout: '*) seconds=$value ;;
		*) ok 1 "${table##*/}: a line that is none: $line" ;;
		esac
	done 3<"$table"
	complete
done
finish
