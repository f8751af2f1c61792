#!/usr/bin/env bash
# scripts/loaded: a command that passes or fails with busy loops beside it, and nothing that goes on
# running after it.
set -u

# shellcheck source=test/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockq-loaded.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
loaded=$top/scripts/loaded

# The loops are the script's own children, as this command is: it counts its siblings.
cat >"$scratch/count" <<'END'
parent=$(ps -o ppid= -p "$(ps -o ppid= -p $$)")
ps -o pid= --ppid "$parent" | wc -l >>"$1"
END

run "$loaded" --runs 2 --loops 3 bash "$scratch/count" "$scratch/beside"
is "$status" 0 'two runs that pass'
like "$out" '^loaded: run 2 of 2, [0-9]+ s: passed$' 'each run is told'
is "$(sort -u "$scratch/beside")" 4 'three loops are beside each run'

run "$loaded" --runs 3 --loops 1 false
is "$status" 1 'a run that fails'
like "$out" '^loaded: run 1 of 3, [0-9]+ s: failed, status 1$' 'it is the last one'

run "$loaded" --loops 0 --deadline 1 sleep 60
is "$status" 1 'a run that does not end'
like "$out" 'failed, not ended after 1 s$' 'its deadline is told'

for wrong in '--runs 0' '--runs' '--loops x' '--nothing'; do
	# shellcheck disable=SC2086 # options are words
	run "$loaded" $wrong
	is "$status" 2 "a usage error: $wrong"
	like "$err" 'see scripts/loaded --help$' 'and where to look'
done

"$loaded" --loops 2 bash -c "echo \$\$ >'$scratch/pid'; exec sleep 60" >"$scratch/log" 2>&1 &
script=$!
until [ -s "$scratch/pid" ]; do sleep 0.05; done
children=$(ps -o pid= --ppid $script)
kill -TERM $script
wait $script
is $? 143 'ended by SIGTERM'
left=
for pid in $children; do
	! kill -0 "$pid" 2>/dev/null || left+=" $pid"
done
is "$left" '' 'nothing of it goes on'
finish
