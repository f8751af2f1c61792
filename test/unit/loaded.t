#!/usr/bin/env bash
# scripts/loaded runs a command beside busy loops, tells whether it passed, and leaves no process.
set -u

# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-loaded.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
loaded=$top/scripts/loaded

# The loops and this command are children of the script, so the command counts its siblings.
cat >"$scratch/count" <<'END'
read -r _ _ _ parent _ </proc/$$/stat
read -r _ _ _ parent _ <"/proc/$parent/stat"
grep -l "^[0-9]* (.*) . $parent " /proc/[0-9]*/stat 2>/dev/null | wc -l >>"$1"
END

run "$loaded" --runs 2 --loops 3 bash "$scratch/count" "$scratch/beside"
is "$status" 0 'two runs that pass'
like "$out" '^loaded: run 2 of 2, [0-9]+ s: passed$' 'a line tells of each run'
is "$(sort -u "$scratch/beside")" 4 'three loops are beside each run'

run "$loaded" --runs 3 --loops 1 false
is "$status" 1 'a run that fails'
like "$out" '^loaded: run 1 of 3, [0-9]+ s: failed, status 1$' 'it is the last run'

run "$loaded" --loops 0 --deadline 1 sleep 60
is "$status" 1 'a run that does not end'
like "$out" 'failed, not ended after 1 s$' 'the line tells its deadline'

for wrong in '--runs 0' '--runs' '--loops x' '--nothing'; do
	# shellcheck disable=SC2086 # options are words
	run "$loaded" $wrong
	is "$status" 2 "a usage error: $wrong"
	like "$err" 'see scripts/loaded --help$' 'it names --help'
done

"$loaded" --loops 2 bash -c "echo \$\$ >'$scratch/pid'; exec sleep 60" >"$scratch/log" 2>&1 &
script=$!
wait_for [ -s "$scratch/pid" ]
children=$(ps -o pid= --ppid $script)
kill -TERM $script
wait $script
is $? 143 'ended by SIGTERM'
left=
for pid in $children; do
	! kill -0 "$pid" 2>/dev/null || left+=" $pid"
done
is "$left" '' 'no process of it is left'
finish
