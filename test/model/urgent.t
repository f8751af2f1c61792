#!/usr/bin/env bash
# Searches all states of the model of urgent loans, test/model/urgent.pml: whenever they become
# urgent, they come first, are not lost, and come first only once. Then each guard is taken out, and
# the property that it protects must fail. If another guard masks the first, nothing may fail.
# A row without: begins as the guard does in test/guards/*.guards.
# With an argument, only the rows of the table run that have it in their name.
#   LOCKQ_MODEL=all  the longest searches, too
set -u

# shellcheck source=test/model/search.sh
. "$(dirname "$0")/search.sh"

model=$top/test/model/urgent.pml

table()
{
	cat <<'END'
holds | safety | the list is cut short, a loan becomes urgent, one comes back
	-DLIMIT=1 -DRETURNS=1
holds | long-safety | the list is whole, a loan becomes urgent, one comes back
	-DRETURNS=1
holds | safety | a loan is touched
	-DURGENT=0 -DTOUCHES=1 -DLIMIT=1
holds | long-safety | an urgent loan, one that is touched
	-DTOUCHES=1
holds | long-safety | two urgent loans, one comes back
	-DURGENT=2 -DRETURNS=1
holds | long-safety | the list is cut short, two urgent loans of three
	-DURGENT=2 -DLOANS=3 -DLIMIT=1
breaks | passed_over | without: a leader gives urgent loans first, in the order of the view
	-DLEADER_IN_TURN
breaks | passed_over | without: an urgent loan that LIMIT has cut off is given, too
	-DLEADER_ADDS_NONE -DLIMIT=1
breaks | urgent_again | without: an urgent loan that was given comes in its turn afterwards
	-DENDS_WITH_ROW -DRETURNS=1
breaks | passed_over | without: urgent loans come before the others that were touched
	-DURGENT_IN_TURN -DTOUCHES=1 -DLEADS=0
breaks | passed_over | without: each new list has an urgent loan first, until it was given
	-DPUT_ONCE
breaks | urgent_lost | without: an urgent loan waits until it was given, and not until a later query
	-DENDS_LIKE_TOUCHED -DLIMIT=1
breaks | urgent_again | without: a loan is taken only while its row of work is as the query saw it
	-DANY_VERSION -DRETURNS=1
masked | long-safety | without: a touched loan that somebody is giving is not put into the list once
	-DHELD_TICKET_PUT -DLEADS=0
breaks | loan_held_twice | it is put once more, and a taker passes over no locked rows of work
	-DHELD_TICKET_PUT -DWORK_UNLOCKED -DLEADS=0
END
}

search_rows "$model" "$@"
report_guards
finish
