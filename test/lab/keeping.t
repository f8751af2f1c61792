#!/usr/bin/env bash
# The lab's patterns that keep a promise over a longer time: reservations, work, repeated requests,
# events, two databases.
set -u
# shellcheck source=test/lab/common.sh
. "$(dirname "$0")/common.sh"

task=206

# --- reserve ------------------------------------------------------------------------------------

race_figures reserve:unchecked reserve --rounds 2 --query-seconds 0.1
is "$(of reserve:unchecked by_round | jq -c 'map(.violations > 0)') $(
	of reserve:unchecked violation served errors)" \
	'[true,true] loans confirmed for two people 16 0' \
	'reserve:unchecked: everybody is told that the loan is theirs, in each race'
is "$(of reserve violations served errors)" '0 8 8' \
	'reserve: the slow half is told that it is too late, and no loan is confirmed twice'
race_figures reserve --kill --shells 4 --query-seconds 0.1
is "$(of reserve violations served errors killed)" '0 2 1 1' \
	'reserve: one is killed with a reservation, and the loan goes to somebody else'

# --- longwork -----------------------------------------------------------------------------------

race_figures longwork:locked longwork --shells 4 --count 1 --query-seconds 0.1
is "$(of longwork:locked violations violation given given_twice errors)" \
	'1 changes held up, or loans done twice 4 0 0' \
	'longwork:locked: no loan is done twice, but the manager is held up'
is "$(of longwork violations given errors)" '0 4 0' \
	'longwork: no loan is done twice, and the manager is not held up'
race_figures longwork:locked longwork --kill --shells 3 --count 1 --query-seconds 0.1
for pattern in longwork:locked longwork; do
	is "$(of "$pattern" given given_twice killed)" '3 0 1' \
		"$pattern: one is killed, and somebody else does that loan"
done
# The claim of the dead process has to run out.
is "$(of longwork . | jq '.last_ms >= 1200')" true \
	"longwork: that loan is free after 1.2 s: the end came after $(of longwork last_ms) ms"

# --- idempotent ---------------------------------------------------------------------------------

race_figures idempotent:no-key idempotent --shells 4 --query-seconds 0.1 \
	--events "$scratch/events"
is "$(of idempotent:no-key violations violation served errors)" \
	'4 requests carried out twice 4 0' \
	'idempotent:no-key: the request of everybody is carried out twice'
is "$(of idempotent violations given given_twice errors)" '0 12 0 0' \
	'idempotent: the second request gets the answer of the first'

# --- outbox -------------------------------------------------------------------------------------

race_figures outbox:before outbox:after outbox --shells 4 --query-seconds 0.1 \
	--events "$scratch/events"
for pattern in outbox:before outbox:after; do
	is "$(of "$pattern" violations violation served killed)" '1 events lost or untrue 3 1' \
		"$pattern: one process dies, and one event is lost or untrue"
done
is "$(of outbox violations served killed)" '0 3 1' \
	'outbox: one process dies, and no event is lost or untrue'
published=$(sed -nE 's/.* is completed, event ([0-9]+)$/\1/p' "$scratch/events" | sort)
is "$(uniq <<<"$published" | wc -l) $(uniq -d <<<"$published" | wc -l)" '3 3' \
	'outbox: a publisher dies, and its 3 events are published twice, with the same keys'
race_figures outbox --kill --shells 4 --query-seconds 0.1
is "$(of outbox violations) $(of outbox . | jq '.served + .killed == 4 and .killed > 0')" '0 true' \
	'outbox: a second process is killed, and no event is lost or untrue'

finish
