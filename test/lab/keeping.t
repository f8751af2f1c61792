#!/usr/bin/env bash
# The lab's patterns that keep a promise over a longer time: reservations, work, repeated requests,
# events, two databases.
set -u
# shellcheck source=test/lab/common.sh
. "$(dirname "$0")/common.sh"

task=206

# Each start of scripts/race takes a while, so all races run in two of them, in this order.
right=(reserve longwork idempotent outbox saga)
wrong=(reserve:unchecked longwork:locked idempotent:no-key outbox:before outbox:after saga:hope)
race_figures "${right[@]}" "${wrong[@]}" --shells 4 --count 1 --query-seconds 0.1 \
	--events "$scratch/events"

# events_of PATTERN: the events of the race of a pattern that is right.
events_of() {
	awk -F '\t' -v wanted="$1" -v order="${right[*]}" '
		BEGIN { split(order, pattern, " "); race = 1 }
		pattern[race] == wanted { print }
		$3 == "judged" { race++ }' "$scratch/events"
}

for pattern in "${right[@]}"; do
	is "$(of "$pattern" violations verdict)" '0 safe' "$pattern keeps its promise"
done
for pattern in "${wrong[@]}"; do
	is "$(of "$pattern" verdict) $(of "$pattern" . | jq '.violations > 0')" 'unsafe true' \
		"$pattern breaks its promise: $(of "$pattern" violations violation)"
done

# --- reserve ------------------------------------------------------------------------------------

is "$(of reserve:unchecked violation served errors)" 'loans confirmed for somebody else 4 0' \
	'reserve:unchecked: everybody is told that a loan is theirs'
# On a busy machine the others may be too late, too.
is "$(of reserve . | jq '.errors >= 2 and .served + .errors == 4 and .served == .given')" true \
	"reserve: the slow half of the people is told that it is too late: $(of reserve errors)"

# --- longwork -----------------------------------------------------------------------------------

is "$(of longwork:locked violation violations given given_twice errors)" \
	'changes held up, or loans done twice 1 4 0 0' \
	'longwork:locked: no loan is done twice, but the manager is held up'
is "$(of longwork given errors)" '4 0' 'longwork: all loans are done'

# --- idempotent ---------------------------------------------------------------------------------

is "$(of idempotent:no-key violation violations served errors)" \
	'requests carried out twice 4 4 0' \
	'idempotent:no-key: the request of everybody is carried out twice'
is "$(of idempotent given given_twice errors)" '4 0 0' \
	'idempotent: the second request gets the answer of the first'

# What the events say of each user, in the order of time: "asks" is the second request.
sends() {
	events_of idempotent | sort -s -n -k 1,1 | awk -F '\t' '
		$3 == "notes" { split($4, word, " "); said[$2] = said[$2] word[1] " " }
		END { for (user in said) print said[user] }' | sort -u | tr '\n' ,
}
is "$(sends)" 'asks does ,does asks ,' \
	'idempotent: requests are repeated during the first one, and after its answer was lost'

# --- outbox -------------------------------------------------------------------------------------

for pattern in outbox:before outbox:after; do
	is "$(of "$pattern" violation violations served killed)" 'events lost or untrue 1 3 1' \
		"$pattern: one process dies, and one event is lost or untrue"
done
is "$(of outbox served killed)" '3 1' 'outbox: one process dies'
published=$(events_of outbox | sed -nE 's/.* is completed, event ([0-9]+)$/\1/p' | sort)
is "$(uniq <<<"$published" | wc -l) $(uniq -d <<<"$published" | wc -l)" '3 3' \
	'outbox: a publisher dies, and its 3 events are published twice, with the same keys'

# --- saga ---------------------------------------------------------------------------------------

is "$(of saga:hope violation violations served errors killed)" 'half-done loans 2 2 1 1' \
	'saga:hope: one booking is refused, one process dies, and both loans are half done'
is "$(of saga served errors killed)" '2 1 1' 'saga: the same happens, and no loan is half done'
is "$(events_of saga | cut -f 2- | grep -E '^\(later\)|refused' | tr '\t' ' ' | cut -d ' ' -f 2-)" \
	"error the booking was refused: the loan is free
notes goes on with loan 4" 'saga: the one is undone, and somebody goes on with the other'

# --- a process that is killed or stopped --------------------------------------------------------

race_figures longwork:locked reserve idempotent outbox saga --kill --shells 4 --count 1 \
	--query-seconds 0.1
for pattern in reserve idempotent outbox saga; do
	is "$(of "$pattern" violations)" 0 "$pattern keeps its promise when somebody is killed"
done
is "$(of longwork:locked given given_twice)" '4 0' \
	'longwork:locked: somebody else does the loan of the killed process'
for ((i = 0; i < 5; i++)); do
	[ "$(of reserve given)" != 2 ] || break
	race_figures reserve --kill --shells 4 --query-seconds 0.1
done
is "$(of reserve given)" 2 'reserve: somebody else gets the loan of the killed process'

# The claim runs out during this sleep, if a busy machine lets the others come in time.
for pause in 1.5 5 20; do
	race_figures longwork --pause=$pause --shells 3 --count 1 --query-seconds 0.1
	[ "$(of longwork retries)" = 0 ] || break
done
is "$(of longwork . | jq '.violations == 0 and .given == 3 and .retries > 0')" true \
	'longwork: a process that was asleep for longer than its claim does not finish the loan'
is "$(of longwork . | jq '.first_ms >= 1200')" true \
	"longwork: somebody else has done it when the claim had run out: $(of longwork first_ms) ms"
finish
