#!/usr/bin/env bash
# Each claim of the lab's ways to take a loan by a key, by a list and by a flag on its record.
set -u
# shellcheck source=test/lab/common.sh
. "$(dirname "$0")/common.sh"
# These races need no task and no users of their own.
trap 'rm -rf "$scratch"' EXIT

# --- a key over both columns --------------------------------------------------------------------

race_figures unique:both unique --shells 4 --query-seconds 0.1
is "$(of unique:both . | jq '.given_twice > 0 and .violations == .given_twice')" true \
	"unique:both: loans are given twice: $(of unique:both given_twice)"
is "$(of unique:both heavy_queries given served errors retries)" '4 12 4 0 0' \
	'unique:both: no INSERT fails, and everybody is served'
is "$(of unique given_twice given served errors)" '0 12 4 0' \
	'unique: with the key on the loan alone nothing is given twice'

# --- a list until a timer -----------------------------------------------------------------------

# A busy machine may need the whole gap for the first query. Then the list is new when the second
# user asks, and the race runs again with a longer gap.
for gap in 0.3 1.5 6; do
	race_figures onemachine --ttl 0.01 --gap "$gap" --shells 2 --query-seconds 0.1
	[ "$(of onemachine heavy_queries)" != 2 ] || break
done
is "$(of onemachine heavy_queries given_twice given served)" '2 0 6 2' \
	'onemachine: the timer is shorter than the gap: the query runs for each of 2 people'
race_figures onemachine --ttl 600 --gap "$gap" --shells 2 --query-seconds 0.1
is "$(of onemachine heavy_queries given_twice given served)" '1 0 6 2' \
	'onemachine: the timer is longer than the gap: the query runs once'
finish
