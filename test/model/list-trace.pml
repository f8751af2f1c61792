/* SPDX-License-Identifier: MIT */
/*
 * Lets list.pml take only the way of a run that was recorded from the real programs, as trace.pml
 * does for lockq.pml. Each COMMIT waits for its line: of a request, of a take, of a round with the
 * list that it writes, of a pop that only deletes rows of the list, and of what happens beside
 * these. Peeks, checks, locks, tries and waits stay free.
 *
 * The model lacks some of what a real process may do, and a record does not show it. With -DTRACE
 * that is free, too:
 *   - a process whose connection is lost begins again, or serves the line no further
 *   - so does one that has met a time limit of the library. Only a process that lasted for 250 ms
 *     can have found the view too slow, and only one that lasted for a second can have met another
 *     limit: the trace calls these slow and late
 *   - a call tries several times to take
 *   - a follower looks at the list also while somebody leads, and so does a process whose round has
 *     ended no request
 *   - after a take a process looks for the line, whoever has asked by then. It may find that nobody
 *     leads while a leader is at its COMMIT
 *   - a leader looks twice at the pending requests, and asks the view again only after a query of a
 *     second
 *   - tickets are locked one by one, those of loans that must not be given last, and a pop inserts
 *     rows of work before its COMMIT
 */

#define WITH_LISTS
#include "rows.pml"

/* How a call waits. Trace.pm has the same numbers. */
#define BLOCKING 0
#define NO_WAIT  2

byte has_list, returned;                /* at the start */
byte slow, late;                        /* sets of processes */
byte most_fails;                        /* steps of a process that may fail */
bool by_rows;                           /* rows are locked one by one */
byte told;                              /* those that were told how their request ended, a set */
byte ended_as[CALLERS], got[CALLERS];   /* as the lines say it: outcomes, and sets of loans */

inline read_trace()
{
	read_run();
	c_code {
		now.has_list = run_of_trace.listed;
		now.returned = run_of_trace.returned;
		now.most_fails = run_of_trace.fails;
		now.by_rows = run_of_trace.by_rows;
		now.slow = run_of_trace.fails > 0 ? run_of_trace.slow : 0;
		now.late = run_of_trace.late;
	}
	/* The view shows the loans of the run only. */
	shown = loans;
	ended = ALL & ~members;
	run reader()
}

#define run_begins read_trace()
#define first_epoch has_list
#define may_have_list (has_list == 1)
#define may_lack_list (has_list == 0)
#define has_old has(returned, OLD)
#define spend(number) skip

/* --- what a process may do beside the model ---------------------------------------------------- */

/* A step has failed, since a connection is lost or a time limit is over. An administrator ends the
 * two connections of a process at once, so it meets that twice at most. */
#define may_fail (has(losses | late, me) && fails < most_fails)
#define STOP :: atomic { may_fail -> fails++; goto stopped }
/* The call does not come to take: its connection was lost, or the view is too slow. */
#define NO_TAKE \
	:: atomic { outcome[me] == NO_ROW && may_fail -> fails++; goto ASK } \
	:: atomic { \
		outcome[me] <= PENDING && may_take && may_meet(slow) -> \
		tried = list_epoch; \
		in_pauses(after_pause = false); \
		if \
		:: outcome[me] == PENDING -> goto TRY \
		:: else -> goto ASK \
		fi \
	}
#define TAKE_FAILS :: atomic { may_fail -> fails++; goto take_fails }
#define LINE_FAILS \
	:: line != 0 && (may_fail || may_meet(slow)) -> troubled = true; line = 0; goto next
#define TRY_FAILS \
	:: atomic { REFILL -> goto done } \
	:: atomic { !REFILL && may_fail -> fails++; goto lost }
/* leader_run.retries tells of this. */
#define ROUND_FAILS \
	:: atomic { \
		may_meet(deadlocked) -> \
		d_step { rollback() } \
		again = true; \
		goto TRY \
	}
/* It is enough that a round may stop before it has locked anything, after it has locked requests,
 * and when it has all of its locks. */
#define STOP_BETWEEN
#define may_try_again (!for_line)
/* A process that has the lock and runs the query commits, unless a fault keeps it from that. So no
 * other one needs to lead, and that saves most of the states. */
#define may_lead (next_leader == ME || (!REFILL && list_is_there) || \
	may_fail || has(kills | deadlocked, me))
#define may_look true
/* follow(): where the view was too slow, the list may be tried again. */
#define LOOKS_AGAIN \
	:: atomic { !REFILL && may_meet(slow) -> tried = 0; goto TAKE }
#define line_is_seen true
#define others_wait true
/* refill --task fills a list in any case. */
#define is_due true

/* Nor does a process need to pop for a request that gets no loans from the list: whether the list
 * has loans to give can be seen without the pop. Some pops only delete. */
#define may_pop (has(takers, whom) || may_fail || (stale != 0 && has(takers, ROW_WHO)))
#define NO_POP \
	:: atomic { \
		outcome[whom] <= PENDING && !may_pop && of_all_loans(is_not_left) -> \
		goto none \
	}
#define is_not_left(l) (!has(list, l) || !list_counts || !check_counts || !listed(l, seen[l]) || \
	!is_free(ticket_lock[l]) || version[l] != seen[l] || !available(l) || \
	!is_free(work_lock[l]))

/* After a query of less than a second the leader does not ask the view again. */
#define asks_again asked_again

/* The second look of assign_loans(), at the requests that came while the first were written. */
#define SECOND_LOOK \
	if \
	:: true \
	:: atomic { \
		looked == 0 && to_end != 0 && of_any_caller(is_new) -> \
		d_step { \
			looked = to_serve; \
			pending_read(); \
			plan_loans() \
		} \
		say("looks again"); \
		goto writes \
	} \
	fi;
#define is_new(r) (outcome[r] == PENDING && is_free(request_lock[r]))
#define serves_now(r) has(to_serve & ~looked, r)

/* Two statements that pass over locked rows may each get some, since they lock them one by one. */
#define locks_at_once (!by_rows)
#define n_locked (by_rows -> n_given : 0)
#define BY_ROWS(rows, statement) \
	do \
	:: atomic { !by_rows -> break } \
	:: atomic { \
		by_rows && row < LOANS && has(rows, row) -> \
		d_step { l = row; n = n_locked; statement; row++ } \
		say("locks a row, or passes over it") \
	} \
	:: atomic { by_rows && row < LOANS && !has(rows, row) -> row++ } \
	:: atomic { by_rows && row == LOANS -> row = 0; break } \
	od;
#define LOCK_TICKETS BY_ROWS(list, lock_one())
#define HOLD_TICKETS BY_ROWS(list, hold_one())

/* The rows of work that a pop inserts are there for a leader's dirty read before its COMMIT. */
#define INSERTS \
	if \
	:: true \
	:: atomic { \
		lock_by != NOBODY && of_all_loans(can_be_written) && !of_any_loan(is_met) -> \
		d_step { \
			for (l : 0 .. LOANS - 1) { \
				when(give[l] != 0, work_lock[l] = ME) \
			} \
		} \
	} \
	fi;
#define is_met(l) (give[l] != 0 && is_duplicate(l))
#define of_any_loan(p) (p(0) || p(1) || p(2))

/* --- what waits for its line ------------------------------------------------------------------- */

#define in_trace(statement) statement

/* The rows of the list that a pop deletes without giving their loans, as far as a trace tells of
 * them: those of a list that is used. */
inline lock_stale_one()
{
	if
	:: has(stale, l) && from == list_epoch && listed(l, seen[l]) && is_free(ticket_lock[l]) ->
		ticket_lock[l] = ME;
		away = away | BIT(l)
	:: else
	fi
}
#define LOCK_STALE \
	BY_ROWS(stale, lock_stale_one()) \
	if \
	:: by_rows || stale == 0 \
	:: atomic { \
		!by_rows && stale != 0 -> \
		d_step { \
			for (l : 0 .. LOANS - 1) { \
				lock_stale_one() \
			} \
		} \
		say("pop: locks tickets that must not be given") \
	} \
	fi;
#define drops_at_once false
#define drops (from == list_epoch && !list_over -> away : 0)
inline delete_dropped()
{
	for (l : 0 .. LOANS - 1) {
		when(from == list_epoch && has(away, l), ticket[l] = 0)
	}
}
#define drop_with_them delete_dropped()
#define drop_alone \
	LOCK_STALE \
	if \
	:: drops == 0 -> d_step { delete_dropped() } say("pop: gives nothing") \
	:: drops != 0 && event == DROPPED && line_list == from && line_gone == drops -> \
		d_step { delete_dropped() } \
		goes_by; \
		say("pop: deletes only") \
	fi

#define version_comes(l) (give[l] == 0 || line_version[l] == version[l] + 1)
#define taken_so(l) ((give[l] != 0) == (line_give[l] == whom + 1) && version_comes(l))
#define taken_as (n_given == wants(whom) -> WAS_SERVED : WAS_PARTLY)
#define n_given ((give[0] != 0) + (give[1] != 0) + (give[2] != 0))
#define take_comes (event == TAKEN && line_who == whom && line_list == from && \
	line_gone == drops && of_all_loans(taken_so) && line_ends[whom] == taken_as)
/* A duplicate key is no COMMIT. */
#define pop_ends (of_any_loan(is_met) || take_comes)

#define given_to(r) ((give[0] == r + 1) + (give[1] == r + 1) + (give[2] == r + 1))
#define how_ends(r) (!has(to_end, r) -> 0 : (given_to(r) == 0 -> WAS_EMPTY : \
	(given_to(r) == wants(r) -> WAS_SERVED : WAS_PARTLY)))
#define ends_so(r) (line_ends[r] == how_ends(r))
#define gives_so(l) (line_give[l] == give[l] && version_comes(l))
#define keeps_so(l) (line_kept[l] == (has(list & ~gone, l) -> seen[l] + 1 : 0))
#define round_comes (event == COMMITTED && line_who == me && line_epoch == my_epoch && \
	ends_so(0) && ends_so(1) && ends_so(2) && of_all_loans(gives_so) && \
	of_all_loans(keeps_so))

/* What a line has told of the ends of requests, before the next line. */
inline note_ends()
{
	for (i : 0 .. CALLERS - 1) {
		when(line_ends[i] != 0, ended_as[i] = line_ends[i]);
		for (l : 0 .. LOANS - 1) {
			when(line_give[l] == i + 1, got[i] = got[i] | BIT(l))
		}
	}
}
#define commit_goes_by d_step { note_ends() } goes_by

#define ends_loan(l) (line_loan == l && line_version[l] == version[l] + 1 && \
	owner[l] == line_who)
/* A completed loan is held for a year, as if the view did not show it any more. */
#define give_back(l) \
	state[l] = RETURNED; \
	when(line_state == WAS_COMPLETED, shown = shown & ~BIT(l))
#define WAS_COMPLETED 2

#define told_so(l) ((line_give[l] == line_who + 1) == has(got[line_who], l))

/* A program has ended at some time before the line that says so. */
proctype reader()
{
	do
	:: atomic {
		event == ANSWERED && has(told, line_who) &&
		    ended_as[line_who] == line_ends[line_who] && of_all_loans(told_so) ->
		goes_by
	}
	:: atomic {
		event == PUT_OFF && has(ended, line_who) && !has(told, line_who) -> goes_by
	}
	:: atomic { event == KILLED && has(ended, line_who) -> goes_by }
	od
}
