# Races and their figures. Sourced by the tests of the lab's patterns.
# shellcheck shell=bash disable=SC2034 # for the tests that source this
# shellcheck source=test/support/shell.sh
. "${BASH_SOURCE[0]%/*}/../support/shell.sh"

scratch=$(mktemp -d)
mkdir "$scratch/tmp"
# The files of the races would be left here, and their processes have it in their environment.
export TMPDIR=$scratch/tmp
trap 'forget_all' EXIT
figures=$scratch/figures

race() {
	timeout --kill-after=5 3000 "$top/scripts/race" "$@"
}

# race_figures ARGUMENT…: leaves the JSON objects of these races in $figures.
race_figures() {
	race "$@" --timeout 2000 --json >"$figures" 2>"$scratch/errors" ||
		sed 's/^/# /' "$scratch/errors"
}

# of NAME FIGURE…: these figures of the race of pattern NAME, separated by blanks.
of() {
	local name=$1
	shift
	jq -r --arg name "$name" --args 'select(.name == $name) | (. + {".": .}) as $all |
		[$ARGS.positional[] | $all[.] | tostring] | join(" ")' "$@" <"$figures"
}

# watch ARGUMENT…: leaves the output of one race in $seen.
watch() {
	seen=$(race "$@" --timeout 2000 2>&1) || ok 1 "scripts/race $*: status $?"
}

# happens TEXT: how often $seen says that of a user.
happens() {
	grep -Ec -- " s  +[^ ]+ +$1" <<<"$seen"
}

# The number of loans that $seen says of more than one user.
told_twice() {
	sed -nE 's/.* s  +[^ ]+ +gets //p' <<<"$seen" | tr -d , | tr ' ' '\n' | sort | uniq -d |
		wc -l
}

# Some claims hold only if all users ask, or one is killed or stopped, before the first heavy query
# is over. A busy machine may be too late for that; then the race runs again with a longer query. A
# pattern that breaks its claim breaks it with each query.

# enough SECONDS CHECK PATTERN [OPTION…]: races with queries of these SECONDS until CHECK holds.
enough() {
	local lengths=$1 check=$2 seconds
	shift 2
	for seconds in $lengths; do
		race_figures "$@" --query-seconds "$seconds"
		! jq -e "$check" <"$figures" >/dev/null || return 0
	done
}

# watch_pause SECONDS CHECK PATTERN OPTION…: races with queries of these SECONDS until a user is
# stopped before anybody is served, and CHECK holds. It holds if the stop was during the query.
watch_pause() {
	local lengths=$1 check=$2 seconds
	shift 2
	for seconds in $lengths; do
		watch "$@" --query-seconds "$seconds"
		! grep -E ' s  +[^ ]+ +(is stopped|gets )' <<<"$seen" | head -n 1 |
			grep -q 'is stopped' || ! "$check" || return 0
	done
}
