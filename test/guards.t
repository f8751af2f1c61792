#!/usr/bin/env bash
# Each guard of the algorithm has a test that fails without it, and test/guards/*.guards names both.
# For each guard the test must pass on the library as it is. Then the guard is taken out of a copy
# of the library, and the test must fail there by an assertion that the table names.
#   test/guards.t [--record] [--part K/N] [PATTERN]
# PATTERN selects the guards whose line contains it. --part runs every Nth guard of the table, from
# the Kth on. --record adds to the table the assertions that failed.
#   LOCKQ_TESTED=yes   the tests have run, or run beside this, on the library as it is
#   LOCKQ_GUARDS=half  only each second guard is taken out; of the others it is looked whether they
#                      could be
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
record=no part=1 parts=1
if [ "${1-}" = --record ]; then
	record=yes
	shift
fi
if [ "${1-}" = --part ]; then
	part=${2%/*} parts=${2#*/}
	shift 2
fi
only=${1-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-guards.XXXXXX") || exit 1
undo=

# sql STATEMENTS|FILES: runs the SQL as the owner of the database, on the server that the tests use.
sql()
{
	local -a files

	awk '/^\[/ { group = ($0 == "[client]" || $0 == "[lockq_seed]") ? "[client]" : ""
		if (group != "") print group; next } group != "" { print }' \
		"$LOCKQ_DEFAULTS_FILE" >"$scratch/owner.cnf"
	if [ -f "$1" ] || [ -f "$top/${1%% *}" ]; then
		if [ -f "$1" ]; then
			files=("$1")
		else
			read -ra files <<<"$1"
			files=("${files[@]/#/$top/}")
		fi
		sed 's/ \(lockq_[a-z]*\)\>/ \1@lockq/g' "${files[@]}"
	else
		printf '%s\n' "$1"
	fi | "$mysql" --defaults-file="$scratch/owner.cnf" >"$scratch/sql.log" 2>&1
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

# death FILE:LINE: prints this line of a test's source without its indentation.
death()
{
	sed -n "${1##*:}{s/^[[:space:]]*//;p}" "$top/${1%:*}"
}

# run_test PROGRAM NAME SECONDS: runs this one test; 0 if it ran and passed. Leaves the way it
# failed in $how, for the report, and in $died, as a dies: line of the table has it.
run_test()
{
	local status=0 start=$SECONDS place

	if [[ $1 = *.t ]]; then
		run_script "$@"
		return
	fi
	env CMOCKA_MESSAGE_OUTPUT=TAP ${fault:+LOCKQ_FAULTS_NTH="$fault"} \
		timeout --kill-after=5 "$3" "$1" "$2" >"$scratch/test.log" 2>&1 || status=$?
	# Without "# " where it failed in what runs after each test.
	place=$(sed -nE 's/^(# )?(.*\.c:[0-9]*): error.*/\2/p' "$scratch/test.log" | head -n 1)
	how=${place:-status $status}
	died="status $status"
	[ -z "$place" ] || died=$(death "$place")
	# A statement of the fixture that fails is no assertion of the test.
	[[ $place != *support/sql.c:* ]] || died="the fixture: $died"
	case $status in
	124 | 137)
		how="does not end within $3 s"
		died='does not end'
		;;
	esac
	how="$how, $((SECONDS - start)) s"
	[ "$status" -eq 0 ] && grep -q "^ok 1 - $2" "$scratch/test.log"
}

# run_script SCRIPT NAME SECONDS: the same for one test of a script, which makes a database of its
# own, from the schema in $LOCKQ_SCHEMA_DIR. The script may leave out what the test does not need.
run_script()
{
	local status=0 start=$SECONDS

	LOCKQ_ONLY=$2 timeout --kill-after=5 "$3" "$1" >"$scratch/test.log" 2>&1 || status=$?
	how="status $status, $((SECONDS - start)) s"
	died="status $status"
	! grep -q "^not ok [0-9]* - $2\$" "$scratch/test.log" || died='not ok'
	grep -q "^ok [0-9]* - $2\$" "$scratch/test.log"
}

# test_file PROGRAM: the path of a test.
test_file()
{
	case $1 in
	*.t) echo "$top/test/$1" ;;
	*) echo "$build/test/$1" ;;
	esac
}

# passes PROGRAM NAME: whether the test passes on the library as it is. Several guards may have the
# same test, so each test is run once and the result is kept. Leaves in $enough the default timeout
# of a mutant in seconds.
declare -A passed=()
passes()
{
	local key="$1 $2 $fault" start=$SECONDS

	[ "${LOCKQ_TESTED-}" != yes ] || passed[$key]=30
	if [ -z "${passed[$key]-}" ]; then
		passed[$key]=no
		if run_test "$(test_file "$1")" "$2" 180; then
			passed[$key]=$((10 + 5 * (SECONDS - start)))
		fi
	fi
	enough=${passed[$key]}
	[ "$enough" != no ]
}

# edit_library EDITS FILE: sets $objects, the objects of the edited sources, which are in $scratch.
edit_library()
{
	local edit file

	objects=''
	while IFS= read -r edit; do
		file=$("$top/test/guards/mutate" "$top" "$edit" "$scratch/mutant.c" "$2" \
			2>"$scratch/make.log") || return 1
		if [[ " $objects " == *" ${file%.c} "* ]]; then
			echo "two lines edit $file: make one of them" >"$scratch/make.log"
			return 1
		fi
		mv "$scratch/mutant.c" "$scratch/${file##*/}"
		objects+=" ${file%.c}"
	done <<<"${1%$'\n'}"
}

# mutate EDITS FILE PROGRAM: builds PROGRAM with the mutant of the library, as $scratch/test.
mutate()
{
	local objects

	edit_library "$1" "$2" || return 1
	rm -f "$scratch/test"
	make -s --no-print-directory -f "$top/test/guards/mutant.mk" TOP="$top" BUILD="$build" \
		OUT="$scratch" OBJECTS="$objects" TEST="$3" mutant >"$scratch/make.log" 2>&1
}

# mutate_schema EDIT FILE PROGRAM: changes a file of the schema in a copy. A script gets the copy,
# for other tests the file is applied to their database.
mutate_schema()
{
	cp -R "$top/schema" "$scratch"
	"$top/test/guards/mutate" "$top" "$1" "$scratch/$2" "$2" >"$scratch/make.log" 2>&1 ||
		return 1
	case $3 in
	*.t) export LOCKQ_SCHEMA_DIR=$scratch/schema ;;
	*)
		undo="$2 schema/roles.sql"
		# A procedure that is dropped takes the rights to it along.
		if ! sql "$scratch/$2" || ! sql schema/roles.sql; then
			cp "$scratch/sql.log" "$scratch/make.log"
			return 1
		fi
		;;
	esac
}

# as_recorded: whether $died is one of the table's $dies.
as_recorded()
{
	local line

	while IFS= read -r line; do
		[ "$line" != "$died" ] || return 0
	done <<<"$dies"
	return 1
}

# run_mutant BINARY NAME SECONDS: run_test. On a busy machine it may not come to its assertion in
# that time, so it gets thrice as much then. That it does not end counts only where the library as
# it is ends in the same time.
run_mutant()
{
	run_test "$@" && return 0
	[ "$died" = 'does not end' ] || return 1
	if as_recorded && run_test "$(test_file "$program")" "$2" "$3"; then
		how="does not end within $3 s" died='does not end'
		return 1
	fi
	run_test "$1" "$2" $(($3 * 3))
}

# record_death: adds $died to the guard's entry in the table, as a dies: line.
record_death()
{
	GUARD=$guard DIED=$died perl -0pi -e '
		my $guard = qr/guard: \Q$ENV{GUARD}\E\n(?:.+\n)*?test: .*\n(?:dies: .*\n)*/;
		s/^($guard)/$1dies: $ENV{DIED}\n/m' "$table"
}

# check: tests the guard whose entry is in $guard, $file, $edit, $door, $schema, $undo_schema,
# $program, $name, $dies, $fault and $seconds.
check()
{
	local status=0 binary
	binary=$(test_file "$program")

	if ! passes "$program" "$name"; then
		ok 1 "$guard"
		echo "#   $program $name does not pass on the library as it is: $how" >&2
		comment "$scratch/test.log" >&2
		return
	fi
	if [ -n "$schema" ]; then
		undo=$undo_schema
		sql "$schema" || status=1
		cp "$scratch/sql.log" "$scratch/make.log"
	fi
	if [ -n "$door" ]; then
		mutate_schema "$door" schema/doors.sql "$program" || status=1
	fi
	if [ "$status" -ne 0 ] || [ -z "$edit" ]; then
		:
	elif [[ $file = schema/* ]]; then
		mutate_schema "${edit%$'\n'}" "$file" "$program" || status=1
	else
		binary=$scratch/test
		mutate "$edit" "$file" "$program" || status=1
	fi
	if [ "$status" -ne 0 ]; then
		ok 1 "$guard"
		comment "$scratch/make.log" >&2
	elif run_mutant "$binary" "$name" "${seconds:-$enough}"; then
		ok 1 "$guard"
		echo "#   $program $name passes without it" >&2
	elif as_recorded || [ "$record" = yes ]; then
		as_recorded || record_death
		ok 0 "$guard"
		echo "#   $name: $how"
	else
		ok 1 "$guard"
		echo "#   $name fails, but not as the table says: $how: $died" >&2
	fi
	if [ -n "$undo" ]; then
		# Else the next test fails by what this one has left.
		sql "$undo" || {
			ok 1 "$guard: it is put back"
			comment "$scratch/sql.log" >&2
		}
		undo=
	fi
	unset LOCKQ_SCHEMA_DIR
}

# look: whether the guard could be taken out: its edits fit the code.
look()
{
	local objects status=0

	[ -z "$edit" ] || edit_library "$edit" "$file" || status=1
	[ "$status" -ne 0 ] || [ -z "$door" ] || edit_library "$door" schema/doors.sql || status=1
	ok "$status" "$guard: it could be taken out"
	[ "$status" -eq 0 ] || comment "$scratch/make.log" >&2
}

forget()
{
	guard='' file='' edit='' door='' schema='' undo_schema='' program='' name='' seconds=''
	dies='' fault=''
}

complete()
{
	[ -n "$guard" ] || return 0
	if ((at % parts == part - 1)) && [[ $guard == *"$only"* ]]; then
		if [ "${LOCKQ_GUARDS-}" = half ] && ((at / parts % 2 == 1)); then
			look
		else
			check
		fi
	fi
	at=$((at + 1))
	forget
}

at=0
for table in "$top"/test/guards/*.guards; do
	forget
	while IFS= read -r line <&3; do
		case $line in
		'') complete ;;
		'#'*) ;;
		'guard: '*) guard=${line#*: } ;;
		'file: '*) file=${line#*: } ;;
		'edit: '*) edit+=${line#*: }$'\n' ;;
		'door: '*) door=${line#*: } ;;
		'schema: '*) schema=${line#*: } ;;
		'undo: '*) undo_schema=${line#*: } ;;
		'test: '*)
			program=${line#*: }
			name=${program#* }
			program=${program%% *}
			;;
		'dies: '*) dies+=${line#*: }$'\n' ;;
		'timeout: '*) seconds=${line#*: } ;;
		'fault: '*) fault=${line#*: } ;;
		*)
			ok 1 "$table: a line that is none: $line"
			;;
		esac
	done 3<"$table"
	complete
done
finish
