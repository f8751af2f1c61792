# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For the tests of real runs: records some with the real programs and with faults, and walks a model
# along their traces. Then traces are forged, one edit each, and the model must refuse each of them
# at the line that has become impossible. A test names the model and, for `record`, the options of
# its runs:
#   begin_traces lockq 200
#   LOCKQ_TRACES=n  so many runs (default: what the test says)
#   LOCKQ_SEED=n    the first of their seeds (default: by chance)

# shellcheck source=test/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
# shellcheck source=scripts/signals.sh
. "$top/scripts/signals.sh"

# begin_traces MODEL RUNS OPTIONS…: builds the model, records the runs, and walks along them.
begin_traces()
{
	local model=$1 walked

	usual_runs=$2
	shift 2
	if ! hash spin gcc 2>/dev/null; then
		echo '1..0 # SKIP no spin or no gcc: scripts/setup all'
		exit 0
	fi
	runs=${LOCKQ_TRACES:-$usual_runs}
	seed=${LOCKQ_SEED:-$((RANDOM * 1000 + 1))}
	# Where all processes are slow, a trace has too many ways to search, and faults strike too
	# late: so only five run.
	record_options=("$@" --seed "$seed" --jobs 5)
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-trace.XXXXXX") || exit 1
	trap 'rm -rf "$scratch"' EXIT
	end_on_signals
	"$top/test/model/walk" --model "$model" --build "$scratch/pan"
	ok $? 'the model compiles'
	"$top/test/model/record" "${record_options[@]}" --runs "$runs" --out "$scratch/runs"
	ok $? "$runs runs are recorded, seeds from $seed on"
	walked=$(walk_along "$scratch"/runs/*.trace)
	ok $? 'each is a path of the model'
	grep -v 'is a path of the model$' <<<"$walked" | sed 's/^/#   /' >&2
	is "$(grep -c 'is a path of the model$' <<<"$walked")" "$runs" 'as many as were recorded'
}

walk_along()
{
	"$top/test/model/walk" --pan "$scratch/pan" "$@"
}

# have_met PATTERN…: what the lines of the runs must have, all together.
have_met()
{
	local met n what

	met=$(cat "$scratch"/runs/*.trace)
	for what in "$@"; do
		n=$(grep -c -e "$what" <<<"$met")
		has_met "$n" "lines with \"$what\""
	done
}

# has_met NUMBER WHAT
has_met()
{
	echo "#   $1 $2"
	[ "$1" -gt 0 ] || [ "$runs" -lt "$usual_runs" ]
	ok $? "runs have met $2"
}

# refuse_forged: forges the traces that forged() prints. A row of that is: what is wrong | a run
# that was recorded, of the folder runs | how the line begins that is impossible, or a property
# after "!". The line below it edits the run, by sed.
refuse_forged()
{
	local what run line edit originals=()

	while IFS='|' read -r what run line && read -r edit; do
		what=${what% } run=$top/test/model/runs/${run// /}.trace line=${line# }
		originals+=("$run")
		sed "$edit" "$run" >"$scratch/forged"
		! cmp -s "$run" "$scratch/forged"
		ok $? "forged: $what: the trace is edited"
		run walk_along "$scratch/forged"
		# shellcheck disable=SC2154 # of run
		case $line in
		!*) line="a path of it breaks a promise: .*\(${line#!}\)" ;;
		*) line="line [0-9]+ is impossible: $line" ;;
		esac
		like "$status ${out##*"$scratch/"}" "^1 forged: $line" "forged: $what: refused"
		echo "#   ${out##*/}"
	done < <(forged)
	walk_along "${originals[@]}" >/dev/null
	ok $? 'the runs that were forged are paths themselves'
}

# refuse_mutant NAME FUNCTION EDIT LINE OPTIONS…: takes a guard out of a function of the library,
# records runs of the getwork that this makes, and sees that the model refuses one of them at such a
# line. Where no run met the moment in which the guard matters, there are others.
refuse_mutant()
{
	local name=$1 function=$2 edit=$3 line=$4 mutant=$scratch/mutant file first

	shift 4
	file=$("$top/test/guards/mutate" "$top" "$mutant" "$function" "$edit") &&
		make -s -f "$top/test/guards/mutant.mk" TOP="$top" BUILD="$top/build" \
			OUT="$mutant" OBJECTS="${file%.c}" getwork
	ok $? "a getwork $name"
	for first in "$seed" $((seed + 8)) $((seed + 16)) $((seed + 24)); do
		rm -rf "$scratch/wrong"
		status='none, since the runs were not recorded'
		PATH=$mutant:$PATH "$top/test/model/record" "${record_options[@]}" --seed "$first" \
			--runs 8 "$@" --out "$scratch/wrong" || break
		run walk_along "$scratch"/wrong/*.trace
		[ "$status" -eq 0 ] || break
	done
	is "$status" 1 'not all of its runs are paths of the model'
	like "$out" "is impossible: $line" 'the model refuses what it does'
}
