#!/usr/bin/env bash
# Searches all states of the model, test/model/lockq.pml. No property may fail, in whatever order
# the statements come, and with each kind of fault. Then each guard is taken out, and the property
# that it protects must fail. If another guard masks the first, nothing may fail until both are out.
# The counterexample is a schedule in test/model/schedules, which test/db/getwork/test_schedule.c
# makes the library follow. A guard of test/guards that has this test is the row's guard in the
# library.
# With an argument, only the rows of the table run that have it in their name. With --record before
# it, the schedules of these rows are written.
#   LOCKQ_MODEL=all  the searches of the mode long, too, which take most of the time
set -u

# shellcheck source=test/model/search.sh
. "$(dirname "$0")/search.sh"

model=$top/test/model/lockq.pml
# shellcheck disable=SC2034 # search.sh uses it
schedules=$top/test/model/schedules

# These searches are so long that -Og saves more time than gcc needs for it, as are most of those
# that only LOCKQ_MODEL=all has.
optimise()
{
	case "${LOCKQ_MODEL-} $*" in
	all* | *LEASES* | *LAST_TRY_IS_LAST* | *CANCELS=2* | *EXPIRIES*) echo -Og ;;
	*) echo -O0 ;;
	esac
}

# In make check a search with two requesters stands in for one of the mode long.
table()
{
	cat <<'END'
holds | safety live | three requesters, two loans
	-DCRASHES=0
holds | safety live | one who does not wait, a loan for each
	-DNO_WAITS=1 -DLOANS=3
holds | safety long | two who do not wait
	-DNO_WAITS=2
holds | safety live | two are killed
	-DCRASHES=2
holds | safety live | one is killed, its request expires
	-DCRASHES=1 -DEXPIRIES=1
holds | safety | one is killed, one does not wait, requests expire
	-DCRASHES=1 -DNO_WAITS=1 -DEXPIRIES=1
holds | safety long | two are stopped, or lose their connection
	-DSTOPS=2
holds | safety long | one is stopped for longer than request_ttl
	-DSTOPS=1 -DEXPIRIES=1
holds | safety long | one is killed, one is stopped
	-DCRASHES=1 -DSTOPS=1
holds | safety long | two cancel, one does not wait
	-DCANCELS=2 -DNO_WAITS=1
holds | safety live | the list is cut short, one is killed
	-DLIMIT=1 -DCRASHES=1
holds | safety live | the list is cut short, one wants two loans
	-DLIMIT=1 -DBIG=0
holds | safety live | one wants two loans and gets one
	-DBIG=1
holds | safety long | two deadlocks
	-DDEADLOCKS=2
holds | safety long | a query fails, another one has a deadlock
	-DFAILURES=1 -DDEADLOCKS=1
holds | long-safety long | one polls, task_wake is held
	-DPOLLS=1 -DSTUCK=1
holds | live | two requesters who do not wait
	-DNO_WAITS=2 -DREQUESTERS=2
holds | live | two requesters, two deadlocks
	-DDEADLOCKS=2 -DREQUESTERS=2
holds | live | two requesters, a query fails, another one has a deadlock
	-DFAILURES=1 -DDEADLOCKS=1 -DREQUESTERS=2
holds | live | two requesters are stopped, or lose their connection
	-DSTOPS=2 -DREQUESTERS=2
holds | live | two requesters, two cancel, one does not wait
	-DCANCELS=2 -DNO_WAITS=1 -DREQUESTERS=2
holds | safety live | two requesters, one polls, task_wake is held
	-DPOLLS=1 -DSTUCK=1 -DREQUESTERS=2
holds | live | two requesters, one is killed, one is stopped
	-DCRASHES=1 -DSTOPS=1 -DREQUESTERS=2
holds | live | two requesters, one is stopped for longer than request_ttl
	-DSTOPS=1 -DEXPIRIES=1 -DREQUESTERS=2
holds | safety live | loans come back, or are completed
	-DDISPOSALS=2
holds | safety live | a manager pauses the task, one does not wait, two requesters
	-DPAUSES=1 -DNO_WAITS=1 -DREQUESTERS=2
holds | long-safety long | a manager pauses the task twice, one is stopped, two requesters
	-DPAUSES=2 -DSTOPS=1 -DNO_WAITS=1 -DREQUESTERS=2
holds | long-safety long | a manager pauses the task, one does not wait
	-DPAUSES=1 -DNO_WAITS=1
holds | safety | a lease runs out, its user and others change the row
	-DLEASES=1
holds | live | the same, two requesters
	-DLEASES=1 -DREQUESTERS=2
breaks | answered | no take-over, one is killed
	-DNO_TAKEOVER -DCRASHES=1
breaks | answered | no take-over, one is stopped
	-DNO_TAKEOVER -DSTOPS=1
breaks | left_over | no look after the commit
	-DNO_HANDOVER -DNO_WAITS=1 -DLOANS=3
breaks | left_over | no tries for a request that came during the last one
	-DHAND_OVER_TRIES=4 -DLAST_TRY_IS_LAST -DCANCELS=2 -DNO_WAITS=1
masked | safety live | requests read before the query, but once more before the commit
	-DEARLY_REQUESTS
masked | safety live | one look at the line only, after the query
	-DONE_LOOK
breaks | left_out | requests read before the query, and not again
	-DEARLY_REQUESTS -DONE_LOOK
masked | safety live | requests read without a lock, but written where pending
	-DUNLOCKED_REQUESTS -DCANCELS=1
masked | safety | requests written whatever they are, but read with a lock
	-DUNCHECKED_REQUESTS -DCANCELS=1
breaks | answered_twice | requests read without a lock, and written whatever they are
	-DUNLOCKED_REQUESTS -DUNCHECKED_REQUESTS -DCANCELS=1
breaks | answered_twice | expired by the clock alone
	-DCLOCK_EXPIRY -DSTOPS=1 -DEXPIRIES=1
masked | safety live | followers wait on the row of task_lock, but a leader shows a holder
	-DSHARED_TRY_ROW -DNO_WAITS=1 -DLOANS=3
breaks | left_over | followers wait on the row of task_lock, a locked row is a leader
	-DSHARED_TRY_ROW -DBUSY_AT_ONCE -DNO_WAITS=1 -DLOANS=3
breaks | left_over | a locked row is a leader
	-DBUSY_AT_ONCE -DNO_WAITS=1 -DLOANS=3
breaks | left_over | the holder is not cleared
	-DHOLDER_STAYS -DNO_WAITS=1 -DLOANS=3
masked | safety | no check of the versions, but rows written as planned
	-DNO_VERSION_CHECK -DLEASES=1
masked | safety | rows overwritten, but versions checked under lock
	-DUPSERT -DLEASES=1
breaks | loan_given_twice | no check of the versions, rows overwritten
	-DNO_VERSION_CHECK -DUPSERT -DLEASES=1
masked | safety live | handed over after somebody led, but versions checked
	-DNO_EPOCH_CHECK -DDISPOSALS=1
masked | safety | handed over after somebody led, but rows written as planned
	-DNO_EPOCH_CHECK -DNO_VERSION_CHECK -DDISPOSALS=1
masked | safety | no check, rows overwritten, but not after somebody led
	-DNO_VERSION_CHECK -DUPSERT -DDISPOSALS=1
breaks | loan_given_twice | handed over after somebody led, no check, rows overwritten
	-DNO_EPOCH_CHECK -DNO_VERSION_CHECK -DUPSERT -DDISPOSALS=1
masked | safety | a woken leader writes, but has no holder to clear
	-DWRITE_AFTER_LOSS -DSTOPS=1 -DREQUESTERS=2
masked | safety | a woken leader writes, leader_run takes an epoch twice
	-DWRITE_AFTER_LOSS -DUNCHECKED_RUN -DSTOPS=1 -DREQUESTERS=2
breaks | led_for_nothing | a woken leader writes, its holder is not counted
	-DWRITE_AFTER_LOSS -DUNCHECKED_CLEAR -DSTOPS=1
breaks | two_leaders | a woken leader writes, nothing is counted
	-DWRITE_AFTER_LOSS -DUNCHECKED_CLEAR -DUNCHECKED_RUN -DSTOPS=1
breaks | led_for_nothing | no own look before leading
	-DNO_OWN_LOOK
breaks | led_while_paused | nobody sees that the task is paused
	-DPAUSE_UNSEEN -DPAUSES=1 -DREQUESTERS=2
breaks | led_while_paused | a process that tries the lock again does not see that the task is paused
	-DPAUSE_SEEN_ONCE -DPAUSES=1 -DLIMIT=1 -DREQUESTERS=2
breaks | led_while_paused | no own look before leading a task that is paused meanwhile
	-DNO_OWN_LOOK -DPAUSES=1 -DREQUESTERS=2
breaks | left_over | a leader hands nothing over while the task is paused
	-DPAUSE_ENDS_HANDOVER -DPAUSES=1 -DNO_WAITS=1 -DLOANS=3 -DREQUESTERS=2
breaks | answered | a process that finds the task paused waits for a leader
	-DPAUSE_WAITS_FOR_LEADER -DPAUSES=1 -DREQUESTERS=2
breaks | no_work_not_known | "no work" from a list that was cut short
	-DEMPTY_WHEN_CUT -DLIMIT=1
breaks | no_work_not_known | "no work" although candidates were dropped
	-DEMPTY_WHEN_DROPPED -DLEASES=1
breaks | no_work_not_known | "no work" from a hand-over
	-DHAND_OVER_SAYS_EMPTY -DLEASES=1
breaks | answer_untrue | cancelled although it was served
	-DCANCEL_OVERWRITES -DCANCELS=1
END
}

search_rows "$model" "$@"
report_schedules

# README.md names what the model has.
if [ -z "$only" ]; then
	page=$top/test/model/README.md
	{
		table | grep -o '\-D[A-Z_]*' | sed 's/^-D//' | sort -u | while read -r name; do
			grep -q "^#define $name " "$model" || grep -q "\`$name\`" "$page" ||
				echo "$name"
		done
		sed -n 's/^#define \([a-z_]*\)_n  *[0-9]*$/\1/p' "$model" | while read -r name; do
			grep -q "^- \`$name\`: " "$page" || echo "$name"
		done
		sed -n 's/^- \([A-Z_ ,`]*\): .*/\1/p' "$page" | tr -d ' `' | tr , '\n' |
			while read -r name; do
				grep -q "def $name\b\|defined($name)" "$model" || echo "$name"
			done
		grep '^| [0-9]' "$page" | grep -Eo '[a-z_]+\(\)' | tr -d '()' |
			while read -r name; do
				grep -rq "^$name(" "$top/lib" || echo "$name"
			done
	} >"$scratch/names"
	[ ! -s "$scratch/names" ]
	ok $? 'README.md has the guards, the properties and the functions'
	sed 's/^/#   /' "$scratch/names"
fi
finish
