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

finish
