#!/usr/bin/env bash
# Each real run is a path of the model: runs are recorded with the real programs and faults, and the
# model is walked along their traces. Then traces are forged, one edit each, and the model must
# refuse each of them at the line that has become impossible.
#   LOCKQ_TRACES=n  so many runs (default: 200)
#   LOCKQ_SEED=n    the first of their seeds (default: by chance)
set -u

# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
# shellcheck source=scripts/signals.sh
. "$top/scripts/signals.sh"

if ! command -v spin >/dev/null 2>&1 || ! command -v gcc >/dev/null 2>&1; then
	echo '1..0 # SKIP no spin or no gcc: scripts/setup check'
	exit 0
fi
runs=${LOCKQ_TRACES:-200}
seed=${LOCKQ_SEED:-$((RANDOM * 1000 + 1))}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-trace.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
end_on_signals

"$top/test/model/walk" --build "$scratch/pan"
ok $? 'the model compiles'
"$top/test/model/record" --seed "$seed" --runs "$runs" --out "$scratch/runs"
ok $? "$runs runs are recorded, seeds from $seed on"
walk_along()
{
	"$top/test/model/walk" --pan "$scratch/pan" "$@"
}
walked=$(walk_along "$scratch"/runs/*.trace)
ok $? 'each is a path of the model'
grep -v 'is a path of the model$' <<<"$walked" | sed 's/^/#   /' >&2
is "$(grep -c 'is a path of the model$' <<<"$walked")" "$runs" 'as many as were recorded'

# What the runs must have met, all together.
met=$(cat "$scratch"/runs/*.trace)
for what in 'how=query' 'how=hand-over' 'how=failed' '=served' '=partial' '=empty' '^cancelled' \
	'^put-off' '^killed' ' lost' '^disposed' '^lapsed' '^paused' '^resumed' '^stuck'; do
	n=$(grep -c -e "$what" <<<"$met")
	echo "#   $n lines with \"$what\""
	[ "$n" -gt 0 ] || [ "$runs" -lt 200 ]
	ok $? "runs have met \"$what\""
done

# --- forged traces ---

# A row is: what is wrong | a run that was recorded, of the folder runs | how the line begins that
# is impossible. The line below it edits the run, by sed.
forged()
{
	cat <<'END'
a loan is given twice | handed-over | committed 4
	s#4=empty#4=served loan1=4/2#
two leaders commit under one epoch | handed-over | committed 4
	s#^committed 4 epoch=3#committed 4 epoch=2#
an epoch goes back | handed-over | committed 4
	s#^committed 4 epoch=3#committed 4 epoch=1#
an epoch is left out | handed-over | committed 1 epoch=4
	s#epoch=2 how=hand-over#epoch=4 how=hand-over#
a user is told of another loan | returned | answered 2
	s#^answered 2 served 1#answered 2 served 2#
a user who was served is told "no work" | returned | answered 2
	s#^answered 2 served 1#answered 2 empty#
a user is told before the COMMIT | completed | answered 2
	/^answered 2/d; s#^committed 2#answered 2 served 2\n&#
a process that waits is told "pending" | handed-over | put-off 4
	s#^answered 4 empty#put-off 4#
"no work" while a loan is available | completed | committed 2
	s#2=served loan2=2/1#2=empty#
"no work" from a hand-over | handed-over | committed 1 epoch=2
	s#3=partial loan3=3/1#3=empty#
more than was asked for | completed | committed 2
	s#2=served loan2=2/1#& loan3=2/1#
a younger request is served first | handed-over | committed 1 epoch=1
	s#loan1=1/1 loan2=2/1#loan1=2/1 loan2=1/1#
a request is ended twice | handed-over | committed 1 epoch=2
	s#3=partial#1=empty 3=partial#
a cancelled request is served | cancelled | committed 1
	s#loan3=1/1#3=served loan3=3/1#
a request that was looked after expires | neglected | committed 1
	/^neglected 2/d
a request that nobody looked after is served | neglected | committed 1
	s#2=expired 4=served loan1=1/1 loan2=4/1#2=served 4=served loan1=1/1 loan2=2/1 loan3=4/1#
a leader goes by an old version | returned | committed 2
	s#loan1=2/3#loan1=2/2#
the log of an expired lease is left out | lapsed | committed 2
	s#loan1=2/3#loan2=2/2#
a loan is given before its lease is over | cancelled | committed 1
	s#loan3=1/1#loan2=1/3#; /^lapsed/d
a completed loan is given before its hold is over | completed | committed 3
	s#loan3=3/1#loan1=3/3#
a loan is given before the pause ends | paused | committed 3
	/^resumed/d
a request is left over | handed-over | committed 4
	/hand-over/d; s#epoch=3#epoch=2#
a request is left over by the last leader | handed-over | answered 1
	/hand-over/d; / 4 /d; /^asked 4/d
requests fail although no query failed | completed | committed 2
	s#2=served loan2=2/1#2=failed#
END
}

while IFS='|' read -r what run line && read -r edit; do
	what=${what% } run=${run// /} line=${line# }
	sed "$edit" "$top/test/model/runs/$run.trace" >"$scratch/forged"
	! cmp -s "$top/test/model/runs/$run.trace" "$scratch/forged"
	ok $? "forged: $what: the trace is edited"
	run walk_along "$scratch/forged"
	# shellcheck disable=SC2154 # of run
	like "$status ${out##*"$scratch/"}" "^1 forged: line [0-9]+ is impossible: $line" \
		"forged: $what: refused"
	echo "#   ${out##*/}"
done < <(forged)
walk_along "$top"/test/model/runs/*.trace >/dev/null
ok $? 'the runs that were forged are paths themselves'

# --- a library without a guard ---

# Programs that do not see that a task is paused. The trace of what they really do is refused.
mkdir "$scratch/mutant"
"$top/test/guards/mutate" "$top" "s/task->paused\[0\] != '.0' \? LOCK_PAUSED/false ? LOCK_PAUSED/" \
	"$scratch/mutant/lock.c" lib/lock.c >/dev/null &&
	make -s -f "$top/test/guards/mutant.mk" TOP="$top" BUILD="$top/build" \
		OUT="$scratch/mutant" OBJECTS=lib/lock getwork
ok $? 'a getwork that does not see a pause'
PATH=$scratch/mutant:$PATH "$top/test/model/record" --seed "$seed" --runs 8 --fault pause \
	--out "$scratch/paused"
ok $? 'its runs are recorded'
run walk_along "$scratch"/paused/*.trace
is "$status" 1 'not all of them are paths of the model'
like "$out" 'is impossible: committed' 'a leader commits where the model is paused'
finish
