/* SPDX-License-Identifier: MIT */
/*
 * Urgent and touched loans of lockq(7), for the model checker Spin. An application puts loans into
 * task_touched at any moment. Takers put them before the first row of the kept list, and take from
 * there. Meanwhile a leader runs its query, gives a loan, and leaves a new list. How a leader is
 * found is in test/model/lockq.pml, and the rest of the kept list is in test/model/list.pml. Names
 * with () are functions of lib/, or procedures of schema/doors.
 *
 * One step of the model is one statement, or several that take no lock or that skip what is locked.
 * A loan's number is its place in the order of the view. test/model/urgent.t runs the model.
 */

#ifndef LOANS
#define LOANS 2
#endif
#ifndef LEADS
#define LEADS 1       /* rounds of the leader */
#endif
#ifndef LIMIT
#define LIMIT LOANS   /* candidate_limit */
#endif
#ifndef URGENT
#define URGENT 1      /* loans that an application puts into task_touched with urgent = 1 */
#endif
#ifndef TOUCHES
#define TOUCHES 0     /* and with urgent = 0 */
#endif
#ifndef RETURNS
#define RETURNS 0     /* loans that their user returns at once, and that are available then */
#endif

/* task_touched.urgent of a loan's row. */
#define NO_ROW     0
#define IS_TOUCHED 1
#define IS_URGENT  2

/* Where a loan stands in the newest list; smallest first. */
#define NOWHERE    0
#define FIRST      1  /* positions from 0 on */
#define TOUCHED    2  /* positions from 500000 on */
#define LISTED     3

#define NOBODY   0
#define ME       (me + 1)
#define TAKERS   2    /* each takes one loan */
#define LEADER   TAKERS
#define BIT(n)   (1 << (n))
#define ALL      (BIT(LOANS) - 1)
#define has(set, n) (((set) >> (n)) & 1)

/* --- the tables ------------------------------------------------------------------------------- */

bool held[LOANS];                                  /* work.state is assigned */
byte version[LOANS], work_lock[LOANS];             /* work: each loan has its row */
byte kind[LOANS], put_for[LOANS], put_at[LOANS], row_lock[LOANS];  /* task_touched, its epoch */
bool given_since[LOANS];                           /* work.assigned_at >= touched_at */
byte list_epoch, list_as_of;                       /* kept_list: the newest list */
byte place[LOANS], ticket[LOANS], ticket_lock[LOANS];  /* kept_loan: version + 1 */
byte tops_on[TAKERS];                              /* the list whose row list_tops_2() has locked */
byte queries;                                      /* a clock: as many have begun */

/* For a property: the urgent loans that a process must put first, since it began after them. */
byte waiting[TAKERS + 1];

byte urgents = URGENT, touches = TOUCHES, returns = RETURNS;

/* Each of these is set and asserted in one step, so it is no part of a state. A mutant may break
 * several properties: ONLY=name leaves the others out, so that the checker shows this one. */
hidden byte passed_over, urgent_again, urgent_lost, loan_held_twice;
#define passed_over_n     1
#define urgent_again_n    2
#define urgent_lost_n     3
#define loan_held_twice_n 4
#ifdef ONLY
#define number_of_(name) name##_n
#define number_of(name) number_of_(name)
#define wanted(number) (number == number_of(ONLY))
#else
#define wanted(number) true
#endif
#define never_is(name, wrong) name = (wrong) && wanted(name##_n); assert(!name)

hidden byte l, n, best;

#define is_free(lock) (lock == NOBODY)
#define as_listed(l) (ticket[l] == version[l] + 1)
#define urgent_waits(l) (kind[l] == IS_URGENT && !given_since[l])

/* --- small guards, and what a mutant has in their place --------------------------------------- */

#ifdef ENDS_LIKE_TOUCHED
#define urgent_is_over(l) (put_for[l] != 0 && put_at[l] < as_of)
#else
#ifdef ENDS_WITH_ROW
#define urgent_is_over(l) false
#else
#define urgent_is_over(l) given_since[l]
#endif
#endif
#ifdef PUT_ONCE
#define is_to_put(l) (put_for[l] == 0)
#else
#define is_to_put(l) (put_for[l] != from)
#endif
#ifdef URGENT_IN_TURN
#define place_of(l) TOUCHED
#else
#define place_of(l) (kind[l] == IS_URGENT -> FIRST : TOUCHED)
#endif
#ifdef LEADER_IN_TURN
#define comes_first(l) false
#else
#define comes_first(l) has(first, l)
#endif
#ifdef LEADER_ADDS_NONE
#define adds(l) false
#else
#define adds(l) (version[l] == seen[l] && !held[l])
#endif
#ifdef ANY_VERSION
#define is_as_listed(l) true
#else
#define is_as_listed(l) as_listed(l)
#endif
#ifdef WORK_UNLOCKED
#define work_is_free(l) true
#else
#define work_is_free(l) is_free(work_lock[l])
#endif
#ifdef HELD_TICKET_PUT
#define may_put(l) true
#else
#define may_put(l) (!has(listed, l) || has(locked, l))
#endif

/* --- transactions ----------------------------------------------------------------------------- */

inline free_locks()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: ticket_lock[l] == ME -> ticket_lock[l] = NOBODY
		:: else
		fi;
		if
		:: row_lock[l] == ME -> row_lock[l] = NOBODY
		:: else
		fi;
		if
		:: work_lock[l] == ME -> work_lock[l] = NOBODY
		:: else
		fi
	}
}

inline give(loan)
{
	never_is(loan_held_twice, held[loan]);
	held[loan] = true;
	version[loan]++;
	given_since[loan] = kind[loan] != NO_ROW
}

/* --- list_tops_2() ---------------------------------------------------------------------------- */

/* Its rows of task_touched, with those of `work`. A loan that is not available waits. */
inline lock_touched()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: kind[l] != NO_ROW && is_to_put(l) && is_free(row_lock[l]) ->
			if
			:: kind[l] == IS_URGENT && urgent_is_over(l) -> over = over | BIT(l)
			:: kind[l] == IS_TOUCHED && put_for[l] != 0 && put_at[l] < as_of ->
				over = over | BIT(l)
			:: else
			fi;
			if
			:: !held[l] || has(over, l) || put_for[l] != 0 ->
				rows = rows | BIT(l);
				row_lock[l] = ME;
				seen[l] = (held[l] -> 0 : version[l] + 1)
			:: else
			fi;
			if
			:: held[l] -> excused = excused | BIT(l)
			:: else
			fi
		:: kind[l] != NO_ROW && is_to_put(l) && !is_free(row_lock[l]) ->
			excused = excused | BIT(l)
		:: else
		fi
	}
}

/* Where the list has the loan, its row there is the ticket. Whoever has it locked is giving it. */
inline lock_listed()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: has(rows, l) && from == list_epoch && place[l] != NOWHERE &&
		    ticket[l] == seen[l] ->
			listed = listed | BIT(l);
			if
			:: is_free(ticket_lock[l]) ->
				ticket_lock[l] = ME;
				locked = locked | BIT(l)
			:: else -> excused = excused | BIT(l)
			fi
		:: else
		fi
	}
}

inline put_rows()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: has(rows, l) && !has(over, l) && seen[l] != 0 && may_put(l) ->
			if
			:: from == list_epoch ->
				place[l] = place_of(l);
				ticket[l] = seen[l];
				ticket_lock[l] = NOBODY
			:: else
			fi;
			put_at[l] = (put_for[l] == 0 -> queries : put_at[l]);
			put_for[l] = from
		:: has(rows, l) && (has(over, l) || (seen[l] == 0 && put_for[l] != 0)) ->
			never_is(urgent_lost, urgent_waits(l));
			kind[l] = NO_ROW;
			put_for[l] = 0;
			put_at[l] = 0;
			given_since[l] = false
		:: else
		fi;
		seen[l] = 0
	}
	free_locks();
	tops_on[me] = 0;
	rows = 0;
	over = 0;
	listed = 0;
	locked = 0
}

/* --- take ------------------------------------------------------------------------------------- */

/* kept_look(). Only urgent loans that were put before it must come first. */
inline look()
{
	from = list_epoch;
	as_of = list_as_of;
	excused = 0;
	waiting[me] = 0;
	n = false;
	for (l : 0 .. LOANS - 1) {
		n = n || (kind[l] != NO_ROW && is_to_put(l));
		if
		:: urgent_waits(l) -> waiting[me] = waiting[me] | BIT(l)
		:: else
		fi
	}
}

/* peek(), and the check of the view, which shows all loans. */
inline peek()
{
	for (l : 0 .. LOANS - 1) {
		at[l] = (from == list_epoch && place[l] != NOWHERE && is_as_listed(l) && !held[l] ->
		    place[l] : NOWHERE)
	}
}

/* list_serves_2(): the first ticket that nobody has, by its position, with its row of work. */
inline lock_ticket()
{
	best = LOANS;
	for (n : FIRST .. LISTED) {
		for (l : 0 .. LOANS - 1) {
			if
			:: best == LOANS && from == list_epoch && at[l] == n && place[l] == n &&
			    is_free(ticket_lock[l]) && work_is_free(l) &&
			    is_as_listed(l) && !held[l] -> best = l
			:: else
			fi
		}
	}
	if
	:: best < LOANS ->
		for (l : 0 .. LOANS - 1) {
			never_is(passed_over, at[best] != FIRST && has(waiting[me] & ~excused, l) &&
			    l != best && urgent_waits(l) && !held[l] &&
			    is_free(ticket_lock[l]) && is_free(work_lock[l]));
		}
		ticket_lock[best] = ME;
		work_lock[best] = ME;
		mine = best + 1
	:: else
	fi
}

inline commit_take()
{
	never_is(urgent_again, at[mine - 1] == FIRST && kind[mine - 1] == IS_URGENT &&
	    given_since[mine - 1]);
	give(mine - 1);
	if
	:: from == list_epoch -> place[mine - 1] = NOWHERE; ticket[mine - 1] = 0
	:: else
	fi;
	free_locks()
}

inline forget()
{
	for (l : 0 .. LOANS - 1) {
		at[l] = NOWHERE
	}
	from = 0;
	as_of = 0;
	waiting[me] = 0;
	excused = 0
}

/* A replayed counterexample prints these texts. */
#define say(text) printf("process %d: ", me); printf(text); printf("\n")

proctype taker(byte me)
{
	byte from, as_of;               /* the list in use */
	byte at[LOANS];                 /* where the peek has seen a loan */
	byte mine;                      /* the loan that it takes, + 1 */
	byte rows, over, listed, locked, seen[LOANS];  /* list_tops_2(): loans, and versions + 1 */
	byte excused;                   /* for the properties */

	/* from_list() */
TAKE:
	atomic {
		true -> d_step { look(); say("looks at the list") }
		if
		:: !n -> goto front
		:: else
		fi
	}
	/* One process at a time. */
	atomic {
		if
		:: tops_on[1 - me] == from -> excused = ALL; goto front
		:: else -> tops_on[me] = from; d_step { lock_touched(); say("list_tops: locks rows") }
		fi
	}
	atomic { true -> d_step { lock_listed(); say("list_tops: locks tickets") } }
	atomic { true -> d_step { put_rows(); say("list_tops: puts, COMMIT") } }
front:
	atomic { true -> d_step { peek(); say("peeks") } }
	atomic {
		true -> d_step { lock_ticket(); say("pop: locks") }
		if
		:: best == LOANS && from != list_epoch -> d_step { forget(); skip } goto TAKE
		:: best == LOANS && from == list_epoch -> goto done
		:: else
		fi
	}
	atomic {
		true -> d_step { say("pop: COMMIT"); commit_take(); skip }
		if
		:: returns > 0 ->
			d_step { returns--; held[mine - 1] = false; version[mine - 1]++ }
			say("returns its loan")
		:: true
		fi
	}
done:
	atomic { true -> d_step { forget(); mine = 0 } }
}

/* --- a leader's round ------------------------------------------------------------------------- */

inline query()
{
	queries++;
	as_of = queries;
	n = 0;
	for (l : 0 .. LOANS - 1) {
		seen[l] = version[l];
		if
		:: !held[l] && n < LIMIT -> list = list | BIT(l); n++
		:: else
		fi;
		if
		:: urgent_waits(l) -> waiting[me] = waiting[me] | BIT(l)
		:: else
		fi
	}
}

/* urgent_first() */
inline read_urgent()
{
	for (l : 0 .. LOANS - 1) {
		if
		:: urgent_waits(l) ->
			if
			:: !has(list, l) && adds(l) -> list = list | BIT(l)
			:: else
			fi;
			first = first | BIT(l)
		:: else
		fi
	}
}

/* hold_kept(), check_some(): what somebody holds, or has had since, is dropped. Then one loan is
 * planned for the request. */
inline check_and_plan()
{
	best = LOANS;
	for (l : 0 .. LOANS - 1) {
		if
		:: has(list, l) && (version[l] != seen[l] || held[l] ||
		    !is_free(work_lock[l]) ||
		    (place[l] != NOWHERE && !is_free(ticket_lock[l]))) -> list = list & ~BIT(l)
		:: else
		fi
	}
	for (n : 0 .. 1) {
		for (l : 0 .. LOANS - 1) {
			if
			:: best == LOANS && has(list, l) && comes_first(l) == !n -> best = l
			:: else
			fi
		}
	}
	if
	:: best < LOANS ->
		for (l : 0 .. LOANS - 1) {
			never_is(passed_over, !urgent_waits(best) && has(waiting[me], l) &&
			    urgent_waits(l) && !held[l] && version[l] == seen[l] &&
			    is_free(ticket_lock[l]) && is_free(work_lock[l]));
		}
	:: else
	fi;
	for (l : 0 .. LOANS - 1) {
		if
		:: has(list, l) ->
			work_lock[l] = ME;
			ticket_lock[l] = (place[l] != NOWHERE -> ME : ticket_lock[l])
		:: else
		fi
	}
	mine = best + 1
}

/* kept_begin(), and the COMMIT */
inline commit_round()
{
	if
	:: mine != 0 && mine <= LOANS -> give(mine - 1); list = list & ~BIT(mine - 1)
	:: else
	fi;
	list_epoch++;
	list_as_of = as_of;
	for (l : 0 .. LOANS - 1) {
		place[l] = (has(list, l) -> LISTED : NOWHERE);
		ticket[l] = (has(list, l) -> seen[l] + 1 : 0);
		ticket_lock[l] = NOBODY;
		work_lock[l] = (work_lock[l] == ME -> NOBODY : work_lock[l]);
		seen[l] = 0
	}
	list = 0;
	first = 0;
	mine = 0;
	as_of = 0;
	waiting[me] = 0
}

proctype leader(byte me)
{
	byte rounds = LEADS;
	byte list, seen[LOANS], as_of;  /* candidates, with the versions of all loans */
	byte first, mine;               /* urgent loans; what it gives, + 1 */

	do
	:: rounds == 0 -> break
	:: rounds > 0 ->
		atomic { rounds--; d_step { query(); say("the heavy query") } }
		atomic { true -> d_step { read_urgent(); say("reads the urgent loans") } }
		if
		:: atomic { true -> d_step { check_and_plan(); say("checks, plans") } }
		:: mine = 0             /* nobody has asked: a refill */
		fi;
		atomic { true -> d_step { say("COMMIT"); commit_round(); skip } }
	od
}

/* An application, in the transaction of its change. */
proctype application()
{
	byte loan;

	do
	:: atomic {
		urgents + touches > 0 ->
		select (loan : 0 .. LOANS - 1);
		if
		:: kind[loan] == NO_ROW && urgents > 0 ->
			urgents--;
			kind[loan] = IS_URGENT;
			for (l : 0 .. TAKERS) {
				waiting[l] = waiting[l] & ~BIT(loan)
			}
			printf("loan %d becomes urgent\n", loan)
		:: kind[loan] == NO_ROW && touches > 0 -> touches--; kind[loan] = IS_TOUCHED
		:: kind[loan] != NO_ROW
		fi;
		loan = 0
	}
	:: break
	od
}

init {
	atomic {
		d_step {
			queries = 1;
			list_epoch = 1;
			list_as_of = 1;
			for (l : 0 .. LIMIT - 1) {
				place[l] = LISTED;
				ticket[l] = 1
			}
			l = 0
		}
		run taker(0);
		run taker(1);
		run leader(LEADER);
		run application()
	}
}
