# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For the tests of a model: searches all states of it, once for each row of a table, and reports
# what came. A test defines table() and, if -O0 is not right, optimise(), and calls
# search_rows MODEL "$@". With an argument, only the rows that have it in their name are searched.
#
# A row is: kind | property, or modes | name. The line below it has the options.
#   holds   nothing may fail
#   masked  a guard is out, but another one does its work: nothing may fail
#   breaks  a guard is out: the property must fail
# Mode safety checks the assertions, and that no process waits for ever with nothing left to happen.
# Mode live checks the property `answered`. The modes long-safety and long are safety and live, but
# only LOCKQ_MODEL=all has them.
#
# A test that sets `schedules` has the counterexamples of its rows `breaks` in the files of that
# folder, as schedules for the real library. Then these rows have the mode shortest, a search in
# breadth, which finds a shortest counterexample, and each must be the one in the file. With the
# option --record the files are written. A line `left:` is the library's: test/support/schedule.h.
schedules=

# shellcheck source=test/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
# shellcheck source=scripts/signals.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/signals.sh"

# optimise KIND MODE OPTIONS…: what the compiler gets. For a short search -O0 is fastest.
optimise()
{
	echo -O0
}

# search_job DIRECTORY KIND: searches with the "MODE OPTIONS…" in the file `wanted` of the
# directory, and writes the output to its file `log`.
search_job()
{
	local mode options level=() compiler=gcc compile=(-DNFAIR=3) search=(-a -f)

	cd "$1" || exit 1
	read -r mode options <wanted
	read -ra level < <(optimise "$2" "$mode" "$options")
	# Most searches are shorter than gcc or clang would compile.
	[ "${level[0]}" != -O0 ] || compiler=tcc
	case $mode in
	safety) compile=(-DSAFETY -DNOCLAIM) search=() ;;
	shortest) compile=(-DSAFETY -DNOCLAIM -DBFS) search=() ;;
	esac
	# shellcheck disable=SC2086 # options are words
	timeout 1000 spin -a $options "$model" >log 2>&1 &&
		timeout 1000 "$compiler" "${level[@]}" -w "${compile[@]}" -o pan pan.c >>log 2>&1 &&
		timeout 3000 ./pan "${search[@]}" -m50000 -w19 >log 2>&1
	if [ "$2" = breaks ] && [ -n "$schedules" ]; then
		# shellcheck disable=SC2086 # options are words
		timeout 100 spin -T -k "${model##*/}.trail" $options "$model" 2>&1 |
			grep -E '^(requester|loan|manager|<<<<<)' >events
	fi
	rm -f pan pan.*
}

# search_of ROW MODE OPTIONS…: adds a job to the list.
search_of()
{
	local directory=$scratch/$1.$2

	mkdir -p "$directory"
	printf '%s %s\n' "$2" "$3" >"$directory/wanted"
	printf '%s\0%s\0' "$directory" "$kind" >>"$scratch/jobs"
	searches[$1.$2]=yes
}

# searched LOG: succeeds if the search went through all states and found no error.
searched()
{
	grep -q 'errors: 0$' "$1" &&
		! grep -Eq 'max search depth|^error|pan:1:|out of memory' "$1" &&
		grep -q '^Full statespace search' "$1"
}

states()
{
	sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1 states/p' "$1"
	sed -n 's/^State-vector.*depth reached \([0-9]*\),.*/depth \1/p' "$1"
	sed -n 's/^ *\([0-9.]*\)\ttotal actual memory usage/\1 MB/p' "$1"
	sed -n 's/^pan: elapsed time \([0-9.]*\) seconds/\1 s/p' "$1"
}

# The fields of a row are used without the blanks around them.
read_table()
{
	local property name options mode

	while IFS='|' read -r kind property name && read -r options; do
		kind=${kind%% *} property=${property# } property=${property% } name=${name# }
		[[ $name == *"$only"* ]] || continue
		kinds[rows]=$kind names[rows]=$name properties[rows]=$property
		guards[rows]=$options
		case $kind,$property,$schedules in
		breaks,answered,) search_of "$rows" live "$options" ;;
		breaks,answered,*) search_of "$rows" live "-DSCHEDULE $options" ;;
		breaks,*,) search_of "$rows" safety "-DONLY=$property $options" ;;
		breaks,*) search_of "$rows" shortest "-DSCHEDULE -DONLY=$property $options" ;;
		*)
			for mode in $property; do
				case $mode in
				long | long-safety)
					[ "${LOCKQ_MODEL-}" = all ] || continue
					mode=${mode#long} mode=${mode#-}
					;;
				esac
				search_of "$rows" "${mode:-live}" "$options"
			done
			;;
		esac
		rows=$((rows + 1))
	done < <(table)
}

# file_of NAME: the file of a row's schedule, and the name of its test in
# test/db/getwork/test_schedule.c.
file_of()
{
	tr -cs 'A-Za-z0-9\n' _ <<<"$1" | sed 's/^_//; s/_$//'
}

# The counterexample of row $n must be the schedule that test/db/getwork/test_schedule.c knows.
report_schedule()
{
	local file found=$scratch/$n.$mode/schedule

	file=$schedules/$(file_of "${names[n]}")
	{
		echo "# test/model/protocol.t: ${names[n]}"
		echo "property: $property"
		echo "model: ${guards[n]}"
		# This is the library's, not the model's.
		sed -n '/^left: /p' "$file" 2>/dev/null
		cat "$scratch/$n.$mode/events"
	} >"$found"
	[ "$record" = no ] || cp "$found" "$file"
	diff -u "$file" "$found" >"$scratch/differ" 2>&1
	ok $? "schedule: ${names[n]}"
	sed 's/^/#   /' "$scratch/differ"
}

report()
{
	local n property mode log

	for ((n = 0; n < rows; n++)); do
		property=${properties[n]}
		for mode in safety live shortest; do
			log=$scratch/$n.$mode/log
			[ -n "${searches[$n.$mode]-}" ] || continue
			[ -e "$log" ] || {
				ok 1 "${kinds[n]}: ${names[n]}: $mode: it was searched"
				continue
			}
			case ${kinds[n]},$property in
			holds,* | masked,*)
				searched "$log"
				ok $? "${kinds[n]}: ${names[n]}: $mode"
				;;
			breaks,answered)
				grep -q '^pan:1: acceptance cycle' "$log"
				ok $? "breaks: ${names[n]}: not all are answered"
				;;
			*)
				grep -q "^pan:1: assertion violated  !($property) " "$log"
				ok $? "breaks: ${names[n]}: $property"
				;;
			esac
			printf '#   %s: %s\n' "$mode" \
				"$(states "$log" | paste -sd, | sed 's/,/, /g')"
			grep -E '^pan:1:|[Ee]rror:|max search depth' "$log" | sed 's/^/#   /'
			[ -z "$schedules" ] || [ "${kinds[n]}" != breaks ] || report_schedule
		done
	done
}

# Each statement of the model must be reached by some configuration. Spin does not report an option
# that only jumps, because it has no state of its own.
report_unreached()
{
	local n place=${model##*/}

	for ((n = 0; n < rows; n++)); do
		[[ ${kinds[n]} = holds && -e $scratch/$n.safety/log ]] || continue
		awk -v place="$place:" '/^unreached in/ { inside = !/claim/; process = $4 }
			inside && index($0, place) {
				sub(/, state [0-9]+/, "")
				split($1, part, ":")
				$1 = ""
				gsub(/[0-9]+/, "#")
				print part[2] " in " process $0
			}' "$scratch/$n.safety/log" | sort -u >"$scratch/$n.unreached"
		if [ -e "$scratch/unreached" ]; then
			comm -12 "$scratch/unreached" "$scratch/$n.unreached" >"$scratch/both"
			mv "$scratch/both" "$scratch/unreached"
		else
			cp "$scratch/$n.unreached" "$scratch/unreached"
		fi
	done
	[ ! -s "$scratch/unreached" ]
	ok $? 'every statement of the model is reached'
	sed 's/^/#   line /' "$scratch/unreached"
}

# The functions and procedures that the model names are there.
report_names()
{
	local name

	grep -Eo '[a-z_]+\(\)' "$model" | tr -d '()' | sort -u | while read -r name; do
		grep -q "^inline $name(\|proctype $name(" "$model" ||
			grep -q "^$name(" "$top"/lib/*/*.c ||
			grep -q "^CREATE PROCEDURE $name " "$top"/schema/doors/*.sql || echo "$name"
	done >"$scratch/names"
	[ ! -s "$scratch/names" ]
	ok $? 'every function that the model names is in lib'
	sed 's/^/#   no /' "$scratch/names"
}

# A row's name may begin with "without: ", and then a guard's name follows.
report_guards()
{
	[ -z "$only" ] || return 0
	table | sed -n 's/.*| without: //p' | while read -r guard; do
		grep -qF "guard: $guard" "$top"/test/guards/*.guards || echo "$guard"
	done >"$scratch/names"
	[ ! -s "$scratch/names" ]
	ok $? 'the guards that are taken out are those of test/guards'
	sed 's/^/#   no guard: /' "$scratch/names"
}

# The three lists of a model with schedules are the same: the rows `breaks`, the files of the
# schedules, and the guards whose test is one of these schedules. A file names its row's property.
report_schedules()
{
	[ -z "$only" ] || return 0
	table | sed -n 's/^breaks *| *\([a-z_]*\) *| *\(.*\)/\1 \2/p' |
		while read -r property name; do
			echo "$(file_of "$name") $property"
		done | sort >"$scratch/rows"
	(cd "$schedules" && sed -sn 's/^property: //p; 1F' ./*) | paste -d ' ' - - |
		sed 's,^\./,,' | sort >"$scratch/files"
	sed -n 's,^dies: db/getwork/test_schedule ,,p' "$top"/test/guards/*.guards | sort \
		>"$scratch/guards"
	diff "$scratch/rows" "$scratch/files" >"$scratch/differ"
	ok $? 'each row has its schedule, and each schedule its row'
	sed 's/^/#   /' "$scratch/differ"
	cut -d ' ' -f 1 "$scratch/rows" | diff - "$scratch/guards" >"$scratch/differ"
	ok $? 'each row has its guard, whose test is the schedule'
	sed 's/^/#   /' "$scratch/differ"
}

# search_rows MODEL [--record] [NAME]
search_rows()
{
	model=$1 only=${2-} record=no
	if [ "$only" = --record ]; then
		record=yes only=${3-}
	elif [ "$only" = --job ]; then
		search_job "$3" "$4"
		exit 0
	fi
	if ! hash spin gcc tcc 2>/dev/null; then
		echo '1..0 # SKIP no spin, gcc or tcc: scripts/setup all'
		exit 0
	fi
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-model.XXXXXX") || exit 1
	trap 'rm -rf "$scratch"' EXIT
	end_on_signals
	kinds=() names=() properties=() guards=() rows=0
	declare -A searches=()
	: >"$scratch/jobs"
	read_table
	xargs -r -0 -n 2 -P "$(nproc 2>/dev/null || echo 2)" "$0" --job <"$scratch/jobs"
	report
	if [ -z "$only" ]; then
		report_unreached
		report_names
	fi
}
