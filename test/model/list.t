#!/usr/bin/env bash
# Searches all states of the model of the kept list, test/model/list.pml: in whatever order callers,
# a refill and what happens beside them come, no property may fail. Then each guard is taken out,
# and the property that it protects must fail. If another guard masks the first, nothing may fail.
# A row without: begins as the guard does in test/guards/*.guards.
# With an argument, only the rows of the table run that have it in their name.
#   LOCKQ_MODEL=all  the longest searches, too
set -u

# shellcheck source=test/model/search.sh
. "$(dirname "$0")/search.sh"

model=$top/test/model/list.pml

# The order of the processes in which the mutants' errors are found soonest.
optimise()
{
	case "$*" in
	*DUE_BEFORE*) echo -O0 -DREVERSE ;;
	breaks*) echo -O0 -DREVERSE -DT_REVERSE ;;
	*REFILLS=0*) echo -O0 ;;
	*) echo -O1 ;;
	esac
}

table()
{
	cat <<'END'
holds | safety | two callers and a refill
	-DROUNDS=1
holds | long-safety | two callers and a refill, three rounds
	-DROUNDS=3
holds | long-safety | three callers
	-DCALLERS=3 -DREFILLS=0 -DROUNDS=1
holds | long-safety | one does not wait
	-DNO_WAITS=1 -DROUNDS=1
holds | safety | one of two callers is killed, or does not wait, and a pop has a deadlock
	-DREFILLS=0 -DCRASHES=1 -DNO_WAITS=1 -DDEADLOCKS=1
holds | safety | one of two callers is stopped, one is slow
	-DREFILLS=0 -DSTOPS=1 -DSECONDS=1
holds | safety | a user's two calls, and a cap of one loan
	-DREFILLS=0 -DCAP=1 -DDEADLOCKS=1 -DDISPOSALS=1
holds | safety | loans come back, stop to match, and are touched
	-DREFILLS=0 -DDISPOSALS=1 -DCHANGES=1 -DTOUCHES=1
holds | safety | a list gets old, one wants two loans
	-DREFILLS=0 -DENDS=1 -DBIG=0 -DLOANS=3
holds | long-safety | one is killed, a refill perhaps
	-DROUNDS=1 -DCRASHES=1
holds | long-safety | one is stopped, a refill perhaps
	-DROUNDS=1 -DSTOPS=1
holds | long-safety | a list gets old beside a refill, one does not wait
	-DNO_WAITS=1 -DENDS=1 -DOLD=1 -DLISTED=1 -DROUNDS=1
holds | long-safety | loans are touched beside a refill
	-DROUNDS=1 -DTOUCHES=1
holds | long-safety | loans come back beside a refill
	-DROUNDS=1 -DDISPOSALS=1
holds | safety | the task is paused, one of two callers does not wait
	-DREFILLS=0 -DPAUSES=1 -DNO_WAITS=1
holds | safety | one whose cap is full completes and takes, or is killed, the task is paused
	-DREFILLS=0 -DCOMPLETES=1 -DCRASHES=1 -DCAP=1 -DPAUSES=1
holds | long-safety | one completes a loan and takes in one commit, or is killed
	-DREFILLS=0 -DCOMPLETES=1 -DCRASHES=1 -DCAP=2 -DDEADLOCKS=1
holds | safety | one stands still as it completes and takes
	-DREFILLS=0 -DCOMPLETES=1 -DSTANDS=1
holds | long-safety | one stands still as it completes and takes, beside a refill
	-DCOMPLETES=1 -DSTANDS=1 -DROUNDS=1
breaks | not_shown | without: a kept loan that the view does not show any more is not taken
	-DNO_CHECK -DCHANGES=1 -DREFILLS=0
breaks | not_shown | without: after a long query the view is asked again about the loans
	-DNO_SECOND_CHECK -DCHANGES=1 -DREFILLS=0
breaks | check_too_old | without: the pop refuses a check that is older than a second
	-DOLD_CHECK -DSECONDS=1 -DREFILLS=0
breaks | list_not_used | without: nobody takes from a list that has been replaced
	-DLIST_READ_BEFORE -DROUNDS=1
breaks | loan_held_twice | without: loans are never written by an upsert
	-DUPSERT -DROUNDS=1 -DOLD=1
breaks | loan_held_twice | without: a taker passes over rows of work that somebody holds
	-DWORK_UNLOCKED -DROUNDS=1
masked | safety | a taker does not lock tickets, but rows of work
	-DTICKETS_UNLOCKED -DREFILLS=0
breaks | row_given_twice | without: a taker holds the loans that it gives
	-DTICKETS_UNLOCKED -DWORK_UNLOCKED -DREFILLS=0
masked | safety | without: whoever gives a loan of the kept list holds its row there, leaders too
	-DNO_TICKETS -DREFILLS=0 -DDEADLOCKS=1
breaks | answered_twice | without: a taker holds the request that it serves
	-DLINE_UNLOCKED -DNO_WAITS=1 -DLOANS=3 -DROUNDS=1
breaks | cap_exceeded | without: a taker counts a user's loans under lock
	-DTAKER_COUNTS_UNLOCKED -DCAP=1 -DREFILLS=0
breaks | cap_exceeded | without: a leader counts a user's loans under lock
	-DLEADER_COUNTS_UNLOCKED -DCAP=1 -DDEADLOCKS=1 -DREFILLS=0
breaks | token_not_above | without: the token of a taken loan is above every earlier one
	-DTOKEN_IS_EPOCH -DDISPOSALS=1 -DTOUCHES=1 -DREFILLS=0
breaks | list_aborted | without: a list is written in the lock's transaction
	-DLIST_AUTOCOMMITTED -DCRASHES=1 -DROUNDS=1
masked | safety | a woken leader writes, but list_begins() refuses
	-DWRITE_AFTER_LOSS -DSTOPS=1 -DREFILLS=0
breaks | list_of_no_leader | without: a list is left by whoever leads
	-DWRITE_AFTER_LOSS -DUNCHECKED_LEADER -DSTOPS=1 -DREFILLS=0
breaks | query_for_nothing | without: whether a list is due is looked at again under the lock
	-DDUE_BEFORE -DROUNDS=2
breaks | query_for_nothing | without: a leader begins with the list that others have left
	-DQUERY_FIRST -DREFILLS=0
breaks | no_work_not_known | without: where the list is used up, a query tells whether there is work
	-DLIST_SAYS_EMPTY -DREFILLS=0 -DDISPOSALS=1 -DBIG=0
breaks | left_over | without: whoever takes serves the line
	-DNO_LINE -DNO_WAITS=1 -DROUNDS=1 -DCRASHES=1
breaks | left_over | without: the request of somebody who does not wait is tried again
	-DLINE_ENDS -DNO_WAITS=1 -DENDS=1 -DOLD=1 -DLISTED=1 -DROUNDS=1
breaks | left_over | without: a process that finds a list under the lock serves the line
	-DLEAVES_LINE -DNO_WAITS=1 -DROUNDS=1
masked | long-safety | without: nobody takes from the list of a task that is paused
	-DPAUSE_UNSEEN_BY_PEEK -DPAUSES=1 -DREFILLS=0
breaks | given_while_paused | without: a pop gives no loan of a task that was paused after the peek
	-DPAUSE_UNSEEN_BY_POP -DPAUSES=1 -DREFILLS=0
breaks | query_for_nothing | without: what was refused for a pause is taken from the list after it
	-DTRIED_STAYS -DPAUSES=1 -DREFILLS=0
breaks | half_done | without: where the list serves, a disposition and the loans after it are one
	-DCOMPLETES_APART -DCOMPLETES=1 -DCRASHES=1 -DREFILLS=0
breaks | undone | without: a list that can't serve at the pop leaves the disposition committed
	-DPOP_ROLLS_BACK -DCOMPLETES=1 -DREFILLS=0
breaks | waits_for_it | the transaction goes on after the pop
	-DPOP_IS_NOT_LAST -DCOMPLETES=1 -DSTANDS=1 -DREFILLS=0
breaks | touch_lost | without: a touched loan is put before the next list, too
	-DTOUCH_ONCE -DTOUCHES=1 -DROUNDS=1
END
}

search_rows "$model" "$@"

report_guards
finish
