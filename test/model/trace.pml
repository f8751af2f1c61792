/* SPDX-License-Identifier: MIT */
/*
 * Lets lockq.pml take only the way of a run that was recorded from the real programs. Each step of
 * the model that a record can show waits until the next line of the trace tells of it, with the
 * same values. The other steps stay free: looks, locks, waits. The run is a path of the model if
 * some path comes to the end of the trace.
 */

#include "rows.pml"

/* leader_run.how */
#define BY_QUERY     0
#define BY_HAND_OVER 1
#define BY_FAILURE   2

/* What else may have happened in the run. */
byte lease, signals, disposers;

inline read_trace()
{
	read_run();
	c_code {
		now.lease = run_of_trace.lease;
		now.signals = run_of_trace.signals;
		now.disposers = run_of_trace.disposers;
		now.failures = run_of_trace.failures;
		now.stuck = run_of_trace.stuck;
	}
	/* The view shows the loans of the run only. */
	for (l : 0 .. LOANS - 1) {
		if
		:: has(loans, l) -> skip
		:: else -> state[l] = COMPLETED
		fi
	}
	ended = ALL & ~members;
	run reader()
}

#define run_begins read_trace()
#define may_ask (event == ASKED && line_who == me)
/* The administrator who makes it old takes the task's lock for that, and the request's. */
#define can_age(r) (comes(NEGLECTED, r) && lock_by == NOBODY && request_lock[r] == NOBODY)
/* A process that has the lock, and is the first to lead since its look, commits, unless a fault
 * keeps it from that. So no other one needs to try, which saves most of the states. */
#define leads_next (next_leader == ME || stuck > 0 || \
	has(kills | losses | signals | deadlocked, me))
#define may_try (leads_next || (again -> my_epoch : saw_epoch) != epoch)
#define ends_loan(l) (event == DISPOSED && line_who == me && line_loan == l && \
	line_version[l] == version[l] + 1)
#define ends_as(new) (line_state == new)

#define ends_so(r) (line_ends[r] == ends[r])
#define gives_so(l) (line_give[l] == give[l] && (give[l] == 0 || \
	line_version[l] == version[l] + 1 + (state[l] == ASSIGNED)))
#define how_it_leads (handing -> BY_HAND_OVER : (failing -> BY_FAILURE : BY_QUERY))
#define commit_comes (event == COMMITTED && line_who == me && line_epoch == my_epoch && \
	line_how == how_it_leads && of_all_requests(ends_so) && \
	of_all_loans(gives_so))

#define told_so(l) ((line_give[l] == line_who + 1) == has(got[line_who], l))

/* A program has ended at some time before the line that says so. */
proctype reader()
{
	do
	:: atomic {
		event == ANSWERED && has(told, line_who) &&
		    outcome[line_who] == line_ends[line_who] && of_all_loans(told_so) ->
		goes_by
	}
	:: atomic {
		event == PUT_OFF && has(ended, line_who) && !has(told, line_who) -> goes_by
	}
	:: atomic { event == KILLED && has(ended, line_who) -> goes_by }
	od
}
