#!/usr/bin/env bash
# seeds: how many requests the plain algorithm loses, and by which trap.
set -u
# shellcheck source=test/lab/common.sh
. "$(dirname "$0")/common.sh"

trap 'rm -rf "$scratch"' EXIT
events=$scratch/events

# race_until LOST SECONDS PATTERN… [OPTION…]: races of 4 people with queries of these SECONDS, until
# so many requests are lost, a number for each pattern. A busy machine may be too slow for a short
# query: the people who should ask during it are too late.
race_until() {
	local lost=$1 lengths=$2
	shift 2
	for seconds in $lengths; do
		rm -f "$events"
		race_figures "$@" --shells 4 --query-seconds "$seconds" --events "$events"
		[ "$(jq -sr 'map(.violations | tostring) | join(" ")' "$figures")" != "$lost" ] ||
			return 0
	done
}

# told TEXT: how many users were told that.
told() {
	grep -Fc "	error	$1" "$events"
}

race_until '1 3 3 1 3' '0.2 1 5' seeds seeds:repeatable-read seeds:reads-early \
	seeds:two-connections seeds:foreign-key
for pattern in seeds seeds:two-connections; do
	is "$(of "$pattern" heavy_queries served violations given_twice)" '1 3 1 0' \
		"$pattern: one query for all, and the request that comes before the COMMIT is lost"
done
for pattern in seeds:repeatable-read seeds:reads-early; do
	is "$(of "$pattern" heavy_queries served violations given_twice)" '1 1 3 0' \
		"$pattern: the 2 requests that come during the query are lost, too"
done
is "$(told 'no answer, and the request is still pending')" 8 'their owners give up'
is "$(of seeds:foreign-key heavy_queries served violations errors) $(told 'Lock wait timeout')" \
	'1 1 3 3 3' 'seeds:foreign-key: 3 requests are not even recorded, error 1205'
is "$(of seeds violation)" 'requests lost or loans given twice' 'what is counted'
version=$(sql 'SELECT @@version')
is "$(of seeds isolation server_version)" "READ COMMITTED $version" \
	'seeds: its isolation level, and the server'
is "$(of seeds:reads-early isolation)" 'READ COMMITTED' 'seeds:reads-early: the same level'
is "$(of seeds:repeatable-read isolation server_version)" "REPEATABLE READ $version" \
	'seeds:repeatable-read: another level'

# lockq's people come before, during and after a query.
race_until 0 0.2 lockq --gap 0.1
is "$(of lockq served unserved errors empty violations)" '4 0 0 0 0' \
	'lockq: all are served, whenever they come'

# The leader is killed in the middle of its query.
race_until '3 0' '0.2 0.6 4' seeds seeds:two-connections --kill
is "$(of seeds heavy_queries served killed violations)" '1 0 1 3' \
	'seeds: the leader is killed, nobody leads after it, and all requests are lost'
ms=$(awk -F '\t' '$3 == "killed" { killed = $1 } $3 == "leads" { ms = $1 - killed }
	END { print ms }' "$events")
is "$(of seeds:two-connections heavy_queries served killed violations given_twice)" '2 3 1 0 0' \
	"seeds:two-connections: the next person leads $ms ms later, and all are served"
finish
