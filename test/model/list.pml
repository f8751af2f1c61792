/* SPDX-License-Identifier: MIT */
/*
 * The kept list of lockq(7), for the model checker Spin. The model has every order in which the
 * statements of a few callers, and of a refill, can reach the server: callers take loans from the
 * list, give for the line, or lead. How a leader is found, and how others follow it, is in
 * test/model/lockq.pml, so here each of steps 1 to 3 and 7 is one step. Names with () are functions
 * of lib/, or procedures of schema/doors.
 *
 * One step of the model is one statement, or several that take no lock or that skip what is locked.
 * Committed rows are global variables. A transaction keeps its changes in its own process until it
 * commits, and other processes meet them as row locks.
 *
 * test/model/list.t runs the model. A configuration sets the number of each event with -D. A mutant
 * takes a guard out, and names a property that must fail without it. With -DTRACE the model must go
 * the way of a recorded run, see list-trace.pml.
 */

#ifndef CALLERS
#define CALLERS 2     /* processes that ask for a loan each */
#endif
#ifndef REFILLS
#define REFILLS 1
#endif
#ifndef LOANS
#define LOANS 2       /* or 3 */
#endif
#ifndef OLD
#define OLD 0         /* the loan that was returned before; the others have no row of work */
#endif
#ifndef LISTED
#define LISTED 0      /* 1: there is a list at the start; 0: perhaps */
#endif
#ifndef BIG
#define BIG 99        /* the request that asks for two loans; the others ask for one */
#endif
#ifndef CAP
#define CAP 0         /* max_pipeline: callers 0 and 1 ask for the same user */
#endif
#ifndef NO_WAITS
#define NO_WAITS 0    /* number of requests with --no-wait: any of them */
#endif
#ifndef ROUNDS
#define ROUNDS 3      /* rounds that commit; then nobody leads any more */
#endif
#ifndef CRASHES
#define CRASHES 0     /* kill -9 */
#endif
#ifndef STOPS
#define STOPS 0       /* SIGSTOP for longer than wait_timeout, or a connection that is lost */
#endif
#ifndef SECONDS
#define SECONDS 0     /* a process is so slow that its check gets older than a second */
#endif
#ifndef DEADLOCKS
#define DEADLOCKS 0   /* 1213 in a pop */
#endif
#ifndef DISPOSALS
#define DISPOSALS 0   /* loans that their user returns at once */
#endif
#ifndef CHANGES
#define CHANGES 0     /* loans that the view does not show any more */
#endif
#ifndef TOUCHES
#define TOUCHES 0     /* loans that an application puts into task_touched */
#endif
#ifndef ENDS
#define ENDS 0        /* lists that get older than cache_ttl */
#endif
#ifndef PAUSES
#define PAUSES 0      /* a manager pauses the task, and lets it go on */
#endif
#ifndef COMPLETES
#define COMPLETES 0   /* 1: caller 0 has the loan OLD, and completes it as it takes */
#endif
#ifndef STANDS
#define STANDS 0      /* 1: caller 0 stands still for ever as it does so, and keeps its locks */
#endif

/* work_requested.outcome. A request has NO_ROW before step 1. */
#define NO_ROW    0
#define PENDING   1
#define SERVED    2   /* or partial */
#define EMPTY     3
#define REFUSED   4

/* work.state. ABSENT means that there is no row, and that its version is 0. */
#define ABSENT    0
#define HELD      1
#define RETURNED  2   /* and available_at has come */
#define COMPLETED 3

/* task_touched.epoch. Here it tells whether the loan was put before the list that is the newest. */
#define UNTOUCHED 0   /* no row */
#define NEW       1   /* NULL */
#define PUT       2   /* before the newest list */
#define PUT_ONCE  3   /* before an earlier one */

#define PROCESSES (CALLERS + REFILLS)
#define ALL      (BIT(PROCESSES) - 1)
#define NOBODY   0
#define ME       (me + 1)
#define REFILL   (me >= CALLERS)
#define TRIES    2    /* TAKE_TRIES and LINE_TRIES */

#define BIT(n)   (1 << (n))
#define has(set, n) (((set) >> (n)) & 1)
#define user_of(r) (CAP > 0 && r == 1 -> 0 : r)
#if CALLERS == 3
#define of_any_caller(p) (p(0) || p(1) || p(2))
#else
#define of_any_caller(p) (p(0) || p(1))
#endif
#if LOANS == 3
#define of_all_loans(p) (p(0) && p(1) && p(2))
#else
#define of_all_loans(p) (p(0) && p(1))
#endif

/* What happens next, and to whom, is free, unless a recorded run tells it. */
#ifndef TRACE
#define run_begins skip
#define takes_part(p) true
#define has_old true                    /* the loan OLD was returned before */
#define may_have_list true              /* at the start */
#define may_lack_list (LISTED == 0)
#define first_epoch 1
#define wants(r) (r == BIG -> 2 : 1)
#define asks_with(way) true
#define may_meet(set) true              /* the process may meet the fault: the set of those */
#define spend(number) number--          /* one of these events is left less */
#define comes(what, p) true             /* the next event is this one */
#define ends_loan(l) true               /* it is the end of an assignment of the loan */
#define give_back(l) state[l] = RETURNED
#define drops_at_once true              /* the rows that must not be given */
#define locks_at_once true              /* the other rows of a statement */
#define n_locked 0                      /* tickets, before that */
#define drop_with_them skip             /* a pop's COMMIT takes more rows from the list … */
#define drop_alone skip                 /* … and nothing else */
#define pop_ends true                   /* the next event is the end of this pop … */
#define round_comes true                /* … or the COMMIT of this round */
#define goes_by skip                    /* the next event has happened */
#define commit_goes_by skip             /* so has this COMMIT */
#define in_trace(statement) skip
/* What a trace does not show, and the model does not need. */
#define NO_TAKE
#define TAKE_FAILS
#define LINE_FAILS
#define LOOKS_AGAIN
#define TRY_FAILS
#define ROUND_FAILS
#define LOCK_TICKETS
#define LOCK_STALE
#define HOLD_TICKETS
#define INSERTS
#define SECOND_LOOK
#define serves_now(r) has(to_serve, r)
#define asks_again true                 /* the leader asks the view again */
#define may_pop true
#define NO_POP
#define may_lead true
#define may_try_again false
#define is_due due                      /* the list, for a refill */
#define may_look false                  /* a process goes on before the others are ready */
#define line_is_seen (lock_by == NOBODY)
#define others_wait of_any_caller(any_pending)
#endif

/* --- the tables ------------------------------------------------------------------------------- */

byte outcome[CALLERS], request_lock[CALLERS];      /* work_requested */
byte state[LOANS], version[LOANS], token[LOANS], owner[LOANS], work_lock[LOANS];  /* work */
byte pipeline_lock[CALLERS];
byte epoch, lock_by;                               /* task_lock: committed epoch, holder */
byte list_epoch, list_as_of;                       /* kept_list: the newest list; 0: none */
bool list_over;                                    /* older than cache_ttl */
byte ticket[LOANS], ticket_lock[LOANS];            /* kept_loan: version + 1; 0: no row */
byte touched[LOANS], put_at[LOANS];                /* task_touched */
byte shown = BIT(LOANS - (TOUCHES > 0)) - 1;                       /* by the task's view */
byte queries;                                      /* a clock: as many have begun */
bool due;                                          /* the list is to be filled */
#if PAUSES
bool paused;                                       /* task.paused */
#else
#define paused false
#endif
byte arrived;                                      /* callers come in the order of their ids */

/* --- what is left of each event --------------------------------------------------------------- */

byte no_waits = NO_WAITS, crashes = CRASHES, stops = STOPS, seconds = SECONDS;
byte deadlocks = DEADLOCKS, disposals = DISPOSALS, changes = CHANGES, touches = TOUCHES;
byte list_ends = ENDS;
#if PAUSES
byte pauses = PAUSES;
#endif


/* --- what only the properties look at --------------------------------------------------------- */

byte ended;           /* processes that have ended, a set */
bool troubled;        /* one was killed or stopped, or what it tried to do for the line was held up
                       * twice, or did not wait while the task was paused; and nobody has taken
                       * from the newest list since */
#if STANDS
byte standing;        /* who stands still for ever, or may lead no more, a set */
#endif
byte touched_at[LOANS];

/* Each of these is set and asserted in one step, so it is no part of a state. A mutant may break
 * several properties: ONLY=name leaves the others out, so that the checker shows this one. */
hidden byte loan_held_twice, token_not_above, cap_exceeded, not_shown, check_too_old, list_not_used;
hidden byte list_aborted, row_given_twice, list_of_no_leader, query_for_nothing, no_work_not_known;
hidden byte left_over, touch_lost, answered_twice, given_while_paused, half_done, undone;
hidden byte waits_for_it;
#define loan_held_twice_n   1
#define token_not_above_n   2
#define cap_exceeded_n      3
#define not_shown_n         4
#define check_too_old_n     5
#define list_not_used_n     6
#define list_aborted_n      7
#define row_given_twice_n   8
#define list_of_no_leader_n 9
#define query_for_nothing_n 10
#define no_work_not_known_n 11
#define left_over_n         12
#define touch_lost_n        13
#define answered_twice_n    14
#define given_while_paused_n 15
#define half_done_n         16
#define undone_n            17
#define waits_for_it_n      18
#ifdef ONLY
#define number_of_(name) name##_n
#define number_of(name) number_of_(name)
#define wanted(number) (number == number_of(ONLY))
#else
#define wanted(number) true
#endif
#define never_is(name, wrong) name = (wrong) && wanted(name##_n); assert(!name)

hidden byte i, l, n, room;

#define available(l) (state[l] != HELD)
#define usable (list_epoch != 0 && !list_over)
#define listed(l, v) (ticket[l] == (v) + 1)
#define is_free(lock) (lock == NOBODY)

/* --- small guards, and what a mutant has in their place --------------------------------------- */

#ifdef NO_CHECK
#define passes(l) true
#else
#define passes(l) has(shown, l)
#endif
#ifdef OLD_CHECK
#define check_counts true
#else
#define check_counts (!old)
#endif
#ifdef LIST_READ_BEFORE
#define list_counts true
#else
#define list_counts (from == list_epoch && !list_over)
#endif
#ifdef TICKETS_UNLOCKED
#define lock_ticket(l) skip
#else
#define lock_ticket(l) ticket_lock[l] = ME
#endif
#ifdef WORK_UNLOCKED
#define lock_work(l) skip
#define can_lock_work(l) true
#else
#define lock_work(l) work_lock[l] = ME
#define can_lock_work(l) (seen[l] == 0 || is_free(work_lock[l]))
#endif
#ifdef LINE_UNLOCKED
#define lock_request(r) skip
#else
#define lock_request(r) request_lock[r] = ME
#endif
#if CAP == 0 || defined(TAKER_COUNTS_UNLOCKED)
#define taker_locks_user(r) skip
#else
#define taker_locks_user(r) pipeline_lock[user_of(r)] = ME
#endif
#if CAP == 0 || defined(LEADER_COUNTS_UNLOCKED)
#define leader_locks_user(r) skip
#else
#define leader_locks_user(r) pipeline_lock[user_of(r)] = ME
#endif
#ifdef UPSERT
#define is_duplicate(l) false
#else
#define is_duplicate(l) (seen[l] == 0 && state[l] != ABSENT)
#endif
#ifdef TOKEN_IS_EPOCH
#define next_token(l, e) e
#else
#define next_token(l, e) (e > token[l] -> e : token[l] + 1)
#endif
#ifdef TOUCH_ONCE
#define has_seen_touch(l) true
#else
#define has_seen_touch(l) (put_at[l] < list_as_of)
#endif
#ifdef NO_SECOND_CHECK
#define still_shown(l) true
#else
#define still_shown(l) (!asks_again || has(shown, l))
#endif
#ifdef NO_LINE
#define serves_line false
#else
#define serves_line true
#endif
#ifdef DUE_BEFORE
#define still_due true
#else
#define still_due is_due
#endif
#ifdef QUERY_FIRST
#define list_is_there false
#else
#define list_is_there (usable && list_epoch != tried)
#endif
#ifdef NO_TICKETS
#define leader_locks_ticket(l) skip
#define drop_held(l) skip
#else
#define leader_locks_ticket(l) ticket_lock[l] = ME
#define drop_held(l) drop(l)
#endif
#ifdef LEAVES_LINE
#define found_line next
#else
#define found_line LINE
#endif
#ifdef PAUSE_UNSEEN_BY_PEEK
#define peek_is_paused false
#else
#define peek_is_paused paused
#endif
#ifdef PAUSE_UNSEEN_BY_POP
#define pop_is_paused false
#else
#define pop_is_paused paused
#endif
#ifdef TRIED_STAYS
#define tried_after_pause tried
#else
#define tried_after_pause 0
#endif
#ifdef COMPLETES_APART
#define completes_at_once true  /* in a transaction of its own */
#else
#define completes_at_once false
#endif
#ifdef POP_IS_NOT_LAST          /* and has written work: what comes after it is not in the model */
#define pop_is_last false
#else
#define pop_is_last true
#endif
#if COMPLETES && defined(POP_ROLLS_BACK)
#define is_undone completes = completes && !both  /* and it is taken for done */
#else
#define is_undone skip
#endif
#ifdef UNCHECKED_LEADER
#define may_write_list true
#else
#define may_write_list (lock_by == ME)
#endif

#if COMPLETES
#define in_both(statement) statement
#else
#define in_both(statement) skip
#endif
#if PAUSES
#define in_pauses(statement) statement
#else
#define in_pauses(statement) skip
#endif

/* Drops a candidate. */
#define drop(l) \
	gone = gone | BIT(l); \
	dropped = true

#define when(condition, statement) if :: condition -> statement :: else fi

#ifdef TRACE
#include "list-trace.pml"
#endif

/* --- transactions ----------------------------------------------------------------------------- */

/* The end of a transaction frees all its locks. */
inline rollback()
{
	for (i : 0 .. CALLERS - 1) {
		when(request_lock[i] == ME, request_lock[i] = NOBODY);
		when(pipeline_lock[i] == ME, pipeline_lock[i] = NOBODY)
	}
	for (l : 0 .. LOANS - 1) {
		give[l] = 0;
		when(ticket_lock[l] == ME, ticket_lock[l] = NOBODY);
		when(work_lock[l] == ME, work_lock[l] = NOBODY)
	}
	when(lock_by == ME, lock_by = NOBODY);
	to_serve = 0;
	fits = 0;
	in_trace(away = 0; looked = 0);
	in_both(both = false)
}

/* What a COMMIT makes visible of a loan that is completed: the view does not show it any more. */
inline complete()
{
	version[OLD]++;
	state[OLD] = COMPLETED;
	shown = shown & ~BIT(OLD);
	completes = false
}

inline forget_front()
{
	for (l : 0 .. LOANS - 1) {
		seen[l] = 0
	}
	list = 0;
	stale = 0;
	old = false;
	matched = 0
}

inline forget()
{
	forget_front();
	gone = 0;
	second = false;
	dropped = false;
	again = false;
	from = 0;
	my_epoch = 0;
	as_of = 0;
	at_start = 0;
	to_end = 0;
	refused = 0
}

/* How many more loans a user may hold. */
inline count_room(user)
{
	n = 0;
	for (l : 0 .. LOANS - 1) {
		when(state[l] == HELD && owner[l] == user, n++)
	}
	room = (CAP == 0 -> LOANS : (n < CAP -> CAP - n : 0))
}

/* What a COMMIT makes visible of the loans that are given, under the epoch e or a later one. */
inline write_given(e)
{
	for (l : 0 .. LOANS - 1) {
		if
		:: give[l] != 0 ->
			never_is(loan_held_twice, !available(l));
			never_is(not_shown, !has(matched, l));
			n = next_token(l, e);
			never_is(token_not_above, n <= token[l]);
			token[l] = n;
			version[l]++;
			state[l] = HELD;
			owner[l] = user_of(give[l] - 1);
			touched_at[l] = 0
		:: else
		fi
	}
	for (i : 0 .. CALLERS - 1) {
		count_room(i);
		never_is(cap_exceeded, CAP > 0 && n > CAP)
	}
}

inline end_request(r, how)
{
	never_is(answered_twice, outcome[r] > PENDING);
	outcome[r] = how
}

/* --- take: peek, check, pop ------------------------------------------------------------------- */

/* list_tops(): a touched loan that is available becomes a ticket of the newest list. Whoever has
 * locked a ticket is giving its loan. */
inline list_tops()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: touched[l] == PUT_ONCE && (has_seen_touch(l) || !available(l)) ->
			never_is(touch_lost, touched_at[l] >= list_as_of && available(l) &&
			    has(shown, l) && !listed(l, version[l]));
			touched[l] = UNTOUCHED;
			put_at[l] = 0
		:: (touched[l] == NEW || (touched[l] == PUT_ONCE && !has_seen_touch(l))) &&
		    available(l) && (!listed(l, version[l]) || is_free(ticket_lock[l])) ->
			if
			:: !listed(l, version[l]) ->
				ticket[l] = version[l] + 1;
				ticket_lock[l] = NOBODY
			:: else
			fi;
			when(touched[l] == NEW, put_at[l] = queries);
			touched[l] = PUT
		:: else
		fi
	}
}

/* peek(). A list of the model is short, so its front is all of it. */
inline peek()
{
	list = 0;
	stale = 0;
	old = false;
	never_is(list_aborted, list_epoch > epoch);
	for (l : 0 .. LOANS - 1) {
		seen[l] = 0;
		if
		:: from == list_epoch && ticket[l] != 0 ->
			seen[l] = ticket[l] - 1;
			if
			:: seen[l] != version[l] -> stale = stale | BIT(l)
			:: seen[l] == version[l] && available(l) -> list = list | BIT(l)
			:: else
			fi
		:: else
		fi
	}
}

/* check_loans() */
inline ask_view()
{
	matched = shown;
	for (l : 0 .. LOANS - 1) {
		if
		:: has(list, l) && !passes(l) ->
			list = list & ~BIT(l);
			stale = stale | BIT(l)
		:: else
		fi
	}
}

/* list_serves_2(): a ticket with its row of work, after n others. A loan that had no row must still
 * have none. */
inline lock_one()
{
	if
	:: has(list, l) && n < wants(whom) && n < fits && list_counts && check_counts &&
	    listed(l, seen[l]) && is_free(ticket_lock[l]) &&
	    version[l] == seen[l] && available(l) && can_lock_work(l) ->
		lock_ticket(l);
		when(seen[l] != 0 || !pop_is_last, lock_work(l));
		give[l] = whom + 1;
		n++
	:: else
	fi
}

inline lock_tickets()
{
	n = n_locked;
	for (l : 0 .. LOANS - 1) {
		when(locks_at_once, lock_one())
	}
	never_is(list_not_used, n > n_locked && (from != list_epoch || list_over));
	never_is(check_too_old, n > n_locked && old);
	for (l : 0 .. LOANS - 1) {
		if
		:: drops_at_once && has(stale, l) && from == list_epoch && listed(l, seen[l]) &&
		    is_free(ticket_lock[l]) -> ticket[l] = 0
		:: else
		fi
	}
}

/* list_serves_2(): the writes, and its COMMIT. */
inline commit_pop()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: give[l] != 0 && from == list_epoch ->
			never_is(row_given_twice, !listed(l, seen[l]));
			ticket[l] = 0
		:: else
		fi
	}
	drop_with_them;
	in_both(when(both && completes, complete()));
	write_given(from);
	in_pauses(never_is(given_while_paused, in_pause));
	end_request(whom, SERVED);
	rollback()
}

/* --- a leader's round ------------------------------------------------------------------------- */

/* source_find() */
inline query()
{
	never_is(query_for_nothing, (REFILL -> !is_due : usable && list_epoch != tried));
	in_pauses(never_is(query_for_nothing, usable && after_pause));
	queries++;
	as_of = queries;
	matched = shown;
	for (l : 0 .. LOANS - 1) {
		if
		:: available(l) && has(shown, l) ->
			list = list | BIT(l);
			seen[l] = version[l]
		:: else
		fi
	}
	at_start = list
}

/* pending_read() */
inline pending_read()
{
	for (i : 0 .. CALLERS - 1) {
		if
		:: outcome[i] == PENDING && is_free(request_lock[i]) &&
		    is_free(pipeline_lock[user_of(i)]) ->
			request_lock[i] = ME;
			leader_locks_user(i);
			to_serve = to_serve | BIT(i)
		:: else
		fi
	}
}

/* hold_kept(): a loan of the newest list is given only by whoever holds its ticket. */
inline hold_one()
{
	if
	:: to_serve != 0 && has(list, l) && ticket[l] != 0 ->
		if
		:: is_free(ticket_lock[l]) -> leader_locks_ticket(l)
		:: else -> drop_held(l)
		fi
	:: else
	fi
}

inline hold_kept()
{
	for (l : 0 .. LOANS - 1) {
		when(locks_at_once, hold_one())
	}
}

/* check_some(): the rows of work, and drop_unshown(). */
inline check_work()
{
	when(asks_again, matched = shown);
	for (l : 0 .. LOANS - 1) {
		if
		:: to_serve != 0 && has(list & ~gone, l) ->
			if
			:: version[l] == seen[l] && !is_free(work_lock[l]) -> drop(l)
			:: version[l] != seen[l] && available(l) -> drop(l)
			/* count_dropped(): somebody else has it. */
			:: version[l] != seen[l] && !available(l) -> gone = gone | BIT(l)
			:: else ->
				when(seen[l] != 0, work_lock[l] = ME);
				when(!still_shown(l), gone = gone | BIT(l))
			fi
		:: else
		fi
	}
}

/* plan_loans(), in the order of the requests. One that gets nothing ends only if the list is whole,
 * or if its user has no room. */
inline plan_loans()
{
	for (i : 0 .. CALLERS - 1) {
		if
		:: serves_now(i) ->
			count_room(user_of(i));
			n = 0;
			for (l : 0 .. LOANS - 1) {
				if
				:: has(list & ~gone, l) && n < wants(i) && n < room ->
					give[l] = i + 1;
					gone = gone | BIT(l);
					n++
				:: else
				fi
			}
			when(room == 0, refused = refused | BIT(i));
			when(n > 0 || room == 0 || !dropped, to_end = to_end | BIT(i))
		:: else
		fi
	}
}

/* write_loans(): a row that is there since the check is a duplicate key. */
inline write_work()
{
	conflict = false;
	for (l : 0 .. LOANS - 1) {
		if
		:: give[l] != 0 && is_duplicate(l) -> conflict = true
		:: give[l] != 0 && !is_duplicate(l) -> work_lock[l] = ME
		:: else
		fi
	}
}

/* kept_begin() */
inline write_list()
{
	never_is(list_of_no_leader, lock_by != ME);
	list_epoch = my_epoch;
	list_as_of = as_of;
	list_over = false;
	due = false;
	for (l : 0 .. LOANS - 1) {
		ticket[l] = (has(list & ~gone, l) -> seen[l] + 1 : 0);
		ticket_lock[l] = NOBODY;
		when(touched[l] == PUT, touched[l] = PUT_ONCE)
	}
}

/* lock_commit_and_release() */
inline commit_round()
{
	write_given(my_epoch);
	for (i : 0 .. CALLERS - 1) {
		if
		:: has(to_end, i) ->
			n = 0;
			for (l : 0 .. LOANS - 1) {
				n = n + (give[l] == i + 1)
			}
			never_is(no_work_not_known, n == 0 && !has(refused, i) &&
			    (at_start & shown & ~gone) != 0);
			end_request(i, (n > 0 -> SERVED : (has(refused, i) -> REFUSED : EMPTY)))
		:: else
		fi
	}
	epoch = my_epoch;
	rollback();
	forget()
}

/* --- what can happen to a process at any moment ----------------------------------------------- */

/* A replayed counterexample prints these texts. */
#define say(text) printf("process %d: ", me); printf(text); printf("\n")

#define CRASH   :: atomic { crashes > 0 && may_meet(kills) -> spend(crashes); goto killed }
#ifndef TRACE
#define STOP    :: atomic { stops > 0 -> stops--; goto stopped }
#define STOP_BETWEEN STOP
#endif
#define SLOW    :: atomic { seconds > 0 && !old && may_meet(late) -> spend(seconds); old = true }

#define asks_beside(r) (CAP > 0 && r < 2 && outcome[1 - r] == PENDING)
#define any_pending(r) (outcome[r] == PENDING)
#define can_be_written(l) (give[l] == 0 || work_lock[l] == NOBODY || work_lock[l] == ME)
#define not_held(l) (state[l] == HELD || (work_lock[l] == NOBODY && ticket_lock[l] == NOBODY))
#define may_take (usable && !peek_is_paused && list_epoch != tried && \
	(outcome[me] == PENDING || !asks_beside(me)))

/* --- lockq_getwork(), and lockq_refill() ------------------------------------------------------ */

proctype process(byte me)
{
	bool waits = true;
	byte whom;                      /* the request for which loans are taken */
	byte line;                      /* requests of the line that are still to be served */
	byte from, tried;               /* epochs of the list in use, and of one without a loan */
	byte my_epoch, as_of;           /* of a round */
	byte list, seen[LOANS];         /* front of the list, or candidates, with their versions */
	byte stale, gone;               /* loans not to be given; those given or dropped */
	byte give[LOANS];               /* request + 1 */
	byte to_serve, to_end, refused; /* requests */
	byte fits;                      /* so many loans more may the user hold */
	bool old, second, dropped, again, conflict, for_line, found;
#if COMPLETES
	bool completes = (me == 0);     /* it still has to complete a loan */
	bool both;                      /* has written so, in the pop's transaction */
#endif
#if PAUSES
	bool in_pause, after_pause;     /* for the properties */
#endif
#ifdef TRACE
	byte away;                      /* loans that a pop takes from the list, and gives to nobody */
	byte looked;                    /* requests of the first look of a round */
	byte row;                       /* so many rows were locked or passed over */
	byte fails;                     /* how often a step has failed */
	bool asked_again;
#endif
	byte matched, at_start;         /* for the properties */

	if
	:: REFILL -> goto TRY
	:: atomic { !REFILL && arrived == me -> arrived++ }
	fi;
	if
	:: asks_with(BLOCKING)
	:: no_waits > 0 && asks_with(NO_WAIT) -> no_waits--; waits = false
	fi;

	/* from_list() */
TAKE:
	if
	:: atomic { !REFILL && outcome[me] > PENDING -> say("was ended"); goto done }
	:: atomic {
		outcome[me] <= PENDING && may_take ->
		d_step {
			forget();
			for_line = false;
			in_pauses(after_pause = false);
			whom = me;
			from = list_epoch;
			list_tops();
			peek()
		}
		say("peeks");
		goto peeked
	}
	:: atomic {
		outcome[me] <= PENDING && !may_take ->
		in_both(when(completes, complete()));   /* alone, before it asks */
		if
		:: outcome[me] == PENDING -> goto TRY
		:: else -> goto ASK
		fi
	}
	CRASH
	NO_TAKE
	fi;

peeked:
	atomic {
		if
		:: list == 0 && stale == 0 -> goto none
		:: list == 0 && stale != 0 -> goto pop
		:: else
		fi
	}
	if
	:: atomic { true -> d_step { ask_view() } say("asks the view") }
	SLOW
	CRASH
	fi;

pop:
#if COMPLETES
	/* lockq_dispose() begins the transaction whose last statement is list_serves_2(). */
	if
	:: atomic { !completes || for_line -> skip }
	:: atomic {
		completes && !for_line ->
		work_lock[OLD] = ME;
		both = true;
		when(completes_at_once, complete());
		say("completes its loan")
	}
	CRASH
	fi;
#endif
#if STANDS
	if
	:: true
	:: atomic { both && pop_is_last -> goto stands_still }
	fi;
#endif
	/* list_serves_2(): the request, and the row of pipeline_lock. Its process may end meanwhile,
	 * and the server goes on. */
	if
	:: atomic { outcome[whom] > PENDING -> goto over }
	:: atomic {
		outcome[whom] <= PENDING &&
		(!is_free(request_lock[whom]) || !is_free(pipeline_lock[user_of(whom)])) ->
		troubled = troubled || (second && for_line);
		goto fewer
	}
	:: atomic {
		outcome[whom] <= PENDING && is_free(request_lock[whom]) &&
		is_free(pipeline_lock[user_of(whom)]) && pop_is_paused ->
		say("pop: the task is paused");
		troubled = troubled || for_line;
		goto none
	}
	:: atomic {
		outcome[whom] <= PENDING && is_free(request_lock[whom]) &&
		is_free(pipeline_lock[user_of(whom)]) && !pop_is_paused && may_pop ->
		in_pauses(in_pause = paused);
		d_step {
			lock_request(whom);
			taker_locks_user(whom);
			count_room(user_of(whom));
			fits = room;
			in_both(fits = fits + (both && completes))
		}
		say("pop: locks the request, counts");
		if
		:: fits == 0 -> is_undone; d_step { rollback() } goto none
		:: else
		fi
	}
	NO_POP
	SLOW
	CRASH
	fi;
	LOCK_TICKETS
	atomic {
		d_step { lock_tickets() }
		if
		:: n == 0 -> drop_alone; is_undone; d_step { rollback() } goto fewer
		:: else -> say("pop: locks tickets")
		fi
	}
#if STANDS
	if
	:: true
	:: atomic { both && !pop_is_last -> goto stands_still }
	fi;
#endif
	LOCK_STALE
	INSERTS
	if
	:: atomic {
		of_all_loans(can_be_written) && pop_ends ->
		d_step {
			n = 0;
			for (l : 0 .. LOANS - 1) {
				n = n + (give[l] != 0 && is_duplicate(l))
			}
		}
		if
		:: n > 0 -> d_step { rollback() } say("pop: a duplicate key"); goto duplicate
		:: else ->
			d_step {
				troubled = troubled && (for_line || from != list_epoch);
				commit_pop();
				forget_front()
			}
			say("pop: COMMIT");
			commit_goes_by;
			if
			:: for_line -> goto next
			:: !for_line && serves_line && others_wait -> goto LINE
			:: else -> goto done
			fi
		fi
	}
	:: atomic {
		deadlocks > 0 ->
		d_step { spend(deadlocks); rollback(); troubled = troubled || (second && for_line) }
		goto fewer
	}
	TAKE_FAILS
	fi;

	/* take_loans() begins anew. */
fewer:
	atomic {
		in_both(when(both, is_undone; d_step { rollback() }));
		if
		:: second -> goto none
		:: !second || may_try_again ->
			second = true; d_step { peek() } say("peeks again"); goto peeked
		fi
	}

	/* A duplicate key: the caller's own request is recorded, and for the line the pop is tried
	 * again. */
duplicate:
	atomic {
		in_both(when(both, d_step { rollback() }));
		if
		:: !for_line -> goto none
#ifdef TRACE
		:: !for_line && outcome[me] == PENDING -> goto fewer
		:: !for_line && outcome[me] == NO_ROW -> d_step { forget_front() } goto ASK
#endif
#ifdef LINE_ENDS
		:: for_line -> line = 0; goto next
#else
		:: for_line -> goto fewer
#endif
		fi
	}

	/* The list has nothing for this request. */
none:
#ifdef LIST_SAYS_EMPTY
	atomic {
		if
		:: !for_line && outcome[me] == PENDING && list == 0 ->
			d_step {
				for (l : 0 .. LOANS - 1) {
					never_is(no_work_not_known, available(l) && has(shown, l))
				}
				outcome[me] = EMPTY
			}
		:: else
		fi
	}
#endif
	atomic {
		in_both(when(both, is_undone; d_step { rollback() }));
		in_both(when(completes && !for_line, complete()));
		d_step { forget_front() }
		if
		:: for_line -> goto next
		:: !for_line && outcome[me] == PENDING -> tried = from; goto TRY
		:: !for_line && outcome[me] == NO_ROW -> tried = from; goto ASK
		:: !for_line && outcome[me] > PENDING -> goto over
		fi
	}

	/* The request has been ended by somebody else. */
over:
	atomic {
		d_step { forget_front() }
		if
		:: for_line -> goto next
		:: else -> goto done
		fi
	}

	/* Step 1 */
ASK:
	if
	:: atomic { asks_beside(me) -> say("joins"); goto done }
	:: atomic {
		!asks_beside(me) && comes(ASKED, me) ->
		d_step { count_room(user_of(me)) }
		if
		:: room == 0 -> say("is refused"); goto done
		:: else -> outcome[me] = PENDING; say("records its request"); goes_by
		fi
	}
	CRASH
	fi;

	/* Steps 2 and 3. A process that tries the transaction again has its list. */
TRY:
	if
	:: atomic { !REFILL && outcome[me] > PENDING -> goto done }
	:: atomic {
		(REFILL || outcome[me] == PENDING) && paused && !again ->
		say("the task is paused");
		goto paused_task
	}
	:: atomic {
		(REFILL || outcome[me] == PENDING) && lock_by == NOBODY && (!paused || again) ->
		if
		:: again && my_epoch != epoch + 1 ->
			goto lost
		:: again && my_epoch == epoch + 1 -> lock_by = ME; goto GIVE
		:: !again && may_lead ->
			d_step { forget(); lock_by = ME; my_epoch = epoch + 1 }
			say("leads")
		fi
	}
	:: atomic {
		(REFILL || outcome[me] == PENDING) && lock_by != NOBODY && (!paused || again) ->
		goto FOLLOW
	}
	CRASH
	TRY_FAILS
	fi;

	/* Step 4: round_find(). Whoever finds a list under the lock leads no more. */
LEAD:
	if
	:: atomic {
		REFILL && !still_due ->
		d_step { rollback(); forget() }
		say("the list is not due");
		goto found_line
	}
	:: atomic {
		!REFILL && list_is_there ->
		d_step { rollback(); forget() }
		say("finds a list");
		found = true;
		goto found_line
	}
	:: atomic {
		(REFILL -> still_due : !list_is_there) ->
		if
		:: epoch > ROUNDS -> d_step { rollback(); forget() } goto end_of_rounds
		:: else -> d_step { query() } say("the heavy query")
		fi
	}
	CRASH
	STOP
	fi;

	/* Step 5: round_give() */
GIVE:
	if
	:: atomic {
		true ->
		d_step { gone = 0; dropped = false; to_end = 0; refused = 0; pending_read() }
		say("reads the pending requests");
		if
		:: to_serve == 0 -> goto write
		:: else
		fi
	}
	CRASH
	STOP_BETWEEN
	fi;
	HOLD_TICKETS
	if
	:: atomic { true -> d_step { hold_kept() } say("locks tickets") }
	CRASH
	STOP
	fi;
	if
	:: atomic { true -> d_step { check_work(); plan_loans() } say("locks work, plans") }
#ifdef TRACE
	:: atomic {
		(list & ~shown) != 0 ->
		d_step { asked_again = true; check_work(); plan_loans(); asked_again = false }
	}
#endif
	CRASH
	STOP_BETWEEN
	fi;
writes:
	if
	:: atomic {
		of_all_loans(can_be_written) ->
		d_step { write_work() }
		say("writes work");
		if
		:: conflict ->
			conflict = false;
			d_step { rollback() }
			again = true;
			goto TRY
		:: else
		fi
	}
	ROUND_FAILS
	CRASH
	STOP_BETWEEN
	fi;
	SECOND_LOOK
write:
#ifdef LIST_AUTOCOMMITTED
	if
	:: atomic { true -> d_step { write_list() } say("writes the list") }
	CRASH
	fi;
#endif
	if
	:: atomic {
		may_write_list && round_comes ->
#ifndef LIST_AUTOCOMMITTED
		d_step { write_list(); commit_round() }
#else
		d_step { commit_round() }
#endif
		say("writes the list, COMMIT");
		commit_goes_by
	}
#ifdef WRITE_AFTER_LOSS
	:: atomic {
		!may_write_list ->
		d_step { rollback() }
		say("does not lead, writes nothing");
		goto lost
	}
#endif
	CRASH
	STOP
	fi;

	/* Step 6: hand_over_kept(), take_for_line() */
LINE:
	if
	:: atomic {
		lock_by != NOBODY || !usable || peek_is_paused ->
		troubled = troubled || peek_is_paused;
		goto next
	}
	:: atomic {
		line_is_seen && usable && !peek_is_paused ->
		d_step {
			when(from == 0, from = list_epoch);
			for (i : 0 .. CALLERS - 1) {
				when(outcome[i] == PENDING, line = line | BIT(i))
			}
		}
		say("nobody leads, reads the line")
	}
	CRASH
	fi;
next:
	atomic {
		if
		:: line == 0 && found -> found = false; goto TAKE
		:: line == 0 && !found -> goto rest
		LINE_FAILS
		:: line != 0 ->
			d_step {
				whom = 0;
				do
				:: !has(line, whom) -> whom++
				:: else -> break
				od;
				line = line & ~BIT(whom);
				for_line = true;
				second = false;
				peek()
			}
			say("peeks for the line");
			goto peeked
		fi
	}

	/* Its own request may be pending, because others held what the query found. */
rest:
	if
	:: atomic { REFILL -> goto done }
	:: atomic { !REFILL && outcome[me] > PENDING -> goto done }
	:: atomic { !REFILL && outcome[me] == PENDING && !waits -> goto done }
	:: atomic {
		!REFILL && outcome[me] == PENDING && ((waits && of_all_loans(not_held) &&
		is_free(request_lock[me])) || may_look) ->
		goto TAKE
	}
	CRASH
	fi;

	/* Step 7 */
FOLLOW:
	if
	:: atomic { REFILL || !waits -> say("does not wait"); goto done }
	:: atomic {
		!REFILL && ((waits && lock_by == NOBODY) || may_look) ->
		say("wakes");
		goto TAKE
	}
	LOOKS_AGAIN
	CRASH
	fi;

	/* rest() looks again and again whether the task goes on. */
paused_task:
	if
	:: atomic {
		REFILL || !waits ->
		troubled = troubled || !REFILL;
		say("does not wait");
		goto done
	}
	:: atomic {
		!REFILL && waits && !paused ->
		tried = tried_after_pause;
		in_pauses(after_pause = true);
		say("the task goes on");
		goto TAKE
	}
	CRASH
	fi;

#if STANDS
stands_still:
	atomic { true -> standing = standing | BIT(me); say("stands still") }
end_of_standing:
	false;
#endif

#ifdef TRACE
	/* recover() and take_for_line(): a request that may not be recorded yet is recorded. */
take_fails:
	atomic {
		true ->
		d_step { rollback(); forget_front(); troubled = true; line = 0 }
		if
		:: for_line -> goto next
		:: !for_line && outcome[me] == NO_ROW -> goto ASK
		:: !for_line && outcome[me] != NO_ROW -> goto TAKE
		fi
	}
#endif

	/* The server ends the session; later the process goes on, and connects again. */
stopped:
	atomic {
		true ->
		d_step { rollback(); troubled = true }
		say("its session is ended");
#ifdef WRITE_AFTER_LOSS
		if
		:: as_of != 0 -> goto GIVE
		:: else
		fi;
#endif
		goto lost
	}

end_of_rounds:
#if STANDS
	atomic { true -> standing = standing | BIT(me) }
end_of_leading:
#endif
	false;

lost:
	atomic {
		d_step { forget() }
		if
		:: REFILL -> goto done
		:: else -> goto TAKE
		fi
	}

killed:
	atomic {
		true ->
		d_step {
			in_both(never_is(half_done, both && !completes));
			rollback();
			troubled = true
		}
		say("is dead")
	}

done:
	atomic {
		ended = ended | BIT(me);
		d_step {
			in_trace(fails = 0);
			in_trace(when(!REFILL && outcome[me] > PENDING, told = told | BIT(me)));
			in_both(never_is(undone, me == 0 && !completes && state[OLD] == HELD);
			    completes = false);
			in_pauses(in_pause = false; after_pause = false);
			forget();
			rollback();
			for_line = false;
			found = false;
			whom = 0;
			line = 0;
			tried = 0;
			waits = true
		}
	}
}

/* Users return loans, an application changes and touches them, and a list gets old. */
proctype world()
{
	byte loan;

end_of_world:
	do
	:: atomic {
		disposals > 0 && comes(DISPOSED, line_who) ->
		select (loan : 0 .. LOANS - 1);
		if
		:: state[loan] == HELD && is_free(work_lock[loan]) && ends_loan(loan) ->
			spend(disposals);
			version[loan]++;
			give_back(loan);
			goes_by
		:: else
		fi
	}
	:: atomic {
		changes > 0 && comes(UNSHOWN, line_who) ->
		select (loan : 0 .. LOANS - 1);
		if
		:: comes(UNSHOWN, loan) ->
			spend(changes);
			shown = shown & ~BIT(loan);
			goes_by
#ifdef TRACE
		:: else
#endif
		fi
	}
	:: atomic {
		touches > 0 ->
		select (loan : 0 .. LOANS - 1);
		if
		:: touched[loan] == UNTOUCHED ->
			touches--;
			shown = shown | BIT(loan);
			touched[loan] = NEW;
			touched_at[loan] = queries
		:: else
		fi
	}
	:: atomic {
		list_ends > 0 && list_epoch != 0 && comes(AGED, 0) ->
		spend(list_ends); list_over = true; due = true; goes_by
	}
#if PAUSES
	:: atomic { pauses > 0 && !paused && comes(PAUSED, 0) -> spend(pauses); paused = true; goes_by }
	:: atomic { paused && comes(RESUMED, 0) -> paused = false; goes_by }
#endif
	:: atomic { ended == ALL -> break }
	od;
	loan = 0
}

/* When all is over. */
#define waits_in_vain(r) (outcome[r] == PENDING)
#define could_be_given(l) (usable && ticket[l] != 0 && listed(l, version[l]) && available(l) && \
	has(shown, l))

active proctype nothing_is_left()
{
end_of_all:
#if STANDS
	/* Nobody waits for a process that stands still. */
	if
	:: atomic { ended == ALL -> skip }
	:: atomic { timeout; never_is(waits_for_it, (ended | standing) != ALL); goto over }
	fi;
#endif
	atomic {
		ended == ALL && comes(NOTHING, 0);
		d_step {
			for (i : 0 .. CALLERS - 1) {
				count_room(user_of(i));
				for (l : 0 .. LOANS - 1) {
					never_is(left_over, outcome[i] == PENDING && room > 0 &&
					    could_be_given(l) && !troubled)
				}
			}
		}
		goes_by
	}
#if STANDS
over:
	skip
#endif
}

init {
	atomic {
		run_begins;
		when(has_old, state[OLD] = (COMPLETES -> HELD : RETURNED); version[OLD] = 1);
		due = true;
		epoch = first_epoch;
		queries = 1;
		if
		:: may_lack_list -> skip
		:: may_have_list ->
		d_step {
			list_epoch = 1;
			list_as_of = 1;
			for (l : 0 .. LOANS - 1) {
				ticket[l] = (has(shown, l) && available(l) -> version[l] + 1 : 0)
			}
		}
		fi;
		for (i : 0 .. PROCESSES - 1) {
			when(takes_part(i), run process(i))
		}
		run world()
	}
}
