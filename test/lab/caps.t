#!/usr/bin/env bash
# Each claim of the lab's patterns that keep a range, a shift and a limit.
set -u
# shellcheck source=test/lab/common.sh
. "$(dirname "$0")/common.sh"
# These races need no task and no users of their own.
trap 'rm -rf "$scratch"' EXIT

version=$(sql 'SELECT @@version')

# The promise depends on the isolation level. Each race shows the level and the server's version.
levels() {
	jq -r '[.name, .isolation, .server_version] | join(" ")' <"$figures"
}

# More people ask than there are places. The fifth has a shift without anybody else.
ranges=(range:read-committed range:no-lock range range:serializable range:no-index)
race_figures "${ranges[@]}" duty duty:serializable duty:forupdate cap cap:read-committed \
	--shells 5 --query-seconds 0.1 --events "$scratch/events"
is "$(levels)" "range:read-committed READ COMMITTED $version
range:no-lock REPEATABLE READ $version
range REPEATABLE READ $version
range:serializable SERIALIZABLE $version
range:no-index REPEATABLE READ $version
duty REPEATABLE READ $version
duty:serializable SERIALIZABLE $version
duty:forupdate READ COMMITTED $version
cap REPEATABLE READ $version
cap:read-committed READ COMMITTED $version" 'the isolation levels, and the version of the server'

# --- what comes into a range --------------------------------------------------------------------

# The second to fifth person insert into the range, behind it, far behind it and before it. The
# first one goes on when each of them has inserted or waited.
for pattern in range:read-committed range:no-lock; do
	is "$(of "$pattern" violations served errors retries violation)" '1 5 0 0 phantoms' \
		"$pattern: no INSERT waits, and the one into the range is a phantom"
done
for pattern in range range:serializable range:no-index; do
	is "$(of "$pattern" violations served errors)" '0 5 0' "$pattern: there is no phantom"
done

# events_of EVENT: what the person has seen at each look, or which INSERTs have waited for so long
# that they failed, in a line for each race.
events_of() {
	awk -F '\t' -v what="$1" '
		$3 == "waits" { inserts[$2] = $4; sub(/.* /, "", inserts[$2]) }
		$3 == what && what == "sees" { text = text "(" $4 ")" }
		$3 == what && /1205/ { text = text inserts[$2] " " }
		$3 == "judged" { print text; text = "" }' "$scratch/events" |
		head -n "${#ranges[@]}"
}
is "$(events_of sees)" '(120 180)(120 151 180)(120 151 180)
(120 180)(120 180)(120 151 180)
(120 180)(120 180)(120 180)
(120 180)(120 180)(120 180)
(120 180)(120 180)(120 180)' 'range: the looks before the work, after it, and after the UPDATE'

# In any order, and once, also where somebody has waited twice.
sorted() {
	while read -r text; do
		tr ' ' '\n' <<<"$text" | sort -nu | xargs
	done
}
is "$(events_of retry | sorted)" '

79 151 252
79 151 252
79 151 252 353' 'range: INSERTs into the gaps at its ends wait, too, and without an index all'

# --- one of two stays ---------------------------------------------------------------------------

is "$(of duty . | jq '.violations > 0 and .served == 2 + .violations')" true \
	"duty: both people leave: $(of duty violations violation)"
is "$(of duty:serializable violations served empty errors)" '0 2 3 0' \
	'duty:serializable: one of two stays'
is "$(of duty:serializable . | jq '.deadlocks > 0 and .retries == .deadlocks')" true \
	"duty:serializable: after a deadlock: $(of duty:serializable deadlocks)"
is "$(of duty:forupdate violations served empty errors retries)" '0 2 3 0 0' \
	'duty:forupdate: one of two stays, and nobody begins again'

# --- at most 3 at once --------------------------------------------------------------------------

for pattern in cap cap:read-committed; do
	is "$(of "$pattern" . | jq '.violations > 0 and .served == 3 + .violations')" true \
		"$pattern: of 5 people $(of "$pattern" violations violation)"
done

# One of 5 is killed with its place. On a busy machine it may be too late for that.
for ((i = 0; i < 5; i++)); do
	race_figures cap:serializable cap:parent cap:advisory cap:counter --kill --shells 5 \
		--query-seconds 0.1
	! jq -s -e 'all(.killed == 1)' <"$figures" >/dev/null || break
done
for pattern in cap:serializable cap:parent cap:advisory; do
	is "$(of "$pattern" violations served empty killed errors)" '0 3 1 1 0' \
		"$pattern: 3 begin, and the fourth is told that there is no place"
done
is "$(of cap:counter violations served empty killed errors)" '0 2 2 1 0' \
	'cap:counter: the one that was killed keeps its place'
is "$(of cap:serializable . | jq '.deadlocks > 0 and .retries == .deadlocks')" true \
	"cap:serializable: deadlocks, each one tried again: $(of cap:serializable deadlocks)"
is "$(of cap:parent retries) $(of cap:advisory retries)" '0 0' \
	'cap:parent, cap:advisory: people wait, and nobody begins again'
is "$(levels | head -n 2)" "cap:serializable SERIALIZABLE $version
cap:parent READ COMMITTED $version" 'the levels of those with a lock'
finish
