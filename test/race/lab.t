#!/usr/bin/env bash
# What the lab's patterns claim, each raced for real; and scripts/race itself.
set -u
# shellcheck source=test/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

scratch=$(mktemp -d)
mkdir "$scratch/tmp"
# What the races leave would be here, and they can be told by it.
export TMPDIR=$scratch/tmp
task=205
trap 'forget_task "$task"; forget_users; rm -rf "$scratch"' EXIT
figures=$scratch/figures

race() {
	timeout --kill-after=5 200 "$top/scripts/race" "$@"
}

# race_figures ARGUMENT…: leaves the objects of these races in $figures.
race_figures() {
	race "$@" --json >"$figures" 2>"$scratch/errors" || sed 's/^/# /' "$scratch/errors"
}

# of NAME FIGURE…: of the race of pattern NAME, separated by blanks.
of() {
	local name=$1
	shift
	jq -r --arg name "$name" --args 'select(.name == $name) | (. + {".": .}) as $all |
		[$ARGS.positional[] | $all[.] | tostring] | join(" ")' "$@" <"$figures"
}

# watch ARGUMENT…: leaves what a watcher reads of one race in $seen.
watch() {
	seen=$(race "$@" 2>&1) || ok 1 "scripts/race $*: status $?"
}

# happens TEXT: how often somebody did that, in $seen.
happens() {
	grep -Ec -- " s  +[^ ]+ +$1" <<<"$seen"
}

# Loans that more than one user was told of, counted from what is said of each user.
told_twice() {
	sed -nE 's/.* s  +[^ ]+ +gets //p' <<<"$seen" | tr -d , | tr ' ' '\n' | sort | uniq -d | wc -l
}

# enough CHECK PATTERN [OPTION…]: where the claim is of users who all ask before the first heavy
# query is over. Whether they do is the machine's business: if CHECK does not hold, again with a
# longer query. A pattern that does not keep its claim does not keep it with a longer one either.
enough() {
	local check=$1 seconds
	shift
	for seconds in 0.1 0.8 4; do
		race_figures "$@" --query-seconds "$seconds"
		! jq -e "$check" <"$figures" >/dev/null || return 0
	done
}

# --- who gives loans twice ----------------------------------------------------------------------

race_figures naive --rounds 3 --query-seconds 0.1
is "$(of naive by_round | jq -c 'map(.given_twice > 0)')" '[true,true,true]' \
	'naive: 8 shells are given loans twice in each race'
is "$(of naive heavy_queries given served errors)" '8 72 24 0' \
	'naive: everybody runs the query, is served, and sees no error'

# Its gap between reading and writing is short: it happens in most races, not in all.
for ((i = 0; i < 12; i++)); do
	race_figures flag:check --query-seconds 0.1
	[ "$(of flag:check given_twice)" = 0 ] || break
done
is "$(of flag:check . | jq '.given_twice > 0 and .errors == 0')" true \
	"flag:check: loans are given twice: in race $((i + 1))"

right=(flag optimistic unique forupdate advisory skiplocked lease onemachine lockq)
race_figures "${right[@]}" --query-seconds 0.1
for pattern in "${right[@]}"; do
	is "$(of "$pattern" given_twice given served unserved errors empty)" '0 24 8 0 0 0' \
		"$pattern: 8 people are served, nothing is given twice"
done
for pattern in flag forupdate advisory lease; do
	is "$(of "$pattern" heavy_queries)" 8 "$pattern: 8 heavy queries for 8 people"
done
for pattern in unique optimistic; do
	is "$(of "$pattern" . | jq '.heavy_queries >= 8 and .heavy_queries == 8 + .retries')" \
		true "$pattern: $(of "$pattern" heavy_queries) heavy queries: 8, and one more" \
		'for each who lost all loans of a list'
done
for pattern in onemachine skiplocked; do
	is "$(of "$pattern" heavy_queries)" 1 "$pattern: one heavy query for 8 people"
done

race_figures skiplocked:no-index deadlock deadlock:ordered --shells 4 --query-seconds 0.1
for pattern in skiplocked:no-index deadlock deadlock:ordered; do
	is "$(of "$pattern" given_twice given served unserved errors heavy_queries)" \
		'0 12 4 0 0 1' "$pattern: 4 people are served, nothing is given twice"
done
is "$(of deadlock . | jq '.deadlocks > 0 and .retries >= .deadlocks')" true \
	"deadlock: there are some, and they are tried again: $(of deadlock deadlocks)"
is "$(of deadlock:ordered deadlocks)" 0 'deadlock:ordered: none'

enough '.heavy_queries == 1' lockq
is "$(of lockq heavy_queries given_twice given served)" '1 0 24 8' \
	'lockq: one heavy query for 8 people who ask at once'
enough '.errors == 7' nowait
is "$(of nowait heavy_queries given_twice given served errors unserved)" '1 0 3 1 7 0' \
	'nowait: one is served, 7 are refused'

# --- machines -----------------------------------------------------------------------------------

race_figures onemachine --nodes 2 --shells 4 --query-seconds 0.1
is "$(of onemachine heavy_queries given served errors)" '2 12 4 0' \
	'onemachine with two nodes: a query on each, everybody is served'
is "$(of onemachine . | jq '.given_twice > 0')" true \
	'onemachine with two nodes: loans are given twice'
race_figures onemachine --nodes 4 --shells 4 --query-seconds 0.1
is "$(of onemachine heavy_queries given_twice)" '4 3' 'and with four: the same three to all four'

# --- what users are told ------------------------------------------------------------------------

watch skiplocked:no-index --shells 4 --query-seconds 0.1
is "$(("$(happens 'tries again: .*every row of it is locked')" > 0))" 1 \
	'skiplocked:no-index: who finds work is told that every row of it is locked'
watch nowait --shells 4 --query-seconds 0.4
is "$(happens 'is told: .*NOWAIT.*\(3572\)')" "$((4 - $(happens gets)))" \
	'nowait: the server says so, error 3572'
watch naive --shells 4 --query-seconds 0.1
is "$(told_twice)" "$(sed -n 's/.*given twice: //p' <<<"$seen")" \
	'given twice are the loans that more than one user was told of'
is "$(told_twice)" 3 'of 4 people who are told of the same 3 loans'

# --- a process that dies ------------------------------------------------------------------------

patterns=(naive flag optimistic unique onemachine forupdate nowait advisory skiplocked lease
	deadlock)
race_figures "${patterns[@]}" --kill --shells 3 --query-seconds 0.2
for pattern in "${patterns[@]}"; do
	twice=0 errors=0
	[ "$pattern" != naive ] || twice=3
	[ "$pattern" != nowait ] || errors=$(of nowait errors)
	is "$(of "$pattern" unserved served errors given_twice)" "1 $((2 - errors)) $errors $twice" \
		"$pattern: one of 3 is killed and not served, given twice: $twice"
done
is "$(of onemachine heavy_queries)" 2 'onemachine: the next one runs the query again'
is "$(of skiplocked heavy_queries)" 1 "skiplocked: the producer's query is run by then"
# The lease is of 1.4 s, and nobody asked before the gate was opened.
for pattern in flag lease; do
	is "$(of "$pattern" . | jq '.first_ms >= 1400')" true \
		"$pattern: nobody is served before it is old: $(of "$pattern" first_ms) ms"
done
race_figures lockq --kill --query-seconds 0.6
is "$(of lockq unserved served given_twice errors heavy_queries)" '1 7 0 0 2' \
	'lockq: the leader is killed, the next one leads, and 7 are served by one more query'

# --- a process that sleeps ----------------------------------------------------------------------

for pattern in lease:no-token flag lease; do
	watch "$pattern" --pause --shells 3 --query-seconds 0.2
	is "$(happens 'is stopped') $(happens 'goes on') $(happens gets)" '1 1 3' \
		"$pattern: the first holder sleeps, and is served after all"
	if [ "$pattern" = lease ]; then
		is "$(told_twice)" 0 'lease: its token is out of date, nothing is given twice'
		is "$(happens 'tries again: token [0-9]+ is out of date')" 1 'lease: and says so'
	else
		is "$(told_twice)" 3 "$pattern: the loans that it had found are given twice"
	fi
done
watch lockq --pause=2 --shells 3 --query-seconds 0.6
is "$(happens 'is stopped') $(happens 'goes on') $(happens gets) $(told_twice)" '1 1 3 0' \
	'lockq: a leader that sleeps for 2 s: nothing is given twice'
is "$(happens 'runs the heavy query')" 1 'lockq: and nobody takes over'
watch lockq --pause=13 --shells 3 --query-seconds 0.6
is "$(happens 'is stopped') $(happens 'goes on') $(happens gets) $(told_twice)" '1 1 3 0' \
	'lockq: a leader that sleeps for 13 s: nothing is given twice'
is "$(happens 'runs the heavy query')" 2 'lockq: another one leads meanwhile'
finish
