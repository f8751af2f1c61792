#!/usr/bin/env bash
# Each claim of the lab's patterns that keep a limit, a shift and a range.
set -u
# shellcheck source=test/lab/common.sh
. "$(dirname "$0")/common.sh"
# These races need no task and no users of their own.
trap 'rm -rf "$scratch"' EXIT

server=$(sql 'SELECT @@version')

# on NAME LEVEL: the promise depends on that isolation level, and the race shows it.
on() {
	is "$(of "$1" isolation server_version)" "$2 $server" "$1: at $2, MySQL $server"
}

# --- at most 3 at once --------------------------------------------------------------------------

race_figures cap cap:read-committed --shells 5 --query-seconds 0.1
for pattern in cap cap:read-committed; do
	is "$(of "$pattern" . | jq '.violations > 0 and .served == 3 + .violations')" true \
		"$pattern: of 5 people $(of "$pattern" violations) are above the limit of 3"
done
on cap 'REPEATABLE READ'
on cap:read-committed 'READ COMMITTED'

# One of 5 is killed with its place. On a busy machine it may be too late for that.
safe=(cap:serializable cap:parent cap:advisory cap:counter)
for ((i = 0; i < 5; i++)); do
	race_figures "${safe[@]}" --kill --shells 5 --query-seconds 0.1
	! jq -s -e 'all(.killed == 1)' <"$figures" >/dev/null || break
done
for pattern in cap:serializable cap:parent cap:advisory; do
	is "$(of "$pattern" violations served empty killed errors)" '0 3 1 1 0' \
		"$pattern: 3 begin, and the fourth is told that there is no place"
done
is "$(of cap:counter violations served empty killed errors)" '0 2 2 1 0' \
	'cap:counter: the one that was killed keeps its place'
on cap:serializable SERIALIZABLE
is "$(of cap:serializable . | jq '.deadlocks > 0 and .retries == .deadlocks')" true \
	"cap:serializable: deadlocks, each one tried again: $(of cap:serializable deadlocks)"
is "$(of cap:parent retries) $(of cap:advisory retries)" '0 0' \
	'cap:parent, cap:advisory: people wait, and nobody begins again'

# --- one of two stays ---------------------------------------------------------------------------

race_figures duty duty:serializable duty:forupdate --shells 4 --query-seconds 0.1
is "$(of duty . | jq '.violations > 0 and .served == 2 + .violations')" true \
	"duty: two people leave: $(of duty violations violation)"
is "$(of duty:serializable violations served empty errors)" '0 2 2 0' \
	'duty:serializable: one of two stays'
is "$(of duty:serializable . | jq '.deadlocks > 0 and .retries == .deadlocks')" true \
	"duty:serializable: after a deadlock: $(of duty:serializable deadlocks)"
is "$(of duty:forupdate violations served empty errors retries)" '0 2 2 0 0' \
	'duty:forupdate: one of two stays, and nobody begins again'
on duty 'REPEATABLE READ'
on duty:serializable SERIALIZABLE
on duty:forupdate 'READ COMMITTED'
finish
